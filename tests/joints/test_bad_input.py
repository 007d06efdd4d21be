"""Joints that cannot be: a `JointError`, which names the cause and what to write instead."""

import re
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, strategies as st

from qdot.errors import JointError, QdotError
from qdot.joints import (
    Compound,
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Limits,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)

WITH_AXIS = [Revolute, Continuous, Prismatic, Helical, Cylindrical, Planar, Universal]
finite = st.floats(-10, 10)


def refused(words, make):
    with pytest.raises(JointError, match=words) as caught:
        make()
    assert isinstance(caught.value, QdotError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("kind", WITH_AXIS)
@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ((0, 0, 0), "is zero: it gives no direction"),
        ((0.0, -0.0, 1e-13), "is zero: it gives no direction"),
        ((nan, 0, 1), "nan.* gives no direction: nan is not a finite number"),
        ("w", "axis 'w' is unknown; use one of x, y, z, -x"),
        ("", "axis '' is unknown"),
        ("+x", r"axis '\+x' is unknown"),
        ((1, 0), r"three numbers, got \(1, 0\)"),
        ((1, 0, 0, 0), "three numbers"),
        (5, "three numbers, got 5"),
        (None, "three numbers, got None"),
    ],
)
def test_axes(kind, axis, words):
    refused(words, lambda: kind(axis))


@pytest.mark.parametrize("axis", [(inf, 0.0, 0.0), (0.0, -inf, 1.0), (1e200, 0.0, 0.0)])
def test_axes_that_overflow(axis):
    try:
        made = Revolute(axis)
    except JointError:
        return
    assert np.linalg.norm(list(made.axis)) == pytest.approx(1)


@given(st.lists(st.floats(), max_size=6))
def test_any_list_of_numbers_is_an_axis_or_told(entries):
    """Never another exception, and where it is taken the axis is unit. Sizes whose square overflows are left out."""
    if any(abs(x) > 1e150 for x in entries):
        return
    try:
        axis = Revolute(entries).axis
    except JointError:
        return
    assert len(entries) == 3
    assert np.linalg.norm(list(axis)) == pytest.approx(1, abs=1e-15)


@given(finite, finite)
def test_crossed_limits(low, high):
    if low <= high:
        assert Revolute(limits=(low, high)).limits.lower == (low,)
    else:
        words = re.escape(f"revolute joint: lower limit {low} is above upper limit {high}; swap them")
        refused(words, lambda: Revolute(limits=(low, high)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Revolute(limits=(1,)), r"revolute joint: limits are \(lower, upper\)"),
        (lambda: Revolute(limits=(1, 2, 3)), r"revolute joint: limits are \(lower, upper\)"),
        (lambda: Prismatic(limits=3), r"prismatic joint: limits are \(lower, upper\) or qdot.joints.Limits, got 3"),
        (lambda: Helical(limits=("low", "high")), "helical joint: limits are"),
        (lambda: Revolute(limits=(None, 1)), "limits are"),
        (lambda: Revolute(limits=(nan, 1)), "a lower limit is not a number"),
        (lambda: Revolute(limits=(0, nan)), "an? upper limit is not a number"),
        (lambda: Universal(limits=(-1, 1)), "universal joint: 2 lower limits expected, got 1"),
        (lambda: Universal(limits=((-1, -1), (1,))), "universal joint: 2 upper limits expected, got 1"),
        (lambda: Planar(limits=((-1, -1), (1, 1))), "planar joint: 3 lower limits expected, got 2"),
        (lambda: Universal(limits=((0, 2), (1, 1))), "lower limit 2.0 is above upper limit 1.0"),
        (lambda: Continuous(limits=(-1, 1)), "continuous joint: 0 lower limits expected, got 1"),
        (lambda: Free(limits=(-1, 1)), "free joint: 0 lower limits expected, got 1"),
        (lambda: Spherical(limits=((0, 0, 0), (1, 1, 1))), "spherical joint: 1 lower limits expected, got 3"),
        (lambda: Free(limits=Limits(velocity=(1, 2))), "free joint: 6 velocity limits expected, got 2"),
        (lambda: Revolute(limits=Limits(effort=(1, 2))), "1 effort limits expected, got 2"),
        (lambda: Revolute(limits=Limits((nan,), (1.0,), (1.0,), (1.0,))), "a lower limit is not a number"),
        (lambda: Revolute(limits=Limits((0.0,), (1.0,), (nan,), (1.0,))), "a velocity limit is not a number"),
        (lambda: Revolute(limits=Limits((0.0,), (1.0,), (1.0,), (-1.0,))), "a effort limit is negative"),
        (lambda: Revolute(limits=Limits(velocity=-1)), "a velocity limit is negative: .* give its magnitude"),
        (lambda: Cylindrical(limits=Limits(effort=(1, -2))), "an? effort limit is negative"),
        (lambda: Revolute(limits=Limits(velocity=nan)), "a velocity limit is not a number"),
    ],
)
def test_limits(make, words):
    refused(words, make)


@pytest.mark.parametrize(
    ("first", "second"), [("x", "x"), ("x", "-x"), ((1, 2, 3), (-2, -4, -6)), ((1, 0, 0), (1, 1e-7, 0))]
)
def test_universal_axes_that_are_parallel(first, second):
    refused("universal joint: its axes .* are parallel.*use a Revolute", lambda: Universal(first, second))


@pytest.mark.parametrize(("normal", "across"), [("z", "z"), ("x", (0.1, 1, 0)), ((1, 1, 0), "x")])
def test_planar_directions_that_leave_the_plane(normal, across):
    refused("planar joint: `across` .* does not lie in the plane of normal", lambda: Planar(normal, across))


@pytest.mark.parametrize("pitch", [nan, inf, -inf])
def test_pitches(pitch):
    refused(
        f"helical joint: its pitch is given in metres per radian: {pitch} is not a finite number",
        lambda: Helical("z", pitch),
    )


def test_compounds():
    refused("compound joint: it has no parts; use Fixed", Compound)
    refused("compound joint: its parts are joints, got 'z'", lambda: Compound(Revolute(), "z"))
    refused("its parts are joints, got .*Revolute", lambda: Compound(Revolute))
    refused("its parts are joints, got", lambda: Compound([Revolute(), Fixed()]))


def test_joint_itself_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Joint()
