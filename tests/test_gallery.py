"""The gallery, examples/gallery.ipynb: its cells run, their asserts hold, and what it shows is what they give.

A notebook is JSON: no Jupyter is needed to run it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot

pytestmark = pytest.mark.no_cover  # measuring what is covered would double the minutes; unit tests cover the code

GALLERY = Path(__file__).resolve().parents[1] / "examples" / "gallery.ipynb"
TEXT = GALLERY.read_text("utf-8")
CELLS = json.loads(TEXT)["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]


def stored(cell: dict[str, Any], kind: str) -> list[str]:
    """What the file shows below a cell."""
    return ["".join(shown["data"][kind]) for shown in cell["outputs"] if kind in shown.get("data", {})]


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")  # plt.show() is for readers
def test_cells_run_and_show_what_is_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Equations are compared as text, pictures by their number; printed numbers may differ in the last digit."""
    shown: list[Any] = []
    page = ModuleType("gallery")
    page.display = shown.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gallery", page)  # where classes look for their module
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    pyplot.close("all")
    with mpl.rc_context():
        for cell in CODE:
            name = cell["id"]
            shown.clear()
            try:
                exec(compile("".join(cell["source"]), f"<cell {name}>", "exec", dont_inherit=True), page.__dict__)
            except Exception as error:
                raise AssertionError(f"cell {name!r} of {GALLERY.name}: {type(error).__name__}: {error}") from error
            pictures = len(pyplot.get_fignums())
            pyplot.close("all")
            stale = f"cell {name!r} of {GALLERY.name} shows something else now: run the notebook again and store it"
            assert [x._repr_markdown_() for x in shown] == stored(cell, "text/markdown"), stale
            assert pictures == len(stored(cell, "image/png")), stale


def test_there_is_something_to_see() -> None:
    source = "\n".join("".join(cell["source"]) for cell in CODE)
    assert len(re.findall(r"^\s*assert ", source, re.MULTILINE)) >= 10
    assert sum(len(stored(cell, "image/png")) for cell in CODE) >= 5
    assert sum(len(stored(cell, "text/markdown")) for cell in CODE) >= 3
    assert len(TEXT) < 1_000_000


def test_what_is_stored_ran_through_and_tells_no_machine() -> None:
    outputs = [shown for cell in CODE for shown in cell["outputs"]]
    assert {shown["output_type"] for shown in outputs} == {"display_data", "stream"}
    assert {shown["name"] for shown in outputs if shown["output_type"] == "stream"} == {"stdout"}
    assert not any(cell["metadata"] for cell in CELLS)
    said = [shown["data"].get("text/plain", []) if "data" in shown else shown["text"] for shown in outputs]
    told = "\n".join("".join(x) for x in said)
    assert not re.search(r"0x[0-9a-f]{6}|(^|[\s'\"])(/[\w.-]+){2}|[A-Z]:\\", told)


def test_links_lead_somewhere() -> None:
    links = re.findall(
        r"\]\(([^)#]+)\)", "\n".join("".join(c["source"]) for c in CELLS if c["cell_type"] == "markdown")
    )
    assert links
    assert [link for link in links if not (GALLERY.parent / link).exists()] == []
