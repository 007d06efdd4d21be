"""What is too long to read in closed form, as steps: each section has those that it needs beyond the ones before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from sympy import Symbol

from qdot.derivation.page import Equation, Section, letter
from qdot.derivation.steps import Steps, TooManySteps, available
from qdot.derivation.words import OF_ACTUATORS, OF_THE_TREE, Words

if TYPE_CHECKING:
    from qdot.derivation.derivation import Derivation

INVERSE, CHRISTOFFEL = "inverse_mass_matrix", "christoffel_symbols"


def of_the_tree(d: Derivation) -> str:
    """What is to be said of a mechanism that is not a tree."""
    return f" {OF_THE_TREE}" if d.constrained else ""


def stepwise(d: Derivation) -> Iterator[Section]:
    """The whole page."""
    yield Section(
        "Equations of motion",
        f"ψ = M {'q̈' if d.plain else 'v̇'} + V + G. In closed form these equations would fill pages; as steps x they "
        "share what they have in common. Each section gives the steps that it needs beyond those before it."
        f"{of_the_tree(d)}",
    )
    steps = _steps(d)
    section, words, n = _sections(d, steps), Words(d.model), range(d.model.nv)

    def coupled(place: tuple[int, ...], x: Any) -> str:
        i, j = place
        return words.inertia(i, j, x, ()).partition(";")[0]

    yield section("mass_matrix", "Inertia", "The mass matrix; entries that are not listed are zero.", "M", coupled)
    text = "V, the forces of moving joints on each other; zero where it is not listed."
    yield section("velocity_forces", "Centrifugal and Coriolis forces", text, "V")
    text = "What holds the mechanism still against its weight; zero where it is not listed."
    yield section("gravity_forces", "Gravity", text, "G", lambda place, x: words.gravity(place[0], x))
    if list(steps.results["applied_forces"][1]) != d.tau:
        text = "What acts on the joints: drives τ, and friction, springs and external forces (ψ)."
        yield section("applied_forces", "Forces", text, "psi")
    if "actuation" in steps.results:
        yield section("actuation", "Actuators", OF_ACTUATORS, "tau")
    rates = "q̇" if d.plain else "v"
    text = f"Kinetic energy K = ½ Σ M_ij {rates}_i {rates}_j, Lagrange's function L = K - P, and potential energy P."
    yield section("potential_energy", "Energies", text, "P")
    if CHRISTOFFEL in steps.results:
        text = f"V_i = Σ b_ijk {rates}_j {rates}_k, and C_ij = Σ b_ijk {rates}_k; zero where it is not listed."
        yield section(CHRISTOFFEL, "Christoffel symbols of the first kind", text, "b")
    elif n:
        text = f"b_ijk, and with them Γ, would take too many steps to be read here: qdot.{CHRISTOFFEL} gives numbers."
        yield Section("Christoffel symbols of the first kind", text)
    yield from _inverse(d, section)


def inverse_in_steps(d: Derivation) -> Iterator[Section]:
    """What needs M⁻¹, of a page that is otherwise in closed form."""
    known = INVERSE in available(d)
    yield from _inverse(d, _sections(d, d.steps(INVERSE) if known else Steps((), {})))


def _steps(d: Derivation) -> Steps:
    """All that the page is made of, in the order of its sections."""
    names = ["mass_matrix", "velocity_forces", "gravity_forces", "applied_forces", "actuation", "potential_energy"]
    names = [name for name in (*names, CHRISTOFFEL, INVERSE) if name in available(d)]
    try:
        return d.steps(*names)
    except TooManySteps:
        return d.steps(*(name for name in names if name != CHRISTOFFEL))


def _sections(d: Derivation, steps: Steps) -> Callable[..., Section]:
    """Makes the section of a function: its own steps, then its entries that are not zero."""
    own = steps.first_used()

    def section(
        name: str, title: str, text: str, stem: str, words: Callable[[tuple[int, ...], Any], str] | None = None
    ) -> Section:
        shape, entries = steps.results[name]
        items = [Equation(s, x) for s, x in own[name]]
        for place, x in zip(product(*map(range, shape)), entries, strict=True):
            mirrored = len(place) > 1 and place[-2] > place[-1] and (len(place) == 2 or d.plain)
            if (x != 0 or not place) and not mirrored:
                left = letter(stem, *place) if place else Symbol(stem)
                items.append(Equation(left, x, words(place, x) if words else ""))
        return Section(title, text, tuple(items))

    return section


def _inverse(d: Derivation, section: Callable[..., Section]) -> Iterator[Section]:
    """M⁻¹ as steps, and what follows from it as sums over its entries."""
    if d.singular or INVERSE not in available(d):
        yield Section("Hamilton's equations", f"They are left out: {d.singular or 'some joint moves no mass'}.")
        return
    text = "M⁻¹, symmetric: the acceleration of one joint by a unit force at another; zero where it is not listed."
    yield section(INVERSE, "Inverse of the mass matrix", text, "M^-1")
    if not d.plain:
        text = (
            "Momenta are p = M v, the velocity is v = M⁻¹ p, and Hamilton's function is H = ½ Σ (M⁻¹)_ij p_i p_j + P. "
            "Momenta of quaternions obey Euler's equations, not Hamilton's canonical ones; the function "
            "hamilton_equations of the source computes their rates."
        )
    else:
        text = "Γ^k_ij = Σ (M⁻¹)_ks b_sij: the mechanical connection."
        yield Section("Christoffel symbols of the second kind", text)
        text = (
            "Momenta are p_i = Σ M_ij q̇_j, Hamilton's function is H = ½ Σ (M⁻¹)_ij p_i p_j + P. The rates of both are "
            "q̇_i = Σ (M⁻¹)_ij p_j and ṗ_k = Σ b_ijk q̇_i q̇_j - G_k + ψ_k."
        )
    yield Section("Hamilton's equations", text)
