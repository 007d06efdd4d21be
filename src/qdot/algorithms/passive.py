"""What a mechanism does by itself: springs, viscous and dry friction, weight held up, drag of a fluid; and the inertia
of its drives."""

from __future__ import annotations

from qdot.algebra import Scalar, Scalars, derivative, is_number, is_zero, maximum, minimum, sign
from qdot.algorithms.applied import add_force, joint_forces
from qdot.algorithms.bushings import bushing_dampers, bushing_energy, bushing_springs
from qdot.algorithms.fluid import drag
from qdot.algorithms.kinematics import kinematics, world_poses
from qdot.algorithms.tendons import Tendon, tendons
from qdot.description import Fluid, TendonRecord
from qdot.model.model import Body, Model
from qdot.spatial import Force


def passive_forces(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """Joint forces of springs, dampers, dry friction, weight compensation and drag together, (nv,) [N·m, N].

    Dry friction opposes motion; at v = 0 it gives nothing here, since how much it holds depends on all other forces.
    """
    return [sum(terms) for terms in zip(*passive_terms(model, q, v).values(), strict=True)]


def passive_terms(model: Model, q: Scalars, v: Scalars) -> dict[str, list[Scalar]]:
    """The passive forces by cause, each (nv,) [N·m, N]: "springs" -∂U/∂q, "dampers" -d v, "friction" -f sign(v),
    "compensation" of weight, and "fluid"; springs and dampers of joints, tendons and bushings, friction of joints and
    tendons."""
    X = world_poses(model, q) if model.tendons or model.bushings else []
    ropes = tendons(model, q, X)
    springs, dampers, friction = _of_joints(model, q, v)
    rubs = has_friction(model)
    for record, tendon in zip(model.tendons, ropes, strict=True):
        rate = tendon.rate(v)
        for total, force in (
            (springs, -_spring_pull(record, tendon)),
            (dampers, -(record.damping * rate)),
            (friction, -(record.friction * sign(rate)) if rubs and not is_zero(record.friction) else 0),
        ):
            if not is_zero(force):
                total[:] = [t + g * force for t, g in zip(total, tendon.gradient, strict=True)]
    if model.bushings:
        springs = [x + y for x, y in zip(springs, bushing_springs(model, q, X), strict=True)]
        dampers = [x + y for x, y in zip(dampers, bushing_dampers(model, q, v, X), strict=True)]
    held = gravity_compensation(model, q)
    by_drives = driven(model)
    return {
        "springs": springs,
        "dampers": dampers,
        "friction": friction,
        "compensation": [0 if k in by_drives else x for k, x in enumerate(held)],
        "fluid": _fluid_forces(model, q, v),
    }


def gravity_compensation(model: Model, q: Scalars) -> list[Scalar]:
    """Joint forces that hold up the compensated part of each body's weight, (nv,) [N·m, N]."""
    lifted = [body for body in model.bodies if not is_zero(body.record.gravity_compensation)]
    if not lifted:
        return [0] * model.nv
    X = world_poses(model, q)
    forces: dict[int, Force] = {}
    for body in lifted:
        X_WB, I, share = X[body.index], body.inertia, body.record.gravity_compensation
        g = model.gravity * -share
        moment = (X_WB.rotation @ I.moment + X_WB.position * I.mass).cross(g)
        add_force(forces, body.index, Force(moment, g * I.mass))
    return joint_forces(model, q, X, forces)


def driven(model: Model) -> set[int]:
    """The freedoms whose weight compensation is the work of their drive."""
    return {k for b in model.bodies if b.record.compensated_by_drive for k in range(b.dofs.start, b.dofs.stop)}


def spring_energy(model: Model, q: Scalars) -> Scalar:
    """Σ ½ k (q ⊖ rest)² of joints, Σ ½ k (L - rest)² of tendons, and that of bushings [J]."""
    total: Scalar = sum((_spring_energy(body, q[body.qs]) for body in model.bodies), start=0)
    pulls = any(not is_zero(record.stiffness) for record in model.tendons)
    X = world_poses(model, q) if pulls or model.bushings else []
    for record, tendon in zip(model.tendons, tendons(model, q, X), strict=True) if pulls else ():
        stretch = _stretch(record, tendon)
        total = total + record.stiffness * stretch * stretch / 2
    return total + bushing_energy(model, X) if model.bushings else total


def armature(model: Model) -> list[Scalar]:
    """Inertia of the drives at each freedom, (nv,), to be added to the diagonal of M [kg·m², kg]."""
    return [x for body in model.bodies for x in body.passive.armature]


def _of_joints(model: Model, q: Scalars, v: Scalars) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """The forces of the joints' own springs, dampers and dry friction."""
    springs: list[Scalar] = [0] * model.nv
    dampers: list[Scalar] = [0] * model.nv
    friction: list[Scalar] = [0] * model.nv
    for body in model.bodies:
        springs[body.dofs] = _spring_force(body, q[body.qs])
        dampers[body.dofs] = [-(d * x) for d, x in zip(body.passive.damping, v[body.dofs], strict=True)]
        if has_friction(model):
            dry = zip(body.passive.friction, v[body.dofs], strict=True)
            friction[body.dofs] = [0 if is_zero(f) else -(f * sign(x)) for f, x in dry]
    return springs, dampers, friction


def acts_across_joints(model: Model) -> bool:
    """Whether some passive force at a joint depends on other joints: of tendons, bushings, drag, or weight held up."""
    pulls = any(not is_zero(x) for t in model.tendons for x in (t.stiffness, t.damping))
    held = any(not is_zero(body.record.gravity_compensation) for body in model.bodies)
    return pulls or held or bool(model.bushings) or model.description.fluid != Fluid()


def has_friction(model: Model) -> bool:
    """Whether the model's options leave dry friction switched on."""
    return not model.description.options.disabled & {"constraint", "frictionloss"}


def _fluid_forces(model: Model, q: Scalars, v: Scalars) -> list[Scalar]:
    """Drag on every body that has a box for it."""
    if model.description.fluid == Fluid():
        return [0] * model.nv
    motion = kinematics(model, q, v)
    forces: dict[int, Force] = {}
    for body in model.bodies:
        for box in body.record.drag:
            wrench = drag(model.description.fluid, box, motion, body.index)
            add_force(forces, body.index, motion.poses[body.index] @ wrench)
    return joint_forces(model, q, motion.poses, forces)


def _spring_energy(body: Body, q: Scalars) -> Scalar:
    k = body.passive.stiffness
    if all(is_zero(x) for x in k):
        return 0
    stretch = body.joint.difference(body.passive.rest, q)
    return sum(ki * x * x for ki, x in zip(k, stretch, strict=True)) / 2


def _spring_force(body: Body, q: Scalars) -> list[Scalar]:
    """-∂U/∂q along each freedom: -k (q - rest) on a line, the same by the chain rule on a manifold."""
    nv = body.joint.nv
    if all(is_zero(x) for x in body.passive.stiffness):
        return [0] * nv
    unit = [[1.0 if i == k else 0.0 for i in range(nv)] for k in range(nv)]
    return [-derivative(lambda dv: _spring_energy(body, body.joint.retract(q, dv)), e) for e in unit]


def _spring_pull(record: TendonRecord, tendon: Tendon) -> Scalar:
    return 0 if is_zero(record.stiffness) else record.stiffness * _stretch(record, tendon)


def _stretch(record: TendonRecord, tendon: Tendon) -> Scalar:
    """How far the length is beyond the slack interval: positive above, negative below, zero within."""
    low, high = record.rest
    if low is high or (is_number(low) and is_number(high) and low == high):
        return tendon.length - low
    return maximum(tendon.length - high, 0) + minimum(tendon.length - low, 0)
