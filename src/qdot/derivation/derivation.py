"""What is derived: the equations of motion of a model and all that they are made of, as SymPy expressions.

Each quantity is computed when it is first asked for, and compared with the engine before it is given out:
    M q̈ + V + G = ψ,   V = C(q)[q̇²] + B(q)[q̇q̇]   (K9),   h_kji = ∂M_kj/∂q_i - ½ ∂M_ij/∂q_k   (H16),
    Γ^k_ij = Σ (M⁻¹)_ks b_sij   (T30),   H = ½ pᵀ M⁻¹ p + P   (T27).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import sympy

from qdot.algebra import Scalar
from qdot.algebra.linalg import Matrix
from qdot.algorithms import actuators, bias, closure, crba, energy, inverse_mass, jacobian as jacobians, lagrangian
from qdot.derivation import engine
from qdot.derivation.c_writer import c_source
from qdot.derivation.check import Case, Check, cases, compared
from qdot.derivation.code import functions_of
from qdot.derivation.constants import named
from qdot.derivation.latex_writer import latex_document
from qdot.derivation.markdown_writer import markdown_page, plain_text
from qdot.derivation.numpy_writer import compare_steps, numpy_source
from qdot.derivation.page import Report
from qdot.derivation.quantity import quantity
from qdot.derivation.report import report
from qdot.derivation.ring import TooLong
from qdot.derivation.steps import Steps, require, steps_of
from qdot.derivation.terms import Letters, Terms
from qdot.errors import DerivationError, SingularError
from qdot.model.model import Model, require_model

Form: TypeAlias = Literal["auto", "closed", "recursive"]
"""How equations are written: in closed form, as steps of the recursive algorithms, or closed where that is readable."""

READABLE = 500
"""Terms of M and V together that a reader may want to see."""


def derive(model: Model, *, symbols: Iterable[str] = (), wrenches: Iterable[str] = ()) -> Derivation:
    """The equations of motion of a model, in symbols for its coordinates, its own symbols, and those asked for.

    `symbols` are kinds of constants ("mass", "length", "com", "inertia", "gravity", "damping" …) or single ones by path
    ("forearm.mass", "elbow.damping"); all others stay numbers. `wrenches` are frames that external forces act on.
    """
    require_model(model, "derive")
    frames = _names(wrenches, "wrenches")
    for frame in frames:
        model.frame(frame)
    return Derivation(model, _names(symbols, "symbols"), frames)


def _names(given: Iterable[str], argument: str) -> tuple[str, ...]:
    """One name, or several."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise DerivationError(
            f"derive: {argument} are names, such as ('forearm',), not {given!r}; leave it out for none"
        )
    return names


class Derivation:
    """The equations of a model; the letters are those of the textbooks, indices of arrays start at 0.

    `q`, `v`, `a`, `tau`, `p` are the symbols of coordinates, velocities, accelerations, joint forces and momenta, `u`
    and `w` those of controls and activations of actuators; `constants` tells what the other symbols are; `checks` how
    far each quantity given out was from the engine's.
    """

    def __init__(self, model: Model, chosen: tuple[str, ...] = (), wrenches: tuple[str, ...] = ()) -> None:
        self.model = model
        self.named, self.constants = named(model, chosen)
        self.letters = letters = Letters.of(model, wrenches)
        letters.refuse_clashes(model, self.constants)
        self.q, self.v, self.a, self.tau, self.p = letters.q, letters.v, letters.a, letters.tau, letters.p
        self.u, self.w = letters.u, letters.w
        self.checks: dict[str, Check] = {}
        self._terms = Terms(self.named, letters)
        self._jacobians: dict[str, Any] = {}
        self._functions: dict[bool, dict[str, Steps]] = {}
        self._pages: dict[bool, Report] = {}

    def __repr__(self) -> str:
        return f"<Derivation of {self.model.name!r}: nv={self.model.nv}, symbols {[s.name for s in self.constants]}>"

    @property
    def values(self) -> dict[Any, float]:
        """The numbers that the symbols have in the model: `derivation.M.subs(derivation.values)`."""
        return {symbol: c.value for symbol, c in self.constants.items() if c.value is not None}

    @property
    def plain(self) -> bool:
        """Whether velocities are the rates of the coordinates; not so for quaternions."""
        return all(body.joint.nq == body.joint.nv for body in self.model.bodies)

    @property
    def constrained(self) -> bool:
        """Whether constraints or loops hold the mechanism, whose forces are in no equation here: they are J_φᵀ λ."""
        return closure.row_count(self.model) > 0

    # ── energies ─────────────────────────────────────────────────────────────────────────────────

    @quantity(lambda case: energy.kinetic_energy(case.model, case.q, case.v))
    def K(self) -> Any:
        """Kinetic energy ½ q̇ᵀ M q̇ [J]."""
        return self._terms.K.sympy(self.v)

    @quantity(lambda case: energy.potential_energy(case.model, case.q))
    def P(self) -> Any:
        """Potential energy of weight and springs [J]."""
        return self._terms.P.sympy()

    @quantity(
        lambda case: energy.kinetic_energy(case.model, case.q, case.v) - energy.potential_energy(case.model, case.q)
    )
    def L(self) -> Any:
        """Lagrange's function K - P [J]."""
        return self.K - self.P

    # ── inertia ──────────────────────────────────────────────────────────────────────────────────

    @quantity(lambda case: crba.mass_matrix(case.model, case.q), by_rows=True)
    def M(self) -> Any:
        """The mass matrix, n × n."""
        return self._matrix(self._terms.M)

    @quantity(lambda case: inverse_mass.inverse_mass_matrix(case.model, case.q))
    def M_inverse(self) -> Any:
        """M⁻¹, n × n, of up to four coupled freedoms; of more as `steps("inverse_mass_matrix")`."""
        return self._matrix(self._terms.M_inverse)

    @quantity(engine.mass_matrix_rate)
    def M_dot(self) -> Any:
        """Ṁ = Σ ∂M/∂q_k q̇_k, n × n."""
        return self._matrix(self._terms.M_dot, self.v)

    # ── velocity products ────────────────────────────────────────────────────────────────────────

    @quantity(lambda case: lagrangian.christoffel_symbols(case.model, case.q))
    def b(self) -> Any:
        """Christoffel's symbols of the first kind, n × n × n: V_i = Σ b_ijk q̇_j q̇_k where velocities are rates."""
        return self._array(self._terms.b)

    @quantity(engine.connection)
    def Gamma(self) -> Any:
        """Christoffel's symbols of the second kind, Γ^k_ij = Σ (M⁻¹)_ks b_sij at [k, i, j]."""
        return self._array(self._terms.Gamma)

    @quantity(engine.handa)
    def h(self) -> Any:
        """h_kji = ∂M_kj/∂q_i - ½ ∂M_ij/∂q_k at [k, j, i]: V_k = Σ h_kji q̇_j q̇_i where velocities are rates."""
        return self._array(self._terms.h)

    @quantity(lambda case: bias.velocity_forces(case.model, case.q, case.v))
    def V(self) -> Any:
        """Centrifugal and Coriolis forces, (n,)."""
        return self._vector(self._terms.V, self.v)

    @property
    def C(self) -> Any:
        """Centrifugal forces are C(q) [q̇²], n × n."""
        return self._khatib[0]

    @property
    def B(self) -> Any:
        """Coriolis forces are B(q) [q̇q̇], n × n(n-1)/2, columns (1,2), (1,3) … (n-1,n)."""
        return self._khatib[1]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The freedoms that the columns of B belong to, counted from 0."""
        return list(combinations(range(self.model.nv), 2))

    @cached_property
    def _khatib(self) -> tuple[Any, Any]:
        C, B = (self._matrix(rows) for rows in self._terms.CB)
        squares = sympy.Matrix(self.model.nv, 1, [x * x for x in self.v])
        products = sympy.Matrix(len(self.pairs), 1, [self.v[j] * self.v[k] for j, k in self.pairs])
        total = C * squares + B * products
        self._checked("C and B", total, lambda case: bias.velocity_forces(case.model, case.q, case.v))
        return C, B

    # ── forces ───────────────────────────────────────────────────────────────────────────────────

    @quantity(lambda case: bias.gravity_forces(case.model, case.q))
    def G(self) -> Any:
        """What holds the weight, (n,): on the left of the equations."""
        return self._vector(self._terms.G)

    @quantity(lambda case: engine.applied_forces(case.model, case.q, case.v, case.tau, case.wrenches))
    def psi(self) -> Any:
        """ψ = τ + Σ Jᵀ f + springs, dampers, friction …, (n,): on the right of the equations (H6)."""
        return self._vector(self._terms.psi, [*self.tau, *self.v])

    @quantity(lambda case: actuators.actuation(case.model, case.q, case.v, case.u, case.w))
    def actuation(self) -> Any:
        """τ of the actuators for controls u and activations w, (n,): f = gain u + bias, carried to the joints."""
        return self._vector(self._terms.actuation, [*self.u, *self.w])

    @cached_property
    def residual(self) -> Any:
        """M q̈ + V + G - ψ, (n,): zero along every motion."""
        rows = zip(self._terms.left, self._terms.psi, strict=True)
        found = self._vector([x - psi for x, psi in rows], [*self.a, *self.v])
        tau = sympy.Matrix(self.model.nv, 1, self.tau)
        self._checked("residual", found + tau, lambda case: case.tau)  # zero has no size to compare errors with
        return found

    @quantity(lambda case: case.tau)
    def joint_forces(self) -> Any:
        """τ = M q̈ + V + G - (ψ - τ), (n,): what the drives do to give an acceleration."""
        return self._vector(self._terms.joint_forces, [*self.a, *self.v])

    @property
    def equations(self) -> list[Any]:
        """The equations of motion, (M q̈ + V + G)_k = ψ_k for each freedom; of the tree, where it is `constrained`."""
        assert self.residual.shape[0] == self.model.nv  # and compared with the engine
        left = self._vector(self._terms.left, [*self.a, *self.v])
        return [sympy.Eq(x, psi, evaluate=False) for x, psi in zip(left, self.psi, strict=True)]

    # ── Hamilton ─────────────────────────────────────────────────────────────────────────────────

    @quantity(lambda case: case.p)
    def momentum(self) -> Any:
        """p = M q̇, (n,)."""
        return self.M * sympy.Matrix(self.model.nv, 1, self.v)

    @quantity(lambda case: energy.energy(case.model, case.q, case.v))
    def H(self) -> Any:
        """Hamilton's function ½ pᵀ M⁻¹ p + P of q and p [J]."""
        return self._terms.kinetic_of_p.sympy(self.p) + self.P

    @quantity(lambda case: [*case.v, *engine.momentum_rate(case)])
    def hamilton(self) -> Any:
        """The right-hand sides of Hamilton's equations, (2n,): q̇ = ∂H/∂p, then ṗ = -∂H/∂q + ψ without springs."""
        if not self.plain:
            raise DerivationError(
                f"model {self.model.name!r} has a joint with quaternions, whose momenta obey Euler's equations, not "
                "Hamilton's canonical ones; give it joints of one freedom, or use the equations of motion"
            )
        H = self._terms.kinetic_of_p + self._terms.P
        rates = [x.sympy(self.p) for x in self._terms.rates_of_p]
        push = self._vector(self._terms.psi_without_springs).subs(dict(zip(self.v, rates, strict=True)))
        falls = [(-H.diff(x)).sympy(self.p) + f for x, f in zip(self.q, push, strict=True)]
        return sympy.ImmutableMatrix(2 * self.model.nv, 1, [*rates, *falls])

    # ── frames and constraints ───────────────────────────────────────────────────────────────────

    def jacobian(self, frame: str) -> Any:
        """J of a frame, 6 × n: (ω, v) of it in world axes is J q̇."""
        if frame not in self._jacobians:
            found = self._matrix(jacobians.jacobian(self._terms.model, self._terms.q, frame))
            self._jacobians[frame] = self._checked(
                f"jacobian({frame})", found, lambda case: jacobians.jacobian(case.model, case.q, frame)
            )
        return self._jacobians[frame]

    @quantity(lambda case: engine.constraint_residuals(case.model, case.q))
    def phi(self) -> Any:
        """The constraints φ(q) = 0 of the model, row by row; loops, which are held by their motion, have none here."""
        return self._vector(self._terms.phi)

    @quantity(engine.constraint_jacobian)
    def phi_jacobian(self) -> Any:
        """∂φ/∂q, rows × n, then a row for each motion that a loop joint does not allow (T6, T17)."""
        return self._matrix(self._terms.phi_jacobian)

    # ── written ──────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def readable(self) -> bool:
        """Whether the closed form is short enough to read: M and V together have no more than READABLE terms, and no
        spring, friction or actuator is a riddle."""
        terms = Terms(self.named, self.letters, limit=READABLE)
        try:
            _ = terms.P, terms.psi, terms.actuation
            return sum(len(x.terms) for x in [*terms.V, *(x for row in terms.M for x in row)]) <= READABLE
        except TooLong:
            return False

    @cached_property
    def invertible(self) -> bool:
        """Whether M⁻¹, and with it Γ and H, is short enough to read."""
        terms = Terms(self.named, self.letters, limit=READABLE)
        try:
            return sum(len(x.terms) for layer in terms.Gamma for row in layer for x in row) <= READABLE / 4
        except (TooLong, DerivationError, SingularError):
            return False

    @cached_property
    def singular(self) -> str:
        """Why M has no inverse; empty where it has one, or is too large for one that is written down."""
        try:
            _ = Terms(self.named, self.letters, limit=READABLE).M_inverse
        except (TooLong, DerivationError):
            return ""
        except SingularError as error:
            return str(error)
        return ""

    def steps(self, *names: str) -> Steps:
        """Functions as assignments that share what they have in common: those of the recursive algorithms."""
        for name in names:
            require(self, name)
        found = steps_of(self, names, recursive=True)
        compare_steps(self, found)
        return found

    def functions(self, *, recursive: bool) -> dict[str, Steps]:
        """What code is written of: each function the model has, as steps of its own, in closed form or not."""
        if recursive not in self._functions:
            self._functions[recursive] = functions_of(self, recursive=recursive)
        return self._functions[recursive]

    def text(self, form: Form = "auto") -> str:
        """All equations with what they mean, as plain text. `form` is "closed", "recursive", or what is readable."""
        return plain_text(self._page(form))

    def latex(self, form: Form = "auto") -> str:
        """The same as a LaTeX document."""
        return latex_document(self._page(form))

    def markdown(self, form: Form = "auto") -> str:
        """The same in Markdown with formulas."""
        return markdown_page(self._page(form))

    def html(self, path: str | os.PathLike[str] | None = None, form: Form = "auto") -> str:
        """The same as a page that stands alone, with a picture of the mechanism; written to `path` if given."""
        from qdot.derivation.html_writer import html_page  # which draws

        page = html_page(self, self._page(form))
        if path is not None:
            try:
                Path(path).write_text(page, "utf-8")
            except OSError as error:
                raise DerivationError(f"{os.fspath(path)} cannot be written: {error.strerror}") from None
        return page

    def numpy(self, form: Form = "auto") -> str:
        """Python source of the functions, for NumPy; it has been run and compared with the engine."""
        return numpy_source(self, recursive=self._recursive(form))

    def c(self, form: Form = "auto") -> str:
        """C source of the functions, from the same steps as `numpy`."""
        self.numpy(form)
        return c_source(self, recursive=self._recursive(form))

    def _page(self, form: Form) -> Report:
        recursive = self._recursive(form)
        if recursive not in self._pages:
            self._pages[recursive] = report(self, recursive=recursive)
        return self._pages[recursive]

    def _recursive(self, form: Form) -> bool:
        if form not in ("auto", "closed", "recursive"):
            raise DerivationError(f"form {form!r} is unknown; choose auto, closed or recursive")
        return not self.readable if form == "auto" else form == "recursive"

    # ── compared ─────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def cases(self) -> list[Case]:
        """The random states at which everything is compared with the engine."""
        return cases(self.named, self.constants, list(self.letters.forces))

    def _checked(self, what: str, value: Any, reference: Callable[[Case], Any], rows: int = 1) -> Any:
        """The value, once it has been compared with the engine's."""
        numbers = self.letters.numbers
        flat = [sympy.sympify(x) for x in sympy.flatten(value)] if np.iterable(value) else [value]
        evaluate = sympy.lambdify(list(numbers(self.cases[0])), flat, modules="numpy", cse=True)

        def ours(case: Case) -> Any:
            return evaluate(*numbers(case).values())

        self.checks[what] = compared(what, self.cases, ours, reference, rows=rows)
        return value

    def _matrix(self, rows: Matrix, by: Sequence[Any] = ()) -> Any:
        entries = [self._terms.ring.of(x).sympy(by) for row in rows for x in row]
        return sympy.ImmutableMatrix(len(rows), len(rows[0]) if rows else self.model.nv, entries)

    def _vector(self, entries: Sequence[Scalar], by: Sequence[Any] = ()) -> Any:
        return sympy.ImmutableMatrix(len(entries), 1, [self._terms.ring.of(x).sympy(by) for x in entries])

    def _array(self, nested: list[Matrix]) -> Any:
        entries = [self._terms.ring.of(x).sympy() for layer in nested for row in layer for x in row]
        return sympy.ImmutableDenseNDimArray(entries, (self.model.nv,) * 3)
