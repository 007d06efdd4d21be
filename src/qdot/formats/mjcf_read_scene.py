"""Sensors, keyframes and options of a compiled MuJoCo model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from qdot.algebra import Quaternion, Vec3
from qdot.description import Fluid, KeyframeRecord, Options, SensorRecord
from qdot.formats.mjcf_read_actuators import activations
from qdot.formats.mjcf_read_bodies import NQ, NV, Kind
from qdot.formats.mjcf_read_names import Names

_INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")
_CONES, _SOLVERS = ("pyramidal", "elliptic"), ("PGS", "CG", "Newton")
_SENSORS = {
    "jointactfrc": "jointactuatorfrc",
    "tendonactfrc": "tendonactuatorfrc",
    "geomdist": "distance",
    "geomnormal": "normal",
    "geomfromto": "fromto",
}
"""MuJoCo's names of kinds that MJCF calls otherwise."""


def read_options(m: Any, mujoco: Any) -> Options:
    """How the file wants to be simulated; all flags, by MuJoCo's names in lower case."""
    o = m.opt
    return Options(
        o.timestep,
        _INTEGRATORS[o.integrator],
        _CONES[o.cone],
        _SOLVERS[o.solver],
        o.iterations,
        o.tolerance,
        o.impratio,
        o.noslip_iterations,
        o.noslip_tolerance,
        _flags(mujoco.mjtDisableBit, o.disableflags),
        _flags(mujoco.mjtEnableBit, o.enableflags),
    )


def read_fluid(m: Any) -> Fluid:
    """The medium."""
    x, y, z = m.opt.wind.tolist()
    return Fluid(m.opt.density, m.opt.viscosity, (x, y, z))


def read_sensors(m: Any, names: Names, mujoco: Any) -> tuple[SensorRecord, ...]:
    """Sensors by their names in MJCF; as objects, "body" is a body's inertial frame, "xbody" its own."""
    if m.nsensor == 0:
        return ()
    kinds = {number: _SENSORS.get(word, word) for number, word in _words(mujoco.mjtSensor).items()}
    objects = _words(mujoco.mjtObj)

    def thing(kind: int, number: int) -> tuple[str, str]:
        if number < 0:
            return "", ""
        word = objects[kind]
        known = names.of.get("body" if word == "xbody" else word, [])
        return word, known[number] if number < len(known) else f"{word}{number}"

    return tuple(
        SensorRecord(name, kinds[kind], *thing(on, number), *thing(of, reference), size, cutoff, noise)
        for name, kind, on, number, of, reference, size, cutoff, noise in zip(
            names.of["sensor"],
            m.sensor_type.tolist(),
            m.sensor_objtype.tolist(),
            m.sensor_objid.tolist(),
            m.sensor_reftype.tolist(),
            m.sensor_refid.tolist(),
            m.sensor_dim.tolist(),
            m.sensor_cutoff.tolist(),
            m.sensor_noise.tolist(),
            strict=True,
        )
    )


def read_keyframes(m: Any, names: Names) -> tuple[KeyframeRecord, ...]:
    """States by name, in qdot's conventions."""
    if m.nkey == 0:
        return ()
    acts = activations(m)
    return tuple(
        KeyframeRecord(name, time, *_state(m, q, v), tuple(act[k] for k in acts), tuple(control))
        for name, time, q, v, act, control in zip(
            names.of["key"],
            m.key_time.tolist(),
            m.key_qpos.tolist(),
            m.key_qvel.tolist(),
            m.key_act.tolist(),
            m.key_ctrl.tolist(),
            strict=True,
        )
    )


def _state(m: Any, qpos: list[float], qvel: list[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(q, v): a free joint's quaternion and angular velocity first, its linear velocity in the body's axes."""
    q: list[float] = []
    v: list[float] = []
    for kind, at, dof in zip(m.jnt_type.tolist(), m.jnt_qposadr.tolist(), m.jnt_dofadr.tolist(), strict=True):
        place, speed = qpos[at : at + NQ[kind]], qvel[dof : dof + NV[kind]]
        if kind == Kind.FREE:
            turn = _unit(place[3:])
            q += [*turn, *place[:3]]
            v += [*speed[3:], *(turn.rotation().T @ Vec3(*speed[:3]))]
        else:
            q += _unit(place) if kind == Kind.BALL else place
            v += speed
    return tuple(q), tuple(v)


def _unit(quaternion: list[float]) -> Quaternion:
    given = Quaternion(*quaternion)
    return given.normalized() if any(quaternion) else Quaternion.identity()  # as MuJoCo takes one of zeros


def _flags(members: Any, bits: int) -> frozenset[str]:
    return frozenset(word for bit, word in _words(members).items() if bit & bits) if bits else frozenset()


@lru_cache(maxsize=8)
def _words(members: Any) -> dict[int, str]:
    """MuJoCo's names in an enumeration, lower case, by number: mjSENS_GYRO is "gyro"; counts (mjN…) left out."""
    return {
        int(member.value): name.partition("_")[2].lower() for name, member in members.__members__.items() if "_" in name
    }
