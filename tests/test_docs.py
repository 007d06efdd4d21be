"""Every ```python block of README.md and of the pages in docs runs; those of one file in order, in one namespace.

A block below the line `<!-- not run -->` is skipped.
"""

import re
import sys
import textwrap
import traceback
from pathlib import Path
from types import ModuleType

import matplotlib
import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
SKIP = "<!-- not run -->"
FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(\w*)")


def python_blocks(file: Path) -> list[tuple[int, str]]:
    """The blocks to run: the number of lines above each, and its text."""
    lines = file.read_text("utf-8").splitlines()
    blocks, above, fence = [], "", None
    for number, line in enumerate(lines):
        match = FENCE.match(line)
        if fence is None and match:
            fence, language, start = match[1], match[2], number + 1
            run = language == "python" and above != SKIP
        elif fence is not None and match and match[1].startswith(fence) and line.strip() == match[1]:
            if run:
                blocks.append((start, textwrap.dedent("\n".join(lines[start:number])) + "\n"))
            fence = None
        if line.strip():
            above = line.strip()
    if fence is not None:
        raise ValueError(f"{file.name}:{start}: this block has no end")
    return blocks


PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {str(file.relative_to(ROOT)): python_blocks(file) for file in PAGES if file.exists()}


def test_readme_has_a_block():
    assert BLOCKS.get("README.md")


@pytest.fixture
def page(monkeypatch, tmp_path):
    """An empty module to run blocks in, its working directory a temporary one, its figures unseen."""
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # where dataclasses, for one, look for their module
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    matplotlib.use("Agg")
    yield module
    plt.close("all")


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")  # plt.show() is fine in a page
@pytest.mark.parametrize("name", [name for name, blocks in BLOCKS.items() if blocks])
def test_blocks_run(name, page):
    file = str(ROOT / name)
    for start, text in BLOCKS[name]:
        try:
            # The empty lines make the line numbers those of the file.
            exec(compile("\n" * start + text, file, "exec", dont_inherit=True), page.__dict__)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == file]
            # A block that does not compile has no frame; its SyntaxError knows the line.
            line = lines[-1] if lines else getattr(error, "lineno", start)
            raise AssertionError(f"{name}:{line}: {type(error).__name__}: {error}") from error


def test_files_that_the_docs_name_exist():
    """docs/coverage.md says which test shows what: a renamed test must not leave it behind."""
    named = re.findall(r"\b(?:tests|docs|examples)/[\w/]+(?:\.\w+)?", "\n".join(p.read_text("utf-8") for p in PAGES))
    assert len(named) > 50
    missing = sorted({name for name in named if not (ROOT / name).exists()})
    assert not missing
