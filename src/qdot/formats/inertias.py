"""Inertias of a file that no body can have, or that do not fit the shapes of their body: found, explained, repaired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt

import numpy as np

from qdot.algebra import as_array, is_number
from qdot.description import BodyRecord, Description, Item, Report, Severity
from qdot.errors import GeometryError, ModelError
from qdot.formats.reading import Reading
from qdot.geometry import MeshFile, Placed, Shape
from qdot.spatial import nearest_physical, physical_problem

INERTIA_CHOICES = ("keep", "repair", "refuse")
LIGHTEST, DENSEST = 1.0, 25_000.0
"""Mean densities [kg/m³] beyond which a body is not made of anything: balloons are lighter, osmium is 22 600."""


def settled_inertias(reading: Reading, file: str, choice: str) -> tuple[Description, Report]:
    """The description with inertias that no body can have kept, repaired or refused, and what there is to say."""
    description, line_of = reading
    items: list[Item] = []
    bodies: list[BodyRecord] = []
    kept = False
    for body in description.bodies:
        problem = physical_problem(body.inertia)
        if problem is None:
            bodies.append(body)
            continue
        line, subject = line_of(body.name), f"body {body.name!r}"
        repairable = body.inertia.mass > 0
        hopeless = not (np.isfinite(as_array(body.inertia)).all() and body.inertia.mass >= 0)
        if choice == "refuse" or hopeless:
            place = file if line is None else f"{file}:{line}"
            remedy = f"{'it cannot be simulated or repaired: ' if hopeless else ''}correct the file"
            raise ModelError(f"{place}: {subject}: no body can have its inertia: {problem}; {remedy}")
        if choice == "repair" and repairable:
            body = replace(body, inertia=nearest_physical(body.inertia))
            moments = ", ".join(f"{x:.6g}" for x in body.inertia.at_com.six())
            done = f"replaced by the nearest that one can have: ({moments}) kg·m² about its centre of mass"
        else:
            kept = True
            offer = "; inertia='repair' takes the nearest that one can have"
            if not repairable:
                offer = ", and it cannot be repaired, for nothing without mass has a nearest one: correct the file"
            done = f"kept as it is: the mass matrix may not be positive definite{offer}"
        items.append(Item(Severity.NOTE, subject, f"no body can have its inertia: {problem}", done, file, line))
        bodies.append(body)
    unphysical = description.allow_unphysical if choice == "keep" else kept
    return replace(description, bodies=tuple(bodies), allow_unphysical=unphysical or kept), Report(tuple(items))


def doubtful_inertias(reading: Reading, file: str) -> Report:
    """Bodies whose mass does not fit their shapes: a mean density of nothing known, a centre of mass outside of them,
    or mass farther from it than they reach. Meshes are read for this."""
    description, line_of = reading
    return Report(
        tuple(
            replace(item, file=file, line=line_of(body.name)) for body in description.bodies for item in _doubts(body)
        )
    )


def _doubts(body: BodyRecord) -> Iterator[Item]:
    I = body.inertia
    shapes = [s.shape for s in body.shapes if s.collision] or [s.shape for s in body.shapes]
    if not shapes or not is_number(I.mass) or I.mass <= 0:
        return
    subject = f"body {body.name!r}"
    try:
        points = np.concatenate([shape.surface(12)[0] for shape in shapes])
        volume = sum(_volume(shape) for shape in shapes)
    except GeometryError as error:
        yield Item(Severity.NOTE, subject, f"its shapes cannot be measured: {error}", "its mass was not compared")
        return
    density = I.mass / volume if volume > 0 else np.inf
    if not LIGHTEST <= density <= DENSEST:
        yield Item(
            Severity.NOTE,
            subject,
            f"{I.mass:g} kg in shapes of {volume:.3g} m³ are {density:.3g} kg/m³: {_unit_guess(density)}",
            "kept as it is; check the units of mass and mesh (millimetres?)",
        )
    low, high, com = points.min(axis=0), points.max(axis=0), as_array(I.com)
    reach = float(np.linalg.norm(high - low))
    if ((com < low - 0.1 * reach) | (com > high + 0.1 * reach)).any():
        yield Item(
            Severity.NOTE,
            subject,
            f"its centre of mass ({', '.join(f'{x:.3g}' for x in com)}) m lies outside of its shapes",
            "kept as it is; check the inertial frame",
        )
    gyration = sqrt(max(float(np.linalg.eigvalsh(as_array(I.at_com))[-1]) / I.mass, 0.0))
    if gyration > reach:
        yield Item(
            Severity.NOTE,
            subject,
            f"its radius of gyration is {gyration:.3g} m, but its shapes reach over {reach:.3g} m only",
            "kept as it is; check the units of the inertia",
        )


def _volume(shape: Shape) -> float:
    """Of an open mesh, that of its convex hull: no body within it can be larger."""
    solid = shape.shape if isinstance(shape, Placed) else shape
    try:
        return float(solid.volume())
    except GeometryError:
        from qdot.geometry import ConvexHull

        if isinstance(solid, MeshFile):
            solid = solid.mesh()
        return float(ConvexHull(solid.surface()[0]).volume())


def _unit_guess(density: float) -> str:
    return "lighter than any solid" if density < LIGHTEST else "denser than any metal"
