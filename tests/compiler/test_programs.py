"""From functions to programs: tracing, lowering, checking, printing, keeping."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from qdot.compiler.graph import BLOCKS, Graph
from qdot.compiler.interpret import interpret
from qdot.compiler.program import Block, Instruction, Port, Program, lower
from qdot.compiler.trace import flattened, shape_of, shaped, trace
from qdot.compiler.verify import verify
from tests.compiler.random_programs import bounded, programs, rows_for, used_ops


def polynomial(x, y):
    """x y + sin(x y), and a matrix."""
    p = x[0] * y
    return {"f": p + p.sin(), "g": [[p, 1.0], [x[1], -p]]}


@pytest.fixture
def program() -> Program:
    return trace("polynomial", polynomial, {"x": (2,), "y": ()})


# -- tracing -----------------------------------------------------------------------------------------------------------


def test_shapes(program: Program) -> None:
    assert program.inputs == (Port("x", (2,)), Port("y", ()))
    assert program.outputs == (Port("f", ()), Port("g", (2, 2)))


def test_values(program: Program) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 2)), rng.normal(size=5)
    out = interpret(program, {"x": x, "y": y})
    p = x[:, 0] * y
    np.testing.assert_array_equal(out["f"], p + np.sin(p))
    assert out["g"].shape == (5, 2, 2)
    np.testing.assert_array_equal(out["g"][:, 0, 1], 1.0)
    np.testing.assert_array_equal(out["g"][:, 1, 1], -p)


def test_arrays_of_expressions_are_outputs() -> None:
    program = trace("f", lambda x: {"y": np.array([[x[0], x[1]], [1.0, x[0] + x[1]]], dtype=object)}, {"x": (2,)})
    assert program.outputs == (Port("y", (2, 2)),)
    np.testing.assert_array_equal(interpret(program, {"x": [[2.0, 3.0]]})["y"], [[[2.0, 3.0], [1.0, 5.0]]])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3), (0,), (2, 0), (0, 2)])
def test_nested_lists_are_row_major(shape: tuple[int, ...]) -> None:
    entries = list(range(math.prod(shape)))
    nested = shaped(entries, shape)
    assert flattened(nested) == entries
    if shape and 0 not in shape[:-1]:
        assert shape_of(nested) == shape
        np.testing.assert_array_equal(np.array(nested).reshape(shape), np.arange(math.prod(shape)).reshape(shape))


def test_ragged_outputs_are_refused() -> None:
    with pytest.raises(ValueError, match="ragged"):
        trace("f", lambda x: {"y": [[x, x], [x]]}, {"x": ()})


def test_no_inputs_and_no_outputs() -> None:
    assert interpret(trace("f", lambda: {"y": [1.0, 2.0]}, {}), {})["y"].tolist() == [[1.0, 2.0]]
    assert interpret(trace("f", lambda x: {}, {"x": ()}), {"x": [1.0]}) == {}


def test_empty_batch() -> None:
    out = interpret(trace("f", polynomial, {"x": (2,), "y": ()}), {"x": np.empty((0, 2)), "y": np.empty(0)})
    assert out["f"].shape == (0,)
    assert out["g"].shape == (0, 2, 2)


def test_float32_stays_float32(program: Program) -> None:
    out = interpret(program, {"x": np.ones((3, 2)), "y": np.full(3, 0.1)}, np.float32)
    assert {v.dtype for v in out.values()} == {np.dtype(np.float32)}
    assert out["g"][0, 0, 0] == np.float32(0.1)


def test_entries_must_fill_the_shape() -> None:
    graph = Graph()
    with pytest.raises(ValueError, match="entries"):
        lower("f", graph, [], {Port("y", (2,)): [1.0]})


def test_unknown_input_is_refused() -> None:
    graph = Graph()
    with pytest.raises(ValueError, match="no input"):
        lower("f", graph, [Port("x", (2,))], {Port("y", ()): [graph.input("x", 2)]})


# -- lowering ----------------------------------------------------------------------------------------------------------


def test_dead_code_falls_away() -> None:
    def build(x):
        _ = x.sin().unary("exp") / 3.0
        x.graph.fori(5, [x], lambda i, c: [c[0] * x + i])
        return {"y": x + 1.0}

    program = trace("f", build, {"x": ()})
    assert used_ops(program) == {"input", "constant", "add"}
    assert program.operations() == 1


def test_equal_work_is_done_once() -> None:
    program = trace("f", lambda x: {"y": [(x.sin() + 1.0) * x, (1.0 + x.sin()) / 2.0, x * (x.sin() + 1.0)]}, {"x": ()})
    assert program.operations() == 4  # sin, add, mul, and the product with a half


def test_operations_count_turns() -> None:
    def build(x):
        g = x.graph
        a = g.fori(7, [x], lambda i, c: [c[0] * c[0] + i])[0]  # 2 a turn
        b = g.while_(9, [a], lambda c: (c[0] < 5.0, [c[0] + 1.0]))[0]  # 2, once
        c = g.when(b < 0.0, [b], lambda p: [p[0].sin()], [b])[0]  # the comparison, and 1
        return {"y": c}

    assert trace("f", build, {"x": ()}).operations() == 2 * 7 + 2 + 1 + 1


def test_nested_loops_multiply() -> None:
    def outer(i, c):
        return c[0].graph.fori(3, [c[0]], lambda j, d: [d[0] * d[0] + j])

    assert trace("f", lambda x: {"y": x.graph.fori(4, [x], outer)[0]}, {"x": ()}).operations() == 24


def test_operands_come_before_users() -> None:
    @given(programs())
    @settings(max_examples=60, deadline=None)
    def check(program: Program) -> None:
        seen: set[int] = set()

        def visit(block: Block, known: frozenset[int]) -> None:
            defined = set(known) | set(block.parameters)
            for step in block.code:
                assert defined.issuperset(step.args)
                if step.op in BLOCKS:
                    visit(step.extra[1], frozenset(defined))
                assert not seen.intersection(step.results), "a value is defined twice"
                seen.update(step.results)
                defined.update(step.results)
            assert defined.issuperset(block.results)

        visit(program.body, frozenset())
        verify(program)

    check()


# -- checking ----------------------------------------------------------------------------------------------------------


def made(*code: Instruction, results: tuple[int, ...] = (0,), inputs: tuple[Port, ...] = ()) -> Program:
    return Program("made", inputs, (Port("y", (len(results),)),), Block((), code, results))


NUMBER = Instruction("constant", (), (0,), 1.0)
TRUTH = Instruction("truth", (), (1,), True)
X = Port("x", (2,))

BROKEN = {
    "use before definition": (made(Instruction("sin", (1,), (0,)), Instruction("constant", (), (1,), 1.0)), "before"),
    "use of nothing": (made(NUMBER, Instruction("add", (0, 9), (2,)), results=(2,)), "before"),
    "result of nothing": (made(NUMBER, results=(5,)), "not defined"),
    "too few operands": (made(NUMBER, Instruction("add", (0,), (2,)), results=(2,)), "takes 2"),
    "too many operands": (made(NUMBER, Instruction("sin", (0, 0), (2,)), results=(2,)), "takes 1"),
    "truth as number": (made(NUMBER, TRUTH, Instruction("add", (0, 1), (2,)), results=(2,)), "kind"),
    "number as truth": (made(NUMBER, TRUTH, Instruction("and", (0, 1), (2,)), NUMBER), "kind"),
    "number as condition": (made(NUMBER, Instruction("select", (0, 0, 0), (2,)), results=(2,)), "kind"),
    "truth to choose": (made(NUMBER, TRUTH, Instruction("select", (1, 1, 0), (2,)), results=(2,)), "kind"),
    "missing input": (made(Instruction("input", (), (0,), ("x", 0))), "no input"),
    "input out of range": (made(Instruction("input", (), (0,), ("x", 2)), inputs=(X,)), "no input"),
    "input before the first": (made(Instruction("input", (), (0,), ("x", -1)), inputs=(X,)), "no input"),
    "too few results": (Program("made", (), (Port("y", (2,)),), Block((), (NUMBER,), (0,))), "results"),
    "use of a body's value outside": (
        made(
            NUMBER,
            Instruction("for", (0,), (4,), (2, Block((1, 2), (Instruction("add", (1, 2), (3,)),), (3,)))),
            results=(3,),
        ),
        "not defined",
    ),
    "broken body": (
        made(NUMBER, Instruction("for", (0,), (4,), (2, Block((1, 2), (Instruction("add", (1,), (3,)),), (3,))))),
        "takes 2",
    ),
    "truth as output": (made(NUMBER, TRUTH, results=(1,)), "kind|truth|number"),
    "number as a loop's condition": (
        made(NUMBER, Instruction("while", (0,), (4,), (2, Block((1,), (), (1, 1))))),
        "kind|truth|number",
    ),
    "number as a region's condition": (
        made(NUMBER, Instruction("when", (0, 0), (4,), (0, Block((), (), (0,))))),
        "kind|truth|number",
    ),
    "truth carried by a loop": (
        made(NUMBER, TRUTH, Instruction("for", (1,), (4,), (2, Block((2, 3), (), (3,)))), results=(4,)),
        "kind|truth|number",
    ),
    "body returns another count": (
        made(NUMBER, Instruction("for", (0,), (4,), (2, Block((1, 2), (), (1, 2))))),
        "results|values|carried|takes|number",
    ),
    "rows of another count": (
        made(NUMBER, Instruction("each", (0, 0, 0), (4, 5), (2, Block((1,), (), (1,))))),
        "do not fit",
    ),
    "rows without results": (made(NUMBER, Instruction("each", (0,), (), (1, Block((1,), (), ())))), "count"),
    "unknown operation": (made(NUMBER, Instruction("sinh", (0,), (2,)), results=(2,)), "sinh"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_programs_are_refused(what: str) -> None:
    program, message = BROKEN[what]
    with pytest.raises(ValueError, match=message):
        verify(program)


def test_sound_programs_pass() -> None:
    verify(made(NUMBER, TRUTH, Instruction("select", (1, 0, 0), (2,)), results=(2,)))
    verify(made(Instruction("input", (), (0,), ("x", 1)), inputs=(X,)))
    verify(Program("nothing", (), (), Block((), (), ())))


# -- printing and keeping ----------------------------------------------------------------------------------------------


def test_programs_print(program: Program) -> None:
    lines = str(program).splitlines()
    assert lines[0] == "polynomial(x[2], y[]) -> (f[], g[2, 2])"
    assert sum(" sin %" in line for line in lines) == 1
    assert any(line.endswith("= x[0]") for line in lines)
    assert lines[-1].startswith("  return %")


def test_loops_print_indented() -> None:
    text = str(trace("f", lambda x: {"y": x.graph.fori(3, [x], lambda i, c: [c[0] + i])[0]}, {"x": ()}))
    assert "for 3 %" in text
    assert "\n    return %" in text


@given(programs())
@settings(max_examples=60, deadline=None)
def test_serialised_programs_come_back(program: Program) -> None:
    again = Program.parsed(program.serialized())
    assert again == program
    assert again.serialized() == program.serialized()
    assert again.hash == program.hash
    assert str(again) == str(program)


def test_special_constants_come_back() -> None:
    program = trace("f", lambda x: {"y": [x, -0.0, math.inf, -math.inf, math.nan, 5e-324, 0.1]}, {"x": ()})
    again = Program.parsed(program.serialized())
    row = interpret(again, {"x": [1.0]})["y"][0]
    assert [float(v).hex() for v in row[1:]] == [
        float(v).hex() for v in (-0.0, math.inf, -math.inf, math.nan, 5e-324, 0.1)
    ]


def test_other_versions_and_broken_texts_are_refused(program: Program) -> None:
    text = program.serialized()
    with pytest.raises(ValueError, match="version"):
        Program.parsed(text.replace("[2,", "[999,", 1))
    with pytest.raises(ValueError, match="before"):
        Program.parsed(made(Instruction("sin", (1,), (0,)), Instruction("constant", (), (1,), 1.0)).serialized())


def test_hash_is_the_same_for_equal_programs(program: Program) -> None:
    again = trace("polynomial", polynomial, {"x": (2,), "y": ()})
    assert again == program
    assert again.hash == program.hash


def test_hash_does_not_depend_on_the_process(program: Program) -> None:
    """Names and sets hash differently in each process; programs must not, or no cached object would be found again."""
    import os
    import subprocess
    import sys

    code = (
        "from qdot.compiler.trace import trace\n"
        "from tests.compiler.test_programs import polynomial\n"
        "print(trace('polynomial', polynomial, {'x': (2,), 'y': ()}).hash)"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    assert subprocess.check_output([sys.executable, "-c", code], text=True, env=env).strip() == program.hash


def test_hash_differs_for_different_programs() -> None:
    def of(build, name="f", **inputs):
        return trace(name, build, inputs or {"x": (2,)}).hash

    hashes = [
        of(lambda x: {"y": x[0] + x[1]}),
        of(lambda x: {"y": x[0] - x[1]}),
        of(lambda x: {"y": x[1] - x[0]}),
        of(lambda x: {"y": x[0] + 1.0}),
        of(lambda x: {"y": x[0] + np.nextafter(1.0, 2.0)}),
        of(lambda x: {"z": x[0] + x[1]}),
        of(lambda x: {"y": [x[0] + x[1]]}),
        of(lambda x: {"y": x[0] + x[1]}, x=(3,)),
        of(lambda x: {"y": -0.0}),
        of(lambda x: {"y": 0.0}),
        of(lambda x: {"y": x[0].graph.fori(2, [x[0]], lambda i, c: [c[0] + x[1]])[0]}),
        of(lambda x: {"y": x[0].graph.fori(3, [x[0]], lambda i, c: [c[0] + x[1]])[0]}),
        of(lambda x: {"y": x[0].graph.while_(3, [x[0]], lambda c: (c[0] < 1.0, [c[0] + x[1]]))[0]}),
    ]
    assert len(set(hashes)) == len(hashes)


@given(programs(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_rows_are_independent(program: Program, seed: int) -> None:
    """Each row of a batch equals that row alone, as far as it is decided."""
    inputs = rows_for(program, seed, 5)
    together = bounded(program, inputs, "float64")
    alone = [interpret(program, {n: x[k : k + 1] for n, x in inputs.items()}) for k in range(5)]
    assert together.deviation({name: np.concatenate([row[name] for row in alone]) for name in together.values}) is None
