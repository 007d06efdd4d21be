"""Bodies and joints of a compiled MuJoCo model.

MuJoCo's body has a frame of its own, and any number of joints at anchor points on it, which act one after the other.
qdot's body has one joint, which moves its frame B. So B has its origin at the anchor of the last joint and the axes of
MuJoCo's frame, which lies at -anchor in B; every joint before the last moves a link without mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Vec3
from qdot.description import WORLD, BodyRecord, JointSoftness, Passive, ShapeRecord
from qdot.errors import ModelError
from qdot.formats.axes import named_axis
from qdot.formats.mjcf_read_constraints import softnesses
from qdot.formats.mjcf_read_names import Names
from qdot.formats.mjcf_read_poses import drag_boxes, inertias, shifts
from qdot.joints import Fixed, Free, Joint, Limits, Prismatic, Revolute, Spherical
from qdot.spatial import IDENTITY, Inertia, Transform
from qdot.spatial.transform import axis_rotation

if TYPE_CHECKING:
    from numpy.typing import NDArray

NQ, NV = (7, 4, 1, 1), (6, 3, 1, 1)
"""Coordinates and freedoms of each kind of joint."""

_MASSLESS, _FIXED = Inertia.zero(), Fixed()
_UNBOUNDED = (inf,)
_UNLIMITED = Limits((-inf,), _UNBOUNDED, _UNBOUNDED, _UNBOUNDED)


class Kind:
    """MuJoCo's numbers for kinds of joints; plain numbers, for enumerations take their time to look one up."""

    FREE, BALL, SLIDE, HINGE = range(4)


_OF_ONE_FREEDOM = frozenset((Kind.SLIDE, Kind.HINGE))


def read_bodies(
    m: Any,
    names: Names,
    anchors: NDArray[np.float64],
    placements: list[Transform],
    shapes: list[list[ShapeRecord]],
    drives: dict[int, tuple[float, float]],
    disabled: frozenset[str],
) -> tuple[BodyRecord, ...]:
    """All bodies but the world, each after its parent, at these placements of their first joints. `drives` are
    armature and damping that actuators add at joints, `disabled` the flags that take springs or dampers away."""
    body_names, joint_names = names.of["body"], names.of["joint"]
    for k in np.flatnonzero(~np.isfinite(m.qpos0[m.jnt_qposadr])).tolist():
        raise ModelError(f"joint {joint_names[k]!r}: its reference is not a finite number; correct it")
    joints = _Joints(m, drives, disabled)
    frames, solids, compensation = shifts(-anchors), inertias(m, anchors), m.body_gravcomp.tolist()
    steps = shifts(np.diff(m.jnt_pos, axis=0))
    drag = drag_boxes(m, anchors) if m.opt.density > 0 or m.opt.viscosity > 0 else [()] * m.nbody
    if {"spring", "damper"} <= disabled:  # then MuJoCo leaves out every passive force
        compensation, drag = [0.0] * m.nbody, [()] * m.nbody
    starts, counts, parents, mocap = (
        array.tolist() for array in (m.body_jntadr, m.body_jntnum, m.body_parentid, m.body_mocapid)
    )
    records = []
    for i in range(1, m.nbody):
        parent, placement = body_names[parents[i]] if parents[i] else WORLD, placements[i]
        for k in range(starts[i], starts[i] + counts[i] - 1):
            records.append(joints.record(k, names.links[k], parent, joint_names[k], placement, _MASSLESS))
            parent, placement = names.links[k], steps[k]
        own: dict[str, Any] = {
            "shapes": tuple(shapes[i]),
            "frame": frames[i],
            "gravity_compensation": compensation[i],
            "drag": drag[i],
        }
        if counts[i]:
            k = starts[i] + counts[i] - 1
            record = joints.record(k, body_names[i], parent, joint_names[k], placement, solids[i], **own)
        else:
            fixed = names.fixed[i]
            record = BodyRecord(
                body_names[i], parent, _FIXED, fixed, placement, solids[i], target=mocap[i] >= 0, **own
            )  # fmt: skip
        records.append(record)
    return tuple(records)


class _Joints:
    """The joints of a model as lists, and the records of the bodies they move."""

    def __init__(self, m: Any, drives: dict[int, tuple[float, float]], disabled: frozenset[str]) -> None:
        armature, damping = m.dof_armature.copy(), m.dof_damping.copy()
        for joint, (inertia, damper) in drives.items():
            freedoms = m.dof_jntid == joint
            armature[freedoms] += inertia
            damping[freedoms] += damper
        if "damper" in disabled:
            damping[:] = 0
        stiffness = m.jnt_stiffness if "spring" not in disabled else np.zeros(m.njnt)
        axes = m.jnt_axis + 0.0
        axes[np.abs(axes) < 1e-15] = 0.0  # as in rotations
        self.axes = [tuple(axis) for axis in axes.tolist()]
        self.kinds, self.qs, self.dofs = m.jnt_type.tolist(), m.jnt_qposadr.tolist(), m.jnt_dofadr.tolist()
        self.q0, self.rest, self.stiffness = m.qpos0.tolist(), m.qpos_spring.tolist(), stiffness.tolist()
        self.armature, self.damping, self.friction = armature.tolist(), damping.tolist(), m.dof_frictionloss.tolist()
        self.limited, self.range, self.margin = m.jnt_limited.tolist(), m.jnt_range.tolist(), m.jnt_margin.tolist()
        self.bounded, self.bounds = m.jnt_actfrclimited.tolist(), m.jnt_actfrcrange.tolist()
        self.by_drive = m.jnt_actgravcomp.tolist()
        self.limit, self.dry = softnesses(m.jnt_solref, m.jnt_solimp), softnesses(m.dof_solref, m.dof_solimp)

    def record(
        self, k: int, name: str, parent: str, joint_name: str, placement: Transform, inertia: Inertia, **own: Any
    ) -> BodyRecord:
        """The body that joint k moves."""
        return BodyRecord(
            name,
            parent,
            self._joint(k),
            joint_name,
            self._at_zero(k, placement),
            inertia,
            self._passive(k),
            home=self._home(k),
            compensated_by_drive=bool(self.by_drive[k]),
            drive_range=tuple(self.bounds[k]) if self.bounded[k] else None,
            softness=JointSoftness(self.limit[k], self.dry[self.dofs[k]], self.margin[k]),
            **own,
        )

    def _joint(self, k: int) -> Joint:
        lower, upper = self.range[k]
        match self.kinds[k]:
            case Kind.FREE:
                return Free()
            case Kind.BALL:  # the range is that of the angle
                return Spherical(limits=Limits((0.0,), (upper,)) if self.limited[k] else None)
            case kind:
                make = Prismatic if kind == Kind.SLIDE else Revolute
                limits = Limits((lower,), (upper,), _UNBOUNDED, _UNBOUNDED) if self.limited[k] else _UNLIMITED
                return make(named_axis(self.axes[k]), limits=limits)

    def _at_zero(self, k: int, placement: Transform) -> Transform:
        """MuJoCo's body is where the file puts it at q = reference, not at zero."""
        kind, reference = self.kinds[k], self.q0[self.qs[k]]
        if kind == Kind.FREE:
            return IDENTITY  # its configuration is the whole pose
        if kind == Kind.BALL or reference == 0:
            return placement
        axis = Vec3(*self.axes[k])
        if kind == Kind.SLIDE:
            return placement @ Transform(IDENTITY.rotation, axis * -reference)
        return placement @ Transform(axis_rotation(axis, -reference), Vec3.zero())

    def _home(self, k: int) -> tuple[float, ...]:
        """The configuration that the body starts in; nothing for the neutral one."""
        q = self._configuration(k, self.q0)
        first = 0 if self.kinds[k] in _OF_ONE_FREEDOM else 1  # of a quaternion
        return () if q[0] == first and not any(q[1:]) else q

    def _passive(self, k: int) -> Passive:
        stiffness = self.stiffness[k]
        return Passive(
            self._freedoms(k, self.armature),
            self._freedoms(k, self.damping),
            self._freedoms(k, self.friction),
            (stiffness,) * NV[self.kinds[k]] if stiffness else (),
            self._configuration(k, self.rest) if stiffness else (),
        )

    def _freedoms(self, k: int, values: list[float]) -> tuple[float, ...]:
        """A value for each freedom, in qdot's order; nothing where all are zero."""
        kind, start = self.kinds[k], self.dofs[k]
        if kind in _OF_ONE_FREEDOM:
            value = values[start]
            return (value,) if value else ()
        row = values[start : start + NV[kind]]
        if not any(row):
            return ()
        return (*row[3:], *row[:3]) if kind == Kind.FREE else tuple(row)

    def _configuration(self, k: int, q: Sequence[float]) -> tuple[float, ...]:
        """Joint k's part of MuJoCo's q, in qdot's order."""
        kind, start = self.kinds[k], self.qs[k]
        if kind in _OF_ONE_FREEDOM:
            return (q[start],)
        row = q[start : start + NQ[kind]]
        return (*row[3:], *row[:3]) if kind == Kind.FREE else tuple(row)
