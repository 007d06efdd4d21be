"""A page stands alone, holds the poses that kinematics gives, and shows names as they are."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import sympy

import qdot
from qdot.animation import scene, write, write_animation
from qdot.description import Material
from qdot.errors import ModelError, PictureError, UnknownNameError, ValueShapeError
from qdot.geometry import Box, Mesh, MeshFile, Plane, Sphere
from qdot.joints import Free, Prismatic, Revolute
from qdot.model import library
from qdot.spatial import Inertia

MARK = '<script id="scene" type="application/json">'


def content(page) -> dict:
    text = page.read_text("utf-8")
    start = text.index(MARK) + len(MARK)
    return json.loads(text[start : text.index("</script>", start)])


def decoded(text: str, kind: str = "<f4") -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def poses(of: dict, run: int = 0) -> np.ndarray:
    return decoded(of["runs"][run]["poses"]).reshape(of["frames"], of["bodies"], 7)


def swinging(model, seconds=2.0, rows=41) -> tuple[np.ndarray, np.ndarray]:
    """Times and configurations on the manifold: every freedom swings."""
    time = np.linspace(0, seconds, rows)
    dv = 0.8 * np.sin(np.outer(time, 1 + 0.3 * np.arange(model.nv)))
    return time, qdot.retract(model, np.tile(model.neutral(), (rows, 1)), dv)


def swung(model, tmp_path, **options) -> dict:
    return content(write_animation(tmp_path / "motion.html", model, *swinging(model), **options))


# ── the motion ───────────────────────────────────────────────────────────────────────────────────


def test_rows_at_the_rate_of_the_screen_are_shown_as_kinematics_has_them(tmp_path):
    # 60 rows each second are the frames themselves: float32 rounds positions of 1 m to 6e-8.
    model = library.random_tree(3, 6)
    time, q = swinging(model, 0.5, 31)
    of = content(write_animation(tmp_path / "tree.html", model, time, q))
    assert of["frames"] == 31
    for k in (0, 7, 30):
        for body, X in zip(poses(of)[k], qdot.kinematics(model, q[k]).poses[1:], strict=True):
            np.testing.assert_allclose(body[:3], tuple(X.position), atol=1e-5)
            assert abs(np.dot(body[3:], tuple(X.quaternion()))) == pytest.approx(1, abs=1e-6)


def test_between_rows_joints_stay_joints(tmp_path):
    # Two rows, half a turn of the first link apart: a straight line of its end would pass through the joint.
    chain = library.five_link_chain()
    q = np.zeros((2, 5))
    q[1, 0] = 0.9 * np.pi
    of = content(write_animation(tmp_path / "chain.html", chain, [0, 1], q))
    assert of["frames"] == 61
    turned = np.linspace(0, 0.9 * np.pi, 61)
    expected = 0.2 * np.column_stack([-np.sin(turned), np.zeros(61), -np.cos(turned)])
    np.testing.assert_allclose(poses(of)[:, 1, :3], expected, atol=1e-7)


def test_free_bodies_turn_on_the_sphere_of_quaternions(tmp_path):
    world = qdot.Mechanism("top")
    world.add("top", Free(), Box(1, 1, 1, mass=1))
    model = qdot.assemble(world)
    q = np.array([[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0]], dtype=float)  # half a turn about z
    of = content(write_animation(tmp_path / "top.html", model, [0, 1], q))
    half = np.linspace(0, np.pi / 2, 61)
    expected = np.column_stack([np.cos(half), np.zeros(61), np.zeros(61), np.sin(half)])
    np.testing.assert_allclose(np.abs(poses(of)[:, 0, 3:]), expected, atol=1e-6)  # of q and -q, which are one turn


def test_time_may_be_uneven_begin_anywhere_and_stand_still(tmp_path):
    arm = library.pendulum()
    of = content(write_animation(tmp_path / "a.html", arm, [5.0, 5.1, 5.1, 6.0], [[0.0], [0.1], [0.3], [1.2]]))
    assert of["time"] == [5.0, 6.0]
    angle = 2 * np.arctan2(poses(of)[:, 0, 5], poses(of)[:, 0, 3])
    time = np.linspace(5, 6, 61)
    np.testing.assert_allclose(angle, np.where(time < 5.1 - 1e-9, time - 5, 0.3 + (time - 5.1)), atol=1e-6)
    still = content(write_animation(tmp_path / "b.html", arm, [3.0], [[0.5]]))
    assert still["frames"] == 1


def test_slow_motion_has_more_frames_and_long_motion_not_too_many(tmp_path, monkeypatch):
    arm = library.pendulum()
    frames = {speed: swung(arm, tmp_path, speed=speed)["frames"] for speed in (0.1, 1.0, 4.0)}
    assert frames == {0.1: 1201, 1.0: 121, 4.0: 31}
    monkeypatch.setattr(write, "POSES", 50)
    assert swung(arm, tmp_path)["frames"] == 50


def test_a_model_without_freedoms_is_a_still_picture_that_lasts(tmp_path):
    model = qdot.assemble(qdot.Mechanism("empty"))
    of = content(write_animation(tmp_path / "empty.html", model, [0, 1], np.zeros((2, 0))))
    assert (of["bodies"], of["frames"], of["parts"]) == (0, 61, [])


# ── what is seen ─────────────────────────────────────────────────────────────────────────────────


def test_equal_shapes_share_a_mesh(tmp_path):
    of = swung(library.five_link_chain(), tmp_path)
    assert [len(of["meshes"]), len(of["parts"])] == [1, 5]
    vertices, faces = library.five_link_chain().bodies[0].record.shapes[0].shape.shape.surface()
    np.testing.assert_allclose(decoded(of["meshes"][0]["vertices"]).reshape(-1, 3), vertices, atol=1e-8)
    np.testing.assert_array_equal(decoded(of["meshes"][0]["faces"], "<u4").reshape(-1, 3), faces)


def test_what_has_no_shape_gets_bones(tmp_path):
    world = qdot.Mechanism("bare")
    cart = world.add("cart", Prismatic("x"), Inertia.point(1, (0, 0, 0)), joint_name="slide")
    pole = cart.add("pole", Revolute("y"), Inertia.point(1, (0, 0, 0.5)), at=(0, 0, 0.1))
    pole.frame("tip", at=(0, 0, -1))
    of = swung(qdot.assemble(world), tmp_path)
    # A knob each, one bone from cart to hinge, one from hinge to tip; the guides of both joints beside the triad.
    assert [part["body"] for part in of["parts"]] == [1, 1, 2, 2]
    np.testing.assert_allclose(of["parts"][1]["pose"], [0, 0, 0.05, 1, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(of["parts"][3]["pose"], [0, 0, -0.5, 0, 1, 0, 0], atol=1e-12)
    assert [link["bodies"] for link in of["links"]] == [[0, 0]] * 3 + [[0, 1], [1, 2]]


def test_material_is_kept_and_planes_are_the_ground(tmp_path):
    world = qdot.Mechanism("ball")
    world.world.show(Plane().at(0, 0, -2))
    world.add("ball", Free(), Sphere(0.1, mass=1), material=Material("red", (1.0, 0.0, 0.0, 0.5)))
    of = swung(qdot.assemble(world), tmp_path)
    assert [part["color"] for part in of["parts"]] == [[1.0, 0.0, 0.0, 0.5]]
    assert of["grid"] == {"axis": 2, "at": -2.0}


def test_a_mesh_that_cannot_be_read_is_told_and_replaced(tmp_path):
    world = qdot.Mechanism("lost")
    body = world.add("body", Revolute("y"), Inertia.point(1, (0, 0, 0.5)))
    body.show(MeshFile("nowhere.stl"))
    of = swung(qdot.assemble(world), tmp_path)
    assert len(of["notes"]) == 1
    assert "nowhere.stl" in of["notes"][0]
    assert len(of["parts"]) == 2  # a knob and a bone


def test_large_meshes_become_coarser_and_keep_their_place(tmp_path, monkeypatch):
    monkeypatch.setattr(scene, "TRIANGLES", 1000)
    vertices, faces = Sphere(0.3).surface(120)
    world = qdot.Mechanism("ball")
    world.add("ball", Revolute("y"), Inertia.point(1, (0, 0, 0.5))).show(Mesh(vertices, faces))
    of = swung(qdot.assemble(world), tmp_path)
    shown, kept = decoded(of["meshes"][0]["vertices"]).reshape(-1, 3), decoded(of["meshes"][0]["faces"], "<u4")
    assert 200 < len(kept) / 3 <= 1000
    assert kept.max() < len(shown)
    assert f"{len(faces):,} triangles" in of["notes"][0]
    # Means of points of a sphere lie within it, by less than a cell: 0.6 m / 8.
    assert ((np.linalg.norm(shown, axis=1) > 0.3 - 0.075) & (np.linalg.norm(shown, axis=1) <= 0.3 + 1e-6)).all()


def test_tendons_run_from_frame_to_frame(tmp_path):
    text = """<mujoco><worldbody><site name="a" pos="0 0 1"/><body name="arm"><joint name="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".02"/><site name="b" pos=".5 0 0"/></body></worldbody>
      <tendon><spatial name="cable" rgba="0 1 0 1"><site site="a"/><site site="b"/></spatial></tendon></mujoco>"""
    (tmp_path / "arm.xml").write_text(text, "utf-8")
    of = swung(qdot.load(tmp_path / "arm.xml"), tmp_path)
    assert of["links"][-1] == {"bodies": [0, 1], "points": [[0, 0, 1], [0.5, 0, 0]], "color": "#00ff00", "width": 2.5}


# ── where it is looked at from ───────────────────────────────────────────────────────────────────


def seen(of: dict, v) -> np.ndarray:
    """A vector of the world in the frame with z up."""
    w, r = of["upright"][0], np.array(of["upright"][1:])
    return np.array(v) + 2 * np.cross(r, np.cross(r, v) + w * np.array(v))


@pytest.mark.parametrize(("make", "normal"), [(library.five_link_chain, "y"), (library.two_link_arm, "z")])
def test_gravity_points_down_and_planar_mechanisms_are_seen_along_their_normal(tmp_path, make, normal):
    model = make()
    of = swung(model, tmp_path)
    down = seen(of, tuple(model.gravity))
    np.testing.assert_allclose(down / np.linalg.norm(down), [0, 0, -1], atol=1e-12)
    azimuth, elevation = np.radians(of["view"])
    towards = [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    assert abs(np.dot(towards, seen(of, np.eye(3)["xyz".index(normal)]))) == pytest.approx(1)
    assert np.dot(np.cross([0, 0, 1], towards), seen(of, [1, 0, 0])) == pytest.approx(1)  # x to the right


def test_what_falls_is_followed_and_what_stands_is_not(tmp_path):
    world = qdot.Mechanism("ball")
    world.add("ball", Free(), Sphere(0.1, mass=1))
    model = qdot.assemble(world)
    time = np.linspace(0, 10, 101)
    q = np.tile(model.neutral(), (101, 1))
    q[:, 6] = -4.9 * time**2
    of = content(write_animation(tmp_path / "fall.html", model, time, q))
    assert of["follow"]
    np.testing.assert_allclose(of["mechanism"], [[-0.1] * 3, [0.1] * 3], atol=1e-9)
    np.testing.assert_allclose([of["whole"][0][2], of["whole"][1][2]], [-490.1, 0.1], rtol=1e-6)
    assert not swung(library.seven_joint_arm(), tmp_path)["follow"]


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def test_the_page_stands_alone(tmp_path):
    page = write_animation(
        tmp_path / "chain.html", library.five_link_chain(), *swinging(library.five_link_chain(), 10.0)
    )
    text = page.read_text("utf-8")
    assert page.stat().st_size < 300_000
    assert "http" not in text
    assert not re.search(r"\b(src|href|@import|url)\s*[=(]", text)
    assert "{{" not in text


def test_names_are_text_and_never_markup(tmp_path):
    nasty = '</script><b title="{{scene}}">&'
    world = qdot.Mechanism(nasty)
    world.add(nasty, Revolute("y"), Box(1, 1, 1, mass=1))
    model = qdot.assemble(world)
    page = write_animation(tmp_path / "nasty.html", model, *swinging(model), traces=nasty)
    text = page.read_text("utf-8")
    assert text.count("</script>") == 2  # of the data and of the program
    assert "<b " not in text
    assert "<title>&lt;/script&gt;&lt;b title=&quot;{{scene}}&quot;&gt;&amp;</title>" in text
    assert content(page)["traces"][0]["name"] == nasty


def test_several_motions_and_traces_are_told_apart(tmp_path):
    chain = library.five_link_chain()
    time, q = swinging(chain)
    page = write_animation(
        tmp_path / "two.html", chain, time, {"reduced": q, "maximal": 0.5 * q}, traces=["tip", "link3"]
    )
    of = content(page)
    assert [run["name"] for run in of["runs"]] == ["reduced", "maximal"]
    assert of["runs"][0]["color"] is None
    alone = content(write_animation(tmp_path / "one.html", chain, time, 0.5 * q))
    np.testing.assert_array_equal(poses(of, 1), poses(alone))
    assert [(t["body"], t["point"]) for t in of["traces"]] == [(5, [0, 0, -0.2]), (3, [0, 0, 0])]
    assert len({t["color"] for t in of["traces"]} | {of["runs"][1]["color"]}) == 3


@pytest.mark.skipif(not shutil.which("node"), reason="no node to read the program")
def test_the_program_of_the_page_can_be_read(tmp_path):
    text = write_animation(tmp_path / "a.html", library.pendulum(), [0], [[0]]).read_text("utf-8")
    (tmp_path / "program.js").write_text(text[text.rindex("<script>") + 8 : text.rindex("</script>")], "utf-8")
    subprocess.run(["node", "--check", str(tmp_path / "program.js")], check=True)


# ── what cannot be ───────────────────────────────────────────────────────────────────────────────


def test_what_cannot_be_shown_is_told(tmp_path):
    chain, page = library.five_link_chain(), tmp_path / "a.html"
    time, q = swinging(chain)
    for bad_time, bad_q, kind, message in (
        (time, q[:-1], ValueShapeError, r"q has shape \(40, 5\), but .* at 41 times needs \(41, 5\)"),
        (time, q[0], ValueShapeError, r"q has shape \(5,\), but .* needs \(41, 5\)"),
        (time, q[:, :4], ValueShapeError, "q has shape .* nq = 5"),
        (time, np.where(np.arange(41)[:, None] == 7, np.nan, q), ValueShapeError, "is nan at 'joint1' in row 7"),
        (time[None], q, ValueShapeError, r"have shape \(n,\)"),
        ([], q[:0], ValueShapeError, r"have shape \(n,\)"),
        (["now"] * 41, q, ValueShapeError, "are numbers"),
        (np.where(time == time[3], np.inf, time), q, ValueShapeError, r"time\[3\] is inf"),
        (time[::-1], q, ValueShapeError, "time goes back from 2 s to 1.95 s at row 1"),
        (time, {}, PictureError, "names none"),
    ):
        with pytest.raises(kind, match=message):
            write_animation(page, chain, bad_time, bad_q)
    for speed in (0, -1.0, float("inf"), "fast"):
        with pytest.raises(PictureError, match="speed of an animation is a positive number"):
            write_animation(page, chain, time, q, speed=speed)
    with pytest.raises(UnknownNameError, match="tip"):
        write_animation(page, chain, time, q, traces=["top"])
    with pytest.raises(ModelError, match=r"takes a qdot\.Model"):
        write_animation(page, "chain", time, q)
    with pytest.raises(PictureError, match="holds symbols"):
        write_animation(page, library.pendulum(length=sympy.Symbol("l", positive=True)), [0], [[0]])
    assert not page.exists()


def test_a_path_that_cannot_be_written_is_told(tmp_path):
    arm = library.pendulum()
    with pytest.raises(PictureError, match=r"there is no folder .*missing'; make it first"):
        write_animation(tmp_path / "missing" / "a.html", arm, [0], [[0]])
    with pytest.raises(PictureError, match="cannot be written"):
        write_animation(tmp_path, arm, [0], [[0]])
    with pytest.raises(PictureError, match="is written to a path, got 3"):
        write_animation(3, arm, [0], [[0]])
