"""Many steps in a row are the same steps taken one by one, bit for bit, whatever the batch, its memory and threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qdot.backends import runtime
from qdot.backends.llvm import host
from qdot.backends.memory import allocate, overlaps_itself
from qdot.backends.rollout import BLOCK, EFFORTS, arranged
from qdot.backends.runtime import Loaded
from qdot.compiler.program import EFFORT
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm
from tests.backends.test_batches import LAYOUTS

STEPS = 5
Arrays = dict[str, np.ndarray]


def step(x: Any, M: Any, t: Any, force: Any, gain: Any) -> dict[str, Any]:
    """State of every rank, one input that is driven and one that is held; a loop that ends row by row."""
    g = t.graph
    spread = g.while_(6, [x[0]], lambda c: (c[0] < 1.0, [c[0] + 0.5]))[0]
    return {
        "x": [(x[0] + x[1] * 0.1).sin(), x[1] - gain[0] * x[0] + force[0], x[2] * 0.9 + M[0][1] + t.cos()],
        "M": [[M[1][0], spread], [x[0] * gain[1], M[0][0] - M[1][1]]],
        "t": t + 0.01,
        "seen": [[x[0] * force[1], spread, t]],
        "unwanted": [x[2], gain[1]],
    }


SHAPES = {"x": (3,), "M": (2, 2), "t": (), "force": (2,), "gain": (2,)}
STATE = ("x", "M", "t")


def sorting_step(**given: Any) -> dict[str, Any]:
    """The same, and how long each row took: so rows are sorted by that after each step."""
    found = step(**given)
    return found | {EFFORT: [found["M"][0][1] * 8]}


@pytest.fixture(
    scope="module", params=[(step, "float64"), (step, "float32"), (sorting_step, "float64"), (sorting_step, "float32")]
)
def loaded(request: pytest.FixtureRequest) -> Loaded:
    text, dtype = request.param
    return by_llvm(trace("step", text, SHAPES), dtype)


def case(
    loaded: Loaded, batch: int, lie: Callable[[np.ndarray], np.ndarray] = np.array
) -> tuple[Arrays, Arrays, Arrays]:
    """Records, held and driven, of memory that `lie` makes; what is still to be written is 77."""
    rng = np.random.default_rng(batch)
    shapes = {p.name: p.shape for p in loaded.interface.outputs}
    rows = {name: STEPS + 1 if name in STATE else STEPS for name in (*STATE, "seen")}
    records = {name: lie(np.empty((n, batch, *shapes[name]), loaded.dtype)) for name, n in rows.items()}
    for name, record in records.items():
        record[...] = 77.0
        if name in STATE:
            record[0] = rng.normal(0, 2, record.shape[1:])
    held, driven = (np.empty(s, loaded.dtype) for s in ((batch, 2), (STEPS, batch, 2)))
    given = [lie(x) for x in (held, driven)]
    for x in given:
        x[...] = rng.normal(size=x.shape)
    return records, {"gain": given[0]}, {"force": given[1]}


def roll(loaded: Loaded, records: Arrays, held: Arrays, driven: Arrays, threads: int | None = 1) -> None:
    loaded.rollout(arranged(loaded.interface, loaded.dtype, STEPS, records, held, driven), threads)


def one_by_one(loaded: Loaded, records: Arrays, held: Arrays, driven: Arrays) -> Arrays:
    """The same by single calls, in arrays of their own."""
    made = {name: np.array(x) for name, x in records.items()}
    batch = made["t"].shape[1]
    for k in range(STEPS):
        inputs = {**{name: made[name][k] for name in STATE}, "force": driven["force"][k], "gain": held["gain"]}
        results = loaded.batch(inputs, batch, {}, 1)
        for name, record in made.items():
            record[k + (name in STATE)] = results[name]
    return made


def same_bits(actual: Arrays, expected: Arrays) -> None:
    for name, x in expected.items():
        assert np.ascontiguousarray(actual[name]).tobytes() == np.ascontiguousarray(x).tobytes(), name


@pytest.mark.parametrize("threads", [1, 2, None])
@pytest.mark.parametrize("batch", [1, 2, 7, 8, 9, 16, 17, 100, 1000, BLOCK, BLOCK + 1, 2 * BLOCK + 9])
def test_any_batch_and_threads(loaded: Loaded, batch: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "WORTH_A_THREAD", 1)
    arrays = case(loaded, batch)
    expected = one_by_one(loaded, *arrays)
    roll(loaded, *arrays, threads)
    same_bits(arrays[0], expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [1, 7, 8, 100, BLOCK + 9])
@pytest.mark.parametrize("lie", [np.array, lambda x: np.moveaxis(np.array(np.moveaxis(x, 1, -1)), -1, 1)])
def test_a_state_that_goes_on_in_its_place(loaded: Loaded, batch: int, threads: int, lie: Any) -> None:
    """In one row instead of steps + 1: it ends as the last of those, and nothing else changes."""
    whole, held, driven = case(loaded, batch, lie)
    brief = {name: lie(x[:1] if name in ("x", "M") else x) for name, x in whole.items()}
    roll(loaded, whole, held, driven, threads)
    roll(loaded, brief, held, driven, threads)
    for name, x in brief.items():
        np.testing.assert_array_equal(x, whole[name][-1:] if name in ("x", "M") else whole[name])


def by_batch(x: np.ndarray) -> np.ndarray:
    """Memory (rows, *shape, batch)."""
    return np.moveaxis(np.empty((len(x), *x.shape[2:], x.shape[1] if x.ndim > 1 else 1), x.dtype), -1, 1)


def by_runs(x: np.ndarray) -> np.ndarray:
    """Memory (batch, rows, *shape): each run in one piece."""
    return np.swapaxes(np.empty((x.shape[1], len(x), *x.shape[2:]), x.dtype), 0, 1)


def field(x: np.ndarray) -> np.ndarray:
    """At odd distances, as a field of records."""
    return np.zeros(x.shape, [("tag", "u1"), ("value", x.dtype)])["value"]


WAYS = {**LAYOUTS, "by_batch": by_batch, "by_runs": by_runs, "field": field}


@pytest.mark.parametrize("batch", [1, 13, 64])
@pytest.mark.parametrize("way", WAYS)
def test_any_memory(loaded: Loaded, way: str, batch: int) -> None:
    arrays = case(loaded, batch, lambda x: WAYS[way](x) if x.ndim > 2 else x)
    expected = one_by_one(loaded, *arrays)
    roll(loaded, *arrays)
    same_bits(arrays[0], expected)


def test_memory_between_the_entries_stays(loaded: Loaded) -> None:
    """One buffer for the whole state, every other row of it."""
    records, held, driven = case(loaded, 9)
    buffer = np.full((2 * STEPS + 2, 9, 12), 55.0, loaded.dtype)
    expected = one_by_one(loaded, records, held, driven)
    parts = {"x": buffer[::2, :, :3], "t": buffer[::2, :, 5], "seen": buffer[1:-1:2, :, None, 7:10]}
    for name, view in parts.items():
        view[...] = records[name]
    records.update(parts)
    roll(loaded, records, held, driven)
    same_bits(records, expected)
    for view in parts.values():
        view[...] = 55.0
    assert (buffer == 55.0).all()


def test_what_serves_all(loaded: Loaded) -> None:
    """Held and driven without the axis of the batch; driven that is the same for each step is held."""
    records, held, driven = case(loaded, 20)
    again = {name: x.copy() for name, x in records.items()}
    gain, force = held["gain"][3], driven["force"][:, 3]
    repeated = np.tile(gain, (20, 1)), np.tile(force[:, None], (1, 20, 1))
    roll(loaded, records, {"gain": gain}, {"force": force})
    roll(loaded, again, {"gain": repeated[0]}, {"force": repeated[1]})
    same_bits(records, again)
    third = {name: x.copy() for name, x in again.items()}
    roll(loaded, again, {"gain": gain, "force": force[2]}, {})
    roll(loaded, third, {}, {"gain": np.tile(gain, (STEPS, 1)), "force": np.tile(force[2], (STEPS, 1))})
    same_bits(again, third)


def test_one_run_without_an_axis_for_it(loaded: Loaded) -> None:
    records, held, driven = case(loaded, 1)
    expected = one_by_one(loaded, records, held, driven)
    roll(loaded, {n: x[:, 0] for n, x in records.items()}, {"gain": held["gain"][0]}, {"force": driven["force"][:, 0]})
    same_bits(records, expected)


def test_numbers_of_other_types(loaded: Loaded) -> None:
    records, _, _ = case(loaded, 3)
    again = {name: x.copy() for name, x in records.items()}
    roll(loaded, records, {"gain": np.array([1, 2])}, {"force": np.arange(2 * STEPS).reshape(STEPS, 2)})
    roll(
        loaded,
        again,
        {"gain": np.array([1.0, 2.0], loaded.dtype)},
        {"force": np.arange(2 * STEPS, dtype=loaded.dtype).reshape(STEPS, 2)},
    )
    same_bits(records, again)


@pytest.mark.parametrize("batch", [1, 30])
def test_pauses_for_interrupts_change_nothing(loaded: Loaded, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = case(loaded, batch)
    expected = one_by_one(loaded, *arrays)
    monkeypatch.setattr(runtime, "PATIENCE", 1)
    roll(loaded, *arrays)
    same_bits(arrays[0], expected)


def test_an_interrupt_waits_for_the_other_threads(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they would write to memory that its owner may have freed."""
    monkeypatch.setattr(runtime, "WORTH_A_THREAD", 1)
    finished = []

    def part(begin: int, end: int) -> None:
        if begin == 0:
            raise KeyboardInterrupt
        time.sleep(0.05)  # long enough that whoever does not wait is seen
        finished.append((begin, end))

    with pytest.raises(KeyboardInterrupt):
        loaded._run(part, 64, 2)
    assert finished == [(32, 64)]


@pytest.mark.parametrize(("batch", "steps"), [(0, STEPS), (4, 0), (0, 0)])
def test_nothing_to_do(loaded: Loaded, batch: int, steps: int) -> None:
    records = {p.name: np.full((steps + (p.name in STATE), batch, *p.shape), 3.0) for p in loaded.interface.outputs}
    records = {name: x.astype(loaded.dtype) for name, x in records.items()}
    held = {"gain": np.zeros(2), "force": np.zeros(2)}
    loaded.rollout(arranged(loaded.interface, loaded.dtype, steps, records, held, {}), None)
    assert all((x == 3.0).all() for x in records.values())


def test_allocated_records_suit_vectors(loaded: Loaded) -> None:
    """A short vector's batch lies next to each other, by whole lines; a matrix lies row by row."""
    ports = {p.name: p for p in loaded.interface.outputs}
    vector, matrix = (allocate(ports[name], 100, loaded.dtype, "auto", (4,)) for name in ("x", "M"))
    assert vector.shape == (4, 100, 3)
    assert vector.strides[1] == loaded.dtype.itemsize
    assert vector.strides[0] % 64 == vector.strides[2] % 64 == vector.ctypes.data % 64 == 0
    assert matrix.shape == (4, 100, 2, 2)
    assert matrix.flags.c_contiguous
    assert not overlaps_itself(vector)
    assert not overlaps_itself(matrix)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("efforts", [[3, 0, 2], [np.nan, 1e9, -5, 0.5, EFFORTS - 1, EFFORTS]], ids=["few", "any"])
def test_rows_that_take_equally_long_share_vectors(dtype: str, efforts: list[float]) -> None:
    """A row learns how many of its vector have its own effort: after the first step, nearly all."""
    width = host().vectors(dtype).width
    batch = 12 * width
    told = np.resize(efforts, batch).astype(dtype)
    loaded = by_llvm(
        trace("told", lambda effort, given: {"effort": [given[0] + 0.0 * effort[0]]}, {"effort": (1,), "given": (1,)}),
        dtype,
    )
    records = {"effort": np.zeros((4, batch, 1), dtype)}
    ordered: list[np.ndarray] = []
    whole = np.arange

    def kept(*args: Any, **more: Any) -> np.ndarray:
        ordered.append(whole(*args, **more))
        return ordered[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime.np, "arange", kept)
        loaded.rollout(arranged(loaded.interface, loaded.dtype, 3, records, {"given": told[:, None]}, {}), 1)
    (order,) = ordered
    assert sorted(order) == list(range(batch))
    keys = np.clip(np.nan_to_num(told[order], nan=0.0), 0, EFFORTS - 1).astype(int)
    assert (np.diff(keys) >= 0).all()
    same = [np.flatnonzero(keys == key) for key in np.unique(keys)]
    assert all((np.diff(order[places]) > 0).all() for places in same), "equal efforts keep their order"
