"""Runs that go wrong: found soon, stopped at the last good state, and explained.

A step is bad where a state is not finite; where kinetic energy is a million times both what it was 20 steps before and
what is ordinary, m g L + ½ m (L / dt)² + what the run began with; where projected constraints are off by more than a
thousandth of the mechanism's size, or of a radian, and more than what moves in 10 steps; or where a system that nothing
drives has gained a hundred times m g L + the energy of motion and of springs that it began with. Motion that is merely
fast is none of these: bodies that fall for hours gain speed slowly, tops begin with theirs, impacts take energy away,
and what a large force starts from rest would have to move a thousand lengths of the model in a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qdot.algebra import is_zero
from qdot.algorithms.crba import mass_matrix
from qdot.algorithms.energy import kinetic_energy, potential_energy
from qdot.algorithms.passive import spring_energy
from qdot.errors import SimulationError
from qdot.model.model import Model
from qdot.programs.parameters import shape_of, with_parameters
from qdot.simulation.arguments import OFF_AT_START
from qdot.simulation.bounds import SoftStops
from qdot.simulation.causes import Finding, Point, at_the_end, at_the_onset, lanes, turning
from qdot.simulation.controls import Drive
from qdot.simulation.integrators import Integrator
from qdot.simulation.phase import Phase
from qdot.simulation.sizes import freedom_sizes, row_sizes, size_of
from qdot.simulation.system import Inputs, System
from qdot.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

ABSURD = 1e6
"""Of kinetic energy."""

LOOKBACK = 20
"""Steps within which it grows so."""

GAINED = 100.0
"""Of the energy scale of a system that nothing drives."""

GROWING = 1.25
"""From one stretch of so many steps to the next: from where this goes on to the end, motion is out of hand."""


class Bad(NamedTuple):
    """The first bad step of a window: it leads to this row of the window, in this run of the batch."""

    step: int
    row: int
    kind: str
    """"not finite", "energy", "drift" or "gain"."""
    failed: int
    """How many runs failed in this window."""
    after: dict[str, Array]
    """What the step led to, of this run."""

    def before(self, window: Mapping[str, Array]) -> dict[str, Array]:
        """The good rows of a window: states up to here, and results of the steps between them."""
        rows = len(window["count"])
        return {name: x[: self.step - (len(x) < rows)] for name, x in window.items()}


@dataclass(frozen=True, eq=False)
class Undriven:
    """The energy of a system that nothing drives: it may fall, and by errors of the integrator rise a little."""

    model: Model
    q: Array
    v: Array
    """The start of all runs."""
    rough: float
    """A scale of energy without that of springs [J], at no cost."""

    @cached_property
    def _start(self) -> tuple[Array, float]:
        """The energy of each run, (batch,), and a scale: m g L, and what motion and springs had [J]."""
        at, speed = list(np.atleast_2d(self.q).T), list(np.atleast_2d(self.v).T)
        K, U = kinetic_energy(self.model, at, speed), spring_energy(self.model, at)
        began = np.atleast_1d(np.asarray(K + potential_energy(self.model, at), dtype=float))
        return began, self.rough + float(np.max(np.abs(U)))

    def gained(self, q: Array, v: Array) -> NDArray[np.bool_]:
        """Of states, (…, batch, n): whether the energy is not to be explained; what rounding leaves of large energies
        is no gain."""
        at, speed = list(np.moveaxis(q, -1, 0)), list(np.moveaxis(v, -1, 0))
        K, P = kinetic_energy(self.model, at, speed), potential_energy(self.model, at)
        began, scale = self._start
        if scale <= 0:
            return np.zeros(np.shape(q)[:-1], dtype=bool)
        return np.asarray(K + P - began > np.maximum(GAINED * scale, 1e-3 * (K + np.abs(P))))


def nothing_drives(system: System) -> bool:
    """Whether no part of a system, as it stands, can give it energy: no actuators, users' forces or constraints, wind,
    weight held up, or soft limits."""
    model, setup = system.model, system.setup
    described = model.description
    given = model.nu or setup.forces or setup.constraints or setup.control or setup.tau
    moved = any(not is_zero(body.record.gravity_compensation) or body.record.target for body in model.bodies)
    windy = any(not is_zero(x) for x in described.fluid.wind)
    soft = isinstance(setup.limits, SoftStops)
    return not (given or moved or windy or soft or described.options.disabled)


@lru_cache(maxsize=64)
def _at_home(model: Model) -> tuple[Array, float, list[bool]]:
    """Half the inertia of each freedom, the size of the model [m], and whether each freedom turns; at home, so that
    many runs of a model share them."""
    at = model.home().tolist()
    weights = np.diag(np.array(mass_matrix(model, at), dtype=float).reshape(model.nv, model.nv)) / 2
    return weights, size_of(model, at), turning(model, at)


@dataclass(frozen=True)
class Ordinary:
    """What is ordinary for a system that takes steps of dt: the measure by which motion is absurd."""

    weights: Array
    """Half the inertia of each freedom, at home: Σ w v² is a measure of kinetic energy."""
    energy: float
    length: float
    """Of the model [m]."""
    dt: float
    large: Array
    """A large motion of each freedom [rad, m]."""
    row: float
    """A large error of constraints [rad, m]; zero where they are not projected."""
    undriven: Undriven | None = None

    @staticmethod
    def of(system: System, dt: float, projected: bool, q: Array, v: Array, *, driven: bool = True) -> Ordinary:
        """At the start of a run, or of the first of a batch; `driven` where inputs act from outside, or runs have
        constants of their own."""
        model = system.model
        weights, length, turns = _at_home(model)
        mass = float(sum(body.inertia.mass for body in model.bodies))
        far = np.where(turns, 1.0, length) / dt
        weight = mass * float(model.gravity.norm()) * length
        began = (np.atleast_2d(v) ** 2 @ weights).max(initial=0.0)
        row = float(row_sizes(system).max(initial=0.0)) if projected else 0.0
        undriven = None if driven or not nothing_drives(system) else Undriven(model, q, v, weight + float(began))
        energy = float(weight + weights @ far**2 + began)
        return Ordinary(weights, energy, length, dt, freedom_sizes(model), row, undriven)

    @property
    def off(self) -> float:
        """How far constraints may be off whatever the motion [rad, m]."""
        return 1e3 * OFF_AT_START * self.row

    @property
    def quiet(self) -> float:
        """A speed: where no freedom is faster, energy is not absurd."""
        total = float(self.weights.sum())
        return float(np.sqrt(ABSURD * self.energy / total)) if total > 0 else 0.0

    def first_bad(self, window: Mapping[str, Array]) -> Bad | None:
        """The first bad step of a window of records, or None."""
        gains = self._gains(window)
        if self._all_good(window) and not gains:
            return None
        single = window["q"].ndim == 2
        names = [n for n in ("q", "v", "activation", "memory") if len(window[n]) == len(window["q"])]
        states = {name: window[name][:, None] if single else window[name] for name in names}
        with np.errstate(all="ignore"):
            finite = np.all([np.isfinite(states[name]).all(axis=2) for name in ("q", "v", "activation")], axis=0)
            energy = np.einsum("tbk,tbk,k->tb", states["v"], states["v"], self.weights)
            largest = np.maximum.accumulate(np.where(np.isfinite(energy), energy, 0.0))
            before = largest[np.maximum(np.arange(len(energy)) - LOOKBACK, 0)]
            kinds = {"not finite": ~finite, "energy": energy > ABSURD * np.maximum(before, self.energy)}
            if gains and self.undriven is not None:
                kinds["gain"] = self.undriven.gained(states["q"], states["v"])
            if self.row and "drift" in window:
                drift = window["drift"][:, None] if single else window["drift"]
                travel = 10 * self.dt * np.abs(states["v"][1:] / self.large).max(axis=2, initial=0) * self.row
                kinds["drift"] = np.vstack([~finite[:1], drift[..., 0] > np.maximum(self.off, travel)])
        bad = np.any(list(kinds.values()), axis=0)[1:]
        if not bad.any():
            return None
        step = int(np.argmax(bad.any(axis=1))) + 1
        row = int(np.argmax(bad[step - 1]))
        kind = next(kind for kind, where in kinds.items() if where[step, row])
        after = {name: x[step, row].copy() for name, x in states.items()}
        return Bad(step, row, kind, int(bad.any(axis=0).sum()), after)

    def _all_good(self, window: Mapping[str, Array]) -> bool:
        """Whether nothing needs a closer look: a pass over velocities, most often, for no number is larger than all
        squares together; a position that was not finite once is not finite in the end."""
        with np.errstate(invalid="ignore", over="ignore"):
            v, q, w = window["v"], window["q"][-1:], window["activation"][-1:]
            quick = not _square(v) <= self.quiet**2 and not max(v.max(), -v.min()) <= self.quiet
            lost = not all(np.isfinite(_square(x)) for x in (q, w))
            off = self.row and "drift" in window and not window["drift"][..., 0].max() <= self.off
        return not (quick or lost or off)

    def _gains(self, window: Mapping[str, Array]) -> bool:
        """Whether there is energy from nowhere at the end of a window; looked at where much is in motion only."""
        q, v = np.atleast_2d(window["q"][-1]), np.atleast_2d(window["v"][-1])
        with np.errstate(all="ignore"):
            if self.undriven is None or not (v**2 @ self.weights > GAINED / 10 * self.undriven.rough).any():
                return False
            return bool(self.undriven.gained(q, v).any())


def _square(x: Array) -> Array:
    """Σ x²."""
    axes = "abc"[: x.ndim]
    return np.asarray(np.einsum(f"{axes},{axes}->", x, x))


# -- the explanation ---------------------------------------------------------------------------------------------------


def explained(
    bad: Bad,
    run: Trajectory,
    system: System,
    integrator: Integrator,
    ordinary: Ordinary,
    inputs: tuple[Mapping[str, Any], Mapping[str, Any]],
    drives: Mapping[str, Drive],
) -> SimulationError:
    """What to raise after a bad step. `run` has all good rows, `inputs` are what was held and what was driven in the
    window of the bad step, `drives` where control and tau come from."""
    row = None if run.batch is None else bad.row
    q, v, w = ((x if row is None else x[row]) for x in (run.q, run.v, run.activation))
    own, given = own_system(system, bad, inputs[0]), own_inputs(bad, *inputs)

    def point(k: int) -> Point:
        """The state of a record."""
        time = float(run.time[k])
        phase = Phase(lanes([time])[0], lanes(q[k]), lanes(v[k]), lanes(w[k]), [])
        called = {n: _called(d, n, time, run, row) for n, d in drives.items() if d.called is not None}
        elapsed = time - float(run.time[0])
        return Point(own, integrator, ordinary.dt, elapsed, phase, given, ordinary.length, called)

    with np.errstate(all="ignore"):
        energies = v**2 @ ordinary.weights
        exploded = energies[-1] > ordinary.energy or bad.kind in ("energy", "gain")
        onset = point(_onset(energies) if exploded else len(v) - 1)
        found = [*_as_many(at_the_end(point(len(v) - 1))), *_as_many(at_the_onset(onset))]
        failure = integrator.failure(bad.after["memory"].tolist())
        if failure is not None:
            found.insert(0, Finding(f"{integrator.name} failed", failure))
        if not found and bad.kind == "gain":
            cause = "nothing drives the model, so the integrator gives it energy: the step is too long for the motion"
            helps = 'Take a shorter dt; "variational", and with constraints "rattle", keep energy over long runs'
            found = [Finding(cause, helps)]
        lines = [_headline(run, bad, row, ordinary), *_who(own, run, bad, v, ordinary, exploded)]
        lines += [f"{'also' if k else 'likely cause'}: {finding}" for k, finding in enumerate(found)]
        if not found:
            lines.append(f"no cause stands out; try a dt shorter than {ordinary.dt:g} s, and look at the state before")
        lines += _figures(onset)
    lines.append("nothing that was recorded is lost: it is in `run` of this error, and in Simulation.trajectory")
    cause = found[0].cause if found else "unknown"
    return SimulationError("\n  ".join(lines), time=float(run.time[-1]), run=run, row=row, cause=cause)


def _onset(energies: Array) -> int:
    """The record from which energy grows to the end, stretch by stretch; the last one where it does not grow so."""
    k = len(energies) - 1
    while k >= 1:
        start = max(0, k - LOOKBACK)
        before = energies[max(0, start - LOOKBACK) : start + 1].max()
        if not energies[start : k + 1].max() > GROWING * before:
            break
        k = start
    return k


def _as_many(found: Iterator[Finding]) -> Iterator[Finding]:
    """As many as can be computed: at a state that is far off already some cannot."""
    with suppress(ArithmeticError, ValueError):
        yield from found


def own_system(system: System, bad: Bad, held: Mapping[str, Any]) -> System:
    """With the constants of the run that failed."""
    given = {}
    for path in held.keys() - {"timing", "weights", "control", "tau"}:
        values = np.asarray(held[path])
        given[path] = (values[bad.row] if values.ndim > len(shape_of(system.model, path)) else values).tolist()
    model = with_parameters(system.model, given) if given else system.model
    return System(model, replace(system.setup, ledger=False))


def own_inputs(bad: Bad, held: Mapping[str, Any], driven: Mapping[str, Any]) -> Inputs:
    """Of the run that failed, in its bad step."""
    rows = (driven[name][bad.step - 1] if name in driven else np.asarray(held[name]) for name in ("control", "tau"))
    control, tau = (lanes(x[bad.row] if x.ndim == 2 else x) for x in rows)
    return Inputs(control, tau)


def _called(drive: Drive, name: str, time: float, run: Trajectory, row: int | None) -> Callable[[Array, Array], Array]:
    """A function that is called, of q and v of one run; the others of a batch are where they were at last."""

    def value(q: Array, v: Array) -> Array:
        if row is None:
            return drive.value(time, q, v, name)
        whole_q, whole_v = run.q[:, -1].copy(), run.v[:, -1].copy()
        whole_q[row], whole_v[row] = q, v
        found = drive.value(time, whole_q, whole_v, name)
        return found[row] if found.ndim == 2 else found

    return value


def _headline(run: Trajectory, bad: Bad, row: int | None, ordinary: Ordinary) -> str:
    more = f" and {bad.failed - 1} more" if bad.failed > 1 else ""
    which = "" if row is None else f", run {row} of {run.batch}{more}"
    what = {
        "not finite": "leads to a state that is not finite",
        "energy": f"gives it an absurd kinetic energy, {bad.after['v'] ** 2 @ ordinary.weights:.3g} J",
        "drift": "breaks constraints",
        "gain": "has more energy than there was, a hundred times over",
    }[bad.kind]
    return f"the run of model {run.model.name!r} stopped at t = {run.time[-1]:.9g} s{which}: the next step {what}"


def _who(system: System, run: Trajectory, bad: Bad, v: Array, ordinary: Ordinary, grew: bool) -> list[str]:
    """The joint that left first, or the constraint."""
    if bad.kind == "drift":
        time = float(run.time[-1]) + ordinary.dt
        phi = np.array(system.rows(time, bad.after["q"].tolist(), bad.after["v"].tolist()).phi, dtype=float)
        k = int(np.argmax(np.abs(phi)))
        return [f"first off: constraint {system.row_names[k]!r}, by {abs(phi[k]):.3g}"]
    lost = ~np.isfinite(bad.after["v"])
    if 0 < lost.sum() < len(lost):
        k = int(np.argmax(lost))
    elif bad.kind in ("energy", "gain"):
        k = int(np.argmax(bad.after["v"] ** 2 * ordinary.weights))
    elif grew:
        k = int(np.argmax(v[-1] ** 2 * ordinary.weights))
    else:
        return []
    unit = "rad/s" if turning(system.model, run.model.neutral().tolist())[k] else "m/s"
    body = next(body for body in run.model.bodies if body.dofs.start <= k < body.dofs.stop)
    return [f"first to leave: joint {body.joint_name!r} of body {body.name!r}, at {v[-1][k]:.3g} {unit} before"]


def _figures(point: Point) -> list[str]:
    """The numbers at the good state, whether they are the cause or not."""
    found = []
    with suppress(ArithmeticError, ValueError):
        if point.system.model.nv:
            stiff, damped = point.stiffest(0), point.stiffest(1)
            found = [f"stiffness·dt² {stiff.value * point.dt**2:.3g}", f"damping·dt {damped.value * point.dt:.3g}"]
            found += [f"mass ratio {point.mass_ratio[0]:.3g}", f"condition of M {point.condition:.3g}"]
        if point.system.row_count:
            rank = f"rank {point.redundancy.rank} of {point.redundancy.rows}"
            found.append(f"condition of J M⁻¹ Jᵀ {point.row_condition:.3g} ({rank})")
    return [f"at t = {point.time:.9g} s: {', '.join(found)}"] if found else []
