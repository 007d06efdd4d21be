"""C(q, v) and the Christoffel symbols Γ of qdot in a batch, beside what others take: a table of µs per state.

- 20 freedoms: a random tree and a chain, revolute joints about general axes, 4096 states, one thread, float64. "packed"
  keeps each different entry once, "full" all of them: 8000 numbers a state for Γ, 64 kB, mostly zeros for a tree.
  Published figures of C++ (arXiv:2010.01033) are of the order of 10–20 µs for C and 40–120 µs for Γ, one state at a
  time, on another machine: an order to compare with, no race.
- Chains of 2 to 4 joints: the explicit symbols ½ (∂M + ∂M - ∂M) in SymPy, by lambdify with common subexpressions,
  called with the whole batch. The seconds to derive them grow about sixfold with each joint.
- Puma 560: roboticstoolbox-python's `coriolis`, which takes one state a call, if it is installed (it is no dependency).

Times on a shared machine are noisy; the best of some rounds counts on every side.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import qdot  # noqa: E402
from benchmarks.dynamics import BATCH, Calls  # noqa: E402
from qdot.algebra import Sym3, Vec3  # noqa: E402
from qdot.algorithms import christoffel, coriolis  # noqa: E402
from qdot.joints import Revolute  # noqa: E402
from qdot.model.library import random_tree  # noqa: E402
from qdot.spatial import Inertia, Transform, axis_rotation  # noqa: E402

TEXTS = {"C": coriolis.coriolis_matrix, "Γ": christoffel.christoffel_symbols}
PUBLISHED = {"C": (10.0, 20.0), "Γ": (40.0, 120.0)}
LINE = "{:>22} {:>3} {:>11} {:>10} {:>10} {:>30} {:>14}"


def states(model: qdot.Model) -> list[np.ndarray]:
    return list(np.random.default_rng(0).normal(size=(2, BATCH, model.nv)))


def ours(model: qdot.Model, name: str, rounds: int, *, packed: bool) -> tuple[float, int]:
    """(µs per state, operations)."""
    compiled = qdot.compile(TEXTS[name], model, packed=packed)
    calls = Calls(compiled, states(model))
    for _ in range(rounds):
        calls.round()
    return calls.ns / 1e3, compiled.operations


def best(call: Callable[[], object], rounds: int) -> float:
    """Seconds."""
    found = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - start)
    return found


def sympy_symbols(model: qdot.Model, rounds: int) -> tuple[float, float]:
    """(µs per state, seconds to derive and compile) of Γ from the partial derivatives of M in SymPy."""
    import sympy

    start = time.perf_counter()
    q, _, _ = qdot.symbols(model)
    M = sympy.Matrix(qdot.mass_matrix(model, q))
    n = range(model.nv)
    m = [[[M[i, j].diff(q[k]) for k in n] for j in n] for i in n]
    b = [(m[i][j][k] + m[i][k][j] - m[j][k][i]) / 2 for i in n for j in n for k in n]
    evaluate = sympy.lambdify([q], b, cse=True)
    seconds = time.perf_counter() - start
    rows = states(model)[0]
    found = np.stack(np.broadcast_arrays(*evaluate(rows.T)), axis=-1).reshape(BATCH, *(model.nv,) * 3)
    assert np.allclose(found, qdot.compile(TEXTS["Γ"], model)(rows), atol=1e-9)
    return best(lambda: evaluate(rows.T), rounds) / BATCH * 1e6, seconds


def toolbox_coriolis(rounds: int) -> tuple[qdot.Model, float]:
    """(the Puma 560 as a model of ours, µs per state of roboticstoolbox's C)."""
    import roboticstoolbox

    robot = roboticstoolbox.models.DH.Puma560()
    model = _from_dh(robot)
    rows = [x[:20] for x in states(model)]
    theirs = np.array([robot.coriolis(q, v) for q, v in zip(*rows, strict=True)])
    assert np.allclose(theirs, qdot.compile(TEXTS["C"], model)(*rows), atol=1e-9)
    return model, best(lambda: [robot.coriolis(q, v) for q, v in zip(*rows, strict=True)], rounds) / 20 * 1e6


def _from_dh(robot) -> qdot.Model:
    """A chain by its table of Denavit and Hartenberg: joint k turns about z, then d, a and α lead to the next frame."""
    world = qdot.Mechanism("puma", allow_unphysical=True)  # its first link has an inertia and no mass
    part, before = world.world, Transform.identity()
    for k, link in enumerate(robot.links):
        after = Transform(axis_rotation(Vec3(1, 0, 0), link.alpha), Vec3(link.a, 0, link.d))
        I = np.array(link.I)
        at_com = Sym3(I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2])
        inertia = after @ Inertia.about_com(float(link.m), [float(x) for x in link.r], at_com)
        part = part.add(f"link{k}", Revolute("z"), inertia, at=before)
        before = after
    return qdot.assemble(world)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, help="turns of each side; the quickest counts")
    rounds = parser.parse_args().rounds
    print(LINE.format("", "", "operations", "packed µs", "full µs", "others µs", "ratio (full)"))
    for branching, kind in ((0.4, "tree of 20"), (0.0, "chain of 20")):
        model = random_tree(1, 20, ["revolute"], branching=branching)
        for name, (low, high) in PUBLISHED.items():
            packed, operations = ours(model, name, rounds, packed=True)
            full, _ = ours(model, name, rounds, packed=False)
            line = f"{low:.0f}–{high:.0f} (C++, published)", f"{low / full:.0f}–{high / full:.0f}×"
            print(LINE.format(kind, name, operations, f"{packed:.2f}", f"{full:.2f}", *line), flush=True)
    for n in (2, 3, 4):
        model = random_tree(1, n, ["revolute"], branching=0.0)
        packed, operations = ours(model, "Γ", rounds, packed=True)
        full, _ = ours(model, "Γ", rounds, packed=False)
        theirs, seconds = sympy_symbols(model, 3)
        line = f"{theirs:.2f} (SymPy, {seconds:.0f} s before)", f"{theirs / full:.0f}×"
        print(LINE.format(f"chain of {n}", "Γ", operations, f"{packed:.3f}", f"{full:.3f}", *line), flush=True)
    try:
        puma, theirs = toolbox_coriolis(3)
    except ImportError:
        print("roboticstoolbox is not installed: no comparison with it", file=sys.stderr)
        return 0
    packed, operations = ours(puma, "C", rounds, packed=True)
    full, _ = ours(puma, "C", rounds, packed=False)
    line = f"{theirs:.0f} (roboticstoolbox)", f"{theirs / full:.0f}×"
    print(LINE.format("Puma 560", "C", operations, f"{packed:.3f}", f"{full:.3f}", *line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
