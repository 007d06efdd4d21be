"""Manipulators: the worked examples of the textbooks, the Puma 560, and a seven-joint arm."""

from __future__ import annotations

from math import pi

from qdot.algebra import Scalar, Sym3, Vec3
from qdot.description.builder import Mechanism
from qdot.geometry import Box, Capsule, Cylinder, Shape, Sphere
from qdot.joints import Limits, Prismatic, Revolute
from qdot.model.assemble import assemble
from qdot.model.library import arguments
from qdot.model.model import Model
from qdot.spatial import Inertia, Transform, axis_rotation

X, Y = Vec3(1, 0, 0), Vec3(0, 1, 0)


def _along_x(shape: Shape, at: Scalar) -> Shape:
    return shape.at(Transform(axis_rotation(Y, pi / 2), Vec3(at, 0, 0)))


def two_link_arm(
    lengths: tuple[Scalar, Scalar] = (1.0, 1.0), masses: tuple[Scalar, Scalar] = (1.0, 1.0), gravity: Scalar = 9.81
) -> Model:
    """Todorov's planar arm of two point masses (T13): hand at x = l₁ cos q₁ + l₂ cos(q₁ + q₂), gravity along -y."""
    arguments.pairs("two_link_arm", lengths=lengths, masses=masses)
    world = Mechanism("two_link_arm", gravity=(0, -gravity, 0))
    part, at = world.world, Vec3.zero()
    names = (("upper_arm", "shoulder"), ("forearm", "elbow"))
    for (body, joint), length, mass in zip(names, lengths, masses, strict=True):
        part = part.add(body, Revolute("z"), Inertia.point(mass, (length, 0, 0)), at=at, joint_name=joint)
        part.show(_along_x(Capsule(length=length, radius=0.03 * length), length / 2))
        part.show(Sphere(0.08 * length).at(length, 0, 0))
        at = Vec3(length, 0, 0)
    part.frame("hand", at=at)
    return assemble(world)


def rp_arm(
    l1: Scalar = 0.5,
    masses: tuple[Scalar, Scalar] = (1.0, 1.0),
    inertias: tuple[Scalar, Scalar] = (0.1, 0.1),
    gravity: Scalar = 9.81,
) -> Model:
    """Khatib's revolute–prismatic manipulator (K12): q = (θ₁, d₂), I_zz about the links' centres, gravity along -y."""
    arguments.scalars("rp_arm", l1=l1)
    (m1, m2), (I1, I2) = arguments.pairs("rp_arm", masses=masses, inertias=inertias)
    world = Mechanism("rp_arm", gravity=(0, -gravity, 0))
    # Only I_zz enters the motion; the other moments make each link a flat plate, I_zz = I_xx + I_yy, as a body can be.
    first = Inertia.about_com(m1, (l1, 0, 0), Sym3.diagonal(I1 / 2, I1 / 2, I1))
    second = Inertia.about_com(m2, (0, 0, 0), Sym3.diagonal(I2 / 2, I2 / 2, I2))
    link1 = world.add("link1", Revolute("z"), first, joint_name="theta1")
    link2 = link1.add("link2", Prismatic("x"), second, joint_name="d2")
    link1.show(Box(2 * l1, 0.1 * l1, 0.1 * l1).at(l1, 0, 0))
    link2.show(Box(0.4 * l1, 0.2 * l1, 0.2 * l1))
    return assemble(world)


_PUMA = (  # a, d [m], alpha [rad], m [kg], r [m], I about the centre of mass [kg·m²], Jm [kg·m²], gear ratio
    (0.0, 0.67183, pi / 2, 0.0, (0.0, 0.0, 0.0), (0.0, 0.35, 0.0), 2e-4, -62.6111),
    (0.4318, 0.0, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 2e-4, 107.815),
    (0.0203, 0.15005, -pi / 2, 4.8, (-0.0203, -0.0141, 0.07), (0.066, 0.086, 0.0125), 2e-4, -53.7063),
    (0.0, 0.4318, pi / 2, 0.82, (0.0, 0.019, 0.0), (0.0018, 0.0013, 0.0018), 3.3e-5, 76.0364),
    (0.0, 0.0, -pi / 2, 0.34, (0.0, 0.0, 0.0), (0.0003, 0.0004, 0.0003), 3.3e-5, 71.923),
    (0.0, 0.0, 0.0, 0.09, (0.0, 0.0, 0.032), (0.00015, 0.00015, 4e-5), 3.3e-5, 76.686),
)


def puma560(gravity: Scalar = 9.81) -> Model:
    """The Unimation Puma 560 with the parameters of Armstrong, Khatib and Burdick as collected by Corke (1994).

    Standard Denavit–Hartenberg frames; drives as armature, N² J_m. The data are kept as published, though no body can
    have some of them: the first link has inertia about its axis but no mass, the third breaks the triangle inequality.
    """
    world = Mechanism("puma560", gravity=(0, 0, -gravity), allow_unphysical=True)
    part, at = world.world, Transform.identity()
    for k, (a, d, alpha, m, r, I, Jm, ratio) in enumerate(_PUMA, start=1):
        link_end = Transform(axis_rotation(X, alpha), Vec3(a, 0, d))  # the Denavit–Hartenberg frame at the link's end
        solid = link_end @ Inertia.about_com(m, r, I)
        part = part.add(f"link{k}", Revolute("z"), solid, at=at, joint_name=f"joint{k}", armature=ratio**2 * Jm)
        for bone in _bones(a, d):
            part.show(bone)
        at = link_end
    part.frame("flange", at=at)
    return assemble(world)


def _bones(a: float, d: float) -> list[Shape]:
    """What the eye follows from one Denavit–Hartenberg frame to the next: d along z, then a along x."""
    bones: list[Shape] = [Cylinder(radius=0.045, length=0.12)]
    if d:
        bones.append(Capsule(radius=0.04, length=abs(d)).at(0, 0, d / 2))
    if a:
        bones.append(Capsule(radius=0.04, length=abs(a)).at(Transform(axis_rotation(Y, pi / 2), Vec3(a / 2, 0, d))))
    return bones


_SEVEN = (  # joint axis, link length [m], radius [m], mass [kg], limits [rad]
    ("z", 0.34, 0.075, 5.0, 2.96),
    ("y", 0.20, 0.070, 4.5, 2.09),
    ("z", 0.20, 0.065, 3.0, 2.96),
    ("y", 0.20, 0.060, 2.7, 2.09),
    ("z", 0.20, 0.055, 1.7, 2.96),
    ("y", 0.20, 0.050, 1.6, 2.09),
    ("z", 0.13, 0.045, 0.4, 3.05),
)


def seven_joint_arm(gravity: Scalar = 9.81) -> Model:
    """An arm of seven revolute joints, alternately along and across its links, as large as a light industrial one."""
    world = Mechanism("seven_joint_arm", gravity=(0, 0, -gravity))
    part, at = world.world, Vec3.zero()
    for k, (axis, length, radius, mass, bound) in enumerate(_SEVEN, start=1):
        part = part.add(
            f"link{k}",
            Revolute(axis, limits=Limits((-bound,), (bound,), velocity=(2.0,), effort=(300.0,))),
            Capsule(radius=radius, length=length - radius, mass=mass).at(0, 0, length / 2),
            at=at,
            joint_name=f"joint{k}",
        )
        at = Vec3(0, 0, length)
    part.frame("flange", at=at)
    return assemble(world)
