"""Records that are quick to make are the frozen dataclasses they were: only the time to make one differs."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from qdot.algebra import Vec3
from qdot.description import BodyRecord, Contact, FrameRecord, Item, Material, Passive, ShapeRecord
from qdot.quick import quick
from qdot.spatial import Force, Motion
from qdot.spatial.vectors import SpatialVector


@quick
@dataclass(frozen=True, slots=True)
class Inner:
    x: int = 7


@quick
@dataclass(frozen=True, slots=True)
class Thing:
    """A thing."""

    name: str
    count: int = 2
    inner: Inner = field(default_factory=Inner)
    note: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    count: int = 2
    inner: Inner = field(default_factory=Inner)
    note: str = field(default="", compare=False)


def test_fields_are_given_by_place_and_by_name_and_have_defaults() -> None:
    assert repr(Thing("a")) == "Thing(name='a', count=2, inner=Inner(x=7), note='')"
    assert Thing("a", 3, note="b") == Thing(count=3, name="a", inner=Inner(7))
    with pytest.raises(TypeError, match=r"Thing\(\) missing 1 required positional argument: 'name'"):
        Thing()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Thing\(\) got an unexpected keyword argument 'size'"):
        Thing("a", size=3)  # type: ignore[call-arg]


def test_it_is_still_a_frozen_record() -> None:
    thing = Thing("a", 3, note="kept")
    with pytest.raises(FrozenInstanceError):
        thing.count = 4  # type: ignore[misc]
    assert not hasattr(thing, "__dict__")
    assert replace(thing, count=5) == Thing("a", 5)
    assert type(thing) is Thing
    for again in (pickle.loads(pickle.dumps(thing)), copy.copy(thing), copy.deepcopy(thing)):
        assert type(again) is Thing
        assert (again, again.note) == (thing, "kept")
    assert hash(thing) == hash(Thing("a", 3, note="other"))
    assert Thing.__doc__ == "A thing."


def test_its_signature_is_that_of_the_dataclass() -> None:
    quickly, plainly = (inspect.signature(kind).parameters for kind in (Thing, Plain))
    assert [*quickly] == [*plainly]
    assert [p.annotation for p in quickly.values()] == [p.annotation for p in plainly.values()]


def test_a_record_that_inherits_its_fields_is_of_its_own_kind() -> None:
    x = Vec3(1, 2, 3)
    motion = Motion(x, x)
    assert type(motion) is Motion
    assert isinstance(motion, SpatialVector)
    assert motion != Force(x, x)
    with pytest.raises(FrozenInstanceError):
        motion.ang = x  # type: ignore[misc]


@pytest.mark.parametrize("kind", [BodyRecord, Contact, FrameRecord, Item, Material, Passive, ShapeRecord])
def test_records_keep_every_field_they_are_given(kind: type) -> None:
    values = [object() for _ in fields(kind)]
    made = kind(*values)
    assert all(getattr(made, f.name) is value for f, value in zip(fields(kind), values, strict=True))
