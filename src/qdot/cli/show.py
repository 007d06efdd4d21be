"""`qdot show robot.urdf`: what a model file holds, and what was not taken over from it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

import qdot
from qdot.algebra import Scalar, Vec3, is_number
from qdot.algorithms.conditioning import motions_without_inertia
from qdot.cli.files import add_load_options, add_masses_option, format_of, load_options
from qdot.cli.tables import (
    actuators_table,
    constraints_table,
    keyframes_table,
    limits_table,
    number,
    passive_table,
    report_table,
    row_of,
    sensors_table,
    tendons_table,
)
from qdot.cli.terminal import Terminal
from qdot.joints import Compound, Joint
from qdot.joints.base import AXES
from qdot.model.model import Body, Model

DEEPEST = 12
"""Bodies below each other in one tree; a longer chain goes on in a tree of its own, or it would leave the page."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the model: .urdf, .xml, .mjcf or .xacro")
    add_masses_option(parser)
    add_load_options(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    path = Path(arguments.file)
    model = qdot.load(path, **load_options(arguments))
    terminal.show(*pages(model, f"{path.name} ({format_of(path)})"))
    report = model.report
    terminal.show(report_table(report, "Report") if len(report) else "Report: everything was taken over as it stands")
    return 0


def pages(model: Model, source: str) -> Iterator[RenderableType]:
    """Everything there is to see of a model, one thing after the other; tables only of what it has."""
    yield summary(model, source)
    yield from trees(model)
    described = model.description
    for table in (
        limits_table(model),
        passive_table(model),
        actuators_table(described.actuators),
        tendons_table(described.tendons),
        constraints_table([*described.loops, *described.constraints]),
        sensors_table(described.sensors),
        keyframes_table(described.keyframes),
    ):
        if table.row_count:
            yield table


# ── counts ───────────────────────────────────────────────────────────────────────────────────────


def summary(model: Model, source: str) -> Table:
    """Counts and sums."""
    described = model.description
    shapes = [shape for body in described.bodies for shape in body.shapes] + list(described.world_shapes)
    without = motions_without_inertia(model)
    mass = sum(body.inertia.mass for body in model.bodies)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    rows: list[tuple[str, str | Text]] = [
        ("model", Text(model.name, "bold")),
        ("from", source),
        ("bodies", f"{len(model.bodies)}, on {sum(body.joint.nv > 0 for body in model.bodies)} joints that move"),
        ("freedoms", f"nv = {model.nv}, nq = {model.nq}"),
        ("mass", f"{number(mass)} kg"),
        ("singular", f"{', '.join(without)}: moving these moves no mass" if without else ""),
        ("gravity", f"{row_of(model.gravity)} m/s²"),
        ("shapes", _shapes(len(shapes), sum(s.visual for s in shapes), sum(s.collision for s in shapes))),
        *((kind, str(len(getattr(described, kind)) or "")) for kind in COUNTED),
    ]
    for what, value in rows:
        if value:
            grid.add_row(what, value)
    return grid


COUNTED = (
    "frames", "actuators", "tendons", "bushings", "loops", "constraints", "pairs", "exclusions", "sensors", "keyframes"
)  # fmt: skip


def _shapes(count: int, seen: int, collide: int) -> str:
    return f"{count}: {seen} to be seen, {collide} to collide" if count else ""


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────


def trees(model: Model) -> Iterator[Tree]:
    """The bodies on each other, from the world."""
    nodes = {0: Tree(Text("world", "bold"), guide_style="dim")}
    depths = {0: 0}
    found = [nodes[0]]
    for body in model.bodies:
        depths[body.index] = depths[body.parent] + 1
        if depths[body.index] > DEEPEST:
            start = Tree(Text.assemble("on ", (model.bodies[body.parent - 1].name, "bold")), guide_style="dim")
            found.append(start)
            nodes[body.index], depths[body.index] = start.add(_label(body)), 1
        else:
            nodes[body.index] = nodes[body.parent].add(_label(body))
    yield from found


def _label(body: Body) -> Text:
    """ "thigh  hip: revolute y  1.2 kg"."""
    name = f"{body.joint_name}: " if body.joint.nv and body.joint_name != body.name else ""
    label = Text.assemble((body.name, "bold"), "  ", (f"{name}{kind(body.joint)}", "green" if body.joint.nv else "dim"))
    if body.inertia.mass != 0:
        label.append(f"  {number(body.inertia.mass)} kg")
    return label


def kind(joint: Joint) -> str:
    """A joint in words: its kind, its axes and its other numbers."""
    if isinstance(joint, Compound):
        return " + ".join(kind(part) for part in joint.parts if part.nv)
    words = [type(joint).__name__.lower()]
    for field in fields(joint):  # type: ignore[arg-type]  # every joint is a dataclass
        value = getattr(joint, field.name)
        if isinstance(value, Vec3):
            words.append(_axis(value))
        elif field.name == "pitch":
            words.append(f"{number(value)} m/rad")
    return " ".join(words)


def _axis(axis: Vec3) -> str:
    """ "-z" for a coordinate axis, (0.6, 0, 0.8) for another."""
    return next((name for name, unit in AXES.items() if _near(axis, unit)), row_of(axis))


def _near(a: Vec3, b: Vec3) -> bool:
    def small(x: Scalar) -> bool:
        return is_number(x) and abs(x) < 1e-9

    return all(small(x) for x in a - b)
