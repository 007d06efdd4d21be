"""Pendulums, chains and carts. Lengths, masses and gravity may be symbols."""

from __future__ import annotations

from collections.abc import Sequence

from qdot.algebra import Scalar, Vec3
from qdot.description.builder import Mechanism, Part
from qdot.geometry import Box, Capsule, Sphere
from qdot.joints import Free, Planar, Prismatic, Revolute
from qdot.model.assemble import assemble
from qdot.model.library import arguments
from qdot.model.model import Model
from qdot.spatial import Inertia


def rod(mass: Scalar, length: Scalar, top: Scalar = 0) -> Inertia:
    """A thin uniform rod along z from `top` down to `top - length`."""
    I = mass * length**2 / 12
    return Inertia.about_com(mass, (0, 0, top - length / 2), (I, I, 0))


def _hang(
    name: str,
    lengths: Sequence[Scalar],
    solids: Sequence[Inertia],
    gravity: Scalar,
    *,
    names: Sequence[tuple[str, str]],
    bobs: bool,
) -> Model:
    """Bodies hanging on each other along -z, turning about y; `names` are those of body and joint."""
    world = Mechanism(name, gravity=(0, 0, -gravity))
    part, at = world.world, Vec3.zero()
    for (body, joint), length, solid in zip(names, lengths, solids, strict=True):
        part = part.add(body, Revolute("y"), solid, at=at, joint_name=joint)
        part.show(Capsule(length=length, radius=0.03 * length).at(0, 0, -length / 2))
        if bobs:
            part.show(Sphere(0.08 * length).at(0, 0, -length))
        at = Vec3(0, 0, -length)
    part.frame("tip", at=at)
    return assemble(world)


def _numbered(body: str, n: int) -> list[tuple[str, str]]:
    return [(f"{body}{k}", f"joint{k}") for k in range(1, n + 1)]


def pendulum(length: Scalar = 1.0, mass: Scalar = 1.0, gravity: Scalar = 9.81) -> Model:
    """A point mass on a massless rod, hanging along -z at q = 0, turning about y."""
    arguments.scalars("pendulum", length=length, mass=mass)
    bob = Inertia.point(mass, (0, 0, -length))
    return _hang("pendulum", [length], [bob], gravity, names=_numbered("rod", 1), bobs=True)


def double_pendulum(
    lengths: tuple[Scalar, Scalar] = (1.0, 1.0), masses: tuple[Scalar, Scalar] = (1.0, 1.0), gravity: Scalar = 9.81
) -> Model:
    """Two point masses on massless rods, hanging along -z; q are the joint angles, the second relative to the first."""
    arguments.pairs("double_pendulum", lengths=lengths, masses=masses)
    bobs = [Inertia.point(m, (0, 0, -length)) for m, length in zip(masses, lengths, strict=True)]
    return _hang("double_pendulum", lengths, bobs, gravity, names=_numbered("rod", 2), bobs=True)


def n_pendulum(n: int, length: Scalar = 1.0, mass: Scalar = 1.0, gravity: Scalar = 9.81) -> Model:
    """n equal point masses on n equal massless rods, hanging along -z."""
    arguments.count("n_pendulum", n=n)
    arguments.scalars("n_pendulum", length=length, mass=mass)
    bobs = [Inertia.point(mass, (0, 0, -length))] * n
    return _hang("n_pendulum", [length] * n, bobs, gravity, names=_numbered("rod", n), bobs=True)


def five_link_chain(length: Scalar = 0.2, mass: Scalar = 0.1, gravity: Scalar = 9.8) -> Model:
    """Five equal uniform rods hanging from the world by revolute joints about y (U10)."""
    arguments.scalars("five_link_chain", length=length, mass=mass)
    return _hang(
        "five_link_chain", [length] * 5, [rod(mass, length)] * 5, gravity, names=_numbered("link", 5), bobs=False
    )


def acrobot(
    lengths: tuple[Scalar, Scalar] = (1.0, 1.0),
    masses: tuple[Scalar, Scalar] = (1.0, 1.0),
    coms: tuple[Scalar, Scalar] = (0.5, 0.5),
    inertias: tuple[Scalar, Scalar] = (1.0, 1.0),
    gravity: Scalar = 9.8,
) -> Model:
    """The acrobot of Sutton and Barto: two links hanging along -z, 1 kg·m² each about their centres of mass."""
    arguments.pairs("acrobot", lengths=lengths, masses=masses, coms=coms, inertias=inertias)
    links = [Inertia.about_com(m, (0, 0, -c), (I, I, I)) for m, c, I in zip(masses, coms, inertias, strict=True)]
    names = [("upper", "shoulder"), ("lower", "elbow")]
    return _hang("acrobot", lengths, links, gravity, names=names, bobs=False)


def cart_pole(cart_mass: Scalar = 1.0, pole_mass: Scalar = 0.1, length: Scalar = 1.0, gravity: Scalar = 9.81) -> Model:
    """A cart along x with a uniform pole that stands up along z at q = 0, turning about y."""
    arguments.scalars("cart_pole", cart_mass=cart_mass, pole_mass=pole_mass, length=length, gravity=gravity)
    world = Mechanism("cart_pole", gravity=(0, 0, -gravity))
    cart = world.add("cart", Prismatic("x"), Box(0.4, 0.2, 0.2, mass=cart_mass), joint_name="slide")
    pole = cart.add("pole", Revolute("y"), rod(pole_mass, length, top=length), joint_name="hinge")
    pole.show(Capsule(length=length, radius=0.03 * length).at(0, 0, length / 2))
    pole.frame("tip", at=(0, 0, length))
    return assemble(world)


def floating_two_link(
    length: Scalar = 1.0, mass: Scalar = 1.0, gravity: Scalar = 9.81, *, planar: bool = False
) -> Model:
    """Two uniform rods joined at their ends and held by nothing: in space, or in the z–x plane (U11, U16)."""
    arguments.scalars("floating_two_link", length=length, mass=mass)
    world = Mechanism("floating_two_link", gravity=(0, 0, -gravity))
    half = length / 2
    first: Part = world.add("first", Planar("y") if planar else Free(), rod(mass, length, top=half), joint_name="base")
    second = first.add("second", Revolute("y"), rod(mass, length), at=(0, 0, -half), joint_name="hinge")
    first.show(Capsule(length=length, radius=0.04 * length))
    second.show(Capsule(length=length, radius=0.04 * length).at(0, 0, -half))
    return assemble(world)
