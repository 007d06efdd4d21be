"""Models at the edge: no bodies, no freedoms, no mass, very many bodies."""

from __future__ import annotations

import inspect
import pickle
import sys

import numpy as np
import pytest

import qdot
from qdot.errors import QdotError
from qdot.joints import Revolute
from qdot.model import edit
from qdot.model.library import n_pendulum
from qdot.spatial import Inertia
from tests.model.samples import CALLS, SOLID, empty, immobile, numbers, refused, single


def shapes(bodies: int) -> dict[str, tuple[int, ...]]:
    """What each function returns for nq = nv = 0; () for a scalar. Without mass some have no meaning."""
    return {
        "actuation": (0,),
        "actuator_forces": (0,),
        "actuator_lengths": (0,),
        "actuator_moments": (0, 0),
        "analytic_jacobian": (6, 0),
        "bias_acceleration": (6,),
        "bias_forces": (0,),
        "center_of_mass": (3,),
        "centroidal_momentum_matrix": (6, 0),
        "christoffel_symbols": (0, 0, 0),
        "com_jacobian": (3, 0),
        "configuration_rate": (0,),
        "connection_coefficients": (0, 0, 0),
        "constraint_jacobian": (0, 0),
        "coriolis_matrix": (0, 0),
        "covariant_acceleration": (0,),
        "covariant_derivative": (0,),
        "difference": (0,),
        "directional_derivative": (0,),
        "dual_product": (),
        "energy": (),
        "forward_dynamics": (0,),
        "forward_dynamics_derivatives": (3, 0, 0),
        "frame_acceleration_derivatives": (3, 6, 0),
        "frame_velocity_derivatives": (2, 6, 0),
        "generalized_momentum": (0,),
        "gravity_forces": (0,),
        "hamilton_equations": (2, 0),
        "hamiltonian": (),
        "inner_product": (),
        "inverse_dynamics": (0,),
        "inverse_dynamics_derivatives": (2, 0, 0),
        "inverse_mass_matrix": (0, 0),
        "jacobian": (6, 0),
        "kinetic_energy": (),
        "link_jacobians": (bodies, 2, 3, 0),
        "mass_matrix": (0, 0),
        "normalized": (0,),
        "parallel_rate": (0,),
        "passive_forces": (0,),
        "point_jacobian": (3, 0),
        "potential_energy": (),
        "regressor": (0, 10 * bodies),
        "retract": (0,),
        "riemann_tensor": (0, 0, 0, 0),
        "tendon_jacobian": (0, 0),
        "tendon_lengths": (0,),
        "velocity_forces": (0,),
        "velocity_of_momentum": (0,),
    }


BY_NAME = {"constrained_forward_dynamics", "constraint_residuals", "loop_residuals", "passive_terms"}  # dicts of arrays
SPATIAL = {"centroidal_momentum", "frame_pose", "joint_wrenches", "momentum"}
NEEDS_MASS = {"center_of_mass", "centroidal_momentum", "centroidal_momentum_matrix", "com_jacobian"}


def test_every_public_function_is_covered() -> None:
    functions = {n for n in qdot.__all__ if n[0].islower() and callable(getattr(qdot, n))}
    functions -= {"assemble", "compile", "derivative", "derive", "kinematics", "load", "save", "symbols", "verify"}
    functions -= {"action_gradient", "discrete_action", "stationary_path", "parallel_transport", "sectional_curvature"}
    functions -= {"geodesic", "geodesic_between", "geodesic_distance"}  # these need a path or two directions
    functions -= {"simulate", "projected", "redundancy", "to_maximal"}  # tests/simulation
    functions -= {"activation_rates", "inertial_parameters", "total_mass"}  # of no configuration
    assert set(CALLS) == functions
    assert set(shapes(0)) | SPATIAL | BY_NAME == functions


@pytest.mark.parametrize("name", shapes(0))
@pytest.mark.parametrize("batch", [(), (0,), (1,), (4,)], ids=str)
@pytest.mark.parametrize("build", [empty, immobile])
def test_shapes_without_freedoms(build, batch: tuple[int, ...], name: str) -> None:
    model = build()
    z = np.zeros((*batch, 0))
    if build is empty and name in NEEDS_MASS:
        error = refused(lambda: CALLS[name](model, z, z, z))
        assert error is None or ("'empty'" in str(error) and "mass" in str(error))
        return
    result = np.asarray(CALLS[name](model, z, z, z))
    assert result.shape == batch + shapes(len(model.bodies))[name]
    assert result.dtype == float or not result.shape  # the energy of nothing may be a plain 0


@pytest.mark.parametrize("name", sorted(SPATIAL))
@pytest.mark.parametrize("batch", [(), (0,), (1,), (4,)], ids=str)
@pytest.mark.parametrize("build", [empty, immobile])
def test_spatial_values_without_freedoms(build, batch: tuple[int, ...], name: str) -> None:
    model = build()
    z = np.zeros((*batch, 0))
    if build is empty and name in NEEDS_MASS:
        with pytest.raises(QdotError, match=r"'empty'.*mass"):
            CALLS[name](model, z, z, z)
        return
    result = numbers(CALLS[name](model, z, z, z))
    if result.size or name != "joint_wrenches":  # no joints, no wrenches
        assert result.shape[:-1] == batch


def test_values_without_freedoms() -> None:
    m = immobile()
    assert qdot.total_mass(m) == 4
    assert qdot.total_mass(empty()) == 0
    np.testing.assert_allclose(qdot.center_of_mass(m, []), [1, 0, 0.5])
    assert qdot.potential_energy(m, []) == pytest.approx(9.81 * 2)
    assert qdot.kinetic_energy(m, [], []) == 0
    assert qdot.energy(empty(), [], []) == 0
    assert list(qdot.frame_pose(m, [], "head").position) == [1, 0, 3]
    assert list(qdot.kinematics(m, [], [], []).pose("head").position) == [1, 0, 3]
    assert list(qdot.joint_wrenches(m, [], [], [])["plinth"].lin) == pytest.approx([0, 0, 39.24])
    assert qdot.inertial_parameters(m).shape == (20,)
    assert qdot.inertial_parameters(empty()).shape == (0,)
    assert qdot.symbols(m) == ([], [], [])
    assert empty().neutral().shape == (0,)
    assert empty().coordinate_names() == empty().dof_names() == []
    assert empty().parents == (0,)


def test_vectors_for_a_model_without_freedoms() -> None:
    for bad in ([0.0], [[0.0]], 0.0, None, "text", np.zeros((1, 1, 0))):
        with pytest.raises(QdotError):
            qdot.mass_matrix(immobile(), bad)
    with pytest.raises(QdotError, match="rows"):
        qdot.inverse_dynamics(immobile(), np.zeros((2, 0)), np.zeros((3, 0)), [])


def test_edits_of_models_without_freedoms() -> None:
    m = immobile()
    assert edit.scale(empty(), 2) == empty()
    assert edit.attach(empty(), m).nv == 0
    assert edit.attach(m, empty()) == m
    bare = edit.weld(edit.weld(m, "figure"), "plinth")
    assert bare.bodies == ()
    assert set(bare.frames) == set(m.frames)
    assert list(qdot.frame_pose(bare, [], "head").position) == [1, 0, 3]
    assert qdot.mass_matrix(bare, []).shape == (0, 0)


@pytest.mark.parametrize("name", sorted(NEEDS_MASS))
@pytest.mark.parametrize("q", [[0.3], [[0.3], [0.4]]], ids=["single", "batch"])
def test_no_mass_has_no_centre(name: str, q: object) -> None:
    model = single(Revolute("y"), Inertia.zero())
    with pytest.raises(QdotError, match=r"'rig'.*mass"):
        CALLS[name](model, q, q, q)


# ── long chains ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def long_chain() -> qdot.Model:
    return n_pendulum(300, length=0.01, mass=0.1)


def test_a_chain_of_300_bodies(long_chain: qdot.Model) -> None:
    m = long_chain
    assert (len(m.bodies), m.nv) == (300, 300)
    q = np.full(300, 1e-3)
    zero = np.zeros(300)
    tau = qdot.gravity_forces(m, q)
    M = qdot.mass_matrix(m, q)
    np.testing.assert_array_equal(M, M.T)
    np.testing.assert_allclose(qdot.forward_dynamics(m, q, zero, tau), zero, atol=1e-6)
    J = qdot.jacobian(m, q, "tip")
    assert J.shape == (6, 300)
    assert J[1].tolist() == [1.0] * 300
    angle = 0.3  # of the last rod
    np.testing.assert_allclose(qdot.frame_pose(m, q, "tip").rotation.r0.x, np.cos(angle), rtol=1e-12)
    assert "…" in str(refused(lambda: qdot.mass_matrix(m, [0.0])))


def test_a_chain_of_300_bodies_is_copied_and_edited(long_chain: qdot.Model) -> None:
    m = long_chain
    assert pickle.loads(pickle.dumps(m)) == m
    assert edit.lock(m, "joint150", 0.1).nv == 299
    assert len(edit.weld(edit.lock(m, "joint150", 0.1), "rod150").bodies) == 299
    assert edit.attach(m, m, to="tip", prefix="second_").nv == 600
    assert qdot.total_mass(edit.scale(m, 2)) == pytest.approx(240)


def test_depth_needs_no_recursion() -> None:
    """Nothing calls itself once a body: with room for few more calls than there are now, a deep tree still works."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 120)
    try:
        world = qdot.Mechanism("deep")
        part = world.world
        for k in range(250):
            part = part.add(f"b{k}", Revolute("y"), SOLID)
        model = qdot.assemble(world)
        tau = qdot.bias_forces(model, np.zeros(250), np.zeros(250))
        qdot.frame_pose(model, np.zeros(250), "b249")
    finally:
        sys.setrecursionlimit(limit)
    assert tau.shape == (250,)


def test_a_wide_tree() -> None:
    world = qdot.Mechanism("hedgehog")
    for k in range(300):
        world.add(f"spine{k}", Revolute("y"), SOLID)
    model = qdot.assemble(world)
    M = qdot.mass_matrix(model, np.zeros(300))
    assert not (M - np.diag(np.diag(M))).any()
    assert model.dof_parents == (-1,) * 300
