"""Tendons: their lengths L(q), and how those change, J = ∂L/∂q; a tension f makes the joint forces -Jᵀ f.

A spatial tendon is straight pieces between points of bodies. The rate of a piece from a to b is u·(ṗ_b - ṗ_a), u its
direction; what lies on a surface moves with it and keeps its length. So a row of J is what unit pulls at the ends of
all pieces do to the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from qdot.algebra import Scalar, Scalars, Vec3, sqrt, where
from qdot.algebra.linalg import Matrix
from qdot.algorithms.applied import add_force, force_at, joint_forces
from qdot.algorithms.kinematics import world_poses
from qdot.algorithms.wrapping import length_of, wound
from qdot.description import Pulley, TendonRecord, Via, Weighted, Wrap
from qdot.model.model import Frame, Model
from qdot.spatial import Force, Transform


class Tendon(NamedTuple):
    """The length of a tendon [m, or as its coefficients say], and its gradient along the freedoms, (nv,)."""

    length: Scalar
    gradient: list[Scalar]

    def rate(self, v: Scalars) -> Scalar:
        """L̇ = J v."""
        return sum((g * x for g, x in zip(self.gradient, v, strict=True)), start=0)


def tendon_lengths(model: Model, q: Scalars) -> list[Scalar]:
    """L of every tendon, (tendons,) [m; of a fixed tendon what its coefficients make of rad and m]."""
    return [t.length for t in tendons(model, q, world_poses(model, q))]


def tendon_jacobian(model: Model, q: Scalars) -> Matrix:
    """∂L/∂q, tendons × nv: the rates of the lengths are this times v."""
    return [t.gradient for t in tendons(model, q, world_poses(model, q))]


def tendons(model: Model, q: Scalars, X: Sequence[Transform]) -> list[Tendon]:
    """All tendons of a model, whose bodies are at poses X in the world."""
    return [_fixed(model, q, t) if t.fixed else _spatial(model, q, X, t) for t in model.tendons]


def _fixed(model: Model, q: Scalars, tendon: TendonRecord) -> Tendon:
    length: Scalar = tendon.offset
    gradient: list[Scalar] = [0] * model.nv
    for term in tendon.path:
        assert isinstance(term, Weighted)
        body = model.joint(term.joint)
        length = length + term.coefficient * q[body.qs.start]
        gradient[body.dofs.start] = gradient[body.dofs.start] + term.coefficient
    return Tendon(length, gradient)


def _spatial(model: Model, q: Scalars, X: Sequence[Transform], tendon: TendonRecord) -> Tendon:
    length: Scalar = tendon.offset
    pulls: dict[int, Force] = {}
    share: Scalar = 1
    stops = [e for e in tendon.path if not isinstance(e, Wrap)]
    around = dict(_wraps(tendon))
    for i, (one, next_one) in enumerate(pairwise(stops)):
        if isinstance(one, Pulley):
            share = 1 / one.divisor
        if isinstance(one, Via) and isinstance(next_one, Via):
            length = length + share * _piece(model, X, one, around.get(i), next_one, share, pulls)
    return Tendon(length, joint_forces(model, q, X, pulls))


def _wraps(tendon: TendonRecord) -> list[tuple[int, Wrap]]:
    """What the tendon is wound round, each with the number of the stop before it."""
    found, stops = [], 0
    for element in tendon.path:
        if isinstance(element, Wrap):
            found.append((stops - 1, element))
        else:
            stops += 1
    return found


def _piece(
    model: Model, X: Sequence[Transform], one: Via, around: Wrap | None, other: Via, share: Scalar,
    pulls: dict[int, Force],
) -> Scalar:  # fmt: skip
    """The length between two frames; its pulls are added to those on the bodies."""
    (i, a), (j, b) = _point(model, X, one.frame), _point(model, X, other.frame)
    direct, straight = _direction(a, b)
    if around is None:
        _pull(pulls, i, a, j, b, straight * share)
        return direct
    frame = model.frame(around.frame)
    wrap = wound(
        a, b, X[frame.body] @ frame.placement, around.radius, around.cylinder, _side(model, X, frame, around.side)
    )
    to, leading = _direction(a, wrap.start)
    back, leaving = _direction(wrap.end, b)
    _pull(pulls, i, a, frame.body, wrap.start, leading * (wrap.touches * share))
    _pull(pulls, frame.body, wrap.end, j, b, leaving * (wrap.touches * share))
    _pull(pulls, i, a, j, b, straight * ((1 - wrap.touches) * share))
    return where(wrap.touches > 0, to + wrap.length + back, direct)


def _point(model: Model, X: Sequence[Transform], name: str) -> tuple[int, Vec3]:
    frame = model.frame(name)
    return frame.body, X[frame.body] @ frame.placement.position


def _side(model: Model, X: Sequence[Transform], of: Frame, side: str | None) -> Vec3 | None:
    """The origin of frame `side` in coordinates of a frame."""
    if side is None:
        return None
    frame = model.frame(side)
    if frame.body == of.body:
        return of.placement.inv() @ frame.placement.position
    return (X[of.body] @ of.placement).inv() @ _point(model, X, side)[1]


def _direction(a: Vec3, b: Vec3) -> tuple[Scalar, Vec3]:
    """The distance of two points and the unit vector from one to the other, zero where they coincide."""
    d = b - a
    return sqrt(d.dot(d)), d / length_of(d.dot(d))


def _pull(pulls: dict[int, Force], i: int, a: Vec3, j: int, b: Vec3, u: Vec3) -> None:
    """What lengthens a piece from a on body i to b on body j: u at b, -u at a."""
    add_force(pulls, j, force_at(b, u))
    add_force(pulls, i, force_at(a, -u))
