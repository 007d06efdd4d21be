"""Compiled objects on disk, so that the second start is quick.

An entry is a file named by its key, with a checksum in front; it is written aside and moved into place, so that a
process that dies while writing, or two that write at once, leave no half entry. What cannot be read or does not
match its checksum is built again. `QDOT_CACHE` moves the cache to another folder, or turns it off (off, 0, no,
none).
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

LIMIT = 256 * 2**20
"""Bytes; beyond it the entries not used for longest go."""

STALE = 3600.0
"""Seconds after which a file that was being written is taken for left behind."""

_MAGIC = b"qdot object 2\n"
_SUFFIX = ".qdot-object"
_WRITING = ".qdot-writing-"
OFF = ("off", "0", "no", "none", "false")
"""What turns a setting of the environment off."""


def folder() -> Path | None:
    """Where entries are kept; None when the cache is off."""
    chosen = os.environ.get("QDOT_CACHE", "")
    if chosen.lower() in OFF:
        return None
    if chosen:
        with suppress(RuntimeError):  # a ~user that there is not: a name like any other
            return Path(chosen).expanduser()
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("qdot", appauthor=False)


def cached(key: str, build: Callable[[], bytes]) -> bytes:
    """The entry of this key, built and kept if there is none."""
    place = folder()
    if place is None:
        return build()
    path = place / f"{key}{_SUFFIX}"
    found = _read(path)
    if found is not None:
        return found
    made = build()
    try:
        _write(path, made)
        _evict(place)
    except OSError as error:
        warnings.warn(
            f"compiled code could not be kept in {place} ({error}); each start compiles again. Set QDOT_CACHE to a "
            "folder that can be written to, or to 'off'",
            stacklevel=2,
        )
    return made


def _read(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + 16
    if not content.startswith(_MAGIC) or _checksum(path, content[head:]) != content[len(_MAGIC) : head]:
        return None
    with suppress(OSError):  # an entry of somebody else's serves as well
        os.utime(path)  # used just now
    return content[head:]


def _write(path: Path, made: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=_WRITING)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + _checksum(path, made) + made)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def _evict(place: Path) -> None:
    entries = []
    for path in place.iterdir():
        ours = path.name.endswith(_SUFFIX)
        if not ours and not path.name.startswith(_WRITING):
            continue
        try:
            status = path.stat()
        except OSError:
            continue  # another process was quicker
        if ours or time.time() - status.st_mtime > STALE:
            entries.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LIMIT:
            return
        path.unlink(missing_ok=True)
        total -= size


def _checksum(path: Path, content: bytes) -> bytes:
    """Of the content and of the name it goes by: an entry under another name is not believed."""
    return blake2b(path.name.encode() + content, digest_size=16).digest()
