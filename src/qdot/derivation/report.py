"""A derivation as a page: its closed form section by section, or its steps, with all numbers written alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from sympy import Symbol

from qdot.derivation.numerals import DIGITS, are_fractions, are_rounded, spelled
from qdot.derivation.page import Equation, Report, Section, Table, letter, symbols_in
from qdot.derivation.parts import in_parts
from qdot.derivation.stepwise import inverse_in_steps, of_the_tree, stepwise
from qdot.derivation.words import OF_ACTUATORS, Words
from qdot.errors import DerivationError

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

FEW = 3
"""Freedoms up to which a page tells which of them are not coupled."""

NARROW = 40
"""Characters of a left-hand side."""

WIDEST = 150
"""Characters of a row of a matrix that fits a page."""


def report(derivation: Derivation, *, recursive: bool) -> Report:
    """All there is to say about a model. Every quantity on it has been compared with the engine."""
    found = list(stepwise(derivation) if recursive else _closed(derivation))
    rights = [item.right for section in found for item in section.items if isinstance(item, Equation)]
    fractions = are_fractions(rights)
    found = in_parts(_numbered(section, fractions) for section in found)
    sections = (_symbols(derivation, symbols_in(found)), *found)
    worst = max((check.error for check in derivation.checks.values()), default=0.0)
    states = max((check.states for check in derivation.checks.values()), default=0)
    checked = (
        f"Compared with the engine at {states} random states, with random values for all symbols: "
        f"{len(derivation.checks)} quantities, the largest error is {worst:.0e} of a largest entry."
    )
    if not fractions and are_rounded(rights):
        checked += f" Decimals are rounded to {DIGITS} digits here; source code has all of them."
    named = derivation.model.name.replace("_", " ")
    return Report(f"Equations of motion of {named}", checked, sections, derivation.plain)


def _numbered(section: Section, fractions: bool) -> Section:
    """With its numbers as fractions or as decimals."""
    items = (
        replace(item, right=spelled(item.right, fractions)) if isinstance(item, Equation) else item
        for item in section.items
    )
    return replace(section, items=tuple(items))


def _closed(d: Derivation) -> Iterator[Section]:
    n, words = range(d.model.nv), Words(d.model)
    acceleration = "q̈" if d.plain else "v̇"
    yield Section(
        "Equations of motion",
        f"ψ = M {acceleration} + V + G, one line for each freedom.{of_the_tree(d)}",
        tuple(Equation(_applied(i, eq.rhs), eq.lhs, words.equation(i)) for i, eq in enumerate(d.equations)),
    )
    yield Section(
        "Inertia",
        "The mass matrix, symmetric. On its diagonal is what each joint feels, beside it how joints are coupled.",
        (
            *_matrix("M", d.M, listed=True),
            *(
                Equation(letter("M", i, j), d.M[i, j], words.inertia(i, j, d.M[i, j], d.q))
                for i in n
                for j in n
                if i <= j and (d.M[i, j] != 0 or d.model.nv <= FEW)
            ),
            *_matrix("Mdot", d.M_dot, "how fast it changes"),
        ),
    )
    yield _velocity_forces(d, words)
    yield Section(
        "Gravity",
        "What holds the mechanism still against its weight, on the left of the equations.",
        tuple(Equation(letter("G", i), d.G[i], words.gravity(i, d.G[i])) for i in n),
    )
    if list(d.psi) != d.tau:
        text = "What acts on the joints: drives τ, and friction, springs and external forces (ψ)."
        yield Section("Forces", text, tuple(Equation(letter("psi", i), d.psi[i]) for i in n))
    yield Section(
        "Energies",
        "Kinetic energy, potential energy, and Lagrange's function K - P.",
        (Equation(Symbol("K"), d.K), Equation(Symbol("P"), d.P), Equation(Symbol("L"), d.L)),
    )
    if d.model.nu:
        items = (Equation(s, x) for s, x in zip(d.tau, d.actuation, strict=True))
        yield Section("Actuators", OF_ACTUATORS, tuple(items))
    yield from _christoffel(d)
    if d.invertible:
        yield from _inverse(d)
    else:
        yield from inverse_in_steps(d)
    yield from _frames(d)


def _applied(i: int, psi: Any) -> Any:
    """ψ_i as a left-hand side: written out where it is short."""
    return psi if len(str(psi)) <= NARROW else letter("psi", i)


def _symbols(d: Derivation, used: set[Any]) -> Section:
    """What stands for what; constants only where they enter something."""
    words = Words(d.model)
    rows: list[tuple[Any, ...]] = []
    if d.plain:
        rows += [(s, words.coordinate(i), words.unit(i), "") for i, s in enumerate(d.q)]
    else:
        rows += [(s, f"coordinate {name}", "", "") for s, name in zip(d.q, d.model.coordinate_names(), strict=True)]
        rows += [(s, f"velocity, {words.coordinate(i)}", f"{words.unit(i)}/s", "") for i, s in enumerate(d.v)]
    for s, constant in d.constants.items():
        value = "" if constant.value is None else f"{constant.value:.{DIGITS}g}"
        rows += [(s, constant.words, constant.unit, value)] if s in used else []
    for frame, forces in d.letters.forces.items():
        rows += [(s, f"external wrench on {frame}", "N·m" if k < 3 else "N", "") for k, s in enumerate(forces)]
    for actuator, u in zip(d.model.actuators, d.u, strict=True):
        rows += [(u, f"control of actuator {actuator.name}", "", "")] if u in used else []
    filtered = (actuator for actuator in d.model.actuators if actuator.dynamics is not None)
    for actuator, w in zip(filtered, d.w, strict=True):
        rows += [(w, f"activation of actuator {actuator.name}", "", "")] if w in used else []
    rates = "q̇ (v), accelerations q̈ (a)" if d.plain else "v, accelerations v̇ (a)"
    text = f"Velocities are {rates}, joint forces τ, momenta p."
    return Section("Symbols", text, (Table(("symbol", "meaning", "unit", "value"), tuple(rows)),))


def _velocity_forces(d: Derivation, words: Words) -> Section:
    n = range(d.model.nv)
    items = [Equation(letter("V", i), d.V[i]) for i in n]
    items += _matrix("C", d.C, "times the squares of the velocities: centrifugal forces", listed=True)
    if d.pairs:
        items += _matrix("B", d.B, f"times the products {_products(d)}: Coriolis forces", listed=True)
    items += [Equation(letter("C", i, j), d.C[i, j], words.centrifugal(i, j)) for i in n for j in n if d.C[i, j] != 0]
    items += [
        Equation(Symbol(f"B_{i + 1},{j + 1}{k + 1}"), d.B[i, c], words.coriolis(i, j, k))
        for i in n
        for c, (j, k) in enumerate(d.pairs)
        if d.B[i, c] != 0
    ]
    moving = any(x != 0 for x in d.V)
    text = (
        "V: C(q) times squares of velocities, and B(q) times products of two."
        if moving
        else "The mass matrix does not change: there are none."
    )
    return Section("Centrifugal and Coriolis forces", text, tuple(items) if moving else ())


def _products(d: Derivation) -> str:
    return ", ".join(f"({j + 1}, {k + 1})" for j, k in d.pairs)


def _christoffel(d: Derivation) -> Iterator[Section]:
    n = range(d.model.nv)
    first = [
        Equation(letter("b", i, j, k), d.b[i, j, k]) for i, j, k in product(n, n, n) if j <= k and d.b[i, j, k] != 0
    ]
    if not first:
        return
    text = "b_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i), those that are not zero; b_ijk = b_ikj."
    yield Section("Christoffel symbols of the first kind", text, tuple(first))
    handa = [Equation(letter("h", k, j, i), d.h[k, j, i]) for k, j, i in product(n, n, n) if d.h[k, j, i] != 0]
    text = "h_kji = ∂M_kj/∂q_i - ½ ∂M_ij/∂q_k, those that are not zero: another way to write the same forces."
    yield Section("Factors of velocity products", text, tuple(handa))


def _inverse(d: Derivation) -> Iterator[Section]:
    """What follows from M⁻¹, where that is short enough to read."""
    n = range(d.model.nv)
    entries = [Equation(letter("M^-1", i, j), d.M_inverse[i, j]) for i in n for j in n if i <= j]
    text = "M⁻¹, symmetric: the acceleration of one joint by a unit force at another; zero where it is not listed."
    yield Section("Inverse of the mass matrix", text, tuple(x for x in entries if x.right != 0))
    second = [
        Equation(Symbol(f"Gamma^{k + 1}_{i + 1}{j + 1}"), d.Gamma[k, i, j])
        for k, i, j in product(n, n, n)
        if i <= j and d.Gamma[k, i, j] != 0
    ]
    if second:
        text = "Γ^k_ij = Σ (M⁻¹)_ks b_sij, those that are not zero: the mechanical connection."
        yield Section("Christoffel symbols of the second kind", text, tuple(second))
    if d.plain:
        yield _hamilton(d)


def _hamilton(d: Derivation) -> Section:
    n = d.model.nv
    items = [Equation(letter("p", i), d.momentum[i]) for i in range(n)]
    items += [Equation(Symbol("H"), d.H)]
    items += [Equation(s, x) for s, x in zip(d.v, d.hamilton[:n], strict=True)]
    items += [Equation(Symbol(f"pdot_{i + 1}"), d.hamilton[n + i]) for i in range(n)]
    text = f"Momenta, Hamilton's function of q and p, and the rates of both.{of_the_tree(d)}"
    return Section("Hamilton's equations", text, tuple(items))


def _frames(d: Derivation) -> Iterator[Section]:
    names = [record.name for record in d.model.description.frames]
    if names:
        items = tuple(x for name in names for x in _matrix(f"J_{name}", d.jacobian(name), f"of {name}"))
        yield Section(
            "Jacobians of frames",
            "Angular and linear velocity of a frame, in world axes, are J times the velocities.",
            items,
        )
    if d.constrained:
        yield from _constraints(d)


def _constraints(d: Derivation) -> Iterator[Section]:
    if len(d.phi):
        items = tuple(Equation(letter("phi", i), x) for i, x in enumerate(d.phi))
        yield Section("Constraints", "φ(q) = 0.", items)
    title, text = "Constraint Jacobian", "Its product with the velocities is zero."
    try:
        yield Section(title, text, tuple(_matrix("J_phi", d.phi_jacobian)))
    except DerivationError as error:
        yield Section(title, f"It is left out: {error}.", ())


def _matrix(stem: str, matrix: Any, words: str = "", *, listed: bool = False) -> list[Equation]:
    """A matrix in one piece where it fits a page; else its entries that are not zero, unless they are `listed`."""
    short = spelled(matrix, are_fractions([matrix]))
    widths = (max((len(str(x)) for x in short[:, j]), default=0) for j in range(matrix.shape[1]))
    if sum(widths) <= WIDEST:
        return [Equation(Symbol(stem), matrix, words)]
    if listed:
        return []
    rows, columns = matrix.shape
    places = [(i, j) for i in range(rows) for j in range(columns) if matrix[i, j] != 0]
    return [Equation(letter(stem, i, j), matrix[i, j], words) for i, j in places]
