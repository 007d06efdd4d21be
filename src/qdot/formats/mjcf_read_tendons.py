"""Tendons of a compiled MuJoCo model: weighted sums of joint positions, and paths through sites and round geoms."""

from __future__ import annotations

from typing import Any

import numpy as np

from qdot.description import Pulley, TendonRecord, Via, Weighted, Wrap
from qdot.formats.mjcf_read_actuators import ranges
from qdot.formats.mjcf_read_constraints import softnesses
from qdot.formats.mjcf_read_names import Names
from qdot.formats.mjcf_read_shapes import Look, colors


class Element:
    """MuJoCo's numbers for elements of a path."""

    JOINT, PULLEY, SITE, SPHERE, CYLINDER = range(1, 6)


def wrapped_geoms(m: Any) -> list[int]:
    """The geoms that tendons run round."""
    geoms: list[int] = m.wrap_objid[m.wrap_type >= Element.SPHERE].tolist()
    return geoms


def read_tendons(
    m: Any, names: Names, drives: dict[int, tuple[float, float]], disabled: frozenset[str]
) -> tuple[TendonRecord, ...]:
    """All tendons; `drives` are armature and damping that actuators add, `disabled` the flags that take springs or
    dampers away."""
    if m.ntendon == 0:
        return ()
    look = Look(m, names)
    zero = np.zeros(m.ntendon)
    rows = zip(
        names.of["tendon"],
        _paths(m, names),
        (zero if "spring" in disabled else m.tendon_stiffness).tolist(),
        m.tendon_damping.tolist(),
        m.tendon_lengthspring.tolist(),
        m.tendon_frictionloss.tolist(),
        m.tendon_armature.tolist(),
        ranges(m.tendon_limited, m.tendon_range),
        m.tendon_margin.tolist(),
        softnesses(m.tendon_solref_lim, m.tendon_solimp_lim),
        softnesses(m.tendon_solref_fri, m.tendon_solimp_fri),
        ranges(m.tendon_actfrclimited, m.tendon_actfrcrange),
        m.tendon_width.tolist(),
        m.tendon_matid.tolist(),
        colors(m.tendon_rgba),
        strict=True,
    )
    records = []
    for k, (name, path, stiffness, damping, rest, friction, armature, limits, *others) in enumerate(rows):
        margin, at_limit, dry, forces, width, matter, color = others
        inertia, damper = drives.get(k, (0.0, 0.0))
        records.append(
            TendonRecord(
                name,
                path,
                stiffness=stiffness,
                damping=0.0 if "damper" in disabled else damping + damper,
                rest=(rest[0], rest[1]),
                friction=friction,
                armature=armature + inertia,
                range=limits,
                margin=margin,
                limit_softness=at_limit,
                friction_softness=dry,
                force_range=forces,
                width=width,
                color=look.material(matter, color).color,
            )
        )
    return tuple(records)


def _paths(m: Any, names: Names) -> list[tuple[Any, ...]]:
    elements = [
        _element(m, names, kind, number, parameter)
        for kind, number, parameter in zip(
            m.wrap_type.tolist(), m.wrap_objid.tolist(), m.wrap_prm.tolist(), strict=True
        )
    ]
    return [
        tuple(elements[start : start + count])
        for start, count in zip(m.tendon_adr.tolist(), m.tendon_num.tolist(), strict=True)
    ]


def _element(m: Any, names: Names, kind: int, number: int, parameter: float) -> Weighted | Via | Wrap | Pulley:
    match kind:
        case Element.JOINT:
            return Weighted(names.of["joint"][number], parameter)
        case Element.PULLEY:
            return Pulley(parameter)
        case Element.SITE:
            return Via(names.of["site"][number])
        case _:
            side = names.of["site"][int(parameter)] if parameter >= 0 else None
            return Wrap(names.wraps[number], float(m.geom_size[number, 0]), kind == Element.CYLINDER, side)
