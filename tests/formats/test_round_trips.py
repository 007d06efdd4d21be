"""Every model of the corpora, written and read again: the same mechanics at random states, or a report that says why.

Numbers are written in full, so what comes back differs by the rounding of a few conversions of angles and of inertias
to principal axes: 1e-9 of the largest entry, far above it and far below any mistake.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qdot
from qdot.errors import ModelError
from tests.formats.corpora import mjcf_files, urdf_files

pytestmark = pytest.mark.no_cover  # measuring what is covered would double the minutes; unit tests cover the code

STATES = 3


def loaded(path: Path, **options: str) -> qdot.Model:
    try:
        return qdot.load(path, **options)
    except ModelError:
        pytest.skip("refused, as its own test tells")


def assert_same_mechanics(one: qdot.Model, other: qdot.Model) -> None:
    """M, bias and the poses of all frames of `one`, whose joints `other` has in its own order."""
    random = np.random.default_rng(1)
    q = qdot.retract(one, one.neutral(), random.normal(size=(STATES, one.nv)))
    v = random.normal(size=(STATES, one.nv))
    bodies = [(body, other.joint(body.joint_name)) for body in one.bodies if body.joint.nv]
    assert sum(there.joint.nv for _, there in bodies) == one.nv == other.nv
    q_there, v_there = np.zeros((STATES, other.nq)), np.zeros((STATES, other.nv))
    order = np.zeros(one.nv, dtype=int)
    for here, there in bodies:
        q_there[:, there.qs], v_there[:, there.dofs] = q[:, here.qs], v[:, here.dofs]
        order[here.dofs] = range(there.dofs.start, there.dofs.stop)
    close(qdot.mass_matrix(other, q_there)[:, order][:, :, order], qdot.mass_matrix(one, q))
    close(qdot.bias_forces(other, q_there, v_there)[:, order], qdot.bias_forces(one, q, v))
    motion, motion_there = qdot.kinematics(one, q), qdot.kinematics(other, q_there)
    for name in one.frames:
        X, Y = (m.pose(name) for m in (motion, motion_there))
        for x, y in zip(qdot.algebra.scalars_in(X), qdot.algebra.scalars_in(Y), strict=True):
            close(np.asarray(y, dtype=float), np.asarray(x, dtype=float))


def close(x: np.ndarray, y: np.ndarray) -> None:
    assert np.abs(x - y).max(initial=0.0) <= 1e-9 * max(1.0, np.abs(y).max(initial=0.0))


@pytest.mark.parametrize("file", urdf_files(), ids=lambda f: f.name)
def test_urdf_as_urdf(file, tmp_path) -> None:
    model = loaded(file.path, base="free")
    qdot.save(model, tmp_path / "again.urdf")
    assert_same_mechanics(model, qdot.load(tmp_path / "again.urdf"))


@pytest.mark.parametrize("file", urdf_files(), ids=lambda f: f.name)
def test_urdf_as_mjcf(file, tmp_path) -> None:
    model = loaded(file.path, inertia="repair")
    qdot.save(model, tmp_path / "again.xml")
    assert_same_mechanics(model, qdot.load(tmp_path / "again.xml"))


@pytest.mark.parametrize("file", mjcf_files(), ids=lambda f: f.name)
def test_mjcf_as_mjcf(file, tmp_path) -> None:
    model = loaded(file.path)
    qdot.save(model, tmp_path / "again.xml")
    assert_same_mechanics(model, qdot.load(tmp_path / "again.xml"))
