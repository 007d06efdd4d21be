"""A model as URDF: one link for each body, at the body's own frame, and one for each named frame, without mass.

A body hangs on its parent by a chain of URDF's joints (see `chains`), with links without mass between them: a universal
joint is two turns, and a frame off the joint's axis is held by a fixed joint. A file whose root link is called "world"
has qdot's world for its root; a model that is one body held at the world's origin needs none.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from xml.etree.ElementTree import Element

from qdot.algebra import Mat3, Vec3
from qdot.description import (
    WORLD,
    Affine,
    CouplingRecord,
    FrameRecord,
    JointSoftness,
    Options,
    Severity,
    ShapeRecord,
)
from qdot.errors import ModelError
from qdot.formats.chains import Chain, Move, Piece, chain_of, own_frames, seen_from
from qdot.formats.urdf_writer_shapes import Shapes, origin
from qdot.formats.written import FAR, MASSLESS, Names, Remarks, Written, child, require_writable, text_of
from qdot.joints import Continuous, Fixed, Free, Joint, Limits, Planar, Prismatic, Revolute
from qdot.model.model import Body, Model
from qdot.spatial import IDENTITY, Inertia, Transform

ROOT_JOINT = "root_joint"
"""What a reader calls the joint that holds the root link."""

_GRAVITY = Vec3(0, 0, -9.81)
_PASSIVE = ("armature", "damping", "friction", "stiffness")
_UPRIGHT = Planar("z", "x")


def to_urdf(model: Model, *, copy_meshes: bool = False) -> Written:
    """The model as URDF text; mechanisms that URDF has no joints for are refused with a `ModelError`."""
    require_writable(model, "to_urdf")
    writer = _Writer(model, copy_meshes)
    writer.write()
    return Written(text_of(writer.robot), writer.shapes.assets, writer.remarks.report())


class _Writer:
    def __init__(self, model: Model, copy_meshes: bool) -> None:
        self.model = model
        self.robot = Element("robot", name=model.name)
        self.remarks = Remarks()
        self.shapes = Shapes(self.robot, self.remarks, copy_meshes)
        self.frames = own_frames(model)
        self.links = Names(model.frames)
        self.joint_names = Names(body.joint_name for body in model.bodies)
        self.joints: dict[str, Element] = {}

    def write(self) -> None:
        description = self.model.description
        stands_alone = self._stands_alone()
        if not stands_alone:
            self._link(WORLD, MASSLESS, IDENTITY, description.world_shapes)
        for body in self.model.bodies:
            record = body.record
            if not (stands_alone and body.parent == 0):
                before = seen_from(self.frames[record.parent], record.placement)
                self._joints(body, chain_of(body, before, _split))
            self._link(body.name, record.inertia, record.frame, record.shapes)
            self._report_body(body)
        for frame in description.frames:
            self._frame(frame)
        for constraint in description.constraints:
            if isinstance(constraint, CouplingRecord):
                self._mimic(constraint)
            else:
                self.remarks.lost("constraint", constraint.name, "holds two frames to each other", constraint.active)
        self._report_rest()

    def _stands_alone(self) -> bool:
        """Whether the model is one body held at the world's origin, as the root link of a file is."""
        roots = [body for body in self.model.bodies if body.parent == 0]
        bare = not self.model.description.world_shapes and all(f.body != WORLD for f in self.model.description.frames)
        if not (bare and len(roots) == 1 and roots[0].joint_name == ROOT_JOINT):
            return False
        chain = chain_of(roots[0], roots[0].placement, _split)
        return not chain.moves and chain.after == IDENTITY

    # ── links ────────────────────────────────────────────────────────────────────────────────────

    def _link(self, name: str, inertia: Inertia, frame: Transform, shapes: tuple[ShapeRecord, ...]) -> None:
        """A link at `frame`, where inertia and shapes are given in the frame that the joint moves."""
        link = child(self.robot, "link", name=name)
        if inertia != MASSLESS:
            self._inertial(link, name, inertia if frame == IDENTITY else frame.inv() @ inertia)
        for shape in shapes:
            self.shapes.add(link, name, shape, frame)

    def _inertial(self, link: Element, name: str, inertia: Inertia) -> None:
        if inertia.mass == 0 and inertia.moment != Vec3.zero():
            self.remarks.add(
                Severity.PHYSICS, "body", name, "a first moment without a mass, which URDF cannot say", "left it out"
            )
        com, I_C = (inertia.com, inertia.at_com) if inertia.mass != 0 else (Vec3.zero(), inertia.rotational)
        inertial = child(link, "inertial")
        child(inertial, "origin", xyz=com)
        child(inertial, "mass", value=inertia.mass)
        child(inertial, "inertia", ixx=I_C.xx, ixy=I_C.xy, ixz=I_C.xz, iyy=I_C.yy, iyz=I_C.yz, izz=I_C.zz)

    def _frame(self, record: FrameRecord) -> None:
        name, pose = record.name, seen_from(self.frames[record.body], record.placement)
        self._joint(self.joint_names.free(f"{name}:fixed"), "fixed", record.body, name, pose)
        child(self.robot, "link", name=name)
        if record.region is not None:
            self.remarks.add(
                Severity.IGNORED, "frame", record.name, "the region about it, which URDF does not have", "left it out"
            )

    # ── joints ───────────────────────────────────────────────────────────────────────────────────

    def _joints(self, body: Body, chain: Chain) -> None:
        """The joints from the parent's link to the body's, and the links without mass between them."""
        parent = body.record.parent
        whole = len(chain.moves) == 1 and chain.moves[0].name == body.joint_name
        if not whole and chain.moves:
            self.remarks.add(
                Severity.NOTE,
                "joint",
                body.joint_name,
                f"a {type(body.joint).__name__} joint, which URDF does not have",
                f"wrote {', '.join(move.name for move in chain.moves)} in a row, with links without mass between them",
            )
        for move in chain.moves:
            last = move is chain.moves[-1] and chain.after == IDENTITY
            end = body.name if last else self.links.free(f"{body.name}:{move.name}")
            name = move.name if whole else self.joint_names.free(move.name)
            self._moving(name, move, parent, end)
            if not last:
                child(self.robot, "link", name=end)
            parent = end
        if not chain.moves:
            self._joint(body.joint_name, "fixed", parent, body.name, chain.after)
        elif chain.after != IDENTITY:
            self._joint(self.joint_names.free(f"{body.name}:fixed"), "fixed", parent, body.name, chain.after)

    def _joint(self, name: str, kind: str, parent: str, end: str, pose: Transform) -> Element:
        joint = child(self.robot, "joint", name=name, type=kind)
        origin(joint, pose)
        child(joint, "parent", link=parent)
        child(joint, "child", link=end)
        self.joints[name] = joint
        return joint

    def _moving(self, name: str, move: Move, parent: str, end: str) -> None:
        joint, limits = move.joint, self._limits(name, move)
        kind = self._kind(name, joint, limits)
        element = self._joint(name, kind, parent, end, move.before)
        if kind != "floating":
            child(element, "axis", xyz=_UPRIGHT.normal if isinstance(joint, Planar) else joint.axis)  # type: ignore[attr-defined]
        if joint.nv == 1:
            self._limit(element, name, kind, limits)
        elif any(abs(x) < inf for x in limits.lower + limits.upper + limits.velocity + limits.effort):
            self.remarks.add(
                Severity.IGNORED, "joint", name, f"limits, which URDF does not have for a {kind} joint", "left them out"
            )
        self._dynamics(element, name, move)

    def _kind(self, name: str, joint: Joint, limits: Limits) -> str:
        if isinstance(joint, Revolute):
            if limits.lower != (-inf,) or limits.upper != (inf,):
                return "revolute"
            self.remarks.add(
                Severity.NOTE,
                "joint",
                name,
                "a turn without limits, which counts full turns",
                "wrote a continuous joint, which does not",
            )
            return "continuous"
        for kind, text in _KINDS.items():
            if isinstance(joint, kind):
                return text
        raise ModelError(
            f"joint {name!r}: URDF has no {type(joint).__name__} joint, nor any that move alike; replace it by turns "
            "and slides, e.g. Compound(Revolute('x'), Revolute('y'), Revolute('z')) for a Spherical, or write MJCF"
        )

    def _limits(self, name: str, move: Move) -> Limits:
        """The limits of the joint, with the range of its drive where that bounds the effort."""
        limits, drive = move.joint.limits, move.body.record.drive_range
        if drive is None or move.joint.nv != 1:
            return limits
        effort = max(-drive[0], drive[1])
        if drive[0] != -drive[1]:
            self.remarks.add(
                Severity.PHYSICS,
                "joint",
                name,
                f"a drive that pulls with {drive[0]} … {drive[1]}, where URDF has one bound both ways",
                f"wrote effort {effort}",
            )
        return Limits(limits.lower, limits.upper, limits.velocity, (min(effort, *limits.effort),))

    def _limit(self, element: Element, name: str, kind: str, limits: Limits) -> None:
        (velocity,), (effort,) = limits.velocity, limits.effort
        bounded = kind != "continuous"
        if not bounded and velocity == effort == inf:
            return
        lower, upper = (limits.lower[0], limits.upper[0]) if bounded else (0.0, 0.0)
        if inf in (velocity, effort, -lower, upper):
            self.remarks.add(
                Severity.NOTE, "joint", name, "without some bound that URDF demands", f"wrote {FAR:g} for it"
            )
        child(
            element,
            "limit",
            lower=max(lower, -FAR) if bounded else None,
            upper=min(upper, FAR) if bounded else None,
            effort=min(effort, FAR),
            velocity=min(velocity, FAR),
        )

    def _dynamics(self, element: Element, name: str, move: Move) -> None:
        rows = {kind: move.per_freedom(getattr(move.body.passive, kind)) for kind in _PASSIVE}
        if move.joint.nv == 1 and any(rows["damping"] + rows["friction"]):
            child(element, "dynamics", damping=rows.pop("damping"), friction=rows.pop("friction"))
        for kind, row in rows.items():
            if any(row):
                self.remarks.lost("joint", name, f"{kind}, which URDF does not have for such a joint")

    def _mimic(self, record: CouplingRecord) -> None:
        """y = y₀ + a₀ + a₁ (x - x₀) is multiplier · x + offset."""
        what = "couples coordinates in a way that URDF does not have"
        a0, a1, *higher = (*record.coefficients, 0, 0)
        follower = self.joints.get(record.follower)
        if record.driver is None or record.tendons or any(higher) or follower is None or not record.active:
            self.remarks.lost("constraint", record.name, what, record.active)
        elif follower.find("mimic") is not None:
            self.remarks.lost("constraint", record.name, "couples a joint that follows another already")
        else:
            y0, x0 = record.reference
            child(follower, "mimic", joint=record.driver, multiplier=a1, offset=y0 + a0 - a1 * x0)

    # ── what is left ─────────────────────────────────────────────────────────────────────────────

    def _report_body(self, body: Body) -> None:
        record = body.record
        if record.gravity_compensation:
            self.remarks.lost("body", body.name, "a weight that is held up, which URDF does not have")
        if record.target:
            self.remarks.lost("body", body.name, "moved from outside, which URDF does not have: it is held still")
        for what in _soft(body):
            self.remarks.lost("joint", body.joint_name, f"the softness of its {what}, which URDF does not have")
        if record.home and list(record.home) != body.joint.neutral():
            self.remarks.lost("joint", body.joint_name, "a configuration to start in, which URDF does not have", False)
        if isinstance(body.joint, Free):
            self.remarks.add(
                Severity.NOTE,
                "joint",
                body.joint_name,
                "a free joint",
                f"wrote a floating joint on link {record.parent!r}; programs that add a floating base themselves want "
                "neither",
            )

    def _report_rest(self) -> None:
        d = self.model.description
        if self.model.gravity != _GRAVITY:
            self.remarks.lost("gravity", "", f"{tuple(self.model.gravity)}, where URDF means {tuple(_GRAVITY)}")
        if d.fluid.density or d.fluid.viscosity:
            self.remarks.lost("fluid", "", "URDF has no medium to move in")
        for loop in d.loops:
            self.remarks.lost("loop joint", loop.name, "closes a loop, and URDF has trees only")
        for tendon in d.tendons:
            pulls = tendon.stiffness or tendon.damping or tendon.friction or tendon.armature or tendon.range
            self.remarks.lost("tendon", tendon.name, "URDF has no tendons", pulls)
        for actuator in d.actuators:
            self.remarks.lost("actuator", actuator.name, "URDF has no actuators", actuator.bias != Affine())
        for bushing in d.bushings:
            self.remarks.lost("bushing", bushing.name, "URDF has no springs between links")
        for pair in d.pairs:
            self.remarks.lost("contact pair", pair.name, "URDF does not say which shapes touch")
        for exclusion in d.exclusions:
            self.remarks.lost("exclusion", exclusion.name, "URDF does not say which bodies never touch")
        for kind, records in (("sensor", d.sensors), ("keyframe", d.keyframes)):
            for record in records:
                self.remarks.lost(kind, record.name, f"URDF has no {kind}s", False)
        if d.options != Options():
            self.remarks.lost("options", "", "URDF does not say how to simulate", False)


_KINDS: dict[type[Joint], str] = {
    Continuous: "continuous",
    Prismatic: "prismatic",
    Planar: "planar",
    Free: "floating",
}


def _soft(body: Body) -> Iterator[str]:
    """What a joint has of limits and dry friction with a softness that is not the usual one."""
    softness, usual, limits = body.record.softness, JointSoftness(), body.joint.limits
    bounded = any(abs(x) < inf for x in limits.lower + limits.upper)
    if bounded and (softness.limit, softness.margin) != (usual.limit, usual.margin):
        yield "limits"
    if any(body.passive.friction) and softness.friction != usual.friction:
        yield "dry friction"


def _split(joint: Joint) -> list[Piece] | None:
    """URDF's planar joint moves in the plane of x and y."""
    if not isinstance(joint, Planar) or (joint.normal == _UPRIGHT.normal and joint.across == _UPRIGHT.across):
        return None
    turn = Transform(Mat3(joint.across, joint.up, joint.normal).T, Vec3.zero())
    upright = Planar("z", "x", limits=joint.limits)
    return [(Fixed(turn), 0, 0), (upright, 0, 0), (Fixed(turn.inv().transform()), 3, 3)]
