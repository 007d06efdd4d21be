"""Actuators of a compiled MuJoCo model.

What has no record here (muscles, motors with a state of their own, controllers inside the actuator, …) keeps its name,
its transmission and its controls, but exerts no force; `unsupported` says which, for the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from qdot.description import (
    Activation,
    ActuatorRecord,
    Affine,
    OnContacts,
    OnFrame,
    OnJoint,
    OnSliderCrank,
    OnTendon,
)
from qdot.description.actuators import Transmission
from qdot.formats.mjcf_read_names import Names

_DYNAMICS = (None, "integrator", "filter", "filterexact")
_GAINS, _BIASES = ("fixed", "affine"), ("none", "affine")
_NOTHING = Affine()
_FIELDS = (
    *("trntype", "trnid", "gear", "outadr", "cranklength", "gaintype", "gainprm", "biastype", "biasprm"),
    *("dyntype", "dynprm", "actlimited", "actrange", "actearly", "ctrladr", "ctrlnum", "ctrllimited", "ctrlrange"),
    *("forcelimited", "forcerange", "group"),
)


class Where(IntEnum):
    """MuJoCo's numbers for kinds of transmissions."""

    JOINT, JOINT_IN_PARENT, SLIDER_CRANK, TENDON, SITE, BODY, ORIENTATION = range(7)


def read_actuators(m: Any, names: Names) -> tuple[ActuatorRecord, ...]:
    """A record for each control: one for each actuator, but for those that have several."""
    of = {field: getattr(m, f"actuator_{field}").tolist() for field in _FIELDS}
    idle = set(disabled_actuators(m))
    plain = _plain(m)
    records = []
    for k, name in enumerate(names.of["actuator"]):
        strong = plain[k] and k not in idle
        first = of["ctrladr"][k]
        for control in range(first, first + of["ctrlnum"][k]):
            records.append(
                ActuatorRecord(
                    name if control == first else f"{name}:{control - first}",
                    _transmission(names, of, k),
                    _affine(*of["gainprm"][k][: 3 if of["gaintype"][k] else 1]) if strong else _NOTHING,
                    _affine(*of["biasprm"][k][:3]) if strong and of["biastype"][k] else _NOTHING,
                    _dynamics(of, k),
                    tuple(of["ctrlrange"][control]) if of["ctrllimited"][control] else None,
                    tuple(of["forcerange"][k]) if of["forcelimited"][k] else None,
                    of["group"][k],
                )
            )
    return tuple(records)


def unsupported(m: Any) -> Iterator[tuple[int, str]]:
    """The actuators that exert no force here, and what they are."""
    for k, plain in enumerate(_plain(m)):
        if not plain:
            yield k, _what(m, k)


def disabled_actuators(m: Any) -> list[int]:
    """The actuators of groups that the file switches off."""
    bits = m.opt.disableactuator
    return [k for k, group in enumerate(m.actuator_group.tolist()) if 0 <= group < 31 and bits >> group & 1]


def activations(m: Any) -> list[int]:
    """Where in MuJoCo's vector the activations of qdot's actuators are, in their order."""
    kinds, places = m.actuator_dyntype.tolist(), m.actuator_actadr.tolist()
    return [place for kind, place in zip(kinds, places, strict=True) if 0 < kind < len(_DYNAMICS)]


def reflected(m: Any) -> tuple[dict[int, tuple[float, float]], dict[int, tuple[float, float]]]:
    """Armature and damping of actuators as joints, in each freedom, and as tendons feel them: Σ gear² · the actuators'.

    Of several numbers in a gear, MuJoCo takes the first.
    """
    joints: dict[int, tuple[float, float]] = {}
    tendons: dict[int, tuple[float, float]] = {}
    for k in np.flatnonzero((m.actuator_armature != 0) | (m.actuator_damping != 0)).tolist():
        drives = tendons if m.actuator_trntype[k] == Where.TENDON else joints
        target, square = int(m.actuator_trnid[k, 0]), float(m.actuator_gear[m.actuator_outadr[k], 0]) ** 2
        armature, damping = drives.get(target, (0.0, 0.0))
        drives[target] = (
            armature + square * float(m.actuator_armature[k]),
            damping + square * float(m.actuator_damping[k]),
        )
    return joints, tendons


@lru_cache(maxsize=1024)
def _affine(*coefficients: float) -> Affine:
    """One record for all actuators that are alike."""
    return Affine(*coefficients)


def _plain(m: Any) -> list[bool]:
    ok = (
        (m.actuator_gaintype < len(_GAINS))
        & (m.actuator_biastype < len(_BIASES))
        & (m.actuator_dyntype < len(_DYNAMICS))
        & (m.actuator_trntype < Where.ORIENTATION)
        & (m.actuator_ctrlnum == 1)
        & (m.actuator_outnum == 1)
        & (m.actuator_plugin < 0)
    )
    plain: list[bool] = ok.tolist()
    return plain


def _what(m: Any, k: int) -> str:
    """The kind of an actuator that is not plain, in MuJoCo's word."""
    if m.actuator_plugin[k] >= 0:
        return "plugin"
    if m.actuator_trntype[k] >= Where.ORIENTATION:
        return "orientation"
    kinds = {2: "muscle", 3: "dcmotor", 4: "orientation", 5: "pid"}
    dynamics = {4: "muscle", 5: "dcmotor", 6: "pid"}
    return kinds.get(int(m.actuator_gaintype[k])) or dynamics.get(int(m.actuator_dyntype[k])) or "user"


def _dynamics(of: dict[str, list[Any]], k: int) -> Activation | None:
    kind = of["dyntype"][k]
    name = _DYNAMICS[kind] if kind < len(_DYNAMICS) else None
    if name is None:
        return None
    bounds = tuple(of["actrange"][k]) if of["actlimited"][k] else None
    return Activation(name, of["dynprm"][k][0], bounds, of["actearly"][k])


def _transmission(names: Names, of: dict[str, list[Any]], k: int) -> Transmission:
    where, (one, two), sites = of["trntype"][k], of["trnid"][k], names.of["site"]
    gear = tuple(of["gear"][of["outadr"][k]])
    match where:
        case Where.TENDON:
            return OnTendon(names.of["tendon"][one], gear[0])
        case Where.SITE:
            return OnFrame(sites[one], gear, sites[two] if two >= 0 else None)
        case Where.SLIDER_CRANK:
            return OnSliderCrank(sites[one], sites[two], of["cranklength"][k], gear[0])
        case Where.BODY:
            return OnContacts(names.of["body"][one], gear[0])
        case _:
            return OnJoint(names.of["joint"][one], gear, where == Where.JOINT_IN_PARENT)
