"""Constraints that a user adds to a model for one simulation: functions of (time, q, v), written over any scalar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np

from qdot.algebra import Scalar, Scalars, Vec3, is_number, scalar_problem, sqrt
from qdot.algorithms.constraints.rows import Rows, of_positions, of_velocities
from qdot.algorithms.kinematics import Coordinates, frame_pose, kinematics
from qdot.errors import CompileError, ModelError, QdotError, ValueShapeError
from qdot.model.model import Model


@dataclass(frozen=True)
class Holonomic:
    """φ(q) = 0, or φ(t, q) = 0: a function of one or two arguments that returns a list, a row for each entry.

    Written with operators and functions of qdot.algebra, since it is differentiated twice and compiled. `unit` is that
    of φ [m, rad …]; the force of a row is in joules for one of it, and errors in metres are measured by the size of the
    mechanism.
    """

    name: str
    phi: Callable[..., Scalars]
    unit: str = ""

    def rows(self, model: Model, time: Scalar, q: Scalars, v: Scalars) -> Rows:
        phi = with_time(self.phi, 1, f"constraint {self.name!r}")
        return of_positions(
            model, time, q, v, lambda t, at: _row(f"constraint {self.name!r}", phi(t, at)), range(model.nv)
        )


@dataclass(frozen=True)
class Nonholonomic:
    """ψ(q, v) = 0, or ψ(t, q, v) = 0: a constraint on velocities, as a knife edge or a wheel gives; linear in v, as a
    rule: A(q) v - b. `unit` is that of ψ [m/s …]; the force of a row is in watts for one of it."""

    name: str
    psi: Callable[..., Scalars]
    unit: str = ""

    def rows(self, model: Model, time: Scalar, q: Scalars, v: Scalars) -> Rows:
        psi = with_time(self.psi, 2, f"constraint {self.name!r}")
        return of_velocities(model, time, q, v, lambda t, at, rate: _row(f"constraint {self.name!r}", psi(t, at, rate)))


@dataclass(frozen=True)
class Driven:
    """A joint of plain coordinates that moves as a function of time says: q = motion(t), whatever force that takes.

    `motion` returns a number for a joint of one freedom, a list for more; its force is that of the drive [N·m, N].
    """

    joint: str
    motion: Callable[[Scalar], Any]

    @property
    def name(self) -> str:
        return f"drive of {self.joint}"

    def rows(self, model: Model, time: Scalar, q: Scalars, v: Scalars) -> Rows:
        body = model.joint(self.joint)
        if body.joint.nq != body.joint.nv:
            raise ModelError(
                f"{self.name}: {type(body.joint).__name__} joints have no plain coordinates to follow a function of "
                "time; hold a frame with qdot.simulation.Holonomic instead"
            )

        motion = over_scalars(self.motion, self.name)

        def off(t: Scalar, at: Scalars) -> list[Scalar]:
            wanted = motion(t)
            listed = _row(self.name, wanted if isinstance(wanted, (list, tuple)) else [wanted])
            if len(listed) != body.joint.nq:
                raise ValueShapeError(f"{self.name}: its motion gives {len(listed)} numbers, not {body.joint.nq}")
            return [x - y for x, y in zip(at[body.qs], listed, strict=True)]

        return of_positions(model, time, q, v, off, range(body.dofs.start, body.dofs.stop))


@dataclass(frozen=True)
class Rolling:
    """A ball, or a disc, that rolls without slipping on the plane through `point` with this normal.

    `frame` is at its centre. A ball has a radius [m] only; a disc also an `axis` in the frame. Three rows: the height
    of the centre [m], then the velocity of what touches the plane, along it [m/s]; their forces are in newtons.
    """

    name: str
    frame: str
    radius: float
    axis: Vec3 | tuple[float, float, float] | None = None
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def rows(self, model: Model, time: Scalar, q: Scalars, v: Scalars) -> Rows:
        n = Vec3.of(self.normal)
        n = n / n.norm()
        first = n.cross(Vec3(1, 0, 0) if abs(n.x) < 0.8 else Vec3(0, 1, 0))
        first = first / first.norm()
        along = first, n.cross(first)

        def down(at: Scalars) -> Vec3:
            """From the centre to the lowest point."""
            if self.axis is None:
                return n * -self.radius
            a = frame_pose(model, at, self.frame).rotation @ Vec3.of(self.axis)
            a = a / a.norm()
            slope = a * a.dot(n) - n
            return slope * (self.radius / sqrt(slope.dot(slope)))

        def height(t: Scalar, at: Scalars) -> list[Scalar]:
            centre = frame_pose(model, at, self.frame).position
            return [n.dot(centre + down(at) - Vec3.of(self.point))]

        def slip(t: Scalar, at: Scalars, rate: Scalars) -> list[Scalar]:
            V = kinematics(model, at, rate).velocity(self.frame, Coordinates.ALIGNED)
            there = V.lin + V.ang.cross(down(at))
            return [e.dot(there) for e in along]

        return Rows.joined(
            [
                of_positions(model, time, q, v, height, range(model.nv)),
                of_velocities(model, time, q, v, slip),
            ]
        )


def with_time(f: Callable[..., Any], arguments: int, what: str) -> Callable[..., Any]:
    """A function of (t, …) from one that may leave t out, with so many other arguments."""
    if not callable(f):
        raise ModelError(f"{what} is a function of the state, got {f!r}")
    try:
        kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        count = sum(p.kind in kinds and p.default is Parameter.empty for p in signature(f).parameters.values())
    except (TypeError, ValueError):
        count = arguments + 1
    if count not in (arguments, arguments + 1):
        raise ModelError(f"{what} takes {arguments} arguments, or {arguments + 1} with the time first; it has {count}")
    called = over_scalars(f, what)
    return called if count == arguments + 1 else lambda t, *rest: called(*rest)


def over_scalars(f: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A user's function that says what it may be written with where it fails on the scalars that it is run on."""
    if not callable(f):
        raise ModelError(f"{what} is given by a function, got {f!r}")

    def called(*given: Any) -> Any:
        try:
            return f(*given)
        except QdotError:
            raise
        except (TypeError, AttributeError) as error:
            if any(isinstance(x, np.ndarray) for x in given):  # it is called with numbers, and may do anything
                raise
            raise CompileError(
                f"{what}: its function fails on the scalars that it is run on ({error}). It gets lists of them, and is "
                "written with operators and functions of qdot.algebra (sin, sqrt, where …), not with those of math or "
                "NumPy"
            ) from error

    return called


def require_scalars(row: list[Any], what: str) -> None:
    """Raise where something that a user's function returned is no scalar; what is not finite shows in the run."""
    for x in row:
        problem = None if is_number(x) or isinstance(x, np.ndarray) else scalar_problem(x)
        if problem is not None:
            raise ValueShapeError(f"{what}: {problem}")


def _row(what: str, value: Any) -> list[Scalar]:
    if not hasattr(value, "__iter__") or isinstance(value, str):
        raise ValueShapeError(f"{what} returns a list, an entry for each row; got {value!r}")
    row = list(value)
    require_scalars(row, f"{what} returns numbers")
    return row
