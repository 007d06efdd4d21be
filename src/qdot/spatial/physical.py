"""Can a body have this inertia? What is wrong if not, and which inertia is the nearest one that it can have.

A body has mass distribution dm ≥ 0, so its pseudo-inertia P = ∫ [r; 1][r; 1]ᵀ dm = [[Σ, h], [hᵀ, m]] with
Σ = ½ tr(I_O) 1 - I_O is positive semidefinite; and every positive semidefinite P is some body's (Wensing, Kim, Slotine
2018, arXiv:1701.04395). This holds the positive mass, the positive moments and the triangle inequality at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qdot.algebra import Sym3, Vec3, as_array, is_number, scalars_in
from qdot.errors import InertiaError
from qdot.spatial.inertia import Inertia

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOLERANCE = 1e-9
"""Relative to the largest moment: rounding in a file's decimals must not make a thin rod unphysical."""


def physical_problem(inertia: Inertia) -> str | None:
    """What is wrong with an inertia, in words; None for one a body can have, or one that has symbols in it."""
    if surely_physical(inertia):
        return None
    numbers = list(scalars_in(inertia))
    if not all(is_number(x) for x in numbers):
        return None
    if not all(math.isfinite(x) for x in numbers):
        return f"an entry is not a finite number: {numbers}"
    if inertia.mass < 0:
        return f"the mass is negative: {inertia.mass:g} kg"
    if inertia.mass == 0:
        if any(x != 0 for x in numbers):
            return "the mass is zero, but the first moment or rotational inertia is not"
        return None
    moments = np.linalg.eigvalsh(np.array(inertia.at_com.entries(), dtype=float))
    slack = TOLERANCE * max(*(abs(float(x)) for x in inertia.rotational.six()), 1e-300)
    if moments[0] < -slack:
        return f"a principal moment about the centre of mass is negative: {moments[0]:g} kg·m²"
    if moments[0] + moments[1] < moments[2] - slack:
        rounded = float(f"{moments[0]:g}") + float(f"{moments[1]:g}") >= float(f"{moments[2]:g}") * (1 - 1e-9)
        a, b, c = (f"{x:{'.12g' if rounded else 'g'}}" for x in moments)  # six digits may hide what is wrong
        return f"the principal moments about the centre of mass break the triangle inequality: {a} + {b} < {c} kg·m²"
    return None


def surely_physical(inertia: Inertia) -> bool:
    """Whether Σ about the centre of mass is surely positive definite, by its minors: quicker than its eigenvalues.

    Or all zero, as for a point mass or for nothing at all, which files are full of.
    """
    if not isinstance(inertia.moment, Vec3) or not isinstance(inertia.rotational, Sym3):
        return False
    m, h, I_O = inertia.mass, inertia.moment, inertia.rotational
    hx, hy, hz, xx, xy, xz, yy, yz, zz = h.x, h.y, h.z, I_O.xx, I_O.xy, I_O.xz, I_O.yy, I_O.yz, I_O.zz
    for entry in (m, hx, hy, hz, xx, xy, xz, yy, yz, zz):
        if type(entry) is not float and type(entry) is not int:
            return False
    if not m > 0:
        return m == 0 and not (hx or hy or hz or xx or xy or xz or yy or yz or zz)
    half = (xx + yy + zz) / 2  # Σ = ½ tr(I_O) 1 - I_O, then less m c cᵀ
    a, b, c = half - xx - hx * hx / m, half - yy - hy * hy / m, half - zz - hz * hz / m
    d, e, f = -xy - hx * hy / m, -xz - hx * hz / m, -yz - hy * hz / m
    if not (a or b or c or d or e or f):
        return math.isfinite(m)
    minor = a * b - d * d
    return math.isfinite(m) and a > 0 and minor > 0 and minor * c + d * e * f * 2 - b * e * e - a * f * f > 0


def check_physical(inertia: Inertia, what: str) -> None:
    """Raise an `InertiaError` that names `what`, tells what is wrong and offers the nearest physical inertia."""
    problem = physical_problem(inertia)
    if problem is None:
        return
    remedy = "check sign, units and axes"
    if all(is_number(x) and math.isfinite(x) for x in scalars_in(inertia)) and inertia.mass >= 0:
        if inertia.mass > 0:
            remedy += f", or take the nearest physical one, {_offered(inertia)}"
        remedy += ", or keep the data as they are with Mechanism(..., allow_unphysical=True)"
    raise InertiaError(f"{what}: {problem}; {remedy}")


def _offered(inertia: Inertia) -> str:
    moments = ", ".join(f"{x:.6g}" for x in nearest_physical(inertia).at_com.six())
    return (
        f"qdot.spatial.nearest_physical(inertia): (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) = ({moments}) about the centre of mass"
    )


def nearest_physical(inertia: Inertia) -> Inertia:
    """The physical inertia of the same mass and centre of mass whose second moments are nearest (Frobenius norm)."""
    if not (inertia.mass > 0):
        raise InertiaError(f"no body is near an inertia of mass {inertia.mass!r} kg; give it a positive mass")
    I_C = as_array(inertia.at_com)
    second = 0.5 * np.trace(I_C) * np.eye(3) - I_C  # Σ about the centre of mass
    values, axes = np.linalg.eigh(second)
    second = (axes * np.maximum(values, 0.0)) @ axes.T
    return Inertia.about_com(inertia.mass, inertia.com, _sym3(np.trace(second) * np.eye(3) - second))


def pseudo_inertia(inertia: Inertia) -> NDArray[np.float64]:
    """The 4 × 4 matrix [[Σ, h], [hᵀ, m]] of second, first and zeroth moments of mass."""
    I_O, h = as_array(inertia.rotational), as_array(inertia.moment)
    P = np.zeros((4, 4))
    P[:3, :3] = 0.5 * np.trace(I_O) * np.eye(3) - I_O
    P[:3, 3] = P[3, :3] = h
    P[3, 3] = inertia.mass
    return P


def inertia_of_moments(mass: float, first: NDArray[np.float64], second: NDArray[np.float64]) -> Inertia:
    """The inertia of a mass distribution by ∫dm, ∫r dm and the Euler matrix E = ∫ r rᵀ dm: I_O = tr(E) 1 - E (H10)."""
    rotational = np.trace(second) * np.eye(3) - second
    return Inertia(float(mass), Vec3(*map(float, first)), _sym3(rotational))


def _sym3(m: NDArray[np.float64]) -> Sym3:
    return Sym3(*(float(m[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))
