"""MJCF files that are wrong: each is refused with file, line, cause and remedy, or loads; nothing else comes out."""

from __future__ import annotations

import math
import re

import mujoco
import pytest
from hypothesis import given, settings, strategies as st

import qdot
from qdot.errors import ModelError, QdotError
from qdot.formats import mjcf_read_limits as limits, mjcf_read_numbers as numbers
from tests.formats.mjcf_forces import MODELS

GEOM = '<geom size="0.1"/>'


def mjcf(world: str, rest: str = "") -> str:
    """The world's elements start on line 2."""
    return f"<mujoco><worldbody>\n{world}</worldbody>{rest}</mujoco>"


REFUSED = {
    "unknown element": (mjcf("<robot/>"), 2, "unrecognized element"),
    "unknown attribute": (mjcf('\n<body colour="red"/>'), 3, "unrecognized attribute: 'colour'"),
    "unknown keyword": (mjcf('<geom type="cone" size="1"/>'), 2, "invalid keyword: 'cone'"),
    "not a number": (mjcf('<geom size="1,5"/>'), 2, "size"),
    "too few numbers": (mjcf('<body pos="1 2"/>'), 2, "pos"),
    "no size": (mjcf("\n\n<geom/>"), 4, "size"),
    "no mass": (mjcf("<body><joint/></body>"), 2, "mass and inertia of moving bodies"),
    "unphysical inertia": (
        mjcf('<body><joint/>\n<inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/></body>'),
        2,
        "A .* B >= C",
    ),
    "two bodies of one name": (mjcf(f'<body name="a">{GEOM}</body>\n<body name="a"/>'), 3, "repeated name 'a'"),
    "free joint within": (mjcf(f"<body>{GEOM}\n<body><freejoint/>{GEOM}</body></body>"), 3, "free joint"),
    "hinge after ball": (mjcf(f'<body>{GEOM}<joint type="ball"/><joint/></body>'), 2, "ball followed by rotation"),
    "unknown joint": (mjcf("", '\n<actuator><motor joint="a"/></actuator>'), 3, "unknown transmission target 'a'"),
    "unknown mesh": (mjcf('<geom type="mesh" mesh="m"/>'), 2, "'m'"),
    "no such file": (mjcf("", '\n<asset><mesh file="none.stl"/></asset>'), None, "none.stl"),
    "no such include": (mjcf('<include file="none.xml"/>'), 2, "none.xml"),
    "endless reference": (
        mjcf(f'<body>\n<joint ref="inf"/>{GEOM}</body>'),
        3,
        "<joint>: the attribute 'ref' has 'inf'",
    ),
    "empty anchor": (mjcf('<body name="b"/>', '\n<equality><connect body1="b" anchor=""/></equality>'), 3, "anchor"),
    "model without a file": (mjcf("", '\n<asset><model name="m"/></asset>'), 3, "<model>: the attribute 'file'"),
    "model of an empty file": (mjcf("", '\n<asset><model file=" "/></asset>'), 3, "<model>: the attribute 'file'"),
    "include from a package": (mjcf('<include file="package://a/b.xml"/>'), 2, "by plain paths"),
    "side of a cube from a package": (
        mjcf("", '\n<asset><texture type="cube" fileup="package://a/b.png"/></asset>'),
        3,
        "by plain paths",
    ),
    "endless inertia": (mjcf('<body><inertial pos="1e300 0 0" mass="1" diaginertia="1 1 1"/></body>'), 2, "finite"),
    "broken off": ("<mujoco>\n<worldbody>", 2, "breaks off"),
    "entities": ('<!DOCTYPE m [<!ENTITY a "b">]>\n<mujoco/>', 1, "DOCTYPE"),
    "a part": ("<mujocoinclude/>", 1, "a part that other MJCF files include"),
}


@pytest.mark.parametrize(("text", "line", "cause"), REFUSED.values(), ids=REFUSED)
def test_refused_with_place_and_cause(text, line, cause):
    with pytest.raises(ModelError, match=cause) as error:
        qdot.load(text)
    assert str(error.value).startswith("text: " if line is None else f"text:{line}: ")
    assert error.value.__cause__ is None or isinstance(error.value.__cause__, QdotError)


def test_errors_in_an_included_file_name_it(tmp_path):
    (tmp_path / "part.xml").write_text("<mujocoinclude>\n<body></mujocoinclude>")
    file = tmp_path / "robot.xml"
    file.write_text('<mujoco><worldbody>\n<include file="part.xml"/></worldbody></mujoco>')
    with pytest.raises(ModelError, match="mismatched tag") as error:
        qdot.load(file)
    assert str(error.value).startswith(f"{tmp_path / 'part.xml'}:2: ")


def test_includes_in_a_circle_are_refused(tmp_path):
    file = tmp_path / "robot.xml"
    file.write_text('<mujoco>\n<include file="part.xml"/></mujoco>')
    (tmp_path / "part.xml").write_text('<mujocoinclude><include file="part.xml"/></mujocoinclude>')
    with pytest.raises(ModelError, match=r"part\.xml"):
        qdot.load(file)


# ── what would take for ever ─────────────────────────────────────────────────────────────────────


BOUNDS = [(tag, attribute, most) for table in (limits.EACH, limits.ALL) for tag, of_it in table.items()
          for attribute, most in of_it.items()]  # fmt: skip


@pytest.mark.parametrize(("tag", "attribute", "most"), BOUNDS)
def test_counts_beyond_any_model_are_refused_before_mujoco_tries(tag, attribute, most):
    tag = tag or "user"
    with pytest.raises(ModelError, match=f"text:2: <{tag}>: {attribute} = .* asks for more") as error:
        qdot.load(mjcf(f'<{tag} {attribute}="{10 * most:.0f}"/>'))
    assert re.search(f"{most:g}( in all)?; give less".replace("+", r"\+"), str(error.value))


@pytest.mark.parametrize("attribute", sorted(limits.PER_ELEMENT))
def test_numbers_for_every_element_count_with_the_elements(attribute):
    size = f'<size {attribute}="1000"/>'
    assert qdot.load(mjcf(GEOM * 5, size)).nv == 0
    many = f'<replicate count="1000" offset="1 0 0">{GEOM}</replicate>'
    with pytest.raises(ModelError, match=f"text:2: <size>: {attribute} = '1000' asks for more"):
        qdot.load(mjcf(many, size))


def copied(count: int, text: str) -> str:
    return f'<replicate count="{count}" offset="1 0 0">{text}</replicate>'


BOMBS = {
    "copies of copies": (mjcf(copied(1000, copied(1000, GEOM))), "<replicate>: count = '1000' asks for more"),
    "many copies": (mjcf(copied(300, GEOM) * 50), "<replicate>: count = '300' asks for more .* in all"),
    "copies of much": (mjcf(copied(9000, GEOM * 50)), "<geom>: with it, more than 100000 elements are copies"),
    "copies of flexes": (
        mjcf(copied(99, '<flexcomp name="f" type="grid" dim="2" count="30 30 1" spacing="1 1 1"/>')),
        "<flexcomp>: count = '30 30 1' asks for more",
    ),
    "textures": (
        mjcf("", "<asset>" + '<texture type="2d" builtin="flat" width="4000" height="4000"/>' * 4 + "</asset>"),
        "<texture>: width = '4000' asks for more",
    ),
    "cube": (mjcf("", '<asset><texture builtin="flat" width="4000" height="1"/></asset>'), "<texture>: width"),
    "height fields": (
        mjcf("", "<asset>" + '<hfield nrow="2000" ncol="3000" size="1 1 1 1"/>' * 2 + "</asset>"),
        "<hfield>: nrow = '2000' asks for more",
    ),
}


@pytest.mark.parametrize(("text", "cause"), BOMBS.values(), ids=BOMBS)
def test_what_adds_up_and_multiplies_counts(text, cause):
    with pytest.raises(ModelError, match=f"text:2: {cause}"):
        qdot.load(text)


BOMB = '\n<replicate count="99999999"/>'


def write(folder, files: dict[str, str]):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder / "main.xml"


INCLUDING = {
    "beside": {"main.xml": '<include file="part.xml"/>', "part.xml": BOMB},
    "beside the main file": {
        "main.xml": '<include file="sub/a.xml"/>',
        "sub/a.xml": '<include file="part.xml"/>',
        "part.xml": BOMB,
        "sub/part.xml": "",
    },
    "beside the including file": {
        "main.xml": '<include file="sub/a.xml"/>',
        "sub/a.xml": '<include file="part.xml"/>',
        "sub/part.xml": BOMB,
    },
}


@pytest.mark.parametrize("files", INCLUDING.values(), ids=INCLUDING)
@pytest.mark.parametrize("as_text", [False, True])
def test_counts_in_included_files_count_too(files, as_text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {name: f"<mujocoinclude>{text}</mujocoinclude>" for name, text in files.items()}
    text = f"<mujoco><worldbody>{files['main.xml']}</worldbody></mujoco>".replace("mujocoinclude", "frame")
    main = write(tmp_path, files | {"main.xml": text})
    with pytest.raises(ModelError, match=r"part\.xml:2: <replicate>: count"):
        qdot.load(text if as_text else main)


def test_a_file_that_mujoco_does_not_take_is_not_looked_through(tmp_path):
    files = INCLUDING["beside the main file"] | {"part.xml": "<site/>", "sub/part.xml": BOMB}
    files = {name: f"<mujocoinclude>{text}</mujocoinclude>" for name, text in files.items()}
    main = write(tmp_path, files | {"main.xml": mjcf('<include file="sub/a.xml"/>')})
    assert qdot.load(main).nv == 0


def model(file: str, name: str = "m") -> str:
    return f'<asset><model name="{name}" file="{file}"/></asset>'


ATTACH = '\n<attach model="m" body="b" prefix="{}"/>'
PART = mjcf(f'<body name="b">{GEOM}</body>')


def test_models_that_are_attached_count_too(tmp_path):
    files = {"main.xml": mjcf("", model("sub/part.xml")), "sub/part.xml": mjcf("", model("own.xml"))}
    main = write(tmp_path, files | {"sub/own.xml": mjcf(BOMB)})
    with pytest.raises(ModelError, match=r"own\.xml:3: <replicate>: count"):
        qdot.load(main)
    many = "".join(map(ATTACH.format, range(30)))
    main = write(tmp_path, {"main.xml": mjcf(many, model("part.xml")), "part.xml": mjcf(copied(500, GEOM))})
    with pytest.raises(ModelError, match=r"main\.xml:23: <attach>: with it, 'count' of <replicate> asks for more"):
        qdot.load(main)
    main = write(tmp_path, {"main.xml": mjcf(copied(9000, ATTACH.format("p")), model("part.xml"))})
    write(tmp_path, {"part.xml": mjcf(GEOM * 20)})
    with pytest.raises(ModelError, match=r"main\.xml:3: <attach>: with it, more than 100000 elements are copies"):
        qdot.load(main)


def test_models_are_attached(tmp_path):
    main = write(tmp_path, {"main.xml": mjcf(ATTACH.format("p"), model("part.xml")), "part.xml": PART})
    assert [body.name for body in qdot.load(main).bodies] == ["pb"]


def test_models_that_attach_models_twice_are_read_in_a_moment_or_refused(tmp_path):
    files = {
        f"part{k}.xml": mjcf("", model(f"part{k + 1}.xml", "a") + model(f"part{k + 1}.xml", "b")) for k in range(19)
    }
    main = write(tmp_path, files | {"main.xml": files["part0.xml"], "part19.xml": PART})
    with pytest.raises(ModelError, match="<model>: with it, more than 1e\\+06 elements would be read"):
        qdot.load(main)


def test_files_within_files_without_end_are_refused(tmp_path):
    main = write(tmp_path, {"main.xml": mjcf("", model("main.xml"))})
    with pytest.raises(ModelError, match=r"main\.xml:2: <model>: the file 'main.xml' leads back to itself"):
        qdot.load(main)
    files = {f"part{k}.xml": mjcf("", model(f"part{k + 1}.xml")) for k in range(30)}
    with pytest.raises(ModelError, match=r"part\d+\.xml:2: <model>: more than 20 files lie within each other"):
        qdot.load(write(tmp_path, files | {"main.xml": files["part0.xml"], "part30.xml": PART}))
    files = {f"part{k}.xml": f'<mujocoinclude><include file="part{k + 1}.xml"/></mujocoinclude>' for k in range(30)}
    with pytest.raises(ModelError, match=r"part\d+\.xml:1: <include>: more than 20 files lie within each other"):
        qdot.load(write(tmp_path, files | {"main.xml": mjcf('<include file="part0.xml"/>')}))


def test_a_muscle_that_blows_up_does_not_keep_the_compiler_busy():
    # MuJoCo would simulate it from the start again and again.
    world = f'<body>{GEOM}<joint name="j"/><inertial pos="0 0 1e20" mass="2" diaginertia="1 1 1"/></body>'
    text = mjcf(world, '<compiler><lengthrange accel="1e20"/></compiler><actuator><muscle joint="j"/></actuator>')
    assert qdot.load(text, strict=False).nv == 1


# ── numbers that are none ────────────────────────────────────────────────────────────────────────

JOINT = f'<body>{GEOM}<joint name="j"/></body>'
NOT_A_NUMBER = {
    "range": mjcf(f'<body><joint range="nan 1"/>{GEOM}</body>'),
    "wind": mjcf("", '<option density="1" wind="0 NaN 0"/>'),
    "gear": mjcf(JOINT, '<actuator><motor joint="j" gear="-nan"/></actuator>'),
    "gainprm": mjcf(JOINT, '<actuator><general joint="j" gainprm="nan(7)"/></actuator>'),
    "qpos": mjcf(JOINT, '<keyframe><key qpos="&#110;an"/></keyframe>'),
    "data": mjcf("", '<custom><numeric name="nan" data="1 nan"/></custom>'),
    "pos": mjcf('<body pos="0 0 inf"/>'),
    "damping": mjcf("", '<default><joint damping="+Infinity"/></default>'),
}


@pytest.mark.parametrize("attribute", NOT_A_NUMBER)
def test_numbers_that_are_not_finite_never_load(attribute):
    with pytest.raises(ModelError, match=f"text:2: <\\w+>: the attribute '{attribute}' has .* for a number"):
        qdot.load(NOT_A_NUMBER[attribute], strict=False)


def test_numbers_that_are_not_finite_are_found_in_other_files(tmp_path):
    main = write(tmp_path, {"main.xml": mjcf('<include file="part.xml"/>', model("model.xml"))})
    write(tmp_path, {"part.xml": "<mujocoinclude/>", "model.xml": mjcf('<body pos="nan 0 0"/>')})
    with pytest.raises(ModelError, match=r"model\.xml:2: <body>: the attribute 'pos' has 'nan'"):
        qdot.load(main)
    write(tmp_path, {"part.xml": '<mujocoinclude>\n<body pos="nan 0 0"/></mujocoinclude>', "model.xml": PART})
    with pytest.raises(ModelError, match=r"part\.xml:2: <body>: the attribute 'pos' has 'nan'"):
        qdot.load(main)


def test_names_may_be_nan_and_ranges_endless():
    text = mjcf(
        f'<body name="nan"><joint name="inf" range="-inf inf"/>{GEOM}<site name="nan"/></body>',
        '<actuator><motor name="nan" joint="inf" ctrlrange="0 inf"/></actuator><sensor><gyro site="nan" cutoff="inf"/>'
        '</sensor><custom><text name="nan" data="nan"/></custom>',
    )
    body, (actuator,) = qdot.load(text).body("nan"), qdot.load(text).actuators
    assert (body.joint.limits.lower, body.joint.limits.upper) == ((-math.inf,), (math.inf,))
    assert actuator.control_range == (0.0, math.inf)


def test_all_texts_are_attributes_of_mujoco():
    known = set(mujoco.mj_printSchema(False, True).split())
    assert known > set(numbers.TEXTS.split())


# ── anything ─────────────────────────────────────────────────────────────────────────────────────

SCENE = """<mujoco model="scene">
  <compiler angle="radian" boundmass="0.001" balanceinertia="true"/>
  <option timestep="0.002" gravity="0 0 -9.81" density="1.2" impratio="2" iterations="50" cone="elliptic"/>
  <size memory="1M" nuserdata="3" nuser_body="2"/>
  <custom><numeric name="n" size="3" data="1 2 3"/><text name="t" data="x"/></custom>
  <default><geom friction="1 0.1 0.01" solref="0.02 1"/><default class="c"><joint damping="1"/></default></default>
  <asset>
    <texture name="grid" type="2d" builtin="checker" width="16" height="16" rgb1="0 0 0" rgb2="1 1 1"/>
    <material name="mat" texture="grid" texrepeat="2 2" reflectance="0.2"/>
    <hfield name="hills" nrow="3" ncol="4" size="1 1 0.5 0.1" elevation="0 1 0 1 0 1 0 1 0 1 0 1"/>
    <mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.5 0.5 0.5"/>
  </asset>
  <worldbody>
    <light pos="0 0 3"/><camera name="cam" pos="0 0 2"/>
    <geom name="floor" type="plane" size="2 2 0.1" material="mat"/>
    <geom type="hfield" hfield="hills" pos="3 0 0"/>
    <body name="a" pos="0 0 1" quat="1 0 0 0" gravcomp="0.5" childclass="c" user="1 2">
      <freejoint name="root"/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.1 0.1"/>
      <geom name="ga" type="mesh" mesh="tet"/>
      <site name="sa" size="0.01" pos="0.1 0 0"/>
      <body name="b" pos="0.2 0 0" euler="0.1 0.2 0.3">
        <joint name="jb" axis="0 1 0" range="-1 1" stiffness="3" springref="0.1" ref="0.05" frictionloss="0.1"/>
        <joint name="jc" type="slide" axis="0 0 1" range="-0.1 0.1"/>
        <geom name="gb" type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="0.3"/>
        <site name="sb" type="box" size="0.01 0.01 0.01"/>
      </body>
    </body>
    <body name="target" mocap="true" pos="1 1 1"><geom type="sphere" size="0.05" contype="0" conaffinity="0"/></body>
    <replicate count="3" offset="0.5 0 0" euler="0 0 0.5"><body><joint/><geom size="0.05"/></body></replicate>
    <flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" pos="0 6 1" dim="2" mass="0.1"/>
  </worldbody>
  <contact><pair geom1="ga" geom2="gb" condim="4"/><exclude body1="a" body2="b"/></contact>
  <equality><weld body1="a" body2="target" active="false"/></equality>
  <actuator><muscle joint="jb" timeconst="0.01 0.04"/><position joint="jc" kp="9" delay="0.02" nsample="5"/></actuator>
  <sensor><gyro name="gy" site="sa" noise="0.1" cutoff="10"/><framepos objtype="body" objname="b"/></sensor>
  <keyframe><key name="home" time="1" ctrl="0 0"/></keyframe>
</mujoco>"""  # fmt: skip
TEXTS = [SCENE, *MODELS.values()]
ODD = (
    *("0", "-1", "1e308", "-1e308", "nan", "inf", "1e-308", "1e9", "-1e9", "99999999999", "1e20", "2147483647"),
    *("-2147483648", "x", "1,5", "0x10", "", "1 2 3"),
)
NUMBER, VALUE = re.compile(r"-?\d+\.?\d*(e-?\d+)?"), re.compile(r'"[^"]*"')
ATTRIBUTE, ELEMENT = re.compile(r'\s[a-z]\w*="[^"]*"'), re.compile(r"<[^>]*/>")


@st.composite
def broken_models(draw) -> str:
    """A model with a few of its numbers, values, attributes or elements spoilt, exchanged, doubled or left out."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        pattern = draw(st.sampled_from([NUMBER, NUMBER, VALUE, ATTRIBUTE, ELEMENT]))
        places = list(pattern.finditer(text))
        if not places:
            break
        one, other = draw(st.sampled_from(places)), draw(st.sampled_from(places))
        replaced = [other.group(), one.group() * 2, ""] if pattern is not NUMBER else ODD
        text = text[: one.start()] + draw(st.sampled_from(replaced)) + text[one.end() :]
    return text[: draw(st.integers(len(text) // 2, 20 * len(text)))]  # now and then broken off


def refusal_of(text: str) -> str | None:
    """Why a text is refused; None for one that loads. Anything but an error of qdot escapes."""
    try:
        qdot.load(text, strict=False)
    except QdotError as error:
        return str(error)
    return None


@given(broken_models())
@settings(max_examples=150)
def test_a_broken_model_loads_or_is_refused_by_name(text):
    refusal = refusal_of(text)
    assert refusal is None or re.match(r"text(:\d+)?: ", refusal)
