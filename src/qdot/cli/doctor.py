"""`qdot doctor FOLDER`: load every model file below a folder, and tell which cannot be loaded and why."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from math import inf
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from qdot.cli.examination import LOADED, OUTCOMES, Examiner, Finding
from qdot.cli.files import add_load_options, add_masses_option, format_of, load_options
from qdot.cli.tables import NOTHING, STYLES, Row, table
from qdot.cli.terminal import Terminal
from qdot.description import Severity
from qdot.errors import ModelError

ENDINGS = (".urdf", ".xml", ".mjcf", ".xacro")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="where to look, with all folders below")
    parser.add_argument("--json", metavar="FILE", help="write the findings here too, for machines")
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, default=60.0, help="for one file (default: 60)")
    add_masses_option(parser)
    add_load_options(parser)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < inf:
        raise ArgumentTypeError(f"{text!r} is no time to wait; give seconds, more than zero")
    return seconds


def run(arguments: Namespace, terminal: Terminal) -> int:
    """0 where all models load, 1 where one does not."""
    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise ModelError(f"{arguments.folder}: there is no such folder")
    files, left_out = _model_files(folder)
    findings = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, console=terminal.err, transient=True, disable=not terminal.err.is_terminal) as progress,
        Examiner(load_options(arguments), arguments.timeout) as examiner,
    ):
        task = progress.add_task("", total=len(files))
        for file in files:
            progress.update(task, description=str(file.relative_to(folder)))
            findings.append(examiner.examine(file))
            progress.advance(task)
    if findings:
        terminal.show(_files_table(findings, folder))
    refused = [finding for finding in findings if finding.outcome != LOADED]
    if refused:
        terminal.show(Text("Why not", "bold"), *(_reason(finding, folder) for finding in refused))
    terminal.out.print(_summary(findings, left_out))
    if arguments.json:
        _write_json(Path(arguments.json), folder, findings, left_out)
    return 1 if refused else 0


def _model_files(folder: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """The files to load, and those that look like models but are not loaded, with the reason."""
    files, left_out = [], []
    for path in _below(folder):
        if path.suffix.lower() not in ENDINGS:
            continue
        kind = format_of(path)
        if kind == "part of MJCF":
            left_out.append((path, "a part that other files include"))
        elif kind == "xacro" and find_spec("xacrodoc") is None:
            left_out.append((path, "xacro files are read by xacrodoc: pip install 'qdot[xacro]'"))
        elif kind is not None or path.suffix.lower() != ".xml":  # other .xml files may be anything
            files.append(path)
    return files, left_out


def _below(folder: Path) -> Iterator[Path]:
    """All files below a folder, in order of their names; links to folders are not followed, they may run in circles."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        yield from (path for name in sorted(names) if (path := Path(here) / name).is_file())  # no pipes: they may wait


# ── what was found ───────────────────────────────────────────────────────────────────────────────


def _files_table(findings: list[Finding], folder: Path) -> Table:
    """A line for each file; how many things its report has to say, by severity."""
    counts = [severity.name.lower() for severity in Severity]
    columns = ("outcome", "file", "format", "bodies", "nv", *counts)
    rows = (_row(finding, folder) for finding in findings)
    return table("Model files", columns, rows, right=["bodies", "nv", *counts])


def _row(finding: Finding, folder: Path) -> Row:
    file = str(Path(finding.file).relative_to(folder))
    if finding.outcome != LOADED:
        return Text(finding.outcome, "bold red"), file, finding.format, *[NOTHING] * (2 + len(Severity))
    found = Counter(item["severity"] for item in finding.report)
    counts = (Text(str(found[s.name]), STYLES[s]) if found[s.name] else NOTHING for s in Severity)
    return Text(LOADED, "green"), file, finding.format, str(finding.bodies), str(finding.nv), *counts


def _reason(finding: Finding, folder: Path) -> Text:
    """ "robots/arm.urdf:12: …": the message of an error has the file in front, with its whole path."""
    file = str(Path(finding.file).relative_to(folder))
    if finding.reason.startswith(finding.file):
        return Text.assemble((file, "bold"), finding.reason.removeprefix(finding.file))
    return Text.assemble((file, "bold"), f": {finding.reason}")


def _summary(findings: list[Finding], left_out: list[tuple[Path, str]]) -> Text:
    """ "77 model files: 74 loaded, 3 refused; 2 left out"."""
    outcomes = Counter(finding.outcome for finding in findings)
    told = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in OUTCOMES if outcomes[outcome])
    text = f"{len(findings)} model files{': ' if told else ''}{told}"
    for reason, count in Counter(reason for _, reason in left_out).items():
        text += f"\n{count} left out: {reason}"
    return Text(text, "bold")


def _write_json(path: Path, folder: Path, findings: list[Finding], left_out: list[tuple[Path, str]]) -> None:
    content = {
        "folder": str(folder),
        "summary": Counter(finding.outcome for finding in findings),
        "files": [asdict(finding) for finding in findings],
        "left_out": [{"file": str(file), "reason": reason} for file, reason in left_out],
    }
    try:
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror}") from None
