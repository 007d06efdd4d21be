"""The principle of least action (H5): stationary paths are motions, to second order in the step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import qdot
from qdot.action import action_gradient, discrete_action, stationary_path
from qdot.errors import QdotError, ValueShapeError
from qdot.model.library import double_pendulum, random_state, random_tree
from qdot.programs import dispatch
from tests.geometric.cases import hinge, on_a_spring, rotor, run
from tests.laws.trees import close


@pytest.fixture(autouse=True)
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers call a function a thousand times: programs, as people run them."""
    monkeypatch.setattr(dispatch, "ENABLED", True)


def motions() -> list[tuple[qdot.Model, np.ndarray, np.ndarray]]:
    ball = random_tree(3, 1, ["spherical"], passive=False)
    q, v, _ = random_state(ball, 3)
    return [
        (double_pendulum(), np.array([0.4, -0.6]), np.array([1.0, 0.5])),
        (ball, q, v),
        (rotor(1.0, 2.0, 2.5), np.array([1.0, 0, 0, 0]), np.array([0.4, 1.5, -0.3])),
    ]


@pytest.mark.parametrize("k", range(3))
def test_stationary_path_is_the_motion_to_second_order(k: int) -> None:
    """Half the step, a quarter of the error; between 3.5 and 4.5, for higher orders have not died out yet."""
    model, q, v = motions()[k]
    time, errors = 0.4, []
    for steps in (10, 20, 40):
        true, _ = run(model, q, v, np.linspace(0, time, steps + 1))
        path = stationary_path(model, true[0], true[-1], time=time, steps=steps)
        errors.append(np.abs(qdot.difference(model, true, path)).max())
    assert errors[2] < 1e-3
    assert all(3.5 < a / b < 4.5 for a, b in pairwise(errors)), errors


def test_action_of_a_known_motion() -> None:
    """x = sin t on a spring with ω = 1 from 0 to T: S = ¼ sin 2T; the midpoint rule is off by order h²."""
    model, time = on_a_spring(1.0), 1.2
    off = []
    for steps in (100, 200):
        path = np.sin(np.linspace(0, time, steps + 1))[:, None]
        off.append(discrete_action(model, path, time=time) - np.sin(2 * time) / 4)
    assert abs(off[1]) < 1e-5
    assert 3.9 < off[0] / off[1] < 4.1


@pytest.mark.parametrize("k", range(3))
def test_gradient_is_the_change_of_the_action(k: int) -> None:
    """Against central differences of order 1e-5: their own error is 1e-10, that of rounding 1e-11, times the size."""
    model, q, _ = motions()[k]
    rng = np.random.default_rng(k)
    path = qdot.retract(model, np.tile(q, (5, 1)), 0.3 * rng.normal(size=(5, model.nv)))
    gradient = action_gradient(model, path, time=0.5)
    for point in range(5):
        for e in np.eye(model.nv):
            moved = np.zeros((5, model.nv))
            moved[point] = 1e-5 * e
            there, back = (discrete_action(model, qdot.retract(model, path, s * moved), time=0.5) for s in (1, -1))
            close(gradient[point] @ e, (there - back) / 2e-5, 1e-6)


def test_gradient_at_the_ends_is_the_momentum() -> None:
    """-p and p, to second order in the step after half a step's forces: here to 2 % with 200 steps."""
    model, q, v = motions()[0]
    times = np.linspace(0, 0.4, 201)
    true, speeds = run(model, q, v, times)
    gradient = action_gradient(model, true, time=0.4)
    close(gradient[0], -qdot.mass_matrix(model, q) @ v, 2e-2)
    close(gradient[-1], qdot.mass_matrix(model, true[-1]) @ speeds[-1], 2e-2)
    inner, ends = np.abs(gradient[1:-1]).max(), np.abs(gradient[0]).max()
    assert inner < 1e-4 * ends


@pytest.mark.parametrize(("half_periods", "least"), [(0.9, True), (1.1, False)])
def test_action_is_least_until_the_first_conjugate_point(half_periods: float, least: bool) -> None:
    """On a spring all motions from one point meet again after half a period; beyond, the action has a saddle (H5)."""
    model, time, steps = on_a_spring(1.0), half_periods * np.pi, 80
    t = np.linspace(0, time, steps + 1)
    path = stationary_path(model, [0.0], [np.sin(time)], time=time, steps=steps)
    close(path[:, 0], np.sin(t), 1e-3)
    S = discrete_action(model, path, time=time)
    slow, fast = (0.2 * np.sin(k * np.pi * t / time)[:, None] for k in (1, 2))
    assert discrete_action(model, path + fast, time=time) > S
    assert (discrete_action(model, path + slow, time=time) > S) == least


def test_what_cannot_be_is_refused() -> None:
    model = hinge()
    with pytest.raises(ValueShapeError, match="positive"):
        discrete_action(model, [[0.0], [1.0]], time=0.0)
    with pytest.raises(ValueShapeError, match="steps"):
        discrete_action(model, [0.0], time=1.0)
    with pytest.raises(ValueShapeError, match="not of unit length"):
        discrete_action(rotor(1.0, 2.0, 2.5), [[1.0, 0, 0, 0], [2.0, 0, 0, 0]], time=1.0)
    with pytest.raises(ValueShapeError, match="batches"):
        stationary_path(model, [[0.0], [0.5]], [1.0], time=1.0)
    with pytest.raises(ValueShapeError, match="2 steps"):
        stationary_path(model, [0.0], [1.0], time=1.0, steps=1)
    assert stationary_path(model, [0.0], [1.0], time=np.float32(0.5), steps=np.int64(4)).shape == (5, 1)
    with pytest.raises(ValueShapeError, match="guess"):
        stationary_path(model, [0.0], [1.0], time=1.0, steps=4, guess=[[0.0], [1.0]])


def test_no_stationary_path_is_said() -> None:
    """At a conjugate point: after half a period a spring brings every motion back to 0, never to 1."""
    model, steps = on_a_spring(1.0), 2
    critical = 4.0  # of this one equation: 2/h - h/2 = 0 at h = 2
    with pytest.raises(QdotError, match="stationary"):
        stationary_path(model, [0.0], [1.0], time=critical, steps=steps)
