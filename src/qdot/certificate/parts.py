"""Laws of one joint and of one inertia: where such a law fails, the part that is wrong is known by name.

Routes through a whole mechanism may share a mistake: if S of a joint has the wrong sign, Newton–Euler and the
articulated bodies agree on the wrong motion. So each answer of a joint is held against the derivative of another one:

    transform  →  subspace  →  bias, subspace_rate, complement        rate  →  retract  →  difference, normalized

with derivatives by dual numbers along q̇ = rate(q, v). An inertia's products are held against its ten parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qdot.algebra import Mat3, Quaternion, Scalar, Scalars, Vec3, as_array, derivative, scalars_in
from qdot.algorithms.maps import added
from qdot.certificate.measure import relative
from qdot.certificate.record import Comparison
from qdot.joints import Joint
from qdot.spatial import Inertia, Motion, Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.certificate.sample import Sample

Sides: TypeAlias = tuple[Any, Any]


@dataclass(frozen=True)
class Moving:
    """A joint at configuration q with velocities v and u, shorter than one radian or metre; q1 is elsewhere. Lanes."""

    joint: Joint
    q: list[Scalar]
    q1: list[Scalar]
    v: list[Scalar]
    u: list[Scalar]

    def along(self, v: Scalars, f: Callable[[Scalars], Any], q: Scalars | None = None) -> Any:
        """d/dt f(q) where q̇ = rate(q, v)."""
        q = self.q if q is None else q
        return derivative(lambda step: f(added(q, step)), self.joint.rate(q, v))


@dataclass(frozen=True)
class Turning:
    """An inertia on a body that moves with V, seen from a frame A; W is another motion. Lanes."""

    inertia: Inertia
    V: Motion
    W: Motion
    X: Transform


@dataclass(frozen=True)
class Law:
    """Two sides that are equal: what the part answers, and what that must be."""

    answer: str
    truth: str
    sides: Callable[[Any], Sides]


# ── joints ───────────────────────────────────────────────────────────────────────────────────────


def _rigid(c: Moving) -> Sides:
    R = c.joint.transform(c.q).rotation
    return [R @ R.T, R.r0.cross(R.r1).dot(R.r2)], [Mat3.identity(), 1.0]


def _subspace(c: Moving) -> Sides:
    X = c.joint.transform(c.q)
    X_dot = c.along(c.v, c.joint.transform)
    W = X.rotation.T @ X_dot.rotation
    return c.joint.subspace(c.q) @ c.v, Motion.of([W.r2.y, W.r0.z, W.r1.x, *(X.rotation.T @ X_dot.position)])


def _bias(c: Moving) -> Sides:
    return c.joint.bias(c.q, c.v), c.along(c.v, lambda q: c.joint.subspace(q) @ c.v)


def _subspace_rate(c: Moving) -> Sides:
    return c.joint.subspace_rate(c.q, c.v).columns, c.along(c.v, lambda q: c.joint.subspace(q).columns)


def _complement(c: Moving) -> Sides:
    S, T = c.joint.subspace(c.q), c.joint.complement(c.q)
    work = [S.T @ t for t in T]
    return [len(T), work], [max(0, 6 - len(S)), [[0.0] * len(S)] * len(T)]


def _retract(c: Moving) -> Sides:
    """At the start and at the end of a step: it follows the velocity all the way."""
    end = c.joint.retract(c.q, c.v)
    starting = derivative(lambda step: c.joint.retract(c.q, step), c.v)
    arriving = derivative(lambda step: c.joint.retract(c.q, added(c.v, step)), c.v)
    return [starting, arriving], [c.joint.rate(c.q, c.v), c.joint.rate(end, c.v)]


def _difference(c: Moving) -> Sides:
    there = c.joint.retract(c.q, c.joint.difference(c.q, c.q1))
    return (
        [c.joint.difference(c.q, c.joint.retract(c.q, c.v)), c.joint.transform(there)],
        [c.v, c.joint.transform(c.q1)],
    )


def _normalized(c: Moving) -> Sides:
    end, neutral = c.joint.retract(c.q, c.v), c.joint.neutral()
    return [c.joint.normalized(end), c.joint.normalized(neutral)], [end, neutral]


def _neutral(c: Moving) -> Sides:
    """Plain coordinates count from there; quaternions have no zero."""
    q = c.joint.neutral()
    return q, [0.0] * len(q) if c.joint.nq == c.joint.nv else q


def _bracket(c: Moving) -> Sides:
    def twice(first: Scalars, then: Scalars) -> list[Scalar]:
        return list(scalars_in(c.along(first, lambda q: c.along(then, c.joint.transform, q))))

    around = [x - y for x, y in zip(twice(c.v, c.u), twice(c.u, c.v), strict=True)]
    return list(scalars_in(c.along(c.joint.bracket(c.v, c.u), c.joint.transform))), around


JOINT_LAWS = (
    Law("transform(q)", "a rotation and a position", _rigid),
    Law("subspace(q) v", "the velocity of transform(q) along rate(q, v)", _subspace),
    Law("bias(q, v)", "the derivative of subspace(q) v along rate(q, v)", _bias),
    Law("subspace_rate(q, v)", "the derivative of subspace(q) along rate(q, v)", _subspace_rate),
    Law("complement(q)", "6 - nv forces that do no work on subspace(q)", _complement),
    Law("retract(q, v)", "where rate(q, v) leads", _retract),
    Law("difference(q, q1)", "the inverse of retract(q, v)", _difference),
    Law("normalized(q)", "q itself, where retract(q, v) leads", _normalized),
    Law("neutral()", "zero, where velocities are the rates of the coordinates", _neutral),
    Law("bracket(u, v)", "how derivatives of transform(q) along rates fail to commute", _bracket),
)


# ── inertias ─────────────────────────────────────────────────────────────────────────────────────


def _momentum(c: Turning) -> Sides:
    """[[I, h×], [-h×, m]] V, written out from the ten parameters."""
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = c.inertia.parameters()
    h, I = Vec3(hx, hy, hz), Mat3.of([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    n, f = I @ c.V.ang + h.cross(c.V.lin), c.V.lin * m - h.cross(c.V.ang)
    return [c.inertia @ c.V, c.inertia.energy(c.V)], [n, f, (c.V.ang.dot(n) + c.V.lin.dot(f)) / 2]


def _carried(c: Turning) -> Sides:
    return (c.X @ c.inertia) @ c.V, c.X @ (c.inertia @ (c.X.inv() @ c.V))


def _rate(c: Turning) -> Sides:
    return c.inertia.rate(c.V) @ c.W, c.V.cross(c.inertia @ c.W) - c.inertia @ c.V.cross(c.W)


INERTIA_LAWS = (
    Law("I V and its energy", "what the ten parameters of I say", _momentum),
    Law("I seen from another frame", "the congruence X* I X⁻¹", _carried),
    Law("dI/dt", "V ×* I - I V ×", _rate),
)


# ── all of a model ───────────────────────────────────────────────────────────────────────────────


def part_comparisons(sample: Sample, tolerance: float, seed: int) -> Iterator[Callable[[], Comparison]]:
    """One comparison for each law, over all bodies; computed when called."""
    rng = np.random.default_rng([seed, 1])
    moving = {body.name: _moving(sample, body.joint, body.qs, rng) for body in sample.model.bodies}
    turning = {body.name: _turning(body.inertia, rng, sample.states) for body in sample.model.bodies}
    for law in JOINT_LAWS:
        yield partial(_compared, "joint", law, moving, dict.fromkeys(moving, 1.0), tolerance)
    sizes = {body.name: max(abs(float(x)) for x in body.inertia.parameters()) for body in sample.model.bodies}
    for law in INERTIA_LAWS:
        yield partial(_compared, "inertia", law, turning, sizes, tolerance)


def _compared(part: str, law: Law, cases: dict[str, Any], least: dict[str, float], tolerance: float) -> Comparison:
    """`least` is how large terms are where all of them cancel."""
    by_body, problems = {}, {}
    for name, case in cases.items():
        try:
            answer, truth = (_numbers(side) for side in law.sides(case))
            size = max(float(np.max(np.abs(truth), initial=0.0)), least[name])
            by_body[name] = float(np.max(relative(answer - truth, size), initial=0.0))
        except Exception as error:  # a joint may be anyone's: what it raises is the finding
            by_body[name] = inf
            problems[name] = f"{type(error).__name__}: {error}"
    return Comparison(part, law.answer, law.truth, by_body, tolerance, part, problems)


def _moving(sample: Sample, joint: Joint, qs: slice, rng: np.random.Generator) -> Moving:
    v, u = (_short(rng.normal(size=(joint.nv, sample.states))) for _ in range(2))
    here = sample.q[qs]
    elsewhere = [np.roll(x, 1) for x in here]
    return Moving(joint, here, elsewhere, v, u)


def _turning(inertia: Inertia, rng: np.random.Generator, states: int) -> Turning:
    V, W = (Motion.of(rng.normal(size=(6, states))) for _ in range(2))
    turn = Quaternion(*rng.normal(size=4).tolist()).normalized()
    return Turning(inertia, V, W, Transform(turn.rotation(), Vec3.of(rng.normal(size=3).tolist())))


def _short(rows: NDArray[np.float64]) -> list[Scalar]:
    """So short that a turn by it is the shortest way: below one."""
    return list(rows / (1 + np.linalg.norm(rows, axis=0))) if len(rows) else []


def _numbers(value: Any) -> NDArray[np.float64]:
    """The scalars of any structure side by side: (n,), or (states, n) where one of them is lanes."""
    return as_array(list(scalars_in(value)))
