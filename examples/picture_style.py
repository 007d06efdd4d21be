"""How the pictures of the docs look, and the command that draws them.

Seven inches wide, so that letters of 10 points are easy to read in a page; colours of Okabe and Ito, which all eyes
tell apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

INK, GREY, PALE = "#30343c", "#8a9099", "#cdd3da"
BLUE, RED, GREEN, ORANGE, PINK = "#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7"
PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}
"""Behind letters that lie on lines."""

mpl.rcParams.update(
    {
        "font.size": 10,
        "axes.titlesize": 10.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": INK,
        "legend.frameon": False,
        "figure.constrained_layout.use": True,
    }
)


def arrow(axes: Axes, start: np.ndarray, step: np.ndarray, color: str, **options: object) -> None:
    """From a point along a vector, in the units of the axes."""
    look = {"width": 0.008, "headwidth": 3.6, "headlength": 4.5, "headaxislength": 4.2, "zorder": 4, **options}
    axes.quiver(*start, *step, color=color, angles="xy", scale_units="xy", scale=1, **look)


def rods(
    axes: Axes, points: np.ndarray, color: str = PALE, width: float = 6, ground: float = 0, **options: object
) -> None:
    """A chain of rods through points, with pins; `ground` is the size of the support of the first, where it has one."""
    look = {"zorder": 1, "solid_capstyle": "round", **options}
    axes.plot(*np.transpose(points), "-o", color=color, lw=width, ms=1.9 * width, **look)
    if ground:
        x, y = points[0]
        axes.fill([x - ground, x + ground, x], [y - 1.5 * ground, y - 1.5 * ground, y], color=INK, zorder=1)


def legend(axes: Axes, colors: dict[str, str], **options: object) -> None:
    """What each colour means."""
    axes.legend([Line2D([], [], color=color, lw=3) for color in colors.values()], list(colors), **options)


def bare(axes: Axes, title: str) -> None:
    """No frame: a drawing, of one scale in both directions."""
    axes.set(aspect="equal", title=title)
    axes.axis("off")


def ellipse(matrix: np.ndarray, size: float = 1.0, n: int = 90) -> np.ndarray:
    """Points u, (n, 2), with uᵀ matrix u = size²."""
    angle = np.linspace(0, 2 * np.pi, n)
    return size * np.linalg.solve(np.linalg.cholesky(matrix).T, [np.cos(angle), np.sin(angle)]).T


def draw(about: str, folder: str, pictures: list[Callable[[], Figure]]) -> None:
    """The command of a script: its pictures, or those that are named, as PNG files."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("names", nargs="*", help="which pictures (all of them if not given)")
    parser.add_argument("--out", type=Path, default=Path("docs") / "images" / folder, help="folder for the pictures")
    asked = parser.parse_args()
    known = {picture.__name__: picture for picture in pictures}
    if unknown := sorted(set(asked.names) - set(known)):
        parser.error(f"no picture is called {', '.join(unknown)}; there are: {', '.join(known)}")
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.names or known:
        path = asked.out / f"{name}.png"
        drawn = BytesIO()
        known[name]().savefig(drawn, dpi=130)
        # Few colours: a third of the bytes.
        Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
        plt.close("all")
        print(f"picture: {path}")
