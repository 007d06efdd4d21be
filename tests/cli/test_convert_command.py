"""`qdot convert`: the file is written, what it cannot express is told, and nothing is overwritten by accident."""

from __future__ import annotations

from dataclasses import replace

import pytest

import qdot
from qdot.cli import convert
from qdot.description import Item, Report, Severity
from qdot.formats.written import Written
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
    assert "cannot express" in result.words
    assert "physics" in result.out
    assert result.code == 1  # a URDF has no servos
    assert "is not written: it would not move as" in result.err
    assert not target.exists()
    result = ran(capsys, "convert", source, target, "--lenient")
    assert result.code == 0
    assert "does not move as" in result.err
    assert target.exists()


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
    written = Written("<mujoco/>", {}, saved)
    monkeypatch.setattr(qdot, "load", lambda *_, **__: model)
    monkeypatch.setattr(convert, "in_format", lambda *_, **__: written)
    changed, target = severity is Severity.PHYSICS, arm.with_suffix(".xml")
    assert ran(capsys, "convert", arm, target).code == changed
    assert target.exists() != changed
    assert ran(capsys, "convert", arm, target, "--lenient", "--force").code == 0
    assert target.read_text() == "<mujoco/>"
