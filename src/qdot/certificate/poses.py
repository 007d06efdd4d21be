"""The motion of every body from its pose alone: a route that asks no joint for S or Ṡv, and no inertia for products.

The pose X(q) is differentiated by dual numbers: along each freedom it gives the partial velocities of d'Alembert's
principle, ∂p/∂q_k and ω_k; along the motion, once and twice, velocity and acceleration. Then

    M_jk = Σ m ∂p_j·∂p_k + h·(∂p_j × ω_k + ∂p_k × ω_j) + ω_j·I ω_k
    τ_k  = Σ f·∂p_k + n·ω_k,   f = m (p̈ - g) + α × h + ω × (ω × h),   n = I α + ω × I ω + h × (p̈ - g)

over all bodies, about the origins of their frames, in world axes (h = m c; K5, F15, T11).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Scalars, as_array, derivative
from qdot.algorithms.configuration import configuration_rate
from qdot.algorithms.kinematics import world_poses
from qdot.algorithms.maps import added
from qdot.algorithms.passive import armature
from qdot.model.model import Frame, Model
from qdot.spatial import Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qdot.certificate.sample import Sample

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class BodyMotions:
    """Arrays in world axes, (states, bodies, …): poses, partial velocities by freedom, velocities, accelerations."""

    sample: Sample
    R: Array
    p: Array
    partial_p: Array
    """∂p/∂q_k, (states, bodies, nv, 3)."""
    partial_w: Array
    """ω_k, (states, bodies, nv, 3)."""
    p_dot: Array
    w: Array
    p_ddot: Array
    w_dot: Array
    reach: Array | float = 0.0
    """From each body to the point that its terms are written about, (states, bodies): its own origin, or the root's."""

    @staticmethod
    def of(sample: Sample) -> BodyMotions:
        model, rows = sample.model, (sample.states,)

        def rate(q: Scalars, v: Scalars) -> list[Transform]:
            return derivative(lambda step: world_poses(model, added(q, step)), configuration_rate(model, q, v))

        R, p = _arrays(world_poses(model, sample.q), rows)
        R_dot, p_dot = _arrays(rate(sample.q, sample.v), rows)
        R_ddot, p_ddot = _arrays(sample.along_motion(rate), rows)
        partial_R, partial_p = _arrays(sample.along_freedoms(lambda q: world_poses(model, q)), (*rows, model.nv))
        R_T = np.swapaxes(R, -1, -2)
        return BodyMotions(
            sample,
            R,
            p,
            np.swapaxes(partial_p, 1, 2),
            np.swapaxes(_vector(partial_R @ R_T[:, None]), 1, 2),
            p_dot,
            _vector(R_dot @ R_T),
            p_ddot,
            _vector(R_ddot @ R_T + R_dot @ np.swapaxes(R_dot, -1, -2)),
        )

    # ── inertias, by their ten parameters ────────────────────────────────────────────────────────

    @cached_property
    def parameters(self) -> tuple[Array, Array, Array]:
        """m, h, I of each body about its own origin, in its own axes."""
        rows = [body.inertia.parameters() for body in self.sample.model.bodies]
        pi = np.array(rows, dtype=float).reshape(-1, 10)
        xx, xy, yy, xz, yz, zz = pi[:, 4:].T
        I = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(-1, 3, 3)
        return pi[:, 0], pi[:, 1:4], I

    @cached_property
    def h(self) -> Array:
        return np.einsum("sbij,bj->sbi", self.R, self.parameters[1])

    @cached_property
    def I(self) -> Array:  # noqa: E743
        return self.R @ self.parameters[2] @ np.swapaxes(self.R, -1, -2)

    # ── the equations of motion ──────────────────────────────────────────────────────────────────

    def mass_matrix(self) -> Array:
        m, dp, w = self.parameters[0], self.partial_p, self.partial_w
        turned = np.cross(w, self.h[:, :, None])
        mixed = np.einsum("sbjx,sbkx->sjk", dp, turned)
        M = np.einsum("b,sbjx,sbkx->sjk", m, dp, dp) + mixed + np.swapaxes(mixed, 1, 2)
        M += np.einsum("sbjx,sbxy,sbky->sjk", w, self.I, w)
        return M + np.diag(_armature(self.sample.model))

    def momentum_rates(self) -> tuple[Array, Array]:
        """(n, f): moments and forces that change each body's momentum and hold its weight, about its origin."""
        a = self.p_ddot - np.array(tuple(self.sample.model.gravity), dtype=float)
        f = self.parameters[0][:, None] * a + np.cross(self.w_dot, self.h) + np.cross(self.w, np.cross(self.w, self.h))
        spin = np.einsum("sbij,sbj->sbi", self.I, self.w)
        n = np.einsum("sbij,sbj->sbi", self.I, self.w_dot) + np.cross(self.w, spin) + np.cross(self.h, a)
        return n, f

    def inverse_dynamics(self) -> Array:
        n, f = self.momentum_rates()
        tau = np.einsum("sbkx,sbx->sk", self.partial_p, f) + np.einsum("sbkx,sbx->sk", self.partial_w, n)
        tau += _armature(self.sample.model) * self.sample.packed(self.sample.a) - self.sample.passive_sum
        return tau - self.pushed()

    def pushed(self) -> Array:
        """Σ Jᵀ f of the external wrenches, (states, nv)."""
        total = np.zeros((self.sample.states, self.sample.model.nv))
        for name, wrench in self.sample.wrenches.items():
            J = self.jacobian(self.sample.model.frame(name))
            total += np.einsum("sxk,sx->sk", J, self.sample.packed(list(wrench)))
        return total

    def jacobian(self, frame: Frame) -> Array:
        """(ω_k, ∂p/∂q_k) of a frame's origin, (states, 6, nv)."""
        w, dp = self.partial_w[:, frame.body - 1], self.partial_p[:, frame.body - 1]
        r = self.R[:, frame.body - 1] @ np.array(tuple(frame.placement.position), dtype=float)
        return np.swapaxes(np.concatenate([w, dp + np.cross(w, r[:, None])], axis=-1), 1, 2)

    def kinetic_energies(self) -> Array:
        spin = np.einsum("sbx,sbxy,sby->sb", self.w, self.I, self.w)
        slide = self.parameters[0] * (self.p_dot**2).sum(-1)
        return (spin + slide) / 2 + (np.cross(self.w, self.h) * self.p_dot).sum(-1)

    # ── how large the terms are, before they cancel ──────────────────────────────────────────────

    @cached_property
    def speeds(self) -> tuple[Array, Array]:
        """How fast freedom k turns and moves each body, (states, bodies, nv).

        Moves it by |∂p/∂q_k| and by all the turns on the way from joint k, which cancel where the body is on its axis.
        """
        w, p = np.linalg.norm(self.partial_w, axis=-1), np.linalg.norm(self.partial_p, axis=-1)
        within = np.zeros_like(self.p[..., 0])
        along = np.zeros_like(within)
        levers = np.zeros_like(p)
        for body in self.sample.model.bodies:
            i, q = body.index - 1, self.sample.q[body.qs]
            within[:, i] = np.linalg.norm(self.sample.packed(list(body.joint.transform(q).position)), axis=-1)
            start = self.p[:, body.parent - 1] if body.parent else 0.0
            along[:, i] = np.linalg.norm(self.p[:, i] - start, axis=-1)
            along[:, i] += along[:, body.parent - 1] if body.parent else 0.0
        for body in self.sample.model.bodies:
            i = body.index - 1
            levers[:, :, body.dofs] = (along - along[:, [i]] + within[:, [i]])[..., None]
        return w, p + w * (np.maximum(levers, 0.0) + np.broadcast_to(self.reach, within.shape)[..., None])

    @cached_property
    def in_one_frame(self) -> BodyMotions:
        """The same motions with the sizes of terms written about the root body: m r² of bodies that are r away."""
        roots: list[int] = []
        for body in self.sample.model.bodies:
            roots.append(roots[body.parent - 1] if body.parent else body.index - 1)
        return replace(self, reach=np.linalg.norm(self.p - self.p[:, roots], axis=-1))

    @cached_property
    def weights(self) -> tuple[Array, Array, Array]:
        """|m|, |h| and the trace of |I| of each body."""
        m, h, I = self.parameters
        return abs(m), np.linalg.norm(h, axis=-1), np.trace(abs(I), axis1=-2, axis2=-1)

    @cached_property
    def mass_sizes(self) -> Array:
        """√ of how large the diagonal of M could be, (states, nv): entry jk of M is at most the product of two."""
        m, h, I = self.weights
        w, p = self.speeds
        return np.sqrt(
            np.einsum("b,sbk->sk", m, p**2)
            + np.einsum("b,sbk->sk", 2 * h, p * w)
            + np.einsum("b,sbk->sk", I, w**2)
            + abs(_armature(self.sample.model))
        )

    @cached_property
    def body_sizes(self) -> tuple[Array, Array]:
        """(n, f): the magnitudes of all terms of each body's momentum rate, (states, bodies)."""
        m, h, I = self.weights
        w, p = self.speeds
        a = abs(self.sample.packed(self.sample.a))
        gravity = float(np.linalg.norm(np.array(tuple(self.sample.model.gravity), dtype=float)))
        linear = np.linalg.norm(self.p_ddot, axis=-1) + np.einsum("sbk,sk->sb", p, a) + gravity
        angular = np.linalg.norm(self.w_dot, axis=-1) + np.einsum("sbk,sk->sb", w, a) + (self.w**2).sum(-1)
        linear += angular * self.reach
        return I * angular + h * linear, m * linear + h * angular

    @cached_property
    def force_sizes(self) -> Array:
        """The magnitudes of all terms of τ, (states, nv)."""
        n, f = self.body_sizes
        w, p = self.speeds
        own = np.einsum("sbk,sb->sk", p, f) + np.einsum("sbk,sb->sk", w, n)
        own += abs(_armature(self.sample.model) * self.sample.packed(self.sample.a)) + abs(self.pushed())
        return own + np.sum([abs(x) for x in self.sample.passive.values()], axis=0)

    @cached_property
    def energy_sizes(self) -> Array:
        """The magnitudes of all terms of each body's kinetic energy, (states, bodies)."""
        m, h, I = self.weights
        w, p = (np.einsum("sbk,sk->sb", x, abs(self.sample.packed(self.sample.v))) for x in self.speeds)
        return (I * w**2 + m * p**2) / 2 + h * w * p


def _arrays(poses: list[Transform], rows: tuple[int, ...]) -> tuple[Array, Array]:
    """Rotations and positions of the bodies, (rows…, bodies, 3, 3) and (rows…, bodies, 3)."""
    bodies = len(poses) - 1
    R: Any = as_array([X.rotation for X in poses[1:]], rows)
    p: Any = as_array([list(X.position) for X in poses[1:]], rows)
    return R.reshape(*rows, bodies, 3, 3), p.reshape(*rows, bodies, 3)


def _vector(W: Array) -> Array:
    """w of the skew part of W = w×."""
    half = (W - np.swapaxes(W, -1, -2)) / 2
    return np.stack([half[..., 2, 1], half[..., 0, 2], half[..., 1, 0]], axis=-1)


def _armature(model: Model) -> Array:
    return np.array(armature(model), dtype=float)
