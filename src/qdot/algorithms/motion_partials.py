"""How the motion of bodies varies with the joints.

Moving along the freedom e of joint k carries all bodies j behind it with the motion s_e. Seen from a frame that moves
along, the motion of body j then varies by

    ∂°V_j/∂q_e = Ψ̇_e,    ∂°A_j/∂q_e = Ψ̈_e - V_j × Ψ̇_e,    ∂V_j/∂v_e = s_e,    ∂A_j/∂v_e = c_e - V_j × s_e,

in which only V_j depends on j; seen from the ground, ∂V_j/∂q_e = Ψ̇_e + s_e × V_j and so on. With the parent p of k:

    Ψ̇_e = V_p × s_e + ∂_eS v
    Ψ̈_e = A_p × s_e + V_p × Ψ̇_e + V_k × ∂_eS v + ∂_e(S a + σ)
    c_e = (V_p + V_k) × s_e + ∂σ/∂v_e

σ is the joint's bias, and ∂_e the derivative of its S and σ in the body's coordinates, zero for most joints.
Singh, Russell, Wensing, RA-L 7(2), 2022 (arXiv:2105.05102), for joints with constant S; Carpentier, Mansard, RSS 2018.
Here S may depend on q, and v need not be q̇.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalars, derivative, is_number, scalars_in
from qdot.joints import Joint
from qdot.spatial import Basis, Motion


@dataclass(frozen=True, slots=True)
class MotionPartials:
    """Motion of a body, in its coordinates, and how each freedom of its joint varies that of all it carries."""

    S: Basis[Motion]
    V: Motion
    A: Motion
    psi1: Sequence[Motion]
    """Ψ̇."""
    psi2: Sequence[Motion]
    """Ψ̈."""
    c: Sequence[Motion]
    dS: Sequence[Basis[Motion]]
    """∂_eS; empty where S is constant."""


def motion_partials(joint: Joint, V_p: Motion, A_p: Motion, q: Scalars, v: Scalars, a: Scalars) -> MotionPartials:
    """Of the body that a joint moves by q, v, a; V_p and A_p are its parent's motion, in the body's coordinates.

    V_p × S v is written as the sum of (V_p × s_e) v_e, for each of these is needed anyway.
    """
    S = joint.subspace(q)
    VJ = S @ v
    psi1 = [V_p.cross(s) for s in S]
    psi2 = [A_p.cross(s) + V_p.cross(x) for s, x in zip(S, psi1, strict=True)]
    c = [x + x for x in psi1]
    V, A = V_p + VJ, A_p + S @ a + Basis.motions(*psi1) @ v
    if joint.nv > 1:  # a single s is parallel to S v
        c = [x + VJ.cross(s) for x, s in zip(c, S, strict=True)]
    partials = subspace_partials(joint, q, v)
    if partials:
        A = A + joint.bias(q, v)
    for e, (dS, dbias) in enumerate(partials):
        w = dS @ v
        psi1[e] = psi1[e] + w
        psi2[e] = psi2[e] + V_p.cross(w) + V.cross(w) + dS @ a + dbias
        rate = Basis.motions(*(dS_f.columns[e] for dS_f, _ in partials)) @ v  # Ṡ e = Σ v_f ∂_f s_e
        c[e] = c[e] + w + rate
    return MotionPartials(S, V, A, psi1, psi2, c, [dS for dS, _ in partials])


def subspace_partials(joint: Joint, q: Scalars, v: Scalars) -> list[tuple[Basis[Motion], Motion]]:
    """(∂_eS, ∂_eσ) along each freedom e; an empty list where S is constant."""
    freedoms = range(joint.nv)
    rates = [joint.rate(q, [1 if i == e else 0 for i in freedoms]) for e in freedoms]

    def moved(dq: Scalars) -> tuple[Basis[Motion], Motion]:
        near = [x + y for x, y in zip(q, dq, strict=True)]
        return joint.subspace(near), joint.bias(near, v)

    partials = [derivative(moved, rate) for rate in rates]
    constant = all(is_number(x) and x == 0 for x in scalars_in(partials))
    return [] if constant else partials
