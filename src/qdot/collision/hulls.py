"""Hulls by their corners: those of all hulls that one text serves lie in one table.

A hull is known by numbers: where in the table its corners begin, and how many they are; the same of the normals of its
faces; where its cells begin, and how fine they are; where its heights begin; a point inside, how wide it is, and how
far it reaches. Where these come in the rows of a loop over pairs, the code of one pair serves them all, however many
hulls there are.

Corners of a cell lie several to a row, so that choosing the best of them need not wait for the choice before, and so
that a row fills one line of a cache: what takes the time of a support point is to fetch them. Those of one row that are
missing are the cell's last again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from qdot.algebra import Rows, Scalar, Scalars, Vec3, iterated, looked_up, where, where_needed
from qdot.collision.cells import candidates, cell_of, grid_of, heights_at_ends, located
from qdot.collision.support import Convex, Directions, chosen
from qdot.geometry import ConvexHull, Shape
from qdot.geometry.quadrature import Floats

AT_ONCE = 5
"""Corners of a row: with one more number it is of sixteen."""
ENDS = 8
"""Cells along a side of the cube by whose ends it is bounded how far a hull reaches."""
SLACK = 1e-6
"""Of the width: how much farther those bounds are, for rounding."""
FACES = 32
"""Faces of a hull that are tried as those by which something comes out of it."""

Rated: TypeAlias = tuple[Scalar, Vec3]
"""A corner after how far it is."""


@dataclass(frozen=True, eq=False)
class Hull:
    """Corners [m], shape (n, 3), and what follows from them."""

    corners: Floats

    @cached_property
    def cells(self) -> list[tuple[int, ...]]:
        """For each cell of directions, the corners that can be farthest."""
        return [tuple(found.tolist()) for found in candidates(self.corners)]

    @cached_property
    def rows(self) -> dict[tuple[int, ...], list[tuple[float, ...]]]:
        """Of these corners: cells that have the same share them."""
        return {found: _rows(self.corners[list(found)]) for found in dict.fromkeys(self.cells)}

    @cached_property
    def normals(self) -> list[tuple[float, ...]]:
        """Of the faces that lie nearest to its middle."""
        shape = ConvexHull(self.corners)
        p, q, r = np.moveaxis(shape.vertices[shape.faces], 1, 0)
        normals = np.cross(q - p, r - p)
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        order = np.argsort(np.einsum("ij,ij->i", normals, p - self.middle), kind="stable")
        _, first = np.unique(np.round(normals[order], 6), axis=0, return_index=True)  # faces of several triangles, once
        return [tuple(row) for row in normals[order[np.sort(first)][:FACES]].tolist()]

    @cached_property
    def heights(self) -> list[tuple[float, ...]]:
        """For each of a few cells of directions, how far it reaches at their ends, from its middle, or a little more:
        as numbers of four bytes."""
        found = heights_at_ends(self.corners - self.middle, ENDS) + 2 * SLACK * self.width
        return [tuple(row) for row in found.astype(np.float32).astype(np.float64).tolist()]

    @cached_property
    def middle(self) -> Floats:
        return np.asarray(self.corners.mean(axis=0))

    @cached_property
    def inner_radius(self) -> float:
        """Of the ball about its middle that lies within."""
        normals = np.array(self.normals)
        return float(((normals @ self.corners.T).max(axis=1) - normals @ self.middle).min())

    @cached_property
    def width(self) -> float:
        return float(np.ptp(self.corners, axis=0).max())

    @cached_property
    def reach(self) -> float:
        """From the origin of its frame."""
        return float((self.corners * self.corners).sum(axis=1).max()) ** 0.5


@dataclass(frozen=True, eq=False)
class Hulls:
    """Corners and normals of hulls in tables, and the numbers by which each is known."""

    each: tuple[Hull, ...]

    @cached_property
    def corners(self) -> Floats:
        return np.concatenate([hull.corners for hull in self.each])

    @cached_property
    def normals(self) -> Rows:
        return tuple(normal for hull in self.each for normal in hull.normals)

    @cached_property
    def nearby(self) -> Rows:
        """For each cell of directions of each hull, corners that can be farthest, and the row in which there are more
        of them, 0 where there are not. Rows that do not belong to a cell alone come after all others."""
        own: list[tuple[float, ...]] = []
        further: list[tuple[float, ...]] = []
        first = sum(len(hull.cells) for hull in self.each)
        for hull in self.each:
            heads = {}
            for found, (head, *rest) in hull.rows.items():
                places = range(first + len(further), first + len(further) + len(rest))
                heads[found] = (*head, float(places[0]) if rest else 0.0)
                further += [(*row, float(place)) for row, place in zip(rest, [*places[1:], 0], strict=False)]
            own += [heads[found] for found in hull.cells]
        return (*own, *further)

    @cached_property
    def heights(self) -> Rows:
        return tuple(row for hull in self.each for row in hull.heights)

    @cached_property
    def numbers(self) -> tuple[tuple[float, ...], ...]:
        found, corners, normals, cells, heights = [], 0, 0, 0, 0
        for hull in self.each:
            grid = grid_of(hull.corners)
            places = corners, len(hull.corners), normals, len(hull.normals), cells, grid, heights
            found.append(tuple(float(x) for x in (*places, *hull.middle, hull.width, hull.reach)))
            corners, normals, cells = corners + len(hull.corners), normals + len(hull.normals), cells + 6 * grid * grid
            heights += len(hull.heights)
        return tuple(found)

    def convex(self, numbers: Scalars) -> Convex:
        """The hull with these numbers."""
        first, count, first_normal, normals, first_cell, grid, first_height, x, y, z, width, _ = numbers
        middle = Vec3(x, y, z)

        def sought(n: Vec3) -> Callable[[], Vec3]:
            if all(isinstance(x, (float, int, np.ndarray)) for x in (*n, first)):  # one product, not a chain of choices
                own = self.corners[int(first) : int(first + count)]
                farthest = np.argmax(own @ np.array(np.broadcast_arrays(*n)), axis=0)
                return lambda: Vec3(*(own[farthest, k] + 0.0 for k in range(3)))
            return self._farthest(n, first_cell + cell_of(n, grid))

        def reach(n: Vec3) -> Scalar:
            return self._reach(n, first_height) + n.dot(middle)

        faces = Directions(self.normals, first_normal, normals)
        return Convex(lambda n: sought(n)(), middle, width=width, normals=faces, sought=sought, reach=reach)

    def _reach(self, n: Vec3, first: Scalar) -> Scalar:
        """Not less than how far a hull reaches from its middle. A direction is a sum of the ends of its cell, each with
        its share s ≥ 0, and no hull reaches farther along n = Σ s e than Σ s h(e)."""
        at = located(n, float(ENDS))
        h = looked_up(self.heights, first + at.cell)
        low, high = (h[k] + at.across * (h[k + 1] - h[k]) for k in (0, 2))
        return at.size * (low + at.along * (high - low))

    def _farthest(self, n: Vec3, cell: Scalar) -> Callable[[], Vec3]:
        """What gives the corner that is farthest in a direction, of those that can be in its cell."""
        *row, place = looked_up(self.nearby, cell)
        most = max(len(rows) for hull in self.each for rows in hull.rows.values())

        def more(state: tuple[Scalar, Rated]) -> tuple[Scalar, Rated]:
            place, best = state
            *row, place = looked_up(self.nearby, place)
            return place, _farther(best, _farthest_of(row, n))

        def turn(state: tuple[Scalar, Rated]) -> tuple[Scalar, tuple[Scalar, Rated]]:
            there = state[0] > 0
            return there, where_needed(there, state, more, state)

        def found() -> Vec3:
            best = _farthest_of(row, n)  # most often there is no other row
            return (iterated(most - 1, (place, best), turn) if most > 1 else (place, best))[1][1]

        return found


def _rows(corners: Floats) -> list[tuple[float, ...]]:
    """Several to a row; the last fills up."""
    filled = np.concatenate([corners, np.repeat(corners[-1:], -len(corners) % AT_ONCE, axis=0)])
    return [tuple(row) for row in filled.reshape(-1, 3 * AT_ONCE).tolist()]


def _farthest_of(row: Scalars, n: Vec3) -> Rated:
    """The corner of a row that is farthest in a direction."""
    corners = [Vec3(*row[k : k + 3]) for k in range(0, 3 * AT_ONCE, 3)]
    rated = [(corner.dot(n), corner) for corner in corners]
    while len(rated) > 1:
        rated = [_farther(*two) for two in zip(rated[::2], rated[1::2], strict=False)] + rated[len(rated) // 2 * 2 :]
    return rated[0]


def _farther(one: Rated, two: Rated) -> Rated:
    better = two[0] > one[0]
    return where(better, two[0], one[0]), chosen(better, two[1], one[1])


def hull(corners: Floats) -> Convex:
    """The convex hull of points, rows of three, alone."""
    hulls = Hulls((Hull(np.asarray(corners, dtype=np.float64)),))
    return hulls.convex(hulls.numbers[0])


@lru_cache(maxsize=256)
def corners_of(shape: Shape) -> Floats:
    """The corners of a shape's convex hull [m], shape (n, 3): of a round one, those of what is drawn of it."""
    if isinstance(shape, ConvexHull):
        return shape.vertices
    vertices, _ = shape.surface()
    return ConvexHull(vertices).vertices


@lru_cache(maxsize=256)
def hulls_of(shapes: tuple[Shape, ...]) -> Hulls:
    """The hulls of these shapes, in their order."""
    return Hulls(tuple(map(hull_of, shapes)))


@lru_cache(maxsize=256)
def hull_of(shape: Shape) -> Hull:
    """The hull of a shape, with what follows from its corners."""
    return Hull(corners_of(shape))
