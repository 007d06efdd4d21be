"""Vectors to and from MuJoCo and Pinocchio: both engines agree with qdot on the same motion, written in their numbers.

Tolerance of comparisons: |x - y| ≤ 1e-9 (1 + max|y|). Rounding leaves 1e-14 or so in inverse dynamics; forward dynamics
multiplies it by the condition of the mass matrix, up to 1e5 here. A wrong order, sign or drift shows at order one.
Tolerance of what goes there and comes back: 1e-13 (1 + max|x|), a few roundings of a quaternion product.
"""

from dataclasses import replace

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import sympy

import qdot
from benchmarks.robots import Missing, Robot, humanoid, quadruped
from qdot import Mechanism, Model, convert
from qdot.algebra import Quaternion, as_array
from qdot.description import Passive
from qdot.errors import ModelError, ValueShapeError
from qdot.formats.mjcf_writer import to_mjcf
from qdot.formats.urdf_writer import to_urdf
from qdot.joints import Compound, Continuous, Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical
from qdot.model import edit
from qdot.model.library import KINDS, pendulum, random_inertia, random_pose, random_state, random_tree
from qdot.spatial import Inertia, Transform
from tests.oracles.pinocchio_bridge import from_pinocchio, to_pinocchio

BATCH = 5
BALL = Inertia.about_com(1.0, (0.1, 0, 0), (0.01, 0.02, 0.02))


TURNED = Fixed(Transform.of(Quaternion(0.6, 0.8, 0, 0)))
TURNED_ELSE = Fixed(Transform.of(Quaternion(0.8, 0, 0.6, 0)))


def one_joint(joint) -> Model:
    world = Mechanism("robot")
    world.add("link", joint, BALL)
    return qdot.assemble(world)


def assert_close(x, y, tolerance=1e-9):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert x.shape == y.shape
    assert np.isfinite(y).all()
    assert np.abs(x - y).max(initial=0.0) <= tolerance * (1 + np.abs(y).max(initial=0.0))


def states(model: Model, count: int = BATCH) -> tuple[np.ndarray, ...]:
    """Batches q, v, a, tau."""
    rows = [(*random_state(model, seed), np.random.default_rng(seed).normal(size=model.nv)) for seed in range(count)]
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def assert_there_and_back(model: Model, bridge: convert.Bridge) -> None:
    """All vectors come back, T is what takes v and τ there, power is the same on both sides."""
    q, v, a, tau = states(model)
    peer_q, peer_v, peer_a, peer_tau = bridge.q_to(q), bridge.v_to(q, v), bridge.a_to(q, v, a), bridge.tau_to(q, tau)
    assert peer_q.shape == (BATCH, bridge.nq)
    assert peer_v.shape == peer_a.shape == peer_tau.shape == (BATCH, bridge.nv)
    # Angles may come back by full turns apart: the difference of configurations counts.
    back = bridge.q_from(peer_q)
    assert_close(bridge.q_to(back), peer_q, 1e-13)
    assert_close(bridge.v_from(peer_q, peer_v), v, 1e-13)
    assert_close(bridge.a_from(peer_q, peer_v, peer_a), a, 1e-13)
    assert_close(bridge.tau_from(peer_q, peer_tau), tau, 1e-13)
    T = bridge.velocity_matrix(q)
    assert_close(np.einsum("bij,bj->bi", T, v), peer_v, 1e-13)
    assert_close(T @ T.transpose(0, 2, 1), np.broadcast_to(np.eye(model.nv), T.shape), 1e-13)
    assert_close((peer_tau * peer_v).sum(axis=1), (tau * v).sum(axis=1), 1e-13)
    for k in range(BATCH):  # a batch is its rows
        assert np.array_equal(bridge.q_to(q[k]), peer_q[k])
        assert np.array_equal(bridge.a_to(q[k], v[k], a[k]), peer_a[k])
        assert np.array_equal(bridge.a_from(peer_q[k], peer_v[k], peer_a[k]), bridge.a_from(peer_q, peer_v, peer_a)[k])
        assert np.array_equal(bridge.velocity_matrix(q[k]), T[k])


# ── MuJoCo ───────────────────────────────────────────────────────────────────────────────────────

MUJOCO_KINDS = ("revolute", "continuous", "prismatic", "spherical", "fixed")
TAGS = {"Revolute": "hinge", "Continuous": "hinge", "Prismatic": "slide", "Spherical": "ball", "Free": "free"}


def floating_tree(seed: int, kinds=MUJOCO_KINDS) -> Model:
    """A free base, away from the world's origin, with a random tree on it and another tree beside."""
    world = Mechanism(f"floating_{seed}", gravity=(0.5, -1, -9))
    attitude = Transform.of(Quaternion(0.5, -0.5, 0.1, 0.7).normalized()).rotation
    placement = Transform(attitude, Transform.translation(0.3, -0.2, 1.1).position)
    trunk = world.add("trunk", Free(), BALL, at=placement, joint_name="base")
    trunk.add("tail", Revolute("y"), BALL, at=(-0.4, 0, 0))
    floating = qdot.assemble(world)
    tree = random_tree(seed, 6, kinds, passive=False)
    return edit.attach(floating, tree, to="trunk", at=(0, 0.2, 0.1))


def mjcf(model: Model) -> str:
    """The MJCF text of joints that MuJoCo has too; springs and dampers left out."""

    def numbers(values) -> str:
        return " ".join(repr(float(x)) for x in values)

    def body_text(body) -> str:
        X, I, m = body.placement, body.inertia.at_com, float(body.inertia.mass)
        tag = TAGS.get(type(body.joint).__name__)
        axis = f' axis="{numbers(body.joint.axis)}"' if hasattr(body.joint, "axis") else ""
        joint = f'<joint name="{body.joint_name}" type="{tag}"{axis}/>' if tag else ""
        inertia = numbers((I.xx, I.yy, I.zz, I.xy, I.xz, I.yz))
        inertial = f'<inertial pos="{numbers(body.inertia.com)}" mass="{m!r}" fullinertia="{inertia}"/>'
        inner = "".join(body_text(child) for child in model.bodies if child.parent == body.index)
        pose = f'pos="{numbers(X.position)}" quat="{numbers(X.quaternion())}"'
        return f'<body name="{body.name}" {pose}>{joint}{inertial}{inner}</body>'

    bodies = "".join(body_text(body) for body in model.bodies if body.parent == 0)
    option = f'<option gravity="{numbers(model.gravity)}"><flag contact="disable" constraint="disable"/></option>'
    compiler = '<compiler angle="radian" autolimits="false" boundinertia="0"/>'
    return f"<mujoco>{compiler}{option}<worldbody>{bodies}</worldbody></mujoco>"


@pytest.fixture(params=range(4))
def in_mujoco(request) -> tuple[Model, mujoco.MjModel, convert.Bridge]:
    model = floating_tree(request.param)
    mj = mujoco.MjModel.from_xml_string(mjcf(model))
    return model, mj, convert.mujoco(model, mj)


def test_mujoco_there_and_back(in_mujoco):
    model, mj, bridge = in_mujoco
    assert (bridge.nq, bridge.nv) == (mj.nq, mj.nv) == (model.nq, model.nv)
    assert_there_and_back(model, bridge)


def test_mujoco_agrees(in_mujoco):
    model, mj, bridge = in_mujoco
    data = mujoco.MjData(mj)
    for q, v, a, tau in zip(*states(model), strict=True):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = bridge.q_to(q), bridge.v_to(q, v), bridge.tau_to(q, tau)
        mujoco.mj_forward(mj, data)
        T = bridge.velocity_matrix(q)
        assert_close(T @ qdot.mass_matrix(model, q) @ T.T, mass_matrix(mj, data))
        assert_close(qdot.forward_dynamics(model, q, v, tau), bridge.a_from(data.qpos, data.qvel, data.qacc))
        for body in model.bodies:
            position = qdot.frame_pose(model, q, body.name).position
            assert_close(list(position), data.body(body.name).xpos)
        data.qacc[:] = bridge.a_to(q, v, a)
        mujoco.mj_inverse(mj, data)
        assert_close(qdot.inverse_dynamics(model, q, v, a), bridge.tau_from(data.qpos, data.qfrc_inverse))


def mass_matrix(mj: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    columns = np.zeros((mj.nv, mj.nv))
    for column, unit in zip(columns, np.eye(mj.nv), strict=True):
        mujoco.mj_mulM(mj, data, column, unit)
    return columns.T


def test_mujoco_order_by_names(in_mujoco):
    model, mj, bridge = in_mujoco
    names = [mj.joint(i).name for i in range(mj.njnt)]
    q, v, _, _ = states(model)
    assert np.array_equal(convert.mujoco(model, names).q_to(q), bridge.q_to(q))
    assert np.array_equal(convert.mujoco(model, names).v_to(q, v), bridge.v_to(q, v))


def chain_of_kinds(*kinds: str) -> Model:
    """One body for each kind of joint."""
    world = Mechanism("chain")
    part, rng = world.world, np.random.default_rng(0)
    for kind in kinds:
        part = part.add(kind, KINDS[kind](rng), random_inertia(rng), at=random_pose(rng))
    return qdot.assemble(world)


def test_mujoco_in_the_order_of_the_model():
    # Joints of several freedoms are several joints there, a planar one two slides and a hinge.
    model = chain_of_kinds("revolute", "universal", "cylindrical", "planar", "prismatic", "spherical")
    bridge = convert.mujoco(model)
    assert_there_and_back(model, bridge)
    q = states(model)[0][0]
    for body in model.bodies:
        theirs = bridge.q_to(q)[body.qs]  # every joint has as many coordinates there
        expected = np.roll(q[body.qs], -1) if isinstance(body.joint, Planar) else q[body.qs]
        assert np.array_equal(theirs, expected)
    # They may also be named one by one, as qdot.save names them: by their place in v.
    names = [name for name in model.dof_names() if "spherical" not in name]
    one_by_one = [name.replace("[", "_").rstrip("]") for name in names] + ["spherical"]
    assert np.array_equal(convert.mujoco(model, one_by_one).q_to(q), q)


SAVED = {
    "mjcf": (".xml", ("revolute", "universal", "cylindrical", "planar", "spherical", "prismatic", "compound")),
    "urdf": (".urdf", ("revolute", "universal", "cylindrical", "planar", "continuous", "prismatic")),
}


@pytest.mark.parametrize("format", SAVED)
def test_peers_that_read_what_we_saved(format, tmp_path):
    # Joints of several freedoms are taken apart there, balls turned into the axes of their bodies.
    ending, kinds = SAVED[format]
    model = chain_of_kinds(*kinds)
    if format == "mjcf":
        ball = one_joint(Compound(Spherical(), TURNED, Prismatic("y"), TURNED_ELSE, Prismatic("x"), TURNED))
        free = one_joint(Compound(TURNED, Free(), TURNED_ELSE))
        model = edit.attach(edit.attach(model, ball, to=kinds[-1]), free, prefix="free_")
    file = tmp_path / f"chain{ending}"
    qdot.save(model, file)
    if format == "mjcf":
        theirs = mujoco.MjModel.from_xml_path(str(file))
        bridge = convert.mujoco(model, theirs)
    else:
        theirs = pin.buildModelFromUrdf(str(file))
        bridge = convert.pinocchio(model, theirs)
    assert_there_and_back(model, bridge)
    for q, v, _, tau in zip(*states(model), strict=True):
        peer_q, peer_v, peer_tau = bridge.q_to(q), bridge.v_to(q, v), bridge.tau_to(q, tau)
        if format == "mjcf":
            data = mujoco.MjData(theirs)
            data.qpos[:], data.qvel[:], data.qfrc_applied[:] = peer_q, peer_v, peer_tau
            mujoco.mj_forward(theirs, data)
            peer_a = data.qacc
        else:
            peer_a = pin.aba(theirs, theirs.createData(), peer_q, peer_v, peer_tau)
        assert_close(qdot.forward_dynamics(model, q, v, tau), bridge.a_from(peer_q, peer_v, peer_a))


def test_mujoco_in_the_order_of_an_mjcf_file():
    # As qdot.load reads it, the order is the same, with names or without.
    text = mjcf(floating_tree(2)).replace('<joint name="joint3" ', "<joint ")
    model, mj = qdot.load(text), mujoco.MjModel.from_xml_string(text)
    q = states(model)[0]
    assert np.array_equal(convert.mujoco(model).q_to(q), convert.mujoco(model, mj).q_to(q))
    assert [body.joint_name for body in model.bodies if body.joint.nv] != [mj.joint(i).name for i in range(mj.njnt)]


def test_mujoco_orders_branch_by_branch():
    # The model has its bodies generation by generation; MuJoCo nests them, whatever the order of the records.
    world = Mechanism("branches")
    left, right = world.add("left", Revolute("x"), BALL), world.add("right", Prismatic("y"), BALL)
    left.add("left tip", Spherical(), BALL)
    right.add("right tip", Revolute("z"), BALL)
    model = qdot.assemble(world)
    assert [body.name for body in model.bodies] == ["left", "right", "left tip", "right tip"]
    bridge = convert.mujoco(model)
    there = mujoco.MjModel.from_xml_string(to_mjcf(model).text)
    q, v, *_ = states(model)
    assert np.array_equal(bridge.q_to(q), convert.mujoco(model, there).q_to(q))
    assert np.array_equal(bridge.v_to(q, v), convert.mujoco(model, there).v_to(q, v))
    assert not np.array_equal(bridge.q_to(q), q)


def off_frame(joint, frame: Transform) -> Model:
    """One body whose own frame is not the one that its joint moves."""
    model = one_joint(joint)
    (body,) = model.description.bodies
    return qdot.assemble(replace(model.description, bodies=(replace(body, frame=frame),)))


def test_a_ball_on_a_body_with_axes_of_its_own():
    # In a file of the user's the ball turns the body's own frame F: X(q) = F Fᵀ R F. The file that qdot.save writes
    # has a body more, whose axes are those that the ball moves.
    frame = Transform.of(Quaternion(0.6, 0, 0.8, 0))
    model = off_frame(Spherical(), frame)
    quat = " ".join(map(str, frame.quaternion()))
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    text = f"""<mujoco><worldbody><body name="link" quat="{quat}"><joint name="link" type="ball"/>{inertial}</body>
        </worldbody></mujoco>"""
    for there in (text, to_mjcf(model).text):
        mj = mujoco.MjModel.from_xml_string(there)
        data, bridge = mujoco.MjData(mj), convert.mujoco(model, mj)
        assert_there_and_back(model, bridge)
        q = states(model)[0][0]
        data.qpos[:] = bridge.q_to(q)
        mujoco.mj_forward(mj, data)
        R = as_array(qdot.frame_pose(model, q, "link").rotation)
        assert_close(data.body("link").xmat.reshape(3, 3), R, 1e-14)


def test_a_free_body_that_moves_another_frame_there():
    # The velocity of another point is no orthogonal T: such a file is refused, the one that qdot.save writes is not.
    model = off_frame(Free(), Transform.translation(0.1, 0, 0))
    mj = mujoco.MjModel.from_xml_string(mjcf(model))
    with pytest.raises(ModelError, match="free joint 'link' moves another frame here than the own one of body 'link'"):
        convert.mujoco(model, mj)
    assert_there_and_back(model, convert.mujoco(model, mujoco.MjModel.from_xml_string(to_mjcf(model).text)))


def test_free_body_in_mujoco():
    # By hand: the origin of the joint is 1 m up, the body turned by 90° about z, moving along its own x.
    world = Mechanism("free body")
    world.add("trunk", Free(), BALL, at=(0, 0, 1))
    bridge = convert.mujoco(qdot.assemble(world))
    half = np.sqrt(0.5)
    q, v = [half, 0, 0, half, 2, 3, 4], [0, 0, 5, 1, 0, 0]
    assert_close(bridge.q_to(q), [2, 3, 5, half, 0, 0, half], 1e-15)
    assert_close(bridge.v_to(q, v), [0, 1, 0, 0, 0, 5], 1e-15)
    # At constant body velocity it turns about z with 5 rad/s: 5 m/s² across its way.
    assert_close(bridge.a_to(q, v, [0] * 6), [-5, 0, 0, 0, 0, 0], 1e-15)


# ── Pinocchio ────────────────────────────────────────────────────────────────────────────────────


def every_pinocchio_joint() -> pin.Model:
    """A chain of joints with conventions of their own, and of some that are plain; random inertias between."""
    pin.seed(2)

    def composite(*parts: pin.JointModel) -> pin.JointModel:
        joint = pin.JointModelComposite()
        for part in parts:
            joint.addJoint(part, pin.SE3.Random())
        return joint

    joints = [
        pin.JointModelFreeFlyer(), pin.JointModelRUBZ(), pin.JointModelPlanar(), pin.JointModelSpherical(),
        pin.JointModelRY(), pin.JointModelPX(), pin.JointModelHZ(0.1), pin.JointModelSphericalZYX(),
        pin.JointModelTranslation(), composite(pin.JointModelRX(), pin.JointModelRUBY(), pin.JointModelPlanar()),
        composite(pin.JointModelPX(), pin.JointModelSpherical(), pin.JointModelPY()), pin.JointModelFreeFlyer(),
    ]  # fmt: skip
    model, last = pin.Model(), 0
    for k, joint in enumerate(joints):
        last = model.addJoint(last, joint, pin.SE3.Random(), f"joint{k}")
        model.appendBodyToJoint(last, pin.Inertia.Random(), pin.SE3.Random())
    return model


def robot(read) -> Robot:
    try:
        return read()
    except Missing as why:
        pytest.skip(str(why))


def loaded(read) -> tuple[Model, pin.Model]:
    """As both sides read the URDF file, friction left out: Pinocchio's functions do not know it."""
    given = robot(read)
    description = qdot.load(given.urdf, base="free").description
    bodies = tuple(replace(body, passive=Passive()) for body in description.bodies)
    return qdot.assemble(replace(description, bodies=bodies)), given.model


def translated(theirs: pin.Model) -> tuple[Model, pin.Model]:
    return from_pinocchio(theirs)[0], theirs


def built(model: Model) -> tuple[Model, pin.Model]:
    return model, to_pinocchio(model)[0]


PINOCCHIO_MODELS = {
    "every joint": lambda: translated(every_pinocchio_joint()),
    "talos": lambda: loaded(humanoid),
    "anymal": lambda: loaded(quadruped),
    "floating tree 0": lambda: built(floating_tree(0)),
    "floating tree 1": lambda: built(floating_tree(1)),
    "all kinds but planar": lambda: built(random_tree(5, 12, [k for k in KINDS if k != "planar"], passive=False)),
}


@pytest.fixture(params=PINOCCHIO_MODELS)
def in_pinocchio(request) -> tuple[Model, pin.Model, convert.Bridge]:
    model, theirs = PINOCCHIO_MODELS[request.param]()
    return model, theirs, convert.pinocchio(model, theirs)


def test_pinocchio_there_and_back(in_pinocchio):
    model, theirs, bridge = in_pinocchio
    assert (bridge.nq, bridge.nv) == (theirs.nq, theirs.nv)
    assert_there_and_back(model, bridge)


def test_pinocchio_agrees(in_pinocchio):
    model, theirs, bridge = in_pinocchio
    data = theirs.createData()
    q, v, a, tau = states(model)
    M, forces, accelerations = (
        qdot.mass_matrix(model, q), qdot.inverse_dynamics(model, q, v, a), qdot.forward_dynamics(model, q, v, tau)
    )  # fmt: skip
    T = bridge.velocity_matrix(q)
    for k in range(BATCH):
        peer_q, peer_v, peer_a = bridge.q_to(q[k]), bridge.v_to(q[k], v[k]), bridge.a_to(q[k], v[k], a[k])
        upper = np.triu(pin.crba(theirs, data, peer_q))  # the rest need not be filled
        assert_close(T[k] @ M[k] @ T[k].T, upper + np.triu(upper, 1).T)
        peer_tau = pin.rnea(theirs, data, peer_q, peer_v, peer_a)
        assert_close(forces[k], bridge.tau_from(peer_q, peer_tau))
        peer_a = pin.aba(theirs, data, peer_q, peer_v, bridge.tau_to(q[k], tau[k]))
        assert_close(accelerations[k], bridge.a_from(peer_q, peer_v, peer_a))


def test_pinocchio_by_names_alone():
    model = floating_tree(1, ("revolute", "continuous", "spherical"))
    theirs, _ = to_pinocchio(model)
    q, v, _, _ = states(model)
    with_names, with_model = convert.pinocchio(model, list(theirs.names)[1:]), convert.pinocchio(model, theirs)
    assert np.array_equal(with_names.q_to(q), with_model.q_to(q))
    assert np.array_equal(with_names.v_to(q, v), with_model.v_to(q, v))


def test_an_angle_is_written_as_the_peer_writes_it():
    # The peer decides whether a joint counts turns; qdot's two kinds go with either.
    for joint in (Revolute("z"), Continuous("z")):
        world = Mechanism("wheel")
        world.add("wheel", joint, BALL)
        model = qdot.assemble(world)
        for theirs, expected in ((pin.JointModelRZ(), [0.3]), (pin.JointModelRUBZ(), [np.cos(0.3), np.sin(0.3)])):
            peer = pin.Model()
            peer.addJoint(0, theirs, pin.SE3.Identity(), "wheel")
            bridge = convert.pinocchio(model, peer)
            assert_close(bridge.q_to([0.3]), expected, 1e-15)
            assert_close(bridge.q_from(expected), [0.3], 1e-15)


PLANES = {
    "as it is": Planar("z", "x"),
    "along y": Planar("z", "y"),
    "askew": Planar("z", (0.6, 0.8, 0)),
    "upside down": Planar("-z", (0.6, 0.8, 0)),
}


@pytest.mark.parametrize("plane", PLANES.values(), ids=PLANES.keys())
@pytest.mark.parametrize("whole", [True, False], ids=["joint", "part of a joint"])
def test_planar_joints_in_pinocchio(plane, whole):
    # Pinocchio moves in the plane of x and y of its joint, and knows nothing of qdot's directions in it.
    rng = np.random.default_rng(0)
    at, bend = random_pose(rng), random_pose(rng)
    world, theirs = Mechanism("puck"), pin.Model()
    post = world.add("post", Revolute("x"), BALL, joint_name="post")
    k = theirs.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "post")
    theirs.appendBodyToJoint(k, to_pin(BALL), pin.SE3.Identity())
    post.add("puck", plane if whole else Compound(Revolute("y"), Fixed(bend), plane), BALL, at=at, joint_name="puck")
    joint = pin.JointModelPlanar()
    if not whole:
        joint = pin.JointModelComposite()
        joint.addJoint(pin.JointModelRY(), pin.SE3.Identity())
        joint.addJoint(pin.JointModelPlanar(), pin.SE3(as_array(bend)))
    k = theirs.addJoint(k, joint, pin.SE3(as_array(at)), "puck")
    theirs.appendBodyToJoint(k, to_pin(BALL), pin.SE3.Identity())
    model = qdot.assemble(world)
    bridge, data = convert.pinocchio(model, theirs), theirs.createData()
    assert_there_and_back(model, bridge)
    for q, v, a, _ in zip(*states(model), strict=True):
        peer_q, peer_v = bridge.q_to(q), bridge.v_to(q, v)
        pin.forwardKinematics(theirs, data, peer_q, peer_v)
        assert_close(data.oMi[k].homogeneous, as_array(qdot.frame_pose(model, q, "puck")))
        peer_tau = pin.rnea(theirs, data, peer_q, peer_v, bridge.a_to(q, v, a))
        assert_close(bridge.tau_from(peer_q, peer_tau), qdot.inverse_dynamics(model, q, v, a))


def to_pin(inertia: Inertia) -> pin.Inertia:
    return pin.Inertia(float(inertia.mass), np.array(list(inertia.com), dtype=float), as_array(inertia.at_com))


def test_a_plane_that_pinocchio_does_not_read():
    # Pinocchio takes no notice of <axis>; the file that qdot.save writes has the plane in the pose of the joint.
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    text = f"""<robot name="puck"><link name="table">{inertial}</link><link name="puck">{inertial}</link>
        <joint name="slide" type="planar"><parent link="table"/><child link="puck"/><axis xyz="1 0 0"/></joint>
        </robot>"""
    model = qdot.load(text)
    with pytest.raises(ModelError, match="'slide' moves in another plane here than in Pinocchio"):
        convert.pinocchio(model, pin.buildModelFromXML(text))
    with pytest.raises(ModelError, match=r"'slide' is not in the plane of x and y.* give the pinocchio\.Model"):
        convert.pinocchio(model)
    theirs = pin.buildModelFromXML(to_urdf(model).text)
    data, q = theirs.createData(), states(model)[0][0]
    pin.framesForwardKinematics(theirs, data, convert.pinocchio(model, theirs).q_to(q))
    puck = data.oMf[theirs.getFrameId("puck")].homogeneous
    assert_close(puck, as_array(qdot.frame_pose(model, q, "puck")))


# ── symbols ──────────────────────────────────────────────────────────────────────────────────────


def test_symbols_go_there():
    theta, x, y = sympy.symbols("theta x y", real=True)
    world = Mechanism("puck")
    world.add("puck", Planar("z"), BALL)
    bridge = convert.pinocchio(qdot.assemble(world))
    assert list(bridge.q_to([theta, x, y])) == [x, y, sympy.cos(theta), sympy.sin(theta)]


# ── what cannot be converted ─────────────────────────────────────────────────────────────────────


def test_no_freedoms_at_all():
    bridge = convert.mujoco(one_joint(Fixed()))
    assert bridge.q_to([]).shape == (0,)
    assert bridge.v_from(np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)
    assert bridge.velocity_matrix([]).shape == (0, 0)


def free_on_a_body() -> Model:
    world = Mechanism("robot")
    world.add("base", Fixed(), BALL).add("link", Free(), BALL)
    return qdot.assemble(world)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (one_joint(Helical("z", 0.1)), "is Helical, which MuJoCo does not have"),
        (free_on_a_body(), "no other free joints"),
        (one_joint(Compound(Prismatic("x"), Free())), "no other free joints"),
        (one_joint(Compound(Spherical(), Revolute("x"))), "turns follow a ball"),
    ],
    ids=["helical", "free on a body", "free in a compound", "ball then a hinge"],
)
def test_joints_that_mujoco_does_not_have(model, said):
    with pytest.raises(ModelError, match=said) as caught:
        convert.mujoco(model)
    assert "'link'" in str(caught.value)
    assert convert.pinocchio(model).nv == model.nv  # it has them all


def test_joints_are_matched_by_name():
    model = floating_tree(0)
    names = [body.joint_name for body in model.bodies if body.joint.nv]
    with pytest.raises(ModelError, match=r"in the model only: 'base'$"):
        convert.mujoco(model, names[1:])
    with pytest.raises(ModelError, match=r"in Pinocchio only: 'elbow'$"):
        convert.pinocchio(model, [*names, "elbow"])
    with pytest.raises(ModelError, match=r"twice in the order: 'base'$"):
        convert.mujoco(model, [*names, "base"])
    for order in ("base", 3, [1, 2], pendulum()):
        with pytest.raises(ModelError, match="by its own model object or by a list of joint names"):
            convert.mujoco(model, order)
    with pytest.raises(ModelError, match=r"takes a qdot\.Model"):
        convert.pinocchio(model.description)


def test_other_kinds_under_the_same_name():
    peer = pin.Model()
    peer.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "link")
    with pytest.raises(ModelError, match="'link' is Revolute here and ball in Pinocchio"):
        convert.pinocchio(one_joint(Revolute("x")), peer)
    mj = mujoco.MjModel.from_xml_string(mjcf(one_joint(Prismatic("x"))))
    with pytest.raises(ModelError, match="'link' is Revolute here and slide in MuJoCo"):
        convert.mujoco(one_joint(Revolute("x")), mj)


BAD_CONFIGURATIONS = {
    "too short": np.zeros(6),
    "three axes": np.zeros((2, 2, 7)),
    "a number": 1.0,
    "nothing": None,
    "text": ["a"] * 7,
    "ragged": [[1, 2], [3]],
    "not finite": [0, 0, 0, 1, 0, 0, np.nan],
    "no unit quaternion": [0, 0, 0, 1, 1, 0, 0],
    "quaternion of zeros in a batch": [[0, 0, 0, 1, 0, 0, 0], np.zeros(7)],
}


@pytest.mark.parametrize("bad", BAD_CONFIGURATIONS.values(), ids=BAD_CONFIGURATIONS.keys())
def test_configurations_that_cannot_be(bad):
    model = one_joint(Free())
    with pytest.raises(ValueShapeError, match="'robot'"):
        convert.mujoco(model).q_from(bad)
    with pytest.raises(ValueShapeError, match="'robot'"):
        convert.pinocchio(model).v_from(bad, np.zeros(6))


def test_a_cosine_and_sine_of_no_angle():
    bridge = convert.pinocchio(one_joint(Continuous("x")))
    with pytest.raises(ValueShapeError, match=r"\(cos, sin\) of joint 'link' is not of unit length"):
        bridge.q_from([[1, 0], [0.9, 0]])
    assert_close(bridge.q_from([[0, -1], [-1, 0]]), [[-np.pi / 2], [np.pi]], 1e-15)


def test_vectors_that_cannot_be():
    bridge = convert.mujoco(one_joint(Free()))
    home = [0, 0, 1, 1, 0, 0, 0]
    with pytest.raises(ValueShapeError, match=r"velocity of model 'robot' in MuJoCo needs shape \(6,\)"):
        bridge.v_from(home, np.zeros(7))
    with pytest.raises(ValueShapeError, match="force of model 'robot' in MuJoCo is inf"):
        bridge.tau_from(home, [np.inf] * 6)
    with pytest.raises(ValueShapeError, match="different numbers of rows: q has 2, v has 3"):
        bridge.v_to([[1, 0, 0, 0, 0, 0, 0]] * 2, np.zeros((3, 6)))
    with pytest.raises(ValueShapeError, match="unit length"):
        bridge.q_to([0.9, 0, 0, 0, 0, 0, 0])
    with pytest.raises(ValueShapeError, match="v has shape"):
        bridge.v_to([1, 0, 0, 0, 0, 0, 0], [0])


def test_one_vector_among_batches():
    bridge = convert.mujoco(one_joint(Free()))
    q, v, a, _ = states(bridge.model)
    expected = [bridge.a_to(q[0], v[k], a[k]) for k in range(BATCH)]
    assert np.array_equal(bridge.a_to(q[0], v, a), expected)
