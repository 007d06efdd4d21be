"""Constraints, loop joints and pairs of contacts of a model as MuJoCo's."""

from __future__ import annotations

from math import comb
from xml.etree.ElementTree import Element

from qdot.algebra import Scalar, Vec3, sqrt
from qdot.description import (
    WORLD,
    ConnectRecord,
    CouplingRecord,
    DistanceRecord,
    ExclusionRecord,
    LoopRecord,
    PairRecord,
    Severity,
    Softness,
    Weighted,
    WeldRecord,
)
from qdot.description.constraints import ConstraintRecord
from qdot.formats.chains import chain_of, compose, own_frames, seen_from, split_for_mujoco
from qdot.formats.mjcf_writer_bodies import Bodies, laid_out
from qdot.formats.mjcf_writer_forces import Forces
from qdot.formats.mjcf_writer_shapes import Geoms, soft
from qdot.formats.written import Remarks, child, unless
from qdot.joints import Fixed, Revolute, Spherical
from qdot.spatial import IDENTITY, Transform

MOST_COEFFICIENTS = 5
_TOGETHER = 1e-9
"""Points that are nearer than this at home [m] are one point."""


class Constraints:
    """Writes what holds a mechanism together beside its tree, and what may touch."""

    def __init__(
        self, equality: Element, contact: Element, bodies: Bodies, geoms: Geoms, forces: Forces, remarks: Remarks
    ) -> None:
        self.equality, self.contact = equality, contact
        self.bodies, self.geoms, self.forces, self.remarks = bodies, geoms, forces, remarks
        self.model = bodies.model
        self._at_home = _home_poses(bodies)

    def add(self, record: ConstraintRecord) -> None:
        match record:
            case ConnectRecord():
                self._connect(record)
            case WeldRecord():
                self._weld(record)
            case DistanceRecord():
                self._rod(record)
            case CouplingRecord():
                self._couple(record)

    def _connect(self, record: ConnectRecord) -> None:
        """Between bodies MuJoCo takes one point, and the other where it is at home; between sites their origins."""
        ends: dict[str, object]
        point1, point2 = Vec3.of(record.point1), Vec3.of(record.point2)
        if self._are_bodies(record.frame1, record.frame2) and self._meet(record.frame1, point1, record.frame2, point2):
            ends = {"body1": record.frame1, "body2": record.frame2, "anchor": point1}
        else:
            ends = self._sites(record.name, record.frame1, _at(point1), record.frame2, _at(point2))
        self._equality("connect", record, ends)

    def _weld(self, record: WeldRecord) -> None:
        ends: dict[str, object]
        if self._are_bodies(record.frame1, record.frame2):
            X = record.placement1
            ends = {
                "body1": record.frame1,
                "body2": record.frame2,
                "relpose": (*X.position, *X.quaternion().normalized()),
                "anchor": record.point2,
            }
        else:
            point2 = _at(Vec3.of(record.point2))
            ends = self._sites(record.name, record.frame1, record.placement1, record.frame2, point2)
        self._equality("weld", record, {**ends, "torquescale": record.torque_scale})

    def _rod(self, record: DistanceRecord) -> None:
        """A tendon whose length is held; MuJoCo counts it from that at home."""
        point1, point2 = Vec3.of(record.point1), Vec3.of(record.point2)
        sites = self._sites(record.name, record.frame1, _at(point1), record.frame2, _at(point2))
        apart = self._apart(record.frame1, point1, record.frame2, point2)
        tendon = self.forces.add_string(record.name, map(str, sites.values()))
        polynomial = (record.length - sqrt(apart.dot(apart)), *(0,) * (MOST_COEFFICIENTS - 1))
        self._equality("tendon", record, {"tendon1": tendon, "polycoef": polynomial})
        found, done = "a rod, which MuJoCo does not have", f"wrote a tendon whose length is held, {tendon!r}"
        self.remarks.add(Severity.NOTE, "constraint", record.name, found, done)

    def _couple(self, record: CouplingRecord) -> None:
        kind = "tendon" if record.tendons else "joint"
        driver = record.driver
        (y0, x0), coefficients = record.reference, list(record.coefficients)
        lift = y0 - self._home(record.follower, record.tendons, y0)
        shift = 0 if driver is None else self._home(driver, record.tendons, x0) - x0
        settled = _shifted(coefficients, shift)
        settled[0] += lift
        if any(settled[MOST_COEFFICIENTS:]):
            self.remarks.lost("constraint", record.name, "a polynomial of degree 5 or more", record.active)
            return
        polynomial = (*settled, *(0,) * MOST_COEFFICIENTS)[:MOST_COEFFICIENTS]
        ends: dict[str, object] = {f"{kind}1": record.follower, f"{kind}2": driver, "polycoef": polynomial}
        self._equality(kind, record, ends)

    def _home(self, name: str, is_tendon: bool, given: Scalar) -> Scalar:
        """The position of a joint, or the length of a tendon, at home: what MuJoCo counts from."""
        if not is_tendon:
            body = self.model.joint(name)
            return (body.record.home or body.joint.neutral())[0]
        tendon = next(t for t in self.model.description.tendons if t.name == name)
        if tendon.fixed:
            terms = [part for part in tendon.path if isinstance(part, Weighted)]
            return tendon.offset + sum(part.coefficient * self._home(part.joint, False, 0) for part in terms)
        found, done = (
            "a spatial tendon that follows another or is followed",
            "took the reference for its length at home",
        )
        self.remarks.add(Severity.NOTE, "tendon", name, found, done)
        return given

    def add_loop(self, record: LoopRecord) -> None:
        """A loop joint: a ball holds a point, a hinge two points of its axis, a fixed joint a pose."""
        name, one, two = record.name, record.predecessor, record.successor
        joint, origin = record.joint, Vec3.zero()
        if isinstance(joint, Fixed):
            self._weld(WeldRecord(name, one, joint.placement, two, origin))
        elif isinstance(joint, Spherical):
            self._connect(ConnectRecord(name, one, origin, two, origin))
        elif isinstance(joint, Revolute):
            self._connect(ConnectRecord(name, one, origin, two, origin))
            self._connect(ConnectRecord(f"{name}_axis", one, joint.axis, two, joint.axis))
        else:
            found = f"a {type(joint).__name__} joint that closes a loop, which MuJoCo does not have"
            self.remarks.lost("loop joint", name, found)
            return
        found, done = "a joint that closes a loop", "wrote an equality constraint, which gives way a little"
        self.remarks.add(Severity.NOTE, "loop joint", name, found, done)
        if any(abs(x) < float("inf") for x in joint.limits.lower + joint.limits.upper):
            self.remarks.lost("loop joint", name, "limits, which MuJoCo does not have for it")

    def add_pair(self, record: PairRecord) -> None:
        usual = PairRecord("", "", "")
        gone = [shape for shape in (record.shape1, record.shape2) if shape not in self.geoms.names]
        if gone:
            self.remarks.lost("contact pair", record.name, f"its shape {gone[0]!r} is left out")
            return
        child(
            self.contact,
            "pair",
            name=record.name,
            geom1=self.geoms.names[record.shape1],
            geom2=self.geoms.names[record.shape2],
            condim=unless(usual.dimension, record.dimension),
            friction=unless(usual.friction, record.friction),
            margin=unless(usual.margin, record.margin),
            gap=unless(usual.gap, record.gap),
            solreffriction=unless((), record.friction_solref),
            **soft(record.softness),
        )

    def add_exclusion(self, record: ExclusionRecord) -> None:
        child(self.contact, "exclude", name=record.name, body1=record.body1, body2=record.body2)

    # ── what they are made of ────────────────────────────────────────────────────────────────────

    def _equality(self, kind: str, record: ConstraintRecord, ends: dict[str, object]) -> None:
        softness: Softness = record.softness
        active = unless(True, record.active)
        child(self.equality, kind, name=record.name, active=active, **ends, **soft(softness))

    def _are_bodies(self, *frames: str) -> bool:
        return all(frame in self.bodies.elements for frame in frames)

    def _sites(self, name: str, frame1: str, pose1: Transform, frame2: str, pose2: Transform) -> dict[str, object]:
        """Two sites: the frames' own where nothing is off them, else new ones."""
        places = zip(("site1", "site2"), (frame1, frame2), (pose1, pose2), strict=True)
        return {
            key: self.bodies.site_of(frame) if pose == IDENTITY else self.bodies.add_site(f"{name}_{key}", frame, pose)
            for key, frame, pose in places
        }

    def _meet(self, frame1: str, point1: Vec3, frame2: str, point2: Vec3) -> bool:
        """Whether two points are in one place at home."""
        apart = self._apart(frame1, point1, frame2, point2)
        return bool(apart.dot(apart) <= _TOGETHER**2)

    def _apart(self, frame1: str, point1: Vec3, frame2: str, point2: Vec3) -> Vec3:
        """From one point to another at home, in world axes."""
        return self._at_home[frame1] @ point1 - self._at_home[frame2] @ point2


def _at(point: Vec3) -> Transform:
    return Transform(IDENTITY.rotation, point)


def _home_poses(bodies: Bodies) -> dict[str, Transform]:
    """All frames in the world, where MuJoCo starts."""
    frames, own = own_frames(bodies.model), {WORLD: IDENTITY}
    for body in bodies.model.bodies:
        parent = body.record.parent
        chain = chain_of(body, seen_from(frames[parent], body.placement), split_for_mujoco)
        own[body.name] = compose(own[parent], laid_out(*chain)[0])
    on_bodies = {name: bodies.on_body(name) for name in bodies.model.frames}
    return {name: compose(own[body], place) for name, (body, place) in on_bodies.items()}


def _shifted(coefficients: list[Scalar], shift: Scalar) -> list[Scalar]:
    """The coefficients of the same polynomial in x - shift instead of x: Σ aₖ (x + shift)ᵏ."""
    if not shift:
        return coefficients or [0]
    n = len(coefficients)
    return [sum(coefficients[k] * comb(k, j) * shift ** (k - j) for k in range(j, n)) for j in range(n)] or [0]
