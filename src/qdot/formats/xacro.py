"""Xacro: a language of macros for URDF. The package xacrodoc expands it to the URDF it stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from threading import Lock
from typing import Any

from qdot.errors import ModelError
from qdot.formats.resolve import Packages, require_packages

ENDING = ".xacro"

_one_at_a_time = Lock()
"""xacrodoc knows packages, and writes to stderr, for the whole process."""


def expanded(path: Path, shown: str, packages: Packages | None, arguments: Mapping[str, Any] | None) -> bytes:
    """The URDF text that a xacro file stands for, with values for its arguments; errors call it `shown`.

    Packages that it includes from are looked for in `packages`, among the folders that hold the file, and where ROS
    keeps its own.
    """
    if not isinstance(arguments or {}, Mapping) or not all(isinstance(name, str) for name in arguments or {}):
        raise ModelError(f"load: xacro gives values by name, as xacro={{'side': 'left'}}, got {arguments!r}")
    folders = require_packages(packages)
    values = {name: str(value) for name, value in (arguments or {}).items()}
    try:
        from xacrodoc import XacroDoc, packages as finder
        from xacrodoc.xacrodoc import xacro as language
    except ImportError:
        raise ModelError(f"{shown}: xacro files are read by xacrodoc: pip install 'qdot[xacro]'") from None
    with _one_at_a_time:
        finder.reset()  # a package found for another robot need not be this one's
        try:
            finder.update_package_cache(folders)
            language.init_stacks(str(path))  # relative includes start there, not in the current directory
            with redirect_stderr(StringIO()):  # where xacro tells of macros that are defined twice
                document = XacroDoc.from_file(str(path), subargs=values, resolve_packages=False)
                return str(document.to_urdf_string()).encode()
        except Exception as error:  # macros may run any Python expression, and fail with anything
            raise ModelError(f"{shown}: xacro cannot expand it: {_cause(error)}") from None
        finally:
            finder.reset()


def _cause(error: Exception) -> str:
    """What went wrong and what to do, as far as the error tells."""
    told = " ".join(str(error).split())[:300]
    if missing := re.search(r"Package not found: (\S+)", told):
        name = missing.group(1)
        return f"the package {name!r} is not there; tell where it is with packages={{{name!r}: folder}}"
    if isinstance(error, RecursionError):
        return "a macro or an include calls itself without end; remove the circle"
    if "missing attribute 'default'" in told or "Undefined substitution argument" in told:
        return f"an argument has no value ({told}); give it one with xacro={{name: value}}"
    return f"{type(error).__name__}: {told}; correct it there"
