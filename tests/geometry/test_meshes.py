"""Meshes and hulls: exact inertias, what is wrong with a bad one, files, surfaces of the primitives."""

import copy
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
import trimesh
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from solids import PRIMITIVES, assert_same, box_mesh, ell, kind, parameters

from qdot.errors import GeometryError
from qdot.geometry import Box, ConvexHull, Mesh, Sphere, mass_properties, polyhedron
from qdot.spatial import Transform

TETRAHEDRON = ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


# ── exact moments ────────────────────────────────────────────────────────────────────────────────


@given(sides=st.tuples(*[st.floats(0.01, 100)] * 3), shift=st.tuples(*[st.floats(-10, 10)] * 3))
def test_the_mesh_of_a_box_is_the_box(sides, shift):
    box = Box(*sides, density=3.0)
    assert_same(box_mesh(*sides, density=3.0).inertia(), box.inertia(), rtol=1e-13)  # both exact: rounding
    vertices, faces = box.at(*shift).surface()
    # Two roundings of coordinates of size 10 on sides of 0.01: 1e-12 of a side.
    assert_same(Mesh(vertices, faces, density=3.0).inertia(), box.at(*shift).inertia(), rtol=1e-10)


def test_tetrahedron_has_its_known_moments():
    found = polyhedron.moments(*(np.array(part) for part in TETRAHEDRON))
    # ∫x = 1/24, ∫x² = 1/60, ∫xy = 1/120 over the unit simplex; a few roundings.
    assert found.volume == pytest.approx(1 / 6, rel=1e-15)
    np.testing.assert_allclose(found.first, [1 / 24] * 3, rtol=1e-14)
    np.testing.assert_allclose(found.second, np.full((3, 3), 1 / 120) + np.eye(3) / 120, rtol=1e-14)


def test_an_l_is_the_sum_of_two_boxes():
    parts = Box(2, 1, 1, density=3.0).at(1, 0.5, 0.5), Box(1, 1, 1, density=3.0).at(0.5, 1.5, 0.5)
    expected = parts[0].inertia() + parts[1].inertia()
    assert ell().volume() == pytest.approx(3, rel=1e-14)
    assert_same(ell(density=3.0).inertia(), expected, rtol=1e-14)  # both exact: rounding
    assert_same(ell(mass=9.0).inertia(), expected, rtol=1e-14)
    assert_same(mass_properties(ell(), 3.0), expected, rtol=1e-13)  # by signed quadrature


def test_two_bodies_in_one_mesh():
    (v, f), (w, g) = Box(1, 1, 1).at(-1, 0, 0).surface(), Sphere(0.4).at(2, 0, 0).surface(16)
    both = Mesh(np.concatenate([v, w]), np.concatenate([f, g + len(v)]), density=1.0)
    alone = Mesh(v, f, density=1.0).inertia() + Mesh(w, g, density=1.0).inertia()
    assert_same(both.inertia(), alone, rtol=1e-14)  # rounding


def test_a_cavity_is_a_surface_turned_inside_out():
    (v, f), (w, g) = Box(2, 2, 2).surface(), Box(1, 1, 1).surface()
    hollow = Mesh(np.concatenate([v, w]), np.concatenate([f, g[:, ::-1] + len(v)]), density=1.0)
    expected = Box(2, 2, 2, density=1.0).inertia() + Box(1, 1, 1, density=1.0).inertia() * -1
    assert_same(hollow.inertia(), expected, rtol=1e-14)  # rounding


def test_exact_moments_agree_with_trimesh():
    mesh = replace(ell(), density=2.0)
    other = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    I = mesh.inertia()
    # An independent implementation of the same integrals.
    assert I.mass == pytest.approx(2 * other.volume, rel=1e-13)
    np.testing.assert_allclose([*I.com], other.center_mass, rtol=1e-13)
    np.testing.assert_allclose(np.array(I.at_com.entries()), 2 * other.moment_inertia, atol=1e-12)


def test_a_symbol_may_be_the_mass_of_a_mesh():
    m = sp.Symbol("m")
    I = box_mesh(1, 2, 3, mass=m).inertia()
    assert I.mass.subs(m, 6.0) == pytest.approx(6, rel=1e-15)
    assert float(I.rotational.xx.subs(m, 6.0)) == pytest.approx(6 * (4 + 9) / 12, rel=1e-14)


@given(points=arrays(float, (12, 3), elements=st.floats(-1, 1, width=32)))
def test_hulls_agree_with_qhull_and_with_quadrature(points):
    try:
        hull = ConvexHull(points, density=2.0)
    except GeometryError:  # flat by chance
        return
    from scipy.spatial import ConvexHull as Qhull

    # Nearly flat points leave Qhull's facets up to 1e-13 of the extent off their vertices.
    assert hull.volume() == pytest.approx(Qhull(points).volume, rel=1e-8, abs=1e-13)
    box = 2.0 * float(np.prod(np.maximum(np.ptp(hull.vertices, axis=0), 1e-300)))
    thin = 1e-15 * box / float(hull.inertia().mass)  # of sums of pyramids that nearly cancel
    assert_same(hull.inertia(), mass_properties(hull, 2.0), rtol=1e-12 + thin)  # rounding


def test_the_hull_of_a_box_is_the_box():
    inner = np.random.default_rng(1).uniform(-0.5, 0.5, (50, 3))
    corners, _ = Box(1, 1, 1).surface()
    hull = ConvexHull(np.concatenate([corners, inner]), density=3.0)
    assert len(hull.vertices) == 8
    assert polyhedron.loose_edges(hull.vertices, hull.faces) == (0, 0)
    assert_same(hull.inertia(), Box(1, 1, 1, density=3.0).inertia(), rtol=1e-14)  # rounding


# ── surfaces ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
@pytest.mark.parametrize("resolution", [3, 5, 24])
def test_surfaces_are_closed_and_turn_outward(shape, resolution):
    vertices, faces = shape.surface(resolution)
    assert vertices.shape[1:] == faces.shape[1:] == (3,)
    assert polyhedron.loose_edges(vertices, faces) == (0, 0)
    assert set(faces.ravel()) == set(range(len(vertices)))
    assert 0 < Mesh(vertices, faces).volume() < shape.volume() * (1 + 1e-14)  # inscribed


@pytest.mark.parametrize("shape", PRIMITIVES, ids=kind)
def test_surfaces_converge_to_the_closed_form(shape):
    exact = replace(shape, density=2.0).inertia()
    errors = []
    for resolution in (32, 64, 128):
        mesh = Mesh(*shape.surface(resolution), density=2.0)
        errors.append(np.abs(parameters(mesh.inertia()) - parameters(exact)).max())
    if isinstance(shape, Box):
        assert max(errors) < 1e-14  # flat faces: exact
    else:
        # Chords leave out area as h²: each doubling of the resolution divides the error by 4.
        np.testing.assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 2, atol=0.02)


def test_placed_surfaces_move():
    X = Transform.rpy(0.3, -0.7, 1.1, (0.5, -0.2, 0.9))
    box = Box(1, 2, 3, mass=5.0)
    assert_same(Mesh(*box.at(X).surface(), mass=5.0).inertia(), box.at(X).inertia(), rtol=1e-13)  # rounding


@pytest.mark.parametrize("resolution", [2, 0, -3, 4.5, "8", None])
@pytest.mark.parametrize("shape", [s for s in PRIMITIVES if not isinstance(s, Box)], ids=kind)
def test_a_bad_resolution_is_an_error(shape, resolution):
    with pytest.raises(GeometryError, match="resolution"):
        shape.surface(resolution)


# ── values behave as values ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("solid", [ell(mass=2.0, name="ell"), ConvexHull(TETRAHEDRON[0], density=3.0)], ids=kind)
def test_equal_by_content_hashable_and_picklable(solid):
    for same in (pickle.loads(pickle.dumps(solid)), copy.copy(solid), copy.deepcopy(solid), replace(solid)):
        assert same == solid
        assert hash(same) == hash(solid)
        assert repr(same) == repr(solid)
        assert same.inertia() == solid.inertia()
        with pytest.raises(ValueError, match="read-only"):
            same.vertices[0, 0] = 7.0
    assert replace(solid, mass=3.0, density=None) != solid
    assert len({solid, pickle.loads(pickle.dumps(solid)), solid.at(1, 2, 3), solid.at(1, 2, 3)}) == 2


def test_meshes_of_other_numbers_differ():
    vertices, faces = Box(1, 1, 1).surface()
    moved = vertices.copy()
    moved[0, 0] -= 1e-9
    assert Mesh(vertices, faces) == Mesh(vertices.tolist(), faces.astype(np.int32))
    assert Mesh(vertices, faces) != Mesh(moved, faces)
    assert Mesh(vertices, faces) != Mesh(vertices, faces[::-1])
    assert Mesh(vertices * -0.0, faces) == Mesh(vertices * 0.0, faces)


@pytest.mark.parametrize("name", ["vertices", "faces"])
def test_arrays_cannot_be_changed_from_outside(name):
    vertices, faces = Box(1, 1, 1).surface()
    mesh = Mesh(vertices, faces, mass=1.0)
    before = mesh.inertia()
    vertices *= 2
    faces[:] = 0
    assert mesh.inertia() == before
    with pytest.raises(ValueError, match="read-only"):
        getattr(mesh, name)[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        getattr(mesh, name).setflags(write=True)


def test_meshes_are_told_apart_by_name_in_messages():
    assert repr(ell(name="ell.stl")) == "Mesh(vertices=array(12, 3), faces=array(20, 3), name='ell.stl')"


# ── bad meshes ───────────────────────────────────────────────────────────────────────────────────

finite = st.floats(-1e3, 1e3)


@given(row=st.integers(0, 7), column=st.integers(0, 2), bad=st.sampled_from([np.nan, np.inf, -np.inf]))
def test_vertices_must_be_finite(row, column, bad):
    vertices, faces = Box(1, 1, 1).surface()
    vertices[row, column] = bad
    with pytest.raises(GeometryError, match=f"'part'.*finite, but row {row}"):
        Mesh(vertices, faces, name="part")
    with pytest.raises(GeometryError, match="finite"):
        ConvexHull(vertices)


@given(shape=st.sampled_from([(0, 3), (4,), (4, 2), (4, 4), (2, 2, 3), ()]), data=st.data())
def test_vertices_must_be_rows_of_three(shape, data):
    vertices = data.draw(arrays(float, shape, elements=finite))
    with pytest.raises(GeometryError, match="shape"):
        Mesh(vertices, [[0, 1, 2]])
    with pytest.raises(GeometryError, match="shape"):
        ConvexHull(vertices)


@pytest.mark.parametrize("vertices", ["abc", None, [[1, 2, 3], [4, 5]], [["a", "b", "c"]], [[1j, 0, 0]]])
def test_vertices_must_be_numbers(vertices):
    with pytest.raises(GeometryError, match="vertices"):
        Mesh(vertices, [[0, 1, 2]])


@given(bad=st.one_of(st.integers(8, 1000), st.integers(-1000, -1), st.just(0.5), st.just(np.nan)))
def test_faces_must_index_vertices(bad):
    vertices, faces = Box(1, 1, 1).surface()
    broken = faces.astype(float)
    broken[3, 1] = bad
    with pytest.raises(GeometryError, match=r"faces.*from 0 to 7"):
        Mesh(vertices, broken)


@pytest.mark.parametrize(
    ("faces", "cause"),
    [
        ([], "no faces"),
        (np.zeros((0, 3), int), "no faces"),
        ([[0, 1, 2, 3]], "triangles"),
        ([0, 1, 2], "shape"),
        ([[0, 1, 2], [0, 1]], "whole numbers"),
        ("abc", "whole numbers"),
        (None, "whole numbers"),
    ],
)
def test_faces_must_be_rows_of_three_indices(faces, cause):
    with pytest.raises(GeometryError, match=cause):
        Mesh(Box(1, 1, 1).surface()[0], faces)


def test_an_open_mesh_can_be_drawn_but_has_no_inertia():
    vertices, faces = Box(1, 1, 1).surface()
    open_mesh = Mesh(vertices, faces[1:], name="open.stl")
    assert len(open_mesh.surface()[1]) == 11
    assert open_mesh.inertia().mass == 0
    for ask in (
        open_mesh.volume,
        replace(open_mesh, mass=1.0).inertia,
        replace(open_mesh, density=1.0).at(1, 0, 0).inertia,
        replace(open_mesh, density=lambda x, y, z: 1 + x * x).inertia,
        lambda: open_mesh.quadrature(2),
    ):
        with pytest.raises(GeometryError, match=r"open\.stl.*is open: 3 edges.*ConvexHull\(mesh\.vertices\)"):
            ask()
    assert ConvexHull(open_mesh.vertices).volume() == pytest.approx(1, rel=1e-14)


@given(k=st.integers(0, 11))
def test_one_face_turned_over_is_found(k):
    vertices, faces = Box(1, 1, 1).surface()
    faces[k] = faces[k, ::-1]
    with pytest.raises(GeometryError, match="turn apart: at 3 edges"):
        Mesh(vertices, faces, mass=1.0).inertia()


def test_an_inside_out_mesh_can_be_flipped():
    inside_out = ell(mass=1.0, name="ell").flipped()
    varying = replace(inside_out, mass=None, density=lambda x, y, z: 1 + x * x)
    for ask in (inside_out.inertia, inside_out.volume, varying.inertia, lambda: inside_out.quadrature(2)):
        with pytest.raises(GeometryError, match=r"inside out.*flipped\(\)"):
            ask()
    assert inside_out.flipped() == ell(mass=1.0)
    assert inside_out.flipped().name == "ell"


@given(normal=arrays(float, 3, elements=st.floats(0.1, 1)), offset=finite)
def test_a_flat_mesh_has_no_volume(normal, offset):
    u = np.cross(normal, [1, 0, 0])
    v = np.cross(normal, u)
    square = np.array([u, v, -u, -v]) + offset
    with pytest.raises(GeometryError, match="no volume"):
        Mesh(square, [[0, 1, 2], [0, 2, 3], [2, 1, 0], [3, 2, 0]], mass=1.0).inertia()


def test_thin_plates_and_needles_have_volume():
    for sides in ((1, 1, 1e-7), (1, 1e-5, 1e-5), (1e-6, 1e-6, 1e-6), (1e4, 1e4, 1e4)):
        assert box_mesh(*sides).volume() == pytest.approx(np.prod(sides), rel=1e-8)  # 1e-16 on 1e-7 of the extent


@pytest.mark.parametrize("points", [[[0, 0, 0]], TETRAHEDRON[0][:3], [[x, y, 0] for x in range(3) for y in range(3)]])
def test_flat_points_have_no_hull(points):
    with pytest.raises(GeometryError, match="plane"):
        ConvexHull(points)


def test_points_flat_but_for_rounding_have_no_hull():
    # 1e-14 across 1 m: a hundred roundings, of which Qhull still makes facets.
    points = np.random.default_rng(2).uniform(-0.5, 0.5, (12, 3)) * (1, 1, 1e-14)
    with pytest.raises(GeometryError, match="plane"):
        ConvexHull(points)


def test_repeated_vertices_still_close():
    corners, faces = Box(1, 2, 3).surface()
    soup = Mesh(corners[faces].reshape(-1, 3), np.arange(36).reshape(-1, 3), density=1.0)
    assert_same(soup.inertia(), Box(1, 2, 3, density=1.0).inertia(), rtol=1e-14)  # rounding


# ── files ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def write(tmp_path):
    def written(name, mesh):
        path = tmp_path / name
        trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).export(path)
        return path

    return written


@pytest.mark.parametrize("format", ["stl", "obj", "ply", "off", "glb"])
def test_files_round_trip(write, format):
    path = write(f"ell.{format}", ell())
    for given_path in (path, str(path)):
        mesh = Mesh.load(given_path, density=3.0)
        assert mesh.name == str(path)
        assert len(mesh.vertices) == 12  # STL repeats them: merged
        assert_same(mesh.inertia(), ell(density=3.0).inertia(), rtol=1e-12)  # small whole numbers: exact in any format


def test_files_scale(write):
    path = write("ell.stl", ell())
    millimetres = Mesh.load(path, scale=0.001, density=3000.0)
    assert millimetres.volume() == pytest.approx(3e-9, rel=1e-12)  # rounding of 0.001
    stretched = Mesh.load(path, scale=(1, 2, 3))
    assert stretched.volume() == pytest.approx(18, rel=1e-14)
    mirrored = Mesh.load(path, scale=(1, -1, 1), mass=1.0)
    assert mirrored.volume() == pytest.approx(3, rel=1e-14)
    assert mirrored.inertia().com.y == pytest.approx(-ell(mass=1.0).inertia().com.y, rel=1e-14)


def test_several_objects_of_one_file_are_one_mesh(tmp_path):
    path = tmp_path / "two.obj"
    scene = trimesh.Scene([trimesh.Trimesh(*Box(1, 1, 1).at(x, 0, 0).surface(), process=False) for x in (-2, 2)])
    scene.export(path)
    assert Mesh.load(path).volume() == pytest.approx(2, rel=1e-7)  # the file has 8 digits


@pytest.mark.parametrize("scale", [0, np.nan, np.inf, (1, 2), (1, 0, 1), "mm", None])
def test_a_bad_scale_is_an_error(write, scale):
    with pytest.raises(GeometryError, match=r"ell\.stl.*scale"):
        Mesh.load(write("ell.stl", ell()), scale=scale)


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("none.stl", None, "does not exist"),
        ("empty.stl", b"", "cannot be read|no triangles"),
        ("empty.obj", b"", "cannot be read|no triangles"),
        ("noise.stl", b"\xff\x00" * 200, "cannot be read|no triangles"),
        ("noise.ply", b"\xff\x00" * 200, "cannot be read"),
        ("points.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n", "cannot be read|no triangles"),
        ("mesh.unknown", b"abc", "cannot be read"),
        ("mesh", b"abc", "cannot be read"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, cause):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(GeometryError, match=f"{name}.*({cause})"):
        Mesh.load(path)
    with pytest.raises(GeometryError, match="does not exist"):
        Mesh.load(tmp_path)


def test_geometry_loads_no_heavy_package():
    program = "import qdot.geometry, sys; print({'scipy', 'trimesh', 'sympy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "set()"
