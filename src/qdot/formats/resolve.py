"""Where the files are that a model refers to: package://, model:// and file:// addresses, and plain paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import unquote

from qdot.errors import ModelError

Find = Callable[[str], "str | os.PathLike[str] | None"]
Packages = Mapping[str, "str | os.PathLike[str]"]


def require_packages(packages: Packages | None) -> dict[str, str]:
    """Folders of packages by name."""
    if packages is None:
        return {}
    if isinstance(packages, Mapping):
        folders = {name: _path(folder) for name, folder in packages.items()}
        if all(isinstance(name, str) and folder is not None for name, folder in folders.items()):
            return folders  # type: ignore[return-value]
    raise ModelError(f"load: packages gives folders by name, as packages={{'robot': folder}}, got {packages!r}")


def _path(value: object) -> str | None:
    """A path as a string; None for what is no path."""
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    return path if isinstance(path, str) else None


class Resolver:
    """Finds files for a model that lies in `folder` (None: a string, which lies nowhere).

    A package is looked for in `packages`, a mapping from its name to its folder; among the folders that hold the model,
    and next to them; and where ROS keeps its own, by ROS_PACKAGE_PATH and AMENT_PREFIX_PATH. A function `find` is asked
    before all that, with the address as the file has it; where it answers None, or a path at which there is no file,
    the search goes on. Nothing is ever fetched from a network.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        packages: Packages | None = None,
        find: Find | None = None,
    ) -> None:
        if find is not None and not callable(find):
            raise ModelError(f"load: resolve is a function from an address to a path or None, got {find!r}")
        self._folder = None if folder is None else _folder_itself(os.path.join(os.getcwd(), folder))
        self._packages = require_packages(packages)
        self._find = find
        self._places: dict[str, tuple[list[str], Iterator[str]]] = {}
        self._found: dict[str, str | None] = {}
        self._files: dict[str, set[str]] = {}

    def path(self, address: str) -> str | None:
        """The file at an address; None where there is none."""
        if address not in self._found:
            self._found[address] = self._asked(address) or self._looked_for(address)
        return self._found[address]

    def _asked(self, address: str) -> str | None:
        if self._find is None:
            return None
        try:
            answer = self._find(address)
        except Exception as error:
            raise ModelError(
                f"load: resolve({address!r}) raised {type(error).__name__}: {error}; it returns a path, or None for "
                "what it does not know"
            ) from error
        path = _path(answer)
        if answer is not None and path is None:
            raise ModelError(f"load: resolve({address!r}) returned {answer!r}; it returns a path, or None")
        return os.path.abspath(path) if path is not None and os.path.isfile(path) else None

    def _looked_for(self, address: str) -> str | None:
        scheme, separator, rest = address.partition("://")
        if not separator:
            return self._plain(address)
        if scheme == "file":
            return self._plain(unquote(rest))
        if scheme in ("package", "model"):
            package, _, inner = rest.lstrip("/").partition("/")  # some write package:///
            return self._packaged(package, inner)
        return None

    def _plain(self, path: str) -> str | None:
        if self._folder is not None and not os.path.isabs(path):
            folder, name = os.path.split(os.path.join(self._folder, path))
            path = os.path.join(_folder_itself(folder), name)
        return path if os.path.isabs(path) and os.path.isfile(path) else None

    def _packaged(self, package: str, inner: str) -> str | None:
        for place in self._places_of(package):
            path = place + inner
            if self._is_file(path):
                return path
        return None

    def _is_file(self, path: str) -> bool:
        """Whether there is a file; a folder is looked into once, for a robot has dozens of meshes in each."""
        folder, _, name = path.rpartition("/")
        if folder not in self._files:
            try:
                with os.scandir(folder) as entries:
                    self._files[folder] = {entry.name for entry in entries if entry.is_file()}
            except OSError:
                self._files[folder] = set()
        return name in self._files[folder] or os.path.isfile(path)  # whatever the system takes for the same name

    def _places_of(self, package: str) -> Iterator[str]:
        """The folders of a package that exist, "/" at the end, looked for as far as somebody asks."""
        if package not in self._places:
            self._places[package] = [], self._folders(package)
        known, more = self._places[package]
        yield from known
        for place in (os.path.join(folder, "") for folder in more):
            if place not in known and os.path.isdir(place):
                known.append(place)
                yield place

    def _folders(self, package: str) -> Iterator[str]:
        """Where a package may be, the likeliest first."""
        if package in self._packages:
            yield self._packages[package]
        if not package or package in (os.curdir, os.pardir):
            return
        folder, above = self._folder, ""
        while folder is not None and folder != above:
            if os.path.basename(folder) == package:
                yield folder
            yield os.path.join(folder, package)
            folder, above = os.path.dirname(folder), folder
        for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
            if entry:
                yield os.path.join(entry, package)
                if os.path.basename(entry.rstrip(os.sep)) == package:
                    yield entry
        for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
            if entry:
                yield os.path.join(entry, "share", package)


def _folder_itself(folder: str) -> str:
    """A folder by a path without "..": behind a link, that leads out of the folder the link leads to."""
    return os.path.realpath(folder) if os.pardir in folder.split(os.sep) else os.path.normpath(folder)
