"""`qdot verify`: the verdict, the tables, the exit code, and what is written for machines."""

from __future__ import annotations

import json

import pytest

import qdot
from tests.cli.files import ARM, HOPPER, ran
from tests.test_certificate import JOINTS, rig


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return file


@pytest.fixture
def broken(monkeypatch):
    """Whatever file is asked for, a model with a joint that is wrong comes."""
    monkeypatch.setattr(qdot, "load", lambda path, **options: rig(JOINTS["no bias"][0]))


def test_a_sound_model(capsys, arm):
    result = ran(capsys, "verify", arm, "--states", "2")
    assert (result.code, result.err) == (0, "")
    assert "small arm: " in result.words
    assert "agree to" in result.words
    assert "over 2 random states" in result.words
    assert "✗" not in result.out
    assert "✓ laws of each joint 10 " in result.words
    assert "[bold]hand[/bold]" in result.words  # a name, no markup


def test_a_broken_joint(capsys, broken):
    result = ran(capsys, "verify", "rig.urdf", "--states", "2")
    assert result.code == 1
    assert "✗ laws of each joint" in result.words
    assert "joint 'elbow' of body 'forearm': bias(q, v) is not the derivative of subspace(q) v" in result.words
    assert "forearm elbow" in result.words
    assert "look here first" in result.words


def test_every_route_on_demand(capsys, monkeypatch, arm):
    monkeypatch.setenv("COLUMNS", "200")  # so that no cell is broken
    assert "Hamilton" not in ran(capsys, "verify", arm, "--states", "1").out
    words = ran(capsys, "verify", arm, "--states", "1", "--all").words
    for told in ("Hamilton", "explicit Lagrange", "bias(q, v)", "By body", "upper shoulder"):
        assert told in words


def test_a_closed_mechanism(capsys, tmp_path):
    file = tmp_path / "hopper.xml"
    file.write_text(HOPPER)
    result = ran(capsys, "verify", file, "--states", "1")
    assert result.code == 0
    assert "the certificate is of the tree: what closes its loops was left out (geared)" in result.words


def test_a_file_for_machines(capsys, broken, tmp_path):
    file = tmp_path / "certificate.json"
    assert ran(capsys, "verify", "rig.urdf", "--states", "2", "--seed", "3", "--json", file).code == 1
    found = json.loads(file.read_text("utf-8"))
    assert (found["agreed"], found["suspects"], found["states"], found["seed"]) == (False, ["forearm"], 2, 3)


def test_what_cannot_be_done(capsys, arm, tmp_path):
    result = ran(capsys, "verify", arm, "--states", "0")
    assert result.code == 2
    assert "states" in result.err
    assert ran(capsys, "verify", arm, "--seed", "-1").code == 2
    nowhere = tmp_path / "no" / "such.json"
    result = ran(capsys, "verify", arm, "--states", "1", "--json", nowhere)
    assert result.code == 2
    assert "cannot be written" in result.err
