"""Random states of a model, as lanes: every text runs once for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Scalar, Scalars, as_array, derivative
from qdot.algorithms import crba, rnea
from qdot.algorithms.configuration import configuration_rate
from qdot.algorithms.maps import added
from qdot.algorithms.passive import passive_terms
from qdot.certificate.poses import BodyMotions
from qdot.joints import Joint
from qdot.model.model import Model
from qdot.spatial import Force

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

PUSHED = 3
"""Bodies that external wrenches act on."""


@dataclass(frozen=True)
class Sample:
    """States (q, v) with accelerations a, and wrenches on some bodies: a lane for each state."""

    model: Model
    q: list[Scalar]
    v: list[Scalar]
    a: list[Scalar]
    wrenches: dict[str, Force]
    states: int

    @staticmethod
    def drawn(model: Model, states: int, seed: int) -> Sample:
        """Joints about one radian or metre from neutral, speeds and accelerations of order one, wrenches as heavy as
        the bodies they push."""
        rng = np.random.default_rng(seed)
        q = [x for body in model.bodies for x in _configuration(body.joint, rng, states)]
        v, a = (list(rng.normal(size=(model.nv, states))) for _ in range(2))
        pushed = model.bodies[:: max(1, -(-len(model.bodies) // PUSHED))]
        wrenches = {body.name: Force.of(abs(body.inertia.mass) * rng.normal(size=(6, states)) * 10) for body in pushed}
        return Sample(model, q, v, a, wrenches, states)

    def packed(self, result: Any) -> NDArray[np.float64]:
        """Nested lists of lanes as one array, (states, …)."""
        return as_array(result, (self.states,))

    def lanes(self, x: Scalar) -> NDArray[np.float64]:
        """A scalar in every state, (states,)."""
        return np.array(np.broadcast_to(np.asarray(x, dtype=float), (self.states,)))

    def each_freedom(self) -> tuple[list[Scalar], list[Scalar]]:
        """(q, e) with lanes (states, nv): in lane (s, k) freedom k moves at unit speed."""
        unit = np.eye(self.model.nv)
        return [x[:, None] for x in self.q], [row[None, :] for row in unit]

    def along_motion(self, text: Callable[[Scalars, Scalars], Any]) -> Any:
        """d/dt of a function of (q, v) along the motion q̇ = rate(q, v), v̇ = a, by dual numbers."""
        q, v, n = self.q, self.v, self.model.nq

        def moved(step: Scalars) -> Any:
            return text(added(q, step[:n]), added(v, step[n:]))

        return derivative(moved, [*configuration_rate(self.model, q, v), *self.a])

    def along_freedoms(self, text: Callable[[Scalars], Any]) -> Any:
        """∂/∂q_k of a function of q, by dual numbers: lanes (states, nv), all freedoms k at once."""
        q, e = self.each_freedom()
        return derivative(lambda step: text(added(q, step)), configuration_rate(self.model, q, e))

    @cached_property
    def motions(self) -> BodyMotions:
        """How the bodies move, from their poses alone."""
        return BodyMotions.of(self)

    @cached_property
    def M(self) -> NDArray[np.float64]:
        """By composite rigid bodies, (states, nv, nv)."""
        return self.packed(crba.mass_matrix(self.model, self.q)).reshape(self.states, self.model.nv, self.model.nv)

    @cached_property
    def tau(self) -> list[Scalar]:
        """The joint forces that make the accelerations a, by Newton and Euler; lanes."""
        found = rnea.inverse_dynamics(self.model, self.q, self.v, self.a, wrenches=self.wrenches)
        return [self.lanes(x) for x in found]

    @cached_property
    def passive(self) -> dict[str, NDArray[np.float64]]:
        """Passive forces by cause, each (states, nv)."""
        return {name: self.packed(row) for name, row in passive_terms(self.model, self.q, self.v).items()}

    @property
    def passive_sum(self) -> NDArray[np.float64]:
        return np.sum(list(self.passive.values()), axis=0)


def _configuration(joint: Joint, rng: Generator, states: int) -> list[NDArray[np.float64]]:
    step = list(rng.normal(size=(joint.nv, states)))
    try:
        q = joint.normalized(joint.retract(joint.neutral(), step))
        rows = [np.array(np.broadcast_to(np.asarray(x, dtype=float), (states,))) for x in q]
    except Exception:  # a joint that cannot do this is told by its own laws
        rows = []
    if len(rows) == joint.nq and np.isfinite(rows).all():
        return rows
    return [np.full(states, x) for x in joint.neutral()]
