"""Arguments that no function can take: vectors, wrenches, names, points, models. Errors of qdot only, to the point."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

import qdot
from qdot.errors import QdotError, UnknownNameError, ValueShapeError
from qdot.joints import Free, Spherical
from qdot.model import edit
from qdot.model.library import double_pendulum, pendulum, puma560
from qdot.spatial import Force, Inertia
from tests.model.samples import INF, NAN, SOLID, THING, numbers, refused, single

x = sympy.Symbol("x", real=True)
PENDULUM = double_pendulum()

BAD_VECTORS = {
    "no entries": [],
    "one too few": [0.0],
    "one too many": [0.0] * 3,
    "batch of the wrong width": np.zeros((2, 3)),
    "batch with axes swapped": np.zeros((2, 5)),
    "three axes": np.zeros((2, 2, 2)),
    "a number": 1.0,
    "nothing": None,
    "text": "ab",
    "words": ["a", "b"],
    "ragged": [[1, 2], [3]],
    "complex": [1j, 0],
    "dict": {"joint1": 1.0},
    "set": {1, 2},
    "generator": (k for k in (1, 2)),
    "nan": [NAN, 0],
    "inf": [0, -INF],
    "nan in a batch": np.array([[0, 0], [0, NAN]]),
    "nan among objects": np.array([NAN, 0], dtype=object),
    "nan beside a symbol": [x, NAN],
    "symbolic nan": [x, sympy.nan],
    "symbolic infinity": [x, sympy.oo],
    "complex beside a symbol": [x, 1j],
    "a thing": [THING, 0.0],
    "things": [THING, THING],
    "a dict inside": [{}, 0.0],
    "nothing inside": [None, 0.0],
    "too many symbols": [x, x, x],
    "a function": [sympy.sin, 1],
    "dates": np.array(["2020", "2021"], dtype="M8[Y]"),
    "batch of symbols": sympy.Matrix([[x, 1], [2, 3]]),
}

VECTOR_ARGUMENTS = {
    "q": lambda bad: qdot.mass_matrix(PENDULUM, bad),
    "v": lambda bad: qdot.inverse_dynamics(PENDULUM, [0, 0], bad, [0, 0]),
    "a": lambda bad: qdot.inverse_dynamics(PENDULUM, [0, 0], [0, 0], bad),
    "tau": lambda bad: qdot.forward_dynamics(PENDULUM, [0, 0], [0, 0], bad),
    "dv": lambda bad: qdot.retract(PENDULUM, [0, 0], bad),
    "q0": lambda bad: qdot.difference(PENDULUM, bad, [0, 0]),
    "q1": lambda bad: qdot.difference(PENDULUM, [0, 0], bad),
    "near_q": lambda bad: qdot.normalized(PENDULUM, bad),
}


@pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS.keys())
@pytest.mark.parametrize("argument", VECTOR_ARGUMENTS)
def test_vectors_that_no_model_takes(argument: str, bad: object) -> None:
    with pytest.raises(QdotError) as caught:
        VECTOR_ARGUMENTS[argument](bad)
    message = str(caught.value)
    assert message.startswith(f"{argument} ")
    assert "'double_pendulum'" in message


@pytest.mark.parametrize("function", [qdot.forward_dynamics, qdot.inverse_dynamics, qdot.joint_wrenches])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_nothing_in_place_of_a_vector(function, place: int) -> None:
    vectors = [[0.0, 0.0]] * 3
    vectors[place] = None
    with pytest.raises(ValueShapeError):
        function(PENDULUM, *vectors)


def test_the_shape_in_the_message_is_the_one_given() -> None:
    """A SymPy column is (2, 1): saying that it is (2,), and that (2,) is needed, helps nobody."""
    error = refused(lambda: qdot.mass_matrix(PENDULUM, sympy.Matrix([x, x])))
    assert error is None or "(2, 1)" in str(error)
    with pytest.raises(ValueShapeError, match=r"\(4, 3\).*joint1, joint2"):
        qdot.mass_matrix(PENDULUM, np.zeros((4, 3)))


def test_batches_that_disagree() -> None:
    Q, V = np.zeros((2, 2)), np.zeros((3, 2))
    with pytest.raises(ValueShapeError, match="q has 2 rows, v has 3 rows"):
        qdot.inverse_dynamics(PENDULUM, Q, V, [0, 0])
    with pytest.raises(ValueShapeError, match="rows"):
        qdot.forward_dynamics(PENDULUM, Q, Q, np.zeros((1, 2)))
    with pytest.raises(ValueShapeError, match="wrenches"):
        qdot.forward_dynamics(PENDULUM, Q, Q, Q, wrenches={"tip": np.zeros((5, 6))})


NO_QUATERNIONS = {
    "zero": [0, 0, 0, 0],
    "doubled": [2, 0, 0, 0],
    "a bit long": [1.00001, 0, 0, 0],
    "in row 1 of a batch": [[1, 0, 0, 0], [0.5, 0.5, 0.5, 0.6]],
    "zero in row 0 of a batch": [[0, 0, 0, 0], [1, 0, 0, 0]],
}


@pytest.mark.parametrize("q", NO_QUATERNIONS.values(), ids=NO_QUATERNIONS.keys())
def test_quaternions_that_are_not_unit(q: object) -> None:
    model = single(Spherical())
    for call in (qdot.mass_matrix, qdot.gravity_forces, lambda m, q: qdot.difference(m, q, q)):
        with pytest.raises(ValueShapeError, match=r"joint 'link' is not of unit length.*qdot\.normalized"):
            call(model, q)


def test_the_message_shows_the_quaternion_that_is_wrong() -> None:
    q = np.array([[1, 0, 0, 0], [0.25, 0.5, 0.5, 0.5]])
    with pytest.raises(ValueShapeError, match=r"0\.25"):
        qdot.mass_matrix(single(Spherical()), q)


def test_position_before_quaternion_is_noticed() -> None:
    with pytest.raises(ValueShapeError, match="put the position first"):
        qdot.mass_matrix(single(Free()), [1.0, 2.0, 3.0, 1.0, 0, 0, 0])


@pytest.mark.parametrize("q", [[0, 0, 0, 0], [[1, 0, 0, 0], [0, 0, 0, 0]]])
def test_the_zero_quaternion_has_no_nearest_one(q: object) -> None:
    with pytest.raises(QdotError, match="'link'"):
        qdot.normalized(single(Spherical()), q)


# ── wrenches, names, points, options, models ─────────────────────────────────────────────────────

BAD_WRENCHES = {
    "five": [0] * 5,
    "seven": [0] * 7,
    "three axes": np.zeros((1, 2, 6)),
    "nothing": None,
    "number": 3.0,
    "text": "abcdef",
    "words": list("abcdef"),
    "complex": [1j] * 6,
    "complex batch": np.ones((2, 6)) * 1j,
    "nan": [NAN] * 6,
    "inf": [0, 0, 0, 0, 0, INF],
    "single nan": Force.of(np.full(6, NAN, dtype=np.float32)),
    "nan batch": np.full((2, 6), NAN),
    "nan beside a symbol": [x, NAN, 0, 0, 0, 0],
    "ragged": [[1], [1, 2]],
    "nothings": [None] * 6,
    "things": [THING] * 6,
    "empty force": Force(None, None),
    "dict": {"fx": 1},
}


@pytest.mark.parametrize("bad", BAD_WRENCHES.values(), ids=BAD_WRENCHES.keys())
@pytest.mark.parametrize("function", [qdot.inverse_dynamics, qdot.forward_dynamics, qdot.joint_wrenches])
def test_wrenches_that_are_none(function, bad: object) -> None:
    with pytest.raises(ValueShapeError, match=r"wrench.*'tip'"):
        function(PENDULUM, [0, 0], [0, 0], [0, 0], wrenches={"tip": bad})


@pytest.mark.parametrize(
    "bad", [[1], 5, "tip", [("tip", [0] * 6)], np.zeros(6), Force.zero()], ids=lambda b: repr(b)[:20]
)
def test_wrenches_are_given_by_frame(bad: object) -> None:
    with pytest.raises(ValueShapeError, match=r"wrenches.*frame"):
        qdot.inverse_dynamics(PENDULUM, [0, 0], [0, 0], [0, 0], wrenches=bad)


NAMED = {
    "jacobian": lambda n: qdot.jacobian(PENDULUM, [0, 0], n),
    "frame_pose": lambda n: qdot.frame_pose(PENDULUM, [0, 0], n),
    "analytic_jacobian": lambda n: qdot.analytic_jacobian(PENDULUM, [0, 0], n),
    "point_jacobian": lambda n: qdot.point_jacobian(PENDULUM, [0, 0], n, (0, 0, 0)),
    "bias_acceleration": lambda n: qdot.bias_acceleration(PENDULUM, [0, 0], [0, 0], n),
    "Kinematics.pose": lambda n: qdot.kinematics(PENDULUM, [0, 0]).pose(n),
    "Kinematics.velocity": lambda n: qdot.kinematics(PENDULUM, [0, 0]).velocity(n),
    "Kinematics.acceleration": lambda n: qdot.kinematics(PENDULUM, [0, 0]).acceleration(n),
    "Kinematics.point": lambda n: qdot.kinematics(PENDULUM, [0, 0]).point(n),
    "Model.frame": PENDULUM.frame,
    "Model.body": PENDULUM.body,
    "Model.joint": PENDULUM.joint,
    "State": lambda n: PENDULUM.state()[n],
    "lock": lambda n: edit.lock(PENDULUM, n),
    "weld": lambda n: edit.weld(PENDULUM, n),
    "attach": lambda n: edit.attach(PENDULUM, PENDULUM, to=n, prefix="p"),
    "with_mass": lambda n: edit.with_mass(PENDULUM, n, 1.0),
    "with_inertia": lambda n: edit.with_inertia(PENDULUM, n, SOLID),
}


@pytest.mark.parametrize("name", ["rod3", "", None, 5, ["rod1"], {}, 0, True], ids=repr)
@pytest.mark.parametrize("call", NAMED.values(), ids=NAMED.keys())
def test_names_that_the_model_does_not_have(call, name: object) -> None:
    with pytest.raises(UnknownNameError, match=r"'double_pendulum' has no .* did you mean: '(rod|joint)"):
        call(name)


def test_wrenches_on_frames_that_the_model_does_not_have() -> None:
    with pytest.raises(UnknownNameError, match="'tipp'; did you mean: 'tip'"):
        qdot.inverse_dynamics(PENDULUM, [0, 0], [0, 0], [0, 0], wrenches={"tipp": [0] * 6})


@pytest.mark.parametrize(
    "point", [None, 5, "abc", (1, 2), (NAN, 0, 0), (1j, 0, 0), ("a", "b", "c"), (None, 0, 0), np.eye(3)], ids=str
)
def test_points_that_are_none(point: object) -> None:
    with pytest.raises(QdotError, match=r"point|vector of 3"):
        qdot.point_jacobian(PENDULUM, [0, 0.3], "tip", point)
    with pytest.raises(QdotError, match=r"point|vector of 3"):
        qdot.kinematics(PENDULUM, [0, 0.3]).point("tip", point)


@pytest.mark.parametrize("option", ["body", "BODY", None, 0, qdot.Orientation.RPY], ids=str)
def test_coordinates_are_one_of_three(option: object) -> None:
    """A string must not pass silently for world axes."""
    motion = qdot.kinematics(PENDULUM, [0, 0.3], [1, 1])
    for call in (
        lambda: qdot.jacobian(PENDULUM, [0, 0.3], "tip", coordinates=option),
        lambda: qdot.bias_acceleration(PENDULUM, [0, 0.3], [1, 1], "tip", coordinates=option),
        lambda: motion.velocity("tip", option),
        lambda: motion.acceleration("tip", option),
    ):
        with pytest.raises(QdotError, match=r"[cC]oordinates"):
            call()


@pytest.mark.parametrize("option", ["rpy", None, 0, qdot.Coordinates.BODY], ids=str)
def test_orientations_are_one_of_three(option: object) -> None:
    with pytest.raises(QdotError, match=r"[oO]rientation"):
        qdot.analytic_jacobian(PENDULUM, [0, 0.3], "tip", orientation=option)


NO_MODELS = {"mechanism": qdot.Mechanism("rig"), "description": PENDULUM.description, "nothing": None, "text": "arm"}
WANTS_A_MODEL = {
    "mass_matrix": lambda m: qdot.mass_matrix(m, [0, 0]),
    "kinematics": lambda m: qdot.kinematics(m, [0, 0]),
    "total_mass": lambda m: qdot.total_mass(m),
    "forward_dynamics": lambda m: qdot.forward_dynamics(m, [0, 0], [0, 0], [0, 0]),
    "symbols": lambda m: qdot.symbols(m),
    "lock": lambda m: edit.lock(m, "joint1"),
    "weld": lambda m: edit.weld(m, "rod1"),
    "attach": lambda m: edit.attach(m, PENDULUM, prefix="p"),
    "be attached": lambda m: edit.attach(PENDULUM, m, prefix="p"),
    "scale": lambda m: edit.scale(m, 2.0),
    "with_mass": lambda m: edit.with_mass(m, "rod1", 2.0),
    "with_inertia": lambda m: edit.with_inertia(m, "rod1", SOLID),
}


@pytest.mark.parametrize("thing", NO_MODELS.values(), ids=NO_MODELS.keys())
@pytest.mark.parametrize("call", WANTS_A_MODEL.values(), ids=WANTS_A_MODEL.keys())
def test_what_is_no_model(call, thing: object) -> None:
    with pytest.raises(QdotError, match=r"qdot\.(Model|assemble)"):
        call(thing)


# ── edits ────────────────────────────────────────────────────────────────────────────────────────

NO_NUMBERS = [NAN, INF, "2", "a", None, 1j, [2, 3], {"a": 1}, THING, np.array([1.0, 2.0])]


@pytest.mark.parametrize("q", [[], [1, 2], *NO_NUMBERS[:4], *NO_NUMBERS[5:], [[1]], [NAN], (None,)], ids=str)
def test_configurations_to_lock_at(q: object) -> None:
    with pytest.raises(QdotError, match="'joint2'"):
        edit.lock(PENDULUM, "joint2", q)


@pytest.mark.parametrize("q", [[0, 0, 0, 0], [2, 0, 0, 0], [1, 0, 0], 1.0], ids=str)
def test_quaternions_to_lock_at(q: object) -> None:
    with pytest.raises(QdotError, match="'link'"):
        edit.lock(single(Spherical()), "link", q)


@pytest.mark.parametrize("factor", [0, -1, sympy.Integer(0), sympy.Integer(-2), 1e200, *NO_NUMBERS], ids=str)
def test_factors_that_scale_nothing(factor: object) -> None:
    for model in (PENDULUM, single()):
        with pytest.raises(QdotError, match="scale"):
            edit.scale(model, factor)


@pytest.mark.parametrize("mass", [-1, *NO_NUMBERS], ids=str)
def test_masses_that_no_body_has(mass: object) -> None:
    with pytest.raises(QdotError, match="'rod1'"):
        edit.with_mass(PENDULUM, "rod1", mass)


def test_mass_cannot_be_scaled_from_nothing() -> None:
    massless = edit.with_inertia(PENDULUM, "rod1", Inertia.zero())
    for model, body in ((massless, "rod1"), (puma560(), "link1")):
        with pytest.raises(QdotError, match=f"'{body}'.*with_inertia"):
            edit.with_mass(model, body, 1.0)


@pytest.mark.parametrize(
    "inertia", [None, 5, "a", Inertia.point(-1), Inertia.point(NAN), THING], ids=lambda i: str(i)[:20]
)
def test_inertias_that_no_body_has(inertia: object) -> None:
    with pytest.raises(QdotError, match="'rod1'"):
        edit.with_inertia(PENDULUM, "rod1", inertia)


def test_other_edits_that_cannot_be() -> None:
    for call, words in (
        (lambda: edit.weld(PENDULUM, "rod1"), "'rod1' can move.*'joint1'.*lock it first"),
        (lambda: edit.weld(PENDULUM, "world"), "'world'"),
        (lambda: edit.weld(PENDULUM, "tip"), "'tip'"),
        (lambda: edit.attach(PENDULUM, pendulum()), "named 'rod1'.*(prefix|another name)"),
        (lambda: edit.attach(PENDULUM, PENDULUM, at=(NAN, 0, 0), prefix="p"), "finite"),
        (lambda: edit.attach(PENDULUM, PENDULUM, at="abc", prefix="p"), "pose"),
        (lambda: edit.attach(PENDULUM, PENDULUM, at=(1, 2), prefix="p"), "pose"),
        (lambda: edit.attach(PENDULUM, PENDULUM, prefix=5), "prefix"),
    ):
        with pytest.raises(QdotError, match=words):
            call()


# ── anything at all ──────────────────────────────────────────────────────────────────────────────

FLOATS = st.one_of(st.floats(-1e100, 1e100), st.sampled_from([NAN, INF, -INF]))  # products of larger ones overflow
ANYTHING = st.one_of(
    st.none(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.booleans(),
    st.complex_numbers(),
    FLOATS,
    st.lists(st.one_of(FLOATS, st.none(), st.text(max_size=2)), max_size=4),
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=3),
    st.dictionaries(st.text(max_size=2), FLOATS, max_size=2),
)
SLOTS = {
    "gravity": lambda z: qdot.assemble(qdot.Mechanism("rig", gravity=z)),
    "at": lambda z: single(at=z),
    "joint": lambda z: single(z),
    "damping": lambda z: single(damping=z),
    "rest": lambda z: single(stiffness=1.0, rest=z),
    "lock": lambda z: edit.lock(PENDULUM, "joint2", z),
    "scale": lambda z: edit.scale(PENDULUM, z),
    "mass": lambda z: edit.with_mass(PENDULUM, "rod1", z),
}


@pytest.mark.parametrize("slot", SLOTS)
@given(value=ANYTHING)
def test_anything_makes_a_sound_model_or_an_error_of_qdot(slot: str, value: object) -> None:
    try:
        model = SLOTS[slot](value)
    except QdotError:
        return
    hash(model)
    zero = np.zeros(model.nv)
    tau = numbers(qdot.inverse_dynamics(model, model.neutral(), zero, zero))
    assert tau.dtype == float
    assert np.isfinite(tau).all()


@pytest.mark.parametrize("argument", VECTOR_ARGUMENTS)
@given(value=ANYTHING)
def test_any_vector_gives_numbers_or_an_error_of_qdot(argument: str, value: object) -> None:
    error = refused(lambda: numbers(VECTOR_ARGUMENTS[argument](value)))
    fits = isinstance(value, list) and len(value) == 2 and all(isinstance(k, float) and abs(k) < 1e9 for k in value)
    assert (error is None) == fits or (error is None and np.isfinite(np.asarray(value, dtype=float)).all())
