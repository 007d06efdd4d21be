"""`qdot verify robot.urdf`: whether all formulations of a model's mechanics give one motion, and where they do not."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from math import isinf
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

import qdot
from qdot.certificate import Certificate, Comparison, verify
from qdot.cli.files import add_load_options, load_options
from qdot.cli.tables import NOTHING, Row, table
from qdot.cli.terminal import Terminal
from qdot.errors import ModelError


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the model: .urdf, .xml, .mjcf or .xacro")
    parser.add_argument("--states", metavar="N", type=int, default=5, help="random states to compare at (default: 5)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="of the random states (default: 0)")
    parser.add_argument("--all", action="store_true", help="show every route and every body")
    parser.add_argument("--json", metavar="FILE", help="write the certificate here too, for machines")
    add_load_options(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """0 where all routes agree, 1 where they do not."""
    model = qdot.load(arguments.file, **load_options(arguments))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=terminal.err, transient=True, disable=not terminal.err.is_terminal) as progress:
        task = progress.add_task("")

        def watch(name: str, done: int, total: int) -> None:
            progress.update(task, description=name, completed=done, total=total)

        certificate = verify(model, states=arguments.states, seed=arguments.seed, watch=watch)
    terminal.show(routes_table(certificate) if arguments.all else quantities_table(certificate))
    if certificate.bodies and (arguments.all or not certificate.agreed):
        terminal.show(bodies_table(certificate, arguments.all))
    terminal.out.print(Text(str(certificate), "bold green" if certificate.agreed else "bold red"))
    if arguments.json:
        _write_json(Path(arguments.json), certificate)
    return 0 if certificate.agreed else 1


def quantities_table(certificate: Certificate) -> Table:
    """A line for each quantity: how many routes there are, and the largest disagreement among them."""
    groups: dict[str, list[Comparison]] = {}
    for comparison in certificate.comparisons:
        groups.setdefault(comparison.quantity, []).append(comparison)
    rows = []
    for quantity, group in groups.items():
        worst = max(group, key=lambda c: c.disagreement)
        part = group[0].part
        what = f"laws of each {part}" if part else quantity
        count = len(group) if part else len({route for c in group for route in (c.route, c.reference)})
        rows.append((_mark(c.agrees for c in group), what, str(count), *_worst(worst)))
    return table("Compared", ("", "quantity", "routes", "disagreement", "on"), rows, right=["routes", "disagreement"])


def routes_table(certificate: Certificate) -> Table:
    """A line for each comparison."""
    rows = [(_mark([c.agrees]), c.quantity, c.route, c.reference, *_worst(c)) for c in certificate.comparisons]
    columns = ("", "quantity", "route", "against", "disagreement", "on")
    return table("Compared", columns, rows, right=["disagreement"])


def bodies_table(certificate: Certificate, every: bool) -> Table:
    """The largest disagreement on each body; only where there is too large a one, unless all are asked for."""
    rows: list[Row] = []
    off = {name for failure in certificate.failures for name in failure.off}
    for name, x in certificate.by_body.items():
        agrees = name not in off
        if every or not agrees:
            first = Text("look here first", "bold red") if name in certificate.suspects else NOTHING
            rows.append((_mark([agrees]), name, certificate.joints[name], _number(x), first))
    return table("By body", ("", "body", "joint", "disagreement", "hint"), rows, right=["disagreement"])


def _mark(agreed: Iterable[bool]) -> Text:
    return Text("✓", "green") if all(agreed) else Text("✗", "bold red")


def _worst(c: Comparison) -> tuple[str, str]:
    return _number(c.disagreement), c.body or NOTHING if c.disagreement else NOTHING


def _number(x: float) -> str:
    return "no answer" if isinf(x) else f"{x:.1e}" if x else "0"


def _write_json(path: Path, certificate: Certificate) -> None:
    try:
        path.write_text(json.dumps(certificate.as_dict(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror}") from None
