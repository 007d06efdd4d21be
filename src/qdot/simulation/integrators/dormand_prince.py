"""The method of Dormand and Prince, order 5 with an error estimate of order 4, on the manifold; dense output.

Steps have the length that the tolerances allow, however long or short dt is: they run ahead of the records, and a
record is a point of the curve through the last step (Hairer, Nørsett, Wanner, Solving Ordinary Differential
Equations I, II.4–6), with k₀ the mean rate of the step,

    u(θ) = θ h (k₀ + (1 - θ) (k₁ - k₀ + θ (2 k₀ - k₁ - k₇ + (1 - θ) Σ dᵢ kᵢ))),   q(θ) = q ⊕ u(θ)

So records cost next to nothing, and dt changes neither the steps nor their accuracy, but where it bounds them (see
`longest`); to shorten steps so that they end at records would take seven evaluations a record at least. A step that has
run ahead is given up where inputs from outside change: the next starts from the record. Limits and dry friction are
those of steps of length dt, so with them every record is a start.

A record that is projected on constraints is a point for itself; the run goes on from the end of its own step, which is
projected as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import ClassVar

from qdot.algebra import (
    Scalar,
    absolute,
    is_number,
    iterated,
    map_scalars,
    maximum,
    minimum,
    scalars_in,
    sqrt,
    where,
    where_needed,
)
from qdot.algorithms.configuration import difference
from qdot.errors import ValueShapeError
from qdot.model.model import Model
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.integrators.munthe_kaas import stage
from qdot.simulation.integrators.remembered import chosen, filled
from qdot.simulation.phase import Phase, Rates
from qdot.simulation.system import Inputs, System

STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
"""Of the second stage and on. The last is at the end of the step: its weights are those of the mean rate k₀."""

ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
"""What the mean of order 5 has more than that of order 4."""

BEND = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
"""dᵢ: the part of the curve of highest degree."""

MOST_STEPS = 100_000
"""Steps between two records: more would never end."""

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
"""Of the length that would just do; and what the next may be of the last, at least and at most."""

MOST_RECORDS = 100
"""Steps do not grow beyond so many dt: near the start of a far longer one, its curve is the small difference of large
numbers."""

MOST_RECORDS_OF_FUNCTIONS = 2
"""The same where users' functions act, which may do something short: stages are half a step apart at most."""

GIVEN_UP = -1.0
"""The next length, where so many steps did not reach the record."""


@dataclass(frozen=True)
class Piece:
    """The last step as a curve, and what the next one is to be."""

    next: Scalar
    """Length of the next step [s]; zero is not chosen yet."""
    error: Scalar
    """Of the last trial, in units of what is allowed; more than 1 where it was rejected."""
    length: Scalar
    """Of the last step [s]; zero before the first."""
    start: Phase
    curve: list[Rates]
    """k₀, k₁ - k₀, 2 k₀ - k₁ - k₇, Σ dᵢ kᵢ."""
    control: Sequence[Scalar]
    tau: Sequence[Scalar]

    holds_scalars: ClassVar[bool] = True

    @property
    def end(self) -> Scalar:
        return self.start.time + self.length

    def at(self, model: Model, time: Scalar) -> Phase:
        """The point of the curve at a time."""
        x = (time - self.start.time) / where(self.length > 0, self.length, 1.0)
        left = 1 - x
        rates = Rates.combined([1.0, left, x * left, x * left * left], self.curve)
        return replace(self.start.moved(model, rates, x * self.length), time=time)


@dataclass(frozen=True)
class DormandPrince(Integrator):
    """Steps as long as the error of each is at most atol + rtol |x|, in every velocity, activation and coordinate (of a
    quaternion: the turn from neutral). The ledger has no say, so that keeping it changes no motion.

    `first` is the length of the first step that is tried [s], dt unless given; a run fails where one would have to be
    below `shortest`. None is longer than `longest`. Where that is not given, and users' functions act (control, tau,
    forces, constraints), no step is longer than 2 dt: so something always looks at what lasts for dt, as a pulse of a
    control may. What is shorter can be stepped over: take a shorter dt, or give `longest`.
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    first: float | None = None
    shortest: float = 1e-12
    longest: float | None = None

    name = "dormand-prince"
    order = 5

    def __post_init__(self) -> None:
        for field in ("rtol", "atol", "first", "shortest", "longest"):
            value = getattr(self, field)
            if value is None and field in ("first", "longest"):
                continue
            if not is_number(value) or not (value > 0 or (value == 0 and field == "rtol")):
                raise ValueShapeError(f"DormandPrince's {field} is a positive number, got {value!r}")
        longest = inf if self.longest is None else self.longest
        if not self.shortest <= (self.first or longest) <= longest:
            raise ValueShapeError(
                f"DormandPrince needs shortest ≤ first ≤ longest, got {self.shortest}, {self.first}, {self.longest}"
            )

    def memory(self, system: System) -> list[float]:
        return list(scalars_in(self._blank(system)))

    def failure(self, memory: Sequence[float]) -> str | None:
        """Why no step was possible, where one was not; the state is NaN then."""
        if memory[0] == GIVEN_UP:
            return f"{MOST_STEPS} steps did not lead to the next record; raise rtol and atol, or take a shorter dt"
        if 0 < memory[0] < self.shortest:
            return (
                f"any step longer than {self.shortest:g} s has too large an error: something is not smooth or not "
                "finite there, or rtol and atol are below rounding"
            )
        return None

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        target = phase.time + dt
        piece = self._begun(phase, inputs, dt, filled(self._blank(system), memory))

        def go_on(piece: Piece) -> tuple[Scalar, Piece]:
            short = (piece.end < target) & (piece.next >= self.shortest)
            return short, where_needed(short, piece, lambda p: self._tried(system, p, inputs, dt), piece)

        piece = iterated(MOST_STEPS, piece, go_on)
        reached = piece.end >= target
        gave_up = where(reached, piece.next, where(piece.next >= self.shortest, GIVEN_UP, piece.next))
        there = piece.at(system.model, target)
        found = map_scalars(lambda x: where(reached, x, nan), there)
        return Stepped(replace(found, time=target), list(scalars_in(replace(piece, next=gave_up))))

    def _blank(self, system: System) -> Piece:
        """Before the first step."""
        model, works = system.model, len(system.ledger)

        def zeros(*sizes: int) -> list[list[float]]:
            return [[0.0] * size for size in sizes]

        start = Phase(0.0, model.neutral().tolist(), *zeros(model.nv, model.na, works))
        curve = [Rates(*zeros(model.nv, model.nv, model.na, works)) for _ in range(4)]
        return Piece(self.first or 0.0, 1.0, 0.0, start, curve, *zeros(model.nu, model.nv))

    def _begun(self, phase: Phase, inputs: Inputs, dt: Scalar, piece: Piece) -> Piece:
        """The piece to go on from: the last one, or none yet from this phase on."""
        size = where(piece.next == 0, self._bounded(maximum(dt, self.shortest)), piece.next)
        if inputs.held is not None:  # what runs ahead is lost: a step that ends at the record is nearer, and no dearer
            size = maximum(minimum(size, dt), self.shortest)
        fresh = replace(piece, next=size, length=0.0, start=phase, control=list(inputs.control), tau=list(inputs.tau))
        if inputs.held is not None:
            return fresh
        given = zip([*inputs.control, *inputs.tau], [*piece.control, *piece.tau], strict=True)
        changed = sum((absolute(x - y) for x, y in given), start=0)
        return chosen((piece.length <= 0) | (changed > 0), fresh, piece)

    def _tried(self, system: System, piece: Piece, inputs: Inputs, dt: Scalar) -> Piece:
        """The next step where its error is allowed, else the same piece; and the length to try next."""
        model, h = system.model, piece.next
        end = piece.start.moved(model, piece.curve[0], piece.length)
        begin = system.settled(piece.start, end, replace(inputs, held=None), piece.length)
        k = [system.rates(begin, inputs, h)]
        for weights in STAGES:
            k.append(stage(system, begin, inputs, h, weights, k))
        mean, last = Rates.combined(STAGES[-1], k[:-1]), k[-1]
        error = self._error(model, begin, begin.moved(model, mean, h), Rates.combined(ERROR, k), h)
        accepted = error <= 1
        most = maximum(h, self._most_records(system) * dt)
        size = self._bounded(minimum(h * _factor(error, piece.error), most))
        done = Piece(
            next=size,
            error=maximum(error, 1e-4),
            length=h,
            start=begin,
            curve=[
                mean,
                Rates.combined([1.0, -1.0], [k[0], mean]),
                Rates.combined([2.0, -1.0, -1.0], [mean, k[0], last]),
                Rates.combined(BEND, k),
            ],
            control=piece.control,
            tau=piece.tau,
        )
        return chosen(accepted, done, replace(piece, next=size, error=2.0))

    def _bounded(self, size: Scalar) -> Scalar:
        return size if self.longest is None else minimum(size, self.longest)

    def _most_records(self, system: System) -> int:
        setup = system.setup
        functions = setup.control is not None or setup.tau is not None or setup.forces or setup.constraints
        return MOST_RECORDS_OF_FUNCTIONS if functions and self.longest is None else MOST_RECORDS

    def _error(self, model: Model, begin: Phase, end: Phase, rates: Rates, h: Scalar) -> Scalar:
        """The error of all entries, each in units of what is allowed, as the length of a vector: what is not a number
        makes it so, as a maximum might not."""
        neutral = model.neutral().tolist()
        before = [*difference(model, neutral, begin.q), *begin.v, *begin.activation]
        after = [*difference(model, neutral, end.q), *end.v, *end.activation]
        errors = [*rates.q, *rates.v, *rates.activation]
        allowed = [
            self.atol + self.rtol * maximum(absolute(x), absolute(y)) for x, y in zip(before, after, strict=True)
        ]
        return sqrt(sum(((h * e / most) ** 2 for e, most in zip(errors, allowed, strict=True)), start=0.0))


def _factor(error: Scalar, last: Scalar) -> Scalar:
    """The next length by the last, with a PI controller (Gustafsson 1991); after a rejection nothing grows."""
    known = where(error < 1e12, maximum(error, 1e-10), 1e12)  # what is not a number is too large
    wanted = SAFETY * known**-0.17 * minimum(last, 1.0) ** 0.04
    most = where(error <= 1, where(last > 1, 1.0, GROW), SAFETY)
    return minimum(maximum(wanted, SHRINK), most)
