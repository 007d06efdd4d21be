"""MJCF: what MuJoCo compiles of a file, translated into records.

MuJoCo's own parser and compiler settle what the file says: defaults, includes, units, meshes, inertias. Each module
mjcf_read_… translates one part of the compiled model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qdot.algebra import Vec3
from qdot.description import Description, Fluid, Report
from qdot.errors import ModelError, QdotError
from qdot.formats.mjcf_read_actuators import read_actuators, reflected
from qdot.formats.mjcf_read_bodies import read_bodies
from qdot.formats.mjcf_read_constraints import read_constraints, read_exclusions, read_pairs
from qdot.formats.mjcf_read_files import Texts
from qdot.formats.mjcf_read_names import Names, read_names
from qdot.formats.mjcf_read_poses import anchors_of, places_of
from qdot.formats.mjcf_read_report import findings
from qdot.formats.mjcf_read_scene import read_fluid, read_keyframes, read_options, read_sensors
from qdot.formats.mjcf_read_shapes import read_frames, read_shapes
from qdot.formats.mjcf_read_tendons import read_tendons, wrapped_geoms
from qdot.formats.mjcf_read_text import Compiled, compile_text, library, line_of
from qdot.formats.reading import Reading
from qdot.formats.resolve import Resolver
from qdot.formats.source import Source
from qdot.formats.xml import Document, ElementError

SETTLED = frozenset(("gravity", "spring", "damper"))
"""Flags of MuJoCo that switch off what a record can say by a zero; the others are kept in the options."""


def read_mjcf(document: Document, resolver: Resolver | None = None) -> Reading:
    """The description of an MJCF model, and the line of each body that MuJoCo knows it of.

    `resolver` finds meshes, textures and height fields that have an address ("package://…"); plain paths are MuJoCo's
    to find: from the folder of the file, or for a text without one, from the current directory.
    """
    source, texts = document.source, Texts(document)
    resolver = Resolver(source.folder) if resolver is None else resolver
    try:
        texts.look_through()
        compiled = compile_text(replace(source, text=document.text), texts.addresses, resolver)  # as UTF-8
    except ElementError as error:
        raise error.placed(*texts.documents) from None
    names = read_names(compiled.model, wrapped_geoms(compiled.model))
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite, `assemble` refuses
            description = _translated(source, compiled, names, texts.have("visual"))
    except QdotError as error:
        raise ModelError(f"{source.file}: {error}") from error
    return Reading(description, lambda body: _lines(compiled.spec, names).get(body))  # rarely asked


def _translated(source: Source, compiled: Compiled, names: Names, viewed: bool) -> Description:
    m, mujoco = compiled.model, library()
    options = read_options(m, mujoco)
    off = options.disabled & SETTLED
    joint_drives, tendon_drives = reflected(m)
    anchors = anchors_of(m)
    places = places_of(m, anchors)
    shapes = read_shapes(m, names, places.geoms)
    return Description(
        names.model,
        Vec3.zero() if "gravity" in off else Vec3(*m.opt.gravity.tolist()),
        read_bodies(m, names, anchors, places.bodies, shapes, joint_drives, off),
        read_frames(m, names, places),
        world_shapes=tuple(shapes[0]),
        constraints=read_constraints(m, names),
        tendons=read_tendons(m, names, tendon_drives, off),
        actuators=read_actuators(m, names),
        pairs=read_pairs(m, names),
        exclusions=read_exclusions(m, names),
        sensors=read_sensors(m, names, mujoco),
        keyframes=read_keyframes(m, names),
        fluid=Fluid() if {"spring", "damper"} <= off else read_fluid(m),
        options=replace(options, disabled=options.disabled - SETTLED),
        report=Report(tuple(findings(source, compiled, names, options.disabled, viewed))),
    )


def _lines(spec: Any, names: Names) -> dict[str, int]:
    """The line of each body; MuJoCo does not know that of bodies in included files."""
    found = ((names.of["body"][body.id], line_of(body.info)) for body in spec.bodies)
    return {name: line for name, line in found if line is not None}
