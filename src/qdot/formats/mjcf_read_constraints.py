"""Equality constraints of a compiled MuJoCo model, pairs of geoms that may touch, and pairs of bodies that never do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qdot.algebra import Vec3
from qdot.description import ConnectRecord, CouplingRecord, ExclusionRecord, PairRecord, Softness, WeldRecord
from qdot.description.constraints import ConstraintRecord
from qdot.formats.mjcf_read_names import Names
from qdot.formats.mjcf_read_poses import poses
from qdot.spatial import Transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONNECT, WELD, JOINT, TENDON = range(4)  # MuJoCo's numbers for kinds of constraints
_SITE = 6  # as the type of an object; 1 is a body


def softnesses(solref: NDArray[np.float64], solimp: NDArray[np.float64]) -> list[Softness]:
    """How each constraint gives way, by two and by five numbers; one record for all that are alike."""
    rows = [*map(tuple, np.hstack((solref, solimp)).tolist())]
    made = {row: Softness(row[:2], row[2:]) for row in {*rows}}
    return [made[row] for row in rows]


def read_constraints(m: Any, names: Names) -> tuple[ConstraintRecord, ...]:
    """Connects, welds, and couplings of joints and tendons; those of flexes have no record."""
    if m.neq == 0:
        return ()
    q0, lengths = m.qpos0[m.jnt_qposadr].tolist(), m.tendon_length0.tolist()
    on_body1 = poses(m.eq_data[:, 3:6], m.eq_data[:, 6:10])  # of welds
    records: list[ConstraintRecord] = []
    for k, (kind, of, one, two, data, active, soft) in enumerate(
        zip(
            m.eq_type.tolist(),
            m.eq_objtype.tolist(),
            m.eq_obj1id.tolist(),
            m.eq_obj2id.tolist(),
            m.eq_data.tolist(),
            m.eq_active0.tolist(),
            softnesses(m.eq_solref, m.eq_solimp),
            strict=True,
        )
    ):
        name = names.of["equality"][k]
        how: dict[str, Any] = {"active": bool(active), "softness": soft}
        if kind in (CONNECT, WELD):
            between_sites = of == _SITE
            frame1, frame2 = (names.of["site" if between_sites else "body"][i] for i in (one, two))
            point1, point2 = Vec3(*data[:3]), Vec3(*data[3:6])
            if kind == CONNECT:
                points = (Vec3.zero(),) * 2 if between_sites else (point1, point2)
                records.append(ConnectRecord(name, frame1, points[0], frame2, points[1], **how))
            else:
                X, p = (Transform.identity(), Vec3.zero()) if between_sites else (on_body1[k], point1)
                records.append(WeldRecord(name, frame1, X, frame2, p, data[10], **how))
        elif kind in (JOINT, TENDON):
            known = names.of["joint" if kind == JOINT else "tendon"]
            values = q0 if kind == JOINT else lengths
            reference = (values[one], values[two] if two >= 0 else 0.0)
            driver = known[two] if two >= 0 else None
            coefficients = tuple(data[:5]) if two >= 0 else tuple(data[:1])
            records.append(CouplingRecord(name, known[one], driver, coefficients, reference, kind == TENDON, **how))
    return tuple(records)


def read_pairs(m: Any, names: Names) -> tuple[PairRecord, ...]:
    """Pairs of geoms with parameters of their own."""
    if m.npair == 0:
        return ()
    geoms = names.of["geom"]
    return tuple(
        PairRecord(name, geoms[one], geoms[two], dim, tuple(friction), soft, tuple(dry), margin, gap)
        for name, one, two, dim, friction, soft, dry, margin, gap in zip(
            names.of["pair"],
            m.pair_geom1.tolist(),
            m.pair_geom2.tolist(),
            m.pair_dim.tolist(),
            m.pair_friction.tolist(),
            softnesses(m.pair_solref, m.pair_solimp),
            m.pair_solreffriction.tolist(),
            m.pair_margin.tolist(),
            m.pair_gap.tolist(),
            strict=True,
        )
    )


def read_exclusions(m: Any, names: Names) -> tuple[ExclusionRecord, ...]:
    """Pairs of bodies; their numbers lie in the two halves of a signature."""
    bodies = names.of["body"]
    return tuple(
        ExclusionRecord(name, bodies[signature >> 16], bodies[signature & 0xFFFF])
        for name, signature in zip(names.of["exclude"], m.exclude_signature.tolist(), strict=True)
    )
