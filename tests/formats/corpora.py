"""Models that other packages bring along: every URDF file of example-robot-data, every MJCF file of dm_control and
gymnasium."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

from benchmarks.robots import in_wheels

PACKAGES = ("dm_control", "gymnasium")


class File(NamedTuple):
    """A file of a package; `name` is its path there."""

    name: str
    path: Path


def package_folder(name: str) -> Path | None:
    """Where a package is installed, without importing it."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


def mjcf_files() -> list[File]:
    """Every XML file of the packages that are installed; includes and schemas are among them."""
    folders = [folder for folder in map(package_folder, PACKAGES) if folder]
    return [
        File(str(path.relative_to(folder.parent)), path) for folder in folders for path in sorted(folder.rglob("*.xml"))
    ]


def urdf_files() -> list[File]:
    """Every URDF file of example-robot-data, if that is installed."""
    folder = in_wheels("share/example-robot-data/robots")
    return [File(str(path.relative_to(folder)), path) for path in sorted(folder.rglob("*.urdf"))] if folder else []
