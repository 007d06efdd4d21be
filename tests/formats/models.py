"""Models for the tests of writers, and what it means that a file describes the same mechanism as a model."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

import qdot
from qdot import Model
from qdot.algebra import Vec3, as_array
from qdot.description import (
    Activation,
    ActuatorRecord,
    Affine,
    BodyRecord,
    ConnectRecord,
    Contact,
    CouplingRecord,
    Description,
    ExclusionRecord,
    Fluid,
    FrameRecord,
    JointSoftness,
    KeyframeRecord,
    Material,
    OnContacts,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
    Options,
    PairRecord,
    Passive,
    Pulley,
    SensorRecord,
    Severity,
    ShapeRecord,
    Softness,
    TendonRecord,
    Via,
    Weighted,
    WeldRecord,
    Wrap,
)
from qdot.formats.written import Written
from qdot.geometry import (
    Box,
    Capsule,
    Cone,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Plane,
    Shape,
    Sphere,
)
from qdot.joints import Free, Joint, Prismatic, Revolute, Spherical
from qdot.model.library import random_inertia, random_pose, random_state, random_tree
from qdot.spatial import Inertia, Transform

TOLERANCE = 1e-12
"""Times 1 + the largest number: texts keep every bit of a number; rotations go through angles or quaternions and
inertias through principal axes, each some 1e-16, and sums over a few bodies follow."""


def tree(seed: int, kinds: list[str], bodies: int = 6, **options: object) -> Model:
    """A random tree under gravity as URDF means it."""
    model = random_tree(seed, bodies, kinds, **options)
    return qdot.assemble(replace(model.description, gravity=Vec3(0, 0, -9.81)))


def off_axis(seed: int, *joints: Joint) -> Model:
    """A chain whose bodies have frames of their own, away from the ones that their joints move."""
    rng = np.random.default_rng(seed)
    bodies, frames, parent = [], [], "world"
    for k, joint in enumerate(joints):
        bodies.append(
            BodyRecord(
                f"body{k}",
                parent,
                joint,
                f"joint{k}",
                Transform.identity() if isinstance(joint, Free) else random_pose(rng),
                random_inertia(rng),
                frame=random_pose(rng),
            )
        )
        frames.append(FrameRecord(f"site{k}", f"body{k}", random_pose(rng)))
        parent = f"body{k}"
    return qdot.assemble(Description("off_axis", Vec3(0, 0, -9.81), tuple(bodies), tuple(frames)))


TETRAHEDRON = Mesh([[0, 0, 0], [0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.3]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
SHAPES: dict[str, Shape] = {
    "box": Box(0.1, 0.2, 0.3),
    "sphere": Sphere(0.1),
    "cylinder": Cylinder(0.1, 0.3),
    "capsule": Capsule(0.05, 0.2),
    "ellipsoid": Ellipsoid(0.1, 0.2, 0.3),
    "cone": Cone(0.1, 0.2),
    "mesh": TETRAHEDRON,
    "hull": ConvexHull(np.random.default_rng(0).normal(size=(12, 3)) * 0.1),
}


def with_shapes(shapes: dict[str, Shape], **options: object) -> Model:
    """One body that carries shapes, each somewhere on it."""
    rng = np.random.default_rng(0)
    records = tuple(ShapeRecord(shape.at(random_pose(rng)), name=name, **options) for name, shape in shapes.items())
    body = BodyRecord(
        "body",
        "world",
        Revolute("z", limits=(-1, 1)),
        "joint",
        Transform.identity(),
        random_inertia(rng),
        shapes=records,
    )
    return qdot.assemble(Description("shapes", Vec3(0, 0, -9.81), (body,)))


def everything() -> Model:
    """A mechanism with every record that MJCF has words for: nothing of it may get lost there."""
    hard = Softness((0.01, 0.9), (0.8, 0.9, 0.002, 0.4, 3.0))
    bar = Inertia.about_com(1.2, (0.1, 0.02, -0.03), (0.02, 0.03, 0.04))
    touch = Contact(2, 3, 4, (0.7, 0.01, 0.002), hard, 0.01, 0.004, 1, 2.0)
    grip = Transform.rpy(0.1, 0.2, 0.3, (0.3, 0, 0.05))
    wheel = Transform.rpy(0.3, 0, 0, (0.1, 0.05, 0))
    bodies = (
        BodyRecord(
            "trunk",
            "world",
            Free(),
            "base",
            Transform.identity(),
            bar,
            Passive(damping=(0.3,) * 6),
            (ShapeRecord(Box(0.2, 0.3, 0.1), material=Material("steel", (0.2, 0.3, 0.4, 1.0)), name="shell"),),
            home=(0.6, 0.0, 0.8, 0.0, 0.1, -0.2, 0.7),
            gravity_compensation=0.4,
        ),
        BodyRecord(
            "arm",
            "trunk",
            Revolute((0, 0.6, 0.8), limits=(-1.5, 2.0)),
            "shoulder",
            Transform.rpy(0.2, 0.1, -0.4, (0.1, 0.2, 0.3)),
            bar,
            Passive((0.11,), (0.3,), (0.05,), (2.5,), (0.4,)),
            (ShapeRecord(Capsule(0.03, 0.3).at(0.15, 0, 0), name="bone", contact=touch, group=1),),
            Transform.translation(-0.05, 0.02, 0.01),
            (0.3,),
            compensated_by_drive=True,
            drive_range=(-20.0, 30.0),
            softness=JointSoftness(hard, Softness((0.03, 1.1)), 0.02),
        ),
        BodyRecord(
            "hand",
            "arm",
            Spherical(limits=(0, 1.2)),
            "wrist",
            Transform.translation(0.3, 0, 0),
            bar,
            Passive((0.02,) * 3, (0.1,) * 3, (), (1.7,) * 3),
            (ShapeRecord(TETRAHEDRON.at(0.01, 0, 0), name="fist", collision=False),),
            Transform.translation(0.02, 0.01, 0),
        ),
        BodyRecord(
            "finger",
            "hand",
            Prismatic("x", limits=(0, 0.1)),
            "grip",
            grip,
            bar,
            shapes=(ShapeRecord(Cylinder(0.02, 0.1).at(wheel), name="wheel"),),
            home=(0.02,),
        ),
        BodyRecord("thumb", "hand", Prismatic("y", limits=(0, 0.1)), "pinch", grip, bar),
        BodyRecord(
            "flag",
            "world",
            qdot.joints.Fixed(),
            "flag:fixed",
            Transform.translation(1, 0, 1),
            Inertia.zero(),
            shapes=(ShapeRecord(Sphere(0.05), name="ball"),),
            target=True,
        ),
    )
    region = ShapeRecord(Ellipsoid(0.01, 0.02, 0.03), material=Material("", (1, 0, 0, 0.5)), collision=False, group=4)
    frames = (
        FrameRecord("anchor", "world", Transform.translation(0.2, 0.1, 1.0)),
        FrameRecord("elbow", "arm", Transform.rpy(0.1, 0.5, 0, (0.3, 0.01, 0)), replace(region, visual=False)),
        FrameRecord("tip", "finger", Transform.translation(0.05, 0, 0)),
        FrameRecord("side", "finger", Transform.translation(0.1, 0.1, 0)),
        FrameRecord("wheel", "finger", wheel),
    )
    tendons = (
        TendonRecord(
            "pair",
            (Weighted("grip", 1.0), Weighted("pinch", -0.5)),
            3.0,
            0.2,
            (-0.01, 0.02),
            friction=0.1,
            range=(-0.1, 0.2),
            margin=0.01,
            limit_softness=hard,
            friction_softness=Softness((0.04, 1.2)),
            force_range=(-3.0, 4.0),
        ),
        TendonRecord(
            "cord",
            (Via("anchor"), Via("elbow"), Wrap("wheel", 0.02, True, "side"), Via("tip"), Pulley(2.0), Via("elbow"),
             Via("tip")),
            30.0,
            0.3,
            (0.1, 0.4),
            width=0.004,
            color=(0.9, 0.1, 0.2, 1.0),
        ),
    )  # fmt: skip
    actuators = (
        ActuatorRecord("motor", OnJoint("shoulder", (50, 0, 0, 0, 0, 0)), control_range=(-1.0, 1.0), group=2),
        ActuatorRecord(
            "servo", OnJoint("grip"), Affine(20), Affine(0, -20, -3), Activation("filterexact", 0.1, (-0.1, 0.2), True)
        ),
        ActuatorRecord("twist", OnJoint("wrist", (0.1, 0.2, 0.3, 0, 0, 0), True), Affine(1, 0.1, 0.2)),
        ActuatorRecord("pull", OnTendon("cord", 2.0), force_range=(-10.0, 0.0)),
        ActuatorRecord("jet", OnFrame("tip", (1, 2, 3, 0.1, 0.2, 0.3)), dynamics=Activation("integrator")),
        ActuatorRecord("crane", OnFrame("tip", (0, 0, 1, 0, 0, 0), "anchor"), Affine(5), Affine(0, -5)),
        ActuatorRecord("crank", OnSliderCrank("elbow", "tip", 0.5, 1.5)),
        ActuatorRecord("glue", OnContacts("thumb", 3.0), control_range=(0.0, 1.0)),
    )
    held = Transform.rpy(0.3, -0.2, 0.5, (0.1, 0.2, 0.3))
    constraints = (
        CouplingRecord("mimic", "pinch", "grip", (0.01, 0.5, 0.1), (0.0, 0.02), softness=hard),
        CouplingRecord("fixed_pair", "pair", None, (0.05,), (0.02, 0.0), tendons=True, active=False),
        ConnectRecord("rope", "tip", Vec3.zero(), "anchor", Vec3.zero(), softness=hard),
        WeldRecord("glued", "hand", held, "trunk", Vec3(0.1, 0.2, 0.3), 2.0, active=False),
        WeldRecord("sites", "tip", Transform.identity(), "anchor", Vec3.zero(), 0.5, active=False),
    )
    kinds = {
        "gyro": ("site", "elbow"), "framepos": ("xbody", "hand"), "jointpos": ("joint", "shoulder"),
        "tendonvel": ("tendon", "cord"), "actuatorfrc": ("actuator", "motor"), "subtreecom": ("body", "arm"),
        "clock": ("", ""), "touch": ("site", "elbow"), "ballquat": ("joint", "wrist"),
    }  # fmt: skip
    sizes = {"gyro": 3, "framepos": 3, "subtreecom": 3, "ballquat": 4}
    sensors = (
        *(SensorRecord(f"{kind}_sensor", kind, *at, size=sizes.get(kind, 1)) for kind, at in kinds.items()),
        SensorRecord("relative", "framequat", "site", "tip", "site", "anchor", 4, 0.0, 0.01),
        SensorRecord("limit", "jointlimitfrc", "joint", "shoulder", cutoff=5.0),
        SensorRecord("gap", "distance", "geom", "bone", "geom", "ball", cutoff=2.0),
    )
    description = Description(
        "everything",
        Vec3(0.1, 0.2, -9.7),
        bodies,
        frames,
        world_shapes=(
            ShapeRecord(Plane(2.0, 3.0), name="floor"),
            ShapeRecord(HeightField([[0, 0.25], [0.5, 1], [0.75, 0]], 1.0, 2.0, 0.5, 0.1).at(0, 0, -1), name="hills"),
        ),
        constraints=constraints,
        tendons=tendons,
        actuators=actuators,
        pairs=(PairRecord("rub", "bone", "wheel", 6, (0.5, 0.6, 0.01, 0.001, 0.002), hard, (0.05, 1.0), 0.01, 0.002),),
        exclusions=(ExclusionRecord("apart", "trunk", "arm"),),
        sensors=sensors,
        fluid=Fluid(0, 0, (1.0, 2.0, 3.0)),
        options=Options(
            0.001,
            "implicitfast",
            "elliptic",
            "CG",
            50,
            1e-9,
            2.0,
            3,
            1e-4,
            frozenset({"frictionloss"}),
            frozenset({"energy"}),
        ),
    )
    model = qdot.assemble(description)
    q, v, _ = random_state(model, 5)
    key = KeyframeRecord("pose", 1.5, tuple(q), tuple(v), (0.1, 0.2), tuple(np.linspace(-1, 1, len(actuators))))
    return qdot.assemble(replace(description, keyframes=(key, KeyframeRecord("start"))))


def changed(model: Model, **records: object) -> Model:
    """The model with other records."""
    return qdot.assemble(replace(model.description, **records))


# ── what was written ─────────────────────────────────────────────────────────────────────────────


def loaded(written: Written, folder: Path) -> Model:
    """The model that is read back from files."""
    for name, content in written.assets.items():
        (folder / name).write_bytes(content)
    file = folder / ("model.urdf" if "<robot" in written.text else "model.xml")
    file.write_text(written.text)
    return qdot.load(file)


def severities(written: Written, subject: str = "") -> set[Severity]:
    """Of what the report says of a subject."""
    return {item.severity for item in written.report if subject in item.subject}


# ── what is the same ─────────────────────────────────────────────────────────────────────────────


def assert_close(x: object, y: object, tolerance: float = TOLERANCE) -> None:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert x.shape == y.shape
    assert np.isfinite(y).all()
    assert np.abs(x - y).max(initial=0.0) <= tolerance * (1 + np.abs(y).max(initial=0.0))


def places(given: Model, other: Model) -> tuple[list[int], list[int]]:
    """Where the entries of q and v of another model are in those of a given one: joints have the same names, or that
    of the whole joint with a number for each of its parts."""
    parts: dict[str, list] = defaultdict(list)
    for body in other.bodies:
        name, _, number = body.joint_name.rpartition("_")
        whole = name if number.isdigit() and body.joint_name not in {b.joint_name for b in given.bodies} else ""
        parts[whole or body.joint_name].append((int(number) if whole else 0, body))
    q, v = [0] * other.nq, [0] * other.nv
    for name, pieces in parts.items():
        if not any(body.joint.nv for _, body in pieces):
            continue
        joint = given.joint(name)
        q0, v0 = joint.qs.start, joint.dofs.start
        for _, body in sorted(pieces, key=lambda piece: piece[0]):
            q[body.qs] = range(q0, q0 + body.joint.nq)
            v[body.dofs] = range(v0, v0 + body.joint.nv)
            q0, v0 = q0 + body.joint.nq, v0 + body.joint.nv
        assert (q0, v0) == (joint.qs.stop, joint.dofs.stop), name
    return q, v


def assert_same_motion(given: Model, other: Model, *, passive: bool = True, states: int = 3) -> None:
    """The same inertia, bias, passive forces, masses and poses of everything that has a name, at random states."""
    qs, dofs = places(given, other)
    assert_close(qdot.total_mass(other), qdot.total_mass(given))
    for seed in range(states):
        q, v, _ = random_state(given, seed)
        q_other, v_other = q[qs], v[dofs]
        assert_close(qdot.mass_matrix(other, q_other), qdot.mass_matrix(given, q)[np.ix_(dofs, dofs)])
        assert_close(qdot.bias_forces(other, q_other, v_other), qdot.bias_forces(given, q, v)[dofs])
        if passive:
            assert_close(qdot.passive_forces(other, q_other, v_other), qdot.passive_forces(given, q, v)[dofs])
        here, there = qdot.kinematics(given, q), qdot.kinematics(other, q_other)
        for name in given.frames:
            assert_close(as_array(there.pose(name)), as_array(here.pose(name)))


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")


def assert_same_text(first: str, second: str, tolerance: float = 1e-9) -> None:
    """The same words, and the same numbers to within rounding; inertias, whose axes may turn, are left to M."""
    one, two = ("\n".join(line for line in text.splitlines() if "<inertial " not in line) for text in (first, second))
    assert _NUMBER.sub("#", one) == _NUMBER.sub("#", two)
    assert_close([float(x) for x in _NUMBER.findall(one)], [float(x) for x in _NUMBER.findall(two)], tolerance)
