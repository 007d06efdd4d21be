"""Why a step from a good state fails: numbers there, compared with what the integrator bears.

Forces f are linearised, K = -∂f/∂q and D = -∂f/∂v, and seen through A, the inverse inertia that constraints leave
(T9). The largest eigenvalues of A K dt² and A D dt say how stiff springs and dampers are for a step; explicit rules
bear a few only (Hairer, Wanner II, IV.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qdot.algebra import Scalars, as_array, derivative, scalars_in
from qdot.algorithms.actuators import actuation
from qdot.algorithms.bias import gravity_forces
from qdot.algorithms.conditioning import null_motions
from qdot.algorithms.configuration import retract, unit_velocity
from qdot.algorithms.constrained import CONTRADICTED, missed
from qdot.algorithms.constraints.rows import dense
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.maps import added
from qdot.errors import ConvergenceError
from qdot.model.model import Model
from qdot.simulation.integrators import Integrator
from qdot.simulation.phase import Phase
from qdot.simulation.projecting import Redundancy, positions_obeying, redundancy_of
from qdot.simulation.system import Inputs, System

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

BORNE = {
    "semi-implicit euler": (4.0, 2.0),
    "rk4": (8.0, 2.785),
    "implicit velocity": (4.0, inf),
    "dormand-prince": (inf, inf),
    "generalised alpha": (inf, inf),
    "variational": (inf, inf),
    "rattle": (inf, inf),
}
"""Stiffness·dt² and damping·dt up to which an integrator is stable."""

COMMON = 4.0, 2.0
"""The same of functions that are called once a step, and where nothing is known."""

EXPONENTS = 10.0
"""Of growth since the start: e¹⁰ is more than any motion that stays at hand."""

UNEQUAL = 1e7
ILL_CONDITIONED = 1e11
"""Ratio of neighbouring inertias, and condition of M: with ten digits lost, motion is rounding."""

FAR = 1.0
"""A step in which something moves so far [rad, or lengths of the model] is not resolved."""

SMALL = 1e-6
"""Difference with which functions that are called are differentiated."""


class Finding(NamedTuple):
    """A likely cause, and what helps."""

    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.cause}. {self.remedy}"


class Stiffest(NamedTuple):
    """The largest eigenvalue that forces of one cause have, and the freedom that moves most in it."""

    value: float
    freedom: str
    cause: str
    called: bool


@dataclass(frozen=True)
class Point:
    """A good state of a run, from which a step of dt failed; scalars are lanes of one, so that nothing raises."""

    system: System
    integrator: Integrator
    dt: float
    elapsed: float
    """Since the start [s]."""
    phase: Phase
    inputs: Inputs
    length: float
    """Of the model [m]."""
    called: Mapping[str, Callable[[Array, Array], Array]] = field(default_factory=dict)
    """"control" and "tau" where they are functions that are called once a step: of q and v."""

    @property
    def time(self) -> float:
        return float(numbers([self.phase.time])[0])

    # -- terms ---------------------------------------------------------------------------------------------------------

    @cached_property
    def M(self) -> Array:
        return numbers(mass_matrix(self.system.model, self.phase.q))

    @cached_property
    def J(self) -> Array:
        rows = self.system.rows(self.phase.time, self.phase.q, self.phase.v).J
        return numbers(dense(rows, self.system.model.nv)).reshape(len(rows), self.system.model.nv)

    @cached_property
    def inverse_inertia(self) -> Array:
        """A: accelerations for forces, as constraints leave them."""
        A = np.asarray(np.linalg.inv(self.M), dtype=float)
        if not len(self.J):
            return A
        G = self.J @ A
        held = G.T @ np.linalg.pinv(G @ self.J.T, rcond=1e-12, hermitian=True) @ G
        return np.asarray(A - held, dtype=float)

    @cached_property
    def slopes(self) -> dict[str, tuple[Array, Array]]:
        """K and D of the forces of each cause that has any."""
        system, phase = self.system, self.phase
        nv = system.model.nv

        def moved(x: Scalars) -> dict[str, Any]:
            forces = system.forces(phase.changed(q=retract(system.model, phase.q, x)), self.inputs)
            return forces | {"weight": [-g for g in gravity_forces(system.model, retract(system.model, phase.q, x))]}

        def faster(x: Scalars) -> dict[str, Any]:
            return system.forces(phase.changed(v=added(phase.v, x)), self.inputs)

        units = [unit_velocity(system.model, k) for k in range(nv)]
        along_q, along_v = ([derivative(f, e) for e in units] for f in (moved, faster))
        found = {}
        for name in along_q[0]:
            K = -np.stack([numbers(column[name]) for column in along_q], axis=1)
            D = -np.stack([numbers(column.get(name, [0] * nv)) for column in along_v], axis=1)
            found[name] = K, D
        return found | {name: self._called_slopes(name) for name in self.called}

    def _called_slopes(self, name: str) -> tuple[Array, Array]:
        """The same of a function that is called, by differences."""
        model, phase, f = self.system.model, self.phase, self.called[name]
        q, v = numbers(phase.q), numbers(phase.v)

        def force(at: Array, speed: Array) -> Array:
            given = f(at, speed)
            if name == "tau":
                return given
            return numbers(actuation(model, phase.q, phase.v, lanes(given), phase.activation))

        K, D = np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
        for k in range(model.nv):
            e = SMALL * np.eye(model.nv)[k]
            there = [np.array(retract(model, q.tolist(), x.tolist())) for x in (e, -e)]
            K[:, k] = -(force(there[0], v) - force(there[1], v)) / (2 * SMALL)
            D[:, k] = -(force(q, v + e) - force(q, v - e)) / (2 * SMALL)
        return K, D

    def stiffest(self, which: int) -> Stiffest:
        """Of stiffness (0) or damping (1), [1/s²] or [1/s]."""
        best = Stiffest(0.0, "", "", False)
        for cause, pair in self.slopes.items():
            values, vectors = np.linalg.eig(self.inverse_inertia @ pair[which])
            k = int(np.argmax(np.abs(values)))
            if abs(values[k]) > best.value:
                shares = np.abs(vectors[:, k]) * np.sqrt(np.abs(np.diag(self.M)))
                place = self.system.model.dof_names()[int(np.argmax(shares))]
                best = Stiffest(float(abs(values[k])), place, cause, cause in self.called)
        return best

    @cached_property
    def growth(self) -> float:
        """The rate at which the forces make motion grow by themselves [1/s], weight left out: what stands on its head
        may fall."""
        nv = self.system.model.nv
        own = [pair for name, pair in self.slopes.items() if name != "weight"]
        K, D = (sum((pair[i] for pair in own), np.zeros((nv, nv))) for i in (0, 1))
        A = self.inverse_inertia
        whole = np.block([[np.zeros((nv, nv)), np.eye(nv)], [-A @ K, -A @ D]])
        return float(np.linalg.eigvals(whole).real.max())

    @cached_property
    def mass_ratio(self) -> tuple[float, str, str]:
        """The most unequal inertias of a freedom and the one before it, of one kind; and their names."""
        model = self.system.model
        effective = 1 / np.diag(np.linalg.inv(self.M))
        names, turns, best = model.dof_names(), turning(self.system.model, self.phase.q), (1.0, "", "")
        for k, parent in enumerate(model.dof_parents):
            if parent >= 0 and turns[k] == turns[parent]:
                ratio = float(max(effective[k] / effective[parent], effective[parent] / effective[k]))
                best = max(best, (ratio, names[parent], names[k]))
        return best

    @cached_property
    def condition(self) -> float:
        """Of M, its diagonal made 1, so that units do not count."""
        size = np.sqrt(np.diag(self.M))
        return float(np.linalg.cond(self.M / np.outer(size, size)))

    @cached_property
    def redundancy(self) -> Redundancy:
        return redundancy_of(self.system, self.time, numbers(self.phase.q))

    @cached_property
    def row_condition(self) -> float:
        """Of J M⁻¹ Jᵀ, as far as rows are independent."""
        values = np.linalg.eigvalsh(self.J @ np.linalg.solve(self.M, self.J.T))[::-1][: self.redundancy.rank]
        return float(values[0] / values[-1]) if len(values) else 1.0


def lanes(x: Any) -> list[Any]:
    """Numbers as lanes of one."""
    return [np.array([float(a)]) for a in x]


def numbers(x: Any) -> Array:
    """Lanes of one as numbers."""
    return np.asarray(as_array(x, (1,))[0], dtype=float)


def turning(model: Model, q: Scalars) -> list[bool]:
    """Of each freedom: whether it turns rather than shifts."""
    columns = (s for body in model.bodies for s in body.joint.subspace(q[body.qs]))
    return [bool(np.any([np.any(x != 0) for x in s.ang])) for s in columns]


# -- causes, the surest first ------------------------------------------------------------------------------------------


def at_the_end(point: Point) -> Iterator[Finding]:
    """Causes that show in the very last good state: what is not finite, constraints that cannot hold, no mass."""
    yield from _not_finite(point)
    if point.system.row_count:
        yield from _of_constraints(point)
    model = point.system.model
    singular = null_motions(model, numbers(point.phase.q)[None]) if model.nv else ()
    if singular:
        yield Finding(
            f"the mass matrix is singular: a motion of {', '.join(map(repr, singular))} moves no mass",
            "Give what moves there a mass or inertia, or its joint an armature",
        )


def at_the_onset(point: Point) -> Iterator[Finding]:
    """Causes that show in the state from which motion went out of hand; where none does, what moves too far."""
    if not point.system.model.nv:
        return
    found = [*_stiff(point)]
    if point.growth * point.elapsed > EXPONENTS:
        cause = (
            f"forces feed the motion: whatever the step, it grows e-fold every {1 / point.growth:.3g} s, as negative"
        )
        found.append(
            Finding(f"{cause} springs or dampers make it", "Look at the signs of gains, stiffness and damping")
        )
    ratio, first, second = point.mass_ratio
    if ratio > UNEQUAL or point.condition > ILL_CONDITIONED:
        cause = f"inertias are very unequal: by {ratio:.2g} between {first!r} and {second!r}; condition of M"
        remedy = "Give the light ones more mass or an armature, or weld them to what they hang on"
        found.append(Finding(f"{cause} {point.condition:.2g}", remedy))
    yield from found or _far(point)


def _not_finite(point: Point) -> Iterator[Finding]:
    """What gives no number here, or where half or all of the step leads."""
    system, here = point.system, point.phase
    phases = [here]
    rates = system.rates(here, point.inputs, point.dt)
    if np.isfinite(numbers([*rates.q, *rates.v])).all():
        phases += [here.moved(system.model, rates, share * point.dt) for share in (0.5, 1.0)]
    seen = set()
    for share, phase in zip((0.0, 0.5, 1.0), phases, strict=False):
        phase = phase if share == 0 else Phase(here.time + share * point.dt, phase.q, phase.v, phase.activation, ())
        for what, values in _parts(point, phase):
            if what not in seen and not np.isfinite(numbers(list(scalars_in(values)))).all():
                seen.add(what)
                yield Finding(
                    f"{what} is not finite at t = {point.time + share * point.dt:.9g} s",
                    "Look at divisions, roots and logarithms in it: guard what is not taken with qdot.algebra.where",
                )


def _parts(point: Point, phase: Phase) -> Iterator[tuple[str, Any]]:
    """All that is evaluated in a step, by what people call it."""
    system, model, setup = point.system, point.system.model, point.system.setup
    t, q, v = phase.time, phase.q, phase.v
    if setup.control is not None:
        yield "the function `control`", system.controls(phase, point.inputs)
    if setup.tau is not None:
        yield "the function `tau`", list(setup.tau(t, q, v))
    for force in setup.forces:
        yield f"force {force.name!r}", force.at(model, t, q, v)
    for constraint in setup.constraints:
        rows = constraint.rows(model, t, q, v)
        yield f"constraint {constraint.name!r}", [rows.phi, rows.rate, rows.bias, dense(rows.J, model.nv)]
    for name, terms in system.forces(phase, point.inputs).items():
        if name not in {"joint forces", *(force.name for force in setup.forces)}:
            yield f"the force of the model's {name}", terms


def _of_constraints(point: Point) -> Iterator[Finding]:
    system, q = point.system, numbers(point.phase.q)
    later = point.time + point.dt
    try:
        positions_obeying(system, later, q[None], 1e-8)
    except ConvergenceError as error:
        yield Finding(
            f"no state nearby obeys all constraints at t = {later:.9g} s ({str(error).partition(';')[0]})",
            "Take one of them out, drive the mechanism within its reach, or let go of it with a terminal event",
        )
    if point.redundancy.singular:
        yield Finding(
            f"the configuration is singular: constraints have rank {point.redundancy.rank} here and "
            f"{point.redundancy.nearby} nearby",
            'Keep away from it, or pass it with a shorter dt; stabilisation="projection" holds positions there',
        )
    rows = system.rows(point.phase.time, point.phase.q, point.phase.v)
    bias = numbers(rows.bias)
    a, *_ = np.linalg.lstsq(point.J, -bias, rcond=1e-9)
    off = missed(point.J.tolist(), a.tolist(), bias.tolist())
    if max(off) > CONTRADICTED:
        yield Finding(
            f"constraint {system.row_names[int(np.argmax(off))]!r} contradicts others: no acceleration obeys all",
            "Take one of them out (qdot.redundancy shows which depend on each other), or project the state",
        )


def _stiff(point: Point) -> Iterator[Finding]:
    """Springs, then dampers, that are too much for the step; the worse first."""
    found = []
    for which, word in ((0, "stiffness·dt²"), (1, "damping·dt")):
        best = point.stiffest(which)
        borne = _borne(point, best)[which]
        value = best.value * point.dt ** (2 - which)
        if value <= borne:
            continue
        shorter = point.dt * (sqrt(borne / value) if which == 0 else borne / value)
        rule = f"{point.integrator.name} is stable up to {borne:.3g}"
        if best.called:
            rule = f"a function that is called once a step is stable up to some {borne:.3g}"
        elif which == 0 and point.integrator.name == "explicit euler":
            rule = "explicit euler gains energy from any spring"
        other = "generalised alpha" if which == 0 else "implicit velocity"
        helps = f"Take dt below {shorter:.2g} s"
        if best.called:
            helps += ", lower gains, or write the function with qdot.algebra and mark it qdot.simulation.compilable"
        else:
            helps += f', integrator="{other}", or make it softer'
        cause = f"{_named(best.cause)} too stiff for this step: {word} = {value:.3g} at {best.freedom!r}, and {rule}"
        found.append((value / borne, Finding(cause, helps)))
    yield from (finding for _, finding in sorted(found, key=lambda pair: -pair[0]))


def _borne(point: Point, best: Stiffest) -> tuple[float, float]:
    if point.integrator.name == "explicit euler" and not best.called:
        return min(COMMON[0], 2 * EXPONENTS * point.dt / max(point.elapsed, point.dt)), COMMON[1]
    return COMMON if best.called else BORNE.get(point.integrator.name, COMMON)


def _named(cause: str) -> str:
    return {
        "springs": "springs are",
        "dampers": "dampers are",
        "actuators": "actuators are",
        "weight": "the swing by weight is",
        "fluid": "drag is",
        "joint forces": "`tau` is",
        "control": "`control` is",
        "tau": "`tau` is",
    }.get(cause, f"force {cause!r} is")


def _far(point: Point) -> Iterator[Finding]:
    """What moves too far in one step."""
    model = point.system.model
    rates = point.system.rates(point.phase, point.inputs, point.dt)
    turns = turning(point.system.model, point.phase.q)
    for x, how, power in ((numbers(point.phase.v), "velocity", 1), (numbers(rates.v), "acceleration", 2)):
        way = np.abs(x) * point.dt**power
        measure = way / np.where(turns, FAR, FAR * point.length)
        k = int(np.argmax(measure))
        if measure[k] > 1:
            unit = "rad" if turns[k] else "m"
            shorter = point.dt * (0.1 / measure[k]) ** (1 / power)
            yield Finding(
                f"{how} moves {model.dof_names()[k]!r} by {way[k]:.3g} {unit} in one step",
                f"Take dt below {shorter:.2g} s, or look for a force that is too large or an inertia that is too small",
            )
