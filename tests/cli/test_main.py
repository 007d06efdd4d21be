"""The program as a whole: its help, its errors, its exit codes, and readers who go away."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import qdot
from qdot.cli import main as program
from qdot.cli.main import COMMANDS, main
from tests.cli.files import ARM, BROKEN, HOPPER, ran

PROGRAM = [sys.executable, "-m", "qdot.cli"]


def usage(capsys, *words: str) -> tuple[int, str, str]:
    """argparse ends the program itself."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    written = capsys.readouterr()
    return ended.value.code, written.out, written.err


def test_help_lists_the_commands(capsys):
    code, out, _ = usage(capsys, "--help")
    assert code == 0
    for name, summary in COMMANDS.items():
        assert name in out
        assert summary.split(",")[0] in " ".join(out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(capsys, command):
    code, out, _ = usage(capsys, command, "--help")
    assert code == 0
    assert "--lenient" in out


def test_version(capsys):
    assert usage(capsys, "--version") == (0, f"qdot {qdot.__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["dance"],
        ["show"],
        ["show", "a", "--base", "round"],
        ["show", "a", "--package", "robot"],
        ["doctor", "a", "--timeout", "nan"],
        ["doctor", "a", "--timeout", "-1"],
        ["doctor", "a", "--timeout", "soon"],
    ],
)
def test_wrong_usage(capsys, words):
    code, out, err = usage(capsys, *words)
    assert (code, out) == (2, "")
    assert "usage: qdot" in err


def test_errors_are_one_message(capsys, tmp_path):
    file = tmp_path / "broken.urdf"
    file.write_text(BROKEN)
    result = ran(capsys, "show", file)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"qdot: {file}:3: ")
    assert "Traceback" not in result.err
    assert result.err.count("\n") == 1  # the terminal wraps it, not we: a path can be copied


@pytest.mark.parametrize(
    ("text", "words", "remedy"),
    [
        (ARM.replace("0.6 0 0.8", "0 0 0"), (), "--lenient loads it all the same, and the report tells"),
        (HOPPER, ("--base", "free"), "--base free is for URDF"),
        (ARM, ("--xacro", "a=b"), "--xacro NAME=VALUE is for files that end in .xacro"),
    ],
)
def test_remedies_are_options(capsys, tmp_path, text, words, remedy):
    file = tmp_path / "robot.xml"
    file.write_text(text)
    result = ran(capsys, "show", file, *words)
    assert result.code == 2
    assert remedy in result.err


def test_remedies_in_reports_are_options(capsys, tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.replace('<box size="0.1 0.1 0.4"/>', '<mesh filename="package://pkg/arm.stl"/>'))
    words = ran(capsys, "show", file).words
    assert "--package" in words
    assert "packages=" not in words


def test_no_such_file(capsys, tmp_path):
    result = ran(capsys, "show", tmp_path / "nothing.urdf")
    assert result.code == 2
    assert "no such file" in result.err


def test_interrupted_quietly(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(qdot, "load", interrupted)
    result = ran(capsys, "show", "robot.urdf")
    assert (result.code, result.out, result.err) == (program.INTERRUPTED, "", "")


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way there")
def test_a_reader_who_goes_away(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        ended = subprocess.run([*PROGRAM, "show", str(file)], stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert ended.stderr == b""
    assert ended.returncode == program.UNREAD


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device here")
def test_a_full_disk(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*PROGRAM, "show", str(file)], stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == program.FAILED
    assert ended.stderr == b"qdot: the output cannot be written: No space left on device\n"


def test_a_path_that_is_no_text(tmp_path):
    ended = subprocess.run([*PROGRAM, "show", os.fsencode(tmp_path) + b"/\xff.urdf"], capture_output=True, check=False)
    assert ended.returncode == program.FAILED
    assert b"no such file" in ended.stderr


def test_an_output_that_knows_ascii_only(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run([*PROGRAM, "show", str(file)], capture_output=True, env=environment, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"small arm" in ended.stdout
