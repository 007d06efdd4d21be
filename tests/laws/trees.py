"""The random trees that the laws are tested on: every joint kind alone and all of them mixed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from qdot.model.library import KINDS, random_state, random_tree
from qdot.model.model import Model

SEEDS = range(220)
MOVING = [kind for kind in KINDS if kind != "fixed"]


@dataclass(frozen=True)
class Case:
    model: Model
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


@cache
def case(seed: int, *, passive: bool = True, most_freedoms: int = 36) -> Case:
    """A tree of 1 to 6 bodies; each fourth one of a single kind of joint, the kinds in turn."""
    kinds = [MOVING[(seed // 4) % len(MOVING)]] if seed % 4 == 0 else None
    bodies = 1 + seed % 6
    model = random_tree(seed, bodies, kinds, branching=(seed % 3) / 2, passive=passive)
    while not 0 < model.nv <= most_freedoms:  # every joint drawn was fixed, or more freedoms than wanted
        seed, bodies = seed + 1000, max(1, bodies - 1)
        model = random_tree(seed, bodies, kinds, passive=passive)
    return Case(model, *random_state(model, seed))


def close(actual: object, expected: object, tolerance: float) -> None:
    """|x - y| ≤ tolerance · (1 + max |y|): relative to the largest entry, since sums cancel between entries."""
    x, y = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert x.shape == y.shape
    scale = 1.0 + np.max(np.abs(y), initial=0.0)
    worst = np.max(np.abs(x - y), initial=0.0) / scale
    assert worst <= tolerance, f"relative deviation {worst:.2e} exceeds {tolerance:.0e}"
