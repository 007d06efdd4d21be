"""What a request is built into: machine code and how to call it, compiled now or found in the cache.

Machine code of qdot's own texts is kept under the text, the model and the options, so the next start neither traces
nor compiles. The key holds a fingerprint of qdot's sources: after a change of any of them everything is built anew.
Functions of users may be closures over anything, so they are traced each time, and their code is kept under the
program that comes out.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qdot.algebra.rounding import rounded_as
from qdot.backends.cache import cached
from qdot.compiler.nodes import TooLarge
from qdot.compiler.program import Port, Program, steps
from qdot.description import Description, Report
from qdot.programs.traced import Form, Request, traced

if TYPE_CHECKING:
    from qdot.backends.runtime import Interface, Loaded

SLOW = 1.0
"""Seconds of compiling for which a note is due."""

SECONDS_PER_INSTRUCTION = 1e-4
PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Built:
    """A program as it is called; `program` and `code` where they are at hand."""

    interface: Interface
    form: Form
    entries: dict[str, tuple[list[int], tuple[int, ...]]] | None
    """Of packed outputs: where each entry is, and the full shape."""
    program: Program | None = None
    code: bytes | None = None

    @staticmethod
    def of(request: Request, dtype: str, packed: bool) -> Built:
        from qdot.backends.runtime import Interface

        with rounded_as(dtype):
            full, form = traced(request)
        if not packed:
            return Built(Interface.of(full), form, None, full)
        program, places = full.packed()
        entries = {p.name: (places[p.name], p.shape) for p in full.outputs}
        return Built(Interface.of(program), form, entries, program)


def traced_program(request: Request, dtype: str, packed: bool) -> Program:
    found = Built.of(request, dtype, packed).program
    assert found is not None
    return found


def compiled_or_kept(request: Request, dtype: str, packed: bool) -> Built:
    """With machine code for this processor; raises `TooLarge` where the request does."""
    name = re.sub(r"\W+", "_", request.name)
    known = _identity(request)
    if known is None:
        built = Built.of(request, dtype, packed)
        assert built.program is not None
        key = f"{name}-{_digest(built.program.hash, dtype)}"
        return replace(built, code=cached(key, lambda: _code(built, dtype)))
    content = cached(f"{name}-{_digest(known, dtype, str(packed))}", lambda: _kept(request, dtype, packed))
    return _read(content)


def loaded(built: Built, dtype: str) -> Loaded:
    """The machine code, ready to be called."""
    from qdot.backends import llvm, runtime

    assert built.code is not None
    return runtime.Loaded(built.interface, llvm.Kernel(built.code), dtype, llvm.host().vectors(dtype).width)


def _code(built: Built, dtype: str) -> bytes:
    from qdot.backends import llvm

    assert built.program is not None
    rolled = sum(stretch.period for stretch in built.program.stretches)  # what repeats is compiled once
    written = sum(1 for _ in steps(built.program.body)) - len(built.program.body.code) + rolled
    expected = written * SECONDS_PER_INSTRUCTION
    if expected > SLOW:
        print(f"qdot: compiling {built.interface.name}, some {expected:.0f} s …", end="", file=sys.stderr, flush=True)
    start = time.perf_counter()
    code = llvm.compiled_object(built.program, llvm.host().vectors(dtype))
    if expected > SLOW:
        print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return code


# -- what is kept ------------------------------------------------------------------------------------------------------


def _identity(request: Request) -> str | None:
    """All that a program of qdot's own texts depends on; None where that cannot be told."""
    text = request.text
    module = getattr(text, "__module__", None) or ""
    own = module.startswith("qdot.") and getattr(sys.modules.get(module), request.name, None) is text
    if not own or not all(_is_plain(x) for x in request.options.values()):
        return None
    content = io.BytesIO()
    try:
        _Content(content, protocol=5).dump(_mechanics(request.model.description))
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    options = sorted((name, repr(x)) for name, x in request.options.items())
    given = (request.parameters, request.wrenches, options, request.check is not None, request.limit, request.inputs)
    return repr((fingerprint(), module, request.name, blake2b(content.getbuffer()).hexdigest(), given))


def _mechanics(description: Description) -> Description:
    """What texts see of a description: no shapes, sensors or findings of a loader, whatever their size."""
    return replace(
        description,
        bodies=tuple(replace(body, shapes=()) for body in description.bodies),
        frames=tuple(replace(frame, region=None) for frame in description.frames),
        world_shapes=(), pairs=(), exclusions=(), sensors=(), keyframes=(), report=Report(),
    )  # fmt: skip


class _Content(pickle.Pickler):
    """Of a model: what it is made of, if all that is qdot's or NumPy's. A joint of a user's is code that may change."""

    def reducer_override(self, value: Any) -> Any:
        kind = value if isinstance(value, type) else type(value)
        if kind.__module__.partition(".")[0] not in ("builtins", "numpy", "qdot"):
            raise pickle.PicklingError(f"{kind.__qualname__} is none of qdot's")
        return NotImplemented


def _is_plain(x: Any) -> bool:
    return (
        x is None
        or isinstance(x, (bool, int, float, str, Enum))
        or (isinstance(x, tuple) and all(map(_is_plain, x)))
        or (_is_own_record(x) and all(_is_plain(getattr(x, field.name)) for field in fields(x)))
    )


def _is_own_record(x: Any) -> bool:
    """Whether it is a dataclass of qdot's, whose `repr` tells all that it holds."""
    return is_dataclass(x) and not isinstance(x, type) and type(x).__module__.startswith("qdot.")


@cache
def fingerprint() -> str:
    """Of qdot's sources: their names, sizes and times, by which Python knows its own bytecode. To read them all would
    take longer than to load a program; and files of a package may all have one time, so the version is in it."""
    import qdot

    found = blake2b(qdot.__version__.encode(), digest_size=16)
    for folder, _, names in sorted(os.walk(PACKAGE)):
        for name in sorted(names):
            if name.endswith(".py"):
                told = os.stat(os.path.join(folder, name))
                found.update(f"{folder}/{name} {told.st_size} {told.st_mtime_ns}\n".encode())
    return found.hexdigest()


def _digest(*parts: str) -> str:
    """With all that machine code depends on."""
    import llvmlite

    from qdot.backends import llvm

    host = llvm.host()
    return llvm.digest((*parts, host.triple, host.cpu, host.features, llvm.VERSION, llvmlite.__version__))


def _kept(request: Request, dtype: str, packed: bool) -> bytes:
    """A line of JSON, and the machine code; only the line where the program is too large to be made."""
    try:
        built = Built.of(request, dtype, packed)
    except TooLarge as reason:
        return json.dumps({"too large": str(reason)}).encode() + b"\n"
    interface = built.interface
    head = {
        "name": interface.name,
        "inputs": [[p.name, p.shape] for p in interface.inputs],
        "outputs": [[p.name, p.shape] for p in interface.outputs],
        "operations": interface.operations,
        "room": interface.room,
        "form": [built.form.kind, built.form.keys],
        "entries": built.entries,
    }
    return json.dumps(head).encode() + b"\n" + _code(built, dtype)


def _read(content: bytes) -> Built:
    from qdot.backends.runtime import Interface

    line, _, code = content.partition(b"\n")
    head: Mapping[str, Any] = json.loads(line)
    if "too large" in head:
        raise TooLarge(head["too large"])
    inputs, outputs = (tuple(Port(n, tuple(shape)) for n, shape in head[side]) for side in ("inputs", "outputs"))
    interface = Interface(head["name"], inputs, outputs, head["operations"], head["room"])
    kind, keys = head["form"]
    entries = head["entries"]
    if entries is not None:
        entries = {name: (places, tuple(shape)) for name, (places, shape) in entries.items()}
    return Built(interface, Form(kind, tuple(keys)), entries, None, code)
