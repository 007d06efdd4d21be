"""Every quantity that Pinocchio also computes, on its sample robots and on random trees over every joint kind.

Tolerance: |x - y| ≤ 1e-10 (1 + max|y|). Both sides work in double precision, and each entry is a sum of some hundreds
of products of numbers near one, along at most thirty bodies, so rounding leaves some 1e-15 of the largest one. Forward
dynamics multiplies it by the condition of the mass matrix, up to 3e5 in these trees. A wrong term, sign or convention
shows at order one.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from pinocchio_bridge import Oracle, from_pinocchio, to_pinocchio

import qdot
from qdot import Coordinates, Model
from qdot.algebra import as_array
from qdot.description import Passive
from qdot.model.library import KINDS, random_state, random_tree

TOLERANCE = 1e-10

CONSTANT_AXES = ("fixed", "revolute", "continuous", "prismatic", "helical", "cylindrical", "spherical", "free")
"""Kinds of joints whose motion subspace S is constant in the body's coordinates."""

REFERENCES = [Coordinates.BODY, Coordinates.WORLD, Coordinates.ALIGNED]


def assert_close(x, y):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert x.shape == y.shape
    assert np.isfinite(y).all()
    if y.size:
        assert np.abs(x - y).max() <= TOLERANCE * (1 + np.abs(y).max())


# ── the models ───────────────────────────────────────────────────────────────────────────────────


def samples() -> dict[str, pin.Model]:
    """Pinocchio's own robots; the random ones come from the seed."""
    pin.seed(1)
    models = {
        "manipulator": pin.buildSampleModelManipulator(),
        "humanoid": pin.buildSampleModelHumanoid(),
        "humanoid without free flyer": pin.buildSampleModelHumanoid(False),
        "random humanoid": pin.buildSampleModelHumanoidRandom(),
    }
    for model in models.values():
        hand = model.addFrame(
            pin.Frame("hand", model.njoints - 1, pin.SE3.Random(), pin.FrameType.OP_FRAME, pin.Inertia.Random())
        )
        assert model.frames[hand].parentJoint == model.njoints - 1
        # Drives: what the rotors add at the joints' side of their gears.
        rng = np.random.default_rng(model.nv)
        model.rotorInertia = rng.uniform(0, 1e-3, model.nv)
        model.rotorGearRatio = rng.uniform(-100, 100, model.nv)
        model.armature = model.rotorInertia * model.rotorGearRatio**2
    return models


def every_pinocchio_joint(seed: int) -> pin.Model:
    """A random tree with each joint of Pinocchio once, in random order; numbered depth first, as Pinocchio needs it."""
    pin.seed(seed)
    rng = np.random.default_rng(seed)

    def axis(*across: np.ndarray) -> np.ndarray:
        a = rng.normal(size=3)
        for b in across:
            a = np.cross(a, b)
        return a / np.linalg.norm(a)

    def composite() -> pin.JointModelComposite:
        joint = pin.JointModelComposite()
        for part in (pin.JointModelRX(), pin.JointModelSpherical(), pin.JointModelRUBY(), pin.JointModelPY()):
            joint.addJoint(part, pin.SE3.Random())
        return joint

    first = axis()
    joints = [
        *(getattr(pin, f"JointModel{kind}")() for kind in ("RX", "RY", "RZ", "RUBX", "RUBY", "RUBZ", "PX", "PY", "PZ")),
        *(getattr(pin, f"JointModel{kind}")(rng.uniform(-0.2, 0.2)) for kind in ("HX", "HY", "HZ")),
        pin.JointModelRevoluteUnaligned(axis()),
        pin.JointModelRevoluteUnboundedUnaligned(),
        pin.JointModelPrismaticUnaligned(axis()),
        pin.JointModelHelicalUnaligned(axis(), rng.uniform(-0.2, 0.2)),
        pin.JointModelUniversal(first, axis(first)),
        pin.JointModelSpherical(),
        pin.JointModelSphericalZYX(),
        pin.JointModelTranslation(),
        pin.JointModelPlanar(),
        pin.JointModelFreeFlyer(),
        composite(),
    ]
    model = pin.Model()
    model.name = f"every_pinocchio_joint_{seed}"
    branch = [0]  # the way from the root to the joint before
    armature: list[float] = []
    for k, choice in enumerate(rng.permutation(len(joints))):
        joint = joints[choice]
        if rng.random() < 0.4:
            branch = branch[: rng.integers(1, len(branch) + 1)]
        index = model.addJoint(branch[-1], joint, pin.SE3.Random(), f"joint{k}")
        model.addJointFrame(index)
        model.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Random())
        model.addFrame(pin.Frame(f"site{k}", index, pin.SE3.Random(), pin.FrameType.OP_FRAME))
        planar = isinstance(joint, pin.JointModelPlanar)  # its armature is along axes that turn: see the bridge
        armature += [0.0] * joint.nv if planar else rng.uniform(0, 0.5, joint.nv).tolist()
        branch.append(index)
    model.armature = np.array(armature)
    return model


def with_drives_only(model: Model) -> Model:
    """Without damping and springs, which Pinocchio's joints do not have."""
    bodies = tuple(replace(b.record, passive=Passive(armature=b.passive.armature)) for b in model.bodies)
    return qdot.assemble(replace(model.description, bodies=bodies))


SAMPLES = list(samples())
PINOCCHIO_TREES = [f"every Pinocchio joint, {seed}" for seed in range(6)]
ONE_KIND = [f"{kind}, {seed}" for kind in KINDS if kind != "fixed" for seed in range(2)]
CONSTANT_AXES_TREES = [f"constant axes, {seed}" for seed in range(8)]
MIXED = [f"mixed, {seed}" for seed in range(40)]
RANDOM_TREES = [*ONE_KIND, *CONSTANT_AXES_TREES, *MIXED]
MODELS = [*SAMPLES, *PINOCCHIO_TREES, *RANDOM_TREES]
WITH_CONSTANT_AXES = [
    *("manipulator", "humanoid", "random humanoid"),
    *(name for name in ONE_KIND if name.startswith(CONSTANT_AXES)),
    *CONSTANT_AXES_TREES,
]


@cache
def pair(name: str) -> tuple[Model, Oracle]:
    """A model in both; random trees have armature where the seed is odd."""
    if name in SAMPLES:
        return from_pinocchio(samples()[name])
    kind, number = name.rsplit(", ", 1)
    seed = int(number)
    if name in PINOCCHIO_TREES:
        return from_pinocchio(every_pinocchio_joint(seed))
    if kind == "mixed":
        model = random_tree(seed, bodies=7, passive=seed % 2 == 1)
    elif kind == "constant axes":
        model = random_tree(seed, bodies=8, joints=CONSTANT_AXES, passive=seed % 2 == 1)
    else:
        model = random_tree(seed, bodies=4, joints=[kind], passive=seed % 2 == 1)
    model = with_drives_only(model)
    return model, to_pinocchio(model)[1]


@pytest.fixture(params=MODELS)
def case(request):
    """(model, oracle, q, v, a, tau)."""
    model, oracle = pair(request.param)
    q, v, a = random_state(model, seed=7)
    return model, oracle, q, v, a, np.random.default_rng(8).normal(size=model.nv)


def a_few_frames(model: Model) -> list[str]:
    """The world, the last body, and named frames near the root, in the middle and at the end."""
    named = [frame.name for frame in model.description.frames]
    return ["world", model.bodies[-1].name, *dict.fromkeys([named[0], named[len(named) // 2], named[-1]])]


def some_wrenches(model: Model, rows: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(9)
    return {name: rng.normal(size=(*rows, 6)) * 5 for name in a_few_frames(model)[1:]}


def test_the_random_trees_hold_every_joint_kind():
    assert len(RANDOM_TREES) >= 60
    joints = {type(body.joint).__name__.lower() for name in MIXED for body in pair(name)[0].bodies}
    assert joints == set(KINDS)


def test_some_models_have_armature_and_some_do_not():
    driven = {name: bool(pair(name)[1].model.armature.any()) for name in MODELS}
    assert sum(driven.values()) > 20
    assert sum(not d for d in driven.values()) > 20


# ── dynamics ─────────────────────────────────────────────────────────────────────────────────────


def test_mass_matrix(case):
    model, oracle, q, *_ = case
    assert_close(qdot.mass_matrix(model, q), oracle.mass_matrix(q))


def test_bias_forces(case):
    model, oracle, q, v, *_ = case
    assert_close(qdot.bias_forces(model, q, v), oracle.bias_forces(q, v))


def test_velocity_forces(case):
    model, oracle, q, v, *_ = case
    assert_close(qdot.velocity_forces(model, q, v), oracle.bias_forces(q, v) - oracle.gravity_forces(q))


def test_gravity_forces(case):
    model, oracle, q, *_ = case
    assert_close(qdot.gravity_forces(model, q), oracle.gravity_forces(q))


def test_inverse_dynamics(case):
    model, oracle, q, v, a, _ = case
    assert_close(qdot.inverse_dynamics(model, q, v, a), oracle.inverse_dynamics(q, v, a))


def test_forward_dynamics(case):
    model, oracle, q, v, _, tau = case
    assert_close(qdot.forward_dynamics(model, q, v, tau), oracle.forward_dynamics(q, v, tau))


def test_inverse_dynamics_under_wrenches(case):
    model, oracle, q, v, a, _ = case
    wrenches = some_wrenches(model)
    tau = qdot.inverse_dynamics(model, q, v, a, wrenches=wrenches)
    assert_close(tau, oracle.inverse_dynamics(q, v, a, wrenches))


def test_forward_dynamics_under_wrenches(case):
    model, oracle, q, v, _, tau = case
    wrenches = some_wrenches(model)
    a = qdot.forward_dynamics(model, q, v, tau, wrenches=wrenches)
    assert_close(a, oracle.forward_dynamics(q, v, tau, wrenches))


def test_coriolis_forces(case):
    model, oracle, q, v, *_ = case
    c = oracle.bias_forces(q, v) - oracle.gravity_forces(q)
    assert_close(qdot.coriolis_matrix(model, q, v) @ v, c)


@pytest.mark.parametrize("name", WITH_CONSTANT_AXES)
def test_coriolis_matrix(name):
    # The same matrix, entry by entry: both make Ṁ - 2C skew. Only joints whose axes stand still in the body: for others
    # Pinocchio 4.1 leaves out how S changes there, and C v is not its own c.
    model, oracle = pair(name)
    q, v, _ = random_state(model, seed=7)
    assert_close(qdot.coriolis_matrix(model, q, v), oracle.coriolis_matrix(q, v))


def test_regressor(case):
    model, oracle, q, v, a, _ = case
    assert_close(qdot.regressor(model, q, v, a), oracle.regressor(q, v, a))


def test_inertial_parameters(case):
    # Only bodies that Pinocchio numbers too: it adds those held by no joint to the ones that carry them.
    model, oracle, *_ = case
    own = qdot.inertial_parameters(model).reshape(-1, 10)
    carried = [i for i, _ in oracle.carriers]
    for parameters, (i, X) in zip(own, oracle.carriers, strict=True):
        if i and carried.count(i) == 1 and X.isIdentity():
            assert_close(parameters, oracle.model.inertias[i].toDynamicParameters())


# ── kinematics ───────────────────────────────────────────────────────────────────────────────────


def test_frame_poses(case):
    model, oracle, q, v, *_ = case
    motion = qdot.kinematics(model, q, v)
    for name in model.frames:
        assert_close(as_array(motion.pose(name)), oracle.frame_pose(q, name))
    for name in a_few_frames(model):
        assert_close(as_array(qdot.frame_pose(model, q, name)), oracle.frame_pose(q, name))


@pytest.mark.parametrize("coordinates", REFERENCES, ids=lambda c: c.name)
def test_jacobians(case, coordinates):
    model, oracle, q, *_ = case
    for name in a_few_frames(model):
        assert_close(qdot.jacobian(model, q, name, coordinates=coordinates), oracle.jacobian(q, name, coordinates))


@pytest.mark.parametrize("coordinates", REFERENCES, ids=lambda c: c.name)
def test_velocities_and_accelerations_of_frames(case, coordinates):
    # Spatial accelerations in BODY and WORLD, those of the frame's origin in ALIGNED; without v̇, they are J̇ v.
    model, oracle, q, v, a, _ = case
    motion = qdot.kinematics(model, q, v, a)
    rest = np.zeros(model.nv)
    for name in a_few_frames(model):
        assert_close(list(motion.velocity(name, coordinates)), oracle.velocity(q, v, name, coordinates))
        assert_close(list(motion.acceleration(name, coordinates)), oracle.acceleration(q, v, a, name, coordinates))
        bias = qdot.bias_acceleration(model, q, v, name, coordinates=coordinates)
        assert_close(bias, oracle.acceleration(q, v, rest, name, coordinates))


# ── the whole mechanism ──────────────────────────────────────────────────────────────────────────


def test_total_mass_and_center_of_mass(case):
    model, oracle, q, *_ = case
    assert_close(qdot.total_mass(model), oracle.total_mass)
    assert_close(qdot.center_of_mass(model, q), oracle.center_of_mass(q))


def test_com_jacobian(case):
    model, oracle, q, *_ = case
    assert_close(qdot.com_jacobian(model, q), oracle.com_jacobian(q))


def test_centroidal_momentum(case):
    model, oracle, q, v, *_ = case
    assert_close(list(qdot.centroidal_momentum(model, q, v)), oracle.centroidal_momentum(q, v))


def test_centroidal_momentum_matrix(case):
    model, oracle, q, *_ = case
    assert_close(qdot.centroidal_momentum_matrix(model, q), oracle.centroidal_momentum_matrix(q))


def test_energies(case):
    model, oracle, q, v, *_ = case
    assert_close(qdot.kinetic_energy(model, q, v), oracle.kinetic_energy(q, v))
    assert_close(qdot.potential_energy(model, q), oracle.potential_energy(q))


# ── no freedom at all ────────────────────────────────────────────────────────────────────────────


def test_a_mechanism_that_cannot_move():
    model = random_tree(1, bodies=4, joints=["fixed"], passive=False)
    oracle = to_pinocchio(model)[1]
    q = v = a = np.zeros(0)
    for name in model.frames:
        assert_close(as_array(qdot.frame_pose(model, q, name)), oracle.frame_pose(q, name))
    assert_close(qdot.total_mass(model), oracle.total_mass)
    assert_close(qdot.center_of_mass(model, q), oracle.center_of_mass(q))
    assert_close(qdot.potential_energy(model, q), oracle.potential_energy(q))
    assert_close(qdot.kinetic_energy(model, q, v), 0.0)
    assert_close(qdot.inverse_dynamics(model, q, v, a), np.zeros(0))
    assert_close(qdot.forward_dynamics(model, q, v, a), np.zeros(0))


def test_matrices_without_columns_keep_their_rows():
    # As Pinocchio's do: J v and M a can be formed for every model.
    model = random_tree(1, bodies=4, joints=["fixed"], passive=False)
    oracle = to_pinocchio(model)[1]
    q = v = a = np.zeros(0)
    assert qdot.jacobian(model, q, "body3").shape == oracle.jacobian(q, "body3", Coordinates.ALIGNED).shape == (6, 0)
    assert qdot.com_jacobian(model, q).shape == (3, 0)
    assert qdot.centroidal_momentum_matrix(model, q).shape == (6, 0)
    assert qdot.mass_matrix(model, q).shape == oracle.mass_matrix(q).shape == (0, 0)
    assert qdot.coriolis_matrix(model, q, v).shape == (0, 0)
    assert qdot.regressor(model, q, v, a).shape == (0, 40)


# ── the configuration manifold ───────────────────────────────────────────────────────────────────

ON_ONE_MANIFOLD = [name for name in MODELS if name not in PINOCCHIO_TREES]
"""Pinocchio's planar joint moves along arcs, qdot's coordinate by coordinate: the same places by other roads."""


@pytest.mark.parametrize("name", ON_ONE_MANIFOLD)
def test_retract(name):
    model, oracle = pair(name)
    q, dv, _ = random_state(model, seed=7)
    moved = oracle.q(qdot.retract(model, q, dv))
    expected = oracle.retract(q, dv)
    for segment in oracle.segments:
        place = segment.places[2]
        quaternion = {"ball": slice(place.start, place.stop), "free": slice(place.start + 3, place.stop)}.get(
            segment.kind
        )
        if quaternion and moved[quaternion] @ expected[quaternion] < 0:  # q and -q are one rotation
            expected[quaternion] *= -1
    assert_close(moved, expected)


@pytest.mark.parametrize("name", ON_ONE_MANIFOLD)
def test_difference(name):
    model, oracle = pair(name)
    q0, *_ = random_state(model, seed=7)
    q1, *_ = random_state(model, seed=8)
    assert_close(qdot.difference(model, q0, q1), oracle.difference(q0, q1))


@pytest.mark.parametrize("name", PINOCCHIO_TREES)
def test_configurations_survive_the_way_to_pinocchio_and_back(name):
    model, oracle = pair(name)
    q, *_ = random_state(model, seed=7)
    assert_close(oracle.q(oracle.q_of(oracle.q(q))), oracle.q(q))


# ── batches ──────────────────────────────────────────────────────────────────────────────────────

BATCH = 5
BATCHED = ["manipulator", "humanoid", PINOCCHIO_TREES[0], *(f"mixed, {seed}" for seed in range(8))]


@pytest.mark.parametrize("name", BATCHED)
def test_batches(name):
    check_batches(*pair(name))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
def test_batches_of_one_body(kind):
    # The mass matrix of a slide, say, is the same for every row, but there is one for every row nevertheless. Only a
    # model without freedoms is left out: its vectors have no entries, so no rows either.
    model = with_drives_only(random_tree(1, bodies=1, joints=[kind]))
    check_batches(model, to_pinocchio(model)[1])


def check_batches(model: Model, oracle: Oracle) -> None:
    """Row by row what Pinocchio says of each row alone."""
    states = [random_state(model, seed) for seed in range(BATCH)]
    q, v, a = (np.array(rows) for rows in zip(*states, strict=True))
    tau = np.random.default_rng(8).normal(size=(BATCH, model.nv))
    wrenches = some_wrenches(model, (BATCH,))
    world, *_, frame = a_few_frames(model)
    motion = qdot.kinematics(model, q, v, a)
    answers = {
        "M": qdot.mass_matrix(model, q),
        "c + g": qdot.bias_forces(model, q, v),
        "c": qdot.velocity_forces(model, q, v),
        "C v": np.einsum("bij,bj->bi", qdot.coriolis_matrix(model, q, v), v),
        "g": qdot.gravity_forces(model, q),
        "tau": qdot.inverse_dynamics(model, q, v, a, wrenches=wrenches),
        "a": qdot.forward_dynamics(model, q, v, tau, wrenches=wrenches),
        "Y": qdot.regressor(model, q, v, a),
        "pose": as_array(qdot.frame_pose(model, q, frame)),
        "velocity": as_array(motion.velocity(frame)),
        "acceleration": as_array(motion.acceleration(frame)),
        **{f"J {c.name}": qdot.jacobian(model, q, frame, coordinates=c) for c in REFERENCES},
        "J of the world": qdot.jacobian(model, q, world),
        "center of mass": qdot.center_of_mass(model, q),
        "its Jacobian": qdot.com_jacobian(model, q),
        "h": as_array(qdot.centroidal_momentum(model, q, v)),
        "A_G": qdot.centroidal_momentum_matrix(model, q),
        "K": qdot.kinetic_energy(model, q, v),
        "P": qdot.potential_energy(model, q),
    }
    aligned = Coordinates.ALIGNED
    for k in range(BATCH):
        row_wrenches = {name: rows[k] for name, rows in wrenches.items()}
        velocity_forces = oracle.bias_forces(q[k], v[k]) - oracle.gravity_forces(q[k])
        expected = {
            "M": oracle.mass_matrix(q[k]),
            "c + g": oracle.bias_forces(q[k], v[k]),
            "c": velocity_forces,
            "C v": velocity_forces,
            "g": oracle.gravity_forces(q[k]),
            "tau": oracle.inverse_dynamics(q[k], v[k], a[k], row_wrenches),
            "a": oracle.forward_dynamics(q[k], v[k], tau[k], row_wrenches),
            "Y": oracle.regressor(q[k], v[k], a[k]),
            "pose": oracle.frame_pose(q[k], frame),
            "velocity": oracle.velocity(q[k], v[k], frame, aligned),
            "acceleration": oracle.acceleration(q[k], v[k], a[k], frame, aligned),
            **{f"J {c.name}": oracle.jacobian(q[k], frame, c) for c in REFERENCES},
            "J of the world": np.zeros((6, model.nv)),
            "center of mass": oracle.center_of_mass(q[k]),
            "its Jacobian": oracle.com_jacobian(q[k]),
            "h": oracle.centroidal_momentum(q[k], v[k]),
            "A_G": oracle.centroidal_momentum_matrix(q[k]),
            "K": oracle.kinetic_energy(q[k], v[k]),
            "P": oracle.potential_energy(q[k]),
        }
        for quantity, rows in answers.items():
            assert np.shape(rows) == (BATCH, *np.shape(expected[quantity])), quantity
            assert_close(rows[k], expected[quantity])
