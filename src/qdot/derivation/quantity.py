"""What a quantity of a derivation is: computed when it is first asked for, and compared before it is given out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qdot.derivation.check import Case
from qdot.derivation.ring import TooLong
from qdot.errors import DerivationError

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation


def quantity(
    reference: Callable[[Case], Any], *, by_rows: bool = False
) -> Callable[[Callable[[Derivation], Any]], Any]:
    """A quantity of a derivation: computed once, then compared with what the engine says, each freedom `by_rows`."""

    def decorated(compute: Callable[[Derivation], Any]) -> Any:
        def value(derivation: Derivation) -> Any:
            rows = max(1, derivation.model.nv) if by_rows else 1
            try:
                found = compute(derivation)
            except TooLong:
                raise DerivationError(
                    f"{compute.__name__} of model {derivation.model.name!r} has choices within choices, as of a tendon "
                    "that winds round something, and nobody could read it; text(), numpy() and steps() have it as steps"
                ) from None
            return derivation._checked(compute.__name__, found, reference, rows)

        value.__doc__ = compute.__doc__
        return cached_property(value)

    return decorated
