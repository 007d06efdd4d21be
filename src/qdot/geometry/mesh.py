"""Solids bounded by triangles: a mesh, and the convex hull of points. Their inertias are exact."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, final

import numpy as np

from qdot.algebra import Scalar
from qdot.errors import GeometryError
from qdot.geometry import polyhedron
from qdot.geometry.mesh_file import read_triangles
from qdot.geometry.polyhedron import Moments
from qdot.geometry.quadrature import Floats, Rule
from qdot.geometry.solid import Density, Solid
from qdot.geometry.surface import Faces, Surface
from qdot.spatial import Inertia, inertia_of_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Polyhedron(Solid):
    """A solid bounded by triangles: `vertices` [m], shape (n, 3), `faces`, shape (m, 3), counterclockwise from outside.

    Arrays are kept in memory that nobody can write to; two solids are equal when they have the same numbers.
    """

    __slots__ = ()

    vertices: Floats
    faces: Faces

    @abstractmethod
    def _require_closed(self) -> None:
        """Raise where the faces do not close up: they bound no body."""

    def volume(self) -> float:
        return self._moments().volume

    def uniform(self, mass: Scalar) -> Inertia:
        of = self._moments()
        filled: Inertia = inertia_of_moments(1.0, of.first / of.volume, of.second / of.volume) * mass
        return filled

    def rules(self, order: int) -> Iterator[Rule]:
        self._moments()  # an open, flat or inside-out mesh has no integrals either
        return polyhedron.rules(self.vertices, self.faces, order)

    def surface(self, resolution: int = 24) -> Surface:
        return self.vertices, self.faces

    def _moments(self) -> Moments:
        self._require_closed()
        found = polyhedron.moments(self.vertices, self.faces)
        if abs(found.volume) <= found.rounding:
            raise GeometryError(f"{self!r} encloses no volume: it is flat; give it a thickness, or no mass")
        if found.volume < 0:
            raise GeometryError(
                f"{self!r} is inside out: its volume is {found.volume:g} m³; turn its faces with mesh.flipped()"
            )
        return found

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        # Made anew, for unpickled arrays could be written to.
        return partial(type(self), **{a.name: getattr(self, a.name) for a in fields(self) if a.init}), ()


@final
@dataclass(frozen=True, slots=True, repr=False)
class Mesh(Polyhedron):
    """A solid by its triangles; `name`, the file's for a loaded one, appears in messages.

    An open mesh can be drawn; asked for its volume, its inertia or an integral, it raises.
    """

    vertices: Floats = field(compare=False)
    faces: Faces = field(compare=False)
    name: str | None = field(default=None, kw_only=True, compare=False)
    digest: bytes = field(init=False, repr=False)

    @staticmethod
    def load(path: str | os.PathLike[str], scale: Any = 1.0, *, mass: Scalar = None, density: Density = None) -> Mesh:
        """A mesh from a file (STL, OBJ, PLY, …), in meters times `scale`: one factor, or one per axis."""
        vertices, faces = read_triangles(path, scale)
        return Mesh(vertices, faces, mass=mass, density=density, name=os.fspath(path))

    def _lengths(self, factor: Scalar) -> dict[str, Any]:
        return {"vertices": self.vertices * factor}

    def flipped(self) -> Mesh:
        """The same mesh with its inside out."""
        return Mesh(self.vertices, self.faces[:, ::-1], mass=self.mass, density=self.density, name=self.name)

    def _settle(self) -> None:
        what = f"mesh {self.name!r}" if self.name else "a mesh"
        vertices = _points(self.vertices, f"the vertices of {what}")
        faces = _indices(self.faces, len(vertices), what)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)
        object.__setattr__(self, "digest", _digest(vertices, faces))

    def _require_closed(self) -> None:
        ends, apart = polyhedron.loose_edges(self.vertices, self.faces)
        if ends:
            raise GeometryError(
                f"{self!r} is open: {ends} edges are not shared by two faces, so it bounds no body; repair it, take "
                "ConvexHull(mesh.vertices), or give it no mass and the body another shape or an inertia"
            )
        if apart:
            raise GeometryError(
                f"{self!r} has faces that turn apart: at {apart} edges two neighbours run the same way; orient all "
                "faces counterclockwise seen from outside (trimesh.repair.fix_normals), or take "
                "ConvexHull(mesh.vertices)"
            )


@final
@dataclass(frozen=True, slots=True, repr=False)
class ConvexHull(Polyhedron):
    """The smallest convex solid that holds all `points` [m], shape (n, 3): four or more, not in one plane."""

    points: Floats = field(compare=False)
    vertices: Floats = field(init=False, compare=False, repr=False)
    faces: Faces = field(init=False, compare=False, repr=False)
    digest: bytes = field(init=False, repr=False)

    def _settle(self) -> None:
        points = _points(self.points, "the points of a convex hull")
        vertices, faces = _hull(points)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)
        object.__setattr__(self, "digest", _digest(points))

    def _lengths(self, factor: Scalar) -> dict[str, Any]:
        return {"points": self.points * factor}

    def _require_closed(self) -> None:
        """Nothing to ask: a hull is closed."""


def _hull(points: Floats) -> Surface:
    """Vertices and outward faces of the hull (Qhull, through SciPy)."""
    from scipy.spatial import ConvexHull as Hull, QhullError

    try:
        hull = Hull(points)
    except (QhullError, ValueError) as error:
        raise _flat(points) from error
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    simplices = np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)
    kept, faces = np.unique(simplices, return_inverse=True)
    vertices, faces = points[kept], faces.reshape(-1, 3).astype(np.int64)
    found = polyhedron.moments(vertices, faces)
    if found.volume <= found.rounding:  # Qhull goes on a little longer
        raise _flat(points)
    return _frozen(vertices), _frozen(faces)


def _flat(points: Floats) -> GeometryError:
    return GeometryError(
        f"{len(points)} points have no convex hull with a volume: they lie in a plane, on a line or are too few; add "
        "points off the plane, or use a thin Box"
    )


def _points(values: Any, what: str) -> Floats:
    """Rows of three finite numbers [m]."""
    try:
        points = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GeometryError(f"{what} must be rows of three numbers [m]: {error}") from error
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise GeometryError(f"{what} must be an array of shape (n, 3) [m], got {points.shape}")
    if not np.isfinite(points).all():
        row = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise GeometryError(
            f"{what} must be finite, but row {row} is {points[row]}; remove it and the faces that use it"
        )
    return _frozen(points + 0.0)  # -0.0 and 0.0 are one place


def _indices(values: Any, count: int, what: str) -> Faces:
    """Rows of three indices of vertices."""
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise GeometryError(f"the faces of {what} must be rows of three whole numbers: {error}") from error
    if given.size == 0:
        raise GeometryError(f"{what} has no faces; give triangles, or take ConvexHull(points)")
    if given.dtype.kind not in "iuf":
        raise GeometryError(f"the faces of {what} must be rows of three whole numbers, got {given.dtype}")
    if given.ndim != 2 or given.shape[1] != 3:
        raise GeometryError(
            f"the faces of {what} must be an array of shape (m, 3), got {given.shape}; split larger faces "
            "into triangles"
        )
    with np.errstate(invalid="ignore"):  # casting nan is answered below
        faces = given.astype(np.int64)
    if (faces != given).any() or faces.min() < 0 or faces.max() >= count:
        raise GeometryError(
            f"the faces of {what} must be whole numbers from 0 to {count - 1}, the indices of its vertices, "
            f"got {given.min()} to {given.max()}; files that count from 1 need 1 subtracted"
        )
    return _frozen(faces)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array in memory that cannot be made writeable."""
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def _digest(*arrays: NDArray[Any]) -> bytes:
    """What stands for the contents of arrays in comparisons and hashes."""
    digest = blake2b(digest_size=16)
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(array.tobytes())
    return digest.digest()
