"""Hulls by their corners: those of all hulls that one text serves lie in one table.

A hull is known by numbers: where in the table its corners begin, and how many they are; the same of the normals of its
faces; where its cells begin, and how fine they are; where its heights begin; a point inside, how wide it is, and how
far it reaches. Where these come in the rows of a loop over pairs, the code of one pair serves them all, however many
hulls there are.

Corners of a cell lie several to a row, so that choosing the best of them need not wait for the choice before, and so
that a row fills one line of a cache: what takes the time of a support point is to fetch them. Those of one row that are
missing are the cell's last again. Up to three rows lie one after the other; where there would be more, finer cells have
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from qdot.algebra import Rows, Scalar, Scalars, Vec3, absolute, iterated, looked_up, where, where_needed
from qdot.collision.cells import AT_ONCE, Cell, Located, candidates, grid_of, heights_at_ends, located, part_of
from qdot.collision.support import Convex, Directions, chosen
from qdot.geometry import ConvexHull, Shape
from qdot.geometry.quadrature import Floats

ENDS = 8
"""Cells along a side of the cube by whose ends it is bounded how far a hull reaches."""
SLACK = 1e-6
"""Of the width: how much farther those bounds are, for rounding."""
FACES = 32
"""Faces of a hull that are tried as those by which something comes out of it."""

Rated: TypeAlias = tuple[Scalar, Vec3]
"""A corner after how far it is."""

_Looked: TypeAlias = tuple[Scalar, Scalar, Scalar, Rated]
"""Where to look next, where a direction is in its cell, along and across, and the best so far."""


@dataclass(frozen=True, eq=False)
class Hull:
    """Corners [m], shape (n, 3), and what follows from them."""

    corners: Floats

    @cached_property
    def cells(self) -> list[Cell]:
        """For each cell of directions, the corners that can be farthest."""
        return candidates(self.corners)

    def rows(self, cell: Cell) -> list[tuple[float, ...]]:
        """Of a cell's corners, several to a row; the last fills up."""
        corners = self.corners[list(cell.corners)]
        filled = np.concatenate([corners, np.repeat(corners[-1:], -len(corners) % AT_ONCE, axis=0)])
        return [tuple(row) for row in filled.reshape(-1, 3 * AT_ONCE).tolist()]

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
        """For each cell of directions of each hull, corners that can be farthest, and where there are more: the number
        of a row with further ones, or, less than 0, that of the first of its finer cells; 0 where these are all. Rows
        that do not belong to a cell of a hull's grid come after all others."""
        further: list[tuple[float, ...]] = []
        known: dict[tuple[Hull, tuple[int, ...]], float] = {}
        """Rows with the rest of these corners of a hull: cells that have the same share them."""
        first = sum(len(hull.cells) for hull in self.each)

        def laid(hull: Hull, cell: Cell) -> tuple[float, ...]:
            """The row of a cell, after those that it leads to."""
            (head, *rest), place = hull.rows(cell), first + len(further)
            if cell.finer:
                further.extend([head] * len(cell.finer))
                for k, part in enumerate(cell.finer, place - first):
                    further[k] = laid(hull, part)
                return (*head, -float(place))
            if rest and (hull, cell.corners) not in known:
                known[hull, cell.corners] = float(place)
                places = [*range(place + 1, place + len(rest)), 0]
                further.extend((*row, float(place)) for row, place in zip(rest, places, strict=True))
            return (*head, known[hull, cell.corners] if rest else 0.0)

        own = [laid(hull, cell) for hull in self.each for cell in hull.cells]
        return (*own, *further)

    @cached_property
    def most(self) -> int:
        """Rows that are looked at for one direction, at most."""

        def rows(cell: Cell) -> int:
            return 1 + max(map(rows, cell.finer)) if cell.finer else -(-len(cell.corners) // AT_ONCE)

        return max(rows(cell) for hull in self.each for cell in hull.cells)

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
            return self._farthest(n, first_cell, located(n, grid))

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

    def _farthest(self, n: Vec3, first: Scalar, at: Located) -> Callable[[], Vec3]:
        """What gives the corner that is farthest in a direction, of those that can be in its cell."""
        *row, place = looked_up(self.nearby, first + at.cell)

        def more(state: _Looked) -> _Looked:
            place, along, across, best = state
            part, is_parted = part_of(along, across), place < 0
            *row, place = looked_up(self.nearby, where(is_parted, part.cell - place, place))
            along, across = where(is_parted, part.along, along), where(is_parted, part.across, across)
            return place, along, across, _farther(best, _farthest_of(row, n))

        def turn(state: _Looked) -> tuple[Scalar, _Looked]:
            there = absolute(state[0]) > 0
            return there, where_needed(there, state, more, state)

        def found() -> Vec3:
            best = _farthest_of(row, n)  # most often there is no other row
            start = place, at.along, at.across, best
            return (iterated(self.most - 1, start, turn) if self.most > 1 else start)[-1][1]

        return found


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
