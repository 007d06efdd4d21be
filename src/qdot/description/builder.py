"""Describe a mechanism in Python: add bodies to each other, hold and drive them, then `qdot.assemble` it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from qdot.algebra import Scalar, Vec3, is_number, map_scalars, plain, scalar_problem, scalars_in
from qdot.description.builder_constraints import HoldsTogether
from qdot.description.builder_forces import Exerts
from qdot.description.builder_records import Place, Placement, name_of, pose
from qdot.description.constraints import LoopRecord
from qdot.description.contact import Contact
from qdot.description.records import (
    WORLD,
    BodyRecord,
    Description,
    FrameRecord,
    Material,
    Passive,
    ShapeRecord,
)
from qdot.errors import InertiaError, JointError, ModelError, ValueShapeError
from qdot.geometry import Shape
from qdot.joints import Joint
from qdot.spatial import Inertia

PerFreedom: TypeAlias = Scalar | Iterable[Scalar]


class Mechanism(HoldsTogether, Exerts):
    """A mechanism being described. Gravity is the acceleration of free fall [m/s²].

    Bodies are added to it and to each other; then constraints (`connect`, `weld`, `distance`, `couple`, `gear`,
    `mimic`, `close`), springs (`spring`, `bushing`, `tendon`) and actuators (`motor`, `position_servo`,
    `velocity_servo`, `actuator`) between what is there. "At home" is where every body starts (`home` in `Part.add`).
    With `allow_unphysical`, inertias that no body can have are taken as they are (`assemble` refuses them otherwise).

    >>> world = Mechanism("pendulum")
    >>> rod = world.add("rod", Revolute("y"), Capsule(length=1.0, radius=0.02, mass=0.5).at(0, 0, -0.5))
    >>> tip = rod.frame("tip", at=(0, 0, -1))
    """

    def __init__(
        self, name: str = "mechanism", *, gravity: Iterable[Scalar] = (0, 0, -9.81), allow_unphysical: bool = False
    ) -> None:
        super().__init__()
        if not isinstance(name, str):
            raise ModelError(f"the name of a mechanism is a string, got {name!r}")
        self.name = name
        self.allow_unphysical = allow_unphysical
        try:
            self.gravity = Vec3.of(gravity)
        except ValueShapeError as error:
            raise ModelError(f"mechanism {name!r}: gravity is an acceleration (x, y, z) [m/s²]; {error}") from None
        self.world = Part(self, WORLD)

    def add(self, name: str, joint: Joint, *solids: Shape | Inertia, **options: Any) -> Part:
        """A body on the world; options as in `Part.add`."""
        return self.world.add(name, joint, *solids, **options)

    def frame(self, name: str, *, at: Placement = None) -> str:
        """A named frame on the world; returns its name."""
        return self.world.frame(name, at=at)

    def close(self, name: str, joint: Joint, predecessor: Place, successor: Place) -> None:
        """Close a loop: a joint that holds frame `successor` to frame `predecessor` (frames or bodies)."""
        if not isinstance(name, str) or not name:
            raise ModelError(f"mechanism {self.name!r}: a loop joint needs a name that is a string, got {name!r}")
        if name in self._loops or any(name == b.joint_name for b in self._bodies.values()):
            raise ModelError(f"mechanism {self.name!r}: two joints are named {name!r}; give one another name")
        if name in self._constraints:
            raise ModelError(f"mechanism {self.name!r}: two constraints are named {name!r}; give one another name")
        self._loops[name] = LoopRecord(name, joint, name_of(predecessor), name_of(successor))

    def description(self) -> Description:
        """What was described so far, as frozen records."""
        return Description(
            self.name,
            self.gravity,
            tuple(self._bodies.values()),
            tuple(self._frames.values()),
            tuple(self._loops.values()),
            self._world_shapes,
            self.allow_unphysical,
            tuple(self._constraints.values()),
            tuple(self._tendons.values()),
            tuple(self._actuators.values()),
            tuple(self._bushings.values()),
        )


class Part:
    """A body of a mechanism being described: what is added to it moves with it."""

    def __init__(self, mechanism: Mechanism, name: str) -> None:
        self._mechanism = mechanism
        self.name = name

    def add(
        self,
        name: str,
        joint: Joint,
        *solids: Shape | Inertia,
        at: Placement = None,
        joint_name: str | None = None,
        armature: PerFreedom = (),
        damping: PerFreedom = (),
        friction: PerFreedom = (),
        stiffness: PerFreedom = (),
        rest: PerFreedom = (),
        home: PerFreedom = (),
        material: Material | None = None,
        contact: Contact | None = None,
    ) -> Part:
        """A body held by a joint whose frame is at pose `at` on this body; its inertia is the sum of the solids'.

        Armature, damping, friction and stiffness are one number, or one for each freedom of the joint (units in
        `Passive`). `home` is the configuration that the joint starts in, neutral if not given. The joint takes the
        body's name unless it is given its own. `contact` is how its solids touch others.
        """
        self._claim(name)
        what = f"mechanism {self._mechanism.name!r}: body {name!r}"
        if not isinstance(joint, Joint):
            raise ModelError(f"{what}: a joint of qdot.joints is expected after the name, got {joint!r}")
        if joint_name is not None and not (isinstance(joint_name, str) and joint_name):
            raise ModelError(f"{what}: the name of its joint is a string, got {joint_name!r}")
        shapes, inertia = [], Inertia.zero()
        for solid in solids:
            if isinstance(solid, Inertia):
                _require_scalars(solid, what)
                inertia = inertia + solid
            elif isinstance(solid, Shape):
                inertia = inertia + solid.inertia()
                shapes.append(ShapeRecord(solid, material=material or Material(), contact=contact or Contact()))
            else:
                raise ModelError(f"{what}: its solids are shapes of qdot.geometry or Inertia, got {solid!r}")
        passive = {"armature": armature, "damping": damping, "friction": friction, "stiffness": stiffness}
        rows = {key: _row(value, joint.nv, f"{what}: {key}") for key, value in passive.items()}
        start = _row(home, joint.nq, f"{what}: home")
        if start and len(start) != joint.nq:
            raise JointError(f"{what}: home is a configuration of its joint, {joint.nq} numbers, got {home!r}")
        self._mechanism._bodies[name] = BodyRecord(
            name,
            self.name,
            joint,
            joint_name or name,
            pose(at, what),
            map_scalars(plain, inertia),
            Passive(**rows, rest=_row(rest, joint.nq, f"{what}: rest")),
            tuple(shapes),
            home=start,
        )
        return Part(self._mechanism, name)

    def frame(self, name: str, *, at: Placement = None) -> str:
        """A named frame (a site) at a pose on this body; returns its name."""
        self._claim(name)
        what = f"mechanism {self._mechanism.name!r}: frame {name!r}"
        self._mechanism._frames[name] = FrameRecord(name, self.name, pose(at, what))
        return name

    def show(
        self,
        shape: Shape,
        *,
        visual: bool = True,
        collision: bool = False,
        material: Material | None = None,
        contact: Contact | None = None,
    ) -> Part:
        """A shape without mass on this body: to be seen, to collide, or both; `contact` says how it touches others, and
        that it does."""
        if not isinstance(shape, Shape):
            raise ModelError(f"body {self.name!r}: a shape of qdot.geometry is expected, got {shape!r}")
        touches = collision or contact is not None
        record = ShapeRecord(shape, visual, touches, material or Material(), contact=contact or Contact())
        if self.name == WORLD:
            self._mechanism._world_shapes += (record,)
        else:
            body = self._mechanism._bodies[self.name]
            self._mechanism._bodies[self.name] = replace(body, shapes=(*body.shapes, record))
        return self

    def _claim(self, name: str) -> None:
        where = f"mechanism {self._mechanism.name!r}"
        if not isinstance(name, str) or not name:
            raise ModelError(f"{where}: a body or frame needs a name that is a string, got {name!r}")
        if name == WORLD:
            raise ModelError(f"{where}: the name {WORLD!r} is the world's own; give the body or frame another name")
        if name in self._mechanism._bodies or name in self._mechanism._frames:
            raise ModelError(f"{where}: two bodies or frames are named {name!r}; give one another name")


def _row(value: PerFreedom, size: int, what: str) -> tuple[Scalar, ...]:
    """One value for each freedom, from one for all or a sequence."""
    one = isinstance(value, (str, dict)) or not isinstance(value, Iterable)
    row = (plain(value),) * max(size, 1) if one else tuple(plain(x) for x in value)
    for x in row:
        problem = scalar_problem(x)
        if problem is not None:
            raise JointError(f"{what} is one number, or one for each of {size} freedoms, got {value!r}: {problem}")
    return row[:size] if one else row


def _require_scalars(solid: Inertia, what: str) -> None:
    for x in scalars_in(solid):
        problem = None if is_number(x) else scalar_problem(x)
        if problem is not None:
            raise InertiaError(f"{what}: its inertia has an entry that cannot be: {problem}")
