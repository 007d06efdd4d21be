"""Whether a program is well formed: what it uses is defined, of the right kind and number, and, where a loop's bounds
are in question, the same in all lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from qdot.compiler.graph import BLOCKS, result_count
from qdot.compiler.ops import OPS
from qdot.compiler.program import Block, Instruction, Program, columns_of


def verify(program: Program) -> None:
    """Raise where a program is not well formed: a value used before it is defined, a wrong arity, truths as numbers."""
    sizes = {p.name: p.size for p in program.inputs}
    if any(_verify_block(program.body, {}, sizes, program.name)):
        raise ValueError(f"program {program.name!r} has an output that is a truth, not a number; use select")
    for step in _uneven(program.body, set()):
        raise ValueError(
            f"program {program.name!r}: where a sweep begins and how long it is has to be the same in all lanes; "
            f"value {step.args[0]} or {step.args[1]} is neither a constant nor one of a scan's row"
        )
    expected = sum(p.size for p in program.outputs)
    if len(program.body.results) != expected:
        raise ValueError(
            f"program {program.name!r} has {len(program.body.results)} results for {expected} output entries"
        )


def _verify_block(block: Block, outer: dict[int, bool], sizes: Mapping[str, int], name: str) -> list[bool]:
    """Check a block; tells which of its results are truths."""
    kinds = outer | dict.fromkeys(block.parameters, False)
    for step in block.code:
        missing = [a for a in step.args if a not in kinds]
        if missing:
            raise ValueError(f"program {name!r}: {step.op} uses value {missing[0]} before it is defined")
        twice = [r for r in step.results if r in kinds]
        if twice:
            raise ValueError(f"program {name!r}: value {twice[0]} is defined twice")
        kinds.update(dict.fromkeys(step.results, _checked(step, kinds, sizes, name)))
    for r in block.results:
        if r not in kinds:
            raise ValueError(f"program {name!r}: result {r} is not defined")
    return [kinds[r] for r in block.results]


def _uneven(block: Block, even: set[int]) -> Iterator[Instruction]:
    """Sweeps whose bounds may differ from lane to lane; `even` is known not to."""
    for step in block.code:
        if step.op in BLOCKS:
            inner = step.extra[1]
            if step.op == "sweep" and not even.issuperset(step.args[:2]):
                yield step
            even.update(p for p, of in zip(inner.parameters, _given(step), strict=False) if even.issuperset(of))
            yield from _uneven(inner, even)
        elif step.op in ("constant", "truth") or (step.op in (*OPS, "entry") and even.issuperset(step.args)):
            even.update(step.results)


def _given(step: Instruction) -> list[tuple[int, ...]]:
    """For each of the first parameters of a block, the values that it stands for, turn by turn: none for a counter and
    for what comes from a table."""
    number = step.extra[0]
    match step.op:
        case "for":
            return [()]
        case "when":
            return [(a,) for a in step.args[1 : 1 + number]]
        case "sweep":
            return [()] * number.width
        case "each" | "scan":
            return columns_of(step)
    return []


def _checked(step: Instruction, kinds: dict[int, bool], sizes: Mapping[str, int], name: str) -> bool:
    """Whether the instruction gives a truth; raises where it is wrong."""
    if step.op in BLOCKS:
        _verify_control(step, kinds, sizes, name)
        return False
    if step.op == "input":
        port, place = step.extra
        if port not in sizes or not 0 <= place < sizes[port]:
            raise ValueError(f"program {name!r}: there is no input {port}[{place}]")
        return False
    if step.op in ("constant", "truth", "item"):
        return step.op == "truth"
    if step.op == "entry":
        table, column = step.extra
        if len(step.args) != 1 or kinds[step.args[0]] or not table.rows or not 0 <= column < table.width:
            raise ValueError(f"program {name!r}: an entry of a table takes one number, and one of its columns")
        return False
    row = OPS.get(step.op)
    if row is None:
        raise ValueError(f"program {name!r}: the operation {step.op!r} is unknown")
    if len(step.args) != row.arity:
        raise ValueError(f"program {name!r}: {step.op} takes {row.arity} operands, not {len(step.args)}")
    wants_truth = step.op in ("and", "or", "not")
    for place, a in enumerate(step.args):
        if kinds[a] != (wants_truth or (step.op == "select" and place == 0)):
            raise ValueError(f"program {name!r}: operand {place} of {step.op} is of the wrong kind (number or truth)")
    return row.returns_truth


def _verify_control(step: Instruction, kinds: dict[int, bool], sizes: Mapping[str, int], name: str) -> None:
    """A loop or region: its operands, its block, and that they fit each other."""
    number, block = step.extra
    truths = _verify_block(block, kinds, sizes, name)
    carried = len(step.results)
    conditions = [kinds[a] for a in step.args[:1]] if step.op == "when" else truths[:1] if step.op == "while" else []
    numbers = [kinds[a] for a in step.args[step.op == "when" :]] + truths[step.op == "while" :]
    width = len(block.parameters)
    expected: dict[str, Callable[[], tuple[int, int]]] = {
        "for": lambda: (carried, 1 + carried),
        "while": lambda: (carried, carried),
        "when": lambda: (1 + number + carried, number),
        "each": lambda: (number * width, width),
        "scan": lambda: (number * (width - carried) + carried, width),
        "sweep": lambda: (2 + carried, number.width + carried),
    }
    if (len(step.args), width) != expected[step.op]() or carried != result_count(step.op, number, len(truths)):
        raise ValueError(f"program {name!r}: the values of a {step.op!r} do not fit its {carried} results")
    empty = step.op in ("each", "scan") and not (number and step.results)
    below = step.op != "sweep" and number < 0
    if below or any(numbers) or not all(conditions) or empty:
        raise ValueError(f"program {name!r}: a {step.op!r} has a value of the wrong kind (number or truth) or count")
