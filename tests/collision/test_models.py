"""All contacts of whole models at random states: MuJoCo's, pair by pair, where shapes have closed forms."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import qdot
from qdot.algorithms.kinematics import world_poses
from qdot.collision.narrow import meeting, sizes_of
from qdot.collision.pairs import Pair, pairs
from qdot.formats.mjcf_read_names import read_names
from qdot.geometry import HeightField, Mesh, Plane
from tests.collision.mujoco_touches import Row, compiled, difference, is_closed, packed
from tests.formats.corpora import mjcf_files

MODELS = [
    "suite/ball_in_cup",
    "suite/cheetah",
    "suite/hopper",
    "suite/humanoid",
    "suite/humanoid_CMU",
    "suite/manipulator",
    "suite/quadruped",
    "suite/stacker",
    "suite/walker",
    "assets/ant",
    "assets/half_cheetah",
    "assets/hopper",
    "assets/humanoid",
    "assets/walker2d",
]
FILES = [file for file in mjcf_files() if str(file.path.with_suffix("")).endswith(tuple(MODELS))]
STATES = 100
TOLERANCE = 1e-8


def has_closed_form(pair: Pair) -> bool:
    a, b = pair.first.shape, pair.second.shape
    return is_closed(a, b) or (isinstance(a, Plane) and not isinstance(b, (HeightField, Mesh)))


@pytest.mark.no_cover
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path.stem)
def test_contacts_are_those_of_mujoco(file):
    m, model = compiled(file), qdot.load(file.path)
    names, d = read_names(m, []).of["geom"], mujoco.MjData(m)
    random = np.random.default_rng(1)
    qpos, theirs = [], []
    for _ in range(STATES):
        mujoco.mj_resetData(m, d)
        mujoco.mj_integratePos(m, d.qpos, random.normal(size=m.nv) * 0.6, 1.0)
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_collision(m, d)
        qpos.append(d.qpos.copy())
        found: dict[tuple[str, str], list[Row]] = {}
        for k in range(d.ncon):
            c = d.contact[k]
            one, two = (names[g] for g in c.geom)
            found.setdefault((one, two), []).append((c.dist, c.pos.copy(), c.frame[:3].copy()))
        theirs.append(found)
    q = qdot.convert.mujoco(model).q_from(np.array(qpos))
    X = world_poses(model, list(q.T))
    met = 0
    for pair in filter(has_closed_form, pairs(model)):
        a, b = pair.first, pair.second
        reach = pair.margin + pair.gap
        narrow = meeting(a.shape, b.shape).function
        poses = X[a.body] @ a.placement, X[b.body] @ b.placement
        touches = packed(narrow(sizes_of(a.shape), poses[0], sizes_of(b.shape), poses[1], reach), STATES)
        for k, there in enumerate(theirs):
            rows = [(t[0], t[1:4], t[4:7]) for t in touches[:, :, k]]
            there = there.get((a.record.name, b.record.name), [])
            assert difference(rows, there, reach) < TOLERANCE, (a.record.name, b.record.name, rows, there)
            met += len(there)
    assert met > STATES
