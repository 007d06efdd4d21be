"""Public functions with compiling on: the same answers and the same errors as the texts, whatever is passed.

Tolerance: compiled code fuses multiplications and additions, so it differs from the text by rounding: 1e-12 of the
largest entry, and what the condition of M makes of it where M is solved with.
"""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
import sympy as sp

import qdot
from qdot.errors import SingularError, ValueShapeError
from qdot.joints import Revolute
from qdot.model.library import KINDS, random_state, random_tree
from qdot.programs import dispatch, functions
from qdot.programs.dispatch import Programs
from qdot.spatial import Force
from tests.model.samples import CALLS, last_frame, mixed, single

TOLERANCE = 1e-12
SOLVED = 1e-9


@pytest.fixture(autouse=True)
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "ENABLED", True)


@pytest.fixture
def as_text(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a call without compiled programs."""

    def run(call: Any, *args: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(dispatch, "ENABLED", False)
            return call(*args)

    return run


def arrays_in(value: Any) -> list[np.ndarray]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [a for x in value for a in arrays_in(x)]
    return [np.asarray(value, dtype=float)] if isinstance(value, (float, int, np.ndarray)) else []


def same(actual: Any, expected: Any, tolerance: float) -> None:
    assert type(actual) is type(expected)
    for x, y in zip(arrays_in(actual), arrays_in(expected), strict=True):
        assert x.shape == y.shape
        assert np.max(np.abs(x - y), initial=0.0) <= tolerance * (1 + np.max(np.abs(y), initial=0.0))


def tolerance_of(name: str) -> float:
    return SOLVED if name in ("forward_dynamics", "forward_dynamics_derivatives", "inverse_mass_matrix") else TOLERANCE


@pytest.mark.parametrize("name", CALLS)
def test_every_function_as_its_text(name: str, as_text: Any) -> None:
    """One row, a batch, a single vector among batches, lists, other types; twice, for the second may be quick."""
    model = mixed()
    rows = [random_state(model, seed) for seed in range(5)]
    q, v, a = (np.array(x) for x in zip(*rows, strict=True))
    ways = [(q[0], v[0], a[0]), (q, v, a), (q, v[0], a), (q[1], v, a[1]), (list(q[2]), tuple(v[2]), a[2].tolist())]
    ways += [(np.asfortranarray(q), v[:, ::-1][:, ::-1], np.repeat(a, 2, axis=0)[::2]), (q[:0], v[:0], a[:0])]
    for way in ways:
        expected = as_text(CALLS[name], model, *way)
        for _ in range(2):
            same(CALLS[name](model, *way), expected, tolerance_of(name))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "energy", "jacobian"])
def test_random_trees(name: str, seed: int, as_text: Any) -> None:
    model = random_tree(seed, 6, KINDS)
    q, v, a = (np.array(x) for x in random_state(model, seed))
    same(CALLS[name](model, q, v, a), as_text(CALLS[name], model, q, v, a), tolerance_of(name))


def test_wrenches(as_text: Any) -> None:
    model = mixed()
    q, v, a = (np.array(x) for x in random_state(model, 1))
    frame, force = last_frame(model), np.arange(1.0, 7.0)
    for wrench in (force, force.tolist(), Force.of(force), np.tile(force, (4, 1))):
        call = lambda m, w: qdot.inverse_dynamics(m, q, v, a, wrenches={frame: w})  # noqa: E731
        same(call(model, wrench), as_text(call, model, wrench), TOLERANCE)


def test_derivatives_of_any_function(as_text: Any) -> None:
    model = single()
    by_q = qdot.derivative(qdot.inverse_dynamics, "q")
    same(by_q(model, [0.3], [0.2], [0.1]), as_text(by_q, model, [0.3], [0.2], [0.1]), TOLERANCE)


# -- which way a call goes ---------------------------------------------------------------------------------------------


def fresh(text: Any = None, **options: Any) -> tuple[Any, Programs]:
    """A public function of its own, and its programs."""
    made = functions.function(text or qdot.algorithms.rnea.inverse_dynamics, **options)
    inside = dict(zip(made.__code__.co_freevars, (c.cell_contents for c in made.__closure__), strict=True))
    return made, inside["programs"]


def built(programs: Programs) -> list[Any]:
    return list(programs._built.values())


def test_built_once_and_quick_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    function, programs = fresh()
    model = mixed()
    q, v, a = (np.array(x) for x in random_state(model, 0))
    first = function(model, q, v, a)
    program = built(programs)[0]
    monkeypatch.setattr(Programs, "result", lambda *_: pytest.fail("the quick way was not taken"))
    for _ in range(3):
        np.testing.assert_array_equal(function(model, q, v, a), first)
    assert built(programs) == [program]


def test_same_bits_for_one_row_and_many() -> None:
    model = mixed()
    q, v, a = (np.array(x) for x in zip(*(random_state(model, s) for s in range(20)), strict=True))
    together = qdot.inverse_dynamics(model, q, v, a)
    for k in range(20):
        np.testing.assert_array_equal(qdot.inverse_dynamics(model, q[k], v[k], a[k]), together[k])
        np.testing.assert_array_equal(qdot.inverse_dynamics(model, list(q[k]), v[k], a[k]), together[k])


def test_results_are_the_callers_own() -> None:
    model = mixed()
    q, v, a = (np.array(x) for x in random_state(model, 0))
    first = qdot.inverse_dynamics(model, q, v, a)
    kept = first.copy()
    second = qdot.inverse_dynamics(model, q, 2 * v, a)
    np.testing.assert_array_equal(first, kept)
    assert not np.array_equal(first, second)
    first[:] = 0.0
    np.testing.assert_array_equal(qdot.inverse_dynamics(model, q, v, a), kept)


def test_large_models_run_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "LARGE", 100)
    function, programs = fresh()
    model = mixed()
    q, v, a = random_state(model, 0)
    np.testing.assert_allclose(function(model, q, v, a), qdot.inverse_dynamics(model, q, v, a), rtol=1e-9)
    assert built(programs) == [None]


def test_symbols_run_the_text() -> None:
    function, programs = fresh()
    q = sp.Symbol("q")
    assert function(single(), [q], [0], [0])[0].has(q)
    world = qdot.Mechanism("rig")
    world.add("link", Revolute("y"), qdot.spatial.Inertia.about_com(sp.Symbol("m"), (0.1, 0, 0), (1, 1, 1)))
    assert function(qdot.assemble(world), [0.1], [0.2], [0.3])[0].has(sp.Symbol("m"))
    assert not any(built(programs))


def test_the_oldest_programs_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "KEPT", 2)
    function, programs = fresh()
    for axis in "xyzx":
        model = single(Revolute(axis))
        function(model, np.array([0.1]), np.array([0.2]), np.array([0.3]))
    assert len(built(programs)) == len(programs.quick) == 2
    assert id(model) in programs.quick


def test_equal_models_share_a_program() -> None:
    function, programs = fresh()
    x = np.array([0.1])
    results = [function(model, x, x, x) for model in (single(), single())]
    np.testing.assert_array_equal(*results)
    assert len(built(programs)) == 1
    assert len(programs.quick) == 2


def test_quick_calls_outlive_what_made_them() -> None:
    compiled = qdot.compile(qdot.inverse_dynamics, single())
    quick, x = compiled.quick, np.array([0.1])
    expected = compiled(x, x, x)
    del compiled
    gc.collect()
    np.testing.assert_array_equal(quick(x, x, x), expected)


def test_many_threads_at_once() -> None:
    model = mixed()
    states = [tuple(np.array(x) for x in random_state(model, s)) for s in range(8)]
    expected = [qdot.inverse_dynamics(model, *s) for s in states]
    wrong = []

    def run(k: int) -> None:
        for _ in range(300):
            if not np.array_equal(qdot.inverse_dynamics(model, *states[k]), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# -- what is wrong is still found --------------------------------------------------------------------------------------


@pytest.mark.parametrize("twice", [False, True], ids=["first", "after a sound call"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, v, a: (q, v * np.nan, a), "finite"),
        (lambda q, v, a: (q, v, a + np.inf), "finite"),
        (lambda q, v, a: (2 * q, v, a), "unit length"),
        (lambda q, v, a: (q[:-1], v, a), "needs"),
        (lambda q, v, a: (q, v[None, :, None], a), "needs"),
        (lambda q, v, a: (q, v, ["a"] * len(a)), "numbers or symbols"),
        (lambda q, v, a: (np.stack([q, 3 * q]), v, a), "row 1"),
        (lambda q, v, a: (np.stack([q, q]), np.stack([v, v, v]), a), "2 rows"),
    ],
)
def test_bad_vectors(change: Any, message: str, twice: bool) -> None:
    model = random_tree(3, 4, ["free", "spherical", "revolute"])
    q, v, a = (np.array(x) for x in random_state(model, 0))
    if twice:
        qdot.inverse_dynamics(model, q, v, a)
    with pytest.raises(ValueShapeError, match=message):
        qdot.inverse_dynamics(model, *change(q, v, a))


def test_an_entry_that_plays_no_part_is_looked_at_too() -> None:
    """Gravity does nothing about a vertical axis, so q falls out of the program: NaN in it is an error all the same."""
    model = single(Revolute("z"))
    with pytest.raises(ValueShapeError, match="finite"):
        qdot.gravity_forces(model, np.array([np.nan]))


def test_numbers_beyond_reason_still_have_an_answer(as_text: Any) -> None:
    model = single()
    big = np.array([1e13])
    same(
        qdot.inverse_dynamics(model, [0.1], [0.1], big), as_text(qdot.inverse_dynamics, model, [0.1], [0.1], big), 1e-12
    )


def test_a_singular_mass_matrix_is_named() -> None:
    world = qdot.Mechanism("loose")
    world.add("ghost", Revolute("y"))
    model = qdot.assemble(world)
    for _ in range(2):
        with pytest.raises(SingularError, match="'ghost'"):
            qdot.forward_dynamics(model, np.array([0.0]), np.array([0.0]), np.array([1.0]))


def test_wrong_calls_raise_as_python_does() -> None:
    with pytest.raises(TypeError):
        qdot.inverse_dynamics(single(), [0.1])
    with pytest.raises(TypeError):
        qdot.inverse_dynamics()


def test_unknown_frames_are_named() -> None:
    with pytest.raises(qdot.errors.UnknownNameError, match="nowhere"):
        qdot.inverse_dynamics(single(), [0.1], [0.1], [0.1], wrenches={"nowhere": np.zeros(6)})
    with pytest.raises(qdot.errors.UnknownNameError, match="nowhere"):
        qdot.jacobian(single(), [0.1], "nowhere")
