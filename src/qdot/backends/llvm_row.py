"""One row alone: a second core of rolled code, for numbers instead of vectors of them.

A vector core computes one row in all its lanes. Straight-line code pays nothing for that: what it waits for is itself.
Rolled code is short and waits for memory, of which one row takes as much as a whole vector of rows; by numbers it takes
an eighth. Operations and their order are the same, and so are the results, to the last bit.
"""

from __future__ import annotations

from qdot.backends.llvm_vectors import Vectors
from qdot.compiler.program import Program

TAG = ".row"
"""Marks the names of what belongs to this core."""


def when_alone(program: Program) -> list[str]:
    """From `kernel`'s chunk on: inputs are read where they are, results go from their slots to the arrays."""
    inputs = len(program.inputs)
    ports = inputs + len(program.outputs)
    given = "".join(f"ptr %here{k}, i64 %column{k}, " for k in range(inputs))
    lines = [
        "  %alone = icmp eq i64 %left, 1",
        "  br i1 %alone, label %row, label %port0",
        "row:",
        f"  call void @core{TAG}({given}ptr %results, ptr %scratch, ptr @constants{TAG})",
    ]
    first = 0
    for k, port in enumerate(program.outputs, start=inputs):
        entry = f"ptr getelementptr (i32, ptr @slots, i64 {first})"
        lines.append(f"  call void @spread{TAG}({entry}, ptr %results, ptr %here{k}, i64 %column{k}, i64 {port.size})")
        first += port.size
    return [*lines, f"  br label %out{ports}"]


def spread(v: Vectors) -> str:
    """void spread(entries, results, to, column, size): numbers from their slots."""
    return f"""
define internal void @spread{TAG}(ptr %entries, ptr %results, ptr %to, i64 %column, i64 %size) nounwind noinline {{
entry:
  %none = icmp eq i64 %size, 0
  br i1 %none, label %done, label %number
number:
  %c = phi i64 [ 0, %entry ], [ %c1, %number ]
  %ci = mul i64 %c, %column
  %outside = getelementptr {v.scalar}, ptr %to, i64 %ci
  %entry.c = getelementptr i32, ptr %entries, i64 %c
  %slot = load i32, ptr %entry.c
  %inside = getelementptr {v.scalar}, ptr %results, i32 %slot
  %n = load {v.scalar}, ptr %inside
  store {v.scalar} %n, ptr %outside
  %c1 = add i64 %c, 1
  %more = icmp ult i64 %c1, %size
  br i1 %more, label %number, label %done
done:
  ret void
}}"""
