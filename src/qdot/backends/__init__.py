"""Targets that programs become: LLVM machine code for the CPU at hand, C. Each is judged against the interpreter."""
