"""What a step of soft contact remembers for the next one: it changes how soon the answer is found, and nothing else."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import qdot
from qdot.contact.gauss import Found, Problem
from qdot.contact.recall import PLACES, remembered_size
from qdot.contact.soft import Soft
from qdot.simulation.phase import Phase
from qdot.simulation.softly import problem_of
from qdot.simulation.system import Inputs, Setup, System

LEG = """
<body pos="{x} {y} 0"><joint type="hinge" axis="0 1 0" range="-40 40" frictionloss="0.2"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".03"/>
  <body pos="0 0 -.2"><joint type="hinge" axis="0 1 0" range="-70 10" frictionloss="0.2"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".025"/>
    <geom type="{foot}" pos="0 0 -.2" size=".04 .04 .03" condim="{condim}"/></body></body>"""


def walker(cone: str, foot: str, condim: int) -> qdot.Model:
    """A box on four legs: 14 freedoms, with limits and dry friction; boxes as feet have sixteen corners."""
    legs = "".join(LEG.format(x=x, y=y, foot=foot, condim=condim) for x in (-0.2, 0.2) for y in (-0.1, 0.1))
    return qdot.load(
        f"""<mujoco><compiler autolimits="true"/><option cone="{cone}" timestep="0.004" impratio="10"/>
        <worldbody><geom type="plane" size="5 5 1"/>
        <body pos="0 0 .45"><freejoint/><geom type="box" size=".25 .12 .05"/>{legs}</body></worldbody></mujoco>"""
    )


KINDS = [("pyramidal", "box", 3), ("elliptic", "sphere", 6)]


@cache
def shaken(kind: tuple[str, str, int]) -> tuple[qdot.Trajectory, np.ndarray]:
    """A walker that lands while its legs are shaken, and the joint forces that do it."""
    model, random = walker(*kind), np.random.default_rng(0)
    tau = np.repeat(random.uniform(-15, 15, size=(5, model.nv)), 20, axis=0)
    tau[:, :6] = 0
    start = model.home(), np.r_[random.normal(size=6), np.zeros(model.nv - 6)]
    return qdot.simulate(model, start, 0.4, 0.004, tau=tau, contact="soft", progress=False), tau


def problem_at(kind: tuple[str, str, int], k: int, tolerance: float | None = None) -> Problem:
    run, tau = shaken(kind)
    system = System(run.model, Setup(contact=Soft(tolerance)))
    phase, inputs = Phase(0.0, run.q[k].tolist(), run.v[k].tolist(), [], []), Inputs([], tau[k].tolist(), 0.004)
    total = [sum(column) for column in zip(*system.forces(phase, inputs).values(), strict=True)]
    return problem_of(system, Soft(tolerance), phase, inputs, total)


def from_nothing(problem: Problem) -> Found:
    return problem.solved([0.0] * problem.model.nv)


@pytest.mark.parametrize("kind", KINDS)
def test_a_memory_changes_no_answer(kind: Any) -> None:
    """Neither that of an earlier step nor a senseless one. Newton's method ends where the slope is below 1e-13 of the
    inertia's trace, and constraints are some 1e4 times as stiff."""
    random, met = np.random.default_rng(0), 0
    size = 14 + remembered_size(shaken(kind)[0].model)
    memory = [0.0] * size
    for k in range(40, 100, 8):
        problem = problem_at(kind, k, 1e-13)
        cold = from_nothing(problem)
        met += sum(bool(c.acts) for c in problem.constraints)
        for known in (memory, random.normal(size=size).tolist()):
            found = problem.solved(known)
            assert np.allclose(np.array(found.a, dtype=float), cold.a, rtol=1e-7, atol=1e-7 * np.abs(cold.a).max())
        memory = problem.remembered(cold)
        assert len(memory) == size
    assert met > 8 * 8


@pytest.mark.parametrize("kind", KINDS)
def test_who_remembers_the_answer_is_done_at_once(kind: Any) -> None:
    """Along the tangents at the answer the answer is the least: one solution, and no turn after it."""
    for k in (60, 80, 99):
        problem = problem_at(kind, k)
        found = problem.solved(problem.remembered(from_nothing(problem_at(kind, k, 1e-13))))
        assert found.turns == 1 or sum(bool(c.acts) for c in problem.ground) > PLACES  # some are not remembered


@pytest.mark.parametrize("kind", KINDS)
def test_steps_take_fewer_turns(kind: Any) -> None:
    """From step to step of a run, beside those from the acceleration of the step before."""
    model, turns = shaken(kind)[0].model, np.zeros(2)
    memory = [0.0] * (model.nv + remembered_size(model))
    for k in range(40, 100):
        problem = problem_at(kind, k)
        found = problem.solved(memory)
        turns += found.turns, problem.solved(memory[: model.nv]).turns
        memory = problem.remembered(found)
    assert turns[0] < 0.8 * turns[1], turns


def test_few_freedoms_remember_no_more_than_accelerations() -> None:
    swing = '<body><joint type="hinge" frictionloss="1"/><geom size=".1"/></body>'
    assert remembered_size(qdot.load(f"<mujoco><worldbody>{swing}</worldbody></mujoco>")) == 0


def test_runs_go_on_as_if_they_had_not_stopped() -> None:
    """To the last bit: what is remembered is part of what a run is carried on with."""
    whole, tau = shaken(KINDS[0])
    model, start = whole.model, (whole.q[0], whole.v[0])
    half = qdot.simulate(model, start, 0.2, 0.004, tau=tau[:50], contact="soft", progress=False)
    after = qdot.simulate(model, half, 0.2, 0.004, tau=tau[50:], contact="soft", progress=False)
    assert np.array_equal(after.q[-1], whole.q[-1])
