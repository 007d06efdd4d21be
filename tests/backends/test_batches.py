"""Every row is computed alike: results do not depend on the batch, its memory, how it is split, or the threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from qdot.backends import llvm, runtime
from qdot.backends.memory import aligned, allocate
from qdot.backends.runtime import Loaded
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Port, Program
from qdot.compiler.trace import trace
from qdot.errors import ValueShapeError
from tests.backends.loading import by_llvm

DTYPES = ("float64", "float32")
ROWS = 70


def everything(x: Any, M: Any, s: Any, cube: Any) -> dict[str, Any]:
    """Functions, loops that end row by row, a region, and ports of every rank."""
    g = s.graph
    a = g.fori(3, [x[0], s], lambda i, c: [c[1] * x[1].sin() + i, c[0] + M[0][1]])
    b = g.while_(12, [a[0]], lambda c: (c[0] < 8.0, [c[0] * 1.25 + 1.0]))[0]
    w = g.when(s < 0.0, [b], lambda p: [p[0].unary("exp").binary("min", M[1][0]), p[0].pow(0.3)], [x[2], b])
    big = (1e9 * s).sin() + (1e9 * s).cos()
    return {"scalar": big + w[1], "vector": [w[0], x[2] / M[1][1], a[1]], "matrix": [[b, s], [cube[0][1][0], x[0] * s]]}


SHAPES = {"x": (3,), "M": (2, 2), "s": (), "cube": (1, 2, 2)}


@pytest.fixture(scope="module", params=DTYPES)
def loaded(request: pytest.FixtureRequest) -> Loaded:
    return by_llvm(trace("everything", everything, SHAPES), request.param)


def inputs_of(loaded: Loaded, rows: int = ROWS) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(0, 3, (rows, *shape)).astype(loaded.dtype) for name, shape in SHAPES.items()}


@pytest.fixture
def reference(loaded: Loaded) -> dict[str, np.ndarray]:
    return loaded.batch(inputs_of(loaded), ROWS, {}, 1)


def identical(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray], rows: slice = slice(None)) -> None:
    """Bit for bit, NaN and the sign of zero included."""
    assert list(actual) == list(expected)
    for name, x in actual.items():
        y = np.ascontiguousarray(expected[name][rows])
        assert x.shape == y.shape
        assert np.ascontiguousarray(x).tobytes() == y.tobytes(), name


# -- size, splitting, threads ------------------------------------------------------------------------------------------


def test_any_batch_size(loaded: Loaded, reference: dict[str, np.ndarray]) -> None:
    inputs = inputs_of(loaded)
    for rows in range(1, ROWS + 1):
        identical(loaded.batch({n: x[:rows] for n, x in inputs.items()}, rows, {}, 1), reference, slice(0, rows))
        identical(
            loaded.batch({n: x[-rows:] for n, x in inputs.items()}, rows, {}, 1), reference, slice(ROWS - rows, ROWS)
        )


def test_one_row_alone(loaded: Loaded, reference: dict[str, np.ndarray]) -> None:
    inputs = inputs_of(loaded)
    for row in range(0, ROWS, 9):
        alone = loaded.single([inputs[name][row] for name in SHAPES])
        identical({n: x[None] for n, x in zip(reference, alone, strict=True)}, reference, slice(row, row + 1))


def test_empty_batch(loaded: Loaded) -> None:
    out = loaded.batch(inputs_of(loaded, 0), 0, {}, None)
    assert {n: x.shape for n, x in out.items()} == {"scalar": (0,), "vector": (0, 3), "matrix": (0, 2, 2)}


def described(program: Program, arrays: dict[str, np.ndarray], out: dict[str, np.ndarray]) -> np.ndarray:
    """(pointer, row stride, column stride, not past the cache) of C-contiguous arrays, as kernels take them."""
    rows = []
    for name, shape in [(p.name, p.shape) for p in (*program.inputs, *program.outputs)]:
        array = {**arrays, **out}[name]
        assert array.flags.c_contiguous
        rows += [array.ctypes.data, int(np.prod(shape)), 1, 0]
    return np.array(rows, np.int64)


def test_any_range_of_rows(loaded: Loaded, reference: dict[str, np.ndarray]) -> None:
    """Rows begin … end are written, and no others."""
    inputs, program = inputs_of(loaded), trace("everything", everything, SHAPES)
    kernel = llvm.Kernel(llvm.compiled_object(program, llvm.host().vectors(loaded.dtype.name)))
    rng = np.random.default_rng(1)
    ranges = [(0, ROWS), (0, 0), (5, 5), (9, 3), (69, 70), (1, 70), (3, 4), (16, 32), (7, 64)]
    for begin, end in [*ranges, *(sorted(rng.integers(0, ROWS + 1, 2)) for _ in range(30))]:
        out = {p.name: np.full((ROWS, *p.shape), 77.0, loaded.dtype) for p in program.outputs}
        ports, tiles = described(program, inputs, out), aligned((100_000,), np.dtype(float))
        kernel.call(ports.ctypes.data, tiles.ctypes.data, int(begin), int(end))
        identical({n: x[begin:end] for n, x in out.items()}, reference, slice(begin, end))
        for x in out.values():
            assert (x[: min(begin, end)] == 77.0).all()
            assert (x[max(begin, end) :] == 77.0).all()


@pytest.mark.parametrize("cuts", [[1], [8], [13, 14], [16, 48], list(range(1, ROWS, 5))])
def test_any_splitting(loaded: Loaded, reference: dict[str, np.ndarray], cuts: list[int]) -> None:
    inputs = inputs_of(loaded)
    parts = []
    for begin, end in zip([0, *cuts], [*cuts, ROWS], strict=True):
        parts.append(loaded.batch({n: x[begin:end] for n, x in inputs.items()}, end - begin, {}, 1))
    identical({n: np.concatenate([p[n] for p in parts]) for n in reference}, reference)


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 64, None])
def test_any_number_of_threads(loaded: Loaded, threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = inputs_of(loaded, 1003)
    expected = loaded.batch(inputs, 1003, {}, 1)
    monkeypatch.setattr(runtime, "WORTH_A_THREAD", 1)
    for _ in range(5):
        identical(loaded.batch(inputs, 1003, {}, threads), expected)


def test_callers_in_many_threads(loaded: Loaded, reference: dict[str, np.ndarray]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    inputs = inputs_of(loaded)

    def work(k: int) -> None:
        for row in range(k % 7, ROWS, 7):
            alone = loaded.single([inputs[name][row] for name in SHAPES])
            identical({n: x[None] for n, x in zip(reference, alone, strict=True)}, reference, slice(row, row + 1))
        identical(loaded.batch(inputs, ROWS, {}, 2), reference)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(28)))


# -- memory ------------------------------------------------------------------------------------------------------------


def fortran(x: np.ndarray) -> np.ndarray:
    return np.asfortranarray(x)


def reversed_rows(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x[::-1])[::-1]


def reversed_columns(x: np.ndarray) -> np.ndarray:
    flipped = tuple(slice(None, None, -1) for _ in x.shape)
    return np.ascontiguousarray(x[flipped])[flipped]


def every_third(x: np.ndarray) -> np.ndarray:
    wide = np.full((*(3 * n for n in x.shape),), 99.0, x.dtype)
    inner = wide[tuple(slice(1, None, 3) for _ in x.shape)]
    inner[...] = x
    return inner


def transposed_slice(x: np.ndarray) -> np.ndarray:
    wide = np.full((*(n + 2 for n in reversed(x.shape)),), 99.0, x.dtype)
    inner = wide[tuple(slice(1, -1) for _ in x.shape)].T
    inner[...] = x
    return inner


def rows_next_to_each_other(x: np.ndarray) -> np.ndarray:
    columns = np.empty((*x.shape[1:], len(x) + 5), x.dtype)
    return np.moveaxis(columns, -1, 0)[: len(x)]


def unaligned(x: np.ndarray) -> np.ndarray:
    """One element after a place that vectors like, with the batch first in memory."""
    memory = np.empty(x.size + 1, x.dtype)[1:]
    return memory.reshape(x.shape[::-1]).T


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    f.__name__: f
    for f in (
        np.ascontiguousarray,
        fortran,
        reversed_rows,
        reversed_columns,
        every_third,
        transposed_slice,
        rows_next_to_each_other,
        unaligned,
    )
}


def laid_out(layout: str, x: np.ndarray) -> np.ndarray:
    y = LAYOUTS[layout](x)
    y[...] = x
    return y


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [ROWS, 5])
def test_inputs_in_any_memory(loaded: Loaded, layout: str, rows: int, reference: dict[str, np.ndarray]) -> None:
    inputs = {n: laid_out(layout, x[:rows]) for n, x in inputs_of(loaded).items()}
    before = {n: x.copy() for n, x in inputs.items()}
    identical(loaded.batch(inputs, rows, {}, 1), reference, slice(0, rows))
    for n, x in inputs.items():
        np.testing.assert_array_equal(x, before[n])


def base_of(x: np.ndarray) -> np.ndarray:
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rows", [ROWS, 5])
def test_outputs_in_any_memory(loaded: Loaded, layout: str, rows: int, reference: dict[str, np.ndarray]) -> None:
    """What is given is written, and nothing beside it."""
    inputs = {n: x[:rows] for n, x in inputs_of(loaded).items()}
    out = {n: LAYOUTS[layout](np.empty(x[:rows].shape, x.dtype)) for n, x in reference.items()}
    for x in out.values():
        base_of(x)[...] = 99.0
    results = loaded.batch(inputs, rows, out, 1)
    identical(results, reference, slice(0, rows))
    for name, x in out.items():
        assert results[name] is x
        x[...] = 99.0
        assert (base_of(x) == 99.0).all(), name


def test_mixed_layouts(loaded: Loaded, reference: dict[str, np.ndarray]) -> None:
    inputs = inputs_of(loaded)
    names: Iterator[str] = iter(LAYOUTS)
    mixed = {n: laid_out(next(names), x) for n, x in inputs.items()}
    out = {n: LAYOUTS[next(names)](np.empty(x.shape, x.dtype)) for n, x in reference.items()}
    identical(loaded.batch(mixed, ROWS, out, 2), reference)


@pytest.mark.parametrize("single", SHAPES)
def test_a_single_row_serves_all(loaded: Loaded, single: str) -> None:
    inputs = inputs_of(loaded)
    repeated = {**inputs, single: np.repeat(inputs[single][3:4], ROWS, axis=0)}
    expected = loaded.batch(repeated, ROWS, {}, 1)
    identical(loaded.batch({**inputs, single: inputs[single][3]}, ROWS, {}, 1), expected)
    view = np.broadcast_to(inputs[single][3], inputs[single].shape)
    identical(loaded.batch({**inputs, single: view}, ROWS, {}, 1), expected)


@pytest.mark.parametrize("kind", ["int64", "float32", "float64", ">f8", ">f4", "bool", "longdouble"])
def test_other_number_types_are_converted(loaded: Loaded, kind: str) -> None:
    inputs = {n: x.astype(kind) for n, x in inputs_of(loaded).items()}
    expected = loaded.batch({n: x.astype(loaded.dtype) for n, x in inputs.items()}, ROWS, {}, 1)
    identical(loaded.batch(inputs, ROWS, {}, 1), expected)


def test_fields_of_structured_arrays(loaded: Loaded, reference: dict[str, np.ndarray]) -> None:
    """Entries at odd distances cannot be described by strides in elements: they are copied, and refused as outputs."""
    record = np.zeros(ROWS, [("tag", "u1"), ("x", loaded.dtype, (3,)), ("vector", loaded.dtype, (3,))])
    record["x"] = inputs_of(loaded)["x"]
    identical(loaded.batch({**inputs_of(loaded), "x": record["x"]}, ROWS, {}, 1), reference)
    with pytest.raises(ValueShapeError, match="odd distances"):
        loaded.batch(inputs_of(loaded), ROWS, {"vector": record["vector"]}, 1)


# -- ports -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_ports_without_entries_and_unread_ports(dtype: str) -> None:
    def build(x: Any, none: Any, unread: Any) -> dict[str, Any]:
        return {"y": x + 1.0, "empty": [], "constant": [2.5, 0.1]}

    loaded = by_llvm(trace("f", build, {"x": (), "none": (0,), "unread": (2, 2)}), dtype)
    for rows in (0, 1, 3, 8, 33):
        x = np.arange(rows, dtype=dtype)
        out = loaded.batch({"x": x, "none": np.empty((rows, 0)), "unread": np.full((rows, 2, 2), np.nan)}, rows, {}, 1)
        np.testing.assert_array_equal(out["y"], x + 1)
        assert out["empty"].shape == (rows, 0)
        np.testing.assert_array_equal(out["constant"], np.tile(np.array([2.5, 0.1], dtype), (rows, 1)))
    assert loaded.single([1.0, np.empty(0), np.zeros((2, 2))])[0] == 2.0


def test_no_ports_at_all() -> None:
    assert by_llvm(trace("f", lambda: {}, {})).batch({}, 3, {}, 1) == {}
    np.testing.assert_array_equal(by_llvm(trace("f", lambda: {"y": 3.0}, {})).batch({}, 5, {}, 1)["y"], np.full(5, 3.0))


LARGE_PORT = """
import numpy as np
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm

n = 64
program = trace("f", lambda x: {"y": x[n - 1][2][1]}, {"x": (n, n, n)})
x = np.random.default_rng(0).normal(size=(3, n, n, n))
assert (by_llvm(program).batch({"x": x}, 3, {}, 1)["y"] == x[:, n - 1, 2, 1]).all()
"""


FORKED = """
import os, signal
import numpy as np
from qdot.backends import runtime
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm

runtime.WORTH_A_THREAD = 1
loaded = by_llvm(trace("f", lambda x: {"y": x.sin()}, {"x": ()}))
x = np.linspace(0, 1, 1000)
y = loaded.batch({"x": x}, 1000, {}, 2)["y"]
child = os.fork()
if child == 0:
    signal.alarm(5)
    os._exit(0 if (loaded.batch({"x": x}, 1000, {}, 2)["y"] == y).all() else 1)
assert os.waitpid(child, 0)[1] == 0, "the child hung or was wrong"
"""


def in_another_process(code: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:] or f"ended with {done.returncode}"


def test_large_ports_do_not_overflow_the_stack() -> None:
    """64³ entries, as Christoffel symbols of a large tree have; in a process of its own, for it may crash."""
    in_another_process(LARGE_PORT)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_threads_after_a_fork() -> None:
    """A child (of multiprocessing, say) has none of its parent's threads."""
    in_another_process(FORKED)


# -- memory ------------------------------------------------------------------------------------------------------------


def wide(x: Any, M: Any) -> dict[str, Any]:
    """More columns than a vector has lanes, in every port; mirror images, zeros, and rows of a loop among them."""
    g = x[0].graph
    sums = [[a + b for b in x[:9]] for a in x[:9]]
    rows = g.each([[a, b] for a, b in zip(x, M[0] + M[1], strict=False)], lambda r: [r[0] * r[1], r[1] - 1.0])
    return {
        "sums": sums,
        "sparse": [[a if k % 3 == j else 0.0 for k, a in enumerate(x)] for j in range(3)],
        "rows": rows,
    }


WIDE = {"x": (19,), "M": (2, 11)}


@pytest.fixture(scope="module", params=DTYPES)
def wide_loaded(request: pytest.FixtureRequest) -> Loaded:
    return by_llvm(trace("wide", wide, WIDE), request.param)


@pytest.mark.parametrize("past_the_cache", [False, True])
@pytest.mark.parametrize("layout", ["auto", "batch", "rows", "every other", "unaligned"])
@pytest.mark.parametrize("source", ["auto", "batch", "rows", "every other", "unaligned"])
def test_any_layout_of_wide_ports(
    wide_loaded: Loaded, source: str, layout: str, past_the_cache: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "STREAMED", 0 if past_the_cache else 2**60)
    rng = np.random.default_rng(4)
    program, dtype = trace("wide", wide, WIDE), wide_loaded.dtype
    for rows in (1, 5, 8, 16, 37, 64):
        values = {name: rng.normal(size=(rows, *shape)).astype(dtype) for name, shape in WIDE.items()}
        given, out = {}, {}
        for port in (*program.inputs, *program.outputs):
            how = source if port in program.inputs else layout
            if how == "every other":
                array = np.zeros((2 * rows, *port.shape), dtype)[::2]
            elif how == "unaligned":  # whole lines apart, but not at their beginning
                row = -(-port.size // 16) * 16
                array = aligned((rows + 1, row), dtype).reshape(-1)[1 : 1 + rows * row].reshape(rows, row)
                array = array[:, : port.size].reshape(rows, *port.shape)
            else:
                array = allocate(port, rows, dtype, how)
            (given if port in program.inputs else out)[port.name] = array
        for name, x in values.items():
            given[name][...] = x
        wide_loaded.batch(given, rows, out, 1)
        identical(out, {n: np.asarray(x, dtype) for n, x in interpret(program, values, dtype).items()})


def test_allocated_memory_suits_vectors() -> None:
    """Short vectors with the batch next to each other, the rest row by row, both by whole lines of the cache."""
    vector, matrix, small, long = Port("v", (7,)), Port("m", (5, 5)), Port("s", (2, 2)), Port("l", (129,))
    f = np.dtype(float)
    for port, step in ((vector, 0), (matrix, 2), (long, 1)):
        array = allocate(port, 100, f)
        assert array.shape == (100, *port.shape)
        assert array.strides[step] == 8
        assert array.ctypes.data % 64 == 0
        assert array.strides[1 if step == 0 else 0] % 64 == 0
    assert allocate(small, 3, f).flags.c_contiguous
    assert allocate(matrix, 100, f, "batch").strides[0] == 8
    assert allocate(vector, 100, f, "rows").strides[1] == 8
    assert allocate(vector, 0, f).shape == (0, 7)
