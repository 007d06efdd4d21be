"""Tables of what a model has, in words and numbers with their units. Columns that would be empty are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isinf
from pathlib import Path
from typing import TypeAlias

from rich import box
from rich.table import Table
from rich.text import Text

from qdot.algebra import Scalar, is_number
from qdot.cli.wording import spoken
from qdot.description import (
    ActuatorRecord,
    Affine,
    ConnectRecord,
    CouplingRecord,
    DistanceRecord,
    KeyframeRecord,
    LoopRecord,
    OnContacts,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
    Pulley,
    Report,
    SensorRecord,
    Severity,
    TendonRecord,
    Via,
    Weighted,
    WeldRecord,
)
from qdot.description.actuators import Transmission
from qdot.description.constraints import ConstraintRecord
from qdot.description.tendons import PathElement
from qdot.joints import Joint
from qdot.model.model import Model

NOTHING = "–"
STYLES = {Severity.NOTE: "cyan", Severity.IGNORED: "dim", Severity.KEPT: "yellow", Severity.PHYSICS: "bold red"}
PASSIVE = {
    "armature": ("kg·m²", "kg"),
    "damping": ("N·m·s", "N·s/m"),
    "friction": ("N·m", "N"),
    "stiffness": ("N·m", "N/m"),
}
"""Units of what turns and of what slides."""

Row: TypeAlias = Sequence[str | Text]


def table(title: str, columns: Sequence[str], rows: Iterable[Row], *, right: Iterable[str] = ()) -> Table:
    """A table of the columns that have anything in them; those named in `right` hold numbers."""
    listed = [list(row) for row in rows]
    kept = [k for k in range(len(columns)) if any(str(row[k]) != NOTHING for row in listed)]
    result = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_edge=False)
    result.padding = (0, 1, 0, 0)
    for k in kept:
        result.add_column(columns[k], justify="right" if columns[k] in right else "left", overflow="fold")
    for row in listed:
        result.add_row(*(row[k] for k in kept))
    return result


def number(x: Scalar) -> str:
    """Four digits; symbols as they are."""
    return f"{float(x):.4g}" if is_number(x) else str(x)


def row_of(values: Iterable[Scalar]) -> str:
    """(1, 2, 3)."""
    return f"({', '.join(number(x) for x in values)})"


def sum_of(*terms: tuple[Scalar, str]) -> str:
    """Factors and names as a sum: x - 2 y + 3, zeros left out."""
    texts = [_term(factor, name) for factor, name in terms if factor != 0]
    return " + ".join(texts).replace("+ -", "- ") or "0"


def _term(factor: Scalar, name: str) -> str:
    if name and is_number(factor) and abs(factor) == 1:
        return name if factor == 1 else f"-{name}"
    return f"{number(factor)} {name}".strip()


def with_unit(x: Scalar, unit: str) -> str:
    """0.2 N·m; nothing where there is no such thing or no such bound."""
    return NOTHING if is_number(x) and (x == 0 or isinf(x)) else f"{number(x)} {unit}"


def _range(bounds: tuple[float, float] | None) -> str:
    return NOTHING if bounds is None else f"{number(bounds[0])} … {number(bounds[1])}"


# ── what was not taken over ──────────────────────────────────────────────────────────────────────


def report_table(report: Report, title: str) -> Table:
    """The items, gravest first; by line alone where all are about one file."""
    several = len({item.file for item in report}) > 1
    grave = list(Severity)[::-1]
    rows = []
    for item in sorted(report, key=lambda item: grave.index(item.severity)):
        line = NOTHING if item.line is None else str(item.line)
        place = f"{Path(item.file).name}:{line}" if several and item.file else line
        severity = Text(item.severity.name.lower(), STYLES[item.severity])
        rows.append((severity, place, item.subject, item.found, spoken(item.done)))
    return table(title, ("severity", "where" if several else "line", "what", "found", "done"), rows)


# ── joints ───────────────────────────────────────────────────────────────────────────────────────


def limits_table(model: Model) -> Table:
    """Bounds of position, speed and effort, a line for each freedom that has any."""
    columns = ("lower", "upper", "speed", "effort")
    return table("Limits", ("joint", *columns), _limits(model), right=columns)


def _limits(model: Model) -> Iterator[Row]:
    for body in model.bodies:
        limits, slides = body.joint.limits, _slides(body.joint)
        count = max(len(limits.lower), body.joint.nv)
        for k in range(count):
            length, force = ("m", "N") if slides[min(k, len(slides) - 1)] else ("rad", "N·m")
            cells = [NOTHING if isinf(x) else f"{number(x)} {length}" for x in _entry(limits.lower, limits.upper, k=k)]
            speed = [with_unit(x, f"{length}/s") for x in _entry(limits.velocity, k=k)]
            effort = [with_unit(x, force) for x in _entry(limits.effort, k=k)]
            if any(cell != NOTHING for cell in (*cells, *speed, *effort)):
                yield _freedom(body.joint_name, k, count), *cells, *speed, *effort


def _entry(*rows: tuple[float, ...], k: int) -> Iterator[float]:
    """Entry k of each row; no bound where there is none: a ball has one angle and three speeds."""
    return (row[k] if k < len(row) else float("inf") for row in rows)


def passive_table(model: Model) -> Table:
    """What joints do by themselves, a line for each freedom that does anything."""
    return table("Passive", ("joint", *PASSIVE), _passive(model), right=PASSIVE)


def _passive(model: Model) -> Iterator[Row]:
    for body in model.bodies:
        for k, slides in enumerate(_slides(body.joint)):
            cells = [with_unit(getattr(body.passive, name)[k], units[slides]) for name, units in PASSIVE.items()]
            if any(cell != NOTHING for cell in cells):
                yield _freedom(body.joint_name, k, body.joint.nv), *cells


def _freedom(joint: str, k: int, count: int) -> str:
    return joint if count == 1 else f"{joint}[{k}]"


def _slides(joint: Joint) -> list[bool]:
    """For each freedom whether it slides, by what it moves: the others turn."""
    columns = joint.subspace(joint.neutral()).columns
    return [all(is_number(x) and abs(x) < 1e-12 for x in column.ang) for column in columns]


# ── what acts on them ────────────────────────────────────────────────────────────────────────────


def actuators_table(actuators: Iterable[ActuatorRecord]) -> Table:
    columns = ("name", "acts on", "force", "control", "force range", "activation")
    return table("Actuators", columns, (_actuator(actuator) for actuator in actuators))


def _actuator(actuator: ActuatorRecord) -> Row:
    return (
        actuator.name,
        _transmission(actuator.transmission),
        _force(actuator.gain, actuator.bias),
        _range(actuator.control_range),
        _range(actuator.force_range),
        actuator.dynamics.kind if actuator.dynamics else NOTHING,
    )


def _transmission(transmission: Transmission) -> str:
    match transmission:
        case OnJoint(joint, gear):
            return f"joint {joint}{_gear(gear)}"
        case OnTendon(tendon, gear):
            return f"tendon {tendon}{_gear((gear,))}"
        case OnFrame(frame, gear, reference):
            return f"frame {frame}{_gear(gear)}" + (f" seen from {reference}" if reference else "")
        case OnSliderCrank(crank, slider):
            return f"crank {crank}, slider {slider}"
        case OnContacts(body):
            return f"contacts of {body}"


def _gear(gear: Iterable[Scalar]) -> str:
    first, *rest = gear
    if any(x != 0 for x in rest):
        return f" × {row_of((first, *rest))}"
    return "" if first == 1 else f" × {number(first)}"


def _force(gain: Affine, bias: Affine) -> str:
    """gain · u + bias, with the length l of the transmission and its rate l'."""
    driven = (gain.constant, "u"), (gain.length, "l u"), (gain.velocity, "l' u")
    return sum_of(*driven, (bias.constant, ""), (bias.length, "l"), (bias.velocity, "l'"))


def tendons_table(tendons: Iterable[TendonRecord]) -> Table:
    columns = ("name", "path", "stiffness", "damping", "length range")
    return table("Tendons", columns, (_tendon(tendon) for tendon in tendons))


def _tendon(tendon: TendonRecord) -> Row:
    weights = [(e.coefficient, e.joint) for e in tendon.path if isinstance(e, Weighted)]
    path = sum_of(*weights) if tendon.fixed else ", ".join(_waypoint(e) for e in tendon.path)
    spring = with_unit(tendon.stiffness, "N/m"), with_unit(tendon.damping, "N·s/m")
    return tendon.name, path, *spring, _range(tendon.range)


def _waypoint(element: Weighted | PathElement) -> str:
    match element:
        case Via(frame):
            return frame
        case Pulley(divisor):
            return f"pulley 1/{number(divisor)}"
        case Weighted(joint):
            return joint
    return f"round {element.frame}"


# ── what holds it together ───────────────────────────────────────────────────────────────────────


def constraints_table(records: Iterable[LoopRecord | ConstraintRecord]) -> Table:
    return table("Constraints", ("name", "kind", "holds", "active"), (_constraint(record) for record in records))


def _constraint(record: LoopRecord | ConstraintRecord) -> Row:
    active = True if isinstance(record, LoopRecord) else record.active
    match record:
        case LoopRecord():
            kind, held = f"loop, {type(record.joint).__name__}", f"{record.successor} to {record.predecessor}"
        case ConnectRecord():
            kind, held = "point", f"{record.frame1} to {record.frame2}"
        case WeldRecord():
            kind, held = "weld", f"{record.frame2} to {record.frame1}"
        case DistanceRecord():
            kind, held = f"rod, {number(record.length)} m", f"{record.frame1} to {record.frame2}"
        case CouplingRecord():
            kind, held = "coupling", _coupling(record)
    return record.name, kind, held, NOTHING if active else "no"


def _coupling(record: CouplingRecord) -> str:
    """y = a₀ + a₁ x + …, x and y counted from their references where these are not zero."""
    y, x = _shifted(record.follower, record.reference[0]), _shifted(record.driver or "x", record.reference[1])
    powers = ("", x, *(f"{x}^{k}" for k in range(2, len(record.coefficients))))
    return f"{y} = {sum_of(*zip(record.coefficients, powers, strict=False))}"


def _shifted(name: str, reference: Scalar) -> str:
    return name if reference == 0 else f"({sum_of((1, name), (-reference, ''))})"


# ── what it is used for ──────────────────────────────────────────────────────────────────────────


def sensors_table(sensors: Iterable[SensorRecord]) -> Table:
    return table("Sensors", ("name", "kind", "on", "seen from", "size"), map(_sensor, sensors), right=["size"])


def _sensor(sensor: SensorRecord) -> Row:
    on = f"{sensor.object_kind} {sensor.object_name}".strip() or NOTHING
    reference = f"{sensor.reference_kind} {sensor.reference_name}".strip() or NOTHING
    return sensor.name, sensor.kind, on, reference, str(sensor.size)


def keyframes_table(keyframes: Iterable[KeyframeRecord]) -> Table:
    return table("Keyframes", ("name", "time", "gives"), map(_keyframe, keyframes), right=["time"])


def _keyframe(frame: KeyframeRecord) -> Row:
    given = [name for name in ("q", "v", "activation", "control") if getattr(frame, name)]
    return frame.name, f"{number(frame.time)} s", ", ".join(given) or NOTHING
