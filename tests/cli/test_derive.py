"""`qdot derive`: equations of a file, on the terminal or in a file of their own."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from tests.cli.files import ARM, ran

mpl.use("Agg")


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return file


def test_on_the_terminal(capsys, arm):
    result = ran(capsys, "derive", arm, "--symbols", "mass, damping")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Equations of motion of small arm\nCompared with the engine at 5 random states")
    assert "M_22 = m_3" in result.out
    assert "d_1*v_1" in result.out


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        ("txt", "Equations of motion"),
        ("tex", r"\documentclass"),
        ("md", "# Equations"),
        ("html", "<!DOCTYPE html>"),
        ("py", '"""Equations'),
        ("c", "/*"),
    ],
)
def test_in_a_file(capsys, arm, tmp_path, ending, start):
    out = tmp_path / f"arm.{ending}"
    result = ran(capsys, "derive", arm, "-o", out)
    assert result.code == 0
    assert out.read_text("utf-8").startswith(start)
    assert "of the engine's" in result.out
    again = ran(capsys, "derive", arm, "-o", out)
    assert again.code == 2
    assert "--force" in again.err
    assert ran(capsys, "derive", arm, "-o", out, "--force").code == 0


def test_format_and_form(capsys, arm):
    assert "import numpy" in ran(capsys, "derive", arm, "--format", "numpy").out
    assert "x_1 = " in ran(capsys, "derive", arm, "--form", "recursive").out


def test_external_forces(capsys, arm):
    assert "f_upper_x" in ran(capsys, "derive", arm, "--wrench", "upper").out


def test_what_cannot_be(capsys, arm, tmp_path):
    unknown = ran(capsys, "derive", arm, "--symbols", "maas")
    assert unknown.code == 2
    assert "did you mean: 'mass'" in unknown.err
    nowhere = ran(capsys, "derive", arm, "-o", tmp_path / "no" / "folder.txt")
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.err
    ending = ran(capsys, "derive", arm, "-o", tmp_path / "a.pdf")
    assert ending.code == 2
    assert "this ending is unknown; use one of .txt, .tex" in ending.err
    assert not (tmp_path / "a.pdf").exists()
    assert ran(capsys, "derive", arm, "-o", tmp_path / "a.log", "--format", "text").code == 0
