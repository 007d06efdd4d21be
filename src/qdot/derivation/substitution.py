"""A model with every scalar that enters its motion replaced: numbers by exact ones, symbols by values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import sympy

from qdot.algebra import Mat3, Scalar, Sym3, Vec3, is_number
from qdot.description import Report
from qdot.joints import Limits
from qdot.model.assemble import assemble
from qdot.model.model import Model

ROUNDING = 1e-15
"""Of a component beside the largest: what a turn by a right angle leaves."""


def substituted(model: Model, f: Callable[[Scalar], Scalar], *, shapes: bool = False) -> Model:
    """The model with f(x) for each finite decimal number and each symbolic expression x in it.

    Shapes, which enter no equation, are left out unless asked for. Inertias are taken as they come.
    """
    described = model.description
    if not shapes:
        bodies = tuple(replace(body, shapes=()) for body in described.bodies)
        frames = tuple(replace(frame, region=None) for frame in described.frames)
        described = replace(described, bodies=bodies, frames=frames, world_shapes=())
    described = replace(described, allow_unphysical=True, keyframes=(), sensors=(), report=Report())
    return assemble(_mapped(described, f))


def symbols_in(model: Model) -> set[Any]:
    """The SymPy symbols that a model is made of."""
    found: set[Any] = set()

    def note(x: Scalar) -> Scalar:
        if isinstance(x, sympy.Basic):
            found.update(x.free_symbols)
        return x

    _mapped(replace(model.description, world_shapes=()), note)
    return found


def _mapped(value: Any, f: Callable[[Scalar], Scalar]) -> Any:
    if isinstance(value, sympy.Basic):
        return f(value)
    if isinstance(value, float):
        return f(value) if math.isfinite(value) else value
    if isinstance(value, tuple):
        return tuple(_mapped(x, f) for x in value)
    if not is_dataclass(value) or isinstance(value, (Enum, Limits, Report, type)):
        return value
    if isinstance(value, (Vec3, Mat3, Sym3)):
        value = without_rounding(value)
    old = {field.name: getattr(value, field.name) for field in fields(value)}
    new = {name: _mapped(x, f) for name, x in old.items()}
    if all(x is old[name] for name, x in new.items()):
        return value
    made = object.__new__(type(value))  # not made again: what was checked stays so, and joints would round their axes
    for name, x in new.items():
        object.__setattr__(made, name, x)
    return made


def without_rounding(value: Any) -> Any:
    """A vector or matrix with 0 for components that rounding left beside the largest; rotations are of size 1."""
    old = {field.name: getattr(value, field.name) for field in fields(value)}
    numbers = {name: float(x) for name, x in old.items() if is_number(x)}
    scale = 1.0 if isinstance(value, Mat3) else max(map(abs, numbers.values()), default=0.0)
    zeros = {name: 0.0 for name, x in numbers.items() if 0 < abs(x) <= ROUNDING * scale}
    return replace(value, **zeros) if zeros else value
