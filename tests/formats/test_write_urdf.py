"""Models written as URDF: Pinocchio and qdot's reader make of the text what qdot makes of the model."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import sympy
from hypothesis import given, strategies as st

import qdot
from benchmarks.robots import in_wheels
from qdot import Model
from qdot.algebra import Quaternion, Vec3, as_array
from qdot.description import (
    ActuatorRecord,
    Affine,
    ConnectRecord,
    Contact,
    CouplingRecord,
    ExclusionRecord,
    Fluid,
    FrameRecord,
    JointSoftness,
    KeyframeRecord,
    LoopRecord,
    Material,
    OnJoint,
    Options,
    Passive,
    SensorRecord,
    Severity,
    ShapeRecord,
    Softness,
    TendonRecord,
    Weighted,
)
from qdot.errors import ModelError
from qdot.formats.mjcf_writer import to_mjcf
from qdot.formats.urdf_writer import to_urdf
from qdot.formats.urdf_writer_shapes import roll_pitch_yaw
from qdot.geometry import Box, HeightField, Mesh, MeshFile, Plane, Sphere
from qdot.joints import (
    Compound,
    Continuous,
    Fixed,
    Free,
    Helical,
    Limits,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from qdot.model.library import floating_two_link, puma560, random_pose, random_state, seven_joint_arm
from qdot.spatial import Inertia, Transform
from tests.formats.models import (
    SHAPES,
    assert_close,
    assert_same_motion,
    assert_same_text,
    changed,
    everything,
    loaded,
    off_axis,
    severities,
    tree,
    with_shapes,
)

KINDS = ["revolute", "continuous", "prismatic", "cylindrical", "universal", "planar", "free", "fixed"]


def arm(**of_first_body) -> Model:
    """Two bodies on limited hinges; what is given replaces fields of the first."""
    limits = Limits((-1,), (2,), (3,), (4,))
    world = qdot.Mechanism("arm")
    upper = world.add("upper", Revolute("y", limits=limits), Inertia.point(1, (0.1, 0, 0.2)), joint_name="shoulder")
    upper.add("lower", Revolute("y", limits=limits), Inertia.point(1, (0.1, 0, 0)), at=(0.3, 0, 0), joint_name="elbow")
    model = qdot.assemble(world)
    first, second = model.description.bodies
    return changed(model, bodies=(replace(first, **of_first_body), second))


# ── the same mechanism ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(6))
def test_reading_back_gives_the_same_motion(seed, tmp_path):
    model = tree(seed, KINDS, passive=False)
    first = to_urdf(model)
    assert Severity.PHYSICS not in severities(first)
    again = loaded(first, tmp_path)
    assert_same_motion(model, again)
    second = to_urdf(again)
    assert_same_text(second.text, first.text)
    assert loaded(second, tmp_path).bodies[-1].name == again.bodies[-1].name


@pytest.mark.parametrize("seed", range(3))
def test_frames_off_the_joints_and_offsets_in_them(seed, tmp_path):
    X = random_pose(np.random.default_rng(seed))
    joints = [Free(), Compound(Fixed(X), Revolute("x"), Fixed(X), Prismatic("y")), Fixed(X), Planar((0.6, 0, 0.8))]
    model = off_axis(seed, *joints)
    first = to_urdf(model)
    again = loaded(first, tmp_path)
    assert_same_motion(model, again)
    assert_same_text(to_urdf(again).text, first.text)


@pytest.mark.parametrize("build", [seven_joint_arm, floating_two_link, puma560], ids=["arm", "free", "puma560"])
def test_library(build, tmp_path):
    # Without drives: URDF has no armature. Puma's table has moments without a mass, which URDF can say.
    model = build()
    bodies = tuple(replace(b, passive=Passive()) for b in model.description.bodies)
    model = changed(model, bodies=bodies, gravity=Vec3(0, 0, -9.81))
    assert_same_motion(model, loaded(to_urdf(model), tmp_path))


@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_sees_the_same_mechanism(seed):
    # Straight against Pinocchio, without a reader of qdot between them; joints of one number each.
    X = random_pose(np.random.default_rng(seed))
    limits = Limits((-3,), (3,), (5,), (6,))
    turn, slide = Revolute((0, 0.6, 0.8), limits=limits), Prismatic((0.6, 0.8, 0), limits=limits)
    model = off_axis(seed, turn, slide, Fixed(X), Compound(turn, Fixed(X), slide), turn)
    peer = pin.buildModelFromXML(to_urdf(model).text)
    data = peer.createData()
    q, v, _ = random_state(model, seed)
    order = [
        model.joint(name.partition("_")[0]).dofs.start + int(name.partition("_")[2] or 0) for name in peer.names[1:]
    ]
    M = pin.crba(peer, data, q[order])
    assert_close(np.triu(M) + np.triu(M, 1).T, qdot.mass_matrix(model, q)[np.ix_(order, order)])
    assert_close(pin.nonLinearEffects(peer, data, q[order], v[order]), qdot.bias_forces(model, q, v)[order])
    pin.framesForwardKinematics(peer, data, q[order])
    motion = qdot.kinematics(model, q)
    for name in model.frames:
        if name != "world":
            assert_close(data.oMf[peer.getFrameId(name)].homogeneous, as_array(motion.pose(name)))


@pytest.mark.parametrize(
    "robot",
    ["panda_description/urdf/panda.urdf", "anymal_b_simple_description/robots/anymal.urdf",
     "talos_data/robots/talos_reduced.urdf", "ur_description/urdf/ur5_robot.urdf",
     "double_pendulum_description/urdf/double_pendulum.urdf"],
)  # fmt: skip
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_robots_of_others(robot, base, tmp_path):
    path = in_wheels(f"share/example-robot-data/robots/{robot}")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    model = qdot.load(path, base=base)
    first = to_urdf(model)
    assert severities(first) <= {Severity.NOTE}
    again = loaded(first, tmp_path)
    assert_same_motion(model, again, states=1)
    assert len(again.bodies) == len(model.bodies)
    assert_same_text(to_urdf(again).text, first.text)


@pytest.mark.parametrize("file", ["humanoid_CMU.xml", "walker.xml", "manipulator.xml", "dog.xml"])
def test_robots_from_mjcf(file, tmp_path):
    # Several joints on a body, about anchors; what URDF has no words for is reported, and taken away to compare.
    spec = importlib.util.find_spec("dm_control")
    if spec is None or spec.origin is None:
        pytest.skip("dm_control is not installed")
    model = qdot.load(Path(spec.origin).parent / "suite" / file)
    written = to_urdf(model)
    assert severities(written) == {Severity.PHYSICS, Severity.IGNORED, Severity.NOTE}
    bodies = tuple(replace(b, passive=Passive()) for b in model.description.bodies)
    bare = changed(model, bodies=bodies, tendons=(), actuators=(), constraints=(), keyframes=(), sensors=())
    assert_same_motion(bare, loaded(written, tmp_path), passive=False, states=1)


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: sum(x * x for x in q) > 0.01), st.booleans())
def test_angles_of_any_rotation(entries, upright):
    # Pitched by ±π/2 too, where yaw and roll are about one axis.
    R = Quaternion(*entries).normalized().rotation()
    if upright:
        R = Transform.rpy(entries[0], np.copysign(np.pi / 2, entries[1]), entries[2]).rotation
    back = Transform.rpy(*roll_pitch_yaw(R)).rotation
    assert_close(as_array(back), as_array(R), 1e-14)  # some roundings of sines and cosines


# ── roots ────────────────────────────────────────────────────────────────────────────────────────


def test_a_root_link_needs_no_world(tmp_path):
    model = qdot.load('<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" '
                      'iyy="1" iyz="0" izz="1"/></inertial></link></robot>')  # fmt: skip
    written = to_urdf(model)
    assert "world" not in written.text
    assert "<joint" not in written.text
    assert loaded(written, tmp_path) == model


def test_a_free_root_floats_on_the_world(tmp_path):
    model = floating_two_link()
    written = to_urdf(model)
    assert 'type="floating"' in written.text
    again = loaded(written, tmp_path)
    assert isinstance(again.bodies[0].joint, Free)
    assert again.bodies[0].joint_name == model.bodies[0].joint_name


# ── joints ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("joint", "kind", "limits", "severity"),
    [
        (Revolute("x", limits=Limits((-1,), (2,), (3,), (4,))), "revolute", ((-1,), (2,), (3,), (4,)), None),
        (Revolute("x", limits=(-1, 2)), "revolute", ((-1,), (2,), (1e10,), (1e10,)), Severity.NOTE),
        (Revolute("x"), "continuous", ((), (), (np.inf,), (np.inf,)), Severity.NOTE),
        (Continuous("x"), "continuous", ((), (), (np.inf,), (np.inf,)), None),
        (Continuous("x", limits=Limits((), (), (3,), (4,))), "continuous", ((), (), (3,), (4,)), None),
        (Prismatic("x"), "prismatic", ((-1e10,), (1e10,), (1e10,), (1e10,)), Severity.NOTE),
    ],
)  # fmt: skip
def test_kinds_and_limits(joint, kind, limits, severity, tmp_path):
    written = to_urdf(arm(joint=joint))
    assert f'name="shoulder" type="{kind}"' in written.text
    assert severities(written) == ({severity} if severity else set())
    assert loaded(written, tmp_path).joint("shoulder").joint.limits == Limits(*limits)


def test_damping_and_friction(tmp_path):
    model = arm(passive=Passive(damping=(0.3,), friction=(0.2,)))
    assert_same_motion(model, loaded(to_urdf(model), tmp_path))


def test_the_range_of_a_drive_is_an_effort(tmp_path):
    written = to_urdf(arm(drive_range=(-3.0, 3.0)))
    assert loaded(written, tmp_path).joint("shoulder").joint.limits.effort == (3.0,)
    assert severities(written) == set()
    lopsided = to_urdf(arm(drive_range=(-3.0, 2.0)))
    assert severities(lopsided, "shoulder") == {Severity.PHYSICS}


def test_mimic_joints(tmp_path):
    model = changed(arm(), constraints=(CouplingRecord("c", "elbow", "shoulder", (0.1, -2.0), (0.3, 0.4)),))
    written = to_urdf(model)
    assert severities(written) == set()
    (found,) = loaded(written, tmp_path).description.constraints
    assert (found.follower, found.driver) == ("elbow", "shoulder")
    assert_close(found.coefficients, (0.3 + 0.1 + 2.0 * 0.4, -2.0))


@pytest.mark.parametrize(
    "record",
    [
        CouplingRecord("c", "elbow", "shoulder", (0.1, -2.0, 3.0)),
        CouplingRecord("c", "elbow", None, (0.1,)),
        ConnectRecord("c", "lower", Vec3.zero(), "world", Vec3.zero()),
    ],
)
@pytest.mark.parametrize("active", [True, False])
def test_constraints_that_urdf_does_not_have(record, active):
    written = to_urdf(changed(arm(), constraints=(replace(record, active=active),)))
    assert severities(written, "constraint 'c'") == {Severity.PHYSICS if active else Severity.IGNORED}


@pytest.mark.parametrize("joint", [Spherical(), Helical("z", 0.1)])
def test_refused_joints(joint):
    with pytest.raises(ModelError, match=f"joint 'shoulder': URDF has no {type(joint).__name__} joint"):
        to_urdf(arm(joint=joint))


def test_names_of_the_parts_of_a_joint_stay_clear_of_others(tmp_path):
    world = qdot.Mechanism("names")
    body = world.add("a", Universal("x", "y"), Inertia.point(1, (0.1, 0.2, 0.3)), joint_name="j")
    body.add("b", Revolute("z"), Inertia.point(1, (0.1, 0.2, 0.3)), joint_name="j_0")
    again = loaded(to_urdf(qdot.assemble(world)), tmp_path)
    assert [b.joint_name for b in again.bodies] == ["j_0_1", "j_1", "j_0"]


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name, tmp_path):
    model = with_shapes({name: SHAPES[name]})
    written = to_urdf(model)
    (given,), found = model.bodies[0].record.shapes, loaded(written, tmp_path).bodies[0].record.shapes
    assert [(s.visual, s.collision) for s in found] == [(True, False), (False, True)]
    for record in found:
        assert record.name == name
        corners = [np.sort(s.shape.surface(48)[0], axis=0) for s in (given, record)]
        assert_close(corners[1], corners[0])
    notes = {item.done.partition(",")[0] for item in written.report if "shape" in item.subject}
    assert notes == {"capsule": {"wrote <capsule>"}, "cone": {"wrote a mesh"}, "ellipsoid": {"wrote a mesh"}}.get(
        name, set()
    )


def test_a_capsule_is_for_pinocchio_too(capfd):
    pin.buildModelFromXML(to_urdf(with_shapes({"capsule": SHAPES["capsule"]})).text)
    assert "rror" not in capfd.readouterr().err


def test_terrain_is_a_mesh_and_a_plane_is_left_out(tmp_path):
    hills = HeightField([[0, 1], [2, 0]], 1, 1, 0.1, 0.1)
    shapes = (ShapeRecord(Plane(), name="floor"), ShapeRecord(hills, name="hills"))
    written = to_urdf(changed(arm(), world_shapes=shapes))
    assert severities(written, "'floor'") == {Severity.PHYSICS}
    assert severities(written, "'hills'") == {Severity.NOTE}
    (first, _) = loaded(written, tmp_path).description.world_shapes
    assert_close(np.sort(first.shape.surface()[0], axis=0), np.sort(hills.surface()[0], axis=0))


def test_materials(tmp_path):
    red, also_red, plain = Material("red", (1, 0, 0, 1)), Material("red", (0.9, 0, 0, 1)), Material("", (0, 1, 0, 0.5))
    shapes = tuple(ShapeRecord(Box(1, 1, 1), material=m, collision=False) for m in (red, also_red, plain, red))
    written = to_urdf(arm(shapes=shapes))
    assert written.text.count("<color ") == 3
    found = loaded(written, tmp_path).body("upper").record.shapes
    assert [s.material.name for s in found] == ["red", "red_1", "color_00ff0080", "red"]
    assert [s.material.color for s in found] == [m.color for m in (red, also_red, plain, red)]


def test_mesh_files(tmp_path):
    file = tmp_path / "part 1.obj"
    file.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    model = with_shapes({"part": MeshFile(str(file), (1.0, 2.0, 3.0))})
    referred, copied = to_urdf(model), to_urdf(model, copy_meshes=True)
    assert referred.assets == {}
    assert copied.assets == {"shapes_part_1.obj": file.read_bytes()}
    for written in (referred, copied):
        (shape, _) = loaded(written, tmp_path).bodies[0].record.shapes
        assert_close(
            np.sort(shape.shape.surface()[0], axis=0),
            np.sort(model.bodies[0].record.shapes[0].shape.surface()[0], axis=0),
        )
    elsewhere = to_urdf(with_shapes({"part": MeshFile("package://robot/part.stl")}))
    assert 'filename="package://robot/part.stl"' in elsewhere.text
    with pytest.raises(ModelError, match="cannot be copied"):
        to_urdf(with_shapes({"part": MeshFile(str(tmp_path / "gone.obj"))}), copy_meshes=True)


def test_equal_meshes_share_a_file():
    mesh = SHAPES["mesh"]
    again = Mesh(mesh.vertices, mesh.faces)
    assert len(to_urdf(with_shapes({"a": mesh, "b": again.at(1, 0, 0)})).assets) == 1


# ── what URDF does not have ──────────────────────────────────────────────────────────────────────

TENDON = TendonRecord("t", (Weighted("elbow", 1.0),))
BALL = ShapeRecord(Sphere(0.1), name="s")
MOTOR = ActuatorRecord("m", OnJoint("elbow"))
SHOULDER, PHYSICS, IGNORED = "joint 'shoulder'", Severity.PHYSICS, Severity.IGNORED
LOST = {  # fields of the first body, or of the description, and what is said of them
    "armature": ({"passive": Passive(armature=(0.1,))}, {}, SHOULDER, PHYSICS),
    "stiffness": ({"passive": Passive(stiffness=(0.1,))}, {}, SHOULDER, PHYSICS),
    "damping of a free joint": ({"joint": Free(), "passive": Passive(damping=(1,) * 6)}, {}, SHOULDER, PHYSICS),
    "compensation": ({"gravity_compensation": 1.0}, {}, "body 'upper'", PHYSICS),
    "target": ({"joint": Fixed(), "target": True}, {}, "body 'upper'", PHYSICS),
    "softness": ({"softness": JointSoftness(margin=0.1)}, {}, SHOULDER, PHYSICS),
    "home": ({"home": (0.3,)}, {}, SHOULDER, IGNORED),
    "limits of a plane": ({"joint": Planar("z", "x", limits=((-1,) * 3, (1,) * 3))}, {}, SHOULDER, IGNORED),
    "contact": ({"shapes": (replace(BALL, contact=Contact(dimension=1)),)}, {}, "shape 's'", PHYSICS),
    "group": ({"shapes": (replace(BALL, group=2),)}, {}, "shape 's'", IGNORED),
    "gravity": ({}, {"gravity": Vec3(0, 0, -1.6)}, "gravity", PHYSICS),
    "fluid": ({}, {"fluid": Fluid(1.2)}, "fluid", PHYSICS),
    "loop": ({}, {"loops": (LoopRecord("l", Spherical(), "lower", "world"),)}, "loop joint 'l'", PHYSICS),
    "exclusion": ({}, {"exclusions": (ExclusionRecord("e", "upper", "lower"),)}, "exclusion 'e'", PHYSICS),
    "spring of a tendon": ({}, {"tendons": (replace(TENDON, stiffness=1.0),)}, "tendon 't'", PHYSICS),
    "tendon": ({}, {"tendons": (TENDON,)}, "tendon 't'", IGNORED),
    "motor": ({}, {"actuators": (MOTOR,)}, "actuator 'm'", IGNORED),
    "servo": ({}, {"actuators": (replace(MOTOR, bias=Affine(0, -1)),)}, "actuator 'm'", PHYSICS),
    "sensor": ({}, {"sensors": (SensorRecord("s", "clock"),)}, "sensor 's'", IGNORED),
    "keyframe": ({}, {"keyframes": (KeyframeRecord("k"),)}, "keyframe 'k'", IGNORED),
    "options": ({}, {"options": Options(timestep=0.01)}, "options", IGNORED),
    "region": ({}, {"frames": (FrameRecord("f", "upper", Transform.identity(), BALL),)}, "frame 'f'", IGNORED),
}


@pytest.mark.parametrize("what", LOST)
def test_what_is_lost_is_reported(what, tmp_path):
    of_body, of_model, subject, severity = LOST[what]
    written = to_urdf(changed(arm(**of_body), **of_model))
    assert [(item.subject, item.severity) for item in written.report if item.severity is not Severity.NOTE] == [
        (subject, severity)
    ]
    loaded(written, tmp_path)


@pytest.mark.parametrize("softness", [JointSoftness(margin=0.1), JointSoftness(friction=Softness((0.03, 1.1)))])
def test_softness_of_what_is_not_there_is_not_lost(softness):
    # Files set it for all joints; it means something for those with limits or dry friction.
    free, loose = arm(joint=Free(), softness=softness), arm(joint=Revolute("x"), softness=softness)
    assert severities(to_urdf(free)) == severities(to_urdf(loose)) == {Severity.NOTE}
    rough = to_urdf(arm(joint=Revolute("x"), softness=softness, passive=Passive(friction=(0.1,))))
    assert (Severity.PHYSICS in severities(rough)) == (softness.friction != Softness())


def test_of_everything_each_thing_is_named():
    model = everything()
    bodies = tuple(b for b in model.description.bodies if b.name in ("trunk", "arm", "flag"))
    keep = {
        "bodies": bodies,
        "frames": (),
        "constraints": (),
        "tendons": (),
        "actuators": (),
        "sensors": (),
        "pairs": (),
    }
    written = to_urdf(changed(model, **keep, keyframes=()))
    told = " ".join(map(str, written.report))
    for word in (
        "gravity",
        "'base'",
        "'shoulder'",
        "'trunk'",
        "'flag'",
        "'bone'",
        "'floor'",
        "'hills'",
        "'apart'",
        "options",
    ):
        assert word in told


@pytest.mark.parametrize("write", [to_urdf, to_mjcf])
def test_symbols_are_refused(write):
    m = sympy.Symbol("m")
    with pytest.raises(ModelError, match="'upper' has m in it"):
        write(arm(inertia=Inertia.about_com(m, (0, 0, 0), (0, 0, 0))))
    with pytest.raises(ModelError, match="'upper' has 2\\*m in it"):
        write(arm(placement=Transform.translation(2 * m, 0, 0)))
