"""Every exception qdot raises on purpose: each names the thing, the cause and the remedy.

All derive from `QdotError`, and from the built-in exception a caller would expect (`ValueError`, `KeyError`), so that
ordinary handlers keep working.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "CompileError",
    "ConvergenceError",
    "DerivationError",
    "GeometryError",
    "InertiaError",
    "JointError",
    "ModelError",
    "PictureError",
    "QdotError",
    "ScalarError",
    "SimulationError",
    "SingularError",
    "UnknownNameError",
    "ValueShapeError",
]


class QdotError(Exception):
    """Base of all errors of this package."""


class ModelError(QdotError, ValueError):
    """A mechanism that cannot be: cyclic parents, a name used twice, a missing parent, …"""


class JointError(QdotError, ValueError):
    """A joint that cannot be: a zero axis, limits that cross, …"""


class InertiaError(QdotError, ValueError):
    """An inertia no body can have: negative mass, a broken triangle inequality, …"""


class GeometryError(QdotError, ValueError):
    """A shape that encloses no volume, an open mesh, a density that does not integrate, …"""


class ScalarError(QdotError, TypeError):
    """Scalars of kinds that do not mix, or a kind that qdot does not know."""


class ValueShapeError(QdotError, ValueError):
    """A vector of the wrong length or shape, or with entries that are not finite numbers."""


class CompileError(QdotError, ValueError):
    """A function that cannot be compiled, or a target that is unknown."""


class ConvergenceError(QdotError, ArithmeticError):
    """An iteration that did not find what was asked for; the message says how far it came."""


class DerivationError(QdotError, ArithmeticError):
    """A derived equation that does not agree with the engine's numbers, or that cannot be written down."""


class PictureError(QdotError, RuntimeError):
    """A picture that cannot be drawn."""


class SingularError(QdotError, ArithmeticError):
    """Forward dynamics of a mechanism in which something moves without inertia."""


class SimulationError(QdotError, ArithmeticError):
    """A run that came to no number, or went out of hand; the message says where, why and what helps.

    `run` is the `Trajectory` up to the last good state, `time` [s] when that was, `row` which run of a batch failed
    (None for a single one), and `cause` the likely cause in a few words.
    """

    def __init__(self, message: str, *, time: float, run: Any, row: int | None, cause: str) -> None:
        super().__init__(message)
        self.time, self.run, self.row, self.cause = time, run, row, cause

    def __reduce__(self) -> tuple[Any, ...]:
        return _failed, (self.args[0], self.time, self.run, self.row, self.cause)


def _failed(message: str, time: float, run: Any, row: int | None, cause: str) -> SimulationError:
    return SimulationError(message, time=time, run=run, row=row, cause=cause)


class UnknownNameError(QdotError, KeyError):
    """A name the model does not have; the message offers the closest ones."""

    def __init__(self, kind: str, name: object, known: Iterable[str], where: str) -> None:
        names = sorted(known)
        near = get_close_matches(str(name), names, n=3) or names[:8]
        listed = ", ".join(repr(n) for n in near) if near else "none at all"
        super().__init__(f"{where} has no {kind} named {name!r}; did you mean: {listed}?")
        self.kind, self.name = kind, name

    def __str__(self) -> str:  # KeyError would print the repr, quotes and all
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[QdotError], tuple[str], dict[str, object]]:
        return (_rebuilt, (self.args[0],), {"kind": self.kind, "name": self.name})  # type: ignore[return-value]


def _rebuilt(message: str) -> UnknownNameError:
    error = UnknownNameError.__new__(UnknownNameError)
    error.args = (message,)
    return error
