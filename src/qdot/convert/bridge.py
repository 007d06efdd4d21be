"""Vectors of a model and of a peer: one motion of the same joints, in other numbers.

The two sides differ in the order of the joints, and in what a quaternion, a free body or a wheel is written as.
Velocities are related by a matrix T, and with them all that follows (a prime marks the peer's):

    v' = T(q) v,   a' = T a + Ṫ v,   τ' = T⁻ᵀ τ (equal power),   M' = T⁻ᵀ M T⁻¹.

T turns and exchanges axes and no more, so it is orthogonal: T⁻ᵀ = T, and forces are converted as velocities are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qdot.algebra import Scalar, Scalars, as_array, derivative
from qdot.errors import ValueShapeError
from qdot.joints import Joint
from qdot.model.model import Model
from qdot.model.vectors import UNIT_TOLERANCE, check_on_manifold, scalars_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Convention:
    """How a peer writes an elementary joint: this one, with the same numbers; others derive from it.

    `unit` is what it is called there, `nq` how many coordinates it has there. T is orthogonal.
    """

    unit: str
    nq: int

    def q_to(self, q: Scalars) -> Scalars:
        return q

    def q_from(self, peer_q: Scalars) -> Scalars:
        return peer_q

    def v_to(self, q: Scalars, v: Scalars) -> Scalars:
        """T v."""
        return v

    def v_from(self, q: Scalars, peer_v: Scalars) -> Scalars:
        """T⁻¹ v', at qdot's q."""
        return peer_v


class Segment(NamedTuple):
    """An elementary joint, with its places on both sides."""

    name: str
    joint: Joint
    convention: Convention
    q: slice
    v: slice
    peer_q: slice
    peer_v: slice

    def drift(self, q: Scalars, v: Scalars) -> Scalars:
        """Ṫ v, by differentiating T v along v."""
        return derivative(lambda dv: list(self.convention.v_to(self.joint.retract(q, dv), v)), v)


@dataclass(frozen=True, repr=False)
class Bridge:
    """Takes vectors of a model to a peer (`…_to`) and back (`…_from`); made by `qdot.convert.mujoco` and `pinocchio`.

    Each method takes one vector or a batch, (n,) or (batch, n), and returns the like; a single vector among batches is
    used for every row. `nq` and `nv` are the lengths of the peer's vectors. Angles that the peer writes as (cos, sin)
    come back between -π and π.
    """

    model: Model
    peer: str
    nq: int
    nv: int
    segments: tuple[Segment, ...] = field(compare=False)

    def q_to(self, q: Any) -> NDArray[Any]:
        """The peer's configuration, (nq,)."""
        rows, q = self._own(q=q)
        return _packed(self.nq, rows, ((s.peer_q, s.convention.q_to(q[s.q])) for s in self.segments))

    def v_to(self, q: Any, v: Any) -> NDArray[Any]:
        """The peer's velocity T v, (nv,)."""
        rows, q, v = self._own(q=q, v=v)
        return _packed(self.nv, rows, ((s.peer_v, s.convention.v_to(q[s.q], v[s.v])) for s in self.segments))

    def a_to(self, q: Any, v: Any, a: Any) -> NDArray[Any]:
        """The peer's acceleration T a + Ṫ v, (nv,)."""
        rows, q, v, a = self._own(q=q, v=v, a=a)

        def there(s: Segment) -> Scalars:
            Ta, drift = s.convention.v_to(q[s.q], a[s.v]), s.drift(q[s.q], v[s.v])
            return [x + y for x, y in zip(Ta, drift, strict=True)]

        return _packed(self.nv, rows, ((s.peer_v, there(s)) for s in self.segments))

    def tau_to(self, q: Any, tau: Any) -> NDArray[Any]:
        """The peer's joint forces T⁻ᵀ τ, (nv,): those of the same power."""
        rows, q, tau = self._own(q=q, tau=tau)
        return _packed(self.nv, rows, ((s.peer_v, s.convention.v_to(q[s.q], tau[s.v])) for s in self.segments))

    def q_from(self, peer_q: Any) -> NDArray[Any]:
        """The configuration q, (model.nq,)."""
        rows, q = self._theirs(peer_q)
        return _packed(self.model.nq, rows, [(slice(None), q)])

    def v_from(self, peer_q: Any, peer_v: Any) -> NDArray[Any]:
        """The velocity T⁻¹ v', (model.nv,)."""
        rows, q, there = self._theirs(peer_q, velocity=peer_v)
        here = ((s.v, s.convention.v_from(q[s.q], there[s.peer_v])) for s in self.segments)
        return _packed(self.model.nv, rows, here)

    def a_from(self, peer_q: Any, peer_v: Any, peer_a: Any) -> NDArray[Any]:
        """The acceleration T⁻¹ (a' - Ṫ v), (model.nv,)."""
        rows, q, v_there, a_there = self._theirs(peer_q, velocity=peer_v, acceleration=peer_a)

        def here(s: Segment) -> Scalars:
            drift = s.drift(q[s.q], s.convention.v_from(q[s.q], v_there[s.peer_v]))
            return s.convention.v_from(q[s.q], [x - y for x, y in zip(a_there[s.peer_v], drift, strict=True)])

        return _packed(self.model.nv, rows, ((s.v, here(s)) for s in self.segments))

    def tau_from(self, peer_q: Any, peer_tau: Any) -> NDArray[Any]:
        """The joint forces Tᵀ τ', (model.nv,)."""
        rows, q, there = self._theirs(peer_q, force=peer_tau)
        here = ((s.v, s.convention.v_from(q[s.q], there[s.peer_v])) for s in self.segments)
        return _packed(self.model.nv, rows, here)

    def velocity_matrix(self, q: Any) -> NDArray[Any]:
        """T(q), (nv, nv), orthogonal: v' = T v, τ' = T τ, M' = T M Tᵀ, and of Jacobians J' = J Tᵀ."""
        rows, q = self._own(q=q)
        T: list[list[Scalar]] = [[0.0] * self.nv for _ in range(self.nv)]
        for s in self.segments:
            for k in range(s.joint.nv):
                unit = [1.0 if i == k else 0.0 for i in range(s.joint.nv)]
                for i, x in enumerate(s.convention.v_to(q[s.q], unit)):
                    T[s.peer_v.start + i][s.v.start + k] = x
        return as_array(T, rows).reshape((*rows, self.nv, self.nv))

    def __repr__(self) -> str:
        return f"<Bridge between model {self.model.name!r} and {self.peer}: nq = {self.nq}, nv = {self.nv} there>"

    # ── vectors as scalars ───────────────────────────────────────────────────────────────────────

    def _own(self, **vectors: Any) -> tuple[Any, ...]:
        """The shape of the batch, then the scalars of each vector of the model."""
        scalars = [scalars_of(self.model, name, value) for name, value in vectors.items()]
        return _rows(vectors), *scalars

    def _theirs(self, configuration: Any, **vectors: Any) -> tuple[Any, ...]:
        """The shape of the batch, then the scalars of qdot's q, then those of the peer's other vectors."""
        there = self._scalars("configuration", configuration, self.nq)
        q: list[Scalar] = [0.0] * self.model.nq
        for s in self.segments:
            q[s.q] = s.convention.q_from(there[s.peer_q])
            self._check_circle(s, there[s.peer_q], q[s.q])
        check_on_manifold(self.model, "q", q)
        scalars = [self._scalars(name, value, self.nv) for name, value in vectors.items()]
        return _rows({"configuration": configuration, **vectors}), q, *scalars

    def _scalars(self, name: str, value: Any, size: int) -> list[Scalar]:
        """Floats of a vector of the peer, or lanes of a batch."""
        what = f"the {name} of model {self.model.name!r} in {self.peer}"
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ValueShapeError(f"{what} must be a vector of {size} numbers, got {value!r}") from None
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise ValueShapeError(f"{what} needs shape ({size},) or (batch, {size}), got {array.shape}")
        if not np.isfinite(array).all():
            place = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
            raise ValueShapeError(f"{what} is {array[place]} at {list(place)}; entries must be finite numbers")
        return array.tolist() if array.ndim == 1 else list(np.ascontiguousarray(array.T))

    def _check_circle(self, s: Segment, there: Scalars, q: Scalars) -> None:
        """Raise where a (cos, sin) is not of unit length: it would not come back from the angle."""
        if s.convention.nq == s.joint.nq:
            return
        off = [np.abs(np.asarray(x) - y) for x, y in zip(s.convention.q_to(q), there, strict=True)]
        if np.max(off, initial=0.0) > UNIT_TOLERANCE:
            raise ValueShapeError(
                f"the configuration of model {self.model.name!r} in {self.peer}: (cos, sin) of joint {s.name!r} is not "
                f"of unit length; {self.peer} writes this joint's angle as its cosine and sine"
            )


def _rows(vectors: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the batch: () where all are single vectors."""
    lengths = {name: len(value) for name, value in vectors.items() if np.ndim(value) == 2}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueShapeError(
            f"these batches have different numbers of rows: {told}; give each the same number, or one"
        )
    return tuple(set(lengths.values()))


def _packed(size: int, rows: tuple[int, ...], pieces: Iterable[tuple[slice, Scalars]]) -> NDArray[Any]:
    """A vector from its pieces; (batch, size) where there are rows."""
    vector: list[Scalar] = [0.0] * size
    for place, entries in pieces:
        vector[place] = entries
    return as_array(vector, rows).reshape((*rows, size))
