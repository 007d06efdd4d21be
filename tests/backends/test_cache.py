"""Compiled objects on disk: found again, never believed blindly, never in the way."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from qdot.backends import cache

KEY = "f-0123456789abcdef"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kept" / "here"
    monkeypatch.setenv("QDOT_CACHE", str(folder))
    return folder


class Build:
    """Builds an object and counts how often."""

    def __init__(self, content: bytes = b"machine code") -> None:
        self.content = content
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.content


def entry(folder: Path, key: str = KEY) -> Path:
    (found,) = [p for p in folder.iterdir() if key in p.name]
    return found


def test_built_once(place: Path) -> None:
    build = Build()
    assert [cache.cached(KEY, build) for _ in range(3)] == [build.content] * 3
    assert build.calls == 1
    assert len(list(place.iterdir())) == 1


def test_keys_are_apart(place: Path) -> None:
    assert cache.cached("a", Build(b"1")) == b"1"
    assert cache.cached("b", Build(b"2")) == b"2"
    assert cache.cached("a", Build(b"3")) == b"1"


@pytest.mark.parametrize("content", [b"", b"\0", bytes(range(256)) * 5000])
def test_any_content(place: Path, content: bytes) -> None:
    assert cache.cached(KEY, Build(content)) == content
    assert cache.cached(KEY, Build(b"other")) == content


@pytest.mark.parametrize("word", ["off", "0", "no", "none", "OFF", "None"])
def test_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("QDOT_CACHE", word)
    monkeypatch.chdir(tmp_path)
    build = Build()
    assert [cache.cached(KEY, build) for _ in range(2)] == [build.content] * 2
    assert build.calls == 2
    assert list(tmp_path.iterdir()) == []
    assert cache.folder() is None


def test_the_usual_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDOT_CACHE", raising=False)
    folder = cache.folder()
    assert folder is not None
    assert "qdot" in folder.parts


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("QDOT_CACHE", "~/objects")
    assert cache.folder() == tmp_path / "objects"


def test_a_failing_build_leaves_nothing(place: Path) -> None:
    def fail() -> bytes:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        cache.cached(KEY, fail)
    assert not place.exists() or list(place.iterdir()) == []


# -- entries that are not what they should be --------------------------------------------------------------------------


def flipped(content: bytes) -> bytes:
    middle = len(content) - 3
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "a flipped bit": flipped,
    "truncated": lambda content: content[:-1],
    "cut to the header": lambda content: content[:20],
    "empty": lambda content: b"",
    "appended to": lambda content: content + b"x",
    "foreign": lambda content: b"\x7fELF" + content,
    "of another version": lambda content: content.replace(b"object 2", b"object 0", 1),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_entries_are_built_again(place: Path, damage: str) -> None:
    cache.cached(KEY, Build())
    path = entry(place)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    again = Build(b"built again")
    assert cache.cached(KEY, again) == b"built again"
    assert again.calls == 1
    assert cache.cached(KEY, again) == b"built again"
    assert again.calls == 1


def test_an_entry_under_another_name_is_not_believed(place: Path) -> None:
    """Copied or renamed by hand, it is sound but the code of another program."""
    cache.cached("a", Build(b"code of a"))
    path = entry(place, "a")
    shutil.copy(path, path.with_name(path.name.replace("a", "b", 1)))
    assert cache.cached("b", Build(b"code of b")) == b"code of b"


# -- folders that cannot be used ---------------------------------------------------------------------------------------


def test_a_file_in_the_way_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("QDOT_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="QDOT_CACHE"):
        assert cache.cached(KEY, Build()) == b"machine code"
    assert (tmp_path / "file").read_text() == "not a folder"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_warns(place: Path) -> None:
    place.mkdir(parents=True)
    place.chmod(0o500)
    try:
        with pytest.warns(UserWarning, match="could not be kept"):
            assert cache.cached(KEY, Build()) == b"machine code"
    finally:
        place.chmod(0o700)


def test_a_full_disk_warns(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match="No space"):
        assert cache.cached(KEY, Build()) == b"machine code"
    assert list(place.iterdir()) == []


def test_entries_of_others_serve(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that may be read but not touched (another user's, a read-only image) still gives its entries."""
    cache.cached(KEY, Build())

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refused)
    again = Build(b"other")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.cached(KEY, again) == b"machine code"
    assert again.calls == 0


# -- other processes ---------------------------------------------------------------------------------------------------

KILLED = """
import os, sys, time
from qdot.backends import cache

def hang(*_):
    print("writing", flush=True)
    time.sleep(60)

os.replace = hang
cache.cached(sys.argv[1], lambda: b"machine code" * 100000)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def test_a_killed_writer_leaves_no_entry(place: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, KEY], env=environment(), stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        writer.send_signal(signal.SIGKILL)
    assert not [p for p in place.iterdir() if KEY in p.name]
    build = Build()
    assert cache.cached(KEY, build) == b"machine code"
    assert build.calls == 1
    assert cache.cached(KEY, build) == b"machine code"
    assert build.calls == 1


def _work(number: int, folder: str) -> int:
    """Reads and writes the same entries as others do, often; returns how many answers were wrong."""
    os.environ["QDOT_CACHE"] = folder
    wrong = 0
    for turn in range(120):
        key = f"shared-{(turn + number) % 5}"
        expected = key.encode() * 2000
        wrong += cache.cached(key, lambda expected=expected: expected) != expected
        if turn % 7 == number:
            for path in Path(folder).glob("shared-*"):
                path.unlink(missing_ok=True)
    return wrong


def test_processes_at_once(place: Path) -> None:
    place.mkdir(parents=True)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(_work, [(k, str(place)) for k in range(2)]) == [0, 0]
    assert not [p for p in place.iterdir() if not p.name.startswith("shared-")]


# -- size --------------------------------------------------------------------------------------------------------------


def test_the_oldest_go_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 10_000)
    start = time.time() - 1000
    for k in range(4):
        cache.cached(f"entry{k}", Build(bytes(2000)))
        os.utime(entry(place, f"entry{k}"), (start + k, start + k))
    cache.cached("entry0", Build())  # used again, so it is young
    cache.cached("entry4", Build(bytes(5000)))
    assert sorted(p.name[:6] for p in place.iterdir()) == ["entry0", "entry3", "entry4"]
    assert sum(p.stat().st_size for p in place.iterdir()) <= 10_000


def test_files_of_others_stay(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QDOT_CACHE may name a folder that holds other things: only entries are counted and removed."""
    place.mkdir(parents=True)
    thesis, source, folder = place / "thesis.tex", place / "main.o", place / "folder"
    thesis.write_bytes(bytes(20_000))
    source.write_bytes(b"an object file of another program")
    folder.mkdir()
    for path in (thesis, source, folder):
        os.utime(path, (1, 1))
    monkeypatch.setattr(cache, "LIMIT", 5_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(4):
            cache.cached(f"entry{k}", Build(bytes(2000)))
    assert thesis.exists()
    assert source.exists()
    assert folder.exists()
    assert len([p for p in place.iterdir() if p.name.startswith("entry")]) == 2


def test_leftovers_of_killed_writers_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.cached("first", Build())
    left = place / ".qdot-writing-abc"
    left.write_bytes(bytes(20_000))
    os.utime(left, (1, 1))
    monkeypatch.setattr(cache, "LIMIT", 5_000)
    cache.cached("second", Build())
    assert not left.exists()


def test_machine_code_from_the_cache_runs(place: Path) -> None:
    import numpy as np

    from qdot.backends import llvm, runtime
    from tests.backends.loading import unary

    program, vectors = unary("sin"), llvm.host().vectors("float64")
    for _ in range(2):
        code = cache.cached(KEY, lambda: llvm.compiled_object(program, vectors))
        loaded = runtime.Loaded(runtime.Interface.of(program), llvm.Kernel(code), "float64", vectors.width)
        np.testing.assert_allclose(loaded.single([0.5])[0], np.sin(0.5), rtol=1e-15)
