"""A tree of boxes over triangles, so that most of them need not be looked at.

The tree is complete: triangles, filled up to a power of two by repeating the last, are halved at the median along the
longest side of what holds their middles, all parts of a level at once. Node i has the children 2i + 1 and 2i + 2, and
the last half of the nodes are leaves of one triangle each. Queries keep a set of nodes, best first, and open a bundle
of them at a time; what is farther than the best found is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qdot.geometry.mesh import Polyhedron
from qdot.geometry.quadrature import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

Indices: TypeAlias = "NDArray[np.int64]"
Bundle: TypeAlias = Callable[[Indices], Floats]

BUNDLE = 512
"""Nodes that are opened at a time."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Corners of triangles [m], shape (leaves, 3, 3), each with its number in the mesh, and the boxes of all nodes."""

    corners: Floats
    faces: Indices
    lower: Floats
    upper: Floats

    @property
    def leaves(self) -> int:
        return len(self.faces)

    def leaf(self, nodes: Indices) -> Indices:
        """The numbers of nodes among the leaves; negative for nodes that are none."""
        return nodes - (self.leaves - 1)


@lru_cache(maxsize=64)
def tree_of(mesh: Polyhedron) -> Tree:
    """The tree of a mesh; meshes are alike when their numbers are."""
    triangles = mesh.vertices[mesh.faces]
    count = 1 << max(len(triangles) - 1, 0).bit_length()
    order = np.minimum(np.arange(count), len(triangles) - 1)[None, :]
    middles = triangles.mean(axis=1)
    while order.shape[1] > 1:
        points = middles[order]
        axis = np.argmax(points.max(axis=1) - points.min(axis=1), axis=1)
        keys = np.take_along_axis(points, axis[:, None, None], axis=2)[:, :, 0]
        order = np.take_along_axis(order, np.argsort(keys, axis=1, kind="stable"), axis=1)
        order = order.reshape(2 * len(order), -1)
    faces = order.reshape(-1)
    corners = triangles[faces]
    lower, upper = [corners.min(axis=1)], [corners.max(axis=1)]
    while len(lower[-1]) > 1:
        lower.append(np.minimum(lower[-1][0::2], lower[-1][1::2]))
        upper.append(np.maximum(upper[-1][0::2], upper[-1][1::2]))
    return Tree(corners, faces, np.concatenate(lower[::-1]), np.concatenate(upper[::-1]))


def nearest_leaves(
    start: Indices,
    bound: Bundle,
    opened: Callable[[Indices], tuple[Indices, Indices]],
    measured: Bundle,
    limit: float = np.inf,
) -> tuple[Indices | None, float]:
    """The leaf with the least measure below a limit, and that.

    `bound` says of nodes (rows) that nothing in them measures less; `opened` parts rows into leaves and the children of
    the others.
    """
    waiting, best = start, None
    bounds = bound(waiting)
    while len(waiting):
        order = np.argsort(bounds, kind="stable")
        order = order[bounds[order] < limit]
        now, later = order[:BUNDLE], order[BUNDLE:]
        leaves, children = opened(waiting[now])
        if len(leaves):
            values = measured(leaves)
            k = int(np.argmin(values))
            if values[k] < limit:
                best, limit = leaves[k], float(values[k])
        waiting, bounds = np.concatenate([waiting[later], children]), np.concatenate([bounds[later], bound(children)])
    return best, limit


def leaves_within(
    start: Indices, bound: Bundle, opened: Callable[[Indices], tuple[Indices, Indices]], limit: float
) -> Indices:
    """All leaves whose bound is no more than a limit."""
    waiting, found = start, [start[:0]]
    while len(waiting):
        leaves, waiting = opened(waiting[bound(waiting) <= limit])
        found.append(leaves)
    return np.concatenate(found)


def opener(tree: Tree) -> Callable[[Indices], tuple[Indices, Indices]]:
    """Parts nodes of a tree into leaves and the children of the others."""

    def opened(nodes: Indices) -> tuple[Indices, Indices]:
        inner = tree.leaf(nodes) < 0
        parents = nodes[inner]
        return nodes[~inner], np.concatenate([2 * parents + 1, 2 * parents + 2])

    return opened


def pair_opener(a: Tree, b: Tree) -> Callable[[Indices], tuple[Indices, Indices]]:
    """The same for pairs of nodes, shape (n, 2): of each pair the larger node is opened."""
    sizes = [np.linalg.norm(tree.upper - tree.lower, axis=1) for tree in (a, b)]

    def opened(pairs: Indices) -> tuple[Indices, Indices]:
        i, j = pairs.T
        closed_a, closed_b = a.leaf(i) >= 0, b.leaf(j) >= 0
        leaves = closed_a & closed_b
        open_a = ~closed_a & (closed_b | (sizes[0][i] >= sizes[1][j]))
        open_b = ~leaves & ~open_a
        children = []
        for which, column in ((open_a, 0), (open_b, 1)):
            for step in (1, 2):
                child = pairs[which].copy()
                child[:, column] = 2 * child[:, column] + step
                children.append(child)
        return pairs[leaves], np.concatenate(children)

    return opened
