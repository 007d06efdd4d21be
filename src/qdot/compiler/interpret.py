"""The interpreter: a program run on NumPy lanes, operation by operation. It is the definition of what programs mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qdot.compiler.ops import OPS
from qdot.compiler.program import Block, Instruction, Program


def interpret(program: Program, inputs: Mapping[str, Any], dtype: Any = np.float64) -> dict[str, Any]:
    """Outputs (batch, …) of a program for inputs (batch, …), all with the same batch."""
    batch = len(next(iter(inputs.values()))) if inputs else 1
    lanes = {p.name: np.asarray(inputs[p.name], dtype=dtype).reshape(batch, p.size) for p in program.inputs}
    with np.errstate(all="ignore"):
        results = _run(program.body, {}, lanes, np.dtype(dtype))
    outputs, k = {}, 0
    for port in program.outputs:
        columns = [np.broadcast_to(x, (batch,)) for x in results[k : k + port.size]]
        rows = np.stack(columns, axis=-1) if columns else np.empty((batch, 0))
        outputs[port.name] = rows.astype(dtype).reshape(batch, *port.shape)
        k += port.size
    return outputs


def _run(block: Block, outer: dict[int, Any], inputs: Mapping[str, Any], dtype: np.dtype[Any]) -> list[Any]:
    values = outer  # value numbers are unique in a program, so inner blocks may write beside outer ones
    for step in block.code:
        if step.op == "constant":
            values[step.results[0]] = dtype.type(step.extra)
        elif step.op == "truth":
            values[step.results[0]] = np.bool_(step.extra)
        elif step.op == "input":
            name, place = step.extra
            values[step.results[0]] = inputs[name][:, place]
        elif step.op == "entry":
            values[step.results[0]] = _looked_up(step, values[step.args[0]], dtype)
        elif step.op in OPS:
            values[step.results[0]] = OPS[step.op].meaning(*(values[a] for a in step.args))
        elif step.op != "item":
            done = _CONTROL[step.op](step, values, inputs, dtype)
            values.update(zip(step.results, done, strict=True))
    return [values[r] for r in block.results]


def _looked_up(step: Instruction, index: Any, dtype: np.dtype[Any]) -> Any:
    table, column = step.extra
    entries = np.array([row[column] for row in table.rows], dtype)
    return entries[np.fmin(np.fmax(index, 0), len(entries) - 1).astype(int)]


def _for(step: Instruction, values: dict[int, Any], inputs: Mapping[str, Any], dtype: np.dtype[Any]) -> list[Any]:
    count, block = step.extra
    carried = [values[a] for a in step.args]
    for i in range(count):
        values.update(zip(block.parameters, [dtype.type(i), *carried], strict=True))
        carried = _run(block, values, inputs, dtype)
    return carried


def _while(step: Instruction, values: dict[int, Any], inputs: Mapping[str, Any], dtype: np.dtype[Any]) -> list[Any]:
    limit, block = step.extra
    carried = [values[a] for a in step.args]
    active: Any = np.True_
    for _ in range(limit):
        values.update(zip(block.parameters, carried, strict=True))
        condition, *stepped = _run(block, values, inputs, dtype)
        active = np.logical_and(active, condition)
        if not np.any(active):
            break
        carried = [np.where(active, new, old) for new, old in zip(stepped, carried, strict=True)]
    return carried


def _when(step: Instruction, values: dict[int, Any], inputs: Mapping[str, Any], dtype: np.dtype[Any]) -> list[Any]:
    given, block = step.extra
    condition, *rest = (values[a] for a in step.args)
    otherwise = rest[given:]
    if not np.any(condition):
        return list(otherwise)
    values.update(zip(block.parameters, rest[:given], strict=True))
    return [np.where(condition, x, y) for x, y in zip(_run(block, values, inputs, dtype), otherwise, strict=True)]


def _each(step: Instruction, values: dict[int, Any], inputs: Mapping[str, Any], dtype: np.dtype[Any]) -> list[Any]:
    count, block = step.extra
    width = len(block.parameters)
    results = []
    for i in range(count):
        row = step.args[i * width : (i + 1) * width]
        values.update(zip(block.parameters, [values[a] for a in row], strict=True))
        results += _run(block, values, inputs, dtype)
    return results


def _scan(step: Instruction, values: dict[int, Any], inputs: Mapping[str, Any], dtype: np.dtype[Any]) -> list[Any]:
    count, block = step.extra
    width = len(block.parameters) - len(step.results)
    carried = [values[a] for a in step.args[count * width :]]
    for i in range(count):
        row = [values[a] for a in step.args[i * width : (i + 1) * width]]
        values.update(zip(block.parameters, [*row, *carried], strict=True))
        carried = _run(block, values, inputs, dtype)
    return carried


def _sweep(step: Instruction, values: dict[int, Any], inputs: Mapping[str, Any], dtype: np.dtype[Any]) -> list[Any]:
    table, block = step.extra
    first, count = (np.ravel(values[a])[0] for a in step.args[:2])
    carried = [values[a] for a in step.args[2:]]
    for row in table.part(first, count):
        values.update(zip(block.parameters, [*map(dtype.type, row), *carried], strict=True))
        carried = _run(block, values, inputs, dtype)
    return carried


_CONTROL = {"for": _for, "while": _while, "when": _when, "each": _each, "scan": _scan, "sweep": _sweep}
