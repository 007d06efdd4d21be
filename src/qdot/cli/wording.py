"""Messages of qdot in the words of the command line: their remedies name arguments of Python functions."""

from __future__ import annotations

import re

OPTIONS = (
    (r"strict=False", "--lenient"),
    (r"overwrite=True", "--force"),
    (r"""base=["'](\w+)["']""", r"--base \1"),
    (r"""inertia=["'](\w+)["']""", r"--inertia \1"),
    (r"""packages=\{["'](.*?)["']: folder\}""", r"--package \1=FOLDER"),
    (r"xacro=\{.*?\}", "--xacro NAME=VALUE"),
    (r", or find them with resolve=function", ""),
    (r", or format='urdf' or 'mjcf'", ""),
    (r"model\.report tells", "the report tells"),
)
"""Each argument, and the option that stands for it."""


def spoken(message: str) -> str:
    """A message with options in place of arguments."""
    for argument, option in OPTIONS:
        message = re.sub(argument, option, message)
    return message
