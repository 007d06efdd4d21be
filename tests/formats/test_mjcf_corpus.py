"""Every MJCF file of dm_control and gymnasium: the same mechanics as MuJoCo's, or refused for MuJoCo's reason.

The rigid body terms agree to rounding: 1e-9 of the largest entry is far above it and far below any mistake.
"""

from __future__ import annotations

import warnings

import mujoco
import pytest

import qdot
from qdot.description import Report, Severity
from qdot.errors import ModelError
from tests.formats.corpora import PACKAGES, File, mjcf_files
from tests.formats.mujoco_terms import (
    Peer,
    constraint_terms,
    force_terms,
    frame_terms,
    limit_terms,
    rigid_body_terms,
)

pytestmark = pytest.mark.no_cover  # measuring what is covered would double the minutes; unit tests cover the code

FILES = mjcf_files()
TOLERANCE = 1e-9
FEWEST = 60
"""Models that both packages together have, at least."""


def compiled(file: File) -> mujoco.MjModel | str:
    """MuJoCo's model, or its reason to refuse the file. Through MjSpec: MjModel.from_xml_path leaves a log behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return mujoco.MjSpec.from_file(str(file.path)).compile()
        except ValueError as error:
            return str(error)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """MuJoCo writes its warnings to a log in the working directory."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_mechanics_is_that_of_mujoco(file, tmp_path):
    peer = compiled(file)
    if isinstance(peer, str):
        with pytest.raises(ModelError) as refusal:
            qdot.load(file.path)
        assert str(refusal.value).startswith(str(file.path))
        if "Unrecognized XML model type" not in peer:  # qdot looks at the root itself
            assert " ".join(peer.split()) in str(refusal.value)
        return
    model = qdot.load(file.path)  # strict: nothing that changes the motion is left out
    assert list(tmp_path.iterdir()) == []  # no log
    assert (model.nq, model.nv) == (peer.nq, peer.nv)
    assert_told(file, model.description.report, peer)
    # Adhesion pulls where bodies touch, and contacts are no part of these terms.
    peer.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    both = Peer(model, peer)
    terms = [
        term
        for group in (rigid_body_terms, force_terms, constraint_terms, limit_terms, frame_terms)
        for term in group(both)
    ]  # fmt: skip
    assert {term.name: term.error() for term in terms if not term.error() < TOLERANCE} == {}


def assert_told(file: File, report: Report, peer: mujoco.MjModel) -> None:
    """Each kind of thing that is kept or left out has its item."""
    told = {(item.severity, item.subject) for item in report}
    for severity, subject, there in (
        (Severity.IGNORED, "cameras", peer.ncam),
        (Severity.IGNORED, "lights", peer.nlight),
        (Severity.IGNORED, "textures", peer.ntex),
        (Severity.IGNORED, "skins", peer.nskin),
        (Severity.KEPT, "actuators", peer.nactuator),
        (Severity.KEPT, "sensors", peer.nsensor),
        (Severity.KEPT, "equality constraints", peer.neq),
        (Severity.KEPT, "limits", peer.jnt_limited.sum() + peer.tendon_limited.sum()),
        (Severity.KEPT, "contacts", peer.geom_contype.any() or peer.geom_conaffinity.any() or peer.npair),
    ):
        assert ((severity, subject) in told) == bool(there), subject
    assert {item.file for item in report} <= {str(file.path)}


@pytest.mark.skipif(len({file.name.partition("/")[0] for file in FILES}) < len(PACKAGES), reason="a package is missing")
def test_most_files_are_models():
    assert sum(not isinstance(compiled(file), str) for file in FILES) >= FEWEST
