"""`save`: a model written as URDF or MJCF, with a report of what the format cannot express."""

from __future__ import annotations

import os
from pathlib import Path

from qdot.description import Report
from qdot.errors import ModelError
from qdot.formats.mjcf_writer import to_mjcf
from qdot.formats.urdf_writer import to_urdf
from qdot.model.model import Model, require_model

FORMATS = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf"}


def save(
    model: Model,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    copy_meshes: bool = False,
    overwrite: bool = False,
) -> Report:
    """Write a model to a file; its ending says the format (.urdf, or .xml and .mjcf), unless `format` does.

    Meshes that have no file of their own are written next to it; others are referred to where they are, or copied next
    to it with `copy_meshes`. The report names everything that the format cannot express: with items of severity
    PHYSICS, the file describes another motion than the model's.
    """
    require_model(model, "save")
    file = Path(path)
    chosen = format or FORMATS.get(file.suffix.lower())
    if chosen not in FORMATS.values():
        known = "a path that ends in .urdf, .xml or .mjcf, or format='urdf' or 'mjcf'"
        raise ModelError(f"save: {str(path)!r} does not say which format to write; give {known}")
    write = to_urdf if chosen == "urdf" else to_mjcf
    written = write(model, copy_meshes=copy_meshes)
    targets = {file: written.text.encode(), **{file.parent / name: data for name, data in written.assets.items()}}
    taken = [str(target) for target in targets if target.exists()]
    if taken and not overwrite:
        raise ModelError(f"save: {taken[0]!r} is there already; give another path, or overwrite=True")
    try:
        for target, content in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise ModelError(f"save: {str(path)!r} cannot be written: {error.strerror or error}") from None
    return written.report
