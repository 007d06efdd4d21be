"""Steps of Newton's method of soft contact: the ways in which H is factorised agree, and which is taken where."""

from dataclasses import replace

import numpy as np
import pytest

import qdot
from qdot.algorithms.rnea import newton_euler
from qdot.contact import newton
from qdot.contact.soft import Soft, soft_problem
from qdot.model.library import puma560

LIMBS, LINKS = 5, 4


def many_limbs(cone):
    """A trunk that floats, with limbs of short links that fold onto themselves, the trunk and each other."""

    def link(k, depth):
        if depth == LINKS:
            return ""
        axis = ("0 1 0", "0 0 1", "1 0 0")[depth % 3]
        at = f"{0.12 * np.cos(1.2566 * k):.4f} {0.12 * np.sin(1.2566 * k):.4f} 0" if depth == 0 else "0.16 0 0"
        turned = f'euler="0 0 {72 * k}"' if depth == 0 else ""
        inner = link(k, depth + 1)
        return (
            f'<body name="l{k}_{depth}" pos="{at}" {turned}><joint axis="{axis}" armature="0.01"/>'
            f'<geom type="capsule" fromto="0.03 0 0 0.13 0 0" size="0.04" mass="0.3"/>{inner}</body>'
        )

    limbs = "".join(link(k, 0) for k in range(LIMBS))
    return qdot.load(
        f'<mujoco><compiler autolimits="true"/><option cone="{cone}"/><worldbody><body name="trunk"><freejoint/>'
        f'<geom size="0.1" mass="1"/>{limbs}</body></worldbody></mujoco>'
    )


def problem_at(model, seed):
    random = np.random.default_rng(seed)
    q = qdot.retract(model, model.home(), random.normal(size=model.nv) * 1.2)
    v = random.normal(size=model.nv)
    c, _ = newton_euler(model, q.tolist(), v.tolist(), [0.0] * model.nv)
    f = [t - x for t, x in zip(random.normal(size=model.nv), c, strict=True)]
    return soft_problem(model, q.tolist(), v.tolist(), f, 2e-3, Soft(tolerance=1e-14))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_tree_and_a_full_matrix_agree(cone, monkeypatch):
    """Where all contacts are within limbs, with the trunk, or none is there, as where some join limbs. Tolerance: both
    are solutions to 1e-14 of a cost; H of stiff contacts has a condition of some 1e6."""
    model = many_limbs(cone)
    assert newton.is_bushy(model)
    kinds = []
    for seed in range(16):
        problem = problem_at(model, seed)
        acting = sum(row.law.D > 0 for row in problem.rare)
        kinds.append("none" if not acting else "joined" if problem.joined > 0 else "tree")
        guess = [0.0] * model.nv
        with monkeypatch.context() as m:
            m.setattr(newton, "BUSHY", 1e9)
            assert not newton.is_bushy(model)
            expected = problem.solved(guess).a
        found = problem.solved(guess).a
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert {"joined", "tree"} <= set(kinds), kinds


def test_what_is_said_to_be_within_a_limb_has_rows_on_one_way_to_the_root():
    model = many_limbs("elliptic")
    ways = newton.ways_to_root(model.dof_parents)
    within = 0
    for seed in range(16):
        for row in problem_at(model, seed).rare:
            if row.law.D > 0:
                about = sorted({k for line in row.J for k, x in line.items() if x != 0})
                on_one_way = set(about[:-1]) <= set(ways[about[-1]])
                assert on_one_way == (row.across == 0)
                within += on_one_way
    assert within > 5


def test_limbs_lie_between_branchings():
    """Of the trunk six freedoms, of each limb its own; together all, once. Of what is not bushy, none."""
    model = many_limbs("elliptic")
    limbs = newton.limbs_of(model)
    assert limbs == (tuple(range(6)), *(tuple(range(6 + LINKS * k, 6 + LINKS * (k + 1))) for k in range(LIMBS)))
    assert newton.limbs_of(puma560()) == ()


def test_rows_are_about_the_limbs_that_they_tell():
    limbs, told = newton.limbs_of(many_limbs("elliptic")), 0
    for seed in range(16):
        for row in problem_at(many_limbs("elliptic"), seed).rare:
            if row.law.D > 0:
                about = {k for line in row.J for k, x in line.items() if x != 0}
                assert [x > 0 for x in row.limbs] == [bool(about & set(limb)) for limb in limbs]
                told += 1
    assert told > 20


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_leaving_out_limbs_changes_nothing(cone):
    """H by parts of limbs that contacts are about, or with all entries of their rows. Tolerance: that of the test
    above."""
    model = many_limbs(cone)
    for seed in range(16):
        problem = problem_at(model, seed)
        whole = replace(problem, rare=[replace(row, limbs=()) for row in problem.rare])
        expected, found = (x.solved([0.0] * model.nv).a for x in (whole, problem))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_efforts_tell_ways_apart():
    """So that what needs H in full does not share vectors with what does not."""
    model = many_limbs("elliptic")
    efforts = {}
    for seed in range(16):
        problem = problem_at(model, seed)
        found = problem.solved([0.0] * model.nv)
        acting = sum(row.law.D > 0 for row in problem.rare)
        kind = 0 if not acting else 2 if problem.joined > 0 else 1
        efforts.setdefault(kind, []).append(float(problem.effort(found)) - 4 * acting)
    assert max(efforts[1]) < min(efforts[2])
