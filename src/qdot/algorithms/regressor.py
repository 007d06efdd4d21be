"""The equations of motion as a linear function of the inertial parameters: Y(q, v, a) π = τ."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, Vec3
from qdot.algebra.linalg import Matrix
from qdot.algorithms.kinematics import local_poses
from qdot.model.model import Model
from qdot.spatial import Basis, Force, Inertia, Motion

UNIT_PARAMETERS = tuple(Inertia.of_parameters(1 if i == j else 0 for j in range(10)) for i in range(10))


def regressor(model: Model, q: Scalars, v: Scalars, a: Scalars) -> Matrix:
    """Y(q, v, a), nv × 10·bodies: Y π = M a + c + g of the bodies, with π = `inertial_parameters(model)`.

    Armature, springs and friction are not in it. The columns of one body are the Newton–Euler forces of the ten unit
    inertias, carried to the root. Atkeson, An, Hollerbach (1986).
    """
    X, V, A = local_poses(model, q), [Motion.zero()], [Motion(Vec3.zero(), -model.gravity)]
    S = [Basis.motions()]
    Y: Matrix = [[0] * (10 * len(model.bodies)) for _ in range(model.nv)]
    for body in model.bodies:
        i, p = body.index, body.parent
        qi, vi, ai = q[body.qs], v[body.dofs], a[body.dofs]
        S.append(body.joint.subspace(qi))
        VJ = S[i] @ vi
        V.append(X[i].inv() @ V[p] + VJ)
        A.append(X[i].inv() @ A[p] + S[i] @ ai + body.joint.bias(qi, vi) + V[i].cross(VJ))
        forces = body_regressor(V[i], A[i])
        first = 10 * (i - 1)
        j = i
        while j:
            dofs = model.bodies[j - 1].dofs
            for column, f in enumerate(forces, start=first):
                for row, x in zip(range(dofs.start, dofs.stop), S[j].T @ f, strict=True):
                    Y[row][column] = x
            forces = [X[j] @ f for f in forces]
            j = model.parents[j]
    return Y


def body_regressor(V: Motion, A: Motion) -> list[Force]:
    """The ten columns of I A + V ×* I V, one for each inertial parameter of a body."""
    return [I @ A + V.cross(I @ V) for I in UNIT_PARAMETERS]


def inertial_parameters(model: Model) -> list[Scalar]:
    """π, (10·bodies,): (m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) of each body about its own origin."""
    return [x for body in model.bodies for x in body.inertia.parameters()]
