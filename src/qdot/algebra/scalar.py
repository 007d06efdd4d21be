"""What a scalar is: anything that adds, subtracts, multiplies and divides.

`sin`, `sqrt`, `where` … are chosen by the type of their arguments: floats use `math`, NumPy arrays (lanes of a batch)
use NumPy, SymPy expressions use SymPy, dual numbers differentiate. A kind of scalar is one `Functions` table, made
known by `register`; the texts of the mechanics never ask which kind they run on.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qdot.errors import ScalarError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scalar: TypeAlias = Any
"""A float, an int, an array of lanes, a SymPy expression, a `Dual`, a traced expression."""

Scalars: TypeAlias = "Sequence[Scalar] | NDArray[Any]"
"""Scalars in order: a list, a tuple, or an array of numbers."""

Build: TypeAlias = Callable[[list[Scalar]], list[Scalar]]
Turn: TypeAlias = Callable[[Scalar, list[Scalar]], list[Scalar]]
Trial: TypeAlias = Callable[[list[Scalar]], tuple[Scalar, list[Scalar]]]
RowTurn: TypeAlias = Callable[[list[Scalar], list[Scalar]], list[Scalar]]
"""The bodies of a region and of loops: of a state, of (number of the turn, state), of a state that may be the last,
of (state, row)."""


Rows: TypeAlias = tuple[tuple[float, ...], ...]
"""A table of numbers."""


def _one_by_one(rows: Sequence[Scalars], build: Build) -> list[list[Scalar]]:
    return [build(list(row)) for row in rows]


def _in_turn(count: int, state: list[Scalar], step: Turn, seen: list[Scalar]) -> list[Scalar]:
    for k in range(count):
        state = step(k, state)
    return state


def _row_by_row(rows: Sequence[Scalars], state: list[Scalar], step: RowTurn, seen: list[Scalar]) -> list[Scalar]:
    for row in rows:
        state = step(state, list(row))
    return state


def _over_a_part(
    table: Rows, first: Scalar, count: Scalar, state: list[Scalar], step: RowTurn, seen: list[Scalar]
) -> list[Scalar]:
    return _row_by_row(table[int(first) : int(first) + int(count)], state, step, seen)


def _looked_up(table: Rows, index: Scalar) -> list[Scalar]:
    return list(table[min(max(int(index), 0), len(table) - 1)])


def _until_stopped(limit: int, state: list[Scalar], step: Trial, seen: list[Scalar]) -> list[Scalar]:
    for _ in range(limit):
        go_on, new = step(state)
        if not go_on:
            break
        state = new
    return state


def _by_choice(
    condition: Scalar, given: list[Scalar], build: Build, otherwise: list[Scalar], seen: list[Scalar]
) -> list[Scalar]:
    return build(given) if condition else otherwise


def _tanh(x: Scalar) -> Scalar:
    """By e = exp(-2|x|), tanh |x| = (1 - e) / (1 + e), which never overflows; near 0, where 1 - e would cancel, by the
    seventh convergent of Lambert's fraction x / (1 + x² / (3 + x² / (5 + …)))."""
    z = x * x
    fraction = x * (135135 + z * (17325 + z * (378 + z))) / (135135 + z * (62370 + z * (3150 + z * 28)))
    e = exp(-2 * absolute(x))
    far = (1 - e) / (1 + e)
    return where(absolute(x) < 0.4, fraction, where(x < 0, -far, far))


@dataclass(frozen=True)
class Functions:
    """How one kind of scalar computes. `rank` decides which kind computes when two meet: the higher one.

    The loops are those of `qdot.algebra.loops`, on flat lists; `seen` holds all scalars that were met, at least one of
    them of this kind.
    """

    name: str
    rank: int
    sin: Callable[[Scalar], Scalar]
    cos: Callable[[Scalar], Scalar]
    tan: Callable[[Scalar], Scalar]
    asin: Callable[[Scalar], Scalar]
    acos: Callable[[Scalar], Scalar]
    atan2: Callable[[Scalar, Scalar], Scalar]
    exp: Callable[[Scalar], Scalar]
    log: Callable[[Scalar], Scalar]
    sqrt: Callable[[Scalar], Scalar]
    absolute: Callable[[Scalar], Scalar]
    sign: Callable[[Scalar], Scalar]
    floor: Callable[[Scalar], Scalar]
    minimum: Callable[[Scalar, Scalar], Scalar]
    maximum: Callable[[Scalar, Scalar], Scalar]
    where: Callable[[Scalar, Scalar, Scalar], Scalar]
    tanh: Callable[[Scalar], Scalar] = _tanh
    each: Callable[[Sequence[Scalars], Build], list[list[Scalar]]] = _one_by_one
    repeated: Callable[[int, list[Scalar], Turn, list[Scalar]], list[Scalar]] = _in_turn
    scanned: Callable[[Sequence[Scalars], list[Scalar], RowTurn, list[Scalar]], list[Scalar]] = _row_by_row
    swept: Callable[[Rows, Scalar, Scalar, list[Scalar], RowTurn, list[Scalar]], list[Scalar]] = _over_a_part
    looked_up: Callable[[Rows, Scalar], list[Scalar]] = _looked_up
    iterated: Callable[[int, list[Scalar], Trial, list[Scalar]], list[Scalar]] = _until_stopped
    where_needed: Callable[[Scalar, list[Scalar], Build, list[Scalar], list[Scalar]], list[Scalar]] = _by_choice


_known: dict[type, Functions] = {}
_loaded_at_first_use = {"sympy": "qdot.algebra.sympy_scalar"}


def register(kind: type, functions: Functions) -> None:
    """Make a type (and its subclasses) a scalar of qdot."""
    _known[kind] = functions


def _functions_of_type(kind: type) -> Functions:
    for base in kind.__mro__:
        module = _loaded_at_first_use.get(base.__module__.partition(".")[0])
        if module is not None:
            importlib.import_module(module)  # registers the kind
        if base in _known:
            _known[kind] = _known[base]
            return _known[kind]
    raise ScalarError(
        f"{kind.__module__}.{kind.__qualname__} is not a scalar qdot knows; use floats, NumPy arrays, SymPy "
        "expressions, or make the type known with qdot.algebra.register"
    )


def functions_of(*scalars: Scalar) -> Functions:
    """The table that computes for these scalars together."""
    found = None
    for x in scalars:
        kind = type(x)
        table = _known.get(kind) or _functions_of_type(kind)
        if found is None or table.rank > found.rank:
            found = table
    assert found is not None
    return found


def sin(x: Scalar) -> Scalar:
    return functions_of(x).sin(x)


def cos(x: Scalar) -> Scalar:
    return functions_of(x).cos(x)


def tan(x: Scalar) -> Scalar:
    return functions_of(x).tan(x)


def tanh(x: Scalar) -> Scalar:
    return functions_of(x).tanh(x)


def asin(x: Scalar) -> Scalar:
    return functions_of(x).asin(x)


def acos(x: Scalar) -> Scalar:
    return functions_of(x).acos(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    return functions_of(y, x).atan2(y, x)


def exp(x: Scalar) -> Scalar:
    return functions_of(x).exp(x)


def log(x: Scalar) -> Scalar:
    return functions_of(x).log(x)


def sqrt(x: Scalar) -> Scalar:
    return functions_of(x).sqrt(x)


def absolute(x: Scalar) -> Scalar:
    return functions_of(x).absolute(x)


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    return functions_of(x).sign(x)


def floor(x: Scalar) -> Scalar:
    return functions_of(x).floor(x)


def looked_up(table: Rows, index: Scalar) -> list[Scalar]:
    """The row of a table of numbers that each lane names: the first where its index is below, the last beyond."""
    return functions_of(index).looked_up(table, index)


def minimum(x: Scalar, y: Scalar) -> Scalar:
    return functions_of(x, y).minimum(x, y)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    return functions_of(x, y).maximum(x, y)


def where(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """x where the condition holds, else y. Both are evaluated: neither may fail where it is not chosen."""
    return functions_of(condition, x, y).where(condition, x, y)


def each(rows: Sequence[Scalars], build: Build) -> list[list[Scalar]]:
    """build(row) for each row of scalars; where that is traced and long, it becomes one loop instead of much code.

    Rows are of equal length, and `build` is the same for all: it may not look at the values to decide what to do.
    """
    scalars = [x for row in rows for x in row]
    return functions_of(*scalars).each(rows, build) if scalars else [build([]) for _ in rows]


def is_number(x: Scalar) -> bool:
    """Whether x is one plain number (not lanes, not symbolic)."""
    return isinstance(x, (int, float, np.number, Fraction)) and not isinstance(x, np.complexfloating)


def is_zero(x: Scalar) -> bool:
    """Whether x is known to be zero: what it multiplies need not be written down.

    That is the plain number, SymPy's, and an expression that was folded to it. Lanes have values, and no structure.
    """
    if is_number(x):
        return bool(x == 0)
    if isinstance(x, np.ndarray) or not getattr(x, "is_Number", True):  # SymPy would try to evaluate an expression
        return False
    try:
        return float(x) == 0
    except TypeError:  # it has no value yet
        return False


def scalar_problem(x: Any) -> str | None:
    """What keeps x from being a scalar, in words: it is not finite, not real, or of no kind that qdot knows."""
    if is_number(x):
        return None if math.isfinite(x) else f"{x} is not a finite number"
    if isinstance(x, np.ndarray):
        if x.ndim != 1 or x.dtype.kind not in "fiu":
            return f"an array of shape {x.shape} and type {x.dtype} is not one number for each row of a batch"
        return None if np.isfinite(x).all() else "an entry is not a finite number"
    try:
        functions_of(x)
    except ScalarError:
        return f"{x!r} is neither a number nor a symbol"
    if not hasattr(x, "__mul__"):
        return f"{x!r} is not a number"
    if getattr(x, "is_number", False) and not (x.is_finite and x.is_real):  # a SymPy constant
        return f"{x} is not a finite real number"
    return None


def plain(x: Scalar) -> Scalar:
    """A NumPy number as Python's own, which computes faster and prints as itself; anything else as it is."""
    return x.item() if isinstance(x, np.generic) else x


REAL = Functions(
    name="real number",
    rank=0,
    sin=math.sin,
    cos=math.cos,
    tan=math.tan,
    asin=math.asin,
    acos=math.acos,
    atan2=math.atan2,
    exp=math.exp,
    log=math.log,
    sqrt=math.sqrt,
    absolute=abs,
    sign=lambda x: 1 if x > 0 else -1 if x < 0 else 0,
    floor=math.floor,
    minimum=min,
    maximum=max,
    where=lambda condition, x, y: x if condition else y,
    tanh=math.tanh,
)


def _lanes_until_stopped(limit: int, state: list[Scalar], step: Trial, seen: list[Scalar]) -> list[Scalar]:
    active: Any = True
    with np.errstate(all="ignore"):  # a lane that has stopped is computed along, and may compute what is no number
        for _ in range(limit):
            go_on, new = step(state)
            active = active & go_on
            if not np.any(active):
                break
            if not np.all(active):
                new = [np.where(active, x, old) for x, old in zip(new, state, strict=True)]
            state = new
    return state


def _lanes_by_choice(
    condition: Scalar, given: list[Scalar], build: Build, otherwise: list[Scalar], seen: list[Scalar]
) -> list[Scalar]:
    if not np.any(condition):
        return otherwise
    with np.errstate(all="ignore"):
        built = build(given)
    return built if np.all(condition) else [np.where(condition, x, y) for x, y in zip(built, otherwise, strict=True)]


def _lanes_looked_up(table: Rows, index: Scalar) -> list[Scalar]:
    places = np.fmin(np.fmax(index, 0), len(table) - 1).astype(int)
    return list(np.array(table).T[:, places])


LANES = Functions(
    name="NumPy lanes",
    rank=1,
    sin=np.sin,
    cos=np.cos,
    tan=np.tan,
    asin=np.arcsin,
    acos=np.arccos,
    atan2=np.arctan2,
    exp=np.exp,
    log=np.log,
    sqrt=np.sqrt,
    absolute=np.abs,
    sign=np.sign,
    floor=np.floor,
    minimum=np.minimum,
    maximum=np.maximum,
    where=np.where,
    tanh=np.tanh,
    looked_up=_lanes_looked_up,
    iterated=_lanes_until_stopped,
    where_needed=_lanes_by_choice,
)

register(int, REAL)
register(float, REAL)
register(Fraction, REAL)
register(np.ndarray, LANES)
register(np.generic, LANES)
register(np.float64, REAL)  # a float that NumPy made
register(np.bool_, REAL)
