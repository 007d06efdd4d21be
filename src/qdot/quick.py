"""Frozen records that are quick to make.

A frozen dataclass sets its fields through `object.__setattr__`, which looks each of them up by its name; models of
files hold thousands of records, and vectors are made wherever the mechanics runs. Here a record is filled while it is
open, as an object of a class that has the same slots and lets them be set, and then becomes what it is: Python lets an
object change its class where both keep their slots alike. That takes from half to a quarter of the time.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick(cls: type[T]) -> type[T]:
    """The same frozen dataclass with slots, made faster.

    For records that only hold what they are given: no `__post_init__`, and all fields in `__init__`, in order. Default
    factories are called once: what they make is shared, so it is frozen too.
    """
    kind: Any = cls
    settable = {"__slots__": kind.__dict__["__slots__"], "__setattr__": object.__setattr__}
    known: dict[str, Any] = {"Open": type(kind)(f"Open{cls.__name__}", cls.__bases__, settable), "new": object.__new__}
    names = tuple(field.name for field in fields(kind))
    parameters = []
    for field in fields(kind):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        known[f"default_{field.name}"] = default
        parameters.append(field.name if default is MISSING else f"{field.name}=default_{field.name}")
    lines = ["self = new(Open)", *(f"self.{name} = {name}" for name in names), "self.__class__ = cls", "return self"]
    text = "\n    ".join([f"def __new__(cls, {', '.join(parameters)}):", *lines])
    exec(text, known)  # dataclasses write theirs so, too
    made = known["__new__"]
    made.__qualname__, made.__annotations__ = cls.__qualname__, kind.__init__.__annotations__
    del kind.__init__
    kind.__new__ = made
    kind.__reduce__ = lambda self: (type(self), tuple([getattr(self, name) for name in names]))
    return cls
