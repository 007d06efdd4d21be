"""What people pass to `simulate`, checked: each error says what was wrong and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import as_array, is_number, scalars_in
from qdot.algorithms.conditioning import motions_without_inertia, singular
from qdot.algorithms.constraints.solvers import SOLVERS
from qdot.algorithms.limits import limited
from qdot.collision.narrow import meeting
from qdot.collision.pairs import pairs
from qdot.contact.kinds import Hard, Impulse, Kind, Lcp, kind_of
from qdot.contact.soft import Soft
from qdot.errors import GeometryError, InertiaError, ModelError, UnknownNameError, ValueShapeError
from qdot.model.model import Model
from qdot.model.state import State
from qdot.model.vectors import scalars_of
from qdot.simulation.bounds import LimitKind, SoftStops, Stops
from qdot.simulation.forces import AppliedForce, FrameForce, JointForce
from qdot.simulation.integrators import Integrator, RungeKutta4, SemiImplicitEuler, integrator_of
from qdot.simulation.sizes import row_sizes, speed_of
from qdot.simulation.stabilisation import BY_NAME, Stabilisation
from qdot.simulation.system import Constraint, System
from qdot.simulation.tunnelling import part_name
from qdot.spatial import Inertia, physical_problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FLOAT64 = np.dtype(np.float64)

OFF_AT_START = 1e-6
"""Of the size of the mechanism, or of a turn of one radian: more is a mistake rather than rounding."""

OUTSIDE = 1e-9
"""Of a range: a start farther out than this is not within its limits."""

MOST_STEPS = 2**40

CAUSES = (
    "springs", "dampers", "friction", "compensation", "fluid", "limits", "actuators", "joint forces", "impacts",
    "constraints", "stabilisation",
    "contacts",
)  # fmt: skip
"""Entries that the energy ledger may have of its own."""

NOT_NEGATIVE = {
    "mass": "a mass",
    "armature": "the inertia of a drive",
    "damping": "a damping",
    "friction": "dry friction",
    "stiffness": "the stiffness of a spring",
}
"""Constants of bodies and joints, by the end of their path."""


def step_of(model: Model, dt: Any) -> float:
    """The length of a step: the model's own where none is given."""
    given = model.description.options.timestep if dt is None else dt
    if not is_number(given) or not 0 < given < np.inf:
        raise ValueShapeError(f"dt is the length of a step, a positive number of seconds; got {dt!r}")
    return float(given)


def steps_of(seconds: Any, dt: float, record: Any) -> int:
    """How many steps a time is: a whole number of them."""
    if not is_number(seconds) or not 0 <= seconds < np.inf:
        raise ValueShapeError(f"seconds is a time, not negative; got {seconds!r}")
    if not isinstance(record, (int, np.integer)) or isinstance(record, bool) or record < 1:
        raise ValueShapeError(f"record keeps every so manieth state, 1 or more; got {record!r}")
    steps = round(seconds / dt)
    if abs(steps * dt - seconds) > 1e-6 * dt * max(1, steps):
        raise ValueShapeError(
            f"{seconds:g} s is no whole number of steps of {dt:g} s; simulate {steps * dt:.12g} s, or take "
            f"dt={seconds / max(1, steps):.12g}"
        )
    if steps > MOST_STEPS:
        raise ValueShapeError(f"{seconds:g} s in steps of {dt:g} s are {steps} steps: more than can be counted exactly")
    return steps


def state_of(model: Model, state: Any) -> tuple[Array, Array]:
    """(q, v), each for one run or a batch of them."""
    if state is None:
        return model.home(), np.zeros(model.nv)
    if isinstance(state, State):
        if state.model != model:
            raise ModelError(f"this state is one of model {state.model.name!r}, not of {model.name!r}")
        return np.array(state.q), np.array(state.v)
    if not isinstance(state, (tuple, list)) or len(state) != 2:
        raise ValueShapeError(
            "state is a qdot.State (model.state(…)), or a pair (q, v) of vectors or batches of them; got "
            f"{type(state).__name__}"
        )
    return vector(model, "q", state[0]), vector(model, "v", state[1])


def vector(model: Model, name: str, value: Any) -> Array:
    """A vector of the model, (n,), or a batch, (batch, n), of finite numbers."""
    array = as_array(scalars_of(model, name, value))
    if array.dtype == object:
        raise ValueShapeError(f"{name} of model {model.name!r} must be numbers to be simulated, not symbols")
    return array


def one_vector(model: Model, name: str, value: Any) -> Array:
    """A vector of the model, (n,): no batch."""
    array = vector(model, name, value)
    if array.ndim != 1:
        raise ValueShapeError(f"{name} of model {model.name!r} is one vector here, not a batch of {len(array)}")
    return array


def tolerance_of(tolerance: Any) -> float:
    if not is_number(tolerance) or not 0 < tolerance < np.inf:
        raise ValueShapeError(f"tolerance is how far constraints may be off, a positive number; got {tolerance!r}")
    return float(tolerance)


def start_of(start: Any) -> float:
    """The time at which a run begins."""
    if not is_number(start) or not np.isfinite(start):
        raise ValueShapeError(f"start is the time at which a run begins, a number of seconds; got {start!r}")
    return float(start)


def rows_of(values: Array, shape: tuple[int, ...], path: str) -> int | None:
    """How many runs have a value of their own of a parameter; None where one serves all."""
    if values.shape == shape:
        return None
    if values.shape[1:] != shape or not len(values):
        raise ValueShapeError(f"parameter {path!r} has shape {values.shape}, needs {shape} or (batch, *{shape})")
    return len(values)


def parameters_of(parameters: Mapping[str, Any] | None) -> dict[str, Array]:
    """Model constants by path, such as a body or a joint can have."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ValueShapeError(
            f'parameters are model constants by path, {{"link5.mass": 0.3}}, a value for all runs or one for each; got '
            f"{parameters!r}"
        )
    found = {}
    for path, value in (parameters or {}).items():
        if not isinstance(path, str):
            raise ValueShapeError(f'parameters are named by paths such as "link5.mass", got {path!r}')
        try:
            found[path] = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ValueShapeError(f"parameter {path!r} must be numbers, got {value!r}") from None
        if not np.isfinite(found[path]).all():
            raise ValueShapeError(f"parameter {path!r} has an entry that is not a finite number")
        _require_possible(path, found[path])
    return found


def _require_possible(path: str, values: Array) -> None:
    constant = path.rpartition(".")[2]
    if constant in NOT_NEGATIVE and (values < 0).any():
        raise ValueShapeError(f"parameter {path!r}: {NOT_NEGATIVE[constant]} is not negative, got {values.min():g}")
    if constant == "parameters" and values.shape[-1:] == (10,):
        for k, row in enumerate(values.reshape(-1, 10)):
            problem = physical_problem(Inertia.of_parameters(row.tolist()))
            if problem is not None:
                which = f" of run {k}" if values.ndim > 1 else ""
                raise InertiaError(f"parameter {path!r}{which}: no body has such an inertia: {problem}")


def batch_of(sizes: Mapping[str, int | None]) -> int | None:
    """How many runs: all that have a batch have the same."""
    given = {name: size for name, size in sizes.items() if size is not None}
    for name, size in given.items():
        if size == 0:
            raise ValueShapeError(f"{name} is a batch of no runs; give a row for each run, or one vector")
    if len(set(given.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in given.items())
        raise ValueShapeError(f"the numbers of runs do not fit together: {listed}")
    return next(iter(given.values()), None)


def constraints_of(model: Model, given: Any) -> tuple[Constraint, ...]:
    """Constraints that a user adds: each with a name of its own."""
    wanted = "qdot.simulation.Holonomic, Nonholonomic, Driven or Rolling"
    found = _listed("constraints", given, lambda c: hasattr(c, "name") and callable(getattr(c, "rows", None)), wanted)
    own = [*(record.name for record in model.constraints), *(loop.name for loop in model.loops)]
    _require_own_names("constraint", [*own, *(c.name for c in found)], "all constraints and loops")
    return found


def forces_of(given: Any) -> tuple[AppliedForce, ...]:
    """Forces that a user adds: each with a name of its own, since the ledger has an entry for each."""
    wanted = "qdot.simulation.JointForce or FrameForce"
    found = _listed("forces", given, lambda force: isinstance(force, (JointForce, FrameForce)), wanted)
    _require_own_names("force", [*CAUSES, *(force.name for force in found)], "all forces and the entries of the ledger")
    return found


def _listed(what: str, given: Any, fits: Callable[[Any], bool], wanted: str) -> tuple[Any, ...]:
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ModelError(f"{what} is a list of them, each a {wanted}; got {given!r}")
    found = tuple(given)
    for thing in found:
        if isinstance(thing, type) or not fits(thing):
            raise ModelError(f"{what} has {thing!r} in it; each is a {wanted}")
    return found


def _require_own_names(kind: str, names: list[str], among: str) -> None:
    for name, count in Counter(names).items():
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {kind} is named by a text that is not empty, got {name!r}")
        if count > 1:
            raise ModelError(f"{count} things are called {name!r} among {among}; give the {kind} another name")


def solver_name(solver: Any) -> str:
    if solver not in ("auto", *SOLVERS):
        raise UnknownNameError("solver", solver, ("auto", *SOLVERS), "qdot.simulate")
    return str(solver)


def stabilisation_of(given: Any) -> Stabilisation:
    if isinstance(given, Stabilisation):
        return given
    if not isinstance(given, str) or given not in BY_NAME:
        raise UnknownNameError("stabilisation", given, BY_NAME, "qdot.simulate")
    return BY_NAME[given]


def contact_of(model: Model, given: Any) -> Kind | None:
    """How bodies touch; all that may touch must have shapes of which a step can be made."""
    kind = kind_of(given)
    if kind is not None:
        _require_meetings(model)
    return kind


@lru_cache(maxsize=64)
def _require_meetings(model: Model) -> None:
    """Raise where two shapes may touch of which no step can be made."""
    for pair in pairs(model):
        try:
            meeting(pair.first.shape, pair.second.shape)
        except GeometryError as error:
            names = f"{part_name(model, pair.first)} and {part_name(model, pair.second)}"
            raise ModelError(f"model {model.name!r}: {names} may touch: {error}") from error


def integrator_for(contact: Kind | None, given: Any) -> Integrator:
    """The integrator asked for; unless one is, the method of Runge and Kutta, or with contacts that act throughout a
    step Euler's."""
    if given is None:
        return RungeKutta4() if contact is None or isinstance(contact, Impulse) else SemiImplicitEuler()
    integrator = integrator_of(given)
    if isinstance(contact, (Hard, Lcp)) and integrator != SemiImplicitEuler():
        name = type(contact).__name__.lower()
        raise ValueShapeError(
            f"contact {name!r} is solved for the velocities at the end of a step, as the integrator 'semi-implicit "
            f"euler' has it, without implicit dampers; got {integrator.name!r}. Leave the integrator out, or take "
            "contact='soft' or 'penalty'"
        )
    if isinstance(contact, Soft) and not integrator.takes_soft:
        raise ValueShapeError(
            f"contact 'soft' is solved for accelerations, which the integrator {integrator.name!r} does not ask for: "
            "it would act as if nothing touched. Leave the integrator out, take 'implicit velocity', 'rk4' or "
            "'dormand-prince', or contact='penalty' or 'impulse'"
        )
    return integrator


def limits_of(given: Any) -> LimitKind | None:
    """How limits are treated: by name, or with settings."""
    if isinstance(given, LimitKind):
        return given
    names: dict[str, LimitKind | None] = {"stops": Stops(), "soft": SoftStops(), "none": None}
    if not isinstance(given, str) or given not in names:
        raise UnknownNameError("kind of limits", given, names, "qdot.simulate")
    return names[given]


def require_numbers(model: Model) -> None:
    """Raise where symbols stand in a model: its motion has no numbers."""
    for body in model.bodies:
        p = body.passive
        parts = {
            "inertia": body.inertia,
            "placement": body.placement,
            "armature, damping, friction or stiffness": [p.armature, p.damping, p.friction, p.stiffness, p.rest],
        }
        for what, part in parts.items():
            _require_number(part, f"model {model.name!r}: body {body.name!r}: its {what}")
    _require_number(model.gravity, f"model {model.name!r}: gravity")


def _require_number(part: Any, what: str) -> None:
    for x in scalars_in(part):
        if not is_number(x):
            raise ModelError(
                f"{what} has {x} in it, which is no number. Build it with numbers, or put them in: "
                "qdot.model.edit.with_mass, with_inertia; what changes from run to run is then given as parameters"
            )


@lru_cache(maxsize=64)
def require_inertia(model: Model) -> None:
    """Raise where a model has symbols in it, or something moves without inertia: its motion is not determined."""
    require_numbers(model)
    names = motions_without_inertia(model)
    if names:
        raise singular(model, names)


def require_no_other_start(start: Any, activation: Any) -> None:
    """Raise where a run that goes on from a trajectory was told another time or other activations to begin with."""
    for name, given in (("start", start if start != 0 else None), ("activation", activation)):
        if given is not None:
            raise ValueShapeError(
                f"{name} is that of the trajectory's end where a run goes on from one; leave {name} out, or start from "
                "its last state: qdot.simulate(model, (run.q[-1], run.v[-1]), …)"
            )


def require_within_limits(system: System, q: Array, dtype: np.dtype[Any] = FLOAT64) -> None:
    """Raise where the start is outside of a limit: a hard stop would have to move it."""
    model = system.model
    rows = np.atleast_2d(q)
    limits, least = limited(model, list(rows.T)), max(OUTSIDE, 4 * np.finfo(dtype).eps)
    for name, limit in zip(_limited_names(model), limits, strict=True):
        value = np.broadcast_to(np.asarray(limit.value, dtype=float), (len(rows),))
        lower, upper = float(limit.lower), float(limit.upper)
        slack = least * (upper - lower if isfinite(upper - lower) else max(1.0, min(abs(lower), abs(upper))))
        outside = np.maximum(lower - value, value - upper)
        worst = int(np.argmax(outside))
        if outside[worst] > slack:
            which = f" of run {worst}" if q.ndim == 2 else ""
            raise ModelError(
                f"model {model.name!r}: the start{which} is outside of a limit: {name} is at {value[worst]:.6g}, its "
                f"limits are {lower:.6g} and {upper:.6g}. Start within them: "
                'qdot.simulate(model, model.state(…)); or let it be there: limits="soft" leads it back, "none" leaves '
                "limits out"
            )


def _limited_names(model: Model) -> list[str]:
    """What each entry of `limited` belongs to."""
    if not limited(model, model.home().tolist()):
        return []
    found = []
    for body in model.bodies:
        bounds = list(zip(body.joint.limits.lower, body.joint.limits.upper, strict=True))
        for k, pair in enumerate(bounds):
            if any(map(isfinite, pair)):
                found.append(f"joint {body.joint_name!r}" + (f" [{k}]" if len(bounds) > 1 else ""))
    return found + [f"tendon {record.name!r}" for record in model.tendons if record.range is not None]


def require_consistent(system: System, time: float, q: Array, v: Array, dtype: np.dtype[Any] = FLOAT64) -> None:
    """Raise where the start does not obey the constraints: the residual, and how to project it."""
    if not system.row_count:
        return
    at = [x if x.ndim == 1 else x.T for x in (q, v)]
    rows = system.rows(time, list(at[0]), list(at[1]))
    sizes, most = row_sizes(system), max(OFF_AT_START, 64 * np.finfo(dtype).eps)
    for what, errors, scale in (("position", rows.phi, 1.0), ("velocity", rows.rate, 1 + speed_of(system.model, v))):
        off = np.array([float(np.max(np.abs(e))) for e in errors])
        worst = int(np.argmax(off / sizes))
        if off[worst] > most * scale * sizes[worst]:
            name = system.row_names[worst]
            users = ", constraints=[…]" if name in {c.name for c in system.setup.constraints} else ""
            at_time = f", time={time:g}" if users and time else ""
            raise ModelError(
                f"model {system.model.name!r}: the start does not obey constraint {name!r}: its {what} is off by "
                f"{off[worst]:.3g}. Project it: state = qdot.projected(model, state{users}{at_time}), or start from a "
                "state that obeys it"
            )
