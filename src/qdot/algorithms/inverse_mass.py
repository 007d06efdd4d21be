"""M⁻¹ by articulated inertias, without M: the articulated-body algorithm run for all unit forces at once.

Carpentier, "Analytical inverse of the joint space inertia matrix", 2018 (hal-01790934), here for joints of any freedom.
O(n²): a pair of freedoms costs the same however deep the tree is.

The bodies that hang on one joint on the ground make a branch, and all of a branch is written in the frame of its first
moving body. Then nothing is carried between bodies, that joint's columns of S stay as sparse as in its own body, and no
digits are lost far from the world's origin.
"""

from __future__ import annotations

from collections.abc import Sequence

from qdot.algebra import Scalars
from qdot.algebra.linalg import Matrix, ldlt, ldlt_solve, matvec
from qdot.algorithms.aba import plus_diagonal, yielding
from qdot.algorithms.kinematics import local_poses
from qdot.model.model import Model
from qdot.spatial import ArticulatedInertia, Basis, Force, Inertia, Motion, Transform


def inverse_mass_matrix(model: Model, q: Scalars) -> Matrix:
    """M(q)⁻¹, nv × nv, symmetric: full within a branch, zero between branches."""
    still = _still(model)
    X = _branch_poses(model, q, still)
    S = [Basis.motions(), *(X[b.index] @ b.joint.subspace(q[b.qs]) for b in model.bodies)]
    inverse, U_D = _with_fixed_parents(model, still, S, X)
    freedoms = _branch_freedoms(model, still)
    A: list[dict[int, Motion]] = [{} for _ in X]  # by driven freedom: the acceleration that it gives to a body
    for body in model.bodies:  # root to leaves: what the parents' acceleration adds
        i, own = body.index, range(body.dofs.start, body.dofs.stop)
        carried = A[body.parent]
        for k in freedoms[i]:
            if k < own.start:
                continue  # known by symmetry
            if k in carried:
                for row, x in zip(own, U_D[i].T @ carried[k], strict=True):
                    inverse[row][k] = inverse[row][k] - x
            a = S[i] @ [inverse[row][k] for row in own]
            A[i][k] = carried[k] + a if k in carried else a
    for row in range(model.nv):
        for k in range(row):
            inverse[row][k] = inverse[k][row]
    return inverse


def _with_fixed_parents(
    model: Model, still: Sequence[bool], S: Sequence[Basis[Motion]], X: Sequence[Transform]
) -> tuple[Matrix, list[Basis[Force]]]:
    """(accelerations of each joint under unit forces in its own subtree, if its parent stood still; U D⁻¹)."""
    I = [Inertia.zero(), *(X[body.index] @ body.inertia for body in model.bodies)]
    IA = [ArticulatedInertia.of(x) for x in I]
    U_D = [Basis.forces()] * len(X)
    F: list[dict[int, Force]] = [{} for _ in X]  # by driven freedom: what a body passes on to its parent
    inverse: Matrix = [[0] * model.nv for _ in range(model.nv)]
    for body in reversed(model.bodies):  # leaves to root
        i, p, own = body.index, body.parent, range(body.dofs.start, body.dofs.stop)
        U = Basis.forces(*(IA[i] @ s for s in S[i]))
        D = ldlt(plus_diagonal([S[i].T @ f for f in U], body.passive.armature))
        D_inv = [ldlt_solve(D, [1 if r == k else 0 for r in own]) for k in own]
        U_D[i] = Basis.forces(*(U @ column for column in D_inv))
        for k, column in zip(own, D_inv, strict=True):
            F[i][k] = U @ column
            for row, x in zip(own, column, strict=True):
                inverse[row][k] = x
        for k, f in F[i].items():
            if k in own:
                continue
            column = [-x for x in matvec(D_inv, S[i].T @ f)]
            for row, x in zip(own, column, strict=True):
                inverse[row][k] = x
            F[i][k] = f + U @ column
        if not still[p]:
            IA[p] = IA[p] + yielding(IA[i], U, D)
            F[p].update(F[i])
    return inverse, U_D


def _still(model: Model) -> list[bool]:
    """Whether no joint between the world and a body moves."""
    still = [True]
    for body in model.bodies:
        still.append(still[body.parent] and body.joint.nv == 0)
    return still


def _branch_poses(model: Model, q: Scalars, still: Sequence[bool]) -> list[Transform]:
    """The pose of each body in the frame of the first moving body of its branch."""
    X = local_poses(model, q)
    poses = [Transform.identity()]
    for body in model.bodies:
        poses.append(Transform.identity() if still[body.parent] else poses[body.parent] @ X[body.index])
    return poses


def _branch_freedoms(model: Model, still: Sequence[bool]) -> list[list[int]]:
    """For each body the freedoms of its branch, in order: none for one that cannot move."""
    freedoms: list[list[int]] = [[]]
    for body in model.bodies:
        branch = [] if still[body.parent] else freedoms[body.parent]
        branch.extend(range(body.dofs.start, body.dofs.stop))  # one list, shared by the whole branch
        freedoms.append(branch)
    return freedoms
