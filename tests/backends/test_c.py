"""The C that is written: what it says, that it compiles without a warning, that names survive."""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qdot.backends import c
from qdot.backends.c_names import identifier
from qdot.compiler.program import Block, Instruction, Port, Program
from qdot.compiler.trace import trace
from tests.backends.loading import COMPILER, STRICT, by_c, needs_c

DTYPES = ("float64", "float32")


def example(q: Any, v: Any, s: Any, unread: Any) -> dict[str, Any]:
    g = s.graph
    a = g.fori(5, [q[0], q[1]], lambda i, c: [c[1], c[0] + i * v[0][1] * 9.81])
    b = g.while_(7, [a[0]], lambda c: (c[0] < 100, [c[0] * 2 + 1]))
    w = g.when(q[0] < s, [b[0], a[1]], lambda p: [p[0].sin().binary("min", a[1])], [0.0])
    return {"q": [w[0], a[0].sign()], "τ": [[a[1], -1e-3, 0.1]], "s": 0.5, "none": []}


SHAPES = {"q": (2,), "v": (1, 2), "s": (), "unread": (3,)}


@pytest.fixture
def program() -> Program:
    return trace("an example", example, SHAPES)


def compiles(folder: Path, text: str, *flags: str, name: str = "file.c") -> None:
    assert COMPILER is not None
    (folder / name).write_text(text, encoding="utf-8")
    command = [COMPILER, *STRICT, *flags, "-c", str(folder / name), "-o", str(folder / "file.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- the text ----------------------------------------------------------------------------------------------------------


def test_the_comment_tells_the_layout(program: Program) -> None:
    text = c.source(program)
    comment = text[: text.index("*/")]
    for part in (
        "an_example",
        "an example",
        "shape (2,), entry (i) is q[i]",
        "shape (1, 2), entry (i, j) is v[i*2 + j]",
        "one number",
        "q_out",
        "tau",
        "double",
        program.hash,
    ):
        assert part in comment


def test_layout_of_three_indices() -> None:
    text = c.source(trace("f", lambda x: {"y": x[0][0][0]}, {"x": (2, 3, 4)}))
    assert "entry (i, j, k) is x[(i*3 + j)*4 + k]" in text


def test_the_prototype(program: Program) -> None:
    parameters = (
        "const {0} *q, const {0} *v, const {0} *s, const {0} *unread, {0} *q_out, {0} *tau, {0} *s_out, {0} *none"
    )
    assert f"void an_example({parameters.format('double')});" in c.source(program)
    assert f"void an_example({parameters.format('float')});" in c.source(program, dtype="float32")
    assert f"void mine({parameters.format('double')});" in c.source(program, name="mine")
    assert f"void mine({parameters.format('double')});" in c.header(program, name="mine")


def test_it_needs_math_only_and_keeps_nothing(program: Program) -> None:
    text = c.source(program)
    assert re.findall(r"#include.*", text) == ["#include <math.h>"]
    code = text[text.index("*/") :]
    assert not re.search(r"\b(malloc|calloc|alloca|goto)\b", code)
    assert all(re.match(r"static \w+ \w+\(", line) for line in code.splitlines() if line.startswith("static"))


def test_the_same_text_every_time(program: Program) -> None:
    assert c.source(program) == c.source(trace("an example", example, SHAPES))
    assert not re.search(r"\b20\d\d-|\b\d\d:\d\d\b", c.source(program))
    assert str(Path.cwd()) not in c.source(program)


def test_float32_calls_float_functions() -> None:
    ops = ("sin", "cos", "sqrt", "abs", "floor", "exp", "log", "tan", "asin", "acos")
    program = trace("f", lambda x: {"y": [x.unary(op) for op in ops] + [x.pow(0.3), x.binary("atan2", 2.0)]}, {"x": ()})
    text = c.source(program, dtype="float32")
    code = text[text.index("#include") :]
    for name in (
        "sinf",
        "cosf",
        "sqrtf",
        "fabsf",
        "floorf",
        "expf",
        "logf",
        "tanf",
        "asinf",
        "acosf",
        "powf",
        "atan2f",
    ):
        assert f"{name}(" in code
    assert "double" not in code


def test_unknown_dtypes_and_bad_names_are_refused(program: Program) -> None:
    with pytest.raises(ValueError, match="float16"):
        c.source(program, dtype="float16")
    for name in ("two words", "2nd", "", "sin", "double", "a-b", "_Hidden", "v1", "x;"):
        with pytest.raises(ValueError, match="name"):
            c.source(program, name=name)


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("mass_matrix", "mass_matrix"),
        ("<lambda>", "x_lambda_"),
        ("wrench.hand", "wrench_hand"),
        ("2nd", "x2nd"),
        ("τ", "tau"),
        ("q̇", "q_"),
        ("θ1", "theta1"),
        ("sin", "sin_"),
        ("sinf", "sinf_"),
        ("int", "int_"),
        ("v7", "v7_"),
        ("", "x"),
        ("_a", "x_a"),
    ],
)
def test_identifiers(name: str, spelled: str) -> None:
    assert identifier(name) == spelled
    assert identifier(spelled) == spelled


# -- compiling ---------------------------------------------------------------------------------------------------------


@needs_c
@pytest.mark.parametrize("dtype", DTYPES)
def test_it_compiles_without_warnings(tmp_path: Path, program: Program, dtype: str) -> None:
    compiles(tmp_path, c.source(program, dtype=dtype))


@needs_c
def test_the_header_fits(tmp_path: Path, program: Program) -> None:
    (tmp_path / "mine.h").write_text(c.header(program, name="mine"), encoding="utf-8")
    text = c.source(program, name="mine").replace(
        "#include <math.h>", '#include <math.h>\n#include "mine.h"\n#include "mine.h"'
    )
    compiles(tmp_path, text)


HOSTILE = [
    "a b",
    "a.b",
    "a-b",
    "a b",
    "v0",
    "v1",
    "i1",
    "n2",
    "for",
    "sin",
    "τ",
    "tau",
    "1",
    "",
    "*/",
    "/*",
    "\\",
    "??/",
    "\n",
    "x_min",
]


@needs_c
@pytest.mark.parametrize("dtype", DTYPES)
def test_hostile_names(tmp_path: Path, dtype: str) -> None:
    inputs = tuple(Port(name, ()) for name in dict.fromkeys(HOSTILE))
    outputs = tuple(Port(name, ()) for name in dict.fromkeys(reversed(HOSTILE)))
    for name in ("x", "sin", "double", "*/ int x; /*", "\\\n", "main", "τ̇"):
        code = tuple(Instruction("input", (), (k,), (p.name, 0)) for k, p in enumerate(inputs))
        program = Program(name, inputs, outputs, Block((), code, tuple(reversed(range(len(inputs))))))
        text = c.source(program, dtype=dtype)
        compiles(tmp_path, text, "-Wshadow")
        (prototype,) = re.findall(r"void \w+\((.*)\);\n\nvoid", text)
        pointers = [p.rpartition("*")[2] for p in prototype.split(", ")]
        assert len(set(pointers)) == len(pointers) == len(inputs) + len(outputs)


@needs_c
def test_unread_values(tmp_path: Path) -> None:
    """What nothing reads costs no warning: constants, values, loops, what a region or a loop is given."""
    inner = Block((11, 12, 13), (Instruction("sin", (12,), (14,)),), (13, 12))
    code = (
        Instruction("input", (), (0,), ("x", 0)),
        Instruction("constant", (), (1,), 0.1),
        Instruction("truth", (), (2,), True),
        Instruction("lt", (0, 1), (3,)),
        Instruction("add", (0, 1), (4,)),
        Instruction("constant", (), (5,), 0.3),
        Instruction("for", (0, 4), (6, 7), (3, inner)),
        Instruction("when", (3, 5, 1), (8,), (1, Block((15,), (), (1,)))),
        Instruction("while", (1,), (9,), (4, Block((16,), (), (2, 16)))),
        Instruction("select", (2, 0, 1), (10,)),
    )
    program = Program(
        "unread", (Port("x", (1,)), Port("y", (4,))), (Port("z", ()), Port("none", (0,))), Block((), code, (0,))
    )
    for dtype in DTYPES:
        compiles(tmp_path, c.source(program, dtype=dtype))


@needs_c
@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_are_exact(tmp_path: Path, dtype: str) -> None:
    limits = np.finfo(dtype)
    values = [
        0.1,
        -0.1,
        1 / 3,
        9.81,
        math.pi,
        1e300,
        -1e-300,
        5e-324,
        1e-40,
        0.0,
        -0.0,
        1.0,
        -2.5,
        1e6,
        2.0**60,
        math.inf,
        -math.inf,
    ]
    values += [float(limits.max), float(limits.tiny), float(limits.smallest_subnormal), float(limits.eps), math.nan]
    program = trace("constants", lambda x: {"y": values, "z": [x * 0.7 - v for v in values[:5]]}, {"x": ()})
    (call,) = by_c(tmp_path, (program, dtype))
    with np.errstate(over="ignore", under="ignore"):
        expected = np.array(values).astype(dtype)
    assert call({"x": np.zeros(1)})["y"][0].tobytes() == expected.tobytes()


@needs_c
def test_outputs_may_lie_over_inputs(tmp_path: Path) -> None:
    """All inputs are read before an output is written."""
    import ctypes

    program = trace("swap", lambda x: {"y": [x[1], x[0], x[2] + x[0]]}, {"x": (3,)})
    (tmp_path / "swap.c").write_text(c.source(program), encoding="utf-8")
    assert COMPILER is not None
    command = [COMPILER, *STRICT, "-shared", "-fPIC", str(tmp_path / "swap.c"), "-o", str(tmp_path / "swap.so"), "-lm"]
    subprocess.run(command, check=True)
    memory = np.array([1.0, 2.0, 3.0])
    pointer = ctypes.c_void_p(memory.ctypes.data)
    ctypes.CDLL(str(tmp_path / "swap.so")).swap(pointer, pointer)
    assert memory.tolist() == [2.0, 1.0, 4.0]


@needs_c
@pytest.mark.parametrize("dtype", DTYPES)
def test_carried_values_change_places_at_once(tmp_path: Path, dtype: str) -> None:
    def build(x: Any) -> dict[str, Any]:
        g = x[0].graph
        turned = g.fori(4, x, lambda i, c: [c[1], c[2], c[0]])
        swapped = g.while_(3, [x[0], x[1]], lambda c: (c[0] < 9.0, [c[1], c[0]]))
        index = g.fori(3, [x[0], 0.0], lambda i, c: [i, c[0]])
        return {"y": [*turned, *swapped, *index]}

    (call,) = by_c(tmp_path, (trace("turned", build, {"x": (3,)}), dtype))
    assert call({"x": np.array([[1.0, 2.0, 3.0]])})["y"].tolist() == [[2.0, 3.0, 1.0, 2.0, 1.0, 2.0, 1.0]]


@needs_c
def test_no_ports_at_all(tmp_path: Path) -> None:
    compiles(tmp_path, c.source(trace("nothing", lambda: {}, {})))
