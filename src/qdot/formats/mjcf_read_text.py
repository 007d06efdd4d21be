"""From the text of an MJCF file to MuJoCo's compiled model: its own parser and compiler decide what a file means."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from qdot.errors import ModelError
from qdot.formats.resolve import Resolver
from qdot.formats.source import Source
from qdot.formats.xml import ElementError

_OLDEST = 4
"""The first version of MuJoCo whose models have all fields that are read."""

_ALONE = Lock()
"""Warnings of Python, and the function that MuJoCo calls with its own, belong to all threads: one of them at a time."""


class Compiled(NamedTuple):
    """MuJoCo's model and the specification it was compiled from (both MuJoCo's types), and the warnings it gave."""

    model: Any
    spec: Any
    warnings: tuple[str, ...]


def library() -> Any:
    """The package mujoco, which only readers of MJCF need."""
    try:
        mujoco = importlib.import_module("mujoco")
    except ImportError as error:
        raise ModelError(
            f"MJCF files are read by the package mujoco, which cannot be imported ({error}); install it with: "
            "pip install 'qdot[mjcf]'"
        ) from None
    version = str(getattr(mujoco, "__version__", "unknown"))
    if not version[:1].isdigit() or int(version.partition(".")[0]) < _OLDEST:
        raise ModelError(
            f"MJCF files are read by MuJoCo {_OLDEST}.0 or later, and the package mujoco that is installed has version "
            f"{version}; update it with: pip install -U 'qdot[mjcf]'"
        )
    return mujoco


def compile_text(source: Source, addresses: Mapping[str, Element], resolver: Resolver) -> Compiled:
    """What MuJoCo makes of a text, or a `ModelError` with MuJoCo's reason and the line it gives.

    `addresses` are the elements that name files in a way that the resolver understands, and MuJoCo does not.
    """
    mujoco = library()
    told: list[str] = []
    with _ALONE:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(told.append)  # its engine's would land in a file MUJOCO_LOG.TXT
        try:
            with warnings.catch_warnings(record=True) as caught:  # its compiler's would land on stderr
                warnings.simplefilter("always")
                spec = _spec(mujoco, source)
                _give_paths(spec, addresses, resolver)
                # The lengths a muscle can have are found by simulating it; a model that blows up would do so for ever.
                spec.compiler.LRopt.mode = 0
                model = spec.compile()
        except ElementError:
            raise
        except Exception as error:  # MuJoCo raises several kinds, and those of its asset readers
            raise _refusal(source, error) from None
        finally:
            mujoco.set_mju_user_warning(before)
    told += [str(entry.message) for entry in caught]
    return Compiled(model, spec, tuple(dict.fromkeys(told)))


def line_of(text: str) -> int | None:
    """The line that a text of MuJoCo names last; none for 0, which it gives for things in included files."""
    found = re.findall(r"\bline (\d+)", text) or re.findall(r"Line number=(\d+)", text)
    return int(found[-1]) or None if found else None


def _spec(mujoco: Any, source: Source) -> Any:
    if source.folder is None:
        return mujoco.MjSpec.from_string(source.text.decode("utf-8"))
    path = str(source.folder / Path(source.file).name)
    return mujoco.MjSpec.from_file(path, include={path: source.text})  # the text at hand; other files from the folder


def _give_paths(spec: Any, addresses: Mapping[str, Element], resolver: Resolver) -> None:
    """Plain paths in place of addresses; with strippath, MuJoCo takes the name alone and finds the file itself."""
    if not addresses or spec.strippath:
        return
    for asset in (*spec.meshes, *spec.textures, *spec.hfields, *spec.skins):
        element = addresses.get(asset.file)
        if element is not None:
            address = element.attrib["file"]
            path = resolver.path(address)
            if path is None:
                raise ElementError(
                    element,
                    f"<{element.tag}>: there is no file at {address[:200]!r}; give the folder of its package as "
                    "packages={name: folder}, or a plain path",
                )
            asset.file = path


def _refusal(source: Source, error: Exception) -> ModelError:
    text = " ".join(str(error).split()) or type(error).__name__
    return ModelError(f"{source.at(line_of(str(error)))}: MuJoCo cannot compile this model: {text}; correct it there")
