"""Newton's method on costs with corners: sums of the laws of soft constraints, random, some a million times as stiff as
others, and each of many problems in a lane of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from qdot.algebra.rounding import rounded_as
from qdot.contact.descent import minimised, searched
from qdot.contact.soft_laws import Bound, Ellipse, Pyramid

PROBLEMS, FREEDOMS = 100, 6


class Met(NamedTuple):
    g: list[Any]
    H: np.ndarray


class Costs:
    """½ (a - a₀)ᵀ M (a - a₀) + Σ s(J a - w), many of them."""

    def __init__(self, seed: int, dtype: Any = np.float64) -> None:
        rng, n = np.random.default_rng(seed), FREEDOMS
        root = rng.normal(size=(PROBLEMS, n, n)) + 2 * np.eye(n)
        self.dtype = dtype
        self.M = (root @ root.transpose(0, 2, 1)).astype(dtype)
        self.a0 = (10 * rng.normal(size=(PROBLEMS, n))).astype(dtype)

        def stiffness() -> np.ndarray:
            there = rng.uniform(size=PROBLEMS) < 0.7
            return np.where(there, 10 ** rng.uniform(0, 6, PROBLEMS), 0.0).astype(dtype)

        laws = [Ellipse(stiffness(), (1.0, 1.0), 0.1) for _ in range(3)]
        laws += [Pyramid(stiffness(), (0.7, 0.7)), Bound(stiffness(), 0.0, np.inf), Bound(stiffness(), -2.0, 2.0)]
        rows = [1 if isinstance(law, Bound) else 3 for law in laws]
        self.constraints = [
            (law, rng.normal(size=(PROBLEMS, k, n)).astype(dtype), 10 * rng.normal(size=(PROBLEMS, k)).astype(dtype))
            for law, k in zip(laws, rows, strict=True)
        ]

    def met(self, a: list[Any]) -> Met:
        x = np.stack([np.broadcast_to(y, PROBLEMS) for y in a], axis=1)
        g, H = np.einsum("pij,pj->pi", self.M, x - self.a0), self.M.copy()
        for law, J, w in self.constraints:
            y = list((np.einsum("pki,pi->pk", J, x) - w).T)
            force = np.stack([np.broadcast_to(f, PROBLEMS) for f in law.force(y)], axis=1)
            C = np.array([[np.broadcast_to(c, PROBLEMS) for c in row] for row in law.curvature(y)])
            g = g - np.einsum("pki,pk->pi", J, force)
            H = H + np.einsum("pki,klp,plj->pij", J, C, J)
        return Met(list(g.astype(self.dtype).T), H)

    @property
    def scale(self) -> Any:
        return 1 / np.trace(self.M, axis1=1, axis2=2)

    def improved(self, a: list[Any], met: Met) -> tuple[list[Any], Any]:
        """A step of Newton's method, as far as the search goes, and what it promised to gain."""
        x, g = (np.stack([np.broadcast_to(y, PROBLEMS) for y in ys], axis=1) for ys in (a, met.g))
        p = -np.linalg.solve(met.H, g[..., None])[..., 0]

        def at(t: Any) -> tuple[Any, Any]:
            there = self.met(list((x + np.asarray(t).reshape(-1, 1) * p).T))
            return (np.stack(there.g, axis=1) * p).sum(axis=1), np.einsum("pi,pij,pj->p", p, there.H, p)

        slope = (g * p).sum(axis=1)
        t = searched(at, slope)
        return list((x + np.asarray(t)[:, None] * p).T), -(self.scale * slope) / 2

    def solved(self, tolerance: float, limit: int = 100) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(all="ignore"), rounded_as(np.dtype(self.dtype).name):
            a, steps = minimised(
                list(self.a0.T), self.met, self.improved, scale=self.scale, tolerance=tolerance, limit=limit
            )  # fmt: skip
        return np.stack(a, axis=1), np.asarray(steps)

    def above(self, a: np.ndarray, least: np.ndarray) -> np.ndarray:
        """How much more a costs than the least, of the trace of M: the mean slope between, times the way."""
        way, total = a - least, np.zeros(PROBLEMS)
        nodes, shares = np.polynomial.legendre.leggauss(32)
        with np.errstate(all="ignore"):
            for node, share in zip((nodes + 1) / 2, shares / 2, strict=True):
                slope = np.stack(self.met(list((least + node * way).T)).g, axis=1)
                total += share * (slope * way).sum(axis=1)
        return total / np.trace(self.M, axis1=1, axis2=2)


@pytest.mark.parametrize("seed", range(2))
def test_costs_are_least_to_the_tolerance(seed: int) -> None:
    """A step that is not taken would gain 1e-4 of the tolerance, by a rule that errs most where stiff contacts slide:
    half the tolerance was seen."""
    costs = Costs(seed)
    least, most = costs.solved(1e-18, 300)
    found, steps = costs.solved(1e-8)
    left = np.abs(np.stack(costs.met(list(least.T)).g)).max(axis=0)
    assert left.max() < 1e-3, "slopes are rounding, of forces up to 1e6 times the rest"
    assert np.median(left) < 1e-8
    assert costs.above(found, least).max() < 1e-8
    assert (steps <= most).all()
    assert 5 < steps.mean() < 20
    assert most.max() < 150, "it converges, if slowly where stiff contacts slide"


def test_steps_are_counted_and_bounded() -> None:
    """Two are better than one, and no lane takes more than it may."""
    costs = Costs(3)
    least, _ = costs.solved(1e-18, 300)
    one, two = (costs.solved(1e-8, limit) for limit in (1, 2))
    assert one[1].max() == 1
    assert two[1].max() == 2
    assert costs.above(two[0], least).mean() < costs.above(one[0], least).mean()


def test_rounding_leads_nowhere() -> None:
    """In 32 bits slopes of stiff contacts are rounding long before the cost is least: nothing runs away, and answers
    are as good as those of 64 bits with the same tolerance, which is coarse for what is so stiff."""
    short, exact = Costs(4, np.float32), Costs(4)
    tolerance = 128 * float(np.finfo(np.float32).eps)
    found, steps = short.solved(tolerance)
    coarse, _ = exact.solved(tolerance)
    least, _ = exact.solved(1e-18, 300)
    assert np.isfinite(found).all()
    assert np.mean(steps == 100) < 0.02, "few go on as long as they may"
    assert exact.above(found.astype(float), least).max() < 2 * exact.above(coarse, least).max() < 2


def test_a_corner_is_found() -> None:
    """Dry friction that all but jumps: where it holds, the slope changes its sign within 1e-8 of the way."""
    law = Bound(1e9, -3.0, 3.0)
    pulls = np.linspace(-6, 6, 41)

    def met(a: list[Any]) -> Met:
        return Met([a[0] - pulls - law.force(a)[0]], 1 + law.curvature(a)[0][0])

    def improved(a: list[Any], here: Met) -> tuple[list[Any], Any]:
        p = -here.g[0] / here.H

        def at(t: Any) -> tuple[Any, Any]:
            there = met([a[0] + t * p])
            return there.g[0] * p, there.H * p * p

        t = searched(at, here.g[0] * p)
        return [a[0] + t * p], -here.g[0] * p / 2

    with np.errstate(all="ignore"):
        (x,), steps = minimised([pulls.copy()], met, improved, scale=1.0, tolerance=1e-12, limit=100)
    wanted = np.sign(pulls) * np.maximum(np.abs(pulls) - 3, 0)
    np.testing.assert_allclose(x, wanted, atol=1e-6)
    assert np.max(steps) <= 12
