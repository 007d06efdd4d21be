"""From the text of an MJCF file to MuJoCo's compiled model: its own parser and compiler decide what a file means."""

from __future__ import annotations

import importlib
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from qdot.errors import ModelError
from qdot.formats.source import Source


class Compiled(NamedTuple):
    """MuJoCo's model and the specification it was compiled from (both MuJoCo's types), and the warnings it gave."""

    model: Any
    spec: Any
    warnings: tuple[str, ...]


def library() -> Any:
    """The package mujoco, which only readers of MJCF need."""
    try:
        return importlib.import_module("mujoco")
    except ImportError as error:
        raise ModelError(
            f"MJCF files are read by the package mujoco, which cannot be imported ({error}); install it with: "
            "pip install 'qdot[mjcf]'"
        ) from None


def compile_text(source: Source) -> Compiled:
    """What MuJoCo makes of a text, or a `ModelError` with MuJoCo's reason and the line it gives."""
    mujoco = library()
    told: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(told.append)  # its engine's would land in a file MUJOCO_LOG.TXT
    try:
        with warnings.catch_warnings(record=True) as caught:  # its compiler's would land on stderr
            warnings.simplefilter("always")
            spec = _spec(mujoco, source)
            # The lengths a muscle can have are found by simulating it; a model that blows up would do so for ever.
            spec.compiler.LRopt.mode = 0
            model = spec.compile()
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


def _refusal(source: Source, error: Exception) -> ModelError:
    text = " ".join(str(error).split()) or type(error).__name__
    return ModelError(f"{source.at(line_of(str(error)))}: MuJoCo cannot compile this model: {text}; correct it there")
