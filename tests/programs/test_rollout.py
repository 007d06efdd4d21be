"""Rollouts of compiled functions: closed forms, machine code against the interpreter, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import qdot
from qdot.algebra import cos
from qdot.algorithms.aba import forward_dynamics
from qdot.algorithms.configuration import retract
from qdot.errors import CompileError, ValueShapeError
from qdot.model import library
from qdot.model.model import Model
from qdot.programs.compiled import Compiled

DT = 0.01


def euler(model: Model, q: Any, v: Any, tau: Any) -> dict[str, list[Any]]:
    """Semi-implicit Euler, and what is seen on the way."""
    a = forward_dynamics(model, q, v, tau)
    after = [x + DT * y for x, y in zip(v, a, strict=True)]
    return {"q": retract(model, q, [DT * x for x in after]), "v": after, "seen": [cos(q[0]), a[0]]}


def falling(model: Model, q: Any, v: Any) -> dict[str, list[Any]]:
    """A body under a constant acceleration of −2 along its first coordinate, exactly."""
    return {"q": [q[0] + DT * v[0] - DT * DT, *q[1:]], "v": [v[0] - 2 * DT, *v[1:]]}


@pytest.fixture(scope="module")
def arm() -> Model:
    return library.seven_joint_arm()


@pytest.fixture(scope="module")
def step(arm: Model) -> Compiled:
    return qdot.compile(euler, arm)


def started(compiled: Compiled, steps: int, batch: int | None) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    records = compiled.records(steps, batch)
    for name in ("q", "v"):
        records[name][0] = rng.normal(size=records[name].shape[1:])
    return records


@pytest.mark.parametrize("batch", [None, 1, 8, 21])
def test_the_closed_form(batch: int | None) -> None:
    compiled = qdot.compile(falling, library.pendulum())
    records = started(compiled, 200, batch)
    compiled.rollout(200, records)
    t = DT * np.arange(201).reshape(201, *(1 for _ in records["q"].shape[1:]))
    q, v = (records[name][0].copy() for name in ("q", "v"))
    # 200 sums of numbers of the order 10: rounding stays far below 1e-12
    np.testing.assert_allclose(records["q"], q + v * t - t * t, atol=1e-12)
    np.testing.assert_allclose(records["v"], v - 2 * t, atol=1e-12)


@pytest.mark.parametrize("batch", [None, 1, 8, 21])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_against_the_interpreter(arm: Model, dtype: str, batch: int | None) -> None:
    """The two round differently (fused products); over ten steps of an arm that grows a hundredfold at most."""
    rng = np.random.default_rng(1)
    results = []
    tau = rng.normal(size=(10, *(() if batch is None else (batch,)), 7))
    for target in ("llvm", "interpreter"):
        compiled = qdot.compile(euler, arm, dtype=dtype, target=target)
        records = started(compiled, 10, batch)
        compiled.rollout(10, records, driven={"tau": tau})
        results.append(records)
    fast, plain = results
    scale = 1e3 * float(np.finfo(dtype).eps)
    for name, x in plain.items():
        np.testing.assert_allclose(fast[name], x, rtol=scale, atol=scale * abs(x).max(), err_msg=name)
        assert np.isfinite(x).all()


@pytest.mark.parametrize("batch", [None, 1, 12])
def test_the_same_as_calls_in_a_row(step: Compiled, batch: int | None) -> None:
    records = started(step, 20, batch)
    tau = np.linspace(-1, 1, 7)
    step.rollout(20, records, {"tau": tau})
    state = {name: records[name][0].copy() for name in ("q", "v")}
    for k in range(20):
        state = step(state["q"], state["v"], tau)
        for name, x in state.items():
            np.testing.assert_array_equal(records[name][k + (name != "seen")], x)


@pytest.mark.parametrize("target", ["llvm", "interpreter"])
@pytest.mark.parametrize("batch", [None, 3])
def test_a_state_that_is_not_kept(arm: Model, target: str, batch: int | None) -> None:
    compiled = qdot.compile(euler, arm, target=target)
    whole, brief = started(compiled, 5, batch), started(compiled, 5, batch)
    brief["v"] = brief["v"][:1]
    for records in (whole, brief):
        compiled.rollout(5, records, {"tau": np.linspace(-1, 1, 7)})
    np.testing.assert_array_equal(brief["v"][0], whole["v"][-1])
    np.testing.assert_array_equal(brief["q"], whole["q"])


def test_outputs_that_are_not_asked_for(step: Compiled) -> None:
    records = started(step, 5, 3)
    fewer = {name: records[name].copy() for name in ("q", "v")}
    step.rollout(5, records, {"tau": np.zeros(7)})
    step.rollout(5, fewer, {"tau": np.zeros(7)})
    for name, x in fewer.items():
        np.testing.assert_array_equal(x, records[name])


def test_model_constants_are_held_too(arm: Model) -> None:
    """A mass for each run: one run of the batch is the run of that mass alone."""
    body = arm.bodies[-1].name
    compiled = qdot.compile(euler, arm, parameters=[f"{body}.mass"])
    records = started(compiled, 5, 9)
    masses = np.linspace(1, 2, 9).reshape(9, *compiled.inputs[f"{body}.mass"])
    compiled.rollout(5, records, {"tau": np.zeros(7), f"{body}.mass": masses})
    alone = compiled.records(5)
    for name in ("q", "v"):
        alone[name][0] = records[name][0, 4]
    compiled.rollout(5, alone, {"tau": np.zeros(7), f"{body}.mass": masses[4]})
    for name, x in alone.items():
        np.testing.assert_array_equal(x, records[name][:, 4])
    assert not np.array_equal(records["q"][5, 3], records["q"][5, 4])


@pytest.mark.parametrize("batch", [None, 0, 1, 7, 8, 300])
def test_new_records(step: Compiled, batch: int | None) -> None:
    runs = () if batch is None else (batch,)
    shapes = {name: x.shape for name, x in step.records(6, batch).items()}
    assert shapes == {"q": (7, *runs, 7), "v": (7, *runs, 7), "seen": (6, *runs, 2)}


@pytest.mark.parametrize(("steps", "batch", "what"), [(-1, None, "steps"), (2, -3, "batch"), (2, 1.5, "batch")])
def test_records_that_cannot_be(step: Compiled, steps: Any, batch: Any, what: str) -> None:
    with pytest.raises(ValueShapeError, match=f"{what} must be a whole number, 0 or more"):
        step.records(steps, batch)


# -- what is refused ---------------------------------------------------------------------------------------------------

Call = dict[str, Any]


def changed(**changes: Callable[[Call], Any]) -> Callable[[Call], None]:
    def change(call: Call) -> None:
        for name, make in changes.items():
            call[name] = make(call)

    return change


def record(name: str, make: Callable[[np.ndarray], Any]) -> Callable[[Call], None]:
    return changed(records=lambda call: {**call["records"], name: make(call["records"][name])})


def read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


def sliding(x: np.ndarray) -> np.ndarray:
    """Rows of runs that overlap."""
    return np.lib.stride_tricks.as_strided(np.zeros(1000), x.shape, (80, 8, 8))


def without(name: str) -> Callable[[Call], None]:
    return changed(records=lambda call: {n: x for n, x in call["records"].items() if n != name})


REFUSED: dict[str, tuple[Callable[[Call], None], str]] = {
    "steps below zero": (changed(steps=lambda _: -1), "steps must be a whole number, 0 or more; got -1"),
    "steps of half": (changed(steps=lambda _: 1.5), "steps must be a whole number"),
    "threads": (changed(threads=lambda _: 0), "threads is how many"),
    "no record of a state": (without("v"), "'v' is a state, going in and coming out; give a record of it"),
    "a record of nothing": (changed(records=lambda c: {**c["records"], "x": 1}), "record 'x' has no place; .*'seen'"),
    "an input missing": (changed(held=lambda _: {}), "'tau' is missing; give it as held or as driven"),
    "an input twice": (changed(driven=lambda c: c["held"]), "'tau' is both held and driven"),
    "a state held": (changed(held=lambda c: {**c["held"], "q": np.zeros(7)}), r"held 'q' has no place; .*\['tau'\]"),
    "a state driven": (changed(driven=lambda _: {"v": np.zeros((4, 7))}), "driven 'v' has no place"),
    "too few axes": (record("q", lambda x: x[0, 0]), r"record 'q' has shape \(7,\), needs \(rows, 7\) or \(rows, b"),
    "no row for the start": (
        record("v", lambda x: x[1:]),
        r"record 'v' must be .* \(5, 3, 7\), got float64 \(4, 3, 7\)",
    ),
    "a row too many": (record("seen", lambda x: np.zeros((5, 3, 2))), r"'seen' must be .* \(4, 3, 2\)"),
    "batches that differ": (record("v", lambda x: np.zeros((5, 2, 7))), r"record 'v' must be .* \(5, 3, 7\)"),
    "a list": (record("v", lambda x: x.tolist()), "record 'v' must be an array of float64"),
    "another type": (record("v", lambda x: x.astype("float32")), "must be an array of float64 .* got float32"),
    "read-only": (record("v", read_only), "record 'v' is read-only"),
    "runs that overlap": (record("q", sliding), "record 'q' has entries that share memory"),
    "the same memory": (
        changed(records=lambda c: {**c["records"], "v": c["records"]["q"]}),
        "record 'v' shares memory with another array",
    ),
    "memory of an input": (
        changed(held=lambda c: {"tau": c["records"]["q"][2]}),
        "record 'q' shares memory with another array",
    ),
    "held of another length": (
        changed(held=lambda _: {"tau": np.zeros(6)}),
        r"'tau' has shape \(6,\), needs \(7,\) or",
    ),
    "driven too short": (
        changed(held=lambda _: {}, driven=lambda _: {"tau": np.zeros((3, 7))}),
        r"driven 'tau' has shape \(3, 7\), needs \(4, 7\) or \(4, 3, 7\)",
    ),
    "held that is no number": (changed(held=lambda _: {"tau": ["a"] * 7}), "must be an array of real numbers"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refused(step: Compiled, why: str) -> None:
    change, message = REFUSED[why]
    call: Call = {"steps": 4, "records": started(step, 4, 3), "held": {"tau": np.zeros(7)}}
    step.rollout(**call)
    change(call)
    with pytest.raises(ValueShapeError, match=message):
        step.rollout(**call)


def test_an_output_that_is_no_state(arm: Model) -> None:
    def swollen(model: Model, q: Any) -> dict[str, list[Any]]:
        return {"q": [*q, 1.0]}

    with pytest.raises(ValueShapeError, match=r"goes in with shape .* give the output another name"):
        qdot.compile(swollen, arm).rollout(1, {"q": np.zeros((2, 7))})


def test_without_records() -> None:
    def shown(model: Model, q: Any) -> dict[str, list[Any]]:
        return {"seen": [q[0]]}

    compiled = qdot.compile(shown, library.pendulum())
    with pytest.raises(ValueShapeError, match=r"without records nothing comes out; give one of \['seen'\]"):
        compiled.rollout(3, {}, {"q": np.zeros(1)})
    seen = compiled.records(3)
    compiled.rollout(3, seen, driven={"q": np.array([[1.0], [2.0], [4.0]])})
    np.testing.assert_array_equal(seen["seen"], [[1.0], [2.0], [4.0]])


def test_a_program_in_c_is_not_run(arm: Model) -> None:
    compiled = qdot.compile(euler, arm, target="c")
    with pytest.raises(CompileError, match="written to a file"):
        compiled.rollout(1, started(compiled, 1, None), {"tau": np.zeros(7)})
