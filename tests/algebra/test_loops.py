"""Loops and regions of texts: on every kind of scalar the same numbers, and derivatives through them."""

import numpy as np
import pytest
import sympy as sp

from qdot.algebra import (
    Vec3,
    derivative,
    iterated,
    looked_up,
    repeated,
    scalars_in,
    scanned,
    sin,
    sqrt,
    swept,
    where_needed,
)
from qdot.compiler.interpret import interpret
from qdot.compiler.trace import trace
from qdot.errors import ScalarError
from qdot.programs import expressions  # noqa: F401  (makes traced expressions scalars)
from tests.backends.loading import by_llvm, run

ROUNDING = 1e-13
"""Of the largest entry: some ten operations one after the other, which compiled code may fuse, and their slopes."""


def powers(x):
    """A counted loop whose state is in part plain numbers; x comes in from outside."""
    return repeated(5, [1.0, 0.0], lambda k, s: [s[0] * sin(x) + 0.1 * k, s[1] + s[0]])


def root(x):
    """Newton's iteration for √x, until a step is below 1e-9: the state starts as plain numbers."""

    def step(s):
        y, turns = s
        new = (y + x / y) / 2
        return (new - y) * (new - y) > 1e-18, [new, turns + 1]

    return iterated(60, [3.0, 0], step)


def root_of_positive(x):
    """√ where there is one, -x elsewhere."""
    return where_needed(x > 0, [x], lambda g: [sqrt(g[0]), g[0] * x], [-x, 0.5])


def all_within_each_other(x):
    """A region in an iteration in a counted loop; each uses what it has not been given."""

    def turn(k, outer):
        def step(s):
            shorter = where_needed(s[0] > x, [s[0]], lambda g: [g[0] * g[0] * 0.1], [s[0] - 0.3])[0]
            return s[0] * s[0] > 0.01 * (k + 1), [0.5 * shorter, s[1] + outer[1] * shorter]

        a, b = iterated(7, [outer[0] + x, x], step)
        return [a + 1.5, sin(b) + k]

    return repeated(3, [x, 1.0], turn)


def gone_through(x):
    """Rows of numbers and of x; a region that seldom changes what is carried."""
    rows = [[0.3 * k, x * k, x - 0.5 * k] for k in range(6)]

    def turn(s, row):
        total, last = s
        kept = where_needed(row[2] > 0, [total, row[1]], lambda g: [g[0] + sin(g[1])], [total])[0]
        return [kept * 0.9 + row[0], last + row[1] * x]

    return scanned(rows, [1.0, 0.0], turn)


def swept_through(x):
    """Parts of a table, which the rows around it name; once by a number that went through a region, and once none."""
    table = tuple((0.1 * k, 1.0 - 0.2 * k) for k in range(9))

    def part(first, count, s):
        return swept(table, first, count, s, lambda s, row: [s[0] * row[0] + x, s[1] + s[0] * row[1]])

    def turn(s, row):
        first, count, weight = row
        return where_needed(weight * x > 0, [first, *part(first, count, s)], lambda g: part(g[0], 2, g[1:]), s)

    return scanned([[0.0, 3.0, 1.0], [2.0, 7.0, x], [4.0, 0.0, 2.0]], [1.0, 0.0], turn)


def found_in_a_table(x):
    """A row that each lane names; below the first, and beyond the last."""
    a, b = looked_up(((1.0, 2.0), (0.5, -1.0), (3.0, 0.25), (-2.0, 4.0)), 2 + x)
    return [a * x + b, sin(b * x)]


TEXTS = [powers, root, root_of_positive, all_within_each_other, gone_through, swept_through, found_in_a_table]
POSITIVE = [0.2, 0.7, 1.9, 4.0, 30.0]
ANY = [-2.3, -0.4, 0.3, 1.2, 2.6]


def arguments(text):
    return POSITIVE if text is root else ANY


def column(x, rows):
    return np.broadcast_to(x, (rows,))


def program(text):
    return trace(text.__name__, lambda x: {"y": list(text(x))}, {"x": ()})


def slope(text):
    return lambda x: derivative(lambda e: text(x + e[0]), [1.0])


def curvature(text):
    return slope(slope(text))


@pytest.mark.parametrize("kind", [lambda text: text, slope, curvature])
@pytest.mark.parametrize("text", TEXTS)
def test_lanes_and_traced_programs_give_what_floats_do(text, kind):
    xs = np.array(arguments(text))
    f = kind(text)
    f.__name__ = text.__name__
    expected = np.array([f(float(x)) for x in xs], dtype=float)
    lanes = np.stack([column(y, len(xs)) for y in f(xs)], axis=1)
    bound = ROUNDING * (1 + np.abs(expected).max())
    np.testing.assert_allclose(lanes, expected, rtol=0, atol=bound)
    made = program(f)
    np.testing.assert_allclose(interpret(made, {"x": xs})["y"], expected, rtol=0, atol=bound)
    np.testing.assert_allclose(run(by_llvm(made), {"x": xs})["y"], expected, rtol=0, atol=bound)


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_are_differences(text):
    """Central, h = 1e-5: h² of a third derivative, and ε/h, are below 1e-8 of the largest."""
    h = 1e-5
    for x in arguments(text):
        expected = (np.array(text(x + h), dtype=float) - np.array(text(x - h), dtype=float)) / (2 * h)
        np.testing.assert_allclose(slope(text)(x), expected, rtol=1e-7, atol=1e-7)


def test_derivative_of_a_derivative_by_something_else():
    """∂²/∂x∂y of y x^5: the two perturbations are told apart though only the step brings them in."""

    def power(x, y):
        return repeated(5, [y], lambda k, s: [s[0] * x])[0]

    def by_x(x, y):
        return derivative(lambda e: power(x + e[0], y), [1.0])

    def by_both(x, y):
        return derivative(lambda e: by_x(x, y + e[0]), [1.0])

    assert by_both(1.5, 2.0) == pytest.approx(5 * 1.5**4, rel=1e-15)


def test_inner_loop_meets_a_higher_derivative_than_the_outer():
    """d/da of Σ over turns, where the outer loop's state is constant and only the inner step knows a."""

    def nested(a):
        return repeated(3, [0.0], lambda k, s: [s[0] + repeated(2, [1.0], lambda j, t: [t[0] * a])[0]])[0]

    assert derivative(lambda e: nested(2.0 + e[0]), [1.0]) == 3 * 2 * 2.0


# ── what the loops mean ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", [0, 1, 2, 6])
def test_repeated_counts_from_zero(count):
    seen = []
    total = repeated(count, [0], lambda k, s: [seen.append(k) or s[0] + k])
    assert total == [sum(range(count))]
    assert seen == list(range(count))


@pytest.mark.parametrize("limit", [0, 1, 3, 9])
def test_a_step_that_does_not_go_on_is_not_taken(limit):
    """Doubling below 10 ends at the first number that is not below: 3, 6, 12."""

    def doubled(x):
        return iterated(limit, [x], lambda s: (s[0] < 10, [2 * s[0]]))[0]

    starts = [3.0, 20.0, 10.0, 0.1]
    expected = []
    for x in starts:
        turns = 0
        while x < 10 and turns < limit:
            x, turns = 2 * x, turns + 1
        expected.append(x)
    assert [doubled(x) for x in starts] == expected
    np.testing.assert_array_equal(doubled(np.array(starts)), expected)
    made = trace("doubled", lambda x: {"y": doubled(x)}, {"x": ()})
    np.testing.assert_array_equal(interpret(made, {"x": np.array(starts)})["y"], expected)


def test_what_no_lane_needs_is_not_computed():
    def forbidden(given):
        raise AssertionError("not needed")

    assert where_needed(False, [1.0], forbidden, [2.0]) == [2.0]
    np.testing.assert_array_equal(where_needed(np.zeros(3) > 1, [1.0], forbidden, [np.ones(3)])[0], np.ones(3))
    known = trace("f", lambda x: {"y": where_needed(False, [x], forbidden, [x])}, {"x": ()})
    assert known.operations() == 0


def test_lanes_that_do_not_need_it_may_fail_silently():
    """The square root of -4 and 1/0 are thrown away; NumPy's warnings would be errors here."""
    x = np.array([-4.0, 4.0])
    np.testing.assert_array_equal(where_needed(x > 0, [x], lambda g: [sqrt(g[0])], [0.0])[0], [0.0, 2.0])
    y = np.array([0.0, 2.0])
    np.testing.assert_array_equal(iterated(1, [y], lambda s: (s[0] > 0, [1 / s[0]]))[0], [0.0, 0.5])


def test_states_are_structures():
    """Tuples in lists, vectors in tuples: given to the step, and returned, as they came."""

    def step(k, s):
        direction, (a, b) = s
        assert isinstance(direction, Vec3)
        return direction * 2, [b, a + k]

    for one in (1.0, np.ones(2)):
        direction, pair = repeated(2, (Vec3(one, 0.0, 3.0), [5.0, 6.0]), step)
        assert isinstance(direction, Vec3)
        assert [float(np.max(x)) for x in scalars_in(direction)] == [4, 0, 12]
        assert pair == [5.0, 7.0]

    def traced(x):
        direction, (a, b) = repeated(2, (Vec3(x, 0.0, 3.0), [5.0, 6.0]), step)
        return {"y": [*scalars_in(direction), a, b]}

    assert interpret(trace("f", traced, {"x": ()}), {"x": np.ones(1)})["y"][0].tolist() == [4, 0, 12, 5, 7]


def test_a_loop_is_one_block_when_traced():
    made = trace("f", lambda x: {"y": repeated(1000, [x], lambda k, s: [s[0] * x + k])}, {"x": ()})
    assert [step.op for step in made.body.code].count("for") == 1
    assert len(made.body.code) < 10


def test_rows_are_one_block_when_traced():
    rows = [[float(k), 2.0] for k in range(1000)]
    made = trace("f", lambda x: {"y": scanned(rows, [x], lambda s, row: [s[0] * x + row[0] * row[1]])}, {"x": ()})
    assert [step.op for step in made.body.code].count("scan") == 1
    x = np.array([0.5, -0.9])
    expected = x.copy()
    for a, b in rows:
        expected = expected * x + a * b
    np.testing.assert_allclose(run(by_llvm(made), {"x": x})["y"][:, 0], expected, rtol=1e-14)
    assert scanned([], [1.0], lambda s, row: [2.0]) == [1.0]


# ── symbols ──────────────────────────────────────────────────────────────────────────────────────


def test_symbols_unroll_what_is_counted():
    x = sp.Symbol("x")
    assert sp.expand(repeated(3, [1], lambda k, s: [s[0] * x + k])[0]) == x**3 + x + 2
    assert iterated(9, [x, 0], lambda s: (s[1] < 3, [s[0] * x, s[1] + 1]))[0] == x**4
    assert where_needed(sp.Integer(2) > 1, [x], lambda g: [g[0] + 1], [x]) == [x + 1]


def test_symbols_that_do_not_decide_are_refused():
    x = sp.Symbol("x")
    with pytest.raises(ScalarError, match="how often a loop turns hangs on x < 3, which symbols do not decide"):
        iterated(9, [x], lambda s: (s[0] < 3, [s[0] + 1]))
    with pytest.raises(ScalarError, match="whether a part is computed hangs on x > 0"):
        where_needed(x > 0, [1.0], lambda g: [g[0] + 1], [0.0])
