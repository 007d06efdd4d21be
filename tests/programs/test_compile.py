"""`qdot.compile`: what is compiled equals what is not; parameters, wrenches, outputs, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qdot
from qdot.algebra import as_array, sin
from qdot.errors import CompileError, QdotError, UnknownNameError, ValueShapeError
from qdot.model import edit
from qdot.model.library import KINDS, random_state, random_tree, seven_joint_arm
from qdot.programs import expressions
from qdot.spatial import Inertia
from tests.laws.trees import close

FUNCTIONS = {
    "inverse_dynamics": lambda m, f, q, v, a: f(q, v, a),
    "forward_dynamics": lambda m, f, q, v, a: f(q, v, a),
    "mass_matrix": lambda m, f, q, v, a: f(q),
    "coriolis_matrix": lambda m, f, q, v, a: f(q, v),
    "bias_forces": lambda m, f, q, v, a: f(q, v),
    "regressor": lambda m, f, q, v, a: f(q, v, a),
    "energy": lambda m, f, q, v, a: f(q, v),
    "centroidal_momentum_matrix": lambda m, f, q, v, a: f(q),
    "retract": lambda m, f, q, v, a: f(q, v),
}
EXACT = 1e-11
"""The same operations, fused multiply-adds and another sine aside: rounding only, of some thousand operations."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QDOT_CACHE", str(tmp_path / "cache"))


def batch_of(model: qdot.Model, rows: int) -> list[np.ndarray]:
    return [np.array(x) for x in zip(*(random_state(model, k) for k in range(rows)), strict=True)]


@pytest.mark.parametrize("target", ["llvm", "interpreter"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_functions_equal_the_texts(name: str, target: str) -> None:
    """On a tree with every joint kind, one row and a batch that does not fill its last vector."""
    model = random_tree(5, 11, [*KINDS])
    function = getattr(qdot, name)
    compiled = qdot.compile(function, model, target=target)
    Q, V, A = batch_of(model, 11)
    together = FUNCTIONS[name](model, compiled, Q, V, A)
    for k in (0, 10):
        alone = FUNCTIONS[name](model, compiled, Q[k], V[k], A[k])
        expected = FUNCTIONS[name](model, lambda *x: function(model, *x), Q[k], V[k], A[k])
        close(alone, expected, EXACT)
        np.testing.assert_array_equal(together[k], alone)  # a row does not know its neighbours


def test_single_precision() -> None:
    model = seven_joint_arm()
    q, v, a = random_state(model, 0)
    tau = qdot.compile(qdot.inverse_dynamics, model, dtype="float32")(q, v, a)
    assert tau.dtype == np.float32
    close(tau, qdot.inverse_dynamics(model, q, v, a), 3e-6)  # some ten roundings of 6e-8 add up


def test_functions_with_options_and_spatial_results() -> None:
    model = seven_joint_arm()
    q, v, _ = random_state(model, 1)
    J = qdot.compile(qdot.jacobian, model, frame="flange", coordinates=qdot.Coordinates.BODY)
    close(J(q), qdot.jacobian(model, q, "flange", coordinates=qdot.Coordinates.BODY), EXACT)
    X = qdot.compile(qdot.frame_pose, model, frame="flange")
    close(X(q), as_array(qdot.frame_pose(model, q, "flange")), EXACT)
    wrenches = qdot.compile(qdot.joint_wrenches, model)(q, v, np.zeros(7))
    close(wrenches["joint3"], list(qdot.joint_wrenches(model, q, v, np.zeros(7))["joint3"]), EXACT)


def test_functions_of_users() -> None:
    """Anything written over scalars: here a controller and two quantities at once."""

    def controlled(model, q, v):
        tau = [-40.0 * sin(x) - 4.0 * y for x, y in zip(q, v, strict=True)]
        return {"a": qdot.algorithms.aba.forward_dynamics(model, q, v, tau), "E": qdot.energy(model, q, v)}

    model = seven_joint_arm()
    q, v, _ = random_state(model, 2)
    result = qdot.compile(controlled, model)(q=q, v=v)
    close(result["a"], qdot.forward_dynamics(model, q, v, -40 * np.sin(q) - 4 * v), EXACT)
    close(result["E"], qdot.energy(model, q, v), EXACT)
    assert isinstance(result["E"], float)


def test_parameters_equal_rebuilt_models() -> None:
    model = random_tree(3, 4, ["revolute", "spherical"], passive=True)
    paths = [
        "body1.mass",
        "body2.com",
        "body0.parameters",
        "body3.position",
        "joint0.damping",
        "joint2.armature",
        "gravity",
    ]
    compiled = qdot.compile(qdot.forward_dynamics, model, parameters=paths)
    rng = np.random.default_rng(0)
    Q, V, T = batch_of(model, 5)
    values = {p: rng.uniform(0.5, 1.5, (5, *compiled.inputs[p])) for p in paths}
    values["body0.parameters"] = np.array([model.body("body0").inertia.parameters()] * 5) * rng.uniform(1, 2, (5, 1))
    rows = compiled(q=Q, v=V, tau=T, **values)
    for k in range(5):
        row = {p: x[k].tolist() for p, x in values.items()}
        changed = qdot.programs.parameters.with_parameters(model, row)
        close(rows[k], qdot.forward_dynamics(changed, Q[k], V[k], T[k]), EXACT)
    heavier = edit.with_mass(model, "body1", 2.5)
    only_mass = qdot.compile(qdot.forward_dynamics, model, parameters=["body1.mass"])
    close(only_mass(Q[0], V[0], T[0], 2.5), qdot.forward_dynamics(heavier, Q[0], V[0], T[0]), EXACT)


def test_wrenches_are_inputs() -> None:
    model = seven_joint_arm()
    q, v, a = random_state(model, 4)
    w = np.arange(6.0)
    compiled = qdot.compile(qdot.inverse_dynamics, model, wrenches=["flange", "link3"])
    tau = compiled(q, v, a, **{"wrench.flange": w, "wrench.link3": -w})
    close(tau, qdot.inverse_dynamics(model, q, v, a, wrenches={"flange": w, "link3": -w}), EXACT)


def test_any_strides_single_rows_and_outputs() -> None:
    model = seven_joint_arm()
    Q, V, A = batch_of(model, 37)
    f = qdot.compile(qdot.inverse_dynamics, model)
    expected = f(Q, V, A)
    np.testing.assert_array_equal(f(np.asfortranarray(Q), V[::-1][::-1], np.repeat(A, 2, axis=1)[:, ::2]), expected)
    np.testing.assert_array_equal(f(Q, V[0], A[0])[5], f(Q[5], V[0], A[0]))
    np.testing.assert_array_equal(f(Q.tolist(), V, A), expected)
    for out in (np.empty((37, 7)), np.empty((7, 37)).T, np.empty((74, 14))[::2, ::2]):
        assert f(Q, V, A, out=out) is out
        np.testing.assert_array_equal(out, expected)
    assert f(Q[:0], V[:0], A[:0]).shape == (0, 7)
    M = qdot.compile(qdot.mass_matrix, model)
    out = np.empty((7, 37, 7)).transpose(1, 0, 2)  # rows and columns of M that lie apart
    np.testing.assert_array_equal(M(Q, out=out), M(Q))


def test_results_do_not_depend_on_threads() -> None:
    model = seven_joint_arm()
    Q, V, A = (np.tile(x, (200, 1)) for x in batch_of(model, 37))
    f = qdot.compile(qdot.forward_dynamics, model)
    np.testing.assert_array_equal(f(Q, V, A, threads=4), f(Q, V, A, threads=1))


def test_what_is_refused() -> None:
    model = seven_joint_arm()
    f = qdot.compile(qdot.inverse_dynamics, model)
    z = np.zeros(7)
    for call, words in (
        (lambda: f(z, z), "'a' is missing"),
        (lambda: f(z, z, z, z), "no place for 4 positional"),
        (lambda: f(z, z, z, q=z), "given twice"),
        (lambda: f(z, z, z, tau=z), "no place for 'tau'"),
        (lambda: f(z, z, np.zeros(6)), r"a has shape \(6,\)"),
        (lambda: f(z, z, np.zeros((2, 2, 7))), "a has shape"),
        (lambda: f(z, z, ["x"] * 7), "a must be an array of real numbers"),
        (lambda: f(z, z, z * 1j), "a must be an array of real numbers"),
        (lambda: f(np.zeros((2, 7)), np.zeros((3, 7)), z), "q has 2 rows, v has 3 rows"),
        (lambda: f(z, z, z, out=np.empty(6)), "must be an array of float64"),
        (lambda: f(z, z, z, out=np.empty(7, np.float32)), "must be an array of float64"),
        (lambda: f(z, z, z, out={"tau": np.empty(7)}), "is no output"),
    ):
        with pytest.raises(ValueShapeError, match=words):
            call()
    frozen = np.empty(7)
    frozen.flags.writeable = False
    with pytest.raises(ValueShapeError, match="read-only"):
        f(z, z, z, out=frozen)
    both = np.zeros((10, 7))
    with pytest.raises(ValueShapeError, match="shares memory"):
        f(both, both, both, out=both)


def test_what_cannot_be_compiled() -> None:
    model = seven_joint_arm()
    with pytest.raises(CompileError, match="target 'fpga' is unknown; choose from llvm"):
        qdot.compile(qdot.mass_matrix, model, target="fpga")
    with pytest.raises(CompileError, match="float16"):
        qdot.compile(qdot.mass_matrix, model, dtype="float16")
    with pytest.raises(CompileError, match=r"truth of a traced expression.*where"):
        qdot.compile(lambda model, q: q[0] if q[0] > 0 else -q[0], model)
    with pytest.raises(CompileError, match=r"no value yet.*qdot.algebra"):
        qdot.compile(lambda model, q: np.sin(float(q[0])), model)
    with pytest.raises(UnknownNameError, match=r"no constant named 'link7.colour'"):
        qdot.compile(qdot.mass_matrix, model, parameters=["link7.colour"])
    with pytest.raises(QdotError, match="'link77'"):
        qdot.compile(qdot.mass_matrix, model, parameters=["link77.mass"])
    with pytest.raises(QdotError, match=r"qdot\.assemble"):
        qdot.compile(qdot.mass_matrix, qdot.Mechanism("m"))


def test_the_second_start_takes_the_code_from_the_cache(tmp_path) -> None:
    model = random_tree(2, 3, ["revolute"])
    qdot.compile(qdot.mass_matrix, model)
    entries = {p: p.stat().st_mtime_ns for p in (tmp_path / "cache").iterdir()}
    assert len(entries) == 1
    again = qdot.compile(qdot.mass_matrix, model)
    assert set((tmp_path / "cache").iterdir()) == set(entries)
    q, _, _ = random_state(model, 0)
    close(again(q), qdot.mass_matrix(model, q), EXACT)


def test_structure_folds_away() -> None:
    """A body without mass and a joint along z cost nothing: the program is that of the rest."""
    plain, padded = qdot.Mechanism("plain"), qdot.Mechanism("padded")
    from qdot.joints import Fixed, Revolute

    I = Inertia.about_com(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.15))
    plain.add("a", Revolute("z"), I)
    padded.add("base", Fixed()).add("a", Revolute("z"), I)
    counts = [qdot.compile(qdot.inverse_dynamics, qdot.assemble(w)).operations for w in (plain, padded)]
    assert counts[0] == counts[1] < 40


@pytest.mark.parametrize("target", ["llvm", "interpreter"])
def test_rows_as_one_loop(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is long becomes a loop instead of being written out; here the solutions for all columns of ∂FD are."""
    model = random_tree(4, 8, ["revolute", "prismatic", "spherical"], branching=0.6)
    q, v, tau = batch_of(model, 11)
    monkeypatch.setenv("QDOT_CACHE", "off")
    written_out = qdot.compile(qdot.forward_dynamics_derivatives, model, target=target)
    long = len(written_out.program.body.code)
    monkeypatch.setattr(expressions, "WRITTEN_OUT", 0)
    loops = qdot.compile(qdot.forward_dynamics_derivatives, model, target=target)
    assert len(loops.program.body.code) < 0.8 * long
    for x, y in zip(loops(q, v, tau), written_out(q, v, tau), strict=True):
        close(x, y, EXACT)


# -- how results lie ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["llvm", "interpreter"])
@pytest.mark.parametrize("function", [qdot.mass_matrix, qdot.inverse_dynamics_derivatives, qdot.inverse_dynamics])
def test_packed_results(function: Any, target: str) -> None:
    """Each different entry once; unpacked they are the full ones to the last bit, for a row and for a batch."""
    model = random_tree(5, 7, ["revolute", "spherical", "prismatic"], branching=0.7)
    full = qdot.compile(function, model, target=target)
    packed = qdot.compile(function, model, target=target, packed=True)
    states = [np.array(x) for x in zip(*(random_state(model, s) for s in range(9)), strict=True)][: len(full.inputs)]
    for args in (states, [x[0] for x in states]):
        expected, actual = full(*args), packed.unpacked(packed(*args))
        assert type(actual) is type(expected)
        for x, y in zip(np.atleast_1d(actual), np.atleast_1d(expected), strict=True):
            np.testing.assert_array_equal(x, y)
    assert full.unpacked(expected) is expected


def test_a_packed_mass_matrix_has_no_mirror_image_and_no_zeros() -> None:
    model = random_tree(5, 7, ["revolute"], branching=0.9)
    packed = qdot.compile(qdot.mass_matrix, model, packed=True)
    M = qdot.mass_matrix(model, random_state(model, 0)[0])
    different = len(np.unique(np.abs(M[np.tril_indices(model.nv)])))  # the zero that all zeros share is one
    assert different - 1 <= packed.outputs["result"][0] <= np.count_nonzero(np.tril(M)) + 1 < model.nv**2


def test_layouts() -> None:
    model = random_tree(2, 6, ["revolute"])
    q = np.array([random_state(model, s)[0] for s in range(40)])
    steps = {
        layout: [
            qdot.compile(function, model, layout=layout)(q).strides
            for function in (qdot.mass_matrix, qdot.gravity_forces)
        ]
        for layout in ("auto", "batch", "rows")
    }
    assert [s[0] for s in steps["batch"]] == [8, 8]
    assert [s[-1] for s in steps["rows"]] == [8, 8]
    assert steps["auto"][0][-1] == 8
    assert steps["auto"][0][0] % 64 == 0  # whole lines of the cache
    assert steps["auto"][1] == steps["batch"][1]
    assert qdot.compile(qdot.mass_matrix, model, layout="rows")(q).flags.c_contiguous


def test_unknown_layouts_are_refused() -> None:
    with pytest.raises(qdot.errors.CompileError, match=r"layout 'columns' is unknown; choose from auto"):
        qdot.compile(qdot.mass_matrix, random_tree(0, 2, ["revolute"]), layout="columns")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_batches_in_any_memory(dtype: str) -> None:
    """The way through machine code and the way around it give the same bits, whatever the arrays look like."""
    model = random_tree(5, 7, ["revolute", "spherical"])
    compiled = qdot.compile(qdot.inverse_dynamics, model, dtype=dtype)
    states = [x.astype(dtype) for x in batch_of(model, 21)]
    expected = np.array([compiled(*(x[k] for x in states)) for k in range(21)])
    ways = {
        "C": lambda x: np.ascontiguousarray(x),
        "Fortran": lambda x: np.asfortranarray(x),
        "reversed": lambda x: x[::-1].copy()[::-1],
        "every second": lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2],
        "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
        "another type": lambda x: x.astype("float32" if dtype == "float64" else "float64"),
        "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
        "list": lambda x: x.tolist(),
    }
    for name, way in ways.items():
        given = [way(x) for x in states]
        close(compiled(*given), expected, 1e-4 if name == "another type" else 0.0)
        if name in ("another type", "big-endian", "list", "read-only"):
            continue
        for out in (way(np.zeros_like(expected)), {"result": way(np.zeros_like(expected))}):
            target = out["result"] if isinstance(out, dict) else out
            assert compiled(*given, out=out) is target
            np.testing.assert_array_equal(target, expected)


def test_the_lock_is_free_while_a_batch_runs() -> None:
    """Two threads that each run a batch: both end, with their own results (one room of tiles would mix them up)."""
    import threading

    model = seven_joint_arm()
    compiled = qdot.compile(qdot.forward_dynamics, model)
    states = [[np.tile(x + k, (300, 1)) for x in map(np.array, random_state(model, 0))] for k in (0.0, 0.1)]
    expected = [compiled(*s, threads=1) for s in states]
    wrong = []

    def run(k: int) -> None:
        for _ in range(50):
            if not np.array_equal(compiled(*states[k], threads=1), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in (0, 1, 0, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
