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


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="A", help="the file to read: .urdf, .xml, .mjcf or .xacro")
    parser.add_argument("target", metavar="B", help="the file to write: .urdf, or .xml and .mjcf")
    parser.add_argument("--force", action="store_true", help="overwrite B, and mesh files beside it")
    add_load_options(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """0 where B moves as A does; 1 where it does not, unless `--lenient` says that this is fine."""
    if Path(arguments.target).exists() and not arguments.force:
        raise ModelError(f"{arguments.target} is there already; give another name, or --force to overwrite it")
    model = qdot.load(arguments.source, **load_options(arguments))
    lost = qdot.save(model, arguments.target, overwrite=arguments.force)
    if len(lost):
        terminal.show(report_table(lost, f"What {Path(arguments.target).name} cannot express"))
    changed = lost.of(Severity.PHYSICS) + model.report.of(Severity.PHYSICS)
    terminal.out.print(f"{arguments.target}: {len(model.bodies)} bodies, nv = {model.nv}")
    if not changed:
        return 0
    terminal.complain(f"{arguments.target} does not move as {arguments.source} says: {changed[0].subject}")
    return 0 if arguments.lenient else 1
