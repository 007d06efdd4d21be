"""`qdot show`: everything a file holds is there, in words that match the file's numbers."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import qdot
from qdot import Mechanism
from qdot.cli.show import pages
from qdot.joints import Compound, Continuous, Fixed, Free, Helical, Planar, Revolute, Spherical, Universal
from qdot.model.library import puma560, random_tree
from qdot.spatial import Inertia
from tests.cli.files import ARM, HOPPER, ran


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return file


@pytest.fixture
def hopper(tmp_path):
    file = tmp_path / "hopper.xml"
    file.write_text(HOPPER)
    return file


def test_counts_and_sums(capsys, arm):
    result = ran(capsys, "show", arm)
    assert (result.code, result.err) == (0, "")
    for words in ("model small arm", "from arm.urdf (URDF)", "mass 2.5 kg", "nv = 2, nq = 2", "1 to be seen"):
        assert words in result.words


def test_the_tree(capsys, arm):
    out = ran(capsys, "show", arm).out.splitlines()
    start = out.index(next(line for line in out if line.startswith("world")))
    assert [line.rstrip() for line in out[start : start + 4]] == [
        "world",
        "└── base  fixed",
        "    └── upper  shoulder: revolute y  2 kg",
        "        └── [bold]hand[/bold]  slide: prismatic (0.6, 0, 0.8)  0.5 kg",  # a name, no markup
    ]


def test_limits_and_what_joints_do_by_themselves(capsys, arm):
    words = ran(capsys, "show", arm).words
    assert "shoulder -1.5 rad 1.25 rad 3 rad/s 40 N·m" in words
    assert "slide 0 m 0.2 m 0.5 m/s 7 N" in words
    assert "shoulder 0.125 N·m·s" in words
    assert "stiffness" not in words  # no column for what no joint has


def test_the_report(capsys, arm):
    result = ran(capsys, "show", arm)
    line = next(k for k, text in enumerate(ARM.splitlines(), 1) if "<transmission" in text)
    assert f"ignored {line} " in result.words
    assert "transmission" in result.words.partition("Report")[2]


def test_nothing_to_report(capsys, tmp_path):
    file = tmp_path / "ball.urdf"
    file.write_text('<robot name="ball"><link name="ball"/></robot>')
    assert "everything was taken over as it stands" in ran(capsys, "show", file).words


def test_options_reach_the_loader(capsys, monkeypatch, arm):
    seen = {}

    def load(path, **options):
        seen.update(options)
        return puma560()

    monkeypatch.setattr(qdot, "load", load)
    words = (
        *("--base", "free", "--lenient", "--inertia", "repair", "--package", "robot=folder", "--package", "b=c=d"),
        *("--masses", "--xacro", "side=left"),
    )
    assert ran(capsys, "show", arm, *words).code == 0
    assert seen == {
        "base": "free",
        "strict": False,
        "inertia": "repair",
        "masses": True,
        "packages": {"robot": "folder", "b": "c=d"},
        "xacro": {"side": "left"},
    }
    ran(capsys, "show", arm)
    assert seen == {
        "base": "fixed", "strict": True, "inertia": "keep", "masses": False, "packages": None, "xacro": None
    }  # fmt: skip


def test_a_free_base(capsys, arm):
    assert "root_joint: free" in ran(capsys, "show", arm, "--base", "free").words


def test_everything_of_an_mjcf_file(capsys, hopper):
    words = ran(capsys, "show", hopper).words
    for told in (
        "from hopper.xml (MJCF)",
        "trunk root: free 3 kg",
        "hip -1 rad 1 rad",
        "servo joint hip 50 u - 50 l -1 … 1",
        "pull tendon belt × 4 u",
        "belt hip - 2 spin",
        "geared coupling spin = 3 hip",
        "gyro gyro site toe 3",
        "home 0 s q",
    ):
        assert told in words


def test_masses_are_compared_with_shapes_on_demand(capsys, arm):
    assert "kg/m³" not in ran(capsys, "show", arm, "--masses").words
    arm.write_text(ARM.replace('<mass value="2"/>', '<mass value="2000"/>'))
    assert "kg/m³" not in ran(capsys, "show", arm).words
    assert "kg/m³" in ran(capsys, "show", arm, "--masses").words


# ── models of any kind ───────────────────────────────────────────────────────────────────────────


def shown(model, width=100) -> str:
    console = Console(width=width, markup=False, file=StringIO())
    for page in pages(model, "here"):
        console.print(page)
    return console.file.getvalue()


BALL = Inertia.about_com(1.0, (0, 0, 0), (0.1, 0.1, 0.1))


@pytest.mark.parametrize(
    ("joint", "told"),
    [
        (Revolute("-z"), "revolute -z"),
        (Continuous("x"), "continuous x"),
        (Helical("y", 0.02), "helical y 0.02 m/rad"),
        (Universal("x", "y"), "universal x y"),
        (Planar("z"), "planar z x"),
        (Spherical(), "spherical"),
        (Free(), "free"),
        (Compound(Revolute("x"), Fixed((1, 2, 3)), Spherical()), "revolute x + spherical"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_joints_in_words(joint, told):
    world = Mechanism("robot")
    world.add("link", joint, BALL, joint_name="joint")
    assert f"link  joint: {told}  1 kg\n" in shown(qdot.assemble(world))


def test_limits_of_joints_with_several_freedoms():
    world = Mechanism("robot")
    world.add("ball", Spherical(limits=(0, 1.2)), BALL).add("pan", Universal(limits=((-1, -2), (1, 2))), BALL)
    words = " ".join(shown(qdot.assemble(world)).split())
    assert "ball[0] 0 rad 1.2 rad" in words  # the angle
    assert "pan[0] -1 rad 1 rad pan[1] -2 rad 2 rad" in words


def test_motions_without_mass_are_told():
    world = Mechanism("robot")
    world.add("ghost", Revolute("x"))
    assert "ghost: moving these moves no mass" in shown(qdot.assemble(world))


@pytest.mark.parametrize("width", [60, 100])
def test_any_model_fits_the_page(width):
    chain = random_tree(1, 60, branching=0)  # longer than any page is wide
    text = shown(chain, width)
    assert max(len(line) for line in text.splitlines()) <= width
    for body in chain.bodies:
        assert f" {body.name}  " in text


def test_colours_are_for_people(capsys, arm, monkeypatch):
    assert "\x1b" not in ran(capsys, "show", arm).out  # a pipe
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" in ran(capsys, "show", arm).out
