"""What every joint answers. An algorithm asks a joint these questions and never its kind; a new joint is a new file.

A joint connects a frame J on its parent to the frame B of its body. Its configuration q (nq numbers) is a point of a
manifold; its velocity v (nv numbers) is a tangent vector. They determine
    transform(q)    X_JB, the pose of the body in the joint's frame,
    subspace(q)     S, so that the velocity of B relative to J is S v, in B's coordinates,
    bias(q, v)      Ṡ v, the part of the relative acceleration that v alone causes (apparent derivative, in B),
    complement(q)   T, a basis of the forces that do no work on any motion S v: Sᵀ T = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isinf, isnan
from typing import Any, TypeAlias

from qdot.algebra import Scalar, Scalars, Vec3, derivative, is_number, scalar_problem, sqrt, where
from qdot.errors import JointError, ValueShapeError
from qdot.quick import quick
from qdot.spatial import Basis, Force, Motion, Transform

AXES = {
    "x": Vec3(1, 0, 0),
    "y": Vec3(0, 1, 0),
    "z": Vec3(0, 0, 1),
    "-x": Vec3(-1, 0, 0),
    "-y": Vec3(0, -1, 0),
    "-z": Vec3(0, 0, -1),
}


@quick
@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a joint: position [rad, m] of each limited quantity, speed [rad/s, m/s] and effort [N·m, N] of each
    freedom. Empty means unbounded."""

    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()

    def stretched(self, *factors: Scalar) -> Limits:
        """The position bounds times a factor for each limited quantity."""
        if all(isinf(x) for x in self.lower + self.upper):
            return self
        lower = tuple(x * f for x, f in zip(self.lower, factors, strict=True))
        upper = tuple(x * f for x, f in zip(self.upper, factors, strict=True))
        return Limits(lower, upper, self.velocity, self.effort)


AxisLike: TypeAlias = str | Vec3 | Iterable[Scalar]
LimitsLike: TypeAlias = Limits | Sequence[Any] | None


class Joint(ABC):
    """A joint; see the module's text for what its methods mean. Joints are frozen: they compare, hash and pickle."""

    __slots__ = ()

    @property
    @abstractmethod
    def nq(self) -> int:
        """How many numbers a configuration has."""

    @property
    @abstractmethod
    def nv(self) -> int:
        """How many freedoms."""

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """Bounds on `limited(q)`, speed and effort."""

    @abstractmethod
    def transform(self, q: Scalars) -> Transform:
        """X_JB, the pose of the body in the joint's frame."""

    @abstractmethod
    def subspace(self, q: Scalars) -> Basis[Motion]:
        """S, 6 × nv, in the body's coordinates."""

    @abstractmethod
    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """Ṡ v in the body's coordinates; zero where S is constant there."""

    @abstractmethod
    def retract(self, q: Scalars, dv: Scalars) -> list[Scalar]:
        """q ⊕ dv: where the constant velocity dv leads in one second."""

    @abstractmethod
    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        """q1 ⊖ q0: the velocity that leads from q0 to q1 in one second, the shortest one."""

    @abstractmethod
    def bracket(self, u: Scalars, w: Scalars) -> list[Scalar]:
        """[u, w]: how far the flows of two constant velocities fail to commute; zero where v = q̇."""

    @abstractmethod
    def rate(self, q: Scalars, v: Scalars) -> list[Scalar]:
        """q̇, nq numbers; v itself where coordinates and velocities correspond."""

    def carried(self, v: Scalars, step: Scalars) -> list[Scalar]:
        """v after a displacement `step`, of a body on which nothing acts: velocities in axes of the body change as
        these turn; all others stay."""
        return list(v)

    def straight(self, dv: Scalars) -> list[Scalar]:
        """The displacement dv with the origin going straight along it, not with the turning axes; for `retract`."""
        return list(dv)

    @abstractmethod
    def neutral(self) -> list[float]:
        """The configuration at which the joint is 'at zero'."""

    @abstractmethod
    def normalized(self, q: Scalars) -> list[Scalar]:
        """The nearest configuration on the manifold (unit quaternions made unit); q itself for plain coordinates."""

    @abstractmethod
    def limited(self, q: Scalars) -> list[Scalar]:
        """The quantities that `limits` bounds: the coordinates, or the angle of a spherical joint."""

    def limited_gradients(self, q: Scalars) -> list[list[Scalar]]:
        """The gradient of each limited quantity along the freedoms, (nv,); where one has none, zero."""
        return [[1 if i == k else 0 for i in range(self.nv)] for k in range(self.nv)]

    @abstractmethod
    def scaled(self, factor: Scalar) -> Joint:
        """The joint of a mechanism `factor` times as long: offsets, pitches and limits of slides grow, angles stay."""

    def stretched(self, q: Scalars, factor: Scalar) -> list[Scalar]:
        """q as it looks in the joint `scaled` by a factor: slides grow with it, angles stay."""
        return list(q)

    def subspace_rate(self, q: Scalars, v: Scalars) -> Basis[Motion]:
        """Ṡ, 6 × nv, in the body's coordinates, by differentiating `subspace` along v; Ṡ v is the bias."""
        return Basis.motions(*derivative(lambda dv: self.subspace(self.retract(q, dv)).columns, v))

    def coordinates_at(self, X: Transform) -> list[Scalar] | None:
        """The q at which the joint comes nearest to a pose, by a formula; None where only an iteration finds it."""
        return None

    def drive(self, q: Scalars, gear: Scalars, in_parent: bool) -> tuple[Scalar, list[Scalar], Scalar]:
        """Of an actuator with six gear ratios: its length l, the joint forces of one unit of its force, ∂l/∂q, and the
        period of l where it comes back after a turn, else 0.

        l = Σ gear_k q_k for plain coordinates; joints with quaternions say what they take (force, then moment).
        """
        if self.nq != self.nv:
            raise JointError(f"{type(self).__name__} joint: an actuator cannot drive it by gear ratios; drive a frame")
        return sum((g * x for g, x in zip(gear, q, strict=False)), start=0), list(gear[: self.nv]), 0

    def complement(self, q: Scalars) -> Basis[Force]:
        """T, 6 × (6 - nv): a basis of the constraint forces, Sᵀ T = 0 (F10–F12)."""
        return complement_of(self.subspace(q))


def complement_of(S: Basis[Motion]) -> Basis[Force]:
    """A basis of the forces that do no work on S, by one Householder reflection a column.

    Given a basis T of the forces that do no work on the first columns, the next column s meets them with r = Tᵀs; the
    reflection H that takes r to its first axis has r⊥ in its other columns, so T H without its first column is the new
    basis. It needs no pivot, so it is the same text for every scalar; a column that adds nothing (r = 0) gives H = 1:
    where S loses rank there are still 6 - nv columns that do no work, but not all such forces.
    """
    unit = [[1 if i == j else 0 for j in range(6)] for i in range(6)]
    T = Basis.forces(*(Force.of(e) for e in unit))
    for s in S.columns[:6]:
        r = T.T @ s
        norm = sqrt(sum(x * x for x in r))
        u = [r[0] + where(r[0] < 0, -norm, norm), *r[1:]]
        uu = sum(x * x for x in u)
        scale = 2 / where(uu > 0, uu, 1)
        T_u = T @ u
        T = Basis.forces(*(t - T_u * (scale * x) for t, x in zip(T.columns[1:], u[1:], strict=True)))
    return T


def unit_axis(axis: str | Vec3 | Iterable[Scalar]) -> Vec3:
    """A unit vector from 'x', '-z' … or any three numbers."""
    if isinstance(axis, str):
        if axis not in AXES:
            raise JointError(f"axis {axis!r} is unknown; use one of {', '.join(AXES)}, or three numbers")
        return AXES[axis]
    try:
        a = Vec3.of(axis)
    except ValueShapeError:
        raise JointError(f"an axis is 'x', 'y', 'z', '-x' … or three numbers, got {axis!r}") from None
    for x in a:
        problem = scalar_problem(x)
        if problem is not None:
            raise JointError(f"axis {tuple(a)} gives no direction: {problem}")
    if all(is_number(x) for x in a):
        largest = max(abs(x) for x in a)
        if largest < 1e-12:
            raise JointError(f"axis {tuple(a)} is zero: it gives no direction; use a vector of length 1")
        if abs(a.dot(a) - 1) < 1e-15:
            return a
        a = a / largest  # so that squares neither overflow nor vanish
    return a / a.norm()


def limits_of(value: LimitsLike, joint: str, limited: int, nv: int) -> Limits:
    """Limits in full from what people write: `Limits`, a pair (lower, upper), or None for no bounds."""
    if isinstance(value, Limits) and _is_in_full(value, limited, nv):
        return value
    given = value if isinstance(value, Limits) else Limits() if value is None else _pair(value, joint)
    lower, upper = _filled(given.lower, joint, limited, -inf), _filled(given.upper, joint, limited, inf)
    velocity, effort = _filled(given.velocity, joint, nv, inf), _filled(given.effort, joint, nv, inf)
    for name, row, size in (
        ("lower", lower, limited), ("upper", upper, limited), ("velocity", velocity, nv), ("effort", effort, nv)
    ):  # fmt: skip
        if len(row) != size:
            raise JointError(f"{joint} joint: {size} {name} limits expected, got {len(row)}: {row}")
        if any(isnan(x) for x in row):
            raise JointError(f"{joint} joint: a {name} limit is not a number: {row}")
        if name in ("velocity", "effort") and any(x < 0 for x in row):
            raise JointError(f"{joint} joint: a {name} limit is negative: {row}; give its magnitude")
    for low, high in zip(lower, upper, strict=True):
        if low > high:
            raise JointError(f"{joint} joint: lower limit {low} is above upper limit {high}; swap them")
    return Limits(lower, upper, velocity, effort)


def _is_in_full(limits: Limits, limited: int, nv: int) -> bool:
    """Whether all bounds are there, as floats, and in order, so that nothing is left to do: files give them so."""
    lower, upper, velocity, effort = limits.lower, limits.upper, limits.velocity, limits.effort
    if not (type(lower) is type(upper) is type(velocity) is type(effort) is tuple):
        return False
    if not (len(lower) == len(upper) == limited and len(velocity) == len(effort) == nv):
        return False
    for low, high in zip(lower, upper, strict=True):
        if not (type(low) is type(high) is float and low <= high):
            return False
    return all(type(x) is float and x >= 0 for x in velocity + effort)


def _filled(row: Any, joint: str, size: int, default: float) -> tuple[float, ...]:
    entries = tuple(row) if isinstance(row, Iterable) and not isinstance(row, str) else (row,)
    if not all(is_number(x) for x in entries):
        raise JointError(f"{joint} joint: limits are numbers, got {row!r}")
    return tuple(float(x) for x in entries) or (default,) * size


def _pair(value: Sequence[Any], joint: str) -> Limits:
    try:
        lower, upper = value
    except (TypeError, ValueError):
        raise JointError(f"{joint} joint: limits are (lower, upper) or qdot.joints.Limits, got {value!r}") from None
    return Limits(_filled(lower, joint, 0, 0.0), _filled(upper, joint, 0, 0.0))


def set_fields(joint: Joint, **values: object) -> None:
    """Fill the fields of a frozen joint while it is being made."""
    for name, value in values.items():
        object.__setattr__(joint, name, value)
