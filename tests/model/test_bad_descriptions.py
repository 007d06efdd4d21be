"""Mechanisms that cannot be: each is refused with an error of qdot that names the thing, never with another one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, strategies as st

import qdot
from qdot.algebra import Mat3, Quaternion, Sym3, Vec3
from qdot.description import WORLD, BodyRecord, Description, FrameRecord, LoopRecord, Passive
from qdot.errors import InertiaError, JointError, ModelError, QdotError, UnknownNameError
from qdot.geometry import Box
from qdot.joints import Compound, Fixed, Helical, Limits, Planar, Prismatic, Revolute, Spherical, Universal
from qdot.spatial import Inertia, Transform
from tests.model.samples import INF, NAN, SOLID, THING, refused, single

DOWN = Vec3(0, 0, -9.81)


def record(name: str, parent: str = WORLD, **changes: object) -> BodyRecord:
    base = BodyRecord(name, parent, Revolute("y"), f"joint of {name}", Transform.identity(), SOLID)
    return replace(base, **changes)


def assembled(*bodies: BodyRecord, frames=(), loops=(), gravity=DOWN) -> qdot.Model:
    return qdot.assemble(Description("rig", gravity, tuple(bodies), tuple(frames), tuple(loops)))


# ── topology ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1500])
def test_parents_that_run_in_a_circle(n: int) -> None:
    bodies = [record(f"b{k}", f"b{(k + 1) % n}") for k in range(n)]
    with pytest.raises(ModelError, match=r"'rig'.*circle.*b0.*world.*loop joint"):
        assembled(record("root"), *bodies, record("tail", "b0"))


def test_a_missing_parent_is_named_with_the_body_that_wants_it() -> None:
    with pytest.raises(UnknownNameError, match="parent of 'hand' has no body named 'arn'; did you mean: 'arm'"):
        assembled(record("arm"), record("hand", "arn"))
    with pytest.raises(QdotError, match="'hand'"):
        assembled(record("hand", "tip"), frames=[FrameRecord("tip", WORLD, Transform.identity())])


@given(st.integers(0, 7).flatmap(lambda n: st.lists(st.integers(-2, n - 1), min_size=n, max_size=n)))
@example([0])
@example([1, 0])
def test_any_parents_are_numbered_or_refused(parents: list[int]) -> None:
    """-1 is the world and -2 a body that is missing."""
    names = {-1: WORLD, -2: "missing"} | {k: f"b{k}" for k in range(len(parents))}
    bodies = [record(names[k], names[p]) for k, p in enumerate(parents)]

    def reaches_the_world(k: int) -> bool:
        for _ in range(len(parents) + 1):
            if k < 0:
                return k == -1
            k = parents[k]
        return False

    if all(map(reaches_the_world, range(len(parents)))):
        model = assembled(*bodies)
        assert all(body.parent < body.index for body in model.bodies)
        assert {b.name: model.bodies[b.parent - 1].name if b.parent else WORLD for b in model.bodies} == {
            names[k]: names[p] for k, p in enumerate(parents)
        }
    else:
        with pytest.raises(ModelError if -2 not in parents else QdotError):
            assembled(*bodies)


# ── names ────────────────────────────────────────────────────────────────────────────────────────


def test_names_used_twice() -> None:
    world = qdot.Mechanism("rig")
    link = world.add("link", Revolute("y"), SOLID, joint_name="hinge")
    link.frame("tip")
    for again in (
        lambda: world.add("link", Revolute("y")),
        lambda: link.add("link", Revolute("y")),
        lambda: world.add("tip", Revolute("y")),
        lambda: world.frame("tip"),
        lambda: link.frame("link"),
    ):
        with pytest.raises(ModelError, match=r"'rig'.*named '(link|tip)'; give one another name"):
            again()
    world.close("rod", Spherical(), "tip", WORLD)
    for again in ("rod", "hinge"):
        with pytest.raises(ModelError, match=f"two joints are named '{again}'"):
            world.close(again, Spherical(), "tip", WORLD)
    link.add("other", Revolute("y"), SOLID, joint_name="hinge")
    with pytest.raises(ModelError, match="two joints are named 'hinge'"):
        qdot.assemble(world)


def test_names_used_twice_in_records() -> None:
    a, b = record("a"), record("b")
    frame = FrameRecord("f", "a", Transform.identity())
    rod = LoopRecord("rod", Spherical(), "a", "b")
    for bad, name in (
        (lambda: assembled(a, a), "a"),
        (lambda: assembled(a, replace(b, joint_name=a.joint_name)), a.joint_name),
        (lambda: assembled(a, frames=[frame, frame]), "f"),
        (lambda: assembled(a, frames=[replace(frame, name="a")]), "a"),
        (lambda: assembled(a, b, loops=[rod, rod]), "rod"),
        (lambda: assembled(a, b, loops=[replace(rod, name=a.joint_name)]), a.joint_name),
    ):
        with pytest.raises(ModelError, match=f"named '{name}'; give one another name"):
            bad()


def test_the_name_of_the_world_is_taken() -> None:
    with pytest.raises(ModelError, match="'world'"):
        qdot.Mechanism("rig").add(WORLD, Revolute("y"))
    with pytest.raises(ModelError, match="'world'"):
        qdot.Mechanism("rig").frame(WORLD)
    with pytest.raises(ModelError, match="'world'"):
        assembled(record(WORLD))
    with pytest.raises(ModelError, match="'world'"):
        assembled(frames=[FrameRecord(WORLD, WORLD, Transform.identity())])


@pytest.mark.parametrize("name", ["", None, 5, b"x", ("a",), ["a"], THING], ids=repr)
def test_names_that_are_none(name: object) -> None:
    identity = Transform.identity()
    for bad in (
        lambda: qdot.Mechanism("rig").add(name, Revolute("y")),
        lambda: qdot.Mechanism("rig").frame(name),
        lambda: qdot.Mechanism("rig").close(name, Spherical(), WORLD, WORLD),
        lambda: assembled(record(name)),
        lambda: assembled(record("a", joint_name=name)),
        lambda: assembled(record("a"), frames=[FrameRecord(name, "a", identity)]),
        lambda: assembled(record("a"), loops=[LoopRecord(name, Spherical(), "a", WORLD)]),
        lambda: assembled(record("a", parent=name)),
        lambda: assembled(record("a"), frames=[FrameRecord("f", name, identity)]),
        lambda: assembled(record("a"), loops=[LoopRecord("rod", Spherical(), name, WORLD)]),
    ):
        with pytest.raises(QdotError, match="'rig'"):
            bad()
    if name is not None:  # which means: as the body is called
        with pytest.raises(QdotError, match="'link'"):
            single(joint_name=name)


@pytest.mark.parametrize("name", [None, 5, ["a"]], ids=repr)
def test_a_mechanism_has_a_name(name: object) -> None:
    with pytest.raises(QdotError, match="name"):
        qdot.assemble(qdot.Mechanism(name))


def test_frames_and_loops_on_what_is_missing() -> None:
    with pytest.raises(UnknownNameError, match="frame 'f' has no body named 'arn'; did you mean: 'arm'"):
        assembled(record("arm"), frames=[FrameRecord("f", "arn", Transform.identity())])
    for ends in (("arm", "arn"), ("arn", "arm")):
        with pytest.raises(UnknownNameError, match="loop joint 'rod' has no frame or body named 'arn'"):
            assembled(record("arm"), loops=[LoopRecord("rod", Spherical(), *ends)])


def test_a_loop_from_a_frame_to_itself() -> None:
    with pytest.raises(ModelError, match="'rod'"):
        assembled(record("arm"), loops=[LoopRecord("rod", Spherical(), "arm", "arm")])


# ── what is no joint, no solid, no description ───────────────────────────────────────────────────

JUNK = [None, 5, "revolute", Revolute, THING, [Revolute("y")], {}, Box(1, 1, 1)]


@pytest.mark.parametrize("thing", JUNK, ids=lambda x: type(x).__name__)
def test_what_is_no_joint(thing: object) -> None:
    with pytest.raises(QdotError, match="'link'"):
        qdot.Mechanism("rig").add("link", thing)
    with pytest.raises(QdotError, match="'link'"):
        assembled(record("link", joint=thing))
    with pytest.raises(QdotError, match="'rod'"):
        assembled(record("link"), loops=[LoopRecord("rod", thing, "link", WORLD)])
    with pytest.raises(JointError):
        Compound(Revolute("y"), thing)


@pytest.mark.parametrize("thing", [*JUNK[:-1], Revolute("y")], ids=lambda x: type(x).__name__)
def test_what_is_no_solid(thing: object) -> None:
    world = qdot.Mechanism("rig")
    with pytest.raises(QdotError, match="'link'"):
        world.add("link", Revolute("y"), thing)
    part = world.add("link", Revolute("y"), SOLID)
    with pytest.raises(QdotError, match="'link'"):
        part.show(thing)
    with pytest.raises(QdotError, match=r"'world'|'rig'"):
        world.world.show(thing)


@pytest.mark.parametrize("thing", [None, 5, "arm.urdf", single(), qdot.Mechanism], ids=lambda x: type(x).__name__)
def test_what_is_no_description(thing: object) -> None:
    with pytest.raises(ModelError, match="assemble takes"):
        qdot.assemble(thing)


def test_a_refused_body_leaves_the_mechanism_as_it_was() -> None:
    world = qdot.Mechanism("rig")
    for bad in (lambda: world.add("link", None), lambda: world.add("link", Revolute("y"), 5)):
        with pytest.raises(QdotError):
            bad()
    world.add("link", Revolute("y"), SOLID)
    assert qdot.assemble(world) == single()


# ── joints ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "axis",
    [(0, 0, 0), (NAN, 0, 0), (INF, 0, 0), (0, -INF, 1), (1, 2), (1, 2, 3, 4), "w", "", None, 5, ("a", "b", "c")]
    + [(1j, 0, 0), (None, 0, 0), [[1, 0, 0], [0, 1, 0], [0, 0, 1]], {}, (1e-200, 0, 0)],
    ids=repr,
)
@pytest.mark.parametrize("kind", [Revolute, Prismatic, Helical, Planar, Universal])
def test_axes_that_give_no_direction(kind: type, axis: object) -> None:
    with pytest.raises(QdotError, match=r"axis|scalar"):
        kind(axis)


@pytest.mark.parametrize("axis", [(1e200, 0, 0), (3, 4, 0), (0, 1e-9, 0), (1e155, 1e155, 0)], ids=repr)
def test_axes_of_any_length_are_made_unit(axis: tuple[float, ...]) -> None:
    assert Revolute(axis).axis.norm() == pytest.approx(1)


@pytest.mark.parametrize(
    "limits",
    [(1, 0), (NAN, 1), (0, NAN), (0,), (0, 1, 2), 5, "ab", ("a", 1), (None, 1), ((0, 0), (1, 1)), THING]
    + [Limits((1,), (0,)), Limits(("a",)), Limits((None,)), Limits(velocity=(-1,)), Limits(effort=(NAN,))],
    ids=repr,
)
def test_limits_that_bound_nothing(limits: object) -> None:
    with pytest.raises(JointError, match="revolute joint"):
        Revolute("y", limits=limits)


@pytest.mark.parametrize("name", ["armature", "damping", "friction", "stiffness"])
@pytest.mark.parametrize(
    "value", [-1, NAN, INF, (1, 2), "1", "abc", None, 1j, [[1]], (None,), {"a": 1}, THING, (-0.1,)], ids=repr
)
def test_passive_terms_that_no_joint_has(name: str, value: object) -> None:
    with pytest.raises(QdotError, match=f"'link'.*{name}|{name}.*'link'"):
        single(**{name: value})
    if isinstance(value, tuple):
        with pytest.raises(QdotError, match=name):
            assembled(record("link", passive=Passive(**{name: value})))


@pytest.mark.parametrize("rest", [NAN, INF, (1, 2), "1", 1j, [[1]], (None,), {"a": 1}, THING], ids=repr)
def test_rest_configurations_that_are_none(rest: object) -> None:
    with pytest.raises(QdotError, match=r"'link'.*rest"):
        single(stiffness=1.0, rest=rest)


@pytest.mark.parametrize("rest", [(0, 0, 0, 0), (2, 0, 0, 0), (1, 0, 0), (1, 1, 0, 0)])
def test_a_ball_joint_rests_at_a_unit_quaternion(rest: tuple[float, ...]) -> None:
    with pytest.raises(QdotError, match=r"'link'.*rest"):
        single(Spherical(), stiffness=1.0, rest=rest)


# ── poses, gravity, inertias ─────────────────────────────────────────────────────────────────────

ONE = Mat3.identity()
NO_POSES = {
    "nan": (NAN, 0, 0),
    "inf": (0, INF, 0),
    "two numbers": (0, 0),
    "a number": 1.0,
    "text": "abc",
    "words": ("a", "b", "c"),
    "complex": (0, 0, 1j),
    "nothing in it": (None, 0, 0),
    "matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "dict": {"x": 1},
    "mirrored": Transform(Mat3(ONE.r1, ONE.r0, ONE.r2), Vec3.zero()),
    "inverted": Transform(-ONE, Vec3.zero()),
    "scaled": Transform(ONE * 1.001, Vec3.zero()),
    "flat": Transform(Mat3.zero(), Vec3.zero()),
    "sheared": Transform(Mat3(Vec3(1, 0.01, 0), ONE.r1, ONE.r2), Vec3.zero()),
    "nan rotation": Transform(ONE * NAN, Vec3.zero()),
    "no quaternion": Quaternion(0, 0, 0, 0),
    "long quaternion": Quaternion(2, 0, 0, 0),
}


def with_frame(pose: object) -> qdot.Model:
    world = qdot.Mechanism("rig")
    world.frame("tip", at=pose)
    return qdot.assemble(world)


@pytest.mark.parametrize("pose", NO_POSES.values(), ids=NO_POSES.keys())
def test_placements_that_are_no_pose(pose: object) -> None:
    with pytest.raises(QdotError, match="'link'"):
        single(at=pose)
    with pytest.raises(QdotError, match="'tip'"):
        with_frame(pose)
    if isinstance(pose, Transform):
        for joint in (lambda: Fixed(pose), lambda: Compound(Fixed(pose), Revolute("y"))):
            with pytest.raises(QdotError, match=r"'link'|fixed"):
                single(joint())


@pytest.mark.parametrize("pose", [(0, 0, 1), None, "abc", 5, THING], ids=repr)
def test_a_fixed_joint_takes_a_pose_as_people_write_it_or_refuses(pose: object) -> None:
    error = refused(lambda: qdot.frame_pose(single(Fixed(pose)), [], "link"))
    assert error is not None or pose in ((0, 0, 1), None)


@pytest.mark.parametrize(
    "gravity",
    [None, 9.81, "abc", ("a", "b", "c"), (0, 0), (0, 0, 0, 0), (NAN, 0, 0), (0, 0, INF), (0, 0, 1j), (None, 0, 0)]
    + [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]],
    ids=repr,
)
def test_gravity_that_is_none(gravity: object) -> None:
    with pytest.raises(QdotError, match="gravity"):
        qdot.assemble(qdot.Mechanism("rig", gravity=gravity))


def about_com(*moments: float, mass: float = 1.0, com: tuple[float, ...] = (0, 0, 0)) -> Inertia:
    return Inertia.about_com(mass, com, moments)


NO_INERTIAS = {
    "negative mass": Inertia.point(-1),
    "negative moment": about_com(-1, 1, 1),
    "broken triangle": about_com(1, 1, 3),
    "broken triangle off centre": about_com(1, 1, 3, com=(1, 2, 3)),
    "products too large": Inertia.about_com(1, (0, 0, 0), Sym3(1, 5, 0, 1, 0, 1)),
    "inertia without mass": about_com(1, 1, 1, mass=0),
    "moment without mass": Inertia(0, Vec3(1, 0, 0), Sym3.zero()),
    "centre too far for its inertia": Inertia(1, Vec3(2, 0, 0), Sym3.diagonal(1, 1, 1)),
    "nan mass": Inertia.point(NAN),
    "inf mass": Inertia.point(INF),
    "nan centre": Inertia.point(1, (NAN, 0, 0)),
    "nan moment": about_com(NAN, 1, 1),
    "complex mass": Inertia.point(1j),
    "nothing": Inertia(None, None, None),
    "text": Inertia("m", Vec3.zero(), Sym3.zero()),
}


@pytest.mark.parametrize("inertia", NO_INERTIAS.values(), ids=NO_INERTIAS.keys())
def test_inertias_that_no_body_has(inertia: Inertia) -> None:
    with pytest.raises(QdotError, match="'link'"):
        single(Revolute("y"), inertia)
    with pytest.raises(QdotError, match="'link'"):
        assembled(record("link", inertia=inertia))


def test_unphysical_inertias_are_explained_and_can_be_let_in() -> None:
    for inertia in (about_com(1, 1, 3), about_com(1, 1, 1, mass=0)):
        with pytest.raises(InertiaError, match="allow_unphysical"):
            single(Revolute("y"), inertia)
        world = qdot.Mechanism("rig", allow_unphysical=True)
        world.add("link", Revolute("y"), inertia)
        assert qdot.mass_matrix(qdot.assemble(world), [0.0])[0, 0] == 1
    world = qdot.Mechanism("rig", allow_unphysical=True)
    world.add("link", Revolute("y"), Inertia.point(NAN))
    with pytest.raises(QdotError, match="'link'"):  # but not this one
        qdot.assemble(world)
