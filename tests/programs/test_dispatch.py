"""Public functions with compiling on: the same answers and the same errors as the texts, whatever is passed.

Tolerance: compiled code fuses multiplications and additions, so it differs from the text by rounding: 1e-12 of the
largest entry, and what the condition of M makes of it where M is solved with.
"""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest
import sympy as sp

import qdot
from qdot.errors import SingularError, ValueShapeError
from qdot.joints import Revolute
from qdot.model.library import KINDS, double_pendulum, random_state, random_tree
from qdot.programs import dispatch, functions
from qdot.programs.dispatch import Programs
from qdot.spatial import Force
from tests.model.samples import CALLS, immobile, last_frame, mixed, single

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
            patch.setattr(Programs, "result", lambda *_: None)
            return call(copy.copy(args[0]), *args[1:])  # a model that no quick function knows

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


def test_a_loop_over_models_runs_texts_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MANY", 2)
    function, programs = fresh()
    x = np.array([0.1])
    models = [single(Revolute(axis)) for axis in ("x", "y", "z", (1, 1, 0))]
    for model in models[:2]:
        function(model, x, x, x)
    for model in models[2:]:
        with pytest.warns(UserWarning, match="inverse_dynamics was compiled for 2 models"):
            np.testing.assert_allclose(function(model, x, x, x), qdot.inverse_dynamics(model, x, x, x), rtol=1e-12)
    assert len(built(programs)) == len(programs.quick) == 2


def test_options_have_programs_of_their_own(as_text: Any) -> None:
    """By name, by value and by type; frames that bear wrenches too. Numbers as options are not compiled."""
    model = mixed()
    q, v, a = (np.array(x) for x in random_state(model, 2))
    frames, w = list(model.frames)[-2:], np.ones(6)
    calls = [lambda m, f=f: qdot.jacobian(m, q, f) for f in frames]
    calls += [lambda m, c=c: qdot.jacobian(m, q, frames[0], coordinates=c) for c in qdot.Coordinates]
    calls += [lambda m, f=f: qdot.inverse_dynamics(m, q, v, a, wrenches={f: w}) for f in frames]
    calls += [lambda m: qdot.inverse_dynamics(m, q, v, a, wrenches=dict.fromkeys(frames, w))]
    calls += [lambda m: qdot.inverse_dynamics(m, q, v, a)]
    calls += [lambda m, p=p: qdot.point_jacobian(m, q, frames[0], p) for p in ((0.1, 0.2, 0.3), (0.0, 0.0, 1.0))]
    for _ in range(2):
        for call in calls:
            same(call(model), as_text(call, model), TOLERANCE)


def test_numbers_as_options_build_no_program() -> None:
    function, programs = fresh(qdot.algorithms.jacobian.point_jacobian)
    function(mixed(), random_state(mixed(), 0)[0], last_frame(mixed()), (0.1, 0.0, 0.0))
    assert built(programs) == []


def test_what_cannot_be_traced_runs_its_text() -> None:
    def kinked(model: qdot.Model, q: Any) -> Any:
        return [2.0 * q[0] if q[0] > 0 else q[0]]

    function, programs = fresh(kinked)
    assert function(single(), np.array([0.5]))[0] == 1.0
    assert function(single(), np.array([-0.5]))[0] == -0.5
    assert built(programs) == [None]


def test_functions_of_users_are_not_frozen() -> None:
    """What a user's function depends on may change between calls of its derivative."""
    gain = [2.0]
    slope = qdot.derivative(lambda model, q: [gain[0] * x for x in q], "q")
    assert slope(single(), np.array([0.1]))[0, 0] == 2.0
    gain[0] = 7.0
    assert slope(single(), np.array([0.1]))[0, 0] == 7.0


def test_models_without_freedoms() -> None:
    assert qdot.mass_matrix(immobile(), []).shape == (0, 0)
    assert qdot.mass_matrix(immobile(), np.zeros((3, 0))).shape == (3, 0, 0)


def test_batches_are_contiguous() -> None:
    model = mixed()
    q = np.array([random_state(model, s)[0] for s in range(7)])
    assert qdot.mass_matrix(model, q).flags.c_contiguous
    assert qdot.gravity_forces(model, q).flags.c_contiguous


def test_public_functions_and_programs_pickle() -> None:
    model = single()
    assert pickle.loads(pickle.dumps(qdot.inverse_dynamics)) is qdot.inverse_dynamics
    compiled = qdot.compile(qdot.mass_matrix, model, packed=True, dtype="float32")
    again = pickle.loads(pickle.dumps(compiled))
    assert repr(again) == repr(compiled)
    np.testing.assert_array_equal(again([0.3]), compiled([0.3]))


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


LARGE_RESULTS = ["inverse_dynamics", "inverse_dynamics_derivatives", "link_jacobians"]
"""One small array; a tuple, which Python code makes; an array so large that NumPy lets go of the lock to copy it."""


@pytest.mark.parametrize("name", LARGE_RESULTS)
def test_many_threads_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_tree(1, 12, ["revolute", "prismatic"])
    states = [tuple(np.array(x) for x in random_state(model, s)) for s in range(6)]
    expected = [CALLS[name](model, *s) for s in states]
    wrong = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def run(k: int) -> None:
        for _ in range(400):
            found = CALLS[name](model, *states[k])
            if not all(map(np.array_equal, arrays_in(found), arrays_in(expected[k]))):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_a_call_within_a_call() -> None:
    """A buffer of Python's own making may call the function again before it hands itself out."""
    compiled = qdot.compile(qdot.inverse_dynamics_derivatives, single())
    x, y = np.array([0.3]), np.array([0.7])
    expected = compiled(x, x, x)
    made = []
    gc_was = gc.get_threshold()
    gc.set_threshold(1, 1, 1)  # collections, and with them finalizers, in the midst of everything

    class Finalized:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            made.append(compiled(y, y, y))

    try:
        for _ in range(50):
            Finalized()
            np.testing.assert_array_equal(compiled(x, x, x), expected)
    finally:
        gc.set_threshold(*gc_was)
    assert made


def test_programs_come_and_go() -> None:
    """Those with several results refer to themselves in a circle; all of them are freed, none too early."""
    model, x = single(), np.array([0.1])
    for _ in range(20):
        compiled = qdot.compile(qdot.inverse_dynamics_derivatives, model)
        quick = compiled.quick
        expected = compiled(x, x, x)
        del compiled
        gc.collect()
        np.testing.assert_array_equal(quick(x, x, x), expected)
        del quick
        gc.collect()


def test_finalizers_of_a_circle_may_still_call() -> None:
    """The program, its machine code and an object that calls it at its end are garbage at once: any may go first."""
    model, x, made = single(), np.array([0.1]), []

    def circle() -> None:
        compiled = qdot.compile(qdot.inverse_dynamics_derivatives, model)
        compiled(x, x, x)

        class Last:
            def __del__(self) -> None:
                made.append(compiled(x, x, x))

        last = Last()
        last.me = last  # type: ignore[attr-defined]

    for _ in range(30):
        circle()
        gc.collect()
    assert len(made) == 30
    for found in made:
        np.testing.assert_array_equal(found, made[0])


def test_references_are_given_back() -> None:
    """Of None where a call is refused, and of buffers: one that is still held would keep its owner from growing."""
    quick = qdot.compile(qdot.inverse_dynamics, single()).quick
    x = np.array([0.1])
    before = sys.getrefcount(None)
    for _ in range(1000):
        assert quick(x, x, None) is None
        assert quick(x, x, np.zeros(2)) is None
    assert abs(sys.getrefcount(None) - before) < 500
    owner = bytearray(8)
    view = memoryview(owner).cast("d")
    quick(view, x, x)
    quick(view, x, None)
    view.release()
    owner.extend(b"more")


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


@pytest.mark.parametrize(("off", "fine"), [(3e-7, True), (1e-5, False)])
def test_unit_length_to_the_tolerance_of_the_text(off: float, fine: bool) -> None:
    model = random_tree(3, 2, ["spherical"])
    q, v, a = (np.array(x) for x in random_state(model, 0))
    qdot.inverse_dynamics(model, q, v, a)
    if fine:
        qdot.inverse_dynamics(model, (1 + off) * q, v, a)
    else:
        with pytest.raises(ValueShapeError, match="unit length"):
            qdot.inverse_dynamics(model, (1 + off) * q, v, a)


def test_results_are_checked_too() -> None:
    """Inputs may be sound where a result is not: 1/0 is an error of the text's."""
    function, _ = fresh(lambda model, q: [1.0 / q[0]])
    assert function(single(), np.array([2.0]))[0] == 0.5
    with pytest.raises(ZeroDivisionError):
        function(single(), np.array([0.0]))


def test_one_odd_row_leaves_the_others_as_they_are() -> None:
    model = mixed()
    q, v, a = (np.array(x) for x in zip(*(random_state(model, s) for s in range(9)), strict=True))
    expected = qdot.inverse_dynamics_derivatives(model, q, v, a)
    v[4] *= 1e9
    found = qdot.inverse_dynamics_derivatives(model, q, v, a)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.delete(x, 4, axis=0), np.delete(y, 4, axis=0))
        assert not np.array_equal(x[4], y[4])


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


def test_a_matrix_without_rows_keeps_its_columns() -> None:
    model = double_pendulum()
    for q in ([0.1, 0.2], np.zeros((4, 2)), np.zeros((0, 2))):
        assert qdot.constraint_jacobian(model, q).shape == (*np.shape(q)[:-1], 0, 2)
