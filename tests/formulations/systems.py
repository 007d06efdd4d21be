"""Todorov's arm of two point masses, by φ and by h (T13), and small mechanisms that the tests of this folder share."""

from __future__ import annotations

import numpy as np

import qdot
from qdot.algebra import Scalar, Scalars, cos, sin
from qdot.joints import Revolute
from qdot.spatial import Inertia

LENGTHS, MASSES, GRAVITY = (0.8, 0.5), (1.3, 0.7), 9.81


def phi(x: Scalars) -> list[Scalar]:
    """Two rods: the first from the origin to (x₁, x₂), the second on to (x₃, x₄)."""
    l1, l2 = LENGTHS
    return [x[0] ** 2 + x[1] ** 2 - l1**2, (x[2] - x[0]) ** 2 + (x[3] - x[1]) ** 2 - l2**2]


def h(q: Scalars) -> list[Scalar]:
    l1, l2 = LENGTHS
    x, y = l1 * cos(q[0]), l1 * sin(q[0])
    return [x, y, x + l2 * cos(q[0] + q[1]), y + l2 * sin(q[0] + q[1])]


def jacobian_of_h(q: np.ndarray) -> np.ndarray:
    """J_h of the document, by hand."""
    (l1, l2), (q1, q12) = LENGTHS, (q[0], q[0] + q[1])
    s1, c1, s12, c12 = l1 * np.sin(q1), l1 * np.cos(q1), l2 * np.sin(q12), l2 * np.cos(q12)
    return np.array([[-s1, 0], [c1, 0], [-s1 - s12, -s12], [c1 + c12, c12]])


def weights() -> np.ndarray:
    m1, m2 = MASSES
    return np.array([0, -m1 * GRAVITY, 0, -m2 * GRAVITY])


def arm() -> qdot.Model:
    return qdot.model.library.two_link_arm(LENGTHS, MASSES, GRAVITY)


def rod(mass: float, length: float) -> Inertia:
    """A uniform rod along x from the origin, of some thickness."""
    moment = mass * length**2 / 12
    return Inertia.about_com(mass, (length / 2, 0, 0), (0.1 * moment, moment, moment))


FOUR_BAR = {"crank": (0.4, 0.3), "coupler": (1.1, 0.8), "rocker": (0.7, 0.5)}
"""Length [m] and mass [kg] of each link."""
GROUND = 1.0


def four_bar(*, closed: bool = True) -> qdot.Model:
    """Crank, coupler and rocker, in the x–y plane with y up; the rocker's end is held to the ground at (GROUND, 0)."""
    world = qdot.Mechanism("four_bar", gravity=(0, -GRAVITY, 0))
    part, at = world.world, 0.0
    for name, (length, mass) in FOUR_BAR.items():
        part = part.add(name, Revolute("z"), rod(mass, length), at=(at, 0, 0), joint_name=f"{name}_joint")
        at = length
    part.frame("end", at=(at, 0, 0))
    world.frame("pivot", at=(GROUND, 0, 0))
    if closed:
        world.close("closing", Revolute("z"), "pivot", "end")
    return qdot.assemble(world)


def end_of_four_bar(q: Scalars) -> list[Scalar]:
    """φ(q): where the rocker's end is, less where it should be."""
    x: Scalar = -GROUND
    y: Scalar = 0
    angle: Scalar = 0
    for (length, _), turn in zip(FOUR_BAR.values(), q, strict=True):
        angle = angle + turn
        x, y = x + length * cos(angle), y + length * sin(angle)
    return [x, y]


def four_bar_state(crank: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) with the loop closed, from the crank's angle and speed."""
    from scipy.optimize import fsolve

    rest = fsolve(lambda r: end_of_four_bar([crank, *r]), [-0.7, -1.5], xtol=1e-13)
    q = np.array([crank, *rest])
    J = qdot.formulations.partials(end_of_four_bar, q)
    return q, np.array([speed, *np.linalg.solve(J[:, 1:], -J[:, 0] * speed)])
