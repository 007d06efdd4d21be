"""`save`: a model written as URDF or MJCF, with a report of what the format cannot express."""

from __future__ import annotations

import os
from pathlib import Path

from qdot.description import Report
from qdot.errors import ModelError
from qdot.formats.faithful import require_faithful
from qdot.formats.mjcf_writer import to_mjcf
from qdot.formats.urdf_writer import to_urdf
from qdot.formats.written import Written
from qdot.model.model import Model, require_model

FORMATS = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf"}


def save(
    model: Model,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    copy_meshes: bool = False,
    overwrite: bool = False,
    strict: bool = True,
) -> Report:
    """Write a model to a file; its ending says the format (.urdf, or .xml and .mjcf), unless `format` does.

    Meshes that have no file of their own are written next to it; others are referred to where they are, or copied next
    to it with `copy_meshes`. The report names everything that the format cannot express. Where the file would describe
    another motion than the model's (items of severity PHYSICS), `strict` raises a `ModelError` and nothing is written.
    """
    written = in_format(model, path, format=format, copy_meshes=copy_meshes)
    if strict:
        cause = f"save: {os.fspath(path)!r} would not describe the motion of {model.name!r}"
        require_faithful(written.report, cause, "strict=False writes it all the same, and returns what differs")
    put(written, path, overwrite=overwrite)
    return written.report


def in_format(
    model: Model, path: str | os.PathLike[str], *, format: str | None = None, copy_meshes: bool = False
) -> Written:
    """What `save` would write to a path."""
    require_model(model, "save")
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise ModelError(f"save: a model is written to a path that ends in .urdf, .xml or .mjcf, got {path!r}")
    chosen = FORMATS.get(Path(path).suffix.lower()) if format is None else format
    if chosen not in FORMATS.values():
        known = "a path that ends in .urdf, .xml or .mjcf, or format='urdf' or 'mjcf'"
        raise ModelError(f"save: {str(path)!r} does not say which format to write; give {known}")
    return (to_urdf if chosen == "urdf" else to_mjcf)(model, copy_meshes=copy_meshes)


def put(written: Written, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the text to a path, and the files it refers to next to it."""
    file = Path(path)
    targets = {file: written.text.encode(), **{file.parent / name: data for name, data in written.assets.items()}}
    taken = [str(target) for target in targets if target.exists()]
    if taken and not overwrite:
        raise ModelError(f"save: {taken[0]!r} is there already; give another path, or overwrite=True")
    try:
        for target, content in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except (OSError, ValueError) as error:  # a ValueError for a null character in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"save: {str(path)!r} cannot be written: {reason}") from None
