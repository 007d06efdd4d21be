"""Random mechanisms over every joint kind: what the laws of mechanics are tested on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.random import Generator

from qdot.algebra import Quaternion, Sym3
from qdot.description.builder import Mechanism
from qdot.errors import ModelError
from qdot.joints import (
    Compound,
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from qdot.model.assemble import assemble
from qdot.model.library import arguments
from qdot.model.model import Model
from qdot.spatial import Inertia, Transform


def _axis(rng: Generator) -> tuple[float, ...]:
    """Now and then along a coordinate axis, as on real robots."""
    if rng.random() < 0.3:
        return tuple(float(x) for x in np.eye(3)[rng.integers(3)] * rng.choice([-1, 1]))
    return tuple(rng.normal(size=3))


KINDS: Mapping[str, Callable[[Generator], Joint]] = {
    "fixed": lambda rng: Fixed(),
    "revolute": lambda rng: Revolute(_axis(rng)),
    "continuous": lambda rng: Continuous(_axis(rng)),
    "prismatic": lambda rng: Prismatic(_axis(rng)),
    "helical": lambda rng: Helical(_axis(rng), rng.uniform(-0.2, 0.2)),
    "cylindrical": lambda rng: Cylindrical(_axis(rng)),
    "universal": lambda rng: Universal(rng.normal(size=3), rng.normal(size=3)),
    "planar": lambda rng: Planar(_axis(rng)),
    "spherical": lambda rng: Spherical(),
    "free": lambda rng: Free(),
    "compound": lambda rng: Compound(
        Revolute(_axis(rng)), Fixed(random_pose(rng)), Spherical(), Fixed(random_pose(rng)), Prismatic(_axis(rng))
    ),
}
"""How to draw a joint of each kind."""


def random_tree(
    seed: int, bodies: int = 8, joints: Sequence[str] | None = None, *, branching: float = 0.4, passive: bool = True
) -> Model:
    """A tree of physical bodies with joints drawn from these kinds (all of them if not given).

    `branching` 0 makes a chain, 1 a bush. With `passive`, joints also have armature, damping and springs.
    """
    arguments.count("random_tree", bodies=bodies)
    kinds = list(KINDS) if joints is None else list(joints)
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown or not kinds:
        raise ModelError(f"random_tree: joint kinds {unknown or kinds} are unknown; choose from {', '.join(KINDS)}")
    rng = np.random.default_rng(seed)
    world = Mechanism(f"random_tree_{seed}", gravity=rng.normal(size=3) * 6)
    parts = [world.world]
    for k in range(bodies):
        parent = parts[-1] if rng.random() >= branching else parts[rng.integers(len(parts))]
        joint = KINDS[kinds[rng.integers(len(kinds))]](rng)
        armature, damping, stiffness = rng.uniform(0, 0.5 if passive else 0, (3, joint.nv))
        part = parent.add(
            f"body{k}",
            joint,
            random_inertia(rng),
            at=random_pose(rng),
            joint_name=f"joint{k}",
            armature=armature,
            damping=damping,
            stiffness=stiffness,
        )
        part.frame(f"site{k}", at=random_pose(rng))
        parts.append(part)
    return assemble(world)


def random_pose(rng: Generator) -> Transform:
    """Any rotation, and a position within a metre or so."""
    X = Transform.of(Quaternion(*rng.normal(size=4)).normalized())
    return Transform(X.rotation, Transform.of(rng.normal(size=3) * 0.4).position)


def random_inertia(rng: Generator) -> Inertia:
    """The inertia of a random cloud of mass, so a physical one."""
    mass, com = rng.uniform(0.3, 3.0), rng.normal(size=3) * 0.2
    A = rng.normal(size=(3, 3)) * 0.2
    second = mass * (A @ A.T + 0.01 * np.eye(3))
    I_C = np.trace(second) * np.eye(3) - second
    return Inertia.about_com(mass, com, Sym3(*(float(I_C[i, j]) for i in range(3) for j in range(i, 3))))


def random_state(model: Model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random configuration, velocity and acceleration, for trying things out: (q, v, a)."""
    rng = np.random.default_rng(seed)
    step = rng.normal(size=model.nv)
    q = [x for b in model.bodies for x in b.joint.retract(b.joint.neutral(), step[b.dofs])]
    return np.array(q, dtype=float), rng.normal(size=model.nv), rng.normal(size=model.nv)
