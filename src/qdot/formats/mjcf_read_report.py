"""What of a compiled MuJoCo model was not taken over as it stood: one item for each kind of thing, with counts.

Which field of the model belongs where is told by `mjcf_read_fields`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from qdot.description import Item, Severity
from qdot.formats import mjcf_read_fields as fields
from qdot.formats.mjcf_read_actuators import disabled_actuators, reflected, unsupported
from qdot.formats.mjcf_read_bodies import Kind
from qdot.formats.mjcf_read_constraints import TENDON
from qdot.formats.mjcf_read_names import Names
from qdot.formats.mjcf_read_text import Compiled, library, line_of
from qdot.formats.source import Source

_SHOWN = 5
_SLEEP_ASKED_FOR = 3
"""The policies below it are MuJoCo's own choice."""
_NAMED = ("actuator", "joint", "tendon", "geom", "body", "site", "pair")
_GROUPS = {
    "cameras": "cameras", "lights": "lights", "skins": "skins", "textures": "textures", "materials": "materials",
    "custom numbers": "numerics", "custom texts": "texts", "custom tuples": "tuples", "contacts": "geoms",
    "equality constraints": "equalities", "actuators": "actuators", "sensors": "sensors", "flexes": "flexes",
    "plugins": "plugins", "keyframes": "keys",
}  # fmt: skip
"""By the subject of an item: where MuJoCo's specification lists the things it is about."""
_FORCELESS = "kept in the records, without force"
_FLAGS = {
    "gravity": ("gravity", "taken as zero"),
    "spring": ("springs", "taken as zero"),
    "damper": ("dampers", "taken as zero"),
    "actuation": ("actuators", _FORCELESS),
    "clampctrl": ("ranges of controls", "kept in the records, without effect"),
    "constraint": ("constraints, limits, dry friction and contacts", _FORCELESS),
    "equality": ("equality constraints", _FORCELESS),
    "frictionloss": ("dry friction", _FORCELESS),
    "limit": ("limits", _FORCELESS),
    "contact": ("contacts", _FORCELESS),
}
"""What flags of MuJoCo switch off, and how that is done; the others say how it computes."""
_LEFT_OUT = "left out"
_NOT_SIMULATED = "kept in the records"


def findings(
    source: Source, compiled: Compiled, names: Names, disabled: frozenset[str], viewed: bool
) -> Iterator[Item]:
    """All items, from what is good to know to what changes the motion; `disabled` are the file's flags, `viewed` tells
    whether its texts say anything of the viewer."""
    m = compiled.model
    found = (
        (Severity.NOTE, _notes(compiled, names, disabled)),
        (Severity.IGNORED, _ignored(m, names, compiled.spec, viewed)),
        (Severity.KEPT, _kept(m, names)),
        (Severity.PHYSICS, _physics(m, names)),
    )
    for severity, rows in found:
        for subject, text, done in rows:
            yield Item(severity, subject, text, done, source.file, _line(compiled.spec, subject, text))


def _line(spec: Any, subject: str, text: str) -> int | None:
    """The line of the first thing that an item names, or of the first of its kind; None where MuJoCo does not know."""
    named = re.search(r"'([^']*)'", f"{subject} {text}")
    if named:
        for kind in sorted(_NAMED, key=lambda kind: kind not in subject):  # what the subject says it is comes first
            element = getattr(spec, kind)(named.group(1))
            if element is not None:
                return line_of(element.info)
    group = getattr(spec, _GROUPS[subject]) if subject in _GROUPS else []
    return line_of(group[0].info) if group else None


def _notes(compiled: Compiled, names: Names, disabled: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    m = compiled.model
    for warning in compiled.warnings:
        yield "MuJoCo", " ".join(warning.split()), "compiled all the same"
    for kind, old, new in names.renamed:
        yield f"{kind} {old!r}", "its name is also that of another body, frame or joint", f"renamed {new!r}"
    for flag in sorted(disabled):
        if flag in _FLAGS:
            what, done = _FLAGS[flag]
            yield what, f"the flag {flag!r} switches this off", done
        else:
            yield "options", f"the flag {flag!r} is off", "kept in the options"
    if {"spring", "damper"} <= disabled:
        yield "passive forces", "with springs and dampers, MuJoCo switches them all off", "no fluid and no compensation"
    idle = disabled_actuators(m)
    if idle:
        yield "actuators", f"their group is switched off: {_listed(names.of['actuator'], idle)}", "they exert no force"
    dry = np.count_nonzero(m.dof_frictionloss), np.count_nonzero(m.tendon_frictionloss)
    if any(dry) and not disabled & {"constraint", "frictionloss"}:
        text = f"of freedoms: {dry[0]}, of tendons: {dry[1]}"
        yield "dry friction", text, "taken as a passive force against the motion; it holds nothing at rest"
    joints, tendons = reflected(m)
    drives = [names.of["joint"][k] for k in joints] + [names.of["tendon"][k] for k in tendons]
    if drives:
        yield "actuators", f"armature or damping at {_listed(drives)}", "added, times gear², to the joint's or tendon's"
    unknown = fields.unknown_fields(m.__class__, fields.TAKEN, fields.DERIVED, fields.IGNORED, fields.REPORTED)
    if unknown:
        yield "MuJoCo", f"its models have fields that qdot does not know: {', '.join(unknown)}", "not looked at"


def _ignored(m: Any, names: Names, spec: Any, viewed: bool) -> Iterator[tuple[str, str, str]]:
    for what, count in (
        ("cameras", m.ncam),
        ("lights", m.nlight),
        ("skins", m.nskin),
        ("textures", m.ntex),
        ("custom numbers", m.nnumeric),
        ("custom texts", m.ntext),
        ("custom tuples", m.ntuple),
    ):
        if count:
            yield what, f"{count} of them", _LEFT_OUT
    if m.nmat:
        yield "materials", f"{m.nmat} of them", "name and colour taken; shine, textures and the rest left out"
    user = [what for what in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor") if _user(m, what)]
    if user:
        yield "user data", f"numbers for each {', '.join(user)}", _LEFT_OUT
    options = [name for name, usual in fields.OPTIONS_IGNORED.items() if _plain(getattr(m.opt, name)) != usual]
    if options:
        yield "options", ", ".join(options), "left out: they say how exactly MuJoCo's solvers and sensors work"
    stat = spec.stat
    if not np.isnan([stat.meaninertia, stat.meanmass, stat.meansize, stat.extent, stat.center[0]]).all():
        yield "statistic", "numbers for the viewer and the solver's stopping rule", _LEFT_OUT
    if (m.tree_sleep_policy >= _SLEEP_ASKED_FOR).any() or "sleep" in _enabled(m):
        yield "sleep", "bodies at rest may be skipped", _LEFT_OUT
    details = (m.sensor_delay != 0) | (m.sensor_interval != 0).any(axis=1) | (m.sensor_history != 0).any(axis=1)
    details |= (m.sensor_intprm != 0).any(axis=1)
    if details.any():
        yield "sensors", f"delays, intervals or parameters of {np.count_nonzero(details)} of them", _LEFT_OUT
    if m.jnt_group.any() or m.tendon_group.any() or not m.geom_castshadow.all():
        yield "groups and shadows", "which joints, tendons and shadows a viewer shows", _LEFT_OUT
    if m.nmocap and m.nkey:
        place = np.concatenate([m.body_pos, m.body_quat], axis=1)[m.body_mocapid >= 0]
        order = np.argsort(m.body_mocapid[m.body_mocapid >= 0])
        keys = np.concatenate([m.key_mpos.reshape(m.nkey, -1, 3), m.key_mquat.reshape(m.nkey, -1, 4)], axis=2)
        moved = (keys != place[order]).any(axis=(1, 2))
        if moved.any():
            text = f"poses of mocap bodies in {_listed(names.of['key'], np.flatnonzero(moved))}"
            yield "keyframes", text, "left out: they have no place for them; the bodies are where the file puts them"
    if viewed and _values(spec.visual) != _usual_values():
        yield "visual", "options of the viewer", _LEFT_OUT


def _kept(m: Any, names: Names) -> Iterator[tuple[str, str, str]]:
    colliding = np.count_nonzero(m.geom_contype | m.geom_conaffinity)
    if colliding or m.npair:
        text = f"geoms that may touch: {colliding}, named pairs: {m.npair}, excluded pairs of bodies: {m.nexclude}"
        yield "contacts", text, _NOT_SIMULATED
    equalities = np.count_nonzero(m.eq_type <= TENDON)
    if equalities:
        yield "equality constraints", f"{equalities} of them", _NOT_SIMULATED
    limits = int(m.jnt_limited.sum()), int(m.tendon_limited.sum())
    if any(limits):
        yield "limits", f"of joints: {limits[0]}, of tendons: {limits[1]}", _NOT_SIMULATED
    if m.nactuator:
        yield "actuators", f"{m.nactuator} of them", _NOT_SIMULATED
    if m.nsensor:
        yield "sensors", f"{m.nsensor} of them", _NOT_SIMULATED
    if m.nmocap:
        targets = _listed(names.of["body"], np.flatnonzero(m.body_mocapid >= 0))
        yield "mocap bodies", targets, "kept as targets, which whoever simulates may move"


def _physics(m: Any, names: Names) -> Iterator[tuple[str, str, str]]:
    if m.nflex:
        yield "flexes", f"deformable bodies: {m.nflex}", "their points move, but without elasticity or contact"
    flexible = np.count_nonzero(m.eq_type > TENDON)
    if flexible:
        yield "equality constraints", f"{flexible} of them on flexes", _LEFT_OUT
    if m.nplugin:
        yield "plugins", f"{m.nplugin} of them compute forces, sensors or shapes", _LEFT_OUT
    yield from _polynomials(m, names)
    yield from _surfaces(m, names)
    yield from _drives(m, names)
    if "override" in _enabled(m):
        yield "options", "contact parameters that override every geom's own", "the geoms' own are kept"


def _polynomials(m: Any, names: Names) -> Iterator[tuple[str, str, str]]:
    joints, tendons, actuators = names.of["joint"], names.of["tendon"], names.of["actuator"]
    for found, known, what in (
        (m.jnt_stiffnesspoly.any(axis=1), joints, "joint springs that are not linear"),
        (m.tendon_stiffnesspoly.any(axis=1), tendons, "tendon springs that are not linear"),
        (m.tendon_dampingpoly.any(axis=1), tendons, "tendon dampers that are not linear"),
        (m.actuator_dampingpoly.any(axis=1), actuators, "actuator dampers that are not linear"),
    ):
        if found.any():
            yield what, _listed(known, np.flatnonzero(found)), "their linear part is taken"
    dampers = sorted(set(m.dof_jntid[m.dof_dampingpoly.any(axis=1)].tolist()))
    if dampers:
        yield "joint dampers that are not linear", _listed(joints, dampers), "their linear part is taken"
    for limits, known, what in ((m.jnt_springyield, joints, "joint"), (m.tendon_springyield, tendons, "tendon")):
        if limits.any():
            yield f"{what} springs that yield", _listed(known, np.flatnonzero(limits)), "taken as elastic"


def _surfaces(m: Any, names: Names) -> Iterator[tuple[str, str, str]]:
    geoms = names.of["geom"]
    if m.geom_surfacevel.any():
        moving = np.flatnonzero(m.geom_surfacevel.any(axis=1))
        yield "moving surfaces", _listed(geoms, moving), "taken as at rest"
    for what, known, force in (("geoms", geoms, m.geom_adhesion), ("pairs", names.of["pair"], m.pair_adhesion)):
        if force.any():
            yield f"adhesion of {what}", _listed(known, np.flatnonzero(force)), _LEFT_OUT
    if m.geom_fluid[:, 0].any() and (m.opt.density > 0 or m.opt.viscosity > 0):
        shaped = np.flatnonzero(m.geom_fluid[:, 0])
        yield "fluid forces by ellipsoids", _listed(geoms, shaped), "taken for the box that has the body's inertia"


def _drives(m: Any, names: Names) -> Iterator[tuple[str, str, str]]:
    joints, tendons, actuators = names.of["joint"], names.of["tendon"], names.of["actuator"]
    kinds = defaultdict(list)
    for k, kind in unsupported(m):
        kinds[kind].append(k)
    for kind, some in kinds.items():
        yield f"actuators of kind {kind}", _listed(actuators, some), "kept without their force"
    late = np.flatnonzero((m.actuator_delay != 0) | (m.actuator_history != 0).any(axis=1))
    if len(late):
        yield "actuators with delays", _listed(actuators, late), "taken without the delay"
    drives_at_joints, drives_at_tendons = reflected(m)
    heavy = m.tendon_armature.copy()
    for k, (armature, _) in drives_at_tendons.items():
        heavy[k] += armature
    if heavy.any():
        yield "tendons with armature", _listed(tendons, np.flatnonzero(heavy)), "it is not in the mass matrix"
    first = m.jnt_dofadr
    bound = (m.jnt_type == Kind.FREE) & ((m.jnt_stiffness != 0) | (m.dof_armature[first] != 0))
    bound |= (m.jnt_type == Kind.FREE) & (m.dof_frictionloss[first] != 0)
    for k, (armature, _) in drives_at_joints.items():
        bound[k] |= m.jnt_type[k] == Kind.FREE and armature != 0
    if bound.any():
        listed = _listed(joints, np.flatnonzero(bound))
        yield "springs, armature or dry friction of free joints", listed, "taken along the body's axes, not the world's"


def _values(visual: Any) -> list[Any]:
    """All that MuJoCo's options of the viewer say."""
    return [_plain(value) for value in _viewer_options()(visual)]


def _plain(value: Any) -> Any:
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value


@lru_cache(maxsize=1)
def _viewer_options() -> attrgetter[tuple[Any, ...]]:
    visual = library().MjSpec().visual
    parts = [part for part in dir(visual) if part[0] != "_"]
    return attrgetter(*(f"{part}.{name}" for part in parts for name in dir(getattr(visual, part)) if name[0] != "_"))


@lru_cache(maxsize=1)
def _usual_values() -> list[Any]:
    return _values(library().MjSpec().visual)


def _user(m: Any, kind: str) -> bool:
    return bool(getattr(m, f"{kind}_user").any())


def _enabled(m: Any) -> set[str]:
    return {word for bit, word in ((1, "override"), (16, "sleep")) if m.opt.enableflags & bit}


def _listed(known: list[str], numbers: Iterable[Any] | None = None) -> str:
    """Names of some of the known things (or of all), the first few in full."""
    some = [repr(known[k]) for k in numbers] if numbers is not None else [repr(name) for name in known]
    return ", ".join(some[:_SHOWN]) + (f" and {len(some) - _SHOWN} more" if len(some) > _SHOWN else "")
