"""Numbers that would keep MuJoCo busy for ever, or take all memory: found before it reads a text.

A few characters can ask for billions of copies, points or pixels. MuJoCo would try.
"""

from __future__ import annotations

from pathlib import Path

from qdot.formats.source import Source
from qdot.formats.xml import Element, parse

MOST: dict[str, dict[str, float]] = {
    "replicate": {"count": 1e5},
    "flexcomp": {"count": 1e5, "cellcount": 1e5},
    "composite": {"count": 1e5},
    "texture": {"width": 5e3, "height": 5e3, "gridsize": 1e4},
    "hfield": {"nrow": 1e4, "ncol": 1e4},
    "mesh": {"params": 500},  # each by itself: resolutions and angles
    "camera": {"resolution": 1e7},
    "numeric": {"size": 1e7},
    "option": dict.fromkeys(  # MuJoCo's compiler tries its solvers
        ("iterations", "ls_iterations", "noslip_iterations", "ccd_iterations", "sdf_iterations", "sdf_initpoints"), 1e5
    ),
    "size": dict.fromkeys(
        ("nkey", "nuserdata", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site")
        + ("nuser_cam", "nuser_tendon", "nuser_actuator", "nuser_sensor"),
        1e5,
    ),
}
"""By element: attributes whose numbers multiply to at most so much."""

MOST_ANYWHERE: dict[str, float] = {"nsample": 1e5, "actdim": 1e5, "dim": 1e5, "num": 1e5, "nchannel": 4}
"""The same for attributes of actuators, sensors and textures, wherever they stand."""

MOST_COPIES = 1e5
"""Of elements within each other that are all copied."""

_WATCHED = frozenset(MOST_ANYWHERE).union(*MOST.values())


def require_bounded(root: Element, source: Source, opened: frozenset[Path] = frozenset()) -> None:
    """Raise a `ModelError` where a text, or one that it includes, asks for more than any model needs."""
    open_elements = [(root, 1.0)]
    while open_elements:
        element, copies = open_elements.pop()
        if not _WATCHED.isdisjoint(element.attributes):
            _require_less(element)
        if element.tag == "replicate":
            copies *= max(_product(element.attributes.get("count", "1")), 1.0)
            if copies > MOST_COPIES:
                raise element.error(f"<replicate> within others makes {copies:g} copies of what is in it; give less")
        elif element.tag == "include":
            _require_bounded_file(element, source, opened)
        open_elements += [(child, copies) for child in element.children]


def _require_less(element: Element) -> None:
    for attribute, most in {**MOST_ANYWHERE, **MOST.get(element.tag, {})}.items():
        text = element.attributes.get(attribute, "")
        amount = max(map(_product, text.split()), default=0.0) if attribute == "params" else _product(text)
        if not amount <= most:  # nan is refused, too
            raise element.error(
                f"<{element.tag}>: {attribute} = {text[:60]!r} asks for more than a model needs, {most:g}; give less"
            )


def _require_bounded_file(include: Element, source: Source, opened: frozenset[Path]) -> None:
    """What MuJoCo cannot find, or finds in a circle, it tells itself."""
    if source.folder is None:
        return
    path = source.folder / include.attributes.get("file", "")
    if path.is_file() and path not in opened:
        part = Source(path.read_bytes(), str(Path(source.file).parent / include.attributes["file"]), source.folder)
        require_bounded(parse(part), part, opened | {path})


def _product(text: str) -> float:
    """Of the numbers in an attribute; what is not a number is MuJoCo's to refuse."""
    product = 1.0
    for word in text.split():
        try:
            product *= max(abs(float(word)), 1.0)
        except ValueError:
            return 1.0
    return product
