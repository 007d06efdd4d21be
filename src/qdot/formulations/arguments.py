"""What people pass to formulations: vectors, matrices, masses and functions, checked and split into scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Scalar, as_array, is_number, plain, scalar_problem, scalars_in
from qdot.algebra.linalg import Matrix
from qdot.errors import ScalarError, SingularError, ValueShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Arguments:
    """The arguments of one call. A batch adds an axis in front; all that have one must agree on it."""

    def __init__(self, call: str) -> None:
        self.call = call
        self.batch: tuple[int, ...] = ()

    def vector(self, name: str, value: Any, size: int | None = None) -> list[Scalar]:
        """n scalars of (n,), n lanes of (batch, n)."""
        array = self._array(name, value, 1)
        if size is not None and array.shape[-1] != size:
            raise self._refusal(name, f"has {array.shape[-1]} entries where {size} are needed")
        return self._scalars(name, array, 1)

    def matrix(self, name: str, value: Any, columns: int | None = None) -> Matrix:
        """Rows of (rows, columns) or (batch, rows, columns); () stands for no rows."""
        if isinstance(value, (list, tuple)) and len(value) == 0:
            return []
        array = self._array(name, value, 2)
        if 0 in array.shape[-2:]:
            return [[] for _ in range(array.shape[-2])]
        if columns is not None and array.shape[-1] != columns:
            raise self._refusal(name, f"has {array.shape[-1]} columns where {columns} are needed")
        flat = self._scalars(name, array.reshape((*array.shape[:-2], -1)), 1)
        return [flat[k : k + array.shape[-1]] for k in range(0, len(flat), array.shape[-1])]

    def inertia(self, value: Any, size: int) -> Matrix:
        """D, size × size: a matrix as it is, masses on the diagonal, each for as many entries as fit."""
        listed = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)
        if not listed or not len(value):
            raise self._refusal("masses", f"are a list of masses or a matrix; got {value!r}")
        if not isinstance(value[0], (list, tuple, np.ndarray)):
            masses = self.vector("masses", value)
            if not masses or size % len(masses):
                raise self._refusal("masses", f"are {len(masses)}, which does not fit {size} coordinates")
            repeat = size // len(masses)
            D = [[masses[i // repeat] if i == k else 0 for k in range(size)] for i in range(size)]
        else:
            D = self.matrix("masses", value, size)
            if len(D) != size:
                raise self._refusal("masses", f"are a matrix of {len(D)} rows where {size} are needed")
        self._require_definite(D)
        return D

    def number(self, name: str, value: Any) -> Scalar:
        """One scalar above zero, or a symbol."""
        if np.ndim(value) or (problem := scalar_problem(value)) is not None:
            raise self._refusal(name, f"is one number; got {value!r}" if np.ndim(value) else f"cannot be: {problem}")
        if is_number(value) and not value > 0:
            raise self._refusal(name, f"is a number above zero; got {value!r}")
        return plain(value)

    def packed(self, result: Any) -> Any:
        return as_array(result, self.batch)

    def array(self, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Scalars as one array of floats, with a row for each of the batch (one where there is none)."""
        return as_array(value, self.batch).reshape((*(self.batch or (1,)), *shape)).astype(float)

    def _array(self, name: str, value: Any, axes: int) -> NDArray[Any]:
        try:
            array = np.asarray(value)
        except ValueError:
            raise self._refusal(name, "is ragged: its rows have different lengths") from None
        if array.dtype.kind == "O" and all(is_number(x) for x in array.flat):
            array = array.astype(float)
        batched = array.ndim == axes + 1
        if (
            array.dtype.kind not in "Ofiub"
            or not (array.ndim == axes or batched)
            or (array.dtype == object and batched)
        ):
            shape = "(n,) or (batch, n)" if axes == 1 else "(rows, columns) or (batch, rows, columns)"
            raise self._refusal(name, f"is {shape}, of numbers or symbols; got {value!r}")
        if batched:
            if not len(array):
                raise self._refusal(name, f"is a batch without rows, of shape {array.shape}; give one row or more")
            self._agree(name, len(array))
        return array

    def _agree(self, name: str, rows: int) -> None:
        if self.batch not in ((), (rows,)):
            raise self._refusal(name, f"has {rows} rows, other arguments {self.batch[0]}; they must agree")
        self.batch = (rows,)

    def _scalars(self, name: str, array: NDArray[Any], axes: int) -> list[Scalar]:
        if array.ndim == axes:  # whole numbers stay whole: among symbols they are exact
            scalars = [int(x) if array.dtype.kind == "b" else plain(x) for x in array]
        else:
            scalars = list(np.ascontiguousarray(array.T.astype(float)))
        for k, x in enumerate(scalars):
            problem = scalar_problem(x)
            if problem is not None:
                raise self._refusal(name, f"cannot be at entry {k}: {problem}")
        return scalars

    def _require_definite(self, D: Matrix) -> None:
        if not numeric(D):
            return
        array = self.array(D, (len(D), len(D)))
        if not np.allclose(array, np.swapaxes(array, 1, 2), rtol=1e-9, atol=1e-12 * np.abs(array).max()):
            raise self._refusal("masses", "as a matrix must be symmetric")
        values = np.linalg.eigvalsh(array)
        if (values[:, 0] <= 1e-14 * values[:, -1]).any():
            raise SingularError(f"{self.call}: the inertia is not positive: every coordinate needs a mass above zero")

    def _refusal(self, name: str, problem: str) -> ValueShapeError:
        return ValueShapeError(f"{self.call}: {name} {problem}")


def numeric(value: Any) -> bool:
    """Whether all scalars are numbers or lanes of them."""
    return all(is_number(x) or isinstance(x, np.ndarray) for x in scalars_in(value))


def require_smooth(call: str, name: str, derivatives: Any) -> None:
    """Raise where the derivatives of a user's function are not finite; a batch divides by zero without a word."""
    if not all(np.all(np.isfinite(x)) for x in scalars_in(derivatives) if numeric(x)):
        raise ScalarError(f"{call}: {name} has no finite derivative there; start from where it is smooth")
