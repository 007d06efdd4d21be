"""States: read and changed by joint name, checked, read-only."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import sympy

import qdot
from qdot.errors import QdotError, UnknownNameError, ValueShapeError
from qdot.joints import Free, Prismatic, Revolute, Spherical
from tests.model.samples import INF, NAN, SOLID, THING, empty


def robot() -> qdot.Model:
    world = qdot.Mechanism("robot")
    ball = world.add("ball", Spherical(), SOLID)
    slide = ball.add("slide", Prismatic("x"), SOLID, at=(0, 0, 1))
    slide.add("link", Revolute("y"), SOLID, joint_name="elbow")
    return qdot.assemble(world)


def test_neutral_and_at_rest_unless_told() -> None:
    s = robot().state()
    assert s.q.tolist() == [1, 0, 0, 0, 0, 0]
    assert s.v.tolist() == [0, 0, 0, 0, 0]
    assert list(s) == ["ball", "slide", "elbow"]


def test_one_state_written_in_many_ways() -> None:
    m = robot()
    turn = [0.6, 0.8, 0, 0]
    expected = m.state([*turn, 0.5, 0.3], [1, 2, 3, 4, 5])
    speeds = {"ball": [1, 2, 3], "slide": 4, "elbow": [5]}
    assert m.state({"ball": turn, "slide": 0.5, "elbow": 0.3}, speeds) == expected
    assert m.state(v=speeds, ball=turn, slide=[0.5], elbow=np.float32(0.25)).set(elbow=0.3) == expected
    assert m.state({"slide": 0.5}, speeds, ball=np.array(turn), elbow=0.3) == expected
    assert m.state((*turn, 0.5, 0.3), np.arange(1, 6)) == expected
    assert m.state(np.array([*turn, 0.5, 0]), v=[1, 2, 3, 4, 5], elbow=0.3) == expected
    assert m.state().set({"ball": turn}, speeds, slide=0.5, elbow=0.3) == expected


def test_reading_by_name() -> None:
    s = robot().state([0.6, 0.8, 0, 0, 0.5, 0.3], [1, 2, 3, 4, 5])
    assert s["ball"].q.tolist() == [0.6, 0.8, 0, 0]
    assert s["ball"].v.tolist() == [1, 2, 3]
    assert s["elbow"].q.tolist() == [0.3]
    assert "elbow" in repr(s)
    assert "robot" in repr(s)


def test_setting_makes_a_new_state() -> None:
    s = robot().state()
    t = s.set(elbow=0.3)
    assert s["elbow"].q == 0
    assert t["elbow"].q == 0.3
    assert t.set(v={"slide": 2.0}).v.tolist() == [0, 0, 0, 2, 0]
    assert t == t.set()


def test_a_state_is_read_only_and_its_own() -> None:
    q = np.array([1.0, 0, 0, 0, 0, 0])
    s = robot().state(q)
    q[5] = 9.0
    assert s["elbow"].q == 0
    for array in (s.q, s.v, s["ball"].q, s["ball"].v):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        s.q = q


def test_states_compare_and_hash() -> None:
    m = robot()
    assert m.state(elbow=0.3) == m.state(elbow=0.3)
    assert m.state(elbow=0.3) != m.state(elbow=0.4)
    assert m.state() != m.state(v={"elbow": 1})
    assert m.state() == robot().state()
    assert m.state() != "state"
    assert hash(m.state(elbow=0.3)) == hash(robot().state(elbow=0.3))


def test_zero_and_minus_zero_are_one_state_and_hash_alike() -> None:
    m = robot()
    plus, minus = m.state(elbow=0.0), m.state(elbow=-0.0)
    assert plus == minus
    assert hash(plus) == hash(minus)


@pytest.mark.parametrize(
    "copied", [lambda s: pickle.loads(pickle.dumps(s)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
def test_states_are_copied(copied) -> None:
    s = robot().state(elbow=0.3)
    t = copied(s)
    assert t == s
    with pytest.raises(ValueError, match="read-only"):
        t.q[0] = 0.0


def test_unknown_joint_names_offer_the_nearest() -> None:
    s = robot().state()
    for call in (
        lambda: s["elbo"],
        lambda: s.set(elbo=1),
        lambda: s.set(v={"elbo": 1}),
        lambda: robot().state(elbo=1),
        lambda: robot().state({"elbo": 1}),
        lambda: robot().state(v={"elbo": 1}),
    ):
        with pytest.raises(UnknownNameError, match="no joint named 'elbo'; did you mean: 'elbow'"):
            call()
    with pytest.raises(KeyError):  # as of a dict
        s["link"]  # the body's name, not the joint's


BAD = {
    "too many": [1, 2],
    "none": [],
    "nan": NAN,
    "inf": [INF],
    "text": "0.3",
    "words": ["a"],
    "nothing": None,
    "complex": 1j,
    "ragged": [[1], [1, 2]],
    "nested": [[0.3]],
    "dict": {"x": 1},
    "symbol": sympy.Symbol("x"),
    "object": THING,
}


@pytest.mark.parametrize("value", BAD.values(), ids=BAD.keys())
def test_values_that_no_joint_can_have(value: object) -> None:
    s = robot().state()
    with pytest.raises(QdotError, match="'elbow'"):
        s.set(elbow=value)
    with pytest.raises(QdotError, match="'elbow'"):
        s.set(v={"elbow": value})
    with pytest.raises(QdotError, match="'elbow'"):
        s.model.state(elbow=value)


@pytest.mark.parametrize("turn", [(0, 0, 0, 0), (2, 0, 0, 0), (1, 0, 0, 0.1), (1, 0, 0)])
def test_quaternions_are_checked(turn: tuple[float, ...]) -> None:
    with pytest.raises(ValueShapeError, match="'ball'"):
        robot().state(ball=turn)


def test_position_before_quaternion_is_noticed() -> None:
    world = qdot.Mechanism("drone")
    world.add("frame", Free(), SOLID)
    m = qdot.assemble(world)
    with pytest.raises(ValueShapeError, match=r"\(x, y, z, w\) or put the position first"):
        m.state([0.1, 0.2, 0.3, 1, 0, 0, 0])


@pytest.mark.parametrize(
    "q",
    [
        np.zeros((1, 6)),
        np.zeros((2, 6)),
        np.zeros(7),
        np.zeros((0, 6)),
        sympy.symbols("q:6"),
        0.0,
        "text",
        [[1], [2, 3]],
    ],
)
def test_a_state_is_one_vector_of_numbers(q: object) -> None:
    with pytest.raises(ValueShapeError, match=r"q.*'robot'|'robot'.*q"):
        robot().state(q)
    with pytest.raises(QdotError):
        robot().state(v=q)


def test_a_state_goes_into_the_functions() -> None:
    s = robot().state(elbow=0.3, v={"elbow": 1.0})
    direct = qdot.inverse_dynamics(robot(), [1, 0, 0, 0, 0, 0.3], [0, 0, 0, 0, 1], np.zeros(5))
    np.testing.assert_array_equal(qdot.inverse_dynamics(s.model, s.q, s.v, np.zeros(5)), direct)


def test_the_state_of_an_empty_model() -> None:
    s = empty().state()
    assert s.q.shape == (0,)
    assert list(s) == []
    assert s == empty().state([], [])
    with pytest.raises(ValueShapeError):
        empty().state(np.zeros((3, 0)))


def test_a_joint_called_q_is_set_by_a_dict() -> None:
    """Keywords q and v are the vectors; a joint of such a name is still reachable."""
    world = qdot.Mechanism("unlucky")
    world.add("q", Revolute("y"), SOLID)
    s = qdot.assemble(world).state({"q": 0.3}, {"q": 2.0})
    assert (s["q"].q, s["q"].v) == (0.3, 2.0)
