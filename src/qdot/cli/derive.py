"""`qdot derive robot.urdf`: the equations of motion of a model, with what each term means."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

import qdot
from qdot.cli.files import add_load_options, load_options
from qdot.cli.terminal import Terminal
from qdot.derivation.constants import KINDS
from qdot.derivation.derivation import derive
from qdot.errors import ModelError

ENDINGS = {".txt": "text", ".tex": "latex", ".md": "markdown", ".html": "html", ".py": "numpy", ".c": "c"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the model: .urdf, .xml, .mjcf or .xacro")
    parser.add_argument(
        "--symbols",
        metavar="NAMES",
        default="",
        help=f"constants to keep as symbols, with commas: {', '.join(KINDS)}, or single ones as link1.mass",
    )
    parser.add_argument("--wrench", metavar="FRAME", action="append", default=[], help="an external force acts here")
    parser.add_argument("--format", choices=ENDINGS.values(), help="by the ending of OUT, else text")
    parser.add_argument(
        "--form", choices=("auto", "closed", "recursive"), default="auto", help="auto is closed where one can read it"
    )
    parser.add_argument("-o", "--out", metavar="OUT", help=f"the file to write: {', '.join(ENDINGS)}")
    parser.add_argument("--force", action="store_true", help="overwrite OUT")
    add_load_options(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    out = Path(arguments.out) if arguments.out else None
    if out is not None and out.exists() and not arguments.force:
        raise ModelError(f"{out} is there already; give another name, or --force to overwrite it")
    if out is not None and arguments.format is None and out.suffix.lower() not in ENDINGS:
        raise ModelError(f"{out}: this ending is unknown; use one of {', '.join(ENDINGS)}, or say which --format it is")
    model = qdot.load(arguments.file, **load_options(arguments))
    chosen = [name.strip() for name in arguments.symbols.split(",") if name.strip()]
    derivation = derive(model, symbols=chosen, wrenches=arguments.wrench)
    kind = arguments.format or ENDINGS.get(out.suffix.lower() if out else "", "text")
    text = getattr(derivation, kind)(form=arguments.form)
    if out is None:
        terminal.out.print(text, end="", soft_wrap=True)
        return 0
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise ModelError(f"{out} cannot be written: {error.strerror}") from None
    worst = max(check.error for check in derivation.checks.values())
    told = f"{out}: {len(derivation.checks)} quantities, within {worst:.0e} of the engine's"
    terminal.out.print(told, soft_wrap=True)
    return 0
