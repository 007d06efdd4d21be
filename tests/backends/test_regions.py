"""Regions in regions and loops: lanes that an outer one does not need keep what they had, whatever inner ones ask."""

from __future__ import annotations

import numpy as np
import pytest

from qdot.compiler.interpret import interpret
from qdot.compiler.program import Program
from qdot.compiler.trace import trace
from tests.backends.loading import by_llvm, run

LANES = 64
"""Enough that all lanes of some vectors need no region, and that in others one does and its neighbour does not."""


def passed_through(outside: bool) -> Program:
    """A state that goes through two inner regions; or an inner one that starts from another than the outer would keep.

    Inner conditions hold in lanes, too, that do not need the outer region: those must not change there.
    """

    def text(x: list) -> dict[str, list]:
        graph, (a, b, c, s) = x[0].graph, x

        def outer(given: list) -> list:
            b, c, s, t = given
            once = graph.when(b > 0.0, [s, t], lambda st: [st[0] + 1.0, st[1]], [s, t])
            return graph.when(c > 0.0, once, lambda st: [st[0] * 2.0, st[1] - st[0]], once)

        first = graph.when(c < 0.0, [s], lambda st: [st[0] - 3.0], [s])[0] if outside else s
        return {"state": graph.when(a > 0.0, [b, c, first, b], outer, [s, b])}

    return trace("passed", text, {"x": (4,)})


def stopping() -> Program:
    """A loop in a region in a loop, which each lane leaves at another turn."""

    def text(x: list) -> dict[str, list]:
        graph, (a, b) = x[0].graph, x

        def turn(state: list) -> tuple:
            total, k = state

            def halved(given: list) -> list:
                return graph.while_(20, given, lambda s: (s[0] > 1.0, [s[0] * 0.5]))

            (less,) = graph.when(total > b, [total + 4.0], halved, [total])
            return k < a * 3.0, [less + a, k + 1.0]

        return {"state": graph.while_(10, [b, 0.0], turn)}

    return trace("stopping", text, {"x": (2,)})


@pytest.mark.parametrize("program", [passed_through(False), passed_through(True), stopping()], ids=lambda p: p.name)
def test_the_same_numbers_as_the_interpreter(program: Program) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(LANES, program.inputs[0].size))
    x[: LANES // 2, 0] = -np.abs(x[: LANES // 2, 0])
    x[::13, 0] = np.abs(x[::13, 0])
    found, expected = (
        f({"x": x})["state"] for f in (lambda y: run(by_llvm(program, "float64"), y), lambda y: interpret(program, y))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-13)  # some ten operations
