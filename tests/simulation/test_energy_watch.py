"""Energy from nowhere: found where nothing drives a system, and never in motion that may be.

Runs that are looked at afterwards are given a `tau` of zero: so they count as driven, and are not stopped.
"""

from dataclasses import replace

import numpy as np
import pytest

import qdot
from qdot.description import Fluid
from qdot.geometry import Sphere
from qdot.joints import Free, Prismatic
from qdot.model import library
from qdot.simulation import Driven, FrameForce, JointForce, SoftStops, compilable
from qdot.simulation.explain import Ordinary, nothing_drives
from qdot.simulation.simulate import simulate
from qdot.simulation.system import Setup, System


def oscillator():
    world = qdot.Mechanism("oscillator", gravity=(0, 0, 0))
    world.add("mass", Prismatic("x"), Sphere(0.1, mass=1.0), stiffness=100.0)
    return qdot.assemble(world)


def watching(model, q, v, **setup):
    return Ordinary.of(System(model, Setup(**setup)), 0.01, True, np.array(q), np.array(v), driven=False)


def window(run):
    empty = np.zeros((len(run.time), 0))
    return {"q": run.q, "v": run.v, "activation": empty, "memory": empty, "count": run.time[:, None]}


def test_energy_from_nowhere_is_found_where_it_is_a_hundred_times_what_there_was():
    """Each step of explicit Euler makes (1 + ω² dt²) of the energy of an oscillator: 1.01ⁿ = 101 at n = 464."""
    model = oscillator()
    run = simulate(model, ([0.1], [0.0]), 10.0, 0.01, integrator="explicit euler", tau=[0.0])
    bad = watching(model, [0.1], [0.0]).first_bad(window(run))
    assert (bad.kind, bad.step) == ("gain", 464)
    few = simulate(model, ([0.1], [0.0]), 4.6, 0.01, integrator="explicit euler", tau=[0.0])
    assert watching(model, [0.1], [0.0]).first_bad(window(few)) is None


def test_of_a_batch_the_run_is_found():
    model = oscillator()
    q = np.array([[0.1], [0.3], [0.2]])
    run = simulate(model, (q, np.zeros((3, 1))), 10.0, 0.01, integrator="explicit euler", tau=[0.0])
    rows = {"q": run.q.transpose(1, 0, 2), "v": run.v.transpose(1, 0, 2)}
    empty = np.zeros((len(run.time), 3, 0))
    rows |= {"activation": empty, "memory": empty}
    bad = watching(model, q, np.zeros((3, 1))).first_bad(rows)
    assert (bad.kind, bad.row) == ("gain", 1)  # the scale is that of the largest


def test_falling_and_spinning_are_no_gain():
    world = qdot.Mechanism("stone")
    world.add("stone", Free(), Sphere(0.1, mass=1.0))
    stone = qdot.assemble(world)
    v = np.array([5.0, 0, 0, 0, 0, 0])
    run = simulate(stone, (stone.home(), v), 1000.0, 0.01, record=100)
    watch = watching(stone, stone.home(), v)
    assert run.kinetic_energy()[-1] > 1e6 * watch.undriven.rough
    assert watch.first_bad(window(run)) is None


@pytest.mark.parametrize(
    "setup",
    [
        {"forces": (JointForce("push", lambda q, v: [0.0]),)},
        {"forces": (FrameForce("wind", "mass", lambda X, V: [0, 0, 0]),)},
        {"constraints": (Driven("mass", lambda t: t),)},
        {"limits": SoftStops()},
        {"control": compilable(lambda q, v: [])},
    ],
)
def test_what_is_driven_is_not_watched(setup):
    assert nothing_drives(System(oscillator(), Setup()))
    assert not nothing_drives(System(oscillator(), Setup(**setup)))
    assert watching(oscillator(), [0.1], [0.0], **setup).undriven is None


def test_models_that_drive_themselves_are_not_watched():
    servo = qdot.Mechanism("servo")
    part = servo.add("part", Prismatic("x"), Sphere(0.1, mass=1.0))
    servo.motor("motor", part)
    windy = replace(oscillator().description, fluid=Fluid(density=1.0, wind=(1.0, 0.0, 0.0)))
    for model in (qdot.assemble(servo), qdot.assemble(windy)):
        assert not nothing_drives(System(model, Setup()))
    assert nothing_drives(System(library.five_link_chain(), Setup()))


def test_without_a_scale_nothing_is_watched():
    watch = watching(oscillator(), [0.0], [0.0])
    assert not watch.undriven.gained(np.array([[1e3]]), np.array([[1e3]])).any()
