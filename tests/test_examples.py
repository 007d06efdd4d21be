"""The examples run, leave pictures and pages, and find what the books say; docs/{simulation,contact}.md show them."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from tests.test_pictures import coarse

pytestmark = pytest.mark.no_cover  # what they use has tests of its own

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
STORED = {picture.name: picture for picture in (ROOT / "docs" / "images" / "simulation").iterdir()}
LEDGER = "seven_joint_arm_ledger"


def assert_as_stored(drawn: Path) -> None:
    """A picture of the docs is what its example draws: two pixels off is less than 0.01."""
    stored = STORED[drawn.name]
    assert stored.stat().st_size < 120_000
    assert np.abs(coarse(drawn) - coarse(stored)).mean() < 0.02, f"{stored} shows something else: draw it again"


@pytest.fixture
def main(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """`main` of the example that a test is named after, called with a folder; what it leaves there is looked at."""
    name = request.node.name.removeprefix("test_")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "picture_style", raising=False)  # which sets the style where it is imported
    with mpl.rc_context():
        run = importlib.import_module(name).main

        def checked(**settings: float):
            found = run(tmp_path / "new", **settings)
            picture, page = (tmp_path / "new" / f"{name}.{kind}" for kind in ("png", "html"))
            assert {picture} <= set((tmp_path / "new").iterdir()) <= {picture, page}
            assert picture.stat().st_size > 10_000
            assert not page.exists() or "</html>" in page.read_text("utf-8")
            if picture.name in STORED:
                assert_as_stored(picture)
            return found

        yield checked
        pyplot.close("all")


def test_five_link_chain(main):
    """Both motions have the error of rk4, 2e-9 rad in a second; so much more is another motion."""
    assert main(seconds=1.0) < 1e-7


def test_point_on_a_circle(main):
    worst = main()
    assert worst["none"] > 0.03  # U8
    assert worst["projection"] < 1e-14 < worst["Baumgarte"] < worst["none"] / 5  # U9


def test_four_bar(main):
    """Without friction a drive does no work in a turn: its mean torque is zero, to the error of the mean."""
    assert abs(main(turns=3.0)) < 1e-6


def test_andrews(main):
    """The published solution has more digits; rk4 comes to 1.5e-9 rad with these steps."""
    assert main() < 1e-8


def test_gyroscope(main):
    assert main(seconds=1.0) < 1e-4


def test_dzhanibekov(main):
    assert main(seconds=5.0) < 1e-8


def test_cart_pole(main):
    assert main() < 0.01


def test_reduced_and_maximal(main):
    """Joint coordinates after a tenth of a second: rk4's error in either."""
    assert max(main().values()) < 1e-6


def test_contact_court(main):
    """What holds stays to rounding, what gives way creeps, and no spring carries a thousand times its mass."""
    found = main()
    assert all(found[name] < 1e-9 for name in ("hard", "lcp", "impulse"))
    assert found["soft"] > 1e-5 < found["penalty"]
    assert found["springs"] == 0
    assert found["hard overlap"] < 1e-8


def test_every_example_with_a_main_is_tested():
    """All scripts that take a folder as an argument; those of the docs' pictures are in test_pictures.py."""
    named = {path.stem for path in EXAMPLES.glob("*.py") if "def main(out: Path" in path.read_text("utf-8")}
    assert named == {name.removeprefix("test_") for name in globals() if name.removeprefix("test_") in named}
    assert len(named) == 9


def test_the_first_look_runs_tells_and_leaves_pictures(tmp_path):
    environment = {**os.environ, "COLUMNS": "80", "QDOT_COMPILE": "on"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "first_look.py"), "--out", "out"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    told = done.stdout
    assert max(map(len, told.splitlines())) <= 80
    assert "M[1,1] = l2**2*m2" in told
    rows = re.findall(r"^.*6,000 +[\d,]+ +(\S+) J +(none|\S+ m) *$", told, re.MULTILINE)
    assert len(rows) == 3
    assert max(float(closes) for closes, _ in rows) < 1e-5
    assert [drift == "none" for _, drift in rows] == [True, False, True]
    assert float(rows[1][1].split()[0]) < 1e-12
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert {f"out/{name}" for name in left} == set(re.findall(r"^  (out/\S+)$", told, re.MULTILINE))
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".png", ".html"}
    assert min(path.stat().st_size for path in (tmp_path / "out").iterdir()) > 10_000
    assert_as_stored(tmp_path / "out" / f"{LEDGER}.png")


def test_every_picture_of_the_pages_is_drawn_by_an_example():
    pages = ((ROOT / "docs" / name).read_text("utf-8") for name in ("simulation.md", "contact.md"))
    shown = [name for page in pages for name in re.findall(r"images/simulation/(\S+)\)", page)]
    assert sorted(shown) == sorted(STORED)
    assert {Path(name).stem for name in shown} <= {path.stem for path in EXAMPLES.glob("*.py")} | {LEDGER}
