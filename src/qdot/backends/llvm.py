"""LLVM through llvmlite: programs become machine code for the processor at hand, with no compiler installed."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np

from qdot.backends.llvm_math import Vectors
from qdot.backends.llvm_text import assembly
from qdot.backends.llvm_tile import Tile
from qdot.compiler.program import Program

VERSION = 47
"""Of the code this backend writes: part of the key of cached objects."""


@dataclass(frozen=True)
class Host:
    """The processor: what code for it may use, and how wide its vectors are."""

    triple: str
    cpu: str
    features: str
    vector_bytes: int

    def vectors(self, dtype: str) -> Vectors:
        return Vectors(dtype, self.vector_bytes // {"float64": 8, "float32": 4}[dtype])


@cache
def host() -> Host:
    binding = _binding()
    features = binding.get_host_cpu_features()
    widths = (("avx512f", 64), ("avx2", 32), ("avx", 32), ("sse2", 16), ("neon", 16))
    vector_bytes = next((size for name, size in widths if features.get(name)), 16)
    flat = features.flatten()
    return Host(binding.get_default_triple(), binding.get_host_cpu_name(), flat, vector_bytes)


def compiled_object(program: Program, vectors: Vectors) -> bytes:
    """The object file of a program's kernel."""
    tile = Tile.of(program)
    return object_of(assembly(program, vectors, tile), in_parts=len(tile.parts.code) > 1 and not tile.parts.in_groups)


def object_of(text: str, *, in_parts: bool = False) -> bytes:
    """The object file of a module in LLVM assembly."""
    module = _binding().parse_assembly(text)
    module.verify()
    with _in_the_order_written(in_parts):
        return bytes(_machine().emit_object(module))


@contextmanager
def _in_the_order_written(in_parts: bool) -> Iterator[None]:
    """LLVM's schedulers left out: they look for parallelism that vectors over the batch have anyway, and pay for it in
    registers: a tenth of the time of large programs, and a third of the time to compile them. So is the one that puts
    operations in line for the first time: it holds back what is added to many sums until all of it is computed. Of
    programs in parts, which often go through memory, so is the last one, after registers are given out: two thirds of
    the time to compile them.

    The options are those of the process, so others (Numba, say) find them as they were before. A version of LLVM that
    does not know them would end the process, hence the limits.
    """
    binding = _binding()
    if not 15 <= binding.llvm_version_info[0] <= 22:
        yield
        return
    wanted = {"enable-misched": ("false", "true"), "pre-RA-sched": ("source", "default")}
    if in_parts:
        wanted["disable-post-ra"] = ("true", "false")
    with _one_at_a_time:
        for option, (ours, _) in wanted.items():
            binding.set_option("qdot", f"-{option}={ours}")
        try:
            yield
        finally:
            for option, (_, theirs) in wanted.items():
                binding.set_option("qdot", f"-{option}={theirs}")


_one_at_a_time = threading.Lock()


def _after_fork() -> None:
    """A child has none of its parent's threads, so nobody would free the lock that one of them held."""
    global _one_at_a_time
    _one_at_a_time = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def digest(parts: tuple[object, ...]) -> str:
    """A short key for everything that machine code depends on."""
    return blake2b(repr(parts).encode(), digest_size=12).hexdigest()


class Kernel:
    """Loaded machine code of a function "kernel", at an address; `symbols` are addresses of functions that it calls.
    `ordered` is the address of a second one, which takes an order of rows as well, or 0.

    `call(ports, tiles, begin, end)` runs rows begin to end; Python's lock is not held.
    """

    def __init__(self, code: bytes, symbols: Mapping[str, int] = MappingProxyType({})) -> None:
        binding = _binding()
        for name, address in symbols.items():
            binding.add_symbol(name, address)
        backing = binding.parse_assembly("")
        # Code of the small model reaches its constants by short ways: all sections must lie in one block.
        engine = binding.create_mcjit_compiler(backing, _machine_for_engine())
        engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self.address: int = engine.get_function_address("kernel")
        self.ordered: int = engine.get_function_address("ordered")
        # The engine frees the code in its finalizer. Finalizers of objects in a circle run in any order, and another's
        # may still call the code; the garbage collector does not look into an array of objects, so the engine goes
        # when this kernel is taken apart, after all of them.
        self._engine = np.array([engine], dtype=object)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self.call = kind(self.address)


@cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def _machine_for_engine() -> Any:
    binding = _binding()
    h = host()
    target = binding.Target.from_triple(h.triple)
    return target.create_target_machine(
        cpu=h.cpu, features=h.features, opt=2, reloc="pic", codemodel="jitdefault", jit=True
    )


@cache
def _machine() -> Any:
    return _machine_for_engine()
