"""The program `qdot`: finds the command, runs it, and turns errors of qdot into one message.

A command is a module of this package with
    arguments(parser)           what it takes,
    run(arguments, terminal)    what it does; returns the exit code.
Only the module of the command that is asked for is imported.

Exit codes: 0 all is well, 1 it ran and found something wrong, 2 it could not run; 130 and 141 where it was interrupted
or nobody read on, as for any program.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module

import qdot
from qdot.cli.terminal import Terminal
from qdot.errors import QdotError

COMMANDS = {
    "show": "what a model file holds, and what was not taken over from it",
    "convert": "write a model in another format, and tell what that format cannot express",
    "verify": "compute the motion by every formulation, and tell whether and where they disagree",
    "derive": "the equations of motion of a model in symbols, and what each term means",
    "doctor": "load every model file below a folder, and tell which cannot be loaded and why",
}
"""Each by the name of its module."""

FAILED, INTERRUPTED, UNREAD = 2, 130, 141


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line (that of the process if not given); returns the exit code."""
    words = sys.argv[1:] if words is None else list(words)
    arguments = _parser(words).parse_args(words)
    terminal = Terminal()
    try:
        code: int = import_module(f"qdot.cli.{arguments.command}").run(arguments, terminal)
        sys.stdout.flush()  # so that a reader who went away is noticed here
    except QdotError as error:
        terminal.complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        _write_no_more()
        return UNREAD
    except OSError as error:
        if error.filename is not None:  # about another file: a defect of qdot's
            raise
        _write_no_more()
        terminal.complain(f"the output cannot be written: {error.strerror}")
        return FAILED
    return code


def _write_no_more() -> None:
    """Python writes what is left when it ends; that must not fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(words: Sequence[str]) -> ArgumentParser:
    parser = ArgumentParser(prog="qdot", description="Multi-joint dynamics: model files at the command line.")
    parser.add_argument("--version", action="version", version=f"qdot {qdot.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name in words[:1]:
            import_module(f"qdot.cli.{name}").arguments(command)
    return parser
