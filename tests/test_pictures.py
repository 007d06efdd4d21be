"""Pictures are drawn, show what is there, and refuse what cannot be drawn; the examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import sympy

mpl.use("Agg")

from matplotlib import pyplot

import qdot
from qdot.description import Material
from qdot.errors import PictureError, QdotError
from qdot.geometry import Box
from qdot.joints import Revolute
from qdot.model import library
from qdot.plots import draw

ROOT = Path(__file__).parent.parent
SCRIPTS = {"formulations": "formulation_pictures.py", "geometric": "geometric_pictures.py"}
PAGES = [page for folder in SCRIPTS for page in sorted((ROOT / "docs" / folder).glob("*.md")) if page.stem != "README"]

MODELS = {
    "pendulum": library.pendulum,
    "two_link_arm": library.two_link_arm,
    "rp_arm": library.rp_arm,
    "cart_pole": library.cart_pole,
    "puma560": library.puma560,
    "seven_joint_arm": library.seven_joint_arm,
    "floating_two_link": library.floating_two_link,
    "random_tree": lambda: library.random_tree(1, 6),
    "empty": lambda: qdot.assemble(qdot.Mechanism("empty")),
}


def pixels(figure) -> np.ndarray:
    figure.canvas.draw()
    image = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
    pyplot.close(figure)
    return image


@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_the_library_is_drawn(name):
    model = MODELS[name]()
    image = pixels(draw(model, frames=name != "pendulum"))
    assert np.ptp(image) > 100  # something dark on something light


def test_the_picture_follows_the_configuration_and_the_material():
    world = qdot.Mechanism("flag")
    world.add("flag", Revolute("y"), Box(1, 0.2, 0.4, mass=1).at(0.5, 0, 0), material=Material("red", (1, 0, 0, 1)))
    model = qdot.assemble(world)
    right, left = (pixels(draw(model, [q], view=(0, -90))) for q in (0.0, np.pi))
    reds = [np.argwhere((im[..., 0] > 120) & (im[..., 1] < 60) & (im[..., 2] < 60)) for im in (right, left)]
    assert min(map(len, reds)) > 2000  # the flag covers a good part of the picture
    assert not np.array_equal(right, left)


def test_what_cannot_be_drawn_is_told():
    arm = library.two_link_arm()
    with pytest.raises(PictureError, match=r"one configuration of model 'two_link_arm' .* not a batch"):
        draw(arm, np.zeros((3, 2)))
    with pytest.raises(QdotError, match="q has shape"):
        draw(arm, [0.0])
    with pytest.raises(QdotError, match="symbols"):
        draw(library.pendulum(length=sympy.Symbol("l", positive=True)))


def test_the_first_look_runs_and_leaves_pictures(tmp_path):
    script = ROOT / "examples" / "first_look.py"
    done = subprocess.run(
        [sys.executable, str(script), "--out", str(tmp_path)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "M[1,1] = l2**2*m2" in done.stdout
    for name in ("two_link_arm", "seven_joint_arm"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def coarse(picture: Path, size: int = 26) -> np.ndarray:
    """The mean colours of squares of a picture: a letter that lies a pixel off hardly changes them."""
    image = pyplot.imread(picture)[..., :3]
    rows, columns = (n // size for n in image.shape[:2])
    return image[: rows * size, : columns * size].reshape(rows, size, columns, size, 3).mean(axis=(1, 3))


@pytest.mark.parametrize("folder", SCRIPTS)
def test_every_page_has_a_picture_that_its_script_draws(folder, tmp_path):
    """A page, its picture and the function that draws it bear one name; none of the three is without the others.

    Two pixels off is less than 0.01 for each of them, any two of them differ by more than 0.03: 0.02 lies between.
    """
    script = ROOT / "examples" / SCRIPTS[folder]
    environment = {**os.environ, "QDOT_COMPILE": "on"}  # as readers run it, and quicker
    subprocess.run([sys.executable, str(script), "--out", str(tmp_path)], check=True, cwd=tmp_path, env=environment)
    images = ROOT / "docs" / "images" / folder
    drawn = {picture.stem for picture in tmp_path.glob("*.png")}
    assert drawn == {page.stem for page in PAGES if page.parent.name == folder}
    assert drawn == {picture.stem for picture in images.iterdir()}
    for name in drawn:
        new, stored = tmp_path / f"{name}.png", images / f"{name}.png"
        assert stored.stat().st_size < 120_000
        assert np.abs(coarse(new) - coarse(stored)).mean() < 0.02, f"{stored} shows something else: run {script.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_every_page_has_an_equation_code_and_its_picture(page):
    text = page.read_text("utf-8")
    before_code, _, code = text.partition("```python\n")
    assert re.search(r"^    \S.*=", before_code, re.MULTILINE)  # an equation, set off
    assert "assert " in code  # which says that it holds
    assert f"](../images/{page.parent.name}/{page.stem}.png)" in before_code
    index = (page.parent / "README.md").read_text("utf-8")
    assert f"]({page.name})" in index
    assert f"../images/{page.parent.name}/{page.stem}.png" in index


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda p: f"{p.parent.name}/{p.stem}"
)
def test_links_of_pages_lead_somewhere(page):
    text = page.read_text("utf-8")
    links = re.findall(r"\]\(([^)#\s]+)(?:#\S*)?\)", text) + re.findall(r'src="([^"]+)"', text)
    gone = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not gone
