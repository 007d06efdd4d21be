"""All texts of an MJCF model, looked through before MuJoCo reads them: the file, those it includes, models it attaches.

MuJoCo takes an <include> from the folder of the model's main file, or else from that of the file that asks for it. It
takes the file of a <model> from the latter only, and that is a main file of its own. A text that lies in no folder is
taken to lie in the current directory.
"""

from __future__ import annotations

from pathlib import Path
from posixpath import normpath

from qdot.formats.mjcf_read_limits import Demand
from qdot.formats.mjcf_read_numbers import may_lack_numbers, require_filled, require_finite
from qdot.formats.source import Source
from qdot.formats.xml import Element, parse

DEEPEST = 20
"""Files within files."""

_PLAIN_ONLY = {"include", "model"}


def look_through(root: Element, source: Source) -> dict[str, Element]:
    """Raise a `ModelError` where a text asks for what MuJoCo does not survive, or not for long.

    Returns the elements that name files by an address such as "package://…", by what MuJoCo makes of it.
    """
    addresses: dict[str, Element] = {}
    known: dict[Path, Demand | None] = {}
    if source.folder is not None:
        known[(source.folder / Path(source.file).name).resolve()] = None
    _Model(source, addresses, known, 0).look_through(root)
    return addresses


class _Model:
    """One model: a main file, and those it includes. `known` are the models of other files that are complete; None
    those that are open."""

    def __init__(
        self, source: Source, addresses: dict[str, Element], known: dict[Path, Demand | None], depth: int
    ) -> None:
        self._main, self._addresses, self._known, self._depth = source, addresses, known, depth
        self._demand = Demand()
        self._included: set[Path] = set()
        self._attached: list[tuple[Element, float]] = []
        self._models: list[Demand] = []

    def look_through(self, root: Element) -> Demand:
        """Look through the main file and all that belongs to it, and tell what they ask for."""
        self._text(root, self._main, 1.0, self._depth)
        for element, copies in self._attached:
            self._demand.attach(element, copies, self._models)
        self._demand.close()
        return self._demand

    def _text(self, root: Element, source: Source, copies: float, depth: int) -> None:
        suspect, addressed = may_lack_numbers(root.document.text), b"://" in root.document.text
        rest = [(root, copies)]
        while rest:
            element, copies = rest.pop()
            if suspect:
                require_finite(element)
            require_filled(element)
            inner = self._demand.add(element, copies)
            if addressed:
                self._note_addresses(element)
            if element.tag == "include":
                self._include(element, source, copies, depth)
            elif element.tag == "model":
                self._model(element, source, depth)
            elif element.tag == "attach":
                self._attached.append((element, copies))
            rest += [(child, inner) for child in reversed(element.children)]

    def _note_addresses(self, element: Element) -> None:
        for attribute, text in element.attributes.items():
            if attribute.startswith("file") and "://" in text:
                if attribute != "file" or element.tag in _PLAIN_ONLY:
                    raise element.error(
                        f"<{element.tag}>: {attribute} = {text[:200]!r}: MJCF names such files by plain paths; give one"
                    )
                self._addresses[normpath(text)] = element

    def _include(self, include: Element, source: Source, copies: float, depth: int) -> None:
        """What MuJoCo cannot find, or finds twice, it tells itself."""
        part = _beside(self._main, include) or _beside(source, include)
        if part is None or part[0] in self._included:
            return
        _require_shallow(include, depth)
        self._included.add(part[0])
        self._text(parse(part[1]), part[1], copies, depth + 1)

    def _model(self, element: Element, source: Source, depth: int) -> None:
        part = _beside(source, element)
        if part is None or not part[1].text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            return
        path, text = part
        if path not in self._known:
            _require_shallow(element, depth)
            self._known[path] = None
            self._known[path] = _Model(text, self._addresses, self._known, depth + 1).look_through(parse(text))
        demand = self._known[path]
        if demand is None:
            raise element.error(f"<model>: the file {element.attributes['file']!r} leads back to itself; leave it out")
        self._demand.read(element, demand)
        self._models.append(demand)


def _require_shallow(element: Element, depth: int) -> None:
    if depth >= DEEPEST:
        raise element.error(f"<{element.tag}>: more than {DEEPEST} files lie within each other; no model needs that")


def _beside(source: Source, element: Element) -> tuple[Path, Source] | None:
    """The file that an element names, from the folder of a text; None where there is none that can be read."""
    name = element.attributes.get("file", "")
    place = (Path.cwd() if source.folder is None else source.folder) / name
    try:
        if not place.is_file():
            return None
        return place.resolve(), Source(place.read_bytes(), str(Path(source.file).parent / name), place.parent)
    except (OSError, ValueError):
        return None
