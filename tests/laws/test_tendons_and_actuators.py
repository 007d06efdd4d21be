"""Laws of tendons, actuators and passive forces, on mechanisms that hold every kind of them.

Lengths, gradients and forces come from different texts: J is a sum of pulls at points, and the tests differentiate L.
Tolerances are those of rounding in some hundred operations on numbers of order one (1e-11), unless they say otherwise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qdot
from qdot.algebra import Vec3
from qdot.description import (
    Activation,
    ActuatorRecord,
    Affine,
    ConnectRecord,
    CouplingRecord,
    DragBox,
    Fluid,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
    Pulley,
    TendonRecord,
    Via,
    Weighted,
    WeldRecord,
    Wrap,
)
from qdot.errors import ModelError, QdotError
from qdot.geometry import Box, Capsule
from qdot.joints import Free, Prismatic, Revolute, Spherical
from qdot.model import edit
from qdot.spatial import Transform

TURNED = Transform.rpy(0.3, -0.2, 0.5, (0.2, 0.02, 0.03))


def rig() -> qdot.Model:
    """An arm with a ball joint and a slide, and a floating body; tendons of every kind between them."""
    world = qdot.Mechanism("rig")
    world.frame("post", at=(0.1, 0.05, 0.3))
    upper = world.add("upper", Revolute("y"), Capsule(0.03, 0.4, mass=2.0).at(0.2, 0, 0), damping=0.1, stiffness=2.0)
    forearm, palm = Capsule(0.02, 0.3, mass=1.0).at(0.15, 0, 0.02), Box(0.1, 0.05, 0.04, mass=0.5)
    lower = upper.add("lower", Spherical(), forearm, at=(0.4, 0, 0), stiffness=1.5)
    hand = lower.add("hand", Prismatic((1, 0, 1)), palm, at=(0.3, 0, 0), rest=0.1, stiffness=9.0)
    floater = world.add("floater", Free(), Box(0.2, 0.3, 0.4, mass=3.0), at=(0, 1, 0))
    for part, name, at in (
        (upper, "top", (0.1, 0.02, 0.12)),
        (upper, "knob", (0.4, 0.0, 0.02)),
        (upper, "above", (0.4, 0.01, 0.3)),
        (upper, "within", (0.41, 0.0, 0.03)),
        (lower, "roller", TURNED),
        (lower, "wrist", (0.3, 0.02, 0.06)),
        (hand, "tip", TURNED),
        (floater, "corner", TURNED),
    ):
        part.frame(name, at=at)
    tendons = {
        "weighted": (Weighted("upper", 0.3), Weighted("hand", -2.0)),
        "straight": (Via("post"), Via("top"), Via("tip")),
        "sphere": (Via("top"), Wrap("knob", 0.08), Via("wrist")),
        "beside": (Via("top"), Wrap("knob", 0.08, side="above"), Via("wrist")),
        "inside": (Via("top"), Wrap("knob", 0.08, side="within"), Via("wrist")),
        "moving_side": (Via("top"), Wrap("knob", 0.08, side="tip"), Via("wrist")),
        "cylinder": (Via("top"), Wrap("roller", 0.05, cylinder=True), Via("tip")),
        "tackle": (Via("post"), Via("top"), Pulley(2.0), Via("top"), Wrap("knob", 0.08), Via("tip"), Via("corner")),
    }
    springs = {"stiffness": 20.0, "damping": 0.5, "rest": (0.2, 0.3)}
    drives = {
        "motor": OnJoint("upper", (30.0, 0, 0, 0, 0, 0)),
        "ball": OnJoint("lower", (0.2, 0.3, -0.4, 0, 0, 0)),
        "ball_outside": OnJoint("lower", (0.2, 0.3, -0.4, 0, 0, 0), in_parent=True),
        "free": OnJoint("floater", (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)),
        "rope": OnTendon("weighted", 2.0),
        "wound": OnTendon("cylinder"),
        "thrust": OnFrame("tip", (0.5, 0, 1.0, 0.2, 0, 0.1)),
        "between": OnFrame("tip", (1.0, 0.5, 0.2, 0, 0, 0), "corner"),
        "crank": OnSliderCrank("wrist", "post", 0.9, 1.5),
    }
    gain, bias = Affine(1.0, 0.2, 0.1), Affine(0.3, -0.5, -0.2)
    description = world.description()
    return qdot.assemble(
        replace(
            description,
            bodies=tuple(
                replace(b, gravity_compensation=0.4, drag=(DragBox(TURNED, 0.1, 0.2, 0.3),)) for b in description.bodies
            ),
            fluid=Fluid(1.2, 0.3, (1.0, -2.0, 0.5)),
            tendons=tuple(TendonRecord(name, path, **springs) for name, path in tendons.items()),
            actuators=tuple(ActuatorRecord(name, drive, gain, bias) for name, drive in drives.items()),
            constraints=(
                CouplingRecord("gear", "upper", "hand", (0.1, 2.0, 0.5)),
                ConnectRecord("pin", "tip", Vec3(0.1, 0, 0), "corner", Vec3(0, 0.2, 0)),
                WeldRecord("weld", "tip", TURNED, "floater", Vec3(0.1, 0, 0), 0.6),
                CouplingRecord("ropes", "weighted", "straight", (0.0, 1.0), tendons=True),
            ),
        )
    )


def states(model: qdot.Model, rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(4)
    steps = random.normal(size=(rows, model.nv)) * 0.6
    return qdot.retract(model, model.neutral(), steps), random.normal(size=(rows, model.nv))


def test_gradients_of_tendons_are_derivatives_of_their_lengths() -> None:
    model = rig()
    q, _ = states(model)
    by_pulls, by_duals = qdot.tendon_jacobian(model, q), qdot.derivative(qdot.tendon_lengths, "q")(model, q)
    np.testing.assert_allclose(by_pulls, by_duals, rtol=0, atol=1e-9)  # duals pass through acos, steep near its ends


def test_strings_are_wound_in_some_states_and_straight_in_others() -> None:
    """Otherwise the tests of this page would not see what they look for."""
    model = rig()
    q, _ = states(model)
    lengths = dict(zip((t.name for t in model.tendons), qdot.tendon_lengths(model, q).T, strict=True))
    motion = qdot.kinematics(model, q)

    def apart(a: str, b: str) -> np.ndarray:
        d = motion.pose(a).position - motion.pose(b).position
        return np.sqrt(d.dot(d))

    for name, ends in {"sphere": ("top", "wrist"), "beside": ("top", "wrist"), "cylinder": ("top", "tip")}.items():
        longer = lengths[name] - apart(*ends)
        assert (longer > -1e-12).all()  # nothing is shorter than a straight line
        assert (longer > 1e-6).any()
        assert (longer < 1e-12).any()
    assert (lengths["inside"] - apart("top", "wrist") > 1e-6).any()


def test_a_string_round_a_sphere_is_the_shortest() -> None:
    """Against the length by geometry: two tangents and the arc between them."""
    a, b, r = np.array([0.3, 0.1, 0.02]), np.array([-0.25, 0.05, -0.1]), 0.2
    world = qdot.Mechanism()
    for name, at in (("a", a), ("b", b), ("centre", np.zeros(3))):
        world.frame(name, at=at)
    path = (Via("a"), Wrap("centre", r), Via("b"))
    model = qdot.assemble(replace(world.description(), tendons=(TendonRecord("string", path),)))
    A, B = np.linalg.norm(a), np.linalg.norm(b)
    angle = np.arccos(a @ b / (A * B)) - np.arccos(r / A) - np.arccos(r / B)
    expected = np.sqrt(A * A - r * r) + np.sqrt(B * B - r * r) + r * angle
    assert qdot.tendon_lengths(model, []) == pytest.approx([expected], abs=1e-12)


@pytest.mark.parametrize("name", ["motor", "rope", "wound", "between", "crank"])
def test_moments_of_actuators_are_derivatives_of_their_lengths(name: str) -> None:
    model = rig()
    q, _ = states(model)
    k = model.control_names().index(name)
    slopes = qdot.derivative(qdot.actuator_lengths, "q")(model, q)[:, k]
    moments = qdot.actuator_moments(model, q)[:, k]
    if name == "between":  # l is measured in axes of the reference, so its own turning changes l without a force
        held = [j for j, dof in enumerate(model.dof_names()) if not dof.startswith("floater")]
        moments, slopes = moments[:, held], slopes[:, held]
    np.testing.assert_allclose(moments, slopes, rtol=0, atol=1e-9)


def test_a_wrench_on_a_frame_is_that_of_its_jacobian() -> None:
    model = rig()
    q, _ = states(model, 5)
    gear = np.array(model.actuators[model.control_names().index("thrust")].transmission.gear)
    J = qdot.jacobian(model, q, "tip", coordinates=qdot.Coordinates.BODY)
    expected = np.einsum("bij,i->bj", J, np.concatenate([gear[3:], gear[:3]]))
    moments = qdot.actuator_moments(model, q)[:, model.control_names().index("thrust")]
    np.testing.assert_allclose(moments, expected, rtol=0, atol=1e-12)


def test_springs_give_back_what_they_hold() -> None:
    """P of springs falls by the power of their forces; dampers and drag in still air take power."""
    model = rig()
    q, v = states(model)
    slope = qdot.derivative(qdot.potential_energy, "q")(model, q) - qdot.gravity_forces(model, q)
    terms = qdot.passive_terms(model, q, v)
    np.testing.assert_allclose(terms["springs"], -slope, rtol=0, atol=1e-8)  # stiffness 20 N/m times 1e-9
    assert ((terms["dampers"] * v).sum(axis=1) < 0).all()
    still = qdot.assemble(replace(model.description, fluid=Fluid(1.2, 0.3)))
    assert ((qdot.passive_terms(still, q, v)["fluid"] * v).sum(axis=1) < 0).all()
    total = sum(terms.values())
    np.testing.assert_allclose(qdot.passive_forces(model, q, v), total, rtol=0, atol=1e-12)


def test_compensation_holds_its_share_of_the_weight() -> None:
    model = rig()
    q, v = states(model)
    np.testing.assert_allclose(
        qdot.passive_terms(model, q, v)["compensation"], 0.4 * qdot.gravity_forces(model, q), rtol=0, atol=1e-11
    )


def test_actuation_is_the_sum_of_moments_times_forces() -> None:
    model = rig()
    q, v = states(model)
    control = np.random.default_rng(0).normal(size=(len(q), model.nu))
    forces = qdot.actuator_forces(model, q, v, control)
    tau = np.einsum("bi,bij->bj", forces, qdot.actuator_moments(model, q))
    np.testing.assert_allclose(qdot.actuation(model, q, v, control), tau, rtol=0, atol=1e-10)  # gears of 30


@pytest.mark.parametrize("name", ["tendon_lengths", "actuator_moments", "passive_forces", "constraint_residuals"])
def test_compiled_is_the_text(name: str) -> None:
    """The interpreter and the machine code do the same operations; rounding differs by fused ones."""
    model = rig()
    q, v = states(model, 9)
    function = getattr(qdot, name)
    args = (q, v) if name == "passive_forces" else (q,)
    expected = function(model, *args)
    for target in ("interpreter", "llvm"):
        result = qdot.compile(function, model, target=target)(*args)
        for key in expected if isinstance(expected, dict) else [()]:
            np.testing.assert_allclose(result[key], expected[key], rtol=0, atol=1e-9)


def test_compiled_actuation_takes_controls() -> None:
    model = rig()
    q, v = states(model, 9)
    control = np.random.default_rng(1).normal(size=(9, model.nu))
    compiled = qdot.compile(qdot.actuation, model)
    assert compiled.inputs == {"q": (model.nq,), "v": (model.nv,), "control": (model.nu,), "activation": (0,)}
    result = compiled(q, v, control, np.zeros((9, 0)))
    np.testing.assert_allclose(result, qdot.actuation(model, q, v, control), rtol=0, atol=1e-9)


def test_a_locked_joint_leaves_tendons_as_long_as_they_were() -> None:
    model = rig()
    locked = edit.lock(model, "hand", 0.07)
    q, _ = states(locked)
    place = model.joint("hand").qs
    full = np.insert(q, place.start, 0.07, axis=1)
    for function in (qdot.tendon_lengths, qdot.actuator_lengths):
        np.testing.assert_allclose(function(locked, q), function(model, full), rtol=0, atol=1e-12)
    held = qdot.constraint_residuals(locked, q)["gear"][:, 0]
    np.testing.assert_allclose(held, qdot.constraint_residuals(model, full)["gear"][:, 0], rtol=0, atol=1e-12)
    with pytest.raises(ModelError, match="lock 'hand' instead"):
        edit.lock(model, "upper")


def test_what_drove_a_locked_joint_is_gone_and_reported() -> None:
    locked = edit.lock(rig(), "lower")
    assert "ball" not in locked.control_names()
    assert any("'ball'" in item.subject for item in locked.report)


def test_a_scaled_rig_has_scaled_lengths() -> None:
    """Twice as large, at the like configuration: lengths double, angles stay."""
    model = rig()
    large = edit.scale(model, 2.0)
    q, _ = states(model)
    stretched = np.array([[x for b in model.bodies for x in b.joint.stretched(row[b.qs].tolist(), 2.0)] for row in q])
    np.testing.assert_allclose(qdot.tendon_lengths(large, stretched), 2 * qdot.tendon_lengths(model, q), atol=1e-11)
    before, after = qdot.constraint_residuals(model, q), qdot.constraint_residuals(large, stretched)
    np.testing.assert_allclose(after["pin"], 2 * before["pin"], atol=1e-11)
    np.testing.assert_allclose(after["gear"], before["gear"], atol=1e-11)
    np.testing.assert_allclose(after["ropes"], 2 * before["ropes"], atol=1e-11)


def test_an_attached_rig_keeps_its_tendons_and_drives() -> None:
    model = rig()
    host = qdot.Mechanism("host")
    host.add("cart", Prismatic("x"), Box(1, 1, 1, mass=1.0)).frame("mount", at=TURNED)
    both = edit.attach(qdot.assemble(host), model, to="mount", prefix="left_")
    q, _ = states(model)
    there = np.hstack([np.full((len(q), 1), 0.3), q])
    for function in (qdot.tendon_lengths, qdot.actuator_lengths):
        np.testing.assert_allclose(function(both, there), function(model, q), rtol=0, atol=1e-11)
    assert all(name.startswith("left_") for name in both.control_names())


BAD = {
    "no path": TendonRecord("t", ()),
    "unknown joint": TendonRecord("t", (Weighted("knee", 1.0),)),
    "joint of three freedoms": TendonRecord("t", (Weighted("lower", 1.0),)),
    "unknown frame": TendonRecord("t", (Via("nowhere"), Via("tip"))),
    "one frame": TendonRecord("t", (Via("tip"),)),
    "ends at a sphere": TendonRecord("t", (Via("tip"), Wrap("knob", 0.1))),
    "two spheres": TendonRecord("t", (Via("tip"), Wrap("knob", 0.1), Wrap("knob", 0.1), Via("top"))),
    "no radius": TendonRecord("t", (Via("tip"), Wrap("knob", 0.0), Via("top"))),
    "mixed": TendonRecord("t", (Via("tip"), Weighted("upper", 1.0))),
    "negative stiffness": TendonRecord("t", (Via("tip"), Via("top")), stiffness=-1.0),
    "no number": TendonRecord("t", (Via("tip"), Via("top")), damping=float("nan")),
    "range": TendonRecord("t", (Via("tip"), Via("top")), range=(1.0, 0.0)),
}


@pytest.mark.parametrize("record", BAD.values(), ids=BAD.keys())
def test_tendons_that_cannot_be(record: TendonRecord) -> None:
    with pytest.raises(QdotError, match="'t'"):
        qdot.assemble(replace(rig().description, tendons=(record,), actuators=(), constraints=()))


BAD_DRIVES = {
    "unknown joint": OnJoint("knee"),
    "unknown tendon": OnTendon("rope"),
    "unknown frame": OnFrame("nowhere"),
    "unknown reference": OnFrame("tip", reference="nowhere"),
    "unknown slider": OnSliderCrank("tip", "nowhere", 1.0),
    "no transmission": None,
}


@pytest.mark.parametrize("drive", BAD_DRIVES.values(), ids=BAD_DRIVES.keys())
def test_actuators_that_cannot_be(drive: object) -> None:
    with pytest.raises(QdotError, match="'m'"):
        qdot.assemble(replace(rig().description, actuators=(ActuatorRecord("m", drive),)))


def test_missing_activations_are_asked_for_by_name() -> None:
    model = rig()
    record = model.actuators[0]
    active = qdot.assemble(replace(model.description, actuators=(replace(record, dynamics=Activation("filter", 0.1)),)))
    q, v = states(active, 3)
    with pytest.raises(QdotError, match=r"activation has shape \(0,\).*motor"):
        qdot.actuation(active, q, v, np.zeros(1))
    assert qdot.activation_rates(active, [1.0], [0.25]) == pytest.approx([7.5])
