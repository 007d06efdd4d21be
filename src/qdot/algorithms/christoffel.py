"""The Christoffel symbols b_ijk of the mass matrix by composite inertias, without differentiating M (T25, T30, K8).

C(q, v) of `coriolis` is linear in v, and b_ijk is its derivative: C_ij = Σ b_ijk v_k. A freedom d that moves alone
gives B_d = B(I^c, s_d), with the composite inertia I^c of all that it carries. For freedoms x and y on its way to the
root, the products β(x, y) = s_x · B_d s_y are all there is:

    b_xyd = b_xdy = β(x, y),    b_dxy = b_dyx = -β(x, y) where y is on the way from x to the root.

All is written in one frame, so a product costs a few operations: O(n d²) in all, for a tree of depth d. After
Echeandia, Wensing, arXiv:2010.01033 (2021), here for joints of any freedom: freedoms of one body also change each
other's motions, ∂_k s_j = s_k × s_j + r_kj, where r_kj is how the joint's S changes seen from the body.

Where v = q̇, b_ijk = ½ (∂_k M_ij + ∂_j M_ik - ∂_i M_jk), symmetric in j and k. Freedoms of joints with quaternions do
not commute: there b_ijk = ⟨∇_k e_j, e_i⟩ in the joints' own frame (Koszul's formula), with b_ijk - b_ikj equal to
⟨[e_k, e_j], e_i⟩. c_i = Σ b_ijk v_j v_k holds for all. Armature adds nothing: it is constant, and makes no velocity
forces.
"""

from __future__ import annotations

from qdot.algebra import Scalars
from qdot.algebra.linalg import Matrix, TreeFactors
from qdot.algorithms.coriolis import CoriolisFactor
from qdot.algorithms.crba import composite_inertias, mass_matrix
from qdot.algorithms.frames import Frames, root_frame
from qdot.algorithms.motion_partials import subspace_partials
from qdot.model.model import Model
from qdot.spatial import Motion


def christoffel_symbols(model: Model, q: Scalars) -> list[Matrix]:
    """b_ijk, first kind, nv × nv × nv: c_i = Σ b_ijk v_j v_k, C_ij = Σ b_ijk v_k, and ∂_k M_ij = b_ijk + b_jik."""
    at = root_frame(model, q)
    s = [column for S in at.S for column in S]
    Ic, r = composite_inertias(model, at), _own_changes(model, q, at)
    beside, before = _ways(model)
    b: list[Matrix] = [[[0] * model.nv for _ in s] for _ in s]
    for body in model.bodies:
        I = Ic[body.index]
        for d in range(body.dofs.start, body.dofs.stop):
            own, above, h = beside[d], before[d], I @ s[d]
            B = CoriolisFactor.of(I, s[d])
            for y in own + above:  # b[x][y][d] = β(x, y), zero for x = d
                f, f_T = B @ s[y], B.transposed(s[y])
                for x in beside[y]:
                    b[x][y][d] = s[x].dot(f) if x != d else 0
                for x in before[y]:
                    b[x][y][d], b[y][x][d] = s[x].dot(f), s[x].dot(f_T) if y != d else 0
            for y in above:
                for x in own + above:
                    b[x][d][y] = b[x][y][d]
                for x in beside[y]:
                    b[d][x][y] = (r[y, x].dot(h) if (y, x) in r else 0) - b[x][y][d]
                for x in before[y]:
                    b[d][x][y] = b[d][y][x] = -b[y][x][d]
            for y in own:
                if (d, y) in r or y != d:
                    f = I @ (s[d].cross(s[y]) + r.get((d, y), Motion.zero()))
                    for x in own + above:
                        b[x][y][d] = b[x][y][d] + s[x].dot(f)
    return b


def connection_coefficients(model: Model, q: Scalars) -> list[Matrix]:
    """Γ^i_jk = Σ M⁻¹_il b_ljk, second kind, nv × nv × nv: ∇_k e_j = Σ Γ^i_jk e_i, and a = M⁻¹ τ - Γ(v, v) (T30)."""
    b = christoffel_symbols(model, q)
    beside, before = _ways(model)
    pairs = [(j, k) for j in range(model.nv) for k in beside[j] + before[j]]  # b is zero for freedoms on no common way
    factors = TreeFactors.of(mass_matrix(model, q), model.dof_parents)
    columns = factors.solve_each([(max(j, k), [matrix[j][k] for matrix in b]) for j, k in pairs])
    gamma: list[Matrix] = [[[0] * model.nv for _ in b] for _ in b]
    for (j, k), column in zip(pairs, columns, strict=True):
        for i, x in enumerate(column):
            gamma[i][j][k] = x
            if k in before[j]:
                gamma[i][k][j] = x
    return gamma


def _ways(model: Model) -> tuple[list[list[int]], list[list[int]]]:
    """For each freedom those of its own body, itself too, and those of the bodies before it on the way to the root."""
    beside: list[list[int]] = []
    before: list[list[int]] = []
    passed: list[list[int]] = [[]]  # by body: its own freedoms and those before
    for body in model.bodies:
        own = list(range(body.dofs.start, body.dofs.stop))
        beside += [own] * len(own)
        before += [passed[body.parent]] * len(own)
        passed.append(own + passed[body.parent])
    return beside, before


def _own_changes(model: Model, q: Scalars, at: Frames) -> dict[tuple[int, int], Motion]:
    """r_kj by (k, j), for joints whose S changes."""
    found = {}
    for body in model.bodies:
        partials = subspace_partials(body.joint, q[body.qs], [0] * body.joint.nv)
        for k, (dS, _) in enumerate(partials, start=body.dofs.start):
            for j, change in enumerate(dS, start=body.dofs.start):
                found[k, j] = at.placed(body.index, change)
    return found
