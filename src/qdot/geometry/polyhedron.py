"""Exact moments of bodies bounded by triangles, as arrays: vertices (n, 3) [m] and faces (m, 3).

Each face spans a tetrahedron with one apex point o; its volume counts positive where the face looks away from o and
negative where it looks towards it. If the faces close up, what lies outside cancels, wherever o is (divergence
theorem). The apex taken is the middle of the body's extent, so that little cancels and a convex body has no negative
part. Source: Tonon, Explicit exact formulas for the 3-D tetrahedron inertia tensor, J. Math. Stat. 1 (2005).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qdot.geometry.quadrature import Floats, Rule, tetrahedron
from qdot.geometry.surface import Faces

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POINTS_AT_ONCE = 2**17


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """∫dV [m³], ∫r dV [m⁴] and ∫r rᵀ dV [m⁵] about the origin, and how much rounding there can be in the volume."""

    volume: float
    first: Floats
    second: Floats
    rounding: float


def moments(vertices: Floats, faces: Faces) -> Moments:
    """Moments of the body within a closed surface.

    Over the tetrahedron (0, a, b, c), with d = a·(b × c) and s = a + b + c: ∫dV = d/6, ∫r dV = d s/24 and
    ∫r rᵀ dV = d (a aᵀ + b bᵀ + c cᵀ + s sᵀ)/120.
    """
    o, corners, d = _tetrahedra(vertices, faces)
    s = corners.sum(axis=1)
    volume = float(d.sum()) / 6
    first = d @ s / 24
    weighted = d[:, None, None] * corners
    second = np.tensordot(weighted, corners, axes=((0, 1), (0, 1))) + (d[:, None] * s).T @ s
    second = second / 120
    # From o back to the origin of the vertices.
    shift = np.outer(o, first)
    second = second + shift + shift.T + volume * np.outer(o, o)
    edges = np.linalg.norm(corners[:, 1:] - corners[:, :1], axis=2)
    scale = float((np.linalg.norm(corners[:, 0], axis=1) * edges[:, 0] * edges[:, 1]).sum())
    return Moments(volume, first + volume * o, second, 64 * float(np.finfo(float).eps) * scale / 6)


def rules(vertices: Floats, faces: Faces, order: int) -> Iterator[Rule]:
    """A Gauss rule on each tetrahedron, negative where its volume is, exact for degree 2·order - 1; many at a time."""
    o, corners, d = _tetrahedra(vertices, faces)
    along, weights = tetrahedron(order)
    step = max(1, _POINTS_AT_ONCE // len(weights))
    for k in range(0, len(faces), step):
        points = along @ corners[k : k + step] + o
        yield points.reshape(-1, 3), np.outer(d[k : k + step], weights).ravel()


def loose_edges(vertices: Floats, faces: Faces) -> tuple[int, int]:
    """How many edges end a surface (an odd number of faces meets there), and at how many others faces turn apart.

    Each face runs once along each of its edges; the surface is closed where the runs in both directions are as many.
    Vertices in the same place are one, for files repeat them where colours or normals differ.
    """
    place = np.unique(vertices, axis=0, return_inverse=True)[1].reshape(-1)[faces]
    runs = np.concatenate([place[:, [0, 1]], place[:, [1, 2]], place[:, [2, 0]]])
    runs = runs[runs[:, 0] != runs[:, 1]]
    forward = np.where(runs[:, 0] < runs[:, 1], 1, -1)
    edge: NDArray[np.int64] = runs.min(axis=1) * len(vertices) + runs.max(axis=1)
    index = np.unique(edge, return_inverse=True)[1].reshape(-1)
    uses, net = np.bincount(index), np.bincount(index, weights=forward)
    ends = uses % 2 == 1
    return int(ends.sum()), int((~ends & (net != 0)).sum())


def _tetrahedra(vertices: Floats, faces: Faces) -> tuple[Floats, Floats, Floats]:
    """The apex o (3,), the corners a, b, c of each face from it (m, 3, 3), and d = a·(b × c) (m,)."""
    used = vertices[np.unique(faces)]
    o: Floats = (used.min(axis=0) + used.max(axis=0)) / 2
    corners = (vertices - o)[faces]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    # a·(b × c) by the face's own edges: rounding then scales with its area.
    d: Floats = np.einsum("ij,ij->i", a, np.cross(b - a, c - a))
    return o, corners, d
