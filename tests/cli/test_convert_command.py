"""`qdot convert`: the file is written, what it cannot express is told, and nothing is overwritten by accident."""

from __future__ import annotations

from dataclasses import replace

import pytest

import qdot
from qdot.description import Item, Report, Severity
from tests.cli.files import ARM, HOPPER, ran


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return file


def test_urdf_to_mjcf(capsys, arm):
    target = arm.with_suffix(".xml")
    result = ran(capsys, "convert", arm, target)
    assert (result.code, result.err) == (0, "")
    before, after = qdot.load(arm), qdot.load(target)
    q = [0.3, 0.1]
    # The same decimals on both sides, so the same numbers but for rounding.
    assert qdot.mass_matrix(after, q) == pytest.approx(qdot.mass_matrix(before, q), rel=1e-12)


def test_what_the_target_cannot_express_is_told(capsys, tmp_path):
    source, target = tmp_path / "hopper.xml", tmp_path / "hopper.urdf"
    source.write_text(HOPPER)
    result = ran(capsys, "convert", source, target)
    assert target.exists()
    assert "cannot express" in result.words
    assert "physics" in result.out
    assert result.code == 1  # a URDF has no servos
    assert "does not move as" in result.err
    assert ran(capsys, "convert", source, target, "--force", "--lenient").code == 0


def test_nothing_is_overwritten_by_accident(capsys, arm):
    target = arm.with_suffix(".xml")
    target.write_text("precious")
    result = ran(capsys, "convert", arm, target)
    assert result.code == 2
    assert "--force" in result.err
    assert target.read_text() == "precious"
    assert ran(capsys, "convert", arm, target, "--force").code == 0
    assert target.read_text() != "precious"


def test_unknown_formats(capsys, arm):
    result = ran(capsys, "convert", arm, arm.with_suffix(".sdf"))
    assert result.code == 2
    assert ".urdf" in result.err


@pytest.mark.parametrize("severity", [Severity.NOTE, Severity.PHYSICS])
@pytest.mark.parametrize("lost_by", ["load", "save"])
def test_exit_code_says_whether_the_motion_is_the_same(capsys, monkeypatch, arm, lost_by, severity):
    told = Report((Item(severity, "joint 'a'", "it is soft", "made stiff"),))
    loaded, saved = (told, Report()) if lost_by == "load" else (Report(), told)
    model = qdot.assemble(replace(qdot.load(arm).description, report=loaded))
    monkeypatch.setattr(qdot, "load", lambda *_, **__: model)
    monkeypatch.setattr(qdot, "save", lambda *_, **__: saved)
    assert ran(capsys, "convert", arm, arm.with_suffix(".xml")).code == (severity is Severity.PHYSICS)
    assert ran(capsys, "convert", arm, arm.with_suffix(".xml"), "--lenient").code == 0
