"""What every integrator answers: one step from a phase to the next, as a text over any scalar."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from qdot.algebra import Scalar
from qdot.simulation.phase import Phase
from qdot.simulation.system import Inputs, System


@dataclass(frozen=True)
class Stepped:
    """Where a step led, and what the integrator remembers for the next."""

    phase: Phase
    memory: Sequence[Scalar] = ()

    holds_scalars: ClassVar[bool] = True


class Integrator(ABC):
    """A rule for one step. `order` p: the error after a given time shrinks like dtᵖ."""

    name: ClassVar[str]
    order: ClassVar[int]
    settles: ClassVar[bool] = False
    """Whether a step ends on the constraints by itself, so that nothing is projected or stabilised."""
    takes_soft: ClassVar[bool] = True
    """Whether forces that follow from the acceleration act in a step, as those of soft contact do."""

    def memory(self, system: System) -> list[float]:
        """What is remembered from step to step, as it is at the start."""
        return []

    @abstractmethod
    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        """The phase dt seconds later; constraints are not projected yet."""

    def failure(self, memory: Sequence[float]) -> str | None:
        """Why no step was possible and the state is NaN, by what is remembered; None where that is not known."""
        return None
