"""Actuators: lengths of their transmissions, their forces, and what these do to the joints.

f = gain(l, l̇) · u + bias(l, l̇),   τ = Σ (∂l/∂q)ᵀ f
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from typing import Any, NamedTuple

from qdot.algebra import (
    Scalar,
    Scalars,
    Vec3,
    derivative,
    exp,
    floor,
    is_number,
    is_zero,
    maximum,
    minimum,
    sqrt,
    where,
)
from qdot.algebra.lie import log_so3
from qdot.algebra.linalg import Matrix
from qdot.algorithms.applied import joint_forces
from qdot.algorithms.configuration import retract, unit_velocity
from qdot.algorithms.kinematics import frame_pose, world_poses
from qdot.algorithms.passive import driven, gravity_compensation
from qdot.algorithms.tendons import Tendon, tendons
from qdot.description import Activation, ActuatorRecord, Affine, OnContacts, OnFrame, OnJoint, OnSliderCrank, OnTendon
from qdot.model.model import Model
from qdot.spatial import Force, Transform

SHORTEST = 1e-15
"""The least time constant of a filter [s]."""


class Transmitted(NamedTuple):
    """The length of a transmission, the joint forces of one unit of actuator force, (nv,), and the period of a length
    that comes back after a turn, else 0."""

    length: Scalar
    moment: list[Scalar]
    period: Scalar = 0


class Pose(NamedTuple):
    """What transmissions are computed from: the model, where its bodies are, and its tendons."""

    model: Model
    q: Scalars
    X: Sequence[Transform]
    ropes: dict[str, Tendon]


def actuator_lengths(model: Model, q: Scalars) -> list[Scalar]:
    """l of every transmission, (nu,) [rad or m, times gear]."""
    return [t.length for t in transmissions(model, q)]


def actuator_moments(model: Model, q: Scalars) -> Matrix:
    """∂l/∂q, nu × nv: row i is the joint forces of one unit of force of actuator i."""
    return [t.moment for t in transmissions(model, q)]


def actuator_forces(model: Model, q: Scalars, v: Scalars, control: Scalars, activation: Scalars = ()) -> list[Scalar]:
    """f of every actuator, (nu,) [N·m, N over gear], within its range; `activation` of those that have one, (na,)."""
    return _forces(model, transmissions(model, q), v, control, activation, model.description.options.timestep)


def actuation(model: Model, q: Scalars, v: Scalars, control: Scalars, activation: Scalars = ()) -> list[Scalar]:
    """τ = Σ (∂l/∂q)ᵀ f, (nv,): the joint forces of all actuators, and of drives that hold up weight, within the drive
    range of each joint. Adhesion acts through contacts and is not in it."""
    return actuation_in_step(model, q, v, control, activation, model.description.options.timestep)


def actuation_in_step(
    model: Model, q: Scalars, v: Scalars, control: Scalars, activation: Scalars, dt: Scalar
) -> list[Scalar]:
    """The same in a step of dt seconds, where forces may use the activation of its end (`Activation.early`)."""
    tau: list[Scalar] = [0] * model.nv
    if not _enabled(model):
        return tau
    sent = transmissions(model, q)
    forces = _forces(model, sent, v, control, activation, dt)
    for t, f in zip(sent, forces, strict=True):
        tau = [x if is_zero(m) else x + m * f for x, m in zip(tau, t.moment, strict=True)]
    held_by_drives = driven(model)
    if held_by_drives:
        held = gravity_compensation(model, q)
        tau = [x + held[k] if k in held_by_drives else x for k, x in enumerate(tau)]
    for body in model.bodies:
        if body.record.drive_range is not None:
            tau[body.dofs] = [_clipped(x, body.record.drive_range) for x in tau[body.dofs]]
    return tau


def activation_rates(model: Model, control: Scalars, activation: Scalars) -> list[Scalar]:
    """ẇ of every activation, (na,) [1/s]."""
    rates: list[Scalar] = []
    for actuator, u in zip(model.actuators, _controls(model, control), strict=True):
        if actuator.dynamics is not None:
            w = activation[len(rates)]
            rates.append(_rate(actuator.dynamics, u, w) if _enabled(model) else 0)
    return rates


def _rate(dynamics: Activation, u: Scalar, w: Scalar) -> Scalar:
    return u if dynamics.kind == "integrator" else (u - w) / _time_constant(dynamics)


def _time_constant(dynamics: Activation) -> Scalar:
    """Not zero: a filter without delay takes one step."""
    return maximum(dynamics.time, SHORTEST) if is_number(dynamics.time) else dynamics.time


def _enabled(model: Model) -> bool:
    return "actuation" not in model.description.options.disabled


def transmissions(model: Model, q: Scalars) -> list[Transmitted]:
    """Of every actuator."""
    X = world_poses(model, q)
    ropes = {record.name: t for record, t in zip(model.tendons, tendons(model, q, X), strict=True)}
    at = Pose(model, q, X, ropes)
    return [_TRANSMITTED[type(actuator.transmission)](at, actuator.transmission) for actuator in model.actuators]


def _forces(
    model: Model, sent: Sequence[Transmitted], v: Scalars, control: Scalars, activation: Scalars, dt: Scalar
) -> list[Scalar]:
    if not _enabled(model):
        return [0] * model.nu
    signals = _signals(model, _controls(model, control), activation, dt)
    forces = []
    for actuator, t, u in zip(model.actuators, sent, signals, strict=True):
        rate = sum((m * x for m, x in zip(t.moment, v, strict=True) if not is_zero(m)), start=0)
        if not is_zero(t.period) and _is_servo(actuator):
            force = actuator.gain.constant * _shortest(u - t.length, t.period) + actuator.bias.velocity * rate
        else:
            force = _affine(actuator.gain, t.length, rate) * u + _affine(actuator.bias, t.length, rate)
        forces.append(force)
    forces = _within_tendons(model, forces)
    return [_clipped(f, actuator.force_range) for f, actuator in zip(forces, model.actuators, strict=True)]


def _is_servo(actuator: ActuatorRecord) -> bool:
    """Whether f = k (u - l) + c l̇: a servo, which on a rotation goes the shorter way round."""
    gain, bias = actuator.gain, actuator.bias
    return gain == Affine(gain.constant) and is_zero(bias.constant) and bool(gain.constant == -bias.length)


def _shortest(angle: Scalar, period: Scalar) -> Scalar:
    """The angle less whole periods, between minus and plus half of one."""
    return angle - period * floor(angle / period + 0.5)


def _within_tendons(model: Model, forces: list[Scalar]) -> list[Scalar]:
    """The forces on a tendon that bounds their sum, all reduced alike."""
    for tendon in model.tendons:
        if tendon.force_range is None:
            continue
        on_it = [i for i, a in enumerate(model.actuators) if _is_on(a, tendon.name)]
        total = sum((forces[i] for i in on_it), start=0)
        some = where(total == 0, 1.0, total)
        factor = _clipped(total, tendon.force_range) / some
        for i in on_it:
            forces[i] = forces[i] * where(total == 0, 1.0, factor)
    return forces


def _is_on(actuator: ActuatorRecord, tendon: str) -> bool:
    return isinstance(actuator.transmission, OnTendon) and actuator.transmission.tendon == tendon


def _controls(model: Model, control: Scalars) -> list[Scalar]:
    """The controls, within their ranges unless the model's options say otherwise."""
    if "clampctrl" in model.description.options.disabled:
        return list(control)
    return [_clipped(u, a.control_range) for u, a in zip(control, model.actuators, strict=True)]


def _signals(model: Model, controls: Sequence[Scalar], activation: Scalars, dt: Scalar) -> list[Scalar]:
    """What each gain multiplies: the control, or the activation, now or at the end of the step."""
    signals, k = [], 0
    for actuator, u in zip(model.actuators, controls, strict=True):
        dynamics = actuator.dynamics
        if dynamics is None:
            signals.append(u)
            continue
        w = activation[k]
        k += 1
        signals.append(_later(dynamics, u, w, dt) if dynamics.early else w)
    return signals


def later_activations(model: Model, control: Scalars, activation: Scalars, dt: Scalar) -> list[Scalar]:
    """The activations after a step of dt seconds with these controls, (na,): exact for exact filters, else Euler's."""
    found: list[Scalar] = []
    for actuator, u in zip(model.actuators, _controls(model, control), strict=True):
        if actuator.dynamics is not None:
            w = activation[len(found)]
            found.append(_later(actuator.dynamics, u, w, dt) if _enabled(model) else w)
    return found


def within_ranges(model: Model, activation: Scalars) -> list[Scalar]:
    """Activations, (na,), each within its range."""
    kinds = [actuator.dynamics for actuator in model.actuators if actuator.dynamics is not None]
    return [_clipped(w, dynamics.range) for dynamics, w in zip(kinds, activation, strict=True)]


def _later(dynamics: Activation, u: Scalar, w: Scalar, dt: Scalar) -> Scalar:
    if dynamics.kind == "filterexact":
        w = w + (u - w) * (1 - exp(-dt / _time_constant(dynamics)))
    else:
        w = w + dt * _rate(dynamics, u, w)
    return _clipped(w, dynamics.range)


def _on_joint(at: Pose, drive: OnJoint) -> Transmitted:
    body, moment = at.model.joint(drive.joint), [0] * at.model.nv
    length, moment[body.dofs], period = body.joint.drive(at.q[body.qs], drive.gear, drive.in_parent)
    return Transmitted(length, moment, period)


def _on_tendon(at: Pose, drive: OnTendon) -> Transmitted:
    tendon = at.ropes[drive.tendon]
    return Transmitted(drive.gear * tendon.length, [drive.gear * g for g in tendon.gradient])


def _on_frame(at: Pose, drive: OnFrame) -> Transmitted:
    force, torque = Vec3(*drive.gear[:3]), Vec3(*drive.gear[3:])
    (body, X), reference = _pose_of(at, drive.frame), drive.reference
    if reference is None:
        return Transmitted(0, _wrench(at, body, X, X, force, torque))
    other, X_ref = _pose_of(at, reference)
    apart = X_ref.inv() @ X
    length = apart.position.dot(force) + log_so3(apart.quaternion()).dot(torque)
    ahead, behind = _wrench(at, body, X, X_ref, force, torque), _wrench(at, other, X_ref, X_ref, force, torque)
    shared = _ancestors(at.model, body) & _ancestors(at.model, other)
    moment = [x - y for x, y in zip(ahead, behind, strict=True)]
    for i in shared:  # what moves both frames alike does no work between them
        dofs = at.model.bodies[i - 1].dofs
        moment[dofs] = [0] * (dofs.stop - dofs.start)
    turns_only = all(is_zero(x) for x in drive.gear[:3])
    return Transmitted(length, moment, 2 * pi * torque.norm() if turns_only else 0)


def _wrench(at: Pose, body: int, where_it_acts: Transform, axes: Transform, force: Vec3, torque: Vec3) -> list[Scalar]:
    """The joint forces of a wrench at the origin of one frame, in the axes of another."""
    f, n, p = axes.rotation @ force, axes.rotation @ torque, where_it_acts.position
    return joint_forces(at.model, at.q, at.X, {body: Force(n + p.cross(f), f)})


def _ancestors(model: Model, i: int) -> set[int]:
    found = set()
    while i:
        found.add(i)
        i = model.parents[i]
    return found


def _on_slider_crank(at: Pose, drive: OnSliderCrank) -> Transmitted:
    """The slider lies on its axis at a distance of the rod from the crank: l = a·r - √((a·r)² + rod² - r²)."""

    def length(dv: Scalars) -> Scalar:
        q = retract(at.model, at.q, dv)
        crank, slider = (frame_pose(at.model, q, name) for name in (drive.crank, drive.slider))
        r, axis = crank.position - slider.position, slider.rotation @ Vec3(0, 0, 1)
        along = axis.dot(r)
        square = along * along + drive.rod * drive.rod - r.dot(r)
        reaches = square > 0
        return drive.gear * (along - where(reaches, sqrt(where(reaches, square, 1.0)), 0))

    at_rest = [0] * at.model.nv
    moment = [derivative(length, unit_velocity(at.model, k)) for k in range(at.model.nv)]
    return Transmitted(length(at_rest), moment)


def _on_contacts(at: Pose, drive: OnContacts) -> Transmitted:
    return Transmitted(0, [0] * at.model.nv)


_TRANSMITTED: dict[type, Callable[[Pose, Any], Transmitted]] = {
    OnJoint: _on_joint,
    OnTendon: _on_tendon,
    OnFrame: _on_frame,
    OnSliderCrank: _on_slider_crank,
    OnContacts: _on_contacts,
}


def _pose_of(at: Pose, name: str) -> tuple[int, Transform]:
    frame = at.model.frame(name)
    return frame.body, at.X[frame.body] @ frame.placement


def _affine(law: Affine, length: Scalar, rate: Scalar) -> Scalar:
    terms = ((law.length, length), (law.velocity, rate))
    return sum((c * x for c, x in terms if not is_zero(c)), start=law.constant)


def _clipped(x: Scalar, bounds: tuple[float, float] | None) -> Scalar:
    return x if bounds is None else minimum(maximum(x, bounds[0]), bounds[1])
