"""Where a run may start: within limits, on its constraints, by the size of the mechanism; and how to get there."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

import qdot
from qdot.description import KeyframeRecord
from qdot.errors import ConvergenceError, InertiaError, ModelError, UnknownNameError, ValueShapeError
from qdot.joints import Limits, Prismatic, Revolute, Spherical
from qdot.model import library
from qdot.simulation import Driven, Holonomic
from qdot.simulation.arguments import (
    parameters_of,
    require_consistent,
    require_no_other_start,
    require_within_limits,
)
from qdot.simulation.projecting import projected, redundancy
from qdot.simulation.sizes import row_sizes
from qdot.simulation.system import Setup, System
from qdot.spatial import Inertia
from tests.formulations.systems import rod

PENDULUM = library.pendulum()


# -- limits ------------------------------------------------------------------------------------------------------------


def limited_arm():
    world = qdot.Mechanism("arm")
    shoulder = world.add("upper", Spherical(limits=Limits((-inf,), (0.8,))), rod(1.0, 1.0), joint_name="shoulder")
    elbow = shoulder.add("lower", Revolute("y", limits=(-0.5, 2.0)), rod(1.0, 1.0), at=(1, 0, 0), joint_name="elbow")
    hand = elbow.frame("hand", at=(1, 0, 0))
    world.frame("hook", at=(0, 0, 1))
    world.tendon("rope", ["hook", hand], range=(0.0, 2.5))
    return qdot.assemble(world)


def test_a_start_outside_of_a_limit_is_named():
    model = limited_arm()
    system = System(model, Setup())
    home = model.home()
    require_within_limits(system, home)
    require_within_limits(system, home + [0, 0, 0, 0, -0.5 - 2e-9])  # 1e-9 of the range is no mistake
    with pytest.raises(ModelError, match=r"joint 'elbow' is at -0.6, its limits are -0.5 and 2\b.*limits=\"soft\""):
        require_within_limits(system, home + [0, 0, 0, 0, -0.6])
    with pytest.raises(ModelError, match="joint 'shoulder' is at 1"):
        require_within_limits(system, np.array([np.cos(0.5), 0, 0, np.sin(0.5), 0]))
    rows = np.tile(home, (3, 1))
    rows[2, 4] = 2.1
    with pytest.raises(ModelError, match="the start of run 2 is outside of a limit: joint 'elbow'"):
        require_within_limits(system, rows)


def test_a_rope_that_is_too_long_is_named():
    model = limited_arm()
    turned = np.array([np.cos(0.35), 0, np.sin(0.35), 0, 0.0])  # 0.7 rad down about y: the hand is 2.73 m from the hook
    with pytest.raises(ModelError, match="tendon 'rope'"):
        require_within_limits(System(model, Setup()), turned)


# -- sizes -------------------------------------------------------------------------------------------------------------


def square(size, *, closed_by="connect"):
    """Four bars of one length, three of them moving; mass and inertia as of one material."""
    world = qdot.Mechanism("square")
    part, at = world.world, (0.0, 0.0, 0.0)
    for name, home in (("a", 0.0), ("b", np.pi / 2), ("c", np.pi / 2)):
        bar = Inertia.about_com(size**3, (0, 0, size / 2), [size**5 / 12] * 2 + [size**5 / 1000])
        part = part.add(name, Revolute("y"), bar, at=at, home=home)
        at = (0.0, 0.0, size)
    end = part.frame("end", at=at)
    base = world.frame("base", at=(size, 0, 0))
    if closed_by == "connect":
        world.connect("close", base, end)
    else:
        world.close("close", Revolute("y"), base, end)
    return qdot.assemble(world)


@pytest.mark.parametrize("closed_by", ["connect", "close"])
def test_projecting_does_not_know_how_large_a_mechanism_is(closed_by):
    """Turns and turning speeds are the same from a micrometre to a thousand kilometres: 1e-8, at 1e-10 of the size."""
    found = []
    for size in (1e-6, 1.0, 1e6):
        model = square(size, closed_by=closed_by)
        q, v = projected(model, (model.home() + 0.1, np.array([0.1, 0, 0])))
        require_consistent(System(model, Setup()), 0.0, q, v)
        found.append(np.concatenate([q, v]))
        with pytest.raises(ModelError, match="'close'"):
            require_consistent(System(model, Setup()), 0.0, model.home() + 1e-4, np.zeros(3))
        with pytest.raises(ModelError, match="velocity"):
            require_consistent(System(model, Setup()), 0.0, model.home(), np.array([1e-3, 0, 0]))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[2], found[1], rtol=0, atol=1e-8)


def test_redundancy_does_not_know_the_size_either():
    counts = {size: redundancy(square(size, closed_by="close")) for size in (1e-6, 1.0, 1e6)}
    assert {(r.rank, r.nearby, tuple(r.repeats.items())) for r in counts.values()} == {(2, 2, (("close", 3),))}


def test_rows_are_measured_by_lengths_or_radians():
    world = qdot.Mechanism("slide")
    slide = world.add("slide", Prismatic("x"), rod(1.0, 1.0), joint_name="slide")
    wheel = world.add("wheel", Revolute("y"), rod(1.0, 1.0), joint_name="wheel")
    end = slide.frame("end", at=(3, 4, 0))
    world.weld("weld", end, wheel)
    world.gear("screw", slide, wheel, 2.0)
    world.gear("turns", wheel, slide, 2.0)
    weld, *others = world.description().constraints
    model = qdot.assemble(replace(world.description(), constraints=(replace(weld, torque_scale=0.5), *others)))
    users = (
        Driven("slide", lambda t: t),
        Driven("wheel", lambda t: t),
        Holonomic("length", lambda q: [q[0]], unit="m"),
        Holonomic("number", lambda q: [q[0]]),
    )
    size = 5.0  # the end is 3, 4 off both bodies
    expected = [size] * 3 + [0.5] * 3 + [size, 1.0] + [size, 1.0, size, 1.0]
    np.testing.assert_allclose(row_sizes(System(model, Setup(constraints=users))), expected)


def test_projecting_stays_near():
    """From a state that is far off, the bars turn by less than half a turn, where unlimited steps went round thrice."""
    model = square(1.0)
    far = np.array([0.3, 0.2, 0.1])
    q, _ = projected(model, (far, np.zeros(3)))
    assert np.abs(q - far).max() < np.pi
    require_consistent(System(model, Setup()), 0.0, q, np.zeros(3))


def test_a_state_that_cannot_be_projected_is_told_of_home():
    never = Holonomic("never", lambda q: [q[0] ** 2 + 1])
    with pytest.raises(ConvergenceError, match=r"qdot.projected\(model\) starts from its home"):
        projected(PENDULUM, ([0.4], [0.0]), constraints=[never])
    with pytest.raises(ConvergenceError) as caught:
        projected(PENDULUM, constraints=[never])
    assert "home" not in str(caught.value)


def test_the_advice_for_a_users_constraint_names_it_and_its_time():
    system = System(PENDULUM, Setup(constraints=(Driven("joint1", lambda t: t),)))
    with pytest.raises(ModelError, match=r"qdot.projected\(model, state, constraints=\[…\], time=2\)"):
        require_consistent(system, 2.0, np.array([0.5]), np.zeros(1))
    state = projected(PENDULUM, ([0.5], [0.0]), constraints=system.setup.constraints, time=2.0)
    require_consistent(system, 2.0, *state)


# -- other starts ------------------------------------------------------------------------------------------------------


def test_keyframes_are_states():
    key = KeyframeRecord("up", q=(0.3, 0.1), v=(1.0, 2.0))
    model = library.cart_pole()
    model = qdot.assemble(replace(model.description, keyframes=(key, KeyframeRecord("home"))))
    up = model.keyframe("up")
    assert (up.q.tolist(), up.v.tolist()) == ([0.3, 0.1], [1.0, 2.0])
    assert model.keyframe("home") == qdot.State.of(model, model.home(), np.zeros(2))
    with pytest.raises(UnknownNameError, match="did you mean: 'up'"):
        model.keyframe("upp")
    with pytest.raises(UnknownNameError, match="none at all"):
        PENDULUM.keyframe("up")


def test_a_run_that_goes_on_takes_its_time_and_activations_from_the_trajectory():
    require_no_other_start(0.0, None)
    with pytest.raises(ValueShapeError, match="leave start out"):
        require_no_other_start(5.0, None)
    with pytest.raises(ValueShapeError, match="leave activation out"):
        require_no_other_start(0.0, [0.0])


# -- constants that no body has ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", ["mass", "armature", "damping", "friction", "stiffness"])
def test_constants_that_are_not_negative(constant):
    path = f"part.{constant}"
    assert parameters_of({path: [0.0, 1.0]})[path].tolist() == [0.0, 1.0]
    with pytest.raises(ValueShapeError, match=rf"'{path}'.*not negative, got -1"):
        parameters_of({path: [2.0, -1.0]})


def test_inertias_that_no_body_has():
    good = Inertia.about_com(1.0, (0, 0, 0), (1.0, 1.0, 1.0)).parameters()
    parameters_of({"rod.parameters": [good, good]})
    flat = Inertia.about_com(1.0, (0, 0, 0), (1.0, 1.0, 5.0)).parameters()
    with pytest.raises(InertiaError, match=r"'rod.parameters' of run 1: .*triangle"):
        parameters_of({"rod.parameters": [good, flat]})
    with pytest.raises(InertiaError, match=r"'rod.parameters': .*negative"):
        parameters_of({"rod.parameters": [-1.0, *good[1:]]})


@pytest.mark.parametrize("given", [[1], {3: 1.0}, "rod1.mass"])
def test_parameters_are_named_by_paths(given):
    with pytest.raises(ValueShapeError, match="parameters are"):
        parameters_of(given)
