"""Routes to how bodies and frames move, and to the energy and the momentum they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qdot.algorithms import energy, jacobian, momentum, rnea
from qdot.algorithms.kinematics import kinematics, world_poses
from qdot.certificate.measure import on_bodies, on_the_whole
from qdot.certificate.quantity import Quantity, Route, times
from qdot.certificate.sample import Sample
from qdot.model.model import Frame, Model
from qdot.spatial import Force

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FRAMES = 12
"""So many frames have their Jacobians compared."""


# ── velocities, accelerations, Jacobians ─────────────────────────────────────────────────────────


def velocities(s: Sample) -> Array:
    return s.packed([list(V) for V in kinematics(s.model, s.q, s.v).velocities[1:]])


def velocities_from_poses(s: Sample) -> Array:
    return _in_bodies(s, s.motions.w, s.motions.p_dot)


def accelerations(s: Sample) -> Array:
    return s.packed([list(A) for A in kinematics(s.model, s.q, s.v, s.a).accelerations[1:]])


def accelerations_from_poses(s: Sample) -> Array:
    m = s.motions
    return _in_bodies(s, m.w_dot, m.p_ddot - np.cross(m.w, m.p_dot))


def motion_sizes(s: Sample) -> Array:
    """Of velocities and of accelerations, (states, bodies, 6)."""
    w, p = s.motions.speeds
    v, a = abs(s.packed(s.v))[:, None], abs(s.packed(s.a))[:, None]
    turning, sliding = (w * v).sum(-1), (p * v).sum(-1)
    angular = turning * (1 + turning) + (w * a).sum(-1)
    linear = sliding * (1 + turning) + (p * a).sum(-1) + np.linalg.norm(s.motions.p_ddot, axis=-1)
    return np.stack([angular] * 3 + [linear] * 3, axis=-1)


def _in_bodies(s: Sample, angular: Array, linear: Array) -> Array:
    R_T = np.swapaxes(s.motions.R, -1, -2)
    return np.concatenate([times(R_T, angular), times(R_T, linear)], axis=-1)


def link_jacobians(s: Sample) -> Array:
    return s.packed([[*J_w, *J_v] for J_v, J_w in jacobian.link_jacobians(s.model, s.q)])


def link_jacobians_from_poses(s: Sample) -> Array:
    """Of the centres of mass; of the origin where there is no mass."""
    m = s.motions.parameters[0]
    c = s.motions.h * np.where(m == 0, 0.0, 1 / m)[:, None]
    w = s.motions.partial_w
    v = s.motions.partial_p + np.cross(w, c[:, :, None])
    return np.swapaxes(np.concatenate([w, v], axis=-1), -1, -2)


def link_jacobian_sizes(s: Sample) -> Array:
    w, p = s.motions.speeds
    m, h, _ = s.motions.weights
    c = h * np.where(m == 0, 0.0, 1 / m)
    return np.stack([w] * 3 + [p + w * c[:, None]] * 3, axis=2)


def frames_of(model: Model) -> list[Frame]:
    """Some of the frames, evenly from the root to the leaves."""
    frames = [frame for frame in model.frames.values() if frame.body]
    return frames[:: max(1, -(-len(frames) // FRAMES))]


def frame_jacobians(s: Sample) -> Array:
    return s.packed([jacobian.jacobian(s.model, s.q, frame.name) for frame in frames_of(s.model)])


def frame_jacobians_from_poses(s: Sample) -> Array:
    return np.stack([s.motions.jacobian(frame) for frame in frames_of(s.model)], axis=1)


def frame_jacobian_sizes(s: Sample) -> Array:
    w, p = s.motions.speeds
    rows = []
    for frame in frames_of(s.model):
        r = float(np.linalg.norm([float(x) for x in frame.placement.position]))
        w_F, p_F = w[:, frame.body - 1], p[:, frame.body - 1]
        rows.append(np.stack([w_F] * 3 + [p_F + r * w_F] * 3, axis=1))
    return np.stack(rows, axis=1)


def on_frames(model: Model, x: Array) -> dict[str, float]:
    """Of something of each frame: on the body that it is fixed to."""
    worst: dict[str, float] = {}
    for k, frame in enumerate(frames_of(model)):
        name = model.bodies[frame.body - 1].name
        worst[name] = max(worst.get(name, 0.0), float(np.max(x[:, k], initial=0.0)))
    return worst


# ── energy ───────────────────────────────────────────────────────────────────────────────────────


def half_square(s: Sample) -> Array:
    v = s.packed(s.v)
    return (v * times(s.M, v)).sum(-1) / 2


def power(s: Sample) -> Array:
    """Of joint forces, external wrenches, and passive forces that are not springs."""
    lost = sum(row for name, row in s.passive.items() if name != "springs")
    return (s.packed(s.v) * (s.packed(s.tau) + lost + s.motions.pushed())).sum(-1)


# ── momentum ─────────────────────────────────────────────────────────────────────────────────────


def momentum_rate(s: Sample) -> Array:
    return s.packed(list(s.along_motion(lambda q, v: momentum.momentum(s.model, q, v))))


def wrenches_from_outside(s: Sample) -> Array:
    """What the world holds at the joints on it, the weight and the external wrenches, about the world's origin."""
    held = rnea.joint_wrenches(s.model, s.q, s.v, s.a, wrenches=s.wrenches)
    X, g = world_poses(s.model, s.q), s.model.gravity
    total = np.zeros((s.states, 6))
    for body in s.model.bodies:
        X_WB, m = X[body.index], body.inertia.mass
        moment = X_WB.rotation @ body.inertia.moment + X_WB.position * m
        total += s.packed(list(Force(moment.cross(g), g * m)))
        if body.parent == 0:
            total += s.packed(list(X_WB @ held[body.joint_name]))
    return total + sum(wrench for _, wrench in _applied(s))


def net_wrenches(s: Sample) -> Array:
    """What reaches each body through its joints and from outside but its weight, by Newton and Euler."""
    _, F = rnea.newton_euler(s.model, s.q, s.v, s.a, wrenches=s.wrenches)
    X = world_poses(s.model, s.q)
    carried = [np.zeros((s.states, 6)), *(s.packed(list(X[b.index] @ F[b.index])) for b in s.model.bodies)]
    net = [np.array(x) for x in carried]
    for body in s.model.bodies:
        net[body.parent] -= carried[body.index]
    for index, wrench in _applied(s):
        net[index] += wrench
    return np.stack(net[1:], axis=1)


def net_wrenches_from_poses(s: Sample) -> Array:
    n, f = s.motions.momentum_rates()
    return np.concatenate([n + np.cross(s.motions.p, f), f], axis=-1)


def wrench_sizes(s: Sample) -> Array:
    """Of each body with all that hangs on it, whose wrenches pass through its joint, (states, bodies, 6)."""
    n, f = (np.array(x) for x in s.motions.body_sizes)
    n += np.linalg.norm(s.motions.p, axis=-1) * f
    for index, wrench in _applied(s):
        n[:, index - 1] += np.linalg.norm(wrench[:, :3], axis=-1)
        f[:, index - 1] += np.linalg.norm(wrench[:, 3:], axis=-1)
    for body in reversed(s.model.bodies):
        if body.parent:
            n[:, body.parent - 1] += n[:, body.index - 1]
            f[:, body.parent - 1] += f[:, body.index - 1]
    return np.stack([n, n, n, f, f, f], axis=-1)


def _applied(s: Sample) -> list[tuple[int, Array]]:
    """Each external wrench: on which body, and what it is about the world's origin."""
    X = world_poses(s.model, s.q)
    found = []
    for name, wrench in s.wrenches.items():
        frame = s.model.frame(name)
        p = X[frame.body] @ frame.placement.position
        found.append((frame.body, s.packed(list(Force(wrench.ang + p.cross(wrench.lin), wrench.lin)))))
    return found


OF_BODIES = (
    Quantity(
        "velocities of bodies",
        (
            Route("recursion with S", velocities),
            Route("differentiated poses", velocities_from_poses),
        ),
        motion_sizes,
        on_bodies,
    ),
    Quantity(
        "accelerations of bodies",
        (
            Route("recursion with S and Ṡv", accelerations),
            Route("poses differentiated twice", accelerations_from_poses),
        ),
        motion_sizes,
        on_bodies,
    ),
    Quantity(
        "Jacobians of bodies",
        (
            Route("columns of S", link_jacobians),
            Route("differentiated poses", link_jacobians_from_poses),
        ),
        link_jacobian_sizes,
        on_bodies,
    ),
    Quantity(
        "Jacobians of frames",
        (
            Route("columns of S", frame_jacobians),
            Route("differentiated poses", frame_jacobians_from_poses),
        ),
        frame_jacobian_sizes,
        on_frames,
    ),
    Quantity(
        "kinetic energies of bodies",
        (
            Route("½ V·IV", lambda s: s.packed(list(energy.kinetic_energies(s.model, s.q, s.v).values()))),
            Route("differentiated poses", lambda s: s.motions.kinetic_energies()),
        ),
        lambda s: s.motions.energy_sizes,
        on_bodies,
    ),
    Quantity(
        "momentum rates of bodies",
        (
            Route("wrenches of Newton–Euler", net_wrenches),
            Route("poses differentiated twice", net_wrenches_from_poses),
        ),
        wrench_sizes,
        on_bodies,
    ),
)

OF_THE_WHOLE = (
    Quantity(
        "kinetic energy",
        (
            Route("sum over bodies", lambda s: s.lanes(energy.kinetic_energy(s.model, s.q, s.v))),
            Route("½ vᵀ M v", half_square),
        ),
        lambda s: (s.motions.mass_sizes * abs(s.packed(s.v))).sum(-1) ** 2,
        on_the_whole,
    ),
    Quantity(
        "energy rate",
        (
            Route(
                "energy differentiated", lambda s: s.lanes(s.along_motion(lambda q, v: energy.energy(s.model, q, v)))
            ),
            Route("power of all forces", power),
        ),
        lambda s: (s.motions.force_sizes * abs(s.packed(s.v))).sum(-1),
        on_the_whole,
    ),
    Quantity(
        "momentum rate",
        (
            Route("momentum differentiated", momentum_rate),
            Route("wrenches from outside", wrenches_from_outside),
        ),
        lambda s: wrench_sizes(s).sum(1),
        on_the_whole,
    ),
)
