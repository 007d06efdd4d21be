"""`load` and `save` apart from any format: what they take, where they look, and what they refuse before they begin."""

from __future__ import annotations

import gc
import os
import re
from pathlib import Path

import pytest

import qdot
from qdot.description import Severity
from qdot.errors import ModelError
from qdot.formats.xml import DEEPEST_MJCF
from qdot.geometry import MeshFile
from qdot.model.library import two_link_arm
from tests.cli.files import HOPPER


def mesh(address: str) -> str:
    shape = f'<visual><geometry><mesh filename="{address}"/></geometry></visual>'
    return f'<robot name="rig"><link name="a">{shape}</link></robot>'


def mesh_of(source: object, **options: object) -> str:
    (shape,) = qdot.load(source, **options).body("a").record.shapes
    assert isinstance(shape.shape, MeshFile)
    return str(shape.shape.path)


# ── what it takes ────────────────────────────────────────────────────────────────────────────────


def test_a_text_is_decoded_once() -> None:
    text = '<?xml version="1.0" encoding="iso-8859-1"?><robot name="é"><link name="a"/></robot>'
    assert qdot.load(text).name == "é"


class Bytes:
    def __fspath__(self) -> bytes:
        return b"robot.urdf"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ('<robot name="rig">\n<link name="\ud800"/></robot>', r"^text:2: .*half a character"),
        (b"<robot/>", "got bytes"),
        (Bytes(), "got Bytes"),
        (None, "got NoneType"),
        ("a\0b", "cannot be read"),
    ],
)
def test_what_is_no_model_is_refused(source: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        qdot.load(source)


def test_digits_of_other_scripts_are_no_numbers() -> None:
    shape = '<visual><geometry><sphere radius="٣"/></geometry></visual>'
    with pytest.raises(ModelError, match=r"'radius' needs one number"):
        qdot.load(f'<robot name="rig"><link name="a">{shape}</link></robot>')


def test_bodies_of_mjcf_may_lie_as_deep_as_mujoco_reads_them() -> None:
    depth = DEEPEST_MJCF - 3  # in <mujoco> and <worldbody>, and with something in the last
    bodies = "<body><joint/><geom size='.1'/>" * depth + "</body>" * depth
    assert qdot.load(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>").nv == depth


# ── where it looks ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cube.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    return path


def test_a_function_that_finds_no_file_is_passed_over(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = mesh("package://pkg/cube.obj")
    for answer in (file.parent, file / "nothing", "", file.with_name("nothing.obj")):

        def find(_: str, answer: object = answer) -> object:
            return answer

        assert mesh_of(text, resolve=find, packages={"pkg": file.parent}) == str(file)
        (item,) = qdot.load(text, resolve=find).report
        assert "not there" in item.found
    monkeypatch.chdir(file.parent)
    assert mesh_of(text, resolve=lambda _: "cube.obj") == str(file)  # wherever we go then


def test_addresses_in_mjcf_are_looked_up_too(file: Path) -> None:
    text = (
        '<mujoco><asset><mesh name="m" file="package://pkg/cube.obj"/></asset>'
        '<worldbody><body name="a"><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    for options in ({"packages": {"pkg": file.parent}}, {"resolve": lambda _: file}):
        # a tetrahedron of volume 1/6 m³, and MuJoCo's density of 1000 kg/m³; meshes are float32
        assert qdot.load(text, **options).body("a").inertia.mass == pytest.approx(1000 / 6, rel=1e-6)


def fails(address: str) -> str:
    raise KeyError(address)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resolve": fails}, r"resolve\('package://pkg/cube.obj'\) raised KeyError.*returns a path, or None"),
        ({"resolve": lambda _: 3}, r"returned 3; it returns a path, or None"),
        ({"resolve": lambda _: b"cube.obj"}, r"returned b'cube.obj'"),
        ({"resolve": "cube.obj"}, r"resolve is a function .*got 'cube.obj'"),
        ({"packages": "/robots"}, r"packages=\{'robot': folder\}, got '/robots'"),
        ({"packages": {"pkg": 3}}, r"got \{'pkg': 3\}"),
        ({"packages": {3: "pkg"}}, r"got \{3: 'pkg'\}"),
        ({"xacro": {"a": "b"}}, r"is for files that end in \.xacro"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        qdot.load(mesh("package://pkg/cube.obj"), **options)


@pytest.mark.skipif(os.name != "posix", reason="links are made in another way there")
def test_paths_start_beside_a_link_and_lead_out_of_the_folder_it_leads_to(file: Path) -> None:
    home, real = file.parent / "home", file.parent / "real" / "deep"
    home.mkdir()
    real.mkdir(parents=True)
    (real / "robot.urdf").write_text(mesh("cube.obj"))
    (home / "robot.urdf").symlink_to(real / "robot.urdf")
    (home / "cube.obj").symlink_to(file)
    assert mesh_of(home / "robot.urdf") == str(home / "cube.obj")
    (real / "other.urdf").write_text(mesh("../cube.obj"))
    (real.parent / "cube.obj").symlink_to(file)
    (home / "folder").symlink_to(real)
    assert mesh_of(home / "folder" / "other.urdf") == str(real.parent / "cube.obj")


# ── inertias ─────────────────────────────────────────────────────────────────────────────────────


def link(mass: float) -> str:
    moments = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    return (
        f'<robot name="rig"><link name="a">\n<inertial><mass value="{mass}"/>{moments}</inertial>'
        '<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>'
    )


def test_an_inertia_without_mass_cannot_be_repaired() -> None:
    (item,) = qdot.load(link(0), inertia="repair").report
    assert "it cannot be repaired" in item.done
    assert "inertia='repair'" not in item.done


def test_masses_are_compared_with_shapes_on_demand() -> None:
    assert len(qdot.load(link(4)).report) == 0
    (item,) = qdot.load(link(4), masses=True).report  # of 1000 kg/m³, but they turn like a much larger body
    assert (item.severity, item.file, item.line) == (Severity.NOTE, "text", 2)
    assert "radius of gyration" in item.found
    assert "kg/m³" in str(qdot.load(link(4000), masses=True).report)


# ── xacro ────────────────────────────────────────────────────────────────────────────────────────

XACRO = """<robot name="rig" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="name" default="a"/>
  <xacro:property name="unused" value="1"/>


  <link name="$(arg name)"><frob/></link>
</robot>
"""


@pytest.fixture
def xacro(tmp_path: Path) -> Path:
    pytest.importorskip("xacrodoc")
    return tmp_path / "rig.urdf.xacro"


@pytest.mark.parametrize("ending", [".xacro", ".XACRO"])
def test_xacro_is_expanded_with_its_arguments(xacro: Path, ending: str) -> None:
    path = xacro.with_suffix(ending)
    path.write_text(XACRO)
    (item,) = qdot.load(path).report
    assert (item.place, item.subject) == (f"{path} (expanded):4", "<link>")  # lines of the text it expands to
    assert qdot.load(path, xacro={"name": 7}).bodies[0].name == "7"


def test_xacro_finds_packages_where_it_is_told(xacro: Path) -> None:
    xacro.write_text(XACRO.replace("</robot>", '<xacro:include filename="$(find pkg)/more.xacro"/></robot>'))
    for name in ("one", "two"):  # each time anew: what was found before need not be what is meant now
        folder = xacro.parent / name
        folder.mkdir()
        joint = f'<joint name="j" type="fixed"><parent link="a"/><child link="{name}"/></joint>'
        (folder / "more.xacro").write_text(f'<robot><link name="{name}"/>{joint}</robot>')
        assert qdot.load(xacro, packages={"pkg": folder}).bodies[1].name == name
    with pytest.raises(ModelError, match=r"the package 'pkg' is not there; .*packages=\{'pkg': folder\}"):
        qdot.load(xacro)


def test_xacro_includes_files_beside_it(xacro: Path) -> None:
    xacro.write_text(XACRO.replace("</robot>", '<xacro:include filename="more/joint.xacro"/></robot>'))
    more = xacro.parent / "more"
    more.mkdir()
    include = 'xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="link.xacro"/>'
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    (more / "joint.xacro").write_text(f"<robot {include}{joint}</robot>")
    with pytest.raises(ModelError, match=r"link\.xacro"):
        qdot.load(xacro)
    (more / "link.xacro").write_text('<robot><link name="b"/></robot>')
    assert len(qdot.load(xacro).bodies) == 2  # also after an error in the midst of it


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ('<xacro:arg name="b"/><link name="$(arg b)"/>', r"an argument has no value.*xacro=\{name: value\}"),
        ('<xacro:macro name="r"><xacro:r/></xacro:macro><xacro:r/>', "calls itself without end"),
        ('<link name="${1/0}"/>', "cannot expand it: "),
        ("<link>", r"rig\.urdf\.xacro:\d+: not well-formed XML"),
    ],
)
def test_xacro_that_cannot_be_expanded_is_refused(xacro: Path, inner: str, message: str) -> None:
    xacro.write_text(XACRO.replace("</robot>", f"{inner}</robot>"))
    with pytest.raises(ModelError, match=message) as raised:
        qdot.load(xacro)
    assert "ROS_PACKAGE_PATH" not in str(raised.value)


def test_xacro_reads_no_entities(xacro: Path) -> None:
    xacro.write_text(f'<!DOCTYPE robot [<!ENTITY a "b">]>{XACRO}')
    with pytest.raises(ModelError, match=r"rig\.urdf\.xacro:1: the DOCTYPE"):
        qdot.load(xacro)


@pytest.mark.parametrize("arguments", ["left", {3: "left"}])
def test_arguments_of_xacro_have_names(xacro: Path, arguments: object) -> None:
    xacro.write_text(XACRO)
    with pytest.raises(ModelError, match=re.escape(f"got {arguments!r}")):
        qdot.load(xacro, xacro=arguments)


# ── save ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_motion_that_the_format_cannot_express_is_not_written(tmp_path: Path) -> None:
    model, path = qdot.load(HOPPER), tmp_path / "hopper.urdf"  # URDF has no servos
    with pytest.raises(
        ModelError, match=r"(?s)would not describe the motion of 'hopper'; strict=False writes it.*\n  "
    ):
        qdot.save(model, path)
    assert not path.exists()
    assert qdot.save(model, path, strict=False).of(Severity.PHYSICS)
    assert path.exists()


@pytest.mark.parametrize("path", [None, 3, b"arm.urdf", Bytes(), "", "arm", "arm.sdf", "no\0.urdf"])
def test_what_is_no_path_to_write_to_is_refused(path: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=r"^save: "):
        qdot.save(two_link_arm(), path)


def test_shapes_may_be_left_out() -> None:
    """No mesh has to be there then, and nothing else changes; the report says so."""
    mesh = '<collision><geometry><mesh filename="package://nowhere/m.stl"/></geometry></collision>'
    moments = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    urdf = f'<robot name="r"><link name="a"><inertial><mass value="2"/>{moments}</inertial>{mesh}</link></robot>'
    model = qdot.load(urdf, base="free", shapes=False)
    assert model.bodies[0].record.shapes == ()
    assert model.bodies[0].inertia.mass == 2.0
    assert [(item.severity, item.subject) for item in model.report] == [(Severity.NOTE, "shapes")]
    mjcf = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body name="b"><freejoint/><geom name="g" size=".1"/></body></worldbody>
      <contact><pair geom1="floor" geom2="g"/></contact></mujoco>"""
    bare, full = qdot.load(mjcf, shapes=False), qdot.load(mjcf)
    assert (bare.bodies[0].record.shapes, bare.description.world_shapes, bare.description.pairs) == ((), (), ())
    assert bare.bodies[0].inertia == full.bodies[0].inertia


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_as_before_a_load_that_fails_or_not(collecting: bool) -> None:
    (gc.enable if collecting else gc.disable)()
    try:
        qdot.load('<robot name="r"><link name="a"/></robot>')
        assert gc.isenabled() is collecting
        with pytest.raises(ModelError):
            qdot.load('<robot name="r"/>')
        assert gc.isenabled() is collecting
    finally:
        gc.enable()
