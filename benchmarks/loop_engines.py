"""Linkages of bars and hinges, as qdot, MuJoCo, Drake and Exudyn simulate them: for closed_loops.py.

Each engine is a function of its settings and the step. It gives a function of a linkage, which builds it; that gives
what prepares a run, and a prepared run gives where the watched point is in the end.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

import qdot
from qdot.formulations.maximal import to_maximal
from qdot.joints import Revolute
from qdot.spatial import Inertia

GRAVITY = (0.0, -9.81, 0.0)


class Bar(NamedTuple):
    """Of 1 kg, as it lies at the start; its angular velocity, and that of its centre."""

    start: np.ndarray
    end: np.ndarray
    moments: tuple[float, float, float]
    """About its centre."""
    turn: tuple[float, float, float] = (0.0, 0.0, 0.0)
    speed: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def half(self) -> np.ndarray:
        return (self.end - self.start) / 2


class Hinge(NamedTuple):
    """Between two bars, or a bar and the ground (None); those of the tree are where the second bar starts."""

    first: str | None
    second: str | None
    point: tuple[float, ...]
    axis: tuple[float, float, float]
    closes: bool = False


class Linkage(NamedTuple):
    name: str
    seconds: float
    bars: dict[str, Bar]
    hinges: list[Hinge]
    planar: bool
    watched: str
    """The bar whose end (of windows), or start, is looked at."""
    truth: np.ndarray
    known: float
    """How well that is known [m]: smaller errors are not told from it."""

    @property
    def place(self) -> np.ndarray:
        """Of what is looked at, from the start of its bar."""
        return 2 * self.bars[self.watched].half if self.planar else np.zeros(3)

    def start_of(self, name: str | None) -> np.ndarray:
        return np.zeros(3) if name is None else self.bars[name].start


Look = Callable[[], np.ndarray]
"""Where the watched point is at the end; what an engine works out only when asked is in no time."""
Run = Callable[[], Look]
"""From the start to the end."""
Prepare = Callable[[], Run]
Build = Callable[[Linkage], Prepare]


def qdot_model(linkage: Linkage, points: bool = False) -> qdot.Model:
    """Hinges that close loops as joints, or as points on their axes that are held to each other."""
    world = qdot.Mechanism(linkage.name, gravity=GRAVITY)
    parts = {None: world.world}
    for name, bar in linkage.bars.items():
        hinge = next(h for h in linkage.hinges if h.second == name and not h.closes)
        at = np.array(hinge.point) - linkage.start_of(hinge.first)
        inertia = Inertia.about_com(1.0, tuple(bar.half), bar.moments)
        parts[name] = parts[hinge.first].add(name, Revolute(hinge.axis), inertia, at=tuple(at))
    for k, hinge in enumerate(h for h in linkage.hinges if h.closes):
        ends = []
        for side in (hinge.first, hinge.second):
            at = np.array(hinge.point) - linkage.start_of(side)
            ends.append(parts[side].frame(f"loop{k}_{len(ends)}", at=tuple(at)))
        if not points:
            world.close(f"loop{k}", Revolute(hinge.axis), *ends)
        else:
            for end in (0,) if linkage.planar else (-0.5, 0.5):
                place = tuple(end * np.array(hinge.axis))
                world.connect(f"loop{k}_{end}", *ends, place, place)
    parts[linkage.watched].frame("watched", at=tuple(linkage.place))
    return qdot.assemble(world)


def own_state(linkage: Linkage, model: qdot.Model) -> tuple[np.ndarray, np.ndarray]:
    v = []
    for body in model.bodies:
        hinge = next(h for h in linkage.hinges if h.second == body.name and not h.closes)
        before = linkage.bars[hinge.first].turn if hinge.first else (0, 0, 0)
        v.append((np.array(linkage.bars[body.name].turn) - before) @ np.array(hinge.axis))
    return model.home(), np.array(v, dtype=float)


def own(method: str, dt: float, maximal: bool = False) -> Build:
    def of(linkage: Linkage) -> Prepare:
        tree = qdot_model(linkage)
        state = own_state(linkage, tree)
        apart = to_maximal(tree) if maximal else None
        model = tree if apart is None else apart.model
        start = state if apart is None else apart.state(*state)

        def prepare() -> Run:
            simulation = qdot.Simulation(model, start, dt, integrator=method, solver="sparse")
            simulation.trajectory  # noqa: B018  # what gives it is compiled now

            def run() -> Look:
                simulation.advance(linkage.seconds, record=10**9, progress=False, threads=1)
                return lambda: simulation.trajectory.position("watched")[-1]

            return run

        return prepare

    return of


def by_mujoco(method: str, dt: float, settling: float) -> Build:
    """Equality constraints, as stiff as MuJoCo lets them be; `settling` is their time constant in steps."""

    def of(linkage: Linkage) -> Prepare:
        model = qdot_model(linkage, points=True)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "linkage.xml"
            qdot.save(model, file)
            peer = mujoco.MjModel.from_xml_path(str(file))
        bits = mujoco.mjtDisableBit
        peer.opt.disableflags |= bits.mjDSBL_CONTACT | bits.mjDSBL_REFSAFE | bits.mjDSBL_SENSOR
        peer.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{method}")
        peer.opt.timestep = dt
        peer.eq_solref[:] = settling * dt, 1.0
        peer.eq_solimp[:, :2] = 0.9999
        bridge, data = qdot.convert.mujoco(model, peer), mujoco.MjData(peer)
        q, v = own_state(linkage, model)

        def prepare() -> Run:
            mujoco.mj_resetData(peer, data)
            data.qpos[:], data.qvel[:] = bridge.q_to(q), bridge.v_to(q, v)

            def run() -> Look:
                mujoco.mj_step(peer, data, nstep=round(linkage.seconds / dt))
                mujoco.mj_kinematics(peer, data)
                return data.site("watched").xpos.copy

            return run

        return prepare

    return of


def by_drake(dt: float) -> Build:
    """Discrete, with the solver SAP: the only mode of Drake that knows constraints; hinges by points on their axes."""
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
    from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint, RotationalInertia, SpatialInertia
    from pydrake.systems.analysis import Simulator

    def of(linkage: Linkage) -> Prepare:
        plant = MultibodyPlant(dt)
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        plant.mutable_gravity_field().set_gravity_vector(GRAVITY)
        bodies, joints = {None: plant.world_body()}, []
        for name, bar in linkage.bars.items():
            inertia = SpatialInertia.MakeFromCentralInertia(1.0, bar.half, RotationalInertia(*bar.moments))
            bodies[name] = plant.AddRigidBody(name, inertia)
        for k, hinge in enumerate(linkage.hinges):
            first, second = (np.array(hinge.point) - linkage.start_of(x) for x in (hinge.first, hinge.second))
            ends = bodies[hinge.first], bodies[hinge.second]
            if hinge.closes:
                for end in (0,) if linkage.planar else (-0.5, 0.5):
                    along = end * np.array(hinge.axis)
                    plant.AddBallConstraint(ends[0], first + along, ends[1], second + along)
                continue
            frame = plant.AddFrame(FixedOffsetFrame(f"frame{k}", ends[0].body_frame(), RigidTransform(first)))
            joint = plant.AddJoint(RevoluteJoint(f"hinge{k}", frame, ends[1].body_frame(), hinge.axis))
            before = linkage.bars[hinge.first].turn if hinge.first else (0, 0, 0)
            joints.append((joint, np.subtract(linkage.bars[hinge.second].turn, before) @ np.array(hinge.axis)))
        plant.Finalize()

        def prepare() -> Run:
            simulator = Simulator(plant)
            context = simulator.get_mutable_context()
            for joint, rate in joints:
                joint.set_angular_rate(context, rate)
            simulator.Initialize()

            def run() -> Look:
                simulator.AdvanceTo(linkage.seconds)
                frame = bodies[linkage.watched].body_frame()
                return lambda: plant.CalcPointsPositions(context, frame, linkage.place, plant.world_frame())[:, 0]

            return run

        return prepare

    return of


def by_exudyn(dt: float) -> Build:
    """Free bodies with joints, generalised-α of index 3 with spectral radius 0.9; sparse where there are many."""
    sys.exudynFast = True  # without checks of ranges
    import exudyn
    from exudyn import itemInterface as items
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    def of(linkage: Linkage) -> Prepare:
        container = exudyn.SystemContainer()
        system = container.AddSystem()
        bodies = {None: system.AddObject(items.ObjectGround())}
        for name, bar in linkage.bars.items():
            bodies[name] = system.CreateRigidBody(
                referencePosition=list(bar.start + bar.half),
                initialVelocity=list(bar.speed),
                initialAngularVelocity=list(bar.turn),
                inertia=RigidBodyInertia(1.0, np.diag(bar.moments)),
                gravity=list(GRAVITY),
                create2D=linkage.planar,
            )
        for hinge in linkage.hinges:
            if linkage.planar:
                sides = [
                    system.AddMarker(items.MarkerBodyPosition(bodyNumber=bodies[side], localPosition=list(at)))
                    for side in (hinge.first, hinge.second)
                    for at in [
                        np.array(hinge.point)
                        - (0 if side is None else linkage.start_of(side) + linkage.bars[side].half)
                    ]
                ]
                system.AddObject(items.ObjectJointRevolute2D(markerNumbers=sides))
            else:
                ends = [bodies[hinge.first], bodies[hinge.second]]
                system.CreateRevoluteJoint(itemNumbers=ends, position=list(hinge.point), axis=list(hinge.axis))
        system.Assemble()
        settings = exudyn.SimulationSettings()
        settings.timeIntegration.numberOfSteps = round(linkage.seconds / dt)
        settings.timeIntegration.endTime = linkage.seconds
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
        settings.solution.file.write = False
        settings.show.computationTime = False
        solvers = exudyn.LinearSolverType
        if len(bodies) > 20:
            settings.linearSolver.solverType = solvers.EigenSparse
            settings.linearSolver.reuseAnalyzedPattern = True
        elif not linkage.planar:  # more rows than are independent
            settings.linearSolver.solverType = solvers.EigenDense
            settings.linearSolver.ignoreSingularJacobian = True
        place = list(linkage.place - linkage.bars[linkage.watched].half)

        def prepare() -> Run:
            def run() -> Look:
                system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.GeneralizedAlpha)
                kind = exudyn.OutputVariableType.Position
                return lambda: np.array(system.GetObjectOutputBody(bodies[linkage.watched], kind, place))

            return run

        return prepare

    return of
