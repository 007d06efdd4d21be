"""Euler's method, semi-implicit: velocities first, then positions with the new ones. Order 1.

    v' = v + dt a(q, v),   q ⊕ dt v'

Velocities that are written in axes of a body, those of free ones, are stepped in axes that do not turn, so that a body
on which nothing acts flies straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qdot.algebra import Scalar, is_zero
from qdot.algebra.linalg import dot
from qdot.algorithms.articulated import Articulated
from qdot.algorithms.configuration import carried, retract, straight
from qdot.algorithms.frames import root_frame
from qdot.algorithms.maps import added
from qdot.algorithms.passive import armature
from qdot.errors import ValueShapeError
from qdot.simulation.integrators.base import Integrator, Stepped
from qdot.simulation.phase import Phase, along
from qdot.simulation.system import Acting, Inputs, System
from qdot.spatial import ArticulatedInertia, Inertia


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """One evaluation a step; of closed loops and chains it keeps energy better than its order tells.

    With `implicit_dampers` those of joints act at the new velocity, (M + dt B) Δv = dt M a: stable however strong they
    are. MuJoCo's Euler does so.
    """

    implicit_dampers: bool = False

    name = "semi-implicit euler"
    order = 1

    def step(self, system: System, phase: Phase, inputs: Inputs, dt: Scalar, memory: Sequence[Scalar]) -> Stepped:
        acting = system.acting(phase, inputs, dt, chord=True)
        led_back = [x - y for x, y in zip(acting.rates.q, phase.v, strict=True)]
        a, forces = acting.rates.v, acting.forces
        if self.implicit_dampers:
            a, forces = _damped(system, phase, acting, dt)
        v = along(phase.v, a, dt)
        mean = [(x + y) / 2 for x, y in zip(phase.v, v, strict=True)]
        work = [dot(f, mean) for f in forces.values()]
        return Stepped(along_chord(system, phase, v, led_back, work, inputs, dt))


def _damped(system: System, phase: Phase, acting: Acting, dt: Scalar) -> tuple[list[Scalar], dict[str, list[Scalar]]]:
    """The acceleration where dampers of joints oppose the new velocity, and the forces that make it."""
    model, a = system.model, acting.rates.v
    B = [b for body in model.bodies for b in body.passive.damping]
    if all(is_zero(b) for b in B):
        return list(a), acting.forces
    if system.row_count:
        raise ValueShapeError(
            "implicit_dampers of the semi-implicit Euler method go with soft constraints only; take the integrator "
            "'implicit velocity', which treats all dampers so"
        )
    at = root_frame(model, phase.q)
    inertias = (Inertia.zero(), *(at.placed(body.index, body.inertia) for body in model.bodies))
    drives = [d + dt * b for d, b in zip(armature(model), B, strict=True)]
    stiff = Articulated.of(model, at, [ArticulatedInertia.of(I) for I in inertias], drives)
    less = stiff.solve([dt * b * x for b, x in zip(B, a, strict=True)])  # (M + dt B)⁻¹ M a = a - (M + dt B)⁻¹ dt B a
    new = [x - y for x, y in zip(a, less, strict=True)]
    forces = dict(acting.forces)
    if "dampers" in forces:
        later = zip(forces["dampers"], B, new, strict=True)
        forces["dampers"] = [f - b * dt * x for f, b, x in later]
    return new, forces


def along_chord(
    system: System,
    phase: Phase,
    v: Sequence[Scalar],
    led_back: Sequence[Scalar],
    work: Sequence[Scalar],
    inputs: Inputs,
    dt: Scalar,
) -> Phase:
    """The phase after a step along the new velocity v, in the axes of the start; `led_back` is added to it for q."""
    model, step = system.model, [dt * x for x in v]
    q = retract(model, phase.q, added(straight(model, step), [dt * x for x in led_back]))
    activation = system.later_activations(phase, inputs, dt)
    return Phase(phase.time + dt, q, carried(model, v, step), activation, along(phase.work, work, dt))
