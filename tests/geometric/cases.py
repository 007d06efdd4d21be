"""Mechanisms whose geometry is known, and running motions that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp

import qdot
from qdot.joints import Joint, Prismatic, Revolute, Spherical, Universal
from qdot.model.library import random_state, random_tree
from qdot.spatial import Inertia

TOLERANCE = 1e-10
"""Relative to the largest entry: sums of some hundred products, less the digits that the condition of M costs (1e4)."""


def alone(joint: Joint, inertia: Inertia, **options: object) -> qdot.Model:
    """One body on the world, without weight."""
    world = qdot.Mechanism("alone", gravity=(0, 0, 0))
    world.add("body", joint, inertia, **options)
    return qdot.assemble(world)


def sphere(length: float = 1.0, mass: float = 1.0) -> qdot.Model:
    """A spherical pendulum: M = m l² diag(cos²β, 1), a sphere of radius √m l in longitude and latitude."""
    return alone(Universal("z", "y"), Inertia.point(mass, (length, 0, 0)))


def rotor(*moments: float) -> qdot.Model:
    """A rigid body that turns about its centre of mass."""
    return alone(Spherical(), Inertia.about_com(1.0, (0, 0, 0), moments))


def weightless(model: qdot.Model) -> qdot.Model:
    return qdot.assemble(replace(model.description, gravity=type(model.gravity)(0, 0, 0)))


def small_trees() -> list[tuple[qdot.Model, np.ndarray, np.ndarray]]:
    """(model, q, v), without gravity, springs and drives: plain joints, quaternions, S that changes, a branch."""
    kinds = (["revolute"], ["spherical", "revolute"], ["free", "prismatic"], ["planar", "universal"], ["compound"])
    found = []
    for seed, joints in enumerate(kinds):
        model = weightless(random_tree(seed, 2, joints, branching=0.5, passive=False))
        q, v, _ = random_state(model, seed)
        found.append((model, q, 0.5 * v))
    return found


def run(
    model: qdot.Model, q: np.ndarray, v: np.ndarray, times: np.ndarray, acceleration: Callable | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at these times of a motion without joint forces; a step is off by 1e-12 at most."""
    rest = np.zeros(model.nv)
    a = acceleration or (lambda q, v: qdot.forward_dynamics(model, q, v, rest))

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        q, v = qdot.normalized(model, y[: model.nq]), y[model.nq :]
        return np.concatenate([qdot.configuration_rate(model, q, v), a(q, v)])

    y = solve_ivp(
        rate, (0, times[-1]), np.concatenate([q, v]), method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12
    ).y.T
    return qdot.normalized(model, y[:, : model.nq]), y[:, model.nq :]


def on_a_spring(stiffness: float, mass: float = 1.0) -> qdot.Model:
    """A mass that slides on a spring: x(t) is a sine of √(stiffness / mass) t."""
    return alone(Prismatic("x"), Inertia.point(mass), stiffness=stiffness)


def slides() -> qdot.Model:
    """Three slides on each other: M is constant, so the space is flat."""
    return random_tree(7, 3, ["prismatic"], passive=False)


def arm() -> qdot.Model:
    return qdot.model.library.two_link_arm()


def hinge() -> qdot.Model:
    return alone(Revolute("y"), Inertia.point(1.0, (0.3, 0, 0)))
