"""The terms of a derivation in normal form, each computed once: the texts of the algorithms, run on sums.

What the textbooks get by differentiating is differentiated: ∂M, b_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import sympy

from qdot.algebra import Scalar
from qdot.algebra.linalg import Matrix, dot, matvec
from qdot.algorithms import actuators, bias, crba, energy, passive
from qdot.algorithms.configuration import configuration_rate
from qdot.derivation import engine
from qdot.derivation.check import Case
from qdot.derivation.inverse import inverse
from qdot.derivation.ring import Ring, Sum, exact
from qdot.derivation.substitution import substituted
from qdot.errors import DerivationError
from qdot.model.model import Model
from qdot.spatial import Force
from qdot.symbolic import symbols

VECTORS = ("q", "v", "a", "tau", "p", "u", "w")
"""What equations are functions of, beside constants and external forces."""

TAKEN = re.compile(r"(q|v|a|tau|p|u|w|x)_\d+")
"""Names that pages and code give to symbols of their own."""


@dataclass(frozen=True)
class Letters:
    """The symbols of coordinates, velocities, accelerations, joint forces, momenta, controls and activations of
    actuators, and of wrenches by frame."""

    q: list[Any]
    v: list[Any]
    a: list[Any]
    tau: list[Any]
    p: list[Any]
    u: list[Any]
    w: list[Any]
    forces: dict[str, list[Any]]

    @staticmethod
    def of(model: Model, frames: Sequence[str]) -> Letters:
        q, v, a = symbols(model, numbered=True)
        sizes = {"tau": model.nv, "p": model.nv, "u": model.nu, "w": model.na}
        tau, p, u, w = ([_symbol(f"{stem}_{k + 1}") for k in range(size)] for stem, size in sizes.items())
        parts = ("n_{}_x", "n_{}_y", "n_{}_z", "f_{}_x", "f_{}_y", "f_{}_z")
        return Letters(
            q, v, a, tau, p, u, w, {frame: [_symbol(part.format(frame)) for part in parts] for frame in frames}
        )

    def refuse_clashes(self, model: Model, constants: Iterable[Any]) -> None:
        """No constant may be called as these are, numbered or not in this model, or as the steps x_1 …"""
        forces = {s.name for row in self.forces.values() for s in row}
        for symbol in constants:
            if symbol.name in forces or TAKEN.fullmatch(symbol.name):
                raise DerivationError(
                    f"model {model.name!r} has a symbol {symbol.name!r}, which equations use for coordinates (q_1), "
                    "velocities (v_1), accelerations (a_1), joint forces (tau_1), momenta (p_1), controls (u_1), "
                    "activations (w_1), steps (x_1) or external forces; give it another name"
                )

    def numbers(self, case: Case) -> Mapping[Any, float]:
        """The number of each symbol in a case, those of the constants included."""
        rows = [(getattr(self, name), getattr(case, name)) for name in VECTORS]
        rows += [(row, tuple(case.wrenches[frame])) for frame, row in self.forces.items()]
        return {s: x for row, numbers in rows for s, x in zip(row, numbers, strict=True)} | dict(case.constants)


def _symbol(name: str) -> Any:
    return sympy.Symbol(name, real=True)


class Terms:
    """Sums in one ring, for a model whose constants may be symbols."""

    def __init__(self, model: Model, letters: Letters, *, limit: int | None = None) -> None:
        self.ring = Ring(limit)
        self.letters = letters
        self.q, self.v = self.generators(letters.q), self.generators(letters.v)
        self.model = substituted(model, lambda x: exact(x) if isinstance(x, float) else self.ring.of(x))

    def generators(self, row: Sequence[Any]) -> list[Sum]:
        return [self.ring.generator(s) for s in row]

    def along_freedoms(self, x: Scalar) -> list[Sum]:
        """∂x along each freedom: by the coordinate that it is the rate of, or by those that it moves."""
        slopes = [self.ring.of(x).diff(s) for s in self.letters.q]
        return [self.ring.total(d * r for d, r in zip(slopes, rate, strict=True)) for rate in self._unit_rates]

    @cached_property
    def _unit_rates(self) -> list[list[Scalar]]:
        n = self.model.nv
        units = ([1 if i == k else 0 for i in range(n)] for k in range(n))
        return [configuration_rate(self.model, self.q, unit) for unit in units]

    @cached_property
    def K(self) -> Sum:
        return self.ring.of(energy.kinetic_energy(self.model, self.q, self.v))

    @cached_property
    def P(self) -> Sum:
        return self.ring.of(energy.potential_energy(self.model, self.q))

    @cached_property
    def M(self) -> Matrix:
        return [[self.ring.of(x).cleaned() for x in row] for row in crba.mass_matrix(self.model, self.q)]

    @cached_property
    def M_inverse(self) -> Matrix:
        return inverse(self.ring, self.M, self.model.dof_names())

    @cached_property
    def dM(self) -> list[Matrix]:
        """∂M along each freedom."""
        n = range(self.model.nv)
        slopes = [[self.along_freedoms(self.M[i][j]) for j in range(i + 1)] for i in n]
        return [[[slopes[max(i, j)][min(i, j)][k] for j in n] for i in n] for k in n]

    @cached_property
    def M_dot(self) -> Matrix:
        n = range(self.model.nv)
        return [[dot([dM[i][j] for dM in self.dM], self.v) for j in n] for i in n]

    @cached_property
    def b(self) -> list[Matrix]:
        dM, n = self.dM, range(self.model.nv)
        return [[[(dM[k][i][j] + dM[j][i][k] - dM[i][j][k]) / 2 for k in n] for j in n] for i in n]

    @cached_property
    def Gamma(self) -> list[Matrix]:
        n = range(self.model.nv)
        return [[[dot(row, [b[i][j] for b in self.b]) for j in n] for i in n] for row in self.M_inverse]

    @cached_property
    def h(self) -> list[Matrix]:
        dM, n = self.dM, range(self.model.nv)
        return [[[dM[i][k][j] - dM[k][i][j] / 2 for i in n] for j in n] for k in n]

    @cached_property
    def V(self) -> list[Sum]:
        return [self.ring.of(x).cleaned() for x in bias.velocity_forces(self.model, self.q, self.v)]

    @cached_property
    def CB(self) -> tuple[Matrix, Matrix]:
        """The coefficients of V: of squares of velocities, and of products of two."""
        v, n = self.letters.v, range(self.model.nv)
        slopes = [[x.diff(s) for s in v] for x in self.V]
        C = [[slopes[i][j].diff(v[j]) / 2 for j in n] for i in n]
        return C, [[slopes[i][j].diff(v[k]) for j, k in combinations(n, 2)] for i in n]

    @cached_property
    def G(self) -> list[Scalar]:
        return bias.gravity_forces(self.model, self.q)

    @cached_property
    def left(self) -> list[Scalar]:
        """M q̈ + V + G."""
        inertial = matvec(self.M, self.generators(self.letters.a))
        return [x + V + G for x, V, G in zip(inertial, self.V, self.G, strict=True)]

    @cached_property
    def psi(self) -> list[Scalar]:
        wrenches = {frame: Force.of(self.generators(row)) for frame, row in self.letters.forces.items()}
        return engine.applied_forces(self.model, self.q, self.v, self.generators(self.letters.tau), wrenches)

    @cached_property
    def actuation(self) -> list[Scalar]:
        u, w = self.generators(self.letters.u), self.generators(self.letters.w)
        return actuators.actuation(self.model, self.q, self.v, u, w)

    @cached_property
    def joint_forces(self) -> list[Sum]:
        """M q̈ + V + G - (ψ - τ): τ cancels here, before fractions get one denominator."""
        rows = zip(self.left, self.psi, self.generators(self.letters.tau), strict=True)
        return [self.ring.of(left) - (psi - tau) for left, psi, tau in rows]

    @cached_property
    def psi_without_springs(self) -> list[Scalar]:
        springs = passive.passive_terms(self.model, self.q, self.v)["springs"]
        return [self.ring.of(x) - spring for x, spring in zip(self.psi, springs, strict=True)]

    @cached_property
    def phi(self) -> list[Scalar]:
        return engine.constraint_residuals(self.model, self.q)

    @cached_property
    def phi_jacobian(self) -> Matrix:
        return [*map(self.along_freedoms, self.phi), *engine.loop_jacobian(self.model, self.q)]

    @cached_property
    def rates_of_p(self) -> list[Sum]:
        """q̇ = M⁻¹ p."""
        return [self.ring.of(x) for x in matvec(self.M_inverse, self.generators(self.letters.p))]

    @cached_property
    def kinetic_of_p(self) -> Sum:
        """½ pᵀ M⁻¹ p."""
        return self.ring.of(dot(self.generators(self.letters.p), self.rates_of_p)) / 2
