"""The MJCF reader, feature by feature: small models, compared with the numbers that MuJoCo compiles.

Numbers that are copied are equal; those that are computed agree to a few roundings (1e-12 of their size).
"""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase

import mujoco
import numpy as np
import pytest

import qdot
from qdot.algebra import Vec3, as_array
from qdot.description import (
    Activation,
    ActuatorRecord,
    Affine,
    Contact,
    Material,
    OnContacts,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
    Report,
    SensorRecord,
    Severity,
    Softness,
)
from qdot.errors import ModelError
from qdot.formats import mjcf_read_fields as fields
from qdot.formats.mjcf_reader import read_mjcf
from qdot.formats.resolve import Resolver
from qdot.formats.source import Source
from qdot.formats.xml import parse
from qdot.geometry import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Sphere
from qdot.joints import Fixed, Free, Prismatic, Revolute, Spherical
from tests.formats.mujoco_terms import Peer, force_terms, frame_terms, rigid_body_terms

BALL = '<geom size="0.1"/>'
ARM = f"""
<body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/>{BALL}<site name="tip" pos="0.3 0 0"/>
  <body name="hand" pos="0.4 0 0"><joint name="slide" type="slide" axis="1 0 0"/>{BALL}<site name="palm"/></body>
</body>"""


def mjcf(world: str = ARM, rest: str = "") -> str:
    return f'<mujoco model="small"><worldbody>{world}</worldbody>{rest}</mujoco>'


def theirs(text: str) -> mujoco.MjModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mujoco.MjSpec.from_string(text).compile()


def load(text: str) -> qdot.Model:
    return qdot.load(text, strict=False)


def report(text: str) -> Report:
    return load(text).description.report


def told(text: str, severity: Severity) -> set[str]:
    return {item.subject for item in report(text).of(severity)}


def assert_same_mechanics(text: str, *groups) -> None:
    both = Peer(load(text), theirs(text), states=3)
    terms = [term for group in groups or (rigid_body_terms, force_terms, frame_terms) for term in group(both)]
    assert {term.name: term.error() for term in terms if not term.error() < 1e-12} == {}


# ── bodies and joints ────────────────────────────────────────────────────────────────────────────

JOINTS = {
    "hinge": '<joint axis="1 2 3" pos="0.1 0.2 0.3"/>',
    "hinge with a reference": '<joint axis="1 2 3" pos="0.1 0.2 0.3" ref="40"/>',
    "slide": '<joint type="slide" axis="1 2 3" pos="0.1 0.2 0.3"/>',
    "slide with a reference": '<joint type="slide" axis="1 2 3" ref="0.4"/>',
    "ball": '<joint type="ball" pos="0.1 0.2 0.3"/>',
    "free": "<freejoint/>",
    "two hinges": '<joint pos="0.1 0 0" ref="20"/><joint axis="1 0 0" pos="0 0.2 0" ref="-30"/>',
    "planar": '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0" ref="1"/><joint ref="9"/>',
    "slide and ball": '<joint type="slide" axis="1 1 0" pos="0 0 0.3"/><joint type="ball" pos="0.1 0 0"/>',
    "hinge and ball": '<joint axis="0 1 1" pos="0 0 0.2" ref="15"/><joint type="ball" pos="0.1 0 0"/>',
    "none": "",
}


@pytest.mark.parametrize("joints", JOINTS.values(), ids=JOINTS)
def test_every_joint_moves_as_in_mujoco(joints):
    root = f'<body name="root" pos="0.5 0.6 0.7" euler="10 20 30">{joints}'
    solid = '<geom type="box" size="0.1 0.2 0.3" pos="0.05 0 0" euler="0 30 0"/><site name="on_root" pos="0 0 0.3"/>'
    child = (
        '<body name="child" pos="0.1 0.2 0.3" euler="40 0 10"><joint axis="1 1 0" pos="0.02 0 0.01" armature="0.3"/>'
        '<geom type="capsule" size="0.05 0.2"/><site name="on_child" euler="0 0 30" pos="0 0.1 0"/></body></body>'
    )
    assert_same_mechanics(mjcf(root + solid + child))


def test_kinds_of_joints_and_their_limits():
    world = """
    <body name="a"><joint name="a" range="-30 60"/><geom size="0.1"/></body>
    <body name="b"><joint name="b" type="slide" range="-1 2"/><geom size="0.1"/></body>
    <body name="c"><joint name="c" type="ball" range="0 90"/><geom size="0.1"/></body>
    <body name="d"><joint name="d" limited="false" range="-30 60"/><geom size="0.1"/></body>
    <body name="e"><freejoint name="e"/><geom size="0.1"/></body><body name="f"/>"""
    model = load(mjcf(world))
    joints = {body.name: body.joint for body in model.bodies}
    assert joints["a"] == Revolute("z", limits=(np.deg2rad(-30), np.deg2rad(60)))
    assert joints["b"] == Prismatic("z", limits=(-1, 2))
    assert joints["c"] == Spherical(limits=(0, np.deg2rad(90)))
    assert joints["d"] == Revolute("z")
    assert joints["e"] == Free()
    assert joints["f"] == Fixed()
    assert [body.joint_name for body in model.bodies] == ["a", "b", "c", "d", "e", "f:fixed"]


def test_several_joints_make_a_chain_of_links_without_mass():
    text = mjcf(f'<body name="b"><joint name="x" pos="1 2 3"/><joint name="y" pos="4 6 8"/><joint/>{BALL}</body>')
    model = load(text)
    assert [body.name for body in model.bodies] == ["b:x", "b:y", "b"]
    assert [body.joint_name for body in model.bodies] == ["x", "y", "joint2"]
    assert [body.inertia.mass for body in model.bodies] == [0, 0, theirs(text).body_mass[1]]
    assert [tuple(body.placement.position) for body in model.bodies] == [(1, 2, 3), (3, 4, 5), (-4, -6, -8)]
    assert model.frame("b").placement == model.body("b").record.frame


def test_the_name_of_a_body_stands_for_the_frame_of_the_file():
    model = load(mjcf(f'<body name="b"><joint pos="1 2 3"/>{BALL}</body>'))
    assert tuple(model.frame("b").placement.position) == (-1, -2, -3)


def test_home_is_where_the_file_puts_the_bodies():
    text = mjcf(
        f'<body pos="1 2 3" euler="0 0 90"><freejoint/>{BALL}</body><body><joint ref="30"/>{BALL}</body>'
        f'<body pos="4 5 6"><joint/>{BALL}</body><body pos="7 8 9"><joint type="ball"/>{BALL}</body>'
    )
    model, m = load(text), theirs(text)
    homes = [body.record.home for body in model.bodies]
    assert homes == [(*m.qpos0[3:7], *m.qpos0[:3]), (np.deg2rad(30),), (), ()]


def test_passive_values_in_the_order_of_qdot():
    world = """
    <body name="a"><joint type="free" damping="0.5"/><geom size="0.1"/></body>
    <body name="b"><joint type="ball" damping="1" armature="2" frictionloss="3" stiffness="4"/><geom size="0.1"/></body>
    <body name="c"><joint springref="30" stiffness="4" margin="0.1" solreflimit="0.1 2" actuatorgravcomp="true"
      solimpfriction="0.5 0.6 0.7 0.4 3" actuatorfrcrange="-1 2"/><geom size="0.1"/></body>"""
    a, b, c = (body.record for body in load(mjcf(world)).bodies)
    assert (a.passive.damping, a.passive.stiffness) == ((0.5,) * 6, ())
    p = b.passive
    assert (p.damping, p.armature, p.friction, p.stiffness) == ((1,) * 3, (2,) * 3, (3,) * 3, (4,) * 3)
    assert p.rest == (1, 0, 0, 0)
    assert c.passive.rest == (np.deg2rad(30),)
    assert (c.drive_range, c.compensated_by_drive, c.softness.margin) == ((-1, 2), True, 0.1)
    assert c.softness.limit == Softness((0.1, 2.0))
    assert c.softness.friction == Softness(solimp=(0.5, 0.6, 0.7, 0.4, 3.0))


def test_a_mocap_body_is_a_target():
    text = mjcf(f'<body name="goal" mocap="true" pos="1 0 0">{BALL}</body>')
    assert load(text).body("goal").record.target
    assert "mocap bodies" in told(text, Severity.KEPT)


def test_right_angles_are_exact():
    # cos 90° is 6e-17 in floating point; kept, it would be computed with for ever.
    model = load(mjcf(f'<body name="b" euler="90 0 90"><joint/>{BALL}</body>'))
    assert {abs(x) for row in model.body("b").placement.rotation.entries() for x in row} == {0.0, 1.0}


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────

SHAPES = {
    "sphere": ('type="sphere" size="0.3"', Sphere(0.3)),
    "capsule": ('type="capsule" size="0.1 0.3"', Capsule(0.1, 0.6)),
    "cylinder": ('type="cylinder" size="0.1 0.3"', Cylinder(0.1, 0.6)),
    "ellipsoid": ('type="ellipsoid" size="0.1 0.2 0.3"', Ellipsoid(0.1, 0.2, 0.3)),
    "box": ('type="box" size="0.1 0.2 0.3"', Box(0.2, 0.4, 0.6)),
}
TETRAHEDRON = '<asset><mesh name="tet" vertex="0 0 0 1 0 0 0 2 0 0 0 3"/></asset>'


@pytest.mark.parametrize(("geom", "shape"), SHAPES.values(), ids=SHAPES)
def test_shapes_have_the_size_that_mujoco_computes_mass_from(geom, shape):
    text = mjcf(
        f'<body name="b"><joint pos="1 2 3"/><geom {geom} density="700" pos="0.1 0 0" euler="10 20 30"/></body>'
    )
    model, m = load(text), theirs(text)
    placed = model.body("b").record.shapes[0].shape
    assert placed.shape == shape
    assert shape.volume() * 700 == pytest.approx(m.body_mass[1], rel=1e-12)
    np.testing.assert_allclose(as_array(placed.placement.position), m.geom_pos[0] - [1, 2, 3], rtol=1e-12)


def test_a_mesh_is_where_mujoco_draws_it():
    # MuJoCo moves vertices into the frame of the mesh's inertia, and the geom along; they are single precision.
    text = mjcf(
        '<body name="b" pos="1 0 0"><freejoint/><geom type="mesh" mesh="tet" pos="0 1 0" euler="0 0 90"/></body>'
    )
    text = text.replace("<worldbody>", f"{TETRAHEDRON}<worldbody>")
    shape = load(text).body("b").record.shapes[0].shape
    assert isinstance(shape.shape, Mesh)
    assert shape.shape.name == "tet"
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    turned = corners @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + [0, 1, 0]
    found = shape.surface()[0]
    distances = np.linalg.norm(found[:, None] - turned[None], axis=2)
    assert distances.min(axis=1).max() < 1e-6
    assert distances.min(axis=0).max() < 1e-6
    assert shape.volume() == pytest.approx(1.0, rel=1e-6)


def test_ground_belongs_to_the_world():
    text = mjcf('<geom name="floor" type="plane" size="3 0 1"/><geom name="hills" type="hfield" hfield="h"/>').replace(
        "<worldbody>",
        '<asset><hfield name="h" nrow="2" ncol="3" size="1 2 0.5 0.1" elevation="0 1 2 2 1 0"/></asset><worldbody>',
    )
    floor, hills = load(text).description.world_shapes
    assert (floor.name, floor.shape.shape) == ("floor", Plane(3, 0))
    assert hills.shape.shape == HeightField(theirs(text).hfield_data.reshape(2, 3), 1, 2, 0.5, 0.1)


def test_contacts_groups_and_colors():
    text = mjcf(
        """<geom name="a" size="1"/>
    <geom name="b" size="1" contype="0" conaffinity="0" group="1" rgba="0.8 0.2 0.1 0.5"/>
    <geom name="c" size="1" contype="6" conaffinity="5" condim="4" friction="0.5 0.1 0.2" solref="0.1 2" margin="0.2"
      solimp="0.1 0.2 0.3 0.4 5" gap="0.1" priority="3" solmix="2" group="3" material="steel"/>
    <geom name="d" size="1" contype="0" conaffinity="0" material="steel" rgba="1 0 0 1"/>""",
        '<asset><material name="steel" rgba="0.7 0.7 0.8 1"/></asset><contact><pair name="p" geom1="a" geom2="d"'
        ' condim="6" friction="1 2 3 4 5" solref="0.1 2" solreffriction="0.3 4" margin="0.2" gap="0.1"/></contact>',
    )
    a, b, c, d = load(text).description.world_shapes
    soft = Softness((0.1, 2.0), (0.1, 0.2, 0.3, 0.4, 5.0))
    assert a.contact == Contact()
    assert c.contact == Contact(6, 5, 4, (0.5, 0.1, 0.2), soft, 0.2, 0.1, 3, 2.0)
    assert [s.collision for s in (a, b, c, d)] == [True, False, True, True]  # d is in a pair
    assert [s.visual for s in (a, b, c, d)] == [True, True, False, True]
    assert [s.group for s in (a, b, c, d)] == [0, 1, 3, 0]
    assert b.material == Material("", (0.8, 0.2, 0.1, 0.5))
    assert c.material == Material("steel", (0.7, 0.7, 0.8, 1.0))
    assert d.material == Material("steel", (1.0, 0.0, 0.0, 1.0))
    (pair,) = load(text).description.pairs
    assert (pair.name, pair.shape1, pair.shape2, pair.dimension) == ("p", "a", "d", 6)
    assert (pair.friction, pair.friction_solref, pair.margin, pair.gap) == ((1, 2, 3, 4, 5), (0.3, 4.0), 0.2, 0.1)


def test_exclusions():
    (excluded,) = load(mjcf(rest='<contact><exclude body1="arm" body2="hand"/></contact>')).description.exclusions
    assert (excluded.name, excluded.body1, excluded.body2) == ("exclude0", "arm", "hand")


def test_sites_are_frames_with_a_region():
    text = mjcf(
        '<body><joint pos="1 2 3"/><geom size="0.1"/><site name="s" type="box" size="1 2 3" pos="0 0 1"/></body>'
    )
    (frame,) = load(text).description.frames
    assert (frame.name, frame.body, tuple(frame.placement.position)) == ("s", "body1", (-1, -2, -2))
    assert frame.region.shape == Box(2, 4, 6)


# ── names ────────────────────────────────────────────────────────────────────────────────────────


def test_unnamed_things_get_names():
    text = mjcf(
        '<body><joint/><geom size="0.1"/><site/><site/></body><body name="body1"><joint name="joint0"/>'
        '<geom name="geom0" size="0.1"/></body>',
        '<tendon><fixed><joint joint="joint0" coef="1"/></fixed></tendon><actuator><motor joint="joint0"/></actuator>'
        '<sensor><jointpos joint="joint0"/></sensor><keyframe><key/></keyframe>',
    )
    d = load(text).description
    assert [body.name for body in d.bodies] == ["body1_body", "body1"]
    assert [body.joint_name for body in d.bodies] == ["joint0_joint", "joint0"]
    assert [frame.name for frame in d.frames] == ["site0", "site1"]
    assert [body.shapes[0].name for body in d.bodies] == ["geom0_geom", "geom0"]
    assert (d.tendons[0].name, d.actuators[0].name) == ("tendon0", "actuator0")
    assert (d.sensors[0].name, d.keyframes[0].name) == ("sensor0", "key0")


def test_sites_that_share_a_name_with_a_body_are_renamed():
    text = mjcf(f'<body name="a"><joint/>{BALL}<site name="a"/><site name="a_site"/><site name="world"/></body>')
    assert [frame.name for frame in load(text).description.frames] == ["a_site", "a_site_site", "world_site"]
    assert {"site 'a'", "site 'a_site'", "site 'world'"} <= told(text, Severity.NOTE)


def test_names_of_joints_are_not_names_of_frames():
    model = load(mjcf(f'<body name="a"><joint name="a"/>{BALL}<site name="b"/></body>'))
    assert (model.joint("a").name, model.frame("b").body) == ("a", 1)


# ── tendons, constraints, actuators ──────────────────────────────────────────────────────────────


def test_a_wrapped_geom_is_a_frame():
    world = ARM.replace(
        '<site name="tip"', '<geom name="tip" type="cylinder" size="0.05 1" pos="0.1 0 0"/><site name="tip"'
    )
    text = mjcf(
        world,
        '<tendon><spatial name="t" range="0.1 2" limited="true" width="0.01" rgba="1 0 0 1"><site site="palm"/>'
        '<geom geom="tip" sidesite="tip"/><site site="tip"/></spatial></tendon>',
    )
    model = load(text)
    (tendon,) = model.description.tendons
    assert (tendon.path[1].frame, tendon.path[1].cylinder, tendon.path[1].side) == ("tip_wrap", True, "tip")
    assert tuple(model.frame("tip_wrap").placement.position) == (0.1, 0, 0)
    assert (tendon.range, tendon.width, tendon.color) == ((0.1, 2.0), 0.01, (1.0, 0.0, 0.0, 1.0))


ACTUATORS = {
    "motor": ('<motor name="u" joint="hinge" gear="3"/>', ActuatorRecord("u", OnJoint("hinge", (3, 0, 0, 0, 0, 0)))),
    "position": (
        '<position name="u" joint="hinge" kp="5" kv="2" ctrlrange="-1 1" forcerange="-3 4" group="2"/>',
        ActuatorRecord(
            "u", OnJoint("hinge"), Affine(5), Affine(0, -5, -2), None, (-1.0, 1.0), (-3.0, 4.0), 2
        ),
    ),
    "filter": (
        '<general name="u" site="tip" dyntype="filter" dynprm="0.2" gaintype="affine" gainprm="1 2 3" actearly="true"'
        ' actrange="-2 2" refsite="palm"/>',
        ActuatorRecord(
            "u",
            OnFrame("tip", reference="palm"),
            Affine(1, 2, 3),
            dynamics=Activation("filter", 0.2, (-2.0, 2.0), True),
        ),
    ),
    "crank": (
        '<motor name="u" cranksite="tip" slidersite="palm" cranklength="0.5" gear="2"/>',
        ActuatorRecord("u", OnSliderCrank("tip", "palm", 0.5, 2)),
    ),
    "tendon": ('<motor name="u" tendon="rope" gear="2"/>', ActuatorRecord("u", OnTendon("rope", 2))),
    "adhesion": (
        '<adhesion name="u" body="hand" ctrlrange="0 1" gain="7"/>',
        ActuatorRecord("u", OnContacts("hand"), Affine(7), control_range=(0.0, 1.0)),
    ),
}  # fmt: skip
ROPE = '<tendon><fixed name="rope"><joint joint="hinge" coef="2"/></fixed></tendon>'


@pytest.mark.parametrize(("element", "record"), ACTUATORS.values(), ids=ACTUATORS)
def test_actuators(element, record):
    (actuator,) = load(mjcf(rest=f"{ROPE}<actuator>{element}</actuator>")).description.actuators
    assert actuator == record


def test_armature_and_damping_of_actuators_are_felt_times_gear_squared():
    text = mjcf(rest='<actuator><motor joint="hinge" gear="3" armature="0.2" damping="0.7"/></actuator>')
    assert load(text).body("arm").passive.armature == pytest.approx((0.2 * 9,))
    assert_same_mechanics(text)
    assert "actuators" in told(text, Severity.NOTE)


DRIVES = {
    "two motors at a hinge": '<motor joint="hinge" gear="3" armature="0.2" damping="0.7"/>'
    '<position joint="hinge" gear="-2" armature="0.1" damping="0.5"/><motor joint="hinge"/>',
    "two motors at a ball": '<motor joint="ball" gear="3 1 2" armature="0.2" damping="0.7"/>'
    '<motor jointinparent="ball" gear="2" armature="0.1" damping="0.5"/>',
    "two dampers at a free joint": '<motor joint="free" gear="3 1" damping="0.7"/><motor joint="free" damping="0.5"/>',
    "two dampers at a tendon": '<motor tendon="rope" gear="3" damping="0.7"/><motor tendon="rope" damping="0.5"/>',
    "joint and tendon": '<motor joint="hinge" gear="3" damping="0.7"/><motor tendon="rope" gear="2" damping="0.5"/>',
}
OTHERS = f'<body><joint name="ball" type="ball"/>{BALL}</body><body><freejoint name="free"/>{BALL}</body>'


@pytest.mark.parametrize("drives", DRIVES.values(), ids=DRIVES)
def test_armature_and_damping_of_all_actuators_on_one_thing_add_up(drives):
    text = mjcf(ARM + OTHERS, f"{ROPE}<actuator>{drives}</actuator>")
    assert_same_mechanics(text)
    assert qdot.load(text).report.of(Severity.PHYSICS) == ()


def test_armature_of_all_actuators_on_a_tendon_adds_up():
    drives = '<motor tendon="rope" gear="3" armature="0.2"/><motor tendon="rope" gear="-2" armature="0.1"/>'
    (tendon,) = load(mjcf(rest=f"{ROPE}<actuator>{drives}</actuator>")).tendons
    assert tendon.armature == pytest.approx(0.2 * 9 + 0.1 * 4)


def test_actuators_of_disabled_groups_exert_no_force():
    motors = '<actuator><motor joint="hinge" group="2"/><position joint="slide" kp="3" group="1"/></actuator>'
    text = mjcf(rest=f'<option actuatorgroupdisable="2"/>{motors}')
    assert_same_mechanics(text)
    assert "actuators" in told(text, Severity.NOTE)


def test_an_actuator_with_several_controls_keeps_its_place_in_the_control_vector():
    world = f'<body><joint name="b" type="ball"/>{BALL}<body><joint name="k"/>{BALL}</body></body>'
    text = mjcf(world, '<actuator><orientation name="o" joint="b" kp="3"/><motor name="m" joint="k"/></actuator>')
    records = load(text).description.actuators
    assert [record.name for record in records] == ["o", "o:1", "o:2", "m"]
    assert {record.gain for record in records[:3]} == {Affine(0)}
    assert theirs(text).nu == 4


# ── the scene ────────────────────────────────────────────────────────────────────────────────────


def test_sensors():
    text = mjcf(
        rest='<sensor><gyro name="g" site="tip" noise="0.1" cutoff="5"/><framepos objtype="xbody" objname="hand"'
        ' reftype="body" refname="arm"/><jointactuatorfrc joint="hinge"/><clock/></sensor>'
    )
    assert load(text).description.sensors == (
        SensorRecord("g", "gyro", "site", "tip", size=3, cutoff=5, noise=0.1),
        SensorRecord("sensor1", "framepos", "xbody", "hand", "body", "arm", 3),
        SensorRecord("sensor2", "jointactuatorfrc", "joint", "hinge"),
        SensorRecord("sensor3", "clock"),
    )


def test_keyframes_are_in_the_conventions_of_qdot():
    world = f'<body><freejoint/>{BALL}<body><joint name="h"/>{BALL}</body></body>'
    key = '<key name="k" time="2" qpos="1 2 3 0.8 0.6 0 0 0.5" qvel="1 2 3 4 5 6 7" ctrl="0.3" act="0.4"/>'
    text = mjcf(world, f'<actuator><intvelocity joint="h" actrange="-1 1"/></actuator><keyframe>{key}</keyframe>')
    model, m = load(text), theirs(text)
    (frame,) = model.description.keyframes
    assert (frame.name, frame.time, frame.control, frame.activation) == ("k", 2.0, (0.3,), (0.4,))
    bridge = qdot.convert.mujoco(model)
    np.testing.assert_allclose(frame.q, bridge.q_from(m.key_qpos[0]), rtol=1e-12)
    np.testing.assert_allclose(frame.v, bridge.v_from(m.key_qpos[0], m.key_qvel[0]), rtol=1e-12)


def test_options_and_fluid():
    text = mjcf(
        rest='<option timestep="0.01" integrator="implicitfast" cone="elliptic" solver="CG" iterations="7" impratio="3"'
        ' tolerance="1e-5" noslip_iterations="2" noslip_tolerance="1e-4" density="1.2" viscosity="0.1" wind="1 2 3"'
        ' gravity="0 1 -3">'
        '<flag contact="disable" energy="enable"/></option>'
    )
    d = load(text).description
    o = d.options
    assert (o.timestep, o.integrator, o.cone, o.solver) == (0.01, "implicitfast", "elliptic", "CG")
    assert (o.iterations, o.tolerance, o.impratio) == (7, 1e-5, 3.0)
    assert (o.noslip_iterations, o.noslip_tolerance) == (2, 1e-4)
    assert (o.disabled, o.enabled) == ({"contact"}, {"energy"})
    assert (d.fluid.density, d.fluid.viscosity, d.fluid.wind) == (1.2, 0.1, (1, 2, 3))
    assert d.gravity == Vec3(0, 1, -3)


@pytest.mark.parametrize("flags", [("gravity",), ("spring",), ("damper",), ("spring", "damper")], ids=" ".join)
def test_flags_that_switch_forces_off(flags):
    world = ARM.replace("<joint ", '<joint stiffness="3" damping="2" springref="20" ')
    world = world.replace("<body ", '<body gravcomp="0.5" ')
    rope = ROPE.replace("<fixed ", '<fixed stiffness="2" damping="1" springlength="0.1" ')
    off = " ".join(f'{flag}="disable"' for flag in flags)
    text = mjcf(world, f'<option density="2"><flag {off}/></option>{rope}')
    assert_same_mechanics(text, force_terms)
    assert load(text).description.options.disabled == set()
    for flag in flags:
        assert any(repr(flag) in item.found for item in report(text).of(Severity.NOTE))


FLAGS = {
    "actuation": "actuators",
    "clampctrl": "ranges of controls",
    "constraint": "constraints, limits, dry friction and contacts",
    "equality": "equality constraints",
    "frictionloss": "dry friction",
    "limit": "limits",
    "contact": "contacts",
    "warmstart": "options",
}


@pytest.mark.parametrize("flag", FLAGS)
def test_flags_that_are_kept_are_told(flag):
    text = mjcf(rest=f'<option><flag {flag}="disable"/></option>')
    assert load(text).description.options.disabled == {flag}
    assert [item.subject for item in report(text).of(Severity.NOTE) if repr(flag) in item.found] == [FLAGS[flag]]


def test_dry_friction_is_a_passive_force():
    text = mjcf(ARM.replace("<joint ", '<joint frictionloss="3" '))
    (item,) = (item for item in report(text) if item.subject == "dry friction")
    assert item.severity is Severity.NOTE
    q = np.zeros(2)
    assert qdot.passive_forces(load(text), q, np.array([0.5, -2.0])).tolist() == [-3.0, 3.0]
    assert qdot.passive_forces(load(text), q, np.zeros(2)).tolist() == [0.0, 0.0]  # as the item says


# ── the report ───────────────────────────────────────────────────────────────────────────────────

IGNORED = {
    "cameras": '<worldbody><camera name="c"/></worldbody>',
    "lights": "<worldbody><light/></worldbody>",
    "textures": '<asset><texture name="t" type="2d" builtin="flat" width="2" height="2"/></asset>',
    "materials": '<asset><material name="m" shininess="0.3"/></asset>',
    "custom numbers": '<custom><numeric name="n" data="1"/></custom>',
    "custom texts": '<custom><text name="n" data="x"/></custom>',
    "custom tuples": '<custom><tuple name="n"><element objtype="body" objname="arm"/></tuple></custom>',
    "user data": '<worldbody><body user="3"/></worldbody>',
    "options": '<option ls_iterations="7"/>',
    "statistic": '<statistic extent="3"/>',
    "visual": '<visual><map znear="0.3"/></visual>',
    "sleep": '<option><flag sleep="enable"/></option>',
    "sensors": '<sensor><gyro site="tip" delay="0.1" nsample="60"/></sensor>',
    "groups and shadows": '<worldbody><geom size="1" castshadow="false"/></worldbody>',
    "keyframes": f'<worldbody><body mocap="true">{BALL}</body></worldbody><keyframe><key mpos="1 2 3"/></keyframe>',
}
PHYSICS = {
    "flexes": '<worldbody><flexcomp name="f" type="grid" count="2 2 1" spacing="1 1 1" dim="2" mass="1"/></worldbody>',
    "joint springs that are not linear": f'<worldbody><body><joint stiffness="1 2 3"/>{BALL}</body></worldbody>',
    "joint dampers that are not linear": f'<worldbody><body><joint damping="1 2 3"/>{BALL}</body></worldbody>',
    "joint springs that yield": f'<worldbody><body><joint stiffness="1" springyield="0.1"/>{BALL}</body></worldbody>',
    "tendon springs that are not linear": ROPE.replace("<fixed", '<fixed stiffness="1 2 3"'),
    "tendon dampers that are not linear": ROPE.replace("<fixed", '<fixed damping="1 2 3"'),
    "tendon springs that yield": ROPE.replace("<fixed", '<fixed stiffness="1" springyield="0.1"'),
    "tendons with armature": ROPE.replace("<fixed", '<fixed armature="1"'),
    "actuator dampers that are not linear": '<actuator><motor joint="hinge" damping="1 2 3"/></actuator>',
    "actuators of kind muscle": '<actuator><muscle joint="hinge"/></actuator>',
    "actuators of kind dcmotor": '<actuator><dcmotor joint="hinge" resistance="1" motorconst="0.1"/></actuator>',
    "actuators of kind pid": '<actuator><pid joint="hinge" kp="1" ki="2"/></actuator>',
    "actuators of kind user": '<actuator><general joint="hinge" dyntype="user" actdim="1"/></actuator>',
    "actuators with delays": '<actuator><motor joint="hinge" delay="0.1" nsample="60"/></actuator>',
    "moving surfaces": '<worldbody><geom size="1" surfacevel="1 0 0 0 0 0"/></worldbody>',
    "adhesion of geoms": '<worldbody><geom size="1" adhesion="3"/></worldbody>',
    "adhesion of pairs": (
        '<worldbody><geom name="p" size="1"/><geom name="q" size="1"/></worldbody>'
        '<contact><pair geom1="p" geom2="q" adhesion="3"/></contact>'
    ),
    "fluid forces by ellipsoids": (
        '<option density="1"/><worldbody><body><joint/><geom size="1" fluidshape="ellipsoid"/></body></worldbody>'
    ),
    "options": '<option o_margin="1"><flag override="enable"/></option>',
    "springs, armature or dry friction of free joints": (
        f'<worldbody><body><joint name="f" type="free"/>{BALL}</body></worldbody>'
        '<actuator><motor joint="f" armature="1"/></actuator>'
    ),
}


@pytest.mark.parametrize(
    ("severity", "subject", "element"),
    [(Severity.IGNORED, *entry) for entry in IGNORED.items()]
    + [(Severity.PHYSICS, *entry) for entry in PHYSICS.items()],
    ids=lambda value: value if isinstance(value, str) and value[0] != "<" else "",
)
def test_what_is_left_out_is_told(severity, subject, element):
    assert subject not in told(mjcf(), severity)
    assert subject in told(mjcf(rest=element), severity)


@pytest.mark.parametrize("element", PHYSICS.values(), ids=PHYSICS)
def test_what_changes_the_motion_is_refused_unless_allowed(element):
    with pytest.raises(ModelError, match="the motion would not be what the file says"):
        qdot.load(mjcf(rest=element))


@pytest.mark.parametrize("element", IGNORED.values(), ids=IGNORED)
def test_what_has_no_part_in_the_motion_is_not_refused(element):
    assert qdot.load(mjcf(rest=element)).nv == 2


def test_armature_of_a_free_joint_itself_is_told_too():
    text = mjcf(f'<body><joint type="free" armature="1"/>{BALL}</body>')
    assert "springs, armature or dry friction of free joints" in told(text, Severity.PHYSICS)


def test_a_plain_file_has_little_to_report():
    assert {item.severity for item in report(mjcf())} == {Severity.KEPT}  # its geoms may touch


def test_every_field_of_a_compiled_model_is_accounted_for_once():
    tables = (fields.TAKEN, fields.DERIVED, fields.IGNORED, fields.REPORTED)
    names = [n for n in dir(mujoco.MjModel) if n[0] != "_" and isinstance(getattr(mujoco.MjModel, n), property)]
    found = {n: sum(any(fnmatchcase(n, pattern) for pattern in table.split()) for table in tables) for n in names}
    assert len(names) > 500
    assert {name: count for name, count in found.items() if count != 1} == {}
    assert fields.unknown_fields(mujoco.MjModel, *tables) == ()


def test_every_option_is_accounted_for():
    ignored = " ".join(fields.OPTIONS_IGNORED)
    assert fields.unknown_fields(mujoco.MjOption, fields.OPTIONS_TAKEN, fields.OPTIONS_OVERRIDE, ignored) == ()
    usual = theirs(mjcf()).opt
    for name, value in fields.OPTIONS_IGNORED.items():
        np.testing.assert_array_equal(getattr(usual, name), value)


# ── files, warnings, the package ─────────────────────────────────────────────────────────────────


def test_warnings_of_mujoco_are_notes(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    notes = report(mjcf(rest='<compiler settotalmass="3"/>')).of(Severity.NOTE)
    assert [item.subject for item in notes] == ["MuJoCo"]
    assert "settotalmass" in notes[0].found
    assert list(tmp_path.iterdir()) == []  # no MUJOCO_LOG.TXT
    assert capfd.readouterr() == ("", "")
    assert mujoco.get_mju_user_warning() is None  # as it was before


TET = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_includes_and_meshes_are_found_beside_the_file(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "arm.xml").write_text(f"<mujocoinclude>{ARM}</mujocoinclude>")
    (parts / "tet.obj").write_text(TET)
    file = tmp_path / "robot.xml"
    file.write_text(
        '<mujoco><compiler meshdir="parts"/><asset><mesh file="tet.obj"/></asset><worldbody>'
        '<include file="parts/arm.xml"/><geom type="mesh" mesh="tet"/></worldbody></mujoco>'
    )
    model = qdot.load(file)
    assert [body.name for body in model.bodies] == ["arm", "hand"]
    assert model.description.world_shapes[0].shape.volume() == pytest.approx(1 / 6, rel=1e-6)  # single precision


def test_meshes_in_packages_are_found_by_the_resolver(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "tet.obj").write_text(TET)
    for address in ("package://robot/meshes/tet.obj", "model://robot/meshes/tet.obj"):
        text = mjcf('<geom type="mesh" mesh="tet"/>', f'<asset>\n<mesh file="{address}"/></asset>')
        text = text.replace("<worldbody>", '<compiler meshdir="elsewhere"/><worldbody>')
        source = Source(text.encode(), "text", None)
        resolver = Resolver(packages={"robot": tmp_path})
        (ground,) = read_mjcf(parse(source), resolver=resolver).description.world_shapes
        assert ground.shape.shape.name == "tet"
        with pytest.raises(ModelError, match=f"text:2: <mesh>: there is no file at '{address}'.*packages="):
            read_mjcf(parse(source))


def test_with_strippath_mujoco_finds_files_by_name_alone(tmp_path):
    (tmp_path / "tet.obj").write_text(TET)
    assets = '<compiler strippath="true"/><asset><mesh file="package://robot/meshes/tet.obj"/></asset>'
    (tmp_path / "robot.xml").write_text(mjcf('<geom type="mesh" mesh="tet"/>', assets))
    assert len(qdot.load(tmp_path / "robot.xml").description.world_shapes) == 1


def test_texts_include_and_mesh_from_the_current_directory(tmp_path, monkeypatch):
    (tmp_path / "arm.xml").write_text(f"<mujocoinclude>{ARM}</mujocoinclude>")
    (tmp_path / "tet.obj").write_text(TET)
    monkeypatch.chdir(tmp_path)
    text = mjcf('<include file="arm.xml"/><geom type="mesh" mesh="tet"/>', '<asset><mesh file="tet.obj"/></asset>')
    assert qdot.load(text).nv == 2


def test_lines_of_bodies():
    text = f'<mujoco><worldbody>\n<body>{BALL}</body>\n\n<body name="b">{BALL}</body></worldbody></mujoco>'
    line_of = read_mjcf(parse(Source(text.encode(), "text", None))).line_of
    assert [line_of(name) for name in ("body1", "b", "nobody")] == [2, 4, None]


def test_without_the_package_the_error_tells_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ModelError, match=r"pip install 'qdot\[mjcf\]'"):
        qdot.load(mjcf())


@pytest.mark.parametrize("version", ["3.3.0", "2.3.7", "unknown"])
def test_a_package_that_is_too_old_is_refused_by_its_version(monkeypatch, version):
    monkeypatch.setattr(mujoco, "__version__", version)
    with pytest.raises(ModelError, match=rf"version {version}; update it with: pip install -U 'qdot\[mjcf\]'"):
        qdot.load(mjcf())


def test_threads_load_at_once_and_leave_all_as_it_was():
    """Each text has a warning of its own, which ends up in its own report; Python's and MuJoCo's handlers stay."""
    before = warnings.filters[:], warnings.showwarning, mujoco.get_mju_user_warning()
    texts = [mjcf(rest=f'<compiler settotalmass="{k}"/>' if k % 2 else "") for k in range(1, 41)]
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(report, texts))
    assert [len(r.of(Severity.NOTE)) for r in reports] == [k % 2 for k in range(1, 41)]
    assert (warnings.filters[:], warnings.showwarning, mujoco.get_mju_user_warning()) == before


def test_models_compare_hash_and_pickle():
    import pickle

    text = mjcf().replace("<worldbody>", f'{TETRAHEDRON}<worldbody><geom type="plane" size="1 1 1"/>')
    model = load(text)
    assert pickle.loads(pickle.dumps(model)) == model == load(text)
    assert hash(model) == hash(load(text))
