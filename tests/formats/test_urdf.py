"""URDF, feature by feature: what becomes of each element, and what the report says of the rest."""

from __future__ import annotations

import pickle
from math import inf, pi, sqrt
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import qdot
from qdot.algebra import Sym3, Vec3, as_array
from qdot.description import CouplingRecord, Item, Severity
from qdot.errors import GeometryError, ModelError
from qdot.formats.resolve import Resolver
from qdot.geometry import Box, Capsule, Cylinder, Mesh, MeshFile, Placed, Sphere
from qdot.joints import Continuous, Fixed, Free, Planar, Prismatic, Revolute
from qdot.spatial import Inertia, Transform

LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def robot(inner: str, attributes: str = "") -> str:
    return f'<robot name="rig" {attributes}>\n{inner}\n</robot>'


def pair(joint: str, kind: str = "continuous", attributes: str = "") -> str:
    """Two links, a and b, and a joint j between them."""
    return robot(
        f'<link name="a"/><link name="b"/>\n<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{joint}'
        "</joint>",
        attributes,
    )


def link(inner: str) -> str:
    return robot(f'<link name="a">\n{inner}\n</link>')


def body_of(text: str, name: str = "b", **options: object) -> qdot.model.model.Body:
    return qdot.load(text, **options).body(name)


def shapes_of(text: str, **options: object) -> list:
    return list(body_of(text, "a", **options).record.shapes)


def items(text: str, **options: object) -> list[Item]:
    return list(qdot.load(text, **options).report)


def the_item(text: str, **options: object) -> Item:
    (item,) = items(text, **options)
    return item


# ── joints ───────────────────────────────────────────────────────────────────────────────────────


def test_joint_kinds_axes_and_limits() -> None:
    assert body_of(pair("", "fixed")).joint == Fixed()
    assert body_of(pair("", "floating")).joint == Free()
    assert body_of(pair("", "continuous")).joint == Continuous("x")
    assert body_of(pair('<axis xyz="0 -1 0"/>', "continuous")).joint == Continuous("-y")
    limits = qdot.joints.Limits((-1,), (2,), (3,), (4,))
    assert body_of(pair(LIMIT, "revolute")).joint == Revolute("x", limits=limits)
    assert body_of(pair(f'{LIMIT}<axis xyz="0 0 1"/>', "prismatic")).joint == Prismatic("z", limits=limits)
    unstated = body_of(pair('<limit velocity="3" effort="4"/>', "revolute")).joint.limits
    assert (unstated.lower, unstated.upper) == ((0,), (0,))  # as URDF defines it
    turning = body_of(pair('<limit velocity="3" effort="4"/>')).joint.limits
    assert (turning.lower, turning.upper, turning.velocity, turning.effort) == ((), (), (3,), (4,))


def test_an_axis_of_any_length_is_a_direction() -> None:
    assert as_array(body_of(pair('<axis xyz="3 0 4"/>')).joint.axis) == pytest.approx([0.6, 0, 0.8], abs=1e-15)


def test_planar_joints_slide_in_the_plane_across_their_axis() -> None:
    model = qdot.load(pair('<axis xyz="0 1 0"/><origin xyz="1 2 3" rpy="0 0 0.5"/>', "planar"))
    joint = model.body("b").joint
    assert joint == Planar("y")
    X = model.body("b").placement
    p = qdot.frame_pose(model, [0.0, 0.7, -0.4], "b").position - X.position
    assert abs((X.rotation @ Vec3(0, 1, 0)).dot(p)) < 1e-15
    assert p.norm() == pytest.approx(sqrt(0.7**2 + 0.4**2))


def test_a_planar_joint_about_z_is_pinocchios() -> None:
    text = pair('<axis xyz="0 0 1"/><origin xyz="1 2 3" rpy="0.3 0.2 0.5"/>', "planar")
    model, theirs = qdot.load(text), pin.buildModelFromXML(text)
    theta, x, y = 0.7, 0.3, -0.2
    data = theirs.createData()
    pin.framesForwardKinematics(theirs, data, np.array([x, y, np.cos(theta), np.sin(theta)]))
    pose = data.oMf[theirs.getFrameId("b", pin.FrameType.BODY)].homogeneous
    assert as_array(qdot.frame_pose(model, [theta, x, y], "b")) == pytest.approx(pose, abs=1e-14)


def test_placements_are_roll_pitch_yaw_about_fixed_axes() -> None:
    placed = body_of(pair('<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>')).placement
    assert placed == Transform.rpy(0.1, 0.2, 0.3, (1, 2, 3))
    assert body_of(pair('<origin xyz="1 2 3"/>')).placement == Transform.translation(1, 2, 3)
    turned = body_of(pair('<origin rpy="0 0 1.5"/>')).placement
    assert turned == Transform.rpy(0, 0, 1.5)
    assert body_of(pair('<origin xyz="0 0 0" rpy="0 0 -0"/>')).placement == Transform.identity()


@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_quaternions_of_newer_versions(version: str) -> None:
    h = sqrt(0.5)
    text = pair(f'<origin xyz="1 2 3" quat_xyzw="0 0 {h} {h}"/>', attributes=f'version="{version}"')
    pose = pin.buildModelFromXML(text).frames[-1].placement.homogeneous
    assert as_array(body_of(text).placement) == pytest.approx(as_array(Transform.rpy(0, 0, pi / 2, (1, 2, 3))))
    joint = pin.buildModelFromXML(text).jointPlacements[1] * pin.SE3(pose)
    assert as_array(body_of(text).placement) == pytest.approx(joint.homogeneous)


def test_quaternions_in_a_file_that_cannot_have_them_are_not_passed_over() -> None:
    text = pair('<origin quat_xyzw="0 0 1 0"/>')
    with pytest.raises(ModelError, match=r"text:3: <origin>: 'quat_xyzw'.*version=\"1\.1\""):
        qdot.load(text)
    assert the_item(text, strict=False).severity is Severity.PHYSICS


def test_damping_and_friction() -> None:
    passive = body_of(pair('<dynamics damping="0.5" friction="0.25"/>')).passive
    assert (passive.damping, passive.friction) == ((0.5,), (0.25,))
    assert body_of(pair('<dynamics friction="0.25"/>')).passive.damping == (0,)


def test_elements_that_say_nothing_at_their_joint_are_reported() -> None:
    for kind, severity in (("fixed", Severity.NOTE), ("floating", Severity.IGNORED), ("planar", Severity.IGNORED)):
        found = items(pair(f'<axis xyz="0 0 1"/>{LIMIT}<dynamics damping="1"/>', kind))
        expected = ["<axis>"] * (kind != "planar") + ["<limit>", "<dynamics>"]
        assert [item.found for item in found] == expected
        assert found[-1].severity is severity
    item = the_item(pair(LIMIT))
    assert (item.severity, item.subject) == (Severity.IGNORED, "continuous joints")


# ── mimic joints ─────────────────────────────────────────────────────────────────────────────────


def gripper(mimic: str, driver: str = "prismatic", follower: str = "prismatic") -> str:
    return robot(
        '<link name="a"/><link name="left"/><link name="right"/>\n'
        f'<joint name="l" type="{driver}"><parent link="a"/><child link="left"/>{LIMIT}</joint>\n'
        f'<joint name="r" type="{follower}"><parent link="a"/><child link="right"/>{LIMIT}{mimic}</joint>'
    )


def test_a_mimic_joint_is_kept_as_a_coupling() -> None:
    model = qdot.load(gripper('<mimic joint="l" multiplier="-2" offset="0.5"/>'))
    assert model.constraints == (CouplingRecord("r", "r", "l", (0.5, -2.0)),)
    assert model.nv == 2
    (item,) = model.report
    assert (item.severity, item.line) == (Severity.KEPT, 4)
    (coupling,) = qdot.load(gripper('<mimic joint="l"/>')).constraints
    assert coupling.coefficients == (0, 1)


def test_a_mimic_of_what_cannot_move_holds_its_joint() -> None:
    (coupling,) = qdot.load(gripper('<mimic joint="l" offset="0.5"/>', driver="fixed")).constraints
    assert (coupling.driver, coupling.coefficients) == (None, (0.5,))


def test_mimics_that_cannot_be_kept_are_reported() -> None:
    missing = qdot.load(gripper('<mimic joint="nobody"/>'))
    assert missing.constraints == ()
    assert [(item.severity, item.line) for item in missing.report] == [(Severity.KEPT, 4)]
    assert "moves freely" in str(missing.report)
    fixed = qdot.load(gripper('<mimic joint="l"/>', follower="fixed"))
    assert "it is fixed" in str(fixed.report)
    with pytest.raises(ModelError, match=r"text:4: joint 'r': it mimics joint 'l'.*only joints of one freedom"):
        qdot.load(gripper('<mimic joint="l"/>', driver="floating"))


def test_joints_that_mimic_each_other_in_a_circle_are_refused() -> None:
    links = "".join(f'<link name="l{k}"/>' for k in range(5))
    drivers = {0: 1, 1: 2, 2: 0, 3: 0}  # 3 follows the circle, but is not in it
    joints = "".join(
        f'\n<joint name="j{k}" type="continuous"><parent link="l4"/><child link="l{k}"/>'
        f'<mimic joint="j{driver}"/></joint>'
        for k, driver in drivers.items()
    )
    with pytest.raises(ModelError, match=r"text:3: joint 'j0': it mimics joint 'j1'.*no joint leads"):
        qdot.load(robot(links + joints))
    model = qdot.load(robot(links + joints), strict=False)
    assert [item.subject for item in model.report.of(Severity.PHYSICS)] == ["joint 'j0'", "joint 'j1'", "joint 'j2'"]
    assert [coupling.follower for coupling in model.constraints] == ["j3"]


# ── links ────────────────────────────────────────────────────────────────────────────────────────

MOMENTS = '<inertia ixx="2" ixy="0.1" ixz="0.2" iyy="3" iyz="0.3" izz="4"/>'


def test_inertias_about_an_origin_with_its_own_axes() -> None:
    inertial = f'<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="5"/>{MOMENTS}</inertial>'
    R = Transform.rpy(0.4, 0.5, 0.6).rotation
    expected = Inertia.about_com(5, (0.1, 0.2, 0.3), Sym3(2, 0.1, 0.2, 3, 0.3, 4).congruence(R))
    assert as_array(body_of(link(inertial), "a").inertia) == pytest.approx(as_array(expected), abs=1e-14)
    plain = body_of(link(f'<inertial><mass value="5"/>{MOMENTS}</inertial>'), "a").inertia
    assert plain == Inertia(5, Vec3(0, 0, 0), Sym3(2, 0.1, 0.2, 3, 0.3, 4))
    assert body_of(link(""), "a").inertia == Inertia.zero()


def test_an_inertia_that_no_body_can_have_is_loaded_and_reported_with_its_line() -> None:
    thin = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/></inertial>'
    model = qdot.load(link(f"\n{thin}"))
    assert model.body("a").inertia.rotational.zz == 5
    (item,) = model.report
    assert (item.subject, item.line) == ("body 'a'", 4)


def test_shapes_and_their_places() -> None:
    seen, *colliding = shapes_of(
        link(
            '<visual name="case"><origin xyz="1 0 0"/><geometry><box size="1 2 3"/></geometry></visual>'
            '<collision><geometry><sphere radius="2"/></geometry></collision>'
            '<collision name="rod"><geometry><cylinder radius="2" length="3"/></geometry></collision>'
            '<collision><geometry><capsule radius="2" length="3"/></geometry></collision>'
        )
    )
    assert (seen.name, seen.visual, seen.collision) == ("case", True, False)
    assert seen.shape == Placed(Box(1, 2, 3), Transform.translation(1, 0, 0))
    assert [record.shape for record in colliding] == [Sphere(2), Cylinder(2, 3), Capsule(2, 3)]
    assert [(record.name, record.visual, record.collision) for record in colliding] == [
        ("", False, True), ("rod", False, True), ("", False, True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("geometry", "found"),
    [
        ("", "no <geometry> with a shape in it"),
        ("<geometry/>", "no <geometry> with a shape in it"),
        ("<geometry><torus/></geometry>", "a shape <torus>"),
        ('<geometry><box size="0 1 1"/></geometry>', "a shape that is none: the x of Box"),
        ('<geometry><mesh filename="x.stl" scale="1 0 1"/></geometry>', "a shape that is none: mesh file"),
    ],
)
def test_a_shape_that_is_none_is_left_out_and_reported(geometry: str, found: str) -> None:
    text = link(f"<visual>{geometry}</visual><collision><geometry><sphere radius='1'/></geometry></collision>")
    assert [record.shape for record in shapes_of(text)] == [Sphere(1)]
    assert any(item.found.startswith(found) and item.severity is Severity.IGNORED for item in items(text))


def test_materials_are_found_by_name() -> None:
    def painted(material: str) -> str:
        return f'<visual><geometry><sphere radius="1"/></geometry>{material}</visual>'

    text = robot(
        '<material name="red"><color rgba="1 0 0 1"/></material>\n<link name="a">'
        + painted('<material name="red"/>')
        + painted('<material name="blue"><color rgba="0 0 1 0.5"/></material>')
        + painted('<material name="blue"/>')
        + painted('<material name="red"><color rgba="0 0 0 0"/></material>')
        + painted('<material name="wood"><texture filename="wood.png"/></material>')
        + painted("")
        + painted('<material name="unknown"/>')
        + painted('<material name="odd"><color rgba="1 0 0"/></material>')
        + "</link>"
    )
    materials = [record.material for record in shapes_of(text)]
    assert [m.color for m in materials[:4]] == [(1, 0, 0, 1), (0, 0, 1, 0.5), (0, 0, 1, 0.5), (1, 0, 0, 1)]
    assert [m.name for m in materials] == ["red", "blue", "blue", "red", "wood", "", "unknown", "odd"]
    assert {m.color for m in materials[4:]} == {qdot.description.Material().color}
    assert [item.subject for item in items(text)] == ["<material>", "material 'unknown'", "material 'odd'"]


# ── the base ─────────────────────────────────────────────────────────────────────────────────────


def test_the_root_stands_on_the_world_or_floats() -> None:
    fixed, free = qdot.load(pair("")), qdot.load(pair(""), base="free")
    assert (fixed.joint("root_joint").name, fixed.joint("root_joint").joint) == ("a", Fixed())
    assert (free.joint("root_joint").name, free.joint("root_joint").joint) == ("a", Free())
    taken = qdot.load(pair("").replace('"j"', '"root_joint"'))
    assert taken.body("a").joint_name == "root_joint_1"


WORLD_LINK = """
<link name="world"><visual><geometry><box size="9 9 1"/></geometry></visual>{}</link><link name="arm"/>
<joint name="j" type="continuous"><parent link="world"/><child link="arm"/></joint>
"""


def test_a_root_called_world_is_the_world() -> None:
    inertial = f'<inertial><mass value="5"/>{MOMENTS}</inertial>'
    model = qdot.load(robot(WORLD_LINK.format(inertial)))
    assert [body.name for body in model.bodies] == ["arm"]
    assert model.bodies[0].parent == 0
    assert [record.shape for record in model.description.world_shapes] == [Box(9, 9, 1)]
    (item,) = model.report
    assert (item.severity, item.subject, item.line) == (Severity.IGNORED, "link 'world'", 3)


def test_a_root_called_world_floats_when_asked_to_as_in_pinocchio() -> None:
    text = robot(WORLD_LINK.format(""))
    model = qdot.load(text, base="free")
    assert [body.name for body in model.bodies] == ["world_link", "arm"]
    assert model.nv == pin.buildModelFromXML(text, pin.JointModelFreeFlyer()).nv == 7
    assert [item.severity for item in model.report] == [Severity.NOTE]


def test_other_links_and_joints_called_world_get_other_names() -> None:
    text = pair("").replace('"b"', '"world"').replace('"j"', '"world"')
    model = qdot.load(text)
    assert [(body.name, body.joint_name) for body in model.bodies] == [
        ("a", "root_joint"),
        ("world_link", "world_joint"),
    ]
    assert [item.subject for item in model.report] == ["link 'world'", "joint 'world'"]


def test_links_may_come_in_any_order_and_trees_be_deep() -> None:
    n = 3000
    links = "".join(f'<link name="l{k}"/>' for k in reversed(range(n)))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{k + 1}"/></joint>' for k in range(n - 1)
    )
    model = qdot.load(robot(joints + links))
    assert [body.name for body in model.bodies] == [f"l{k}" for k in range(n)]


# ── what is left out is said ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("inner", "subject", "found", "done"),
    [
        ("<transmission/>", "<robot>", "the element <transmission>", "controller"),
        ("<ros2_control/>", "<robot>", "the element <ros2_control>", "controller"),
        ("<sensor/>", "<robot>", "the element <sensor>", "sensors"),
        ("<frob/>", "<robot>", "the element <frob>", "not part of URDF"),
        ("<gazebo/>", "<gazebo>", "an empty element", "nothing"),
        ("<gazebo><turnGravityOff>true</turnGravityOff></gazebo>", "<gazebo>", "<turnGravityOff>", "the weight off"),
        ("<gazebo><turnGravityOff> false </turnGravityOff></gazebo>", "<gazebo>", "<turnGravityOff>", "says anyway"),
        ("<gazebo><gravity>0</gravity></gazebo>", "<gazebo>", "the element <gravity>", "take the weight off"),
        ("<gazebo><joint name='x'/></gazebo>", "<gazebo>", "the element <joint>", "close a loop"),
        ("<gazebo><kp>1</kp></gazebo>", "<gazebo>", "the element <kp>", "contacts"),
        ("<gazebo><frob/></gazebo>", "<gazebo>", "the element <frob>", "for Gazebo"),
        ("<link name='z'><frob/></link>", "<link>", "the element <frob>", "not part of URDF"),
        ("<link name='z' type='t'/>", "<link>", "the attribute 'type'", "not part of URDF"),
        ("<link name='z'><visual><geometry><box size='1 1 1' frob='2'/></geometry></visual></link>",
         "<box>", "the attribute 'frob'", "not part of URDF"),
        ("<link name='z'><visual><geometry><box size='1 1 1'/><sphere radius='1'/></geometry></visual></link>",
         "<geometry>", "more shapes than one", "the first"),
        ("<link name='z'><inertial><mass value='0'><frob/></mass>"
         "<inertia ixx='0' ixy='0' ixz='0' iyy='0' iyz='0' izz='0'/></inertial></link>",
         "<mass>", "the element <frob>", "not part of URDF"),
    ],
)  # fmt: skip
def test_everything_else_is_reported(inner: str, subject: str, found: str, done: str) -> None:
    text = f'<robot name="rig">\n{inner}\n'
    if "'z'" not in inner:
        text += '<link name="z"/>'
    (item,) = items(text + "</robot>")
    assert (item.subject, item.line, item.file) == (subject, 2, "text")
    assert item.severity in (Severity.IGNORED, Severity.NOTE)
    assert found in item.found
    assert done in item.done


def test_things_at_joints_that_are_left_out_are_reported() -> None:
    text = pair('<safety_controller k_velocity="1"/><calibration rising="0"/><dynamics damping="1" K="2"/>')
    assert [(item.subject, item.found) for item in items(text)] == [
        ("<joint>", "the element <safety_controller>"),
        ("<joint>", "the element <calibration>"),
        ("<dynamics>", "the attribute 'K'"),
    ]


def test_many_of_a_kind_make_one_item() -> None:
    item = the_item(robot('<link name="a"/>\n' + "<transmission/>\n" * 7))
    assert (item.found, item.line) == ("the element <transmission> (7 times, first here)", 3)


def test_the_first_of_two_elements_counts_and_the_second_is_reported() -> None:
    text = pair('<origin xyz="1 0 0"/><origin xyz="2 0 0"/>')
    assert body_of(text).placement == Transform.translation(1, 0, 0)
    assert the_item(text).found == "more than one <origin>"


def test_namespaces_are_no_finding() -> None:
    assert items(robot('<link name="a"/>', 'xmlns:xacro="http://www.ros.org/wiki/xacro"')) == []


# ── mesh files ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def cube(tmp_path: Path) -> Path:
    """pkg/meshes/cube.obj, of side 2, with the model's folder next to it: pkg/urdf."""
    corners, faces = Box(2, 2, 2).surface()
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path = tmp_path / "pkg" / "meshes" / "cube.obj"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines))
    (tmp_path / "pkg" / "urdf").mkdir()
    return path


def mesh(address: str) -> str:
    return link(f'<visual><geometry><mesh filename="{address}"/></geometry></visual>')


def test_addresses_are_looked_up(cube: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    root = cube.parents[2]
    found, at_home = str(cube), Resolver(root / "pkg" / "urdf")
    for address in ("package://pkg/meshes/cube.obj", "model://pkg/meshes/cube.obj", "package:///pkg/meshes/cube.obj"):
        assert at_home.path(address) == found
    for address in ("../meshes/cube.obj", f"file://{cube}", str(cube), "file://../meshes/cube.obj"):
        assert at_home.path(address) == found
    for address in (
        "package://other/cube.obj",
        "package://pkg",
        "package://",
        "nothing.obj",
        "http://pkg/cube.obj",
        "",
    ):
        assert at_home.path(address) is None
    nowhere = Resolver(None)
    assert nowhere.path("package://pkg/meshes/cube.obj") is None
    assert nowhere.path("meshes/cube.obj") is None
    assert nowhere.path(str(cube)) == found
    assert Resolver(root).path("package://pkg/meshes/cube.obj") == found  # next to the model's folder
    assert Resolver(None, {"robot": root / "pkg"}).path("package://robot/meshes/cube.obj") == found
    for name, value in (
        ("ROS_PACKAGE_PATH", str(root)),
        ("ROS_PACKAGE_PATH", f"/nowhere:{root}/pkg"),
        ("AMENT_PREFIX_PATH", str(root / "prefix")),
    ):
        if name == "AMENT_PREFIX_PATH":
            (root / "prefix").mkdir()
            (root / "prefix" / "share").symlink_to(root)
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            answer = Resolver(None).path("package://pkg/meshes/cube.obj")
            assert answer is not None
            assert Path(answer).samefile(cube)


def test_a_function_is_asked_first_and_may_pass(cube: Path) -> None:
    other = cube.with_name("other.obj")
    other.write_bytes(cube.read_bytes())
    asked = []

    def find(address: str) -> Path | None:
        asked.append(address)
        return other if address.startswith("package:") else None

    text = mesh("package://pkg/meshes/cube.obj")
    (record,) = shapes_of(text, resolve=find, packages={"pkg": cube.parents[1]})
    assert record.shape == MeshFile(str(other))
    (record,) = shapes_of(mesh(str(cube)), resolve=find)
    assert record.shape == MeshFile(str(cube))
    assert asked == ["package://pkg/meshes/cube.obj", str(cube)]


@pytest.mark.parametrize(
    ("address", "remedy"),
    [
        ("package://pkg/cube.obj", "packages={'pkg': folder}"),
        ("https://example.org/cube.obj", "fetches nothing"),
        ("cube.obj", "put them where it says"),
    ],
)
def test_a_missing_mesh_is_reported_and_kept_by_its_address(address: str, remedy: str) -> None:
    (record,) = shapes_of(mesh(address))
    assert record.shape == MeshFile(address)
    item = the_item(mesh(address))
    assert item.severity is Severity.IGNORED
    assert remedy in item.done
    with pytest.raises(GeometryError, match=r"cube\.obj.*does not exist"):
        record.shape.surface()


def test_a_missing_mesh_to_collide_with_is_refused_where_it_stands() -> None:
    text = link('<collision><geometry>\n<mesh filename="package://pkg/cube.obj"/></geometry></collision>')
    with pytest.raises(ModelError, match=r"(?s)text:\d+: meshes of package 'pkg': a mesh file to collide with"):
        qdot.load(text)
    assert qdot.load(text, strict=False).report.of(Severity.PHYSICS)


def test_meshes_are_not_read_before_they_are_needed(cube: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    load = Mesh.load
    monkeypatch.setattr(Mesh, "load", lambda *args, **options: reads.append(args) or load(*args, **options))
    text = f'<mesh filename="{cube}" scale="1 2 3"/>'
    (record,) = shapes_of(link(f"<visual><geometry>{text}</geometry></visual>"))
    shape = record.shape
    assert reads == []
    assert shape.volume() == pytest.approx(48)
    assert shape.mesh() is shape.mesh()
    assert len(reads) == 1


def test_a_mesh_file_is_a_shape_like_the_mesh_in_it(cube: Path) -> None:
    there, here = MeshFile(str(cube), 0.5, mass=3), Mesh.load(cube, 0.5, mass=3)
    assert there.scale == (0.5, 0.5, 0.5)
    assert there.volume() == here.volume()
    assert there.inertia() == here.inertia()
    assert there.at(1, 2, 3).inertia() == here.at(1, 2, 3).inertia()
    assert there.scaled(2).volume() == pytest.approx(8 * here.volume())
    assert there.scaled(2).inertia().mass == 24
    for ours, theirs in zip(there.surface() + there.quadrature(2), here.surface() + here.quadrature(2), strict=True):
        assert (ours == theirs).all()
    assert MeshFile(cube) == MeshFile(str(cube), (1, 1, 1))
    assert len({MeshFile(str(cube)), MeshFile(str(cube)), MeshFile(str(cube), 2)}) == 2
    assert MeshFile(str(cube)).inertia() == Inertia.zero()
    copy = pickle.loads(pickle.dumps(there))
    assert copy == there
    assert repr(copy) == f"MeshFile(path={str(cube)!r}, scale=(0.5, 0.5, 0.5), mass=3)"


@pytest.mark.parametrize("scale", [0, (1, 2), (1, 0, 1), inf, "large", (1, "x", 2), None])
def test_a_mesh_file_needs_a_scale(scale: object) -> None:
    with pytest.raises(GeometryError, match=r"mesh file 'x\.stl': scale must be one number or three"):
        MeshFile("x.stl", scale)
