"""A first look: assemble two arms, print every term of their equations of motion, and draw them."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import qdot
from qdot.model import library


def show(model: qdot.Model, q: np.ndarray, v: np.ndarray) -> None:
    """Print M, c, g and the energies of a model at a state."""
    print(f"\n{model.name}: {len(model.bodies)} bodies, {model.nv} freedoms, {qdot.total_mass(model):g} kg")
    print("  joint        q [rad]   v [rad/s]     c [N·m]     g [N·m]")
    c, g = qdot.velocity_forces(model, q, v), qdot.gravity_forces(model, q)
    for name, *row in zip(model.dof_names(), q, v, c, g, strict=True):
        print(f"  {name:<10}" + "".join(f"{x:12.5f}" for x in row))
    print("  M(q) [kg·m²] =")
    for row in qdot.mass_matrix(model, q):
        print("   " + "".join(f"{x:10.5f}" for x in row))
    K, P = qdot.kinetic_energy(model, q, v), qdot.potential_energy(model, q)
    print(f"  energy: kinetic {K:.6f} J, potential {P:.6f} J")
    a = qdot.forward_dynamics(model, q, v, np.zeros(model.nv))
    tau = qdot.inverse_dynamics(model, q, v, a)
    print(f"  inverse ∘ forward dynamics leaves {np.abs(tau).max():.1e} N·m of zero")


def equations() -> None:
    """The same functions on symbols: the equations of the two-link arm."""
    import sympy

    lengths, masses = sympy.symbols("l1 l2", positive=True), sympy.symbols("m1 m2", positive=True)
    arm = library.two_link_arm(lengths, masses, sympy.Symbol("g"))
    q, _, _ = qdot.symbols(arm)
    M = sympy.Matrix(qdot.mass_matrix(arm, q)).applyfunc(sympy.expand)
    print("\nthe same text on symbols: M(q) of the two-link arm =")
    for i, row in enumerate(M.tolist()):
        for j, entry in enumerate(row):
            print(f"  M[{i},{j}] = {entry}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    import matplotlib

    matplotlib.use("Agg")
    from qdot.plots import draw

    planar, arm = library.two_link_arm(), library.seven_joint_arm()
    states = {
        planar: (np.array([0.5, 0.9]), np.array([1.0, -0.5])),
        arm: (np.array([0.4, 0.7, -0.3, 1.3, 0.5, -0.9, 0.2]), np.linspace(-1.0, 1.0, 7)),
    }
    for model, (q, v) in states.items():
        show(model, q, v)
    equations()
    print()
    for model, (q, _) in states.items():
        path = out / f"{model.name}.png"
        draw(model, q).savefig(path, dpi=130)
        print(f"picture: {path}")


if __name__ == "__main__":
    main()
