"""Models written as MJCF: MuJoCo makes of the text what qdot makes of the model, and reading it back gives the model.

Tolerances: see `models.TOLERANCE`; numbers of MuJoCo are compared to 1e-9 of the largest one, for its constraint solver
stops there, and meshes are kept in single precision.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import qdot
from benchmarks.robots import in_wheels
from qdot import Model
from qdot.algebra import Quaternion, Vec3, as_array
from qdot.description import (
    Activation,
    ActuatorRecord,
    Affine,
    BodyRecord,
    ConnectRecord,
    CouplingRecord,
    DragBox,
    Fluid,
    KeyframeRecord,
    LoopRecord,
    OnFrame,
    OnJoint,
    OnTendon,
    PairRecord,
    Passive,
    SensorRecord,
    Severity,
    TendonRecord,
    Weighted,
    WeldRecord,
)
from qdot.errors import ModelError
from qdot.formats.mjcf_writer import to_mjcf
from qdot.formats.written import Written
from qdot.geometry import Mesh, MeshFile, Plane
from qdot.joints import (
    Compound,
    Cylindrical,
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
from qdot.model.library import (
    floating_two_link,
    n_pendulum,
    puma560,
    random_inertia,
    random_pose,
    random_state,
    seven_joint_arm,
)
from qdot.spatial import Inertia, Transform
from tests.formats.models import (
    SHAPES,
    TETRAHEDRON,
    assert_close,
    assert_same_motion,
    assert_same_text,
    changed,
    everything,
    loaded,
    off_axis,
    places,
    severities,
    tree,
    with_shapes,
)

KINDS = ["revolute", "continuous", "prismatic", "cylindrical", "universal", "planar", "spherical", "fixed", "compound"]


def compiled(written: Written) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(written.text, written.assets)


def one_body(joint, **options) -> Model:
    body = BodyRecord(
        "body", "world", joint, "joint", Transform.identity(), random_inertia(np.random.default_rng(0)), **options
    )
    return qdot.assemble(qdot.description.Description("one", Vec3(0, 0, -9.81), (body,)))


def assert_same_residuals(given: Model, other: Model, q: np.ndarray, q_other: np.ndarray) -> None:
    here, there = qdot.constraint_residuals(given, q), qdot.constraint_residuals(other, q_other)
    assert list(there) == list(here)
    for name, residual in here.items():
        assert_close(there[name], residual)


# ── the same mechanism ───────────────────────────────────────────────────────────────────────────


def uniform(model: Model) -> Model:
    """The model with one armature, damping and stiffness for all freedoms of a joint: MuJoCo has one for a ball."""
    return changed(
        model,
        bodies=tuple(
            replace(b, passive=Passive(*((getattr(b.passive, kind)[0],) * b.joint.nv if b.joint.nv else () for kind in
                    ("armature", "damping")), stiffness=(b.passive.stiffness[0],) * b.joint.nv if b.joint.nv else ()))
            for b in model.description.bodies
        ),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_reading_back_gives_the_same_motion(seed, tmp_path):
    model = uniform(tree(seed, KINDS))
    first = to_mjcf(model)
    assert Severity.PHYSICS not in severities(first)
    again = loaded(first, tmp_path)
    # A compound joint's ball may be in axes of its own (a NOTE says so): its q and v mean something else then.
    turned = any("quaternion" in item.done for item in first.report)
    if not turned:
        assert_same_motion(model, again)
    assert_same_text(to_mjcf(again).text, first.text)


@pytest.mark.parametrize("seed", range(4))
def test_mujoco_sees_the_same_mechanism(seed):
    # Straight against MuJoCo, without a reader of qdot between them.
    free = [Free(), Revolute((0.6, 0, 0.8), limits=(-1, 1)), Planar((0, 0.6, 0.8)), Spherical(), Prismatic("-y")]
    model = off_axis(seed, *free) if seed % 2 else tree(seed, KINDS[:7], passive=False)
    mj = compiled(to_mjcf(model))
    data = mujoco.MjData(mj)
    assert (mj.nq, mj.nv) == (model.nq, model.nv)
    q, v, _ = random_state(model, seed)
    T, qpos, row, drift = np.zeros((mj.nv, mj.nv)), [], 0, np.zeros(mj.nv)
    for k in range(mj.njnt):
        whole, _, number = mj.joint(k).name.partition("_")
        body = model.joint(whole)
        qi, dofs = q[body.qs], np.arange(body.dofs.start, body.dofs.stop)
        if number:
            qi, dofs = qi[[int(number)]], dofs[[int(number)]]
        block = np.eye(len(dofs))
        if isinstance(body.joint, Free):
            R = as_array(Quaternion(*qi[:4]).rotation())
            block = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
            drift[row : row + 3] = R @ np.cross(v[dofs[:3]], v[dofs[3:]])
            qi = [*qi[4:], *qi[:4]]
        qpos.extend(qi)
        T[row : row + len(dofs), dofs] = block
        row += len(dofs)
    data.qpos[:], data.qvel[:] = qpos, T @ v
    mujoco.mj_forward(mj, data)
    M = np.array([[0.0] * mj.nv] * mj.nv)
    for column, unit in zip(M, np.eye(mj.nv), strict=True):
        mujoco.mj_mulM(mj, data, column, unit)
    assert_close(T.T @ M @ T, qdot.mass_matrix(model, q))
    assert_close(T.T @ (data.qfrc_bias + M @ drift), qdot.bias_forces(model, q, v))
    motion = qdot.kinematics(model, q)
    for body in model.bodies:
        assert_close(data.body(body.name).xpos, as_array(motion.pose(body.name))[:3, 3])
        assert_close(data.body(body.name).xmat.reshape(3, 3), as_array(motion.pose(body.name))[:3, :3])
    for frame in model.description.frames:
        assert_close(data.site(frame.name).xpos, as_array(motion.pose(frame.name))[:3, 3])


@pytest.mark.parametrize("seed", range(3))
def test_frames_off_the_joints(seed, tmp_path):
    # The body's own frame is not the one its joint moves: turned under a ball, which then needs a weld, too.
    joints = [
        Free(),
        Revolute("y"),
        Spherical(),
        Fixed(random_pose(np.random.default_rng(9))),
        Prismatic((0, 0.6, 0.8)),
    ]
    model = off_axis(seed, *joints)
    first = to_mjcf(model)
    assert Severity.PHYSICS not in severities(first)
    again = loaded(first, tmp_path)
    assert_same_motion(model, again)
    assert_same_text(to_mjcf(again).text, first.text)


@pytest.mark.parametrize("build", [seven_joint_arm, floating_two_link, lambda: n_pendulum(5)], ids=["arm", "free", "n"])
def test_library(build, tmp_path):
    model = build()
    assert_same_motion(model, loaded(to_mjcf(model), tmp_path))


def test_deep_trees():
    # Beyond Python's limit of recursion; MuJoCo has one of its own.
    assert to_mjcf(n_pendulum(1200)).text.count("<body ") == 1200


def test_point_masses_and_bodies_without_mass(tmp_path):
    # MuJoCo refuses what moves without mass or inertia, unless something with mass is fixed to it.
    world = qdot.Mechanism("light")
    first = world.add("first", Revolute("x"))
    second = first.add("second", Revolute("y"), Inertia.point(1.0, (0, 0, -1)), at=(0, 0, 0.1))
    second.add("branch", Revolute("z"), Inertia.point(2.0, (0.3, 0, 0)), at=(0.1, 0, 0))
    shell = second.add("shell", Prismatic("z"), at=(0, 0.2, 0))
    shell.add("core", Fixed(), Inertia.about_com(1.0, (0, 0, 0), (0.1, 0.1, 0.1)))
    model = qdot.assemble(world)
    written = to_mjcf(model)
    (item,) = [i for i in written.report if "without mass" in i.found]
    assert item.severity is Severity.NOTE
    assert "'first', 'second', 'branch'" in item.subject
    again = loaded(written, tmp_path)
    assert_same_motion(model, again)
    assert_same_text(to_mjcf(again).text, written.text)


# ── every record ─────────────────────────────────────────────────────────────────────────────────


def test_every_record_comes_back(tmp_path):
    model = everything()
    written = to_mjcf(model)
    assert [str(item) for item in written.report if item.severity is not Severity.NOTE] == []
    again = loaded(written, tmp_path)
    assert_same_motion(model, again)
    given, found = model.description, again.description
    for kind in ("actuators", "sensors", "pairs", "exclusions", "options"):
        assert getattr(found, kind) == getattr(given, kind), kind
    assert [t.name for t in found.tendons] == [t.name for t in given.tendons]
    for one, two in zip(given.tendons, found.tendons, strict=True):
        assert replace(two, width=one.width, color=one.color) == one
    assert [b.name for b in found.bodies] == [b.name for b in given.bodies]
    for one, two in zip(given.bodies, found.bodies, strict=True):
        for field in (
            "joint_name",
            "gravity_compensation",
            "compensated_by_drive",
            "drive_range",
            "softness",
            "target",
        ):
            assert getattr(two, field) == getattr(one, field), (one.name, field)
        assert two.joint.limits == one.joint.limits
        assert_close(two.home or two.joint.neutral(), one.home or one.joint.neutral())
        for mine, theirs in zip(one.shapes, two.shapes, strict=True):
            assert (theirs.name, theirs.group, theirs.collision) == (mine.name, mine.group, mine.collision)
            if mine.collision:
                assert theirs.contact == mine.contact
    for one, two in zip(given.keyframes, found.keyframes, strict=True):
        assert two.name == one.name
        assert two.time == one.time
        for row in ("q", "v", "activation", "control"):
            if getattr(one, row):
                assert_close(getattr(two, row), getattr(one, row))
    # MuJoCo fills in keyframes and moves meshes, in single precision: from the second text on they stay.
    # (In another folder: MuJoCo keeps meshes by path and time, and two files in one second are one to it.)
    second, other = to_mjcf(again), tmp_path / "second"
    other.mkdir()
    assert_same_text(to_mjcf(loaded(second, other)).text, second.text, 1e-6)


def test_constraints_come_back(tmp_path):
    model = everything()
    again = loaded(to_mjcf(model), tmp_path)
    q, *_ = random_state(model, 3)
    qs, _ = places(model, again)
    given, found = model.description.constraints, again.description.constraints
    assert [(c.name, c.active, c.softness) for c in found] == [(c.name, c.active, c.softness) for c in given]
    assert_same_residuals(model, again, q, q[qs])
    assert_close(qdot.tendon_lengths(again, q[qs]), qdot.tendon_lengths(model, q))


def test_points_that_are_apart_at_home_are_held_by_sites(tmp_path):
    # Between bodies MuJoCo would take the second point where the first one is at home.
    model = tree(1, ["revolute"], 3)
    apart = ConnectRecord("rope", "body0", Vec3(0.1, 0.2, 0.3), "body2", Vec3(1, 2, 3))
    tilted = WeldRecord("weld", "site0", Transform.rpy(0.1, 0.2, 0.3, (1, 2, 3)), "body2", Vec3(0.3, 0.2, 0.1), 3.0)
    model = changed(model, constraints=(apart, tilted))
    written = to_mjcf(model)
    assert [item.severity for item in written.report if item.found == "needed as a site"] == [Severity.NOTE]
    again = loaded(written, tmp_path)
    q, *_ = random_state(model, 3)
    qs, _ = places(model, again)
    assert_same_residuals(model, again, q, q[qs])


@pytest.mark.parametrize("tendons", [False, True])
def test_couplings_with_references_elsewhere_than_home(tendons, tmp_path):
    model = tree(2, ["revolute", "prismatic"], 4)
    bodies = tuple(replace(b, home=(0.1 * k,)) for k, b in enumerate(model.description.bodies, 1))
    rope = (
        TendonRecord("y", (Weighted("joint0", 2.0), Weighted("joint1", 1.0)), offset=0.3),
        TendonRecord("x", (Weighted("joint2", -1.0),)),
    )
    names = ("y", "x") if tendons else ("joint3", "joint1")
    coupling = CouplingRecord("gear", *names, (0.1, -0.4, 0.3, 0.2, -0.05), (0.7, -0.6), tendons)
    model = changed(model, bodies=bodies, tendons=rope, constraints=(coupling,))
    again = loaded(to_mjcf(model), tmp_path)
    q, *_ = random_state(model, 3)
    qs, _ = places(model, again)
    assert_same_residuals(model, again, q, q[qs])


def test_the_offset_of_a_tendon(tmp_path):
    # MuJoCo's lengths have no offset: ranges, rest lengths and the laws of actuators are moved instead.
    model = tree(2, ["revolute"], 2, passive=False)
    tendon = TendonRecord("t", (Weighted("joint0", 2.0),), 5.0, 0.0, (0.1, 0.4), 0.3, range=(-1.0, 2.0))
    motor = ActuatorRecord("motor", OnTendon("t", 3.0), Affine(1, 2, 3), Affine(4, 5, 6))
    model = changed(model, tendons=(tendon,), actuators=(motor,))
    again = loaded(to_mjcf(model), tmp_path)
    assert_same_motion(model, again)
    assert_close(again.description.tendons[0].range, (-1.3, 1.7))
    q, v, _ = random_state(model, 1)
    state = {"control": [0.7]}
    assert_close(qdot.actuator_forces(again, q, v, **state), qdot.actuator_forces(model, q, v, **state))


def test_armature_of_tendons():
    # MuJoCo has it, but not for tendons that wind round something.
    model = everything()
    written = to_mjcf(changed(model, tendons=tuple(replace(t, armature=0.02) for t in model.description.tendons)))
    assert_close(compiled(written).tendon_armature, (0.02, 0))
    assert severities(written, "'cord'") == {Severity.PHYSICS}


def test_an_actuator_at_a_joint_of_several_freedoms(tmp_path):
    model = one_body(Universal("x", "y"))
    drive = ActuatorRecord("motor", OnJoint("joint", (2, -3, 0, 0, 0, 0)), Affine(1), Affine(0, -4, -5))
    model = changed(model, actuators=(drive,))
    again = loaded(to_mjcf(model), tmp_path)
    q, v, _ = random_state(model, 1)
    forces = [qdot.actuation(m, q, v, control=[0.7]) for m in (model, again)]
    assert np.abs(forces[0]).max() > 0.1
    assert_close(forces[1], forces[0])


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name, tmp_path):
    model = with_shapes({name: SHAPES[name]})
    written = to_mjcf(model)
    again = loaded(written, tmp_path)
    (given,), (found,) = model.bodies[0].record.shapes, again.bodies[0].record.shapes
    assert found.name == name
    assert (found.visual, found.collision) == (True, True)
    corners = [np.sort(np.round(record.shape.surface(48)[0], 5), axis=0) for record in (given, found)]
    assert_close(corners[1], corners[0], 1e-5)  # meshes are kept in single precision
    notes = [item for item in written.report if "a mesh, round" in item.done]
    assert bool(notes) == (name == "cone")


def test_shapes_that_are_not_seen_or_do_not_collide(tmp_path):
    for visual, collision in ((True, False), (False, True)):
        model = with_shapes(SHAPES, visual=visual, collision=collision)
        again = loaded(to_mjcf(model), tmp_path)
        assert {(s.visual, s.collision) for s in again.bodies[0].record.shapes} == {(visual, collision)}


PLY = """ply
format ascii 1.0
element vertex 4
property float x
property float y
property float z
element face 4
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
0 1 0
0 0 1
3 0 2 1
3 0 1 3
3 0 3 2
3 1 2 3
"""


def test_mesh_files(tmp_path):
    file = tmp_path / "part.obj"
    file.write_bytes(to_mjcf(with_shapes({"mesh": TETRAHEDRON})).assets["shapes_mesh.obj"])
    model = with_shapes({"part": MeshFile(str(file), (1.0, 2.0, 3.0))})
    referred, copied = to_mjcf(model), to_mjcf(model, copy_meshes=True)
    assert referred.assets == {}
    assert f'file="{file}"' in referred.text
    assert copied.assets == {"shapes_part.obj": file.read_bytes()}
    for written in (referred, copied):
        assert_close(np.sort(compiled(written).mesh_scale), [[1, 2, 3]])
    other = tmp_path / "part.ply"
    other.write_text(PLY)
    written = to_mjcf(with_shapes({"part": MeshFile(str(other))}))
    assert list(written.assets) == ["shapes_part.obj"]
    assert compiled(written).nmeshvert == 4


@pytest.mark.parametrize(("collision", "severity"), [(True, Severity.PHYSICS), (False, Severity.IGNORED)])
@pytest.mark.parametrize("copy_meshes", [True, False])
def test_mesh_files_that_are_not_there(collision, severity, copy_meshes, tmp_path):
    # MuJoCo refuses a text that refers to one, so it is left out, with the contacts and sensors of it.
    missing = {"gone": MeshFile(str(tmp_path / "gone.dae")), "elsewhere": MeshFile("package://robot/part.stl")}
    model = with_shapes({**missing, "ball": SHAPES["sphere"]}, collision=collision)
    pair = PairRecord("rub", "elsewhere", "ball")
    sensor = SensorRecord("gap", "distance", "geom", "ball", "geom", "gone")
    written = to_mjcf(changed(model, pairs=(pair,), sensors=(sensor,)), copy_meshes=copy_meshes)
    for name in missing:
        assert severities(written, f"shape '{name}'") == {severity}
    assert severities(written, "contact pair 'rub'") == {Severity.PHYSICS}
    assert severities(written, "sensor 'gap'") == {Severity.IGNORED}
    mj = compiled(written)
    assert (mj.ngeom, mj.npair, mj.nsensor) == (1, 0, 0)


def test_contacts_of_meshes_are_those_of_their_hulls():
    told = {}
    for name in ("mesh", "hull"):
        report = to_mjcf(with_shapes({name: SHAPES[name]})).report
        told[name] = [
            item.severity for item in report if item.done == "contacts in MuJoCo will be with its convex hull"
        ]
    assert told == {"mesh": [Severity.NOTE], "hull": []}


def test_ground_on_a_moving_body_and_flat_meshes_are_reported():
    flat = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2], [1, 3, 2]])
    written = to_mjcf(with_shapes({"ground": Plane(), "sheet": flat}))
    assert severities(written, "'ground'") == {Severity.PHYSICS}
    assert severities(written, "'sheet'") == {Severity.PHYSICS}
    seen = to_mjcf(with_shapes({"sheet": flat}, collision=False))
    assert compiled(seen).ngeom == 1


# ── limits and springs ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("limits", "expected", "severity"),
    [
        ((-1, 2), (-1, 2), None),
        ((0.5, 0.5), (0.5, np.nextafter(0.5, 1)), None),
        ((-np.inf, 2), (-1e10, 2), Severity.NOTE),
        (Limits((-1,), (2,), (3,), ()), (-1, 2), Severity.IGNORED),
    ],
)
def test_limits(limits, expected, severity):
    written = to_mjcf(one_body(Revolute("x", limits=limits)))
    mj = compiled(written)
    assert mj.jnt_limited[0]
    assert tuple(mj.jnt_range[0]) == expected
    assert severities(written) == ({severity} if severity else set())


def test_effort_bounds_the_drive():
    mj = compiled(to_mjcf(one_body(Revolute("x", limits=Limits((), (), (), (7,))))))
    assert mj.jnt_actfrclimited[0]
    assert tuple(mj.jnt_actfrcrange[0]) == (-7, 7)
    none = compiled(to_mjcf(one_body(Revolute("x", limits=Limits((), (), (), (0,))))))
    assert_close(none.jnt_actfrcrange[0], (0, 0))


@pytest.mark.parametrize(
    ("joint", "passive"),
    [
        (Spherical(), Passive(armature=(1, 2, 3))),
        (Spherical(), Passive(stiffness=(1, 1, 1), rest=(0.6, 0.8, 0, 0))),
        (Free(), Passive(armature=(1,) * 6)),
        (Free(), Passive(stiffness=(1,) * 6, rest=(1, 0, 0, 0, 0, 0, 1))),
    ],
)
def test_what_mujoco_cannot_say_of_a_joint_changes_the_motion(joint, passive):
    assert severities(to_mjcf(one_body(joint, passive=passive))) == {Severity.PHYSICS}


@pytest.mark.parametrize(
    ("drag", "severity"), [((), Severity.PHYSICS), ("its own", None), ("another", Severity.PHYSICS)]
)
def test_drag(drag, severity):
    X = Transform.rpy(0.3, 0.2, 0.1, (0.1, 0, 0))
    inertia = X @ qdot.geometry.Box(0.1, 0.2, 0.3, mass=2.0).inertia()
    if drag:
        drag = (DragBox(X, 0.1, 0.2, 0.3 if drag == "its own" else 0.4),)
    model = one_body(Revolute("x"), drag=drag)
    body = replace(model.description.bodies[0], inertia=inertia)
    written = to_mjcf(changed(model, bodies=(body,), fluid=Fluid(1.2, 0.1)))
    assert severities(written) == ({severity} if severity else set())


# ── what cannot be written ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("joint", "reason"),
    [
        (Helical("z", 0.1), "joint 'joint': MuJoCo has no Helical joint"),
        (Compound(Revolute("x"), Free()), "joint 'joint': MuJoCo has free joints on the world only"),
    ],
)
def test_refused_joints(joint, reason):
    with pytest.raises(ModelError, match=reason):
        to_mjcf(one_body(joint))


def test_names_that_xml_cannot_hold_are_refused():
    with pytest.raises(ModelError, match="cannot hold"):
        to_mjcf(changed(one_body(Revolute("x")), name="a\x00b"))


def test_inertias_that_no_body_can_have():
    body = BodyRecord(
        "b", "world", Revolute("x"), "j", Transform.identity(), Inertia.about_com(1, (0, 0, 0), (1, 1, 3))
    )
    model = changed(one_body(Revolute("x")), bodies=(body,), allow_unphysical=True)
    written = to_mjcf(model)
    assert severities(written, "body 'b'") == {Severity.PHYSICS}
    assert_close(np.sort(compiled(written).body_inertia[1]), (1.5, 1.5, 3))
    assert Severity.PHYSICS in severities(to_mjcf(puma560()))  # its table has moments without masses
    with pytest.raises(ModelError, match="body 'b': MuJoCo takes no mass below zero"):
        to_mjcf(changed(model, bodies=(replace(body, inertia=Inertia.point(-1)),)))


def test_what_roundings_leave_of_a_point_mass_is_no_such_inertia():
    # Its moments about the centre of mass are zero but for roundings of m c², of either sign.
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = Inertia.point(rng.uniform(0.1, 2), rng.normal(size=3))
        model = one_body(Revolute("x"))
        written = to_mjcf(changed(model, bodies=(replace(model.description.bodies[0], inertia=point),)))
        assert severities(written) == {Severity.NOTE}
        assert_close(compiled(written).body_inertia[1], (0, 0, 0), 1e-14)


@pytest.mark.parametrize(
    ("joint", "rows", "severity"),
    [
        (Spherical(), 3, Severity.NOTE),
        (Fixed(Transform.rpy(0.1, 0.2, 0.3, (1, 2, 3))), 6, Severity.NOTE),
        (Revolute((0, 0.6, 0.8)), 6, Severity.NOTE),
        (Cylindrical("z"), 0, Severity.PHYSICS),
    ],
)
def test_loops(joint, rows, severity):
    model = tree(1, ["revolute"], 3)
    written = to_mjcf(changed(model, loops=(LoopRecord("loop", joint, "site0", "body2"),)))
    assert severities(written, "loop") == {severity}
    mj = compiled(written)
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    assert data.ne == rows


def test_sensors_without_records_are_reported():
    model = changed(
        one_body(Revolute("x")),
        sensors=(SensorRecord("a", "user", size=3), SensorRecord("b", "camprojection", "site", "body", "camera", "c")),
    )
    assert severities(to_mjcf(model), "sensor") == {Severity.IGNORED}


def test_sensors_of_what_is_not_written():
    # The first joint is two there, the actuator at the second and the shape are left out: MuJoCo would refuse sensors
    # of them.
    world = qdot.Mechanism("blind")
    inertia = random_inertia(np.random.default_rng(0))
    world.add("arm", Universal("x", "y"), inertia, joint_name="shoulder")
    world.add("drone", Free(), inertia, at=Transform.rpy(0.1, 0.2, 0.3), joint_name="base")
    integrator, along_x = Activation("integrator"), (1, 0, 0, 0, 0, 0)
    drives = (
        ActuatorRecord("motor", OnJoint("base", along_x), dynamics=integrator),
        ActuatorRecord("valve", OnFrame("arm", along_x), dynamics=integrator),
    )
    kept = SensorRecord("gyro", "gyro", "site", "arm", size=3)
    lost = (
        SensorRecord("angle", "jointpos", "joint", "shoulder"),
        SensorRecord("pull", "actuatorfrc", "actuator", "motor"),
        SensorRecord("place", "framepos", "geom", "shell", size=3),
        SensorRecord("view", "framepos", "xbody", "arm", "geom", "shell", size=3),
    )
    key = KeyframeRecord("key", control=(1.0, 2.0), activation=(3.0, 4.0))
    written = to_mjcf(changed(qdot.assemble(world), actuators=drives, sensors=(kept, *lost), keyframes=(key,)))
    mj = compiled(written)
    assert [mj.sensor(k).name for k in range(mj.nsensor)] == ["gyro"]
    told = "".join(item.subject for item in written.report.of(Severity.IGNORED))
    assert all(repr(sensor.name) in told for sensor in lost)
    # Keyframes have the numbers of those actuators that are there.
    assert (mj.key_ctrl.tolist(), mj.key_act.tolist()) == ([[2.0]], [[4.0]])


def test_a_geom_to_wind_round_is_not_a_site(tmp_path):
    # Geoms and frames have names of their own: a sensor of geom 'fg' does not need the frame 'fg' that is found there.
    text = """<mujoco><worldbody><site name="a" pos="0 0 1"/><body name="b"><joint name="j"/>
        <geom name="fg" size="0.1"/><site name="s" pos="0.5 0 0"/></body></worldbody>
        <tendon><spatial name="t"><site site="a"/><geom geom="fg"/><site site="s"/></spatial></tendon>
        <sensor><framepos objtype="geom" objname="fg"/></sensor></mujoco>"""
    model = qdot.load(text)
    first = to_mjcf(model)
    again = loaded(first, tmp_path)
    assert [f.name for f in again.description.frames] == [f.name for f in model.description.frames]
    assert again.description.tendons[0].path == model.description.tendons[0].path
    assert to_mjcf(again).text == first.text


# ── files of others ──────────────────────────────────────────────────────────────────────────────

CORPUS = [
    "suite/humanoid_CMU.xml", "suite/quadruped.xml", "suite/fish.xml", "suite/manipulator.xml", "suite/swimmer.xml",
    "suite/walker.xml", "suite/cartpole.xml", "suite/finger.xml", "locomotion/walkers/assets/humanoid_CMU_V2020.xml",
    "third_party/kinova/jaco_hand.xml", "gymnasium/envs/mujoco/assets/walker2d.xml",
]  # fmt: skip
ANSWERS = ("xpos", "site_xpos", "site_xmat", "qfrc_bias", "qfrc_passive", "qfrc_actuator", "ten_length",
           "actuator_length", "qfrc_constraint", "qacc", "sensordata")  # fmt: skip


def in_package(path: str) -> Path:
    package = "gymnasium" if path.startswith("gymnasium/") else "dm_control"
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(spec.origin).parent / path.removeprefix("gymnasium/")


@pytest.mark.parametrize("path", CORPUS)
def test_mujoco_moves_a_rewritten_file_as_the_original(path):
    # Everything that MuJoCo computes: contacts, limits, tendons, actuators and sensors as well.
    file = in_package(path)
    original = mujoco.MjModel.from_xml_path(str(file))
    rewritten = compiled(to_mjcf(qdot.load(file, strict=False)))
    before, after = mujoco.MjData(original), mujoco.MjData(rewritten)
    for size in ("nq", "nv", "nbody", "njnt", "ngeom", "nsite", "ntendon", "nu", "na", "neq", "nsensor", "nkey"):
        assert getattr(rewritten, size) == getattr(original, size), size
    assert_close(rewritten.qpos0, original.qpos0)
    assert_close(rewritten.key_qpos, original.key_qpos)
    rng = np.random.default_rng(0)
    for _ in range(3):
        qpos = original.qpos0.copy()
        mujoco.mj_integratePos(original, qpos, rng.normal(size=original.nv) * 0.2, 1.0)
        qvel, ctrl = rng.normal(size=original.nv), rng.normal(size=original.nu)
        for mj, data in ((original, before), (rewritten, after)):
            data.qpos[:], data.qvel[:], data.ctrl[:], data.act[:] = qpos, qvel, ctrl, 0.1
            mujoco.mj_forward(mj, data)
        assert after.ncon == before.ncon
        for answer in ANSWERS:
            assert_close(getattr(after, answer), getattr(before, answer), 1e-9)


@pytest.mark.parametrize(
    "robot",
    [
        "talos_data/robots/talos_reduced.urdf",
        "panda_description/urdf/panda.urdf",
        "solo_description/robots/solo12.urdf",
    ],
)
def test_robots_from_urdf(robot, tmp_path):
    # Links without mass, axes and frames in all directions, limits of effort and speed.
    path = in_wheels(f"share/example-robot-data/robots/{robot}")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    model = qdot.load(path, base="free")
    written = to_mjcf(model)
    assert not [item for item in written.report.of(Severity.PHYSICS) if "shape" not in item.subject]
    again = loaded(written, tmp_path)
    assert_same_motion(model, again, states=1)
    given, found = ([body.joint.limits for body in m.bodies if body.joint.nv == 1] for m in (model, again))
    assert sorted((x.lower, x.upper) for x in found) == sorted((x.lower, x.upper) for x in given)
