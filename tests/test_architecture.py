"""The rules of the code base, as tests. Imports between layers are import-linter's, in pyproject.toml."""

import ast
import importlib
import inspect
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

import qdot

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "qdot"
FILES = sorted(SOURCE.rglob("*.py"))

PUBLIC_PACKAGES = [
    "qdot",
    "qdot.algebra",
    "qdot.algorithms",
    "qdot.collision",
    "qdot.contact",
    "qdot.convert",
    "qdot.description",
    "qdot.errors",
    "qdot.formulations",
    "qdot.geometry",
    "qdot.joints",
    "qdot.model",
    "qdot.model.edit",
    "qdot.model.library",
    "qdot.spatial",
]


# ── import qdot ──────────────────────────────────────────────────────────────────────────────────


def fresh_import(folder: Path) -> tuple[float, set[str]]:
    """Seconds that `import qdot` takes in a new interpreter, and the packages it loads."""
    program = (
        "import json, sys, time\n"
        "start = time.perf_counter()\n"
        "import qdot\n"
        "seconds = time.perf_counter() - start\n"
        "print(json.dumps([seconds, sorted({name.partition('.')[0] for name in sys.modules})]))\n"
    )
    output = subprocess.check_output([sys.executable, "-c", program], cwd=folder, text=True)
    seconds, packages = json.loads(output)
    return seconds, set(packages)


def test_import_loads_no_heavy_package(tmp_path):
    _, packages = fresh_import(tmp_path)
    assert packages & {"matplotlib", "scipy", "sympy", "trimesh"} == set()


def test_import_is_quick(tmp_path):
    # The best of several runs, so that a busy machine does not fail the promise.
    assert min(fresh_import(tmp_path)[0] for _ in range(5)) < 0.2


# ── public names ─────────────────────────────────────────────────────────────────────────────────


def public_packages() -> list[ModuleType]:
    """Those of PUBLIC_PACKAGES that exist and have an `__all__`."""
    found = []
    for name in PUBLIC_PACKAGES:
        try:
            package = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:  # a broken import inside the package is no reason to skip it
                raise
            continue
        if hasattr(package, "__all__"):
            found.append(package)
    return found


def has_own_docstring(thing: object, name: str) -> bool:
    if not (inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)):
        return True  # a constant has nowhere to put one
    text = thing.__doc__ or ""
    return bool(text.strip()) and not text.startswith(f"{name}(")  # as dataclasses fill it in


def test_all_is_sorted():
    assert list(qdot.__all__) == sorted(set(qdot.__all__))


def test_public_names_exist_and_have_docstrings():
    assert [name for name in qdot.__all__ if not hasattr(qdot, name)] == []
    assert [name for name in qdot.__all__ if not has_own_docstring(getattr(qdot, name), name)] == []


def test_each_public_object_has_one_path():
    paths = defaultdict(list)
    for package in public_packages():
        for name in package.__all__:
            thing = getattr(package, name)
            # Only what qdot defines: two equal numbers may be one object by chance.
            if str(getattr(thing, "__module__", "")).startswith("qdot"):
                paths[id(thing)].append(f"{package.__name__}.{name}")
    assert [found for found in paths.values() if len(found) > 1] == []


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def test_files_are_short():
    lengths = {str(file.relative_to(ROOT)): len(file.read_text("utf-8").splitlines()) for file in FILES}
    assert {file: lines for file, lines in lengths.items() if lines > 400} == {}


def test_modules_say_what_they_hold():
    vague = {"common", "helpers", "manager", "misc", "utils"}
    names = {path for file in FILES for path in (file, *file.parents) if path.is_relative_to(SOURCE)}
    assert [str(path.relative_to(ROOT)) for path in sorted(names) if path.stem.split("_")[-1] in vague] == []


def identifiers(file: Path) -> set[str]:
    """All names a file uses: variables, attributes, imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"), str(file))):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
    return found


def test_no_algorithm_names_a_joint_kind():
    joints = importlib.import_module("qdot.joints")
    kinds = {name for name in joints.__all__ if inspect.isclass(getattr(joints, name))} - {"Joint"}
    files = [file for file in FILES if file.is_relative_to(SOURCE / "algorithms")]
    assert kinds
    assert files
    named = {str(file.relative_to(ROOT)): sorted(identifiers(file) & kinds) for file in files}
    assert {file: kinds for file, kinds in named.items() if kinds} == {}


@pytest.mark.skipif(not (ROOT / ".git").exists() or not shutil.which("git"), reason="no git checkout")
def test_no_file_names_a_folder_of_one_machine():
    # New files that are not ignored count too: they are about to be committed.
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(listing, cwd=ROOT, text=True).split("\0")
    texts = {name: (ROOT / name).read_bytes() for name in sorted(names) if (ROOT / name).is_file()}
    folders = [f"/{name}/".encode() for name in ("work", "root", "tmp")]
    assert texts
    assert [name for name, text in texts.items() if any(folder in text for folder in folders)] == []
