"""Which corners of a hull can be the farthest: found once, for cells of directions.

Directions are points on the six sides of a cube, and each side has a grid of cells. For a direction n in a cell, a
corner v is beaten by another one s everywhere in the cell if (v - s)·n < 0 at its middle by more than that can grow
towards its edges. Taking for s the farthest corners at the middle and at the four ends of a cell leaves the few that
can be farthest there. So a support point costs looking at these, however many corners the hull has. Where they do not
fill one row of a table, no fewer are needed; else pieces of the cell are asked in the same way, for a corner may be
beaten by one here and by another there.

About the normal of a face with many corners, as the end of a fine cylinder has, that would still be many, and contacts
look just there. Such a cell has finer ones of its own, and so on: all but the one about the normal itself have few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from qdot.algebra import Scalar, Vec3, absolute, floor, maximum, minimum, where
from qdot.geometry.quadrature import Floats

SHARE = 3
"""Corners for each cell of a cube's side, or so."""
COARSE = 4
"""Cells along an edge of those by which most corners are left out first."""
ROUNDING = 1e-12
"""Of the size: corners that are beaten by less are kept."""
AT_ONCE = 5
"""Corners of a row of a table, which are looked at together."""
PIECES = 8
"""Pieces along an edge of a cell that are asked which corners can be farthest."""
MANY = 3 * AT_ONCE
"""Corners from which on a cell is parted."""
FINER = 4
"""Finer cells along an edge of one that is parted."""
PARTED = 3
"""How often a cell is, at most."""


def grid_of(corners: Floats) -> int:
    """Cells along an edge of a side."""
    return COARSE * max(1, ceil((len(corners) / SHARE) ** 0.5 / COARSE))


@dataclass(frozen=True, slots=True)
class Cell:
    """The numbers of the corners that can be farthest in one of its directions; and finer cells, if there are any, in
    the order of `part_of`."""

    corners: tuple[int, ...]
    finer: tuple[Cell, ...] = ()


def candidates(corners: Floats) -> list[Cell]:
    """The cells of a hull, in the order in which `located` numbers them."""
    n, found = grid_of(corners), []
    slack = ROUNDING * float(np.ptp(corners, axis=0).max())
    for k in range(3):
        for side in (1.0, -1.0):
            turned = np.column_stack([side * corners[:, k], np.delete(corners, k, axis=1)])
            cells: dict[tuple[int, int], Cell] = {}
            for (i, j), few in _kept(turned, (-1.0, -1.0), 2.0, n // COARSE, slack):
                corner = (2.0 * COARSE * i / n - 1, 2.0 * COARSE * j / n - 1)
                for (k_i, k_j), kept in _kept(turned[few], corner, 2.0 * COARSE / n, COARSE, slack):
                    i_j = COARSE * i + k_i, COARSE * j + k_j
                    at = 2.0 * i_j[0] / n - 1, 2.0 * i_j[1] / n - 1
                    cells[i_j] = _parted(turned, few[kept], at, 2.0 / n, slack, PARTED)
            found += [cells[i, j] for i in range(n) for j in range(n)]
    return found


def _parted(corners: Any, own: Any, at: tuple[float, float], width: float, slack: float, times: int) -> Cell:
    """A cell with its own corners, parted so many times at most where they are many."""
    if len(own) > AT_ONCE:
        own = own[_farthest_somewhere(corners[own], at, width, PIECES, slack).any(axis=(1, 2))]
    finer: list[Cell] = []
    if times and len(own) > MANY:
        w = width / FINER
        for (i, j), kept in _kept(corners[own], at, width, FINER, slack):
            finer.append(_parted(corners, own[kept], (at[0] + w * i, at[1] + w * j), w, slack, times - 1))
    return Cell(tuple(own.tolist()), tuple(finer))


def _kept(corners: Any, at: tuple[float, float], width: float, n: int, slack: float) -> Iterator[tuple[Any, Any]]:
    """Of each cell of a square with n cells along an edge: the corners that can be farthest."""
    kept = _farthest_somewhere(corners, at, width, n, slack)
    for i in range(n):
        for j in range(n):
            yield (i, j), np.flatnonzero(kept[:, i, j])


def _farthest_somewhere(corners: Any, at: tuple[float, float], width: float, n: int, slack: float) -> Any:
    """Which corners can be farthest, in each cell of a square with n cells along an edge, directions (1, x, y) from
    `at` on: shape (corners, n, n)."""
    e = width / (2 * n)
    heights, ends = (
        corners[:, 0, None, None]
        + (corners[:, 1, None] * (at[0] + e * places))[:, :, None]
        + (corners[:, 2, None] * (at[1] + e * places))[:, None, :]
        for places in (2 * np.arange(n) + 1, 2 * np.arange(n + 1))
    )
    farthest = np.argmax(ends, axis=0)
    rivals = [np.argmax(heights, axis=0), *(farthest[i : i + n, j : j + n] for i in (0, 1) for j in (0, 1))]
    kept = np.ones(heights.shape, dtype=bool)
    for s in rivals:
        grows = sum(np.abs(corners[:, c, None, None] - corners[s, c]) for c in (1, 2))
        kept &= heights + e * grows >= np.take_along_axis(heights, s[None], axis=0) - slack
    return kept


class Located(NamedTuple):
    """Where a direction is: the number of its cell, which shares of the cell's edges it is beyond, 0 … 1, and its
    largest coordinate, by which it is divided to lie on the cube."""

    cell: Scalar
    along: Scalar
    across: Scalar
    size: Scalar = 1.0


def located(n: Vec3, grid: Scalar) -> Located:
    """Where a direction is, of any length but zero."""
    x, y, z = (absolute(c) for c in n)
    by_x, by_y = x >= maximum(y, z), y >= z
    ahead = where(by_x, n.x, where(by_y, n.y, n.z))
    side = where(by_x, 0.0, where(by_y, 2.0, 4.0)) + where(ahead < 0, 1.0, 0.0)
    u, w = where(by_x, n.y, n.x), where(by_x, n.z, where(by_y, n.z, n.y))
    size = absolute(ahead)
    half = grid / (2 * size)
    s, t = (c * half + grid / 2 for c in (u, w))
    i, j = _within(s, grid), _within(t, grid)
    return Located((side * grid + i) * grid + j, s - i, t - j, size)


def part_of(along: Scalar, across: Scalar) -> Located:
    """Where a direction is among the finer cells of one, by its shares of that one's edges; its size is not told."""
    s, t = along * FINER, across * FINER
    i, j = _within(s, FINER), _within(t, FINER)
    return Located(i * FINER + j, s - i, t - j)


def _within(place: Scalar, n: Scalar) -> Scalar:
    """The number of a cell along an edge of n; at ends rounding may lead beyond."""
    return maximum(minimum(floor(place), n - 1), 0.0)


def heights_at_ends(corners: Floats, n: int) -> Floats:
    """For each cell of n by n of each side, numbered as by `located`, how far these corners reach at the four ends of
    the cell, as directions on the cube: (1, x, y) with the least x and y, then with the greatest y, the greatest x,
    both. Shape (6 n², 4) [m]."""
    x, y = np.meshgrid(*[np.linspace(-1.0, 1.0, n + 1)] * 2, indexing="ij")
    found = []
    for k in range(3):
        for side in (1.0, -1.0):
            ends = np.insert(np.stack([x, y]), k, side, axis=0)
            h = np.einsum("vk,kij->vij", corners, ends).max(axis=0)
            found.append(np.stack([h[:-1, :-1], h[:-1, 1:], h[1:, :-1], h[1:, 1:]], axis=-1).reshape(-1, 4))
    return np.concatenate(found)
