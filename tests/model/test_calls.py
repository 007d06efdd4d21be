"""How the public functions take and give: any container, any batch, inputs untouched, outputs one's own."""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np
import pytest

import qdot
from qdot.algebra import scalars_in
from qdot.joints import Free, Prismatic
from qdot.model.library import cart_pole, random_state, random_tree
from qdot.spatial import Force, Inertia
from tests.laws.trees import close
from tests.model.samples import CALLS, a_field, driven, mixed, numbers, single


@cache
def case(rows: int = 0):
    """A mixed tree and (q, v, a), single or with rows."""
    model = mixed()
    if not rows:
        return model, *random_state(model, 1)
    states = [random_state(model, k) for k in range(rows)]
    return model, *(np.stack(x) for x in zip(*states, strict=True))


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "list of numpy numbers": lambda x: list(np.asarray(x)),
    "float32": lambda x: np.asarray(x, dtype=np.float32),
    "read-only": lambda x: _read_only(x),
    "every second of a longer one": lambda x: np.repeat(x, 2)[::2],
    "reversed view": lambda x: x[::-1].copy()[::-1],
    "column of a matrix": lambda x: np.stack([x, x], axis=1)[:, 1],
    "big-endian": lambda x: np.asarray(x).astype(">f8"),
    "objects": lambda x: np.array(list(map(float, x)), dtype=object),
}


def _read_only(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y.flags.writeable = False
    return y


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_any_container_of_numbers(container, name: str) -> None:
    model, q, v, a = case()
    given = [container(x) for x in (q, v, a)]
    tolerance = 1e-4 if given[0] is not q and getattr(given[0], "dtype", None) == np.float32 else 1e-13
    close(numbers(CALLS[name](model, *given)), numbers(CALLS[name](model, q, v, a)), tolerance)


@pytest.mark.parametrize("name", CALLS)
def test_integers(name: str) -> None:
    model = cart_pole()
    given = [1, 2], [3, 4], [5, 6]
    floats = (np.array(x, dtype=float) for x in given)
    expected = numbers(CALLS[name](model, *floats))
    close(numbers(CALLS[name](model, *given)), expected, 1e-14)
    close(numbers(CALLS[name](model, *(np.array(x, dtype=np.int8) for x in given))), expected, 1e-14)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_of_a_batch_is_a_call_of_its_own(name: str, rows: int, order: str) -> None:
    model, Q, V, A = case(rows)
    Q, V, A = (np.asarray(x, order=order) for x in (Q, V, A))
    together = numbers(CALLS[name](model, Q, V, A))
    for k in range(rows):
        close(together[k], numbers(CALLS[name](model, Q[k], V[k], A[k])), 1e-11)


@pytest.mark.parametrize("name", CALLS)
def test_a_batch_of_no_rows(name: str) -> None:
    model, q, v, a = case()
    none = [np.zeros((0, len(x))) for x in (q, v, a)]
    result = numbers(CALLS[name](model, *none))
    assert result.shape == (0, *numbers(CALLS[name](model, q, v, a)).shape)
    assert result.dtype == float


@pytest.mark.parametrize("name", CALLS)
def test_a_single_vector_among_batches_serves_every_row(name: str) -> None:
    model, q, _, a = case()
    parameters = inspect.signature(getattr(qdot, name)).parameters
    if "v" not in parameters:
        return
    _, _, V, _ = case(3)
    together = numbers(CALLS[name](model, q, V, a))
    spread = numbers(CALLS[name](model, np.stack([q] * 3), V, np.stack([a] * 3)))
    close(together, spread, 1e-13)


@pytest.mark.parametrize("name", CALLS)
def test_batches_of_constants_are_floats(name: str) -> None:
    """A model of whole numbers, whose M does not depend on q, still gives floating-point batches."""
    world = qdot.Mechanism("slides")
    world.add("one", Prismatic("x"), Inertia.about_com(2, (0, 0, 0), (1, 1, 1))).add(
        "two", Prismatic("y"), Inertia.about_com(3, (0, 0, 0), (1, 1, 1))
    )
    model = qdot.assemble(world)
    z = np.zeros((4, 2))
    result = CALLS[name](model, z, z, z)
    if name in ("constraint_residuals", "loop_residuals"):
        assert result == {}
        return
    assert numbers(result).dtype == float
    assert numbers(result).shape[0] == 4


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("rows", [0, 3], ids=["single", "batch"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_stay_and_outputs_are_fresh(name: str, rows: int, order: str) -> None:
    model, *given = case(rows)
    given = [np.array(x, order=order) for x in given]
    before = [x.copy() for x in given]
    result = CALLS[name](model, *given)
    first = numbers(result).copy()
    for array in (x for x in scalars_in(result) if isinstance(x, np.ndarray)):
        assert not any(np.shares_memory(array, x) for x in given)
        if array.flags.writeable:
            array[...] = -1.0
    for x, y in zip(given, before, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(numbers(CALLS[name](model, *given)), first)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("rows", [0, 3], ids=["single", "batch"])
def test_arrays_that_are_given_can_be_written_to(name: str, rows: int) -> None:
    """`E = energy(...); E -= E[0]` is what people do next."""
    result = CALLS[name](*case(rows))
    if isinstance(result, np.ndarray):
        assert result.flags.writeable


@pytest.mark.parametrize("name", CALLS)
def test_every_argument_may_be_named(name: str) -> None:
    model, q, v, a = case()
    values = {
        "model": model, "q": q, "v": v, "a": a, "tau": a, "dv": v, "q0": q, "q1": q, "near_q": q, "p": v,
        "control": driven(model)[0], "activation": driven(model)[1], "field": a_field(model),
        "frame": list(model.frames)[-1], "point": (0.1, 0.2, 0.3), "orientation": qdot.Orientation.ROTATION_VECTOR,
    }  # fmt: skip
    function = getattr(qdot, name)
    arguments = {p: values[p] for p in inspect.signature(function).parameters if p in values}
    result, expected = function(**arguments), CALLS[name](model, q, v, a)
    if isinstance(result, tuple) and isinstance(expected, dict):
        result = dict(zip(expected, result, strict=True))
    elif isinstance(result, tuple) and len({np.shape(x) for x in result}) == 1:
        result = np.stack(result, axis=-2 if name == "hamilton_equations" else 0)
    close(numbers(result), numbers(expected), 1e-14)


def test_wrong_calls_are_type_errors_as_in_python() -> None:
    model, q, v, a = case()
    for call in (
        lambda: qdot.mass_matrix(model),
        lambda: qdot.mass_matrix(model, q, v),
        lambda: qdot.mass_matrix(model, q, speed=v),
        lambda: qdot.inverse_dynamics(model, q, v, a, {}),  # options are named
        lambda: qdot.mass_matrix(),
    ):
        with pytest.raises(TypeError):
            call()


def test_functions_show_what_they_take() -> None:
    for name in CALLS:
        function = getattr(qdot, name)
        assert function.__name__ == name
        assert next(iter(inspect.signature(function).parameters)) == "model"
        assert function.__doc__


# ── wrenches ─────────────────────────────────────────────────────────────────────────────────────


def test_wrenches_as_people_write_them() -> None:
    model, q, v, a = case()
    six = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    expected = qdot.inverse_dynamics(model, q, v, a, wrenches={"site4": six})
    J = qdot.jacobian(model, q, "site4")
    close(expected, qdot.inverse_dynamics(model, q, v, a) - J.T @ six, 1e-11)
    for wrench in (tuple(six), np.array(six), np.array(six, dtype=np.int64), Force.of(six), [1, 2, 3, 4, 5, 6]):
        close(qdot.inverse_dynamics(model, q, v, a, wrenches={"site4": wrench}), expected, 1e-14)
    for nothing in (None, {}, {"site4": [0] * 6}, {"world": six}):
        close(qdot.inverse_dynamics(model, q, v, a, wrenches=nothing), qdot.inverse_dynamics(model, q, v, a), 1e-14)


def test_batches_of_wrenches() -> None:
    model, q, v, a = case()
    W = np.random.default_rng(0).normal(size=(3, 6))
    together = qdot.forward_dynamics(model, q, v, a, wrenches={"site4": W, "site1": W[0]})
    assert together.shape == (3, model.nv)
    for k in range(3):
        alone = qdot.forward_dynamics(model, q, v, a, wrenches={"site4": W[k], "site1": W[0]})
        close(together[k], alone, 1e-11)
    before = W.copy()
    qdot.forward_dynamics(model, q, v, a, wrenches={"site4": W})
    np.testing.assert_array_equal(W, before)


# ── manifolds ────────────────────────────────────────────────────────────────────────────────────


def test_nearly_unit_quaternions_pass_and_can_be_normalized() -> None:
    model = single(Free())
    q = np.array([0.6, 0.8, 0, 0, 1, 2, 3])
    rounded = q + 1e-8
    close(qdot.mass_matrix(model, rounded), qdot.mass_matrix(model, q), 1e-6)
    near = qdot.normalized(model, q * [3, 3, 3, 3, 1, 1, 1])
    close(near, q, 1e-14)
    close(qdot.normalized(model, np.stack([q, q]) * 1.0), np.stack([q, q]), 1e-14)
    qdot.mass_matrix(model, near)


@pytest.mark.parametrize("seed", range(5))
def test_kinematics_of_a_batch(seed: int) -> None:
    model = random_tree(seed, 4)
    states = [random_state(model, k) for k in range(3)]
    Q, V, A = (np.stack(x) for x in zip(*states, strict=True))
    motion = qdot.kinematics(model, Q, V, A)
    for k, (q, v, a) in enumerate(states):
        alone = qdot.kinematics(model, q, v, a)
        for part in (lambda m: m.pose("site3"), lambda m: m.velocity("site3"), lambda m: m.acceleration("site3")):
            lanes = [np.broadcast_to(x, 3)[k] for x in scalars_in(part(motion))]
            close(lanes, list(scalars_in(part(alone))), 1e-11)
