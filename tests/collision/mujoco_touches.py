"""What MuJoCo finds between two shapes at any poses, beside what qdot finds."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np

from qdot.algebra import Quaternion, Vec3, scalars_in
from qdot.collision.touch import Touch
from qdot.geometry import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, HeightField, Plane, Shape, Sphere
from qdot.spatial import Transform
from tests.formats.corpora import File

Row = tuple[float, np.ndarray, np.ndarray]
"""Distance [m], position, normal."""


def random_pose(random: np.random.Generator, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """A quaternion and a position within a cube of half side `reach` [m]."""
    quaternion = random.normal(size=4)
    return quaternion / np.linalg.norm(quaternion), random.uniform(-reach, reach, size=3)


def transform(quaternion: np.ndarray, position: np.ndarray) -> Transform:
    return Transform(Quaternion(*quaternion.tolist()).rotation(), Vec3(*position.tolist()))


class Peer:
    """MuJoCo's model of two shapes, the first moved by hand, the second free."""

    def __init__(self, a: Shape, b: Shape, margin: float) -> None:
        assets = [_asset(k, shape) for k, shape in enumerate((a, b)) if isinstance(shape, (ConvexHull, HeightField))]
        self.m = mujoco.MjModel.from_xml_string(f"""<mujoco><asset>{"".join(assets)}</asset><worldbody>
            <body mocap="true"><geom {_geom(0, a)} margin="{margin}"/></body>
            <body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom {_geom(1, b)}/></body>
            </worldbody></mujoco>""")
        self.d = mujoco.MjData(self.m)

    def touches(self, pose_a: tuple[np.ndarray, np.ndarray], pose_b: tuple[np.ndarray, np.ndarray]) -> list[Row]:
        """Contacts with normals from a to b."""
        m, d = self.m, self.d
        d.mocap_quat[0], d.mocap_pos[0] = pose_a
        d.qpos[:3], d.qpos[3:] = pose_b[1], pose_b[0]
        mujoco.mj_kinematics(m, d)
        mujoco.mj_collision(m, d)
        found = []
        for k in range(d.ncon):
            c = d.contact[k]
            found.append((c.dist, c.pos.copy(), c.frame[:3] * (1.0 if c.geom[0] == 0 else -1.0)))
        return found


def compiled(file: File) -> mujoco.MjModel | None:
    """MuJoCo's model of a file with room for thousands of contacts; none for a file that others include."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            spec = mujoco.MjSpec.from_file(str(file.path))
            spec.memory = 2**29
            return spec.compile()
        except ValueError:
            return None


CLOSED = {"Sphere", "Capsule", "Box"}


def is_closed(a: Shape, b: Shape) -> bool:
    """Whether two bounded shapes have a closed form."""
    kinds = {type(a).__name__, type(b).__name__}
    return kinds <= CLOSED or kinds == {"Sphere", "Cylinder"}


def packed(touches: list[Touch], count: int) -> np.ndarray:
    """Lanes (touch, entry, lane)."""
    return np.array([[np.broadcast_to(x, (count,)) for x in scalars_in(touch)] for touch in touches], dtype=float)


def rows(touches: list[Touch]) -> list[Row]:
    return [(float(t.distance), np.array([*t.position]), np.array([*t.normal])) for t in touches]


def difference(ours: list[Row], theirs: list[Row], margin: float, slack: float = 1e-9) -> float:
    """The largest difference between two unordered sets; infinite where one has a touch that the other has not.

    Touches at the margin itself, within `slack` [m], may be in one set and not in the other.
    """
    left, worst = [row for row in theirs if row[0] < margin], 0.0
    for row in ours:
        if not row[0] < margin:
            continue
        apart = [max(abs(row[0] - o[0]), np.abs(row[1] - o[1]).max(), np.abs(row[2] - o[2]).max()) for o in left]
        if apart and min(apart) < 1e-2:
            worst = max(worst, min(apart))
            del left[int(np.argmin(apart))]
        elif row[0] < margin - slack:
            return np.inf
    return np.inf if any(row[0] < margin - slack for row in left) else worst


def _geom(k: int, shape: Shape) -> str:
    match shape:
        case Plane():
            return 'type="plane" size="1 1 1"'
        case Sphere(radius=r):
            return f'type="sphere" size="{r!r}"'
        case Capsule(radius=r, length=l):
            return f'type="capsule" size="{r!r} {l / 2!r}"'
        case Cylinder(radius=r, length=l):
            return f'type="cylinder" size="{r!r} {l / 2!r}"'
        case Ellipsoid(x=x, y=y, z=z):
            return f'type="ellipsoid" size="{x!r} {y!r} {z!r}"'
        case Box(x=x, y=y, z=z):
            return f'type="box" size="{x / 2!r} {y / 2!r} {z / 2!r}"'
        case HeightField():
            return f'type="hfield" hfield="field{k}"'
        case _:
            return f'type="mesh" mesh="mesh{k}"'


def _asset(k: int, shape: ConvexHull | HeightField) -> str:
    """Heights have to be 0 … 1, for MuJoCo stretches them."""
    if isinstance(shape, HeightField):
        heights, size = shape.heights[::-1], f"{shape.x} {shape.y} {shape.z} {shape.base}"  # from the top of a picture
        rows, columns = heights.shape
        listed = " ".join(map(repr, heights.reshape(-1).tolist()))
        return f'<hfield name="field{k}" nrow="{rows}" ncol="{columns}" size="{size}" elevation="{listed}"/>'
    return f'<mesh name="mesh{k}" vertex="{" ".join(map(repr, shape.points.reshape(-1).tolist()))}"/>'
