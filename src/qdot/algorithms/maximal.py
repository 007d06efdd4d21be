"""A tree in maximal coordinates (U1–U5): every body free, and joints that are constraints between two of them.

    D A = F + Jᵀ λ,   J A = b

D holds the bodies' inertias and A their spatial accelerations; a joint's rows say Tᵀ (A_i - A_p - c_i) = 0, and T λ
is what its bearings carry. The system of both is large and sparse: with each joint's rows before those of its body it
has the sparsity of the tree, and is factorised without fill-in from the leaves to the root (Baraff, SIGGRAPH 1996).

D may be singular, for bodies without mass and for point masses. Adding ρ Jᵀ J to D and ρ Jᵀ b to F changes neither A
nor λ, since J A = b, and makes D + ρ Jᵀ J definite wherever the mass matrix is (T9 tells what it is for large ρ). The
freedoms of a joint may not repeat each other: its velocity would not follow from those of the bodies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from qdot.algebra import Scalar, Scalars, Vec3, is_number
from qdot.algebra.linalg import Matrix, TreeFactors
from qdot.algorithms.constrained import inverse, saddle_system
from qdot.algorithms.kinematics import local_poses
from qdot.algorithms.passive import passive_forces
from qdot.algorithms.rnea import Wrenches, external_forces
from qdot.model.model import Body, Model
from qdot.spatial import Basis, Force, Motion, Transform


def forward_dynamics(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, *, wrenches: Wrenches | None = None
) -> list[Scalar]:
    """a, (nv,): the joints' share of the accelerations of free bodies held together (U5)."""
    return solved(model, q, v, tau, wrenches)[0]


def joint_wrenches(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, *, wrenches: Wrenches | None = None
) -> dict[str, Force]:
    """The full wrench each joint transmits to its body, in the body's coordinates at its origin: T λ, and what drives
    and springs do along its freedoms."""
    return solved(model, q, v, tau, wrenches)[1]


@dataclass(frozen=True)
class Held:
    """A body and the joint that holds it, at one state."""

    body: Body
    X: Transform
    drives: Basis[Force]
    """Z, the wrenches of unit joint forces: Sᵀ Z = 1, and a = Zᵀ (A_i - A_p - c_i)."""
    bearings: Basis[Force]
    """T."""
    bias: Motion
    """c_i; of a body that the world holds, with what makes A_i count from free fall."""
    force: Force
    """On the body, beside its joints: external forces less V ×* I V."""

    def row(self, wrench: Force) -> dict[int, Scalar]:
        """The power of a wrench between parent and body: its coefficients in A, by place."""
        i, p = self.body.index, self.body.parent
        above = dict(enumerate((-x for x in self.X @ wrench), start=6 * (p - 1))) if p else {}
        return {**above, **dict(enumerate(wrench, start=6 * (i - 1)))}


@dataclass(frozen=True)
class Equations:
    """D A = F + Jᵀ λ and J A = b: six unknowns A a body, in its coordinates; rows of J, joint by joint, by place."""

    D: Matrix
    F: list[Scalar]
    J: list[dict[int, Scalar]]
    b: list[Scalar]

    def hold(self, row: dict[int, Scalar], weight: Scalar, force: Scalar) -> None:
        """Add an inertia and a force along a row r: weight r rᵀ to D, and force r to F."""
        for i, x in row.items():
            self.F[i] = self.F[i] + force * x
            for j, y in row.items():
                self.D[i][j] = self.D[i][j] + weight * x * y

    def rows(self) -> Matrix:
        """J in full."""
        return [[row.get(k, 0) for k in range(len(self.F))] for row in self.J]


def held_bodies(model: Model, q: Scalars, v: Scalars, wrenches: Wrenches | None = None) -> Iterator[Held]:
    X, V = local_poses(model, q), [Motion.zero()]
    applied = external_forces(model, q, wrenches)
    for body in model.bodies:
        i, qi, vi = body.index, q[body.qs], v[body.dofs]
        S = body.joint.subspace(qi)
        VJ = S @ vi
        V.append(X[i].inv() @ V[body.parent] + VJ)
        bias = body.joint.bias(qi, vi) + V[i].cross(VJ)
        if not body.parent:
            bias = bias + X[i].inv() @ Motion(Vec3.zero(), -model.gravity)
        force = applied.get(i, Force.zero()) - V[i].cross(body.inertia @ V[i])
        yield Held(body, X[i], unit_drives(S), body.joint.complement(qi), bias, force)


def unit_drives(S: Basis[Motion]) -> Basis[Force]:
    """Z = S (Sᵀ S)⁻¹, read as forces: Sᵀ Z = 1."""
    plain = Basis.forces(*(Force.of(list(s)) for s in S))
    return Basis.forces(*(plain @ row for row in inverse([S.T @ f for f in plain])))


def equations(bodies: list[Held], forces: Scalars) -> Equations:
    """The system, with the joint forces given, (nv,); armature is an inertia along the freedoms."""
    n = 6 * len(bodies)
    system = Equations([[0] * n for _ in range(n)], [0] * n, [], [])
    for held in bodies:
        body = held.body
        start = 6 * (body.index - 1)
        system.F[start : start + 6] = [x + y for x, y in zip(system.F[start : start + 6], held.force, strict=True)]
        for k, row in enumerate(body.inertia.entries(), start=start):
            system.D[k][start : start + 6] = [x + y for x, y in zip(system.D[k][start : start + 6], row, strict=True)]
        for z, d, f in zip(held.drives, body.passive.armature, forces[body.dofs], strict=True):
            system.hold(held.row(z), d, f + d * z.dot(held.bias))
        for t in held.bearings:
            system.J.append(held.row(t))
            system.b.append(t.dot(held.bias))
    return system


def solved(
    model: Model, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches | None = None
) -> tuple[list[Scalar], dict[str, Force]]:
    """(a, the wrench transmitted at each joint)."""
    bodies = list(held_bodies(model, q, v, wrenches))
    forces = [t + p for t, p in zip(tau, passive_forces(model, q, v), strict=True)]
    system, rho = equations(bodies, forces), heaviness(model)
    for row, target in zip(system.J, system.b, strict=True):
        system.hold(row, rho, rho * target)
    x = sparsely_solved(bodies, system)

    a: list[Scalar] = [0] * model.nv
    carried, A, multipliers = {}, [Motion.zero()], iter(x[len(system.F) :])
    for held in bodies:
        body = held.body
        A.append(Motion.of(x[6 * (body.index - 1) : 6 * body.index]))
        above = held.X.inv() @ A[body.parent] if body.parent else Motion.zero()
        own = a[body.dofs] = held.drives.T @ (A[body.index] - above - held.bias)
        driven = [f - d * y for f, d, y in zip(forces[body.dofs], body.passive.armature, own, strict=True)]
        carried[body.joint_name] = held.drives @ driven + held.bearings @ [next(multipliers) for _ in held.bearings]
    return a, carried


def sparsely_solved(bodies: list[Held], system: Equations) -> list[Scalar]:
    """(A, λ) of [D -Jᵀ; -J 0] [A; λ] = [F; -b], factorised in the order of the tree."""
    matrix, side = saddle_system(system.D, system.F, system.rows(), [-x for x in system.b])
    order: list[int] = []
    parents: list[int] = []
    last, joint_row = {0: -1}, len(system.F)
    for held in bodies:
        i, m = held.body.index, len(held.bearings)
        own = [*range(joint_row, joint_row + m), *range(6 * (i - 1), 6 * i)]
        parents += [last[held.body.parent], *range(len(order), len(order) + len(own) - 1)]
        order += own
        last[i], joint_row = len(order) - 1, joint_row + m
    factors = TreeFactors.of([[matrix[i][j] for j in order] for i in order], parents)
    found = factors.solve([side[i] for i in order])
    return [x for _, x in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])]


def heaviness(model: Model) -> Scalar:
    """ρ, any positive number about as large as the inertias: the mass of the mechanism."""
    total = sum((body.inertia.mass for body in model.bodies), start=0)
    return 1 if is_number(total) and total <= 0 else total
