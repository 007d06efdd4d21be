"""Actuators of a compiled MuJoCo model.

What has no record here (muscles, motors with a state of their own, controllers inside the actuator, …) keeps its name,
its transmission and its controls, but exerts no force; `unsupported` says which, for the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DYNAMICS = (None, "integrator", "filter", "filterexact")
_GAINS, _BIASES = ("fixed", "affine"), ("none", "affine")
_NOTHING = Affine()


class Where:
    """MuJoCo's numbers for kinds of transmissions."""

    JOINT, JOINT_IN_PARENT, SLIDER_CRANK, TENDON, SITE, BODY, ORIENTATION = range(7)


def read_actuators(m: Any, names: Names) -> tuple[ActuatorRecord, ...]:
    """A record for each control: one for each actuator, but for those that have several."""
    idle = set(disabled_actuators(m))
    controls = ranges(m.actuator_ctrllimited, m.actuator_ctrlrange)
    records = []
    for k, (name, plain, drive, gain_kind, gain, bias_kind, bias, dynamics, first, count, forces, group) in enumerate(
        zip(
            names.of["actuator"],
            _plain(m),
            _transmissions(m, names),
            m.actuator_gaintype.tolist(),
            m.actuator_gainprm[:, :3].tolist(),
            m.actuator_biastype.tolist(),
            m.actuator_biasprm[:, :3].tolist(),
            _dynamics(m),
            m.actuator_ctrladr.tolist(),
            m.actuator_ctrlnum.tolist(),
            ranges(m.actuator_forcelimited, m.actuator_forcerange),
            m.actuator_group.tolist(),
            strict=True,
        )
    ):
        law = offset = _NOTHING
        if plain and k not in idle:
            law = _affine(*gain) if gain_kind else _affine(gain[0])
            offset = _affine(*bias) if bias_kind else _NOTHING
        for control in range(first, first + count):
            called = name if control == first else f"{name}:{control - first}"
            records.append(ActuatorRecord(called, drive, law, offset, dynamics, controls[control], forces, group))
    return tuple(records)


def ranges(limited: NDArray[Any], values: NDArray[np.float64]) -> list[tuple[float, float] | None]:
    """Bounds where there are any."""
    return [(low, high) if on else None for on, (low, high) in zip(limited.tolist(), values.tolist(), strict=True)]


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


def _dynamics(m: Any) -> list[Activation | None]:
    kinds = m.actuator_dyntype.tolist()
    if not any(kinds):
        return [None] * len(kinds)
    return [
        Activation(name, time, bounds, early) if kind < len(_DYNAMICS) and (name := _DYNAMICS[kind]) else None
        for kind, time, bounds, early in zip(
            kinds,
            m.actuator_dynprm[:, 0].tolist(),
            ranges(m.actuator_actlimited, m.actuator_actrange),
            m.actuator_actearly.tolist(),
            strict=True,
        )
    ]


def _transmissions(m: Any, names: Names) -> list[Transmission]:
    sites, joints, tendons, bodies = (names.of[kind] for kind in ("site", "joint", "tendon", "body"))
    drives: list[Transmission] = []
    for where, (one, two), rod, (fx, fy, fz, nx, ny, nz) in zip(
        m.actuator_trntype.tolist(),
        m.actuator_trnid.tolist(),
        m.actuator_cranklength.tolist(),
        m.actuator_gear[m.actuator_outadr].tolist(),
        strict=True,
    ):
        gear = (fx, fy, fz, nx, ny, nz)
        match where:
            case Where.TENDON:
                drives.append(OnTendon(tendons[one], fx))
            case Where.SITE:
                drives.append(OnFrame(sites[one], gear, sites[two] if two >= 0 else None))
            case Where.SLIDER_CRANK:
                drives.append(OnSliderCrank(sites[one], sites[two], rod, fx))
            case Where.BODY:
                drives.append(OnContacts(bodies[one], fx))
            case _:
                drives.append(OnJoint(joints[one], gear, where == Where.JOINT_IN_PARENT))
    return drives
