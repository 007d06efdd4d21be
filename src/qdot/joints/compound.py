"""Joints in series, without bodies between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars
from qdot.errors import JointError
from qdot.joints.base import Joint, Limits
from qdot.spatial import Basis, Motion, Transform


@dataclass(frozen=True, slots=True, init=False)
class Compound(Joint):
    """Joints of any kind, one after the other from the parent to the body; q and v are theirs, joined end to end.

    A `Fixed` part is an offset between two others, so an axis off the body's origin is
    Compound(Fixed(X), Revolute(...), Fixed(X.inv().transform())).
    """

    parts: tuple[Joint, ...]

    def __init__(self, *parts: Joint) -> None:
        for part in parts:
            if not isinstance(part, Joint):
                raise JointError(f"compound joint: its parts are joints, got {part!r}")
        if not parts:
            raise JointError("compound joint: it has no parts; use Fixed() for no freedom")
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def nq(self) -> int:
        return sum(part.nq for part in self.parts)

    @property
    def nv(self) -> int:
        return sum(part.nv for part in self.parts)

    @property
    def limits(self) -> Limits:
        parts = [part.limits for part in self.parts]
        return Limits(
            lower=sum((p.lower for p in parts), ()),
            upper=sum((p.upper for p in parts), ()),
            velocity=sum((p.velocity for p in parts), ()),
            effort=sum((p.effort for p in parts), ()),
        )

    def _split(self, q: Scalars, v: Scalars) -> Iterator[tuple[Joint, Scalars, Scalars]]:
        i = j = 0
        for part in self.parts:
            yield part, q[i : i + part.nq], v[j : j + part.nv]
            i, j = i + part.nq, j + part.nv

    def _joined(self, q: Scalars, v: Scalars, f: Callable[[Joint, Scalars, Scalars], Scalars]) -> list[Scalar]:
        return [x for part, q_part, v_part in self._split(q, v) for x in f(part, q_part, v_part)]

    def transform(self, q: Scalars) -> Transform:
        X = Transform.identity()
        for k, (part, q_part, _) in enumerate(self._split(q, ())):
            X = part.transform(q_part) if k == 0 else X @ part.transform(q_part)
        return X

    def subspace(self, q: Scalars) -> Basis[Motion]:
        columns: tuple[Motion, ...] = ()
        for part, q_part, _ in self._split(q, ()):
            X = part.transform(q_part)
            columns = tuple(X.inv() @ s for s in columns) + part.subspace(q_part).columns
        return Basis.motions(*columns)

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        V, A = Motion.zero(), Motion.zero()  # of each part's frame, relative to the joint's, as in a chain of bodies
        for part, q_part, v_part in self._split(q, v):
            X = part.transform(q_part)
            VJ = part.subspace(q_part) @ v_part
            V = X.inv() @ V + VJ
            A = X.inv() @ A + part.bias(q_part, v_part) + V.cross(VJ)
        return A

    def retract(self, q: Scalars, dv: Scalars) -> list[Scalar]:
        return self._joined(q, dv, lambda part, q_part, dv_part: part.retract(q_part, dv_part))

    def difference(self, q0: Scalars, q1: Scalars) -> list[Scalar]:
        starts = [q_part for _, q_part, _ in self._split(q0, ())]
        ends = [q_part for _, q_part, _ in self._split(q1, ())]
        return [x for p, a, b in zip(self.parts, starts, ends, strict=True) for x in p.difference(a, b)]

    def bracket(self, u: Scalars, w: Scalars) -> list[Scalar]:
        pieces = zip(self.parts, self._split((), u), self._split((), w), strict=True)
        return [x for part, (*_, a), (*_, b) in pieces for x in part.bracket(a, b)]

    def rate(self, q: Scalars, v: Scalars) -> list[Scalar]:
        return self._joined(q, v, lambda part, q_part, v_part: part.rate(q_part, v_part))

    def neutral(self) -> list[float]:
        return [x for part in self.parts for x in part.neutral()]

    def normalized(self, q: Scalars) -> list[Scalar]:
        return self._joined(q, (), lambda part, q_part, _: part.normalized(q_part))

    def limited(self, q: Scalars) -> list[Scalar]:
        return self._joined(q, (), lambda part, q_part, _: part.limited(q_part))

    def carried(self, v: Scalars, step: Scalars) -> list[Scalar]:
        found: list[Scalar] = []
        for part in self.parts:
            own = slice(len(found), len(found) + part.nv)
            found += part.carried(v[own], step[own])
        return found

    def straight(self, dv: Scalars) -> list[Scalar]:
        found: list[Scalar] = []
        for part in self.parts:
            found += part.straight(dv[len(found) : len(found) + part.nv])
        return found

    def limited_gradients(self, q: Scalars) -> list[list[Scalar]]:
        rows, start, place = [], 0, 0
        for part in self.parts:
            for row in part.limited_gradients(q[place : place + part.nq]):
                rows.append([0] * start + row + [0] * (self.nv - start - part.nv))
            start, place = start + part.nv, place + part.nq
        return rows

    def stretched(self, q: Scalars, factor: Scalar) -> list[Scalar]:
        return self._joined(q, (), lambda part, q_part, _: part.stretched(q_part, factor))

    def scaled(self, factor: Scalar) -> Compound:
        return Compound(*(part.scaled(factor) for part in self.parts))
