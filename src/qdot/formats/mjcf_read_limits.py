"""Numbers that would keep MuJoCo busy for ever, or take all memory: found before it reads a text.

A few characters can ask for billions of copies, points or pixels, and copies of copies multiply. MuJoCo would try. What
passes here is made within seconds and some hundred MB.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import prod
from xml.etree.ElementTree import Element

from qdot.formats.xml import ElementError

EACH: dict[str, dict[str, float]] = {
    "texture": {"gridsize": 1e4, "nchannel": 4},
    "mesh": {"params": 500},  # each by itself: resolutions and angles
    "camera": {"resolution": 1e7},
    "option": dict.fromkeys(  # MuJoCo's compiler tries its solvers
        ("iterations", "ls_iterations", "noslip_iterations", "ccd_iterations", "sdf_iterations", "sdf_initpoints"), 1e5
    ),
    "size": {"nuserdata": 1e6},
}
"""By element: attributes whose numbers multiply to at most so much."""

ALL: dict[str, dict[str, float]] = {
    "replicate": {"count": 1e4},  # MuJoCo's time grows with the square
    "flexcomp": {"count": 1e4, "cellcount": 1e4},
    "texture": {"width": 5e7},  # pixels
    "hfield": {"nrow": 1e7},  # times ncol
    "numeric": {"size": 1e6},
    "": dict.fromkeys(("nsample", "actdim", "dim", "num"), 1e6),
}
"""The same for all elements of a model together, with their copies; "" stands for any element."""

ELEMENTS = 1e5
"""At most so many are copies."""

READ = 1e6
"""At most so many are read in files of attached models: MuJoCo reads a file anew wherever one asks for it."""

PER_ELEMENT = frozenset(
    ("nkey", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site")
    + ("nuser_cam", "nuser_tendon", "nuser_actuator", "nuser_sensor")
)
"""Attributes of <size> that say how many numbers go with every element; see `NUMBERS`."""

NUMBERS = 1e6
"""All of them together."""

_WATCHED = PER_ELEMENT.union(*EACH.values(), *ALL.values())


class Demand:
    """What the texts of one model ask MuJoCo to make."""

    def __init__(self) -> None:
        self._sums: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._written = self._copied = self._read = 0.0
        self._widest: tuple[float, Element, str] | None = None

    def add(self, element: Element, copies: float) -> None:
        """Count an element of which there are so many copies."""
        self._written += 1
        if copies != 1:
            self._copy(element, copies - 1)
        if _WATCHED.isdisjoint(element.attrib):
            return
        for attribute, most in EACH.get(element.tag, {}).items():
            if not _amount(element, attribute) <= most:
                raise _too_much(element, attribute, most)
        for tag in (element.tag, ""):
            for attribute, most in ALL.get(tag, {}).items():
                if attribute in element.attrib:
                    self._sums[tag, attribute] += copies * _amount(element, attribute)
                    if not self._sums[tag, attribute] <= most:
                        raise _too_much(element, attribute, most, " in all")
        if element.tag == "size":
            for attribute in PER_ELEMENT & element.attrib.keys():
                amount = _amount(element, attribute)
                if self._widest is None or amount > self._widest[0]:
                    self._widest = amount, element, attribute

    def attach(self, element: Element, copies: float, models: Iterable[Demand]) -> None:
        """Count one of some other models, whichever asks for most, so many times."""
        models = list(models)
        self._copy(element, copies * max((model._written + model._copied for model in models), default=0.0))
        for key in {key for model in models for key in model._sums}:
            self._sums[key] += copies * max(model._sums[key] for model in models)
            tag, attribute = key
            if not self._sums[key] <= ALL[tag][attribute]:
                raise ElementError(
                    element,
                    f"<attach>: with it, {attribute!r} of <{tag or '…'}> asks for more than a model needs, "
                    f"{ALL[tag][attribute]:g} in all; give less",
                )

    def read(self, element: Element, model: Demand) -> None:
        """Count the file of another model, which an element names."""
        self._read += model._written + model._read
        if self._read > READ:
            cause = f"<{element.tag}>: with it, more than {READ:g} elements would be read; attach less"
            raise ElementError(element, cause)

    def close(self) -> None:
        """All elements are counted."""
        if self._widest is not None:
            amount, element, attribute = self._widest
            if not amount * (self._written + self._copied) <= NUMBERS:
                raise _too_much(element, attribute, NUMBERS, " for all elements together")

    def _copy(self, element: Element, count: float) -> None:
        self._copied += count
        if not self._copied <= ELEMENTS:
            cause = f"<{element.tag}>: with it, more than {ELEMENTS:g} elements are copies; give less"
            raise ElementError(element, cause)


def with_copies(root: Element, copies: float) -> Iterator[tuple[Element, float]]:
    """All elements of a text of which there are so many copies, and how many there are of each."""
    if next(root.iter("replicate"), None) is None:
        for element in root.iter():
            yield element, copies
        return
    rest = [(root, copies)]
    while rest:
        element, copies = rest.pop()
        yield element, copies
        inner = copies * _amount(element, "count") if element.tag == "replicate" else copies
        rest += [(child, inner) for child in reversed(element[:])]


def _amount(element: Element, attribute: str) -> float:
    """What an attribute asks for, with those that multiply it."""
    factors = _numbers(element, attribute)
    if attribute == "params":
        return max(factors, default=0.0)
    if attribute == "nrow":
        factors += _numbers(element, "ncol")
    if attribute == "width":
        flat = element.get("type") == "2d"
        factors += _numbers(element, "height") if flat else [6.0, *factors]  # the sides of a cube
    return prod(factors)


def _numbers(element: Element, attribute: str) -> list[float]:
    """The numbers in an attribute, at least 1 each; what is not a number is MuJoCo's to refuse."""
    try:
        return [max(abs(float(word)), 1.0) for word in element.get(attribute, "").split()]
    except ValueError:
        return []


def _too_much(element: Element, attribute: str, most: float, together: str = "") -> ElementError:
    asked = f"<{element.tag}>: {attribute} = {element.attrib[attribute][:60]!r}"
    return ElementError(element, f"{asked} asks for more than a model needs, {most:g}{together}; give less")
