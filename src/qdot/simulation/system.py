"""A model and all that acts on it, as one text over any scalar: from a phase to its rates.

    M a + c + g = Σ forces + Jᵀ λ,   J a + b = 0

Forces are those of the model (springs, dampers, actuators …), joint forces given from outside, and users' functions;
constraints are the model's own and users'. Limits and dry friction are in `bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, Protocol

from qdot.algebra import Scalar, Scalars, where
from qdot.algebra.linalg import Matrix, dot
from qdot.algebra.rounding import or_rounding
from qdot.algebra.sparse import Row
from qdot.algorithms.aba import accelerations
from qdot.algorithms.actuators import activation_rates, actuation_in_step, later_activations, within_ranges
from qdot.algorithms.configuration import carried_rate, retract
from qdot.algorithms.constraints.own import own_rows, row_counts
from qdot.algorithms.constraints.rows import Rows, dense, is_of_velocities, times, transposed_times
from qdot.algorithms.constraints.solvers import Mass, Solver, solver_for
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.energy import energy
from qdot.algorithms.frames import Choice, body_frames
from qdot.algorithms.limits import limited, rubbing
from qdot.algorithms.maps import added
from qdot.algorithms.passive import passive_terms
from qdot.algorithms.rnea import newton_euler
from qdot.contact.gauss import Found, Problem
from qdot.contact.kinds import Hard, Impulse, Kind, Lcp, Penalty
from qdot.contact.penalty import penalty
from qdot.contact.points import told
from qdot.contact.problem import largest
from qdot.contact.soft import CAUSES as SOFT_CAUSES, Soft
from qdot.contact.weights import Weights
from qdot.model.model import Model
from qdot.simulation.bounds import Holding, LimitKind, Stops, held, stopped
from qdot.simulation.events import Event
from qdot.simulation.forces import AppliedForce, numbers_of
from qdot.simulation.phase import Phase, Rates
from qdot.simulation.softly import softly
from qdot.simulation.stabilisation import GearGuptaLeimkuhler, Projection, Stabilisation, pull

ROUNDING = 1e-12
"""Of how a row answers: what constraints leave of it where they hold it."""


class Constraint(Protocol):
    """A constraint that a user adds."""

    @property
    def name(self) -> str: ...

    def rows(self, model: Model, time: Scalar, q: Scalars, v: Scalars) -> Rows: ...


@dataclass(frozen=True)
class Setup:
    """What a simulation adds to a model, and how it treats constraints.

    `control` and `tau` are functions of (time, q, v) that are compiled with the rest: controls of the actuators, and
    joint forces.
    """

    constraints: tuple[Constraint, ...] = ()
    forces: tuple[AppliedForce, ...] = ()
    control: Callable[..., Any] | None = None
    tau: Callable[..., Any] | None = None
    solver: str = "auto"
    stabilisation: Stabilisation = field(default_factory=Projection)
    limits: LimitKind | None = field(default_factory=Stops)
    contact: Kind | None = None
    residuals: bool = False
    """Whether those of contacts that push by forces are recorded; those of others always are."""
    events: tuple[Event, ...] = ()
    ledger: bool = False
    row_counts: tuple[int, ...] = ()
    """Of the constraints; counted where the model is at home, unless given."""
    shapes: str = ""
    """Which may touch: compiled steps are kept by it."""


@dataclass(frozen=True)
class Inputs:
    """What stays the same during a step: controls, (nu,), and joint forces, (nv,), from outside; its length [s]; what
    holds; and a guess from which contacts are solved: of the acceleration, (nv,), or of impulses."""

    control: Sequence[Scalar]
    tau: Sequence[Scalar]
    dt: Scalar = 0
    held: Holding | None = None
    guess: Sequence[Scalar] = ()

    def holding(self, held: Holding) -> Inputs:
        return replace(self, held=held)


@dataclass(frozen=True)
class Acting:
    """What a system does at a phase: its rates, the joint forces by cause, and the force of each constraint row."""

    rates: Rates
    forces: dict[str, list[Scalar]]
    multipliers: list[Scalar]


@dataclass(frozen=True)
class System:
    model: Model
    setup: Setup
    frames: Choice = body_frames
    weights: Weights | None = None
    """How easily things move, of soft contact, where constants of the model are no numbers."""

    # -- forces --------------------------------------------------------------------------------------------------------

    def forces(self, phase: Phase, inputs: Inputs) -> dict[str, list[Scalar]]:
        """Joint forces by cause, (nv,) each [N·m, N]; all but those of springs, which have a potential, are in the
        ledger."""
        model, setup, t, q, v = self.model, self.setup, phase.time, phase.q, phase.v
        found = dict(passive_terms(model, q, v))
        if inputs.held is not None:
            rubs = [place.gradient for place in rubbing(model, q)]
            found["friction"] = transposed_times(rubs, inputs.held.rubs, model.nv)
            found["limits"] = inputs.held.limits
            found["contacts"] = inputs.held.contacts
        elif self.soft is not None:
            found["friction"] = [0] * model.nv  # is soft, too
        found["actuators"] = actuation_in_step(model, q, v, self.controls(phase, inputs), phase.activation, inputs.dt)
        given = list(inputs.tau)
        if setup.tau is not None:
            more = numbers_of(setup.tau(t, q, v), model.nv, "tau", "one for each freedom")
            given = [x + y for x, y in zip(given, more, strict=True)]
        found["joint forces"] = given
        for force in setup.forces:
            found[force.name] = force.at(model, t, q, v)
        if isinstance(setup.contact, Penalty):
            pushed, missed = penalty(model, q, v, setup.contact)
            self.missed.append(missed)
            found["contacts"] = [where(missed > 0, inf, x) for x in pushed]
        return found

    def controls(self, phase: Phase, inputs: Inputs) -> list[Scalar]:
        """The controls that act, (nu,)."""
        if self.setup.control is None:
            return list(inputs.control)
        given = self.setup.control(phase.time, phase.q, phase.v)
        return numbers_of(given, self.model.nu, "control", "one for each actuator")

    @cached_property
    def ledger(self) -> list[str]:
        """What the ledger accounts for: forces by cause but for those with a potential, then what constraints do."""
        if not self.setup.ledger:
            return []
        users = [force.name for force in self.setup.forces]
        own = ["dampers", "friction", "compensation", "fluid", "actuators", "joint forces"]
        bounds = ["limits", "impacts"] if self.is_bounded or self.limits is not self.setup.limits else []
        if self.soft is not None:
            return [*own, *users, *(cause for cause in SOFT_CAUSES if cause not in own)]
        contacts = ["contacts"] if self.setup.contact is not None else []
        return [*own, *users, *bounds, *contacts, *(["constraints", "stabilisation"] if self.row_count else [])]

    # -- contacts ------------------------------------------------------------------------------------------------------

    @property
    def soft(self) -> Soft | None:
        """Soft contact, which makes constraints, limits and dry friction soft as well."""
        return self.setup.contact if isinstance(self.setup.contact, Soft) else None

    @property
    def limits(self) -> LimitKind | None:
        """How limits are treated by themselves; hard ones are among the contacts where these are solved for
        velocities."""
        limits = self.setup.limits
        together = isinstance(self.setup.contact, (Hard, Lcp, Impulse)) and isinstance(limits, Stops)
        return None if together else limits

    # -- constraints ---------------------------------------------------------------------------------------------------

    @cached_property
    def row_count(self) -> int:
        """How many rows all constraints have."""
        return len(self.row_names)

    @cached_property
    def row_names(self) -> list[str]:
        """For each row, the constraint that it belongs to; none where constraints are soft."""
        if self.soft is not None:
            return []
        named = [name for name, count in row_counts(self.model).items() for _ in range(count)]
        counts = self.setup.row_counts or self.counted(0.0, self.model.home().tolist())
        for constraint, count in zip(self.setup.constraints, counts, strict=True):
            named += [constraint.name] * count
        return named

    def starting(self, time: Scalar, q: Scalars) -> System:
        """The same, with rows counted at the state that it starts in: users' functions may not hold at home."""
        shapes = told(self.model) if self.setup.contact is not None else ""
        return replace(self, setup=replace(self.setup, row_counts=self.counted(time, q), shapes=shapes))

    def counted(self, time: Scalar, q: Scalars) -> tuple[int, ...]:
        """How many rows each of the users' constraints has, at some state."""
        rest = [0.0] * self.model.nv
        return tuple(len(constraint.rows(self.model, time, q, rest).J) for constraint in self.setup.constraints)

    def rows(self, time: Scalar, q: Scalars, v: Scalars) -> Rows:
        """Of all constraints that hold exactly, the model's own first."""
        if self.soft is not None:
            return Rows.joined([])
        return Rows.joined(
            [*own_rows(self.model, q, v), *(c.rows(self.model, time, q, v) for c in self.setup.constraints)]
        )

    def mass(self, q: Scalars) -> Mass:
        return Mass(mass_matrix(self.model, q, frames=self.frames))

    def solver(self, mass: Mass, rows: Rows) -> Solver:
        return solver_for(self.setup.solver, len(rows.J), self.model.nv)(mass, rows.J)

    def drift(self, phase: Phase) -> list[Scalar]:
        """The largest |φ| and the largest |φ̇| of all rows."""
        rows = self.rows(phase.time, phase.q, phase.v)
        return [largest(rows.phi), largest(rows.rate)]

    # -- limits and dry friction ---------------------------------------------------------------------------------------

    @cached_property
    def is_bounded(self) -> bool:
        """Whether anything holds during a step or strikes at its end: limits or dry friction by themselves, bodies that
        strike each other."""
        if self.soft is not None:
            return False
        if isinstance(self.setup.contact, Impulse):
            return True
        q = self.model.home().tolist()
        return bool(rubbing(self.model, q) or (self.limits is not None and limited(self.model, q)))

    def engaged(self, phase: Phase, inputs: Inputs, dt: Scalar) -> Inputs:
        """With what limits and friction do during the step that begins here."""
        if not self.is_bounded:
            return inputs
        return inputs.holding(held(self, phase, inputs, dt, self.limits))

    def answer(self, phase: Phase, J: Sequence[Row]) -> tuple[Matrix, Matrix]:
        """How rows answer to forces along them, J A Jᵀ, and A Jᵀ by columns."""
        columns = self.answers(phase, J)
        return [times(J, c) for c in columns], columns

    def answers(self, phase: Phase, J: Sequence[Row]) -> Matrix:
        """A Jᵀ by columns: A is M⁻¹, or under constraints what T9 makes of it; of what these hold, nothing."""
        mass = self.mass(phase.q)
        columns = [mass.solve(row) for row in dense(J, self.model.nv)]
        if self.row_count:
            rows = self.rows(phase.time, phase.q, phase.v)
            solver = self.solver(mass, rows)
            for k, free in enumerate(columns):
                c = added(free, solver.correction([-z for z in times(rows.J, free)])[0])
                rounding = or_rounding(ROUNDING, 256) * times(J[k : k + 1], free)[0]
                moves = where(times(J[k : k + 1], c)[0] > rounding, 1.0, 0.0)
                columns[k] = [moves * x for x in c]
        return columns

    # -- motion --------------------------------------------------------------------------------------------------------

    def acting(self, phase: Phase, inputs: Inputs, dt: Scalar, *, chord: bool = False) -> Acting:
        """The rates at a phase; `dt` is the length of the step that they are for.

        On a `chord`, q moves along the new velocity during the whole step (see `chord_share`), and what turning axes do
        to velocities is left to `carried`.
        """
        model, q, v = self.model, phase.q, phase.v
        forces = self.forces(phase, inputs)
        total = [sum(column) for column in zip(*forces.values(), strict=True)]
        multipliers: list[Scalar] = []
        velocity: Sequence[Scalar] = v
        if self.soft is not None:
            found = softly(self, self.soft, phase, inputs, total)
            a = found.a
            forces |= found.forces
        elif not self.row_count:
            a = accelerations(model, q, v, total, frames=self.frames)
        else:
            rows, mass = self.rows(phase.time, q, v), self.mass(q)
            solver = self.solver(mass, rows)
            c, _ = newton_euler(model, q, v, [0] * model.nv, frames=self.frames)
            free = mass.solve([f - x for f, x in zip(total, c, strict=True)])
            pulled = pull(self.setup.stabilisation, rows, dt)
            missing = [-(b + s + x) for b, s, x in zip(rows.bias, pulled, times(rows.J, free), strict=True)]
            change, multipliers = solver.correction(missing)
            a = [x + y for x, y in zip(free, change, strict=True)]
            if chord and self.chord_share != 1:
                turned = times(rows.J, carried_rate(model, v))
                back = [(1 - self.chord_share) * (b + x) for b, x in zip(rows.bias, turned, strict=True)]
                a = [x + y for x, y in zip(a, solver.correction(back)[0], strict=True)]
            velocity = self._led_back(rows, solver, v, dt)
            forces["constraints"] = transposed_times(rows.J, multipliers, model.nv)
        if chord:
            a = [x - y for x, y in zip(a, carried_rate(model, v), strict=True)]
        powers = [dot(forces[name], v) if name in forces else 0 for name in self.ledger]
        rates = Rates(velocity, a, self.activation_rates_of(phase, inputs), powers)
        return Acting(rates, {name: forces.get(name, [0] * model.nv) for name in self.ledger}, multipliers)

    @property
    def may_tunnel(self) -> bool:
        """Whether shapes could pass through each other unseen: hard contacts look ahead."""
        return self.setup.contact is not None and not isinstance(self.setup.contact, (Hard, Lcp))

    @cached_property
    def softened(self) -> dict[int, tuple[Phase, Problem, Found]]:
        """What was solved where something is soft, by the phase."""
        return {}

    @cached_property
    def missed(self) -> list[Scalar]:
        """How many contacts between bodies found no room, each time that they were looked for."""
        return []

    def pushed(self, phase: Phase, inputs: Inputs) -> list[Scalar]:
        """Joint forces of contacts and all else that is soft, (nv,); zero where nothing is."""
        if self.soft is None:
            return [0] * self.model.nv
        return [sum(x) for x in zip(*softly(self, self.soft, phase, inputs).forces.values(), strict=True)]

    @property
    def chord_share(self) -> float:
        """How much of b acts on an acceleration that leads q along a chord: φ(q ⊕ dt v') = 0 asks for J v' = -½ dt b.

        Where velocities are led back afterwards, that is the whole of it, and the speed stays (as in RATTLE); the full
        b would add energy each step. Where they are not, accelerations have to turn v by themselves.
        """
        return 0.5 if isinstance(self.setup.stabilisation, (Projection, GearGuptaLeimkuhler)) else 1.0

    def rates(self, phase: Phase, inputs: Inputs, dt: Scalar) -> Rates:
        return self.acting(phase, inputs, dt).rates

    def later_activations(self, phase: Phase, inputs: Inputs, dt: Scalar) -> list[Scalar]:
        """The activations after a step of an integrator of first order."""
        if not self.model.na:
            return []
        return later_activations(self.model, self.controls(phase, inputs), phase.activation, dt)

    def activation_rates_of(self, phase: Phase, inputs: Inputs) -> list[Scalar]:
        if not self.model.na:
            return []
        return activation_rates(self.model, self.controls(phase, inputs), phase.activation)

    def _led_back(self, rows: Rows, solver: Solver, v: Sequence[Scalar], dt: Scalar) -> Sequence[Scalar]:
        """q̇, which may differ from v to lead positions back."""
        kind = self.setup.stabilisation
        if not isinstance(kind, GearGuptaLeimkuhler):
            return v
        wanted = [
            0 if is_of_velocities(phi) else -(kind.gain(dt) * phi + rate)
            for phi, rate in zip(rows.phi, rows.rate, strict=True)
        ]
        return [x + y for x, y in zip(v, solver.correction(wanted)[0], strict=True)]

    def settled(self, start: Phase, phase: Phase, inputs: Inputs, dt: Scalar) -> Phase:
        """The phase after a step from `start`: quaternions made unit, q and v on the constraints where projected."""
        model, kind = self.model, self.setup.stabilisation
        phase = replace(phase, activation=within_ranges(model, phase.activation))
        if inputs.held is not None:
            after = stopped(self, start, phase, inputs.held, dt, self.limits)
            phase = self.accounted("impacts", phase, after)
        if model.nq != model.nv:
            q = [x for body in model.bodies for x in body.joint.normalized(phase.q[body.qs])]
            phase = phase.changed(q=q)
        if not self.row_count or not isinstance(kind, Projection):
            return phase
        before = phase
        for _ in range(kind.rounds):
            rows = self.rows(phase.time, phase.q, phase.v)
            x, _ = self.solver(self.mass(phase.q), rows).correction([-e for e in rows.phi])
            phase = phase.changed(q=retract(model, phase.q, x))
        rows = self.rows(phase.time, phase.q, phase.v)
        x, _ = self.solver(self.mass(phase.q), rows).correction([-e for e in rows.rate])
        phase = phase.changed(v=[a + b for a, b in zip(phase.v, x, strict=True)])
        return self.accounted("stabilisation", before, phase)

    def accounted(self, entry: str, before: Phase, after: Phase) -> Phase:
        """The energy that a jump of the state has changed, in the ledger."""
        if entry not in self.ledger:
            return after
        change = energy(self.model, after.q, after.v) - energy(self.model, before.q, before.v)
        work = [w + change if name == entry else w for name, w in zip(self.ledger, after.work, strict=True)]
        return Phase(after.time, after.q, after.v, after.activation, work)
