"""`qdot convert robot.urdf robot.xml`: a model in another format."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

import qdot
from qdot.cli.files import add_load_options, load_options
from qdot.cli.tables import report_table
from qdot.cli.terminal import Terminal
from qdot.description import Severity
from qdot.errors import ModelError
from qdot.formats.save import in_format, put


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="A", help="the file to read: .urdf, .xml, .mjcf or .xacro")
    parser.add_argument("target", metavar="B", help="the file to write: .urdf, or .xml and .mjcf")
    parser.add_argument("--force", action="store_true", help="overwrite B, and mesh files beside it")
    add_load_options(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """0 where B is written; 1 where it would not move as A does, and `--lenient` does not say that this is fine."""
    if Path(arguments.target).exists() and not arguments.force:
        raise ModelError(f"{arguments.target} is there already; give another name, or --force to overwrite it")
    model = qdot.load(arguments.source, **load_options(arguments))
    written = in_format(model, arguments.target)
    if len(written.report):
        terminal.show(report_table(written.report, f"What {Path(arguments.target).name} cannot express"))
    changed = written.report.of(Severity.PHYSICS) + model.report.of(Severity.PHYSICS)
    if changed and not arguments.lenient:
        terminal.complain(
            f"{arguments.target} is not written: it would not move as {arguments.source} says ({changed[0].subject}: "
            f"{changed[0].found}); --lenient writes it all the same"
        )
        return 1
    put(written, arguments.target, overwrite=arguments.force)
    terminal.out.print(f"{arguments.target}: {len(model.bodies)} bodies, nv = {model.nv}")
    if changed:
        terminal.complain(f"{arguments.target} does not move as {arguments.source} says: {changed[0].subject}")
    return 0
