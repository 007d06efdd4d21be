"""`qdot doctor`: every model file is found and loaded on its own; none stops the others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import qdot
from qdot.cli import doctor, examination
from qdot.cli.examination import CRASHED, ENDLESS, LOADED, Examiner, Finding, finding_of
from tests.cli.files import ARM, BROKEN, HOPPER, PART, ran

OPTIONS = {"base": "fixed", "strict": True, "inertia": "keep", "masses": False, "packages": None, "xacro": None}


@pytest.fixture
def robots(tmp_path):
    """A folder with models of all kinds, and with things that are none."""
    folder = tmp_path / "robots"
    (folder / "arms").mkdir(parents=True)
    for name, text in {
        "arms/arm.urdf": ARM,
        "arms/broken.urdf": BROKEN,
        "hopper.xml": HOPPER,
        "part.xml": PART,
        "settings.xml": "<settings/>",
        "notes.txt": "<robot/>",
        "empty.urdf": "",
    }.items():
        (folder / name).write_text(text)
    return folder


def test_a_folder_of_all_kinds(capsys, robots, tmp_path):
    found = tmp_path / "found.json"
    result = ran(capsys, "doctor", robots, "--json", found)
    assert result.code == 1
    assert "4 model files: 2 loaded, 2 refused" in result.words
    assert "1 left out: a part that other files include" in result.words
    assert f"arms{os.sep}broken.urdf:3: " in result.words
    assert str(robots) not in result.out  # paths are those below the folder
    told = json.loads(found.read_text("utf-8"))
    assert told["summary"] == {"loaded": 2, "refused": 2}
    files = {os.path.relpath(entry["file"], robots): entry for entry in told["files"]}
    arm = files[os.path.join("arms", "arm.urdf")]
    assert (arm["outcome"], arm["format"], arm["bodies"], arm["nv"]) == ("loaded", "URDF", 3, 2)
    assert arm["mass"] == pytest.approx(2.5)
    assert {item["severity"] for item in arm["report"]} == {"IGNORED"}
    assert files["empty.urdf"]["outcome"] == "refused"
    assert [os.path.relpath(entry["file"], robots) for entry in told["left_out"]] == ["part.xml"]


def test_all_is_well(capsys, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    result = ran(capsys, "doctor", tmp_path)
    assert (result.code, result.err) == (0, "")
    assert "1 model files: 1 loaded" in result.words
    assert "Why not" not in result.words


def test_an_empty_folder(capsys, tmp_path):
    result = ran(capsys, "doctor", tmp_path)
    assert (result.code, result.words) == (0, "0 model files")


def test_masses_are_compared_with_shapes_on_demand(capsys, tmp_path):
    heavy, found = tmp_path / "heavy.urdf", tmp_path / "found.json"
    heavy.write_text(ARM.replace('<mass value="2"/>', '<mass value="2000"/>'))
    assert ran(capsys, "doctor", tmp_path, "--json", found, "--masses").code == 0
    ((entry),) = json.loads(found.read_text("utf-8"))["files"]
    (item,) = [item for item in entry["report"] if "kg/m³" in item["found"]]
    assert (item["file"], item["line"]) == (str(heavy), 5)


def test_arguments_of_xacro_files_are_for_these_alone(capsys, tmp_path):
    pytest.importorskip("xacrodoc")
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "one.XACRO").write_text(
        '<robot name="rig" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="link" default=""/>'
        '<link name="$(arg link)"/></robot>'
    )
    assert ran(capsys, "doctor", tmp_path).code == 1
    result = ran(capsys, "doctor", tmp_path, "--xacro", "link=base")
    assert (result.code, result.err) == (0, "")
    assert "2 model files: 2 loaded" in result.words


def test_no_folder(capsys, tmp_path):
    assert ran(capsys, "doctor", tmp_path / "nowhere").code == 2


def test_a_json_file_that_cannot_be_written(capsys, tmp_path):
    result = ran(capsys, "doctor", tmp_path, "--json", tmp_path / "no" / "found.json")
    assert result.code == 2
    assert "cannot be written" in result.err


def test_xacro_is_left_out_where_nothing_reads_it(capsys, tmp_path, monkeypatch):
    (tmp_path / "arm.xacro").write_text(ARM)
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    result = ran(capsys, "doctor", tmp_path)
    assert result.code == 0
    assert "1 left out: xacro files are read by xacrodoc" in result.words


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are made in another way there")
def test_links_that_run_in_circles_and_pipes_that_wait(capsys, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(tmp_path / "pipe.urdf")
    assert "1 model files" in ran(capsys, "doctor", tmp_path).words


# ── files that do worse than being refused ───────────────────────────────────────────────────────


def test_a_defect_of_a_loader_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(qdot, "load", lambda *_, **__: {}["missing"])
    finding = finding_of(str(tmp_path / "robot.urdf"), OPTIONS)
    assert finding.outcome == CRASHED
    assert "KeyError: 'missing'" in finding.reason


def misbehaving(connection) -> None:
    """A second process that dies of one file and never ends with another."""
    connection.send("ready")
    while True:
        file, _ = connection.recv()
        if file.endswith("deadly.urdf"):
            os._exit(7)
        if file.endswith("endless.urdf"):
            time.sleep(600)
        connection.send(Finding(file, LOADED))


def test_a_file_that_kills_or_never_ends_takes_nothing_with_it(monkeypatch, tmp_path):
    monkeypatch.setattr(examination, "_serve", misbehaving)
    names = ("good", "deadly", "good", "endless", "good")
    with Examiner(OPTIONS, timeout=2.0) as examiner:
        found = [examiner.examine(tmp_path / f"{name}.urdf") for name in names]
    assert [finding.outcome for finding in found] == [LOADED, CRASHED, LOADED, ENDLESS, LOADED]
    assert "code 7" in found[1].reason
    assert "2 s" in found[3].reason


INTERRUPTED = """
import signal, sys, time
from qdot.cli import examination
from qdot.cli.main import main

def endless(connection):
    connection.send("ready")
    connection.recv()  # a file: whoever sent it hears Ctrl-C again
    print("loading", flush=True)
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
    examination._serve = endless
    sys.exit(main(["doctor", sys.argv[1]]))
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is another thing there")
def test_interrupted_quietly_while_a_file_is_loaded(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, str(script), str(tmp_path)]
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        assert process.stdout.readline() == "loading\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to both processes
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
