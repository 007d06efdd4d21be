"""The table of docs/models.md: how many files of each corpus are read, and how many refused, by both readers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import mujoco
import pinocchio as pin
import pytest

import qdot
from qdot.description import Severity
from qdot.errors import ModelError
from tests.formats.corpora import File, mjcf_files, urdf_files

pytestmark = pytest.mark.no_cover  # measuring what is covered would double the minutes; unit tests cover the code

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"


def pinocchio_reads(path: Path) -> bool:
    try:
        pin.buildModelFromUrdf(str(path))
    except ValueError:
        return False
    return True


def mujoco_reads(path: Path) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mujoco.MjSpec.from_file(str(path)).compile()
        except ValueError:
            return False
    return True


def qdot_reads(path: Path) -> qdot.Model | None:
    try:
        return qdot.load(path)
    except ModelError:
        return None


def corpora() -> list[tuple[str, list[File], Callable[[Path], bool]]]:
    mjcf = mjcf_files()
    parts = {
        "dm_control": [f for f in mjcf if f.name.startswith("dm_control/")],
        "gymnasium": [f for f in mjcf if f.name.startswith("gymnasium/")],
    }
    return [
        ("example-robot-data", urdf_files(), pinocchio_reads),
        *((name, files, mujoco_reads) for name, files in parts.items()),
    ]


def row(name: str, files: list[File], peer_reads: Callable[[Path], bool]) -> str:
    """A row of the table: files, read, refused by both, items of the reports by severity."""
    models = [(qdot_reads(f.path), peer_reads(f.path)) for f in files]
    assert all((model is not None) == peer for model, peer in models), name
    read = [model for model, _ in models if model is not None]
    counts = [len(files), len(read), len(files) - len(read), sum(model.nv for model in read)]
    counts += [sum(len(model.report.of(s)) for model in read) for s in Severity]
    return f"| {name} {version(name)} | {' | '.join(map(str, counts))} |"


@pytest.mark.parametrize(("name", "files", "peer_reads"), corpora(), ids=[c[0] for c in corpora()])
def test_the_table_is_what_is_read(
    name: str, files: list[File], peer_reads: Callable[[Path], bool], tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings to a log in the working directory
    found = row(name, files, peer_reads)
    with capsys.disabled():
        print(f"\n{found}")
    kept = re.search(rf"^\| {re.escape(name)} (\S+) \|.*$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert kept is not None
    if kept.group(1) == version(name):  # another version has other files
        assert kept.group() == found
