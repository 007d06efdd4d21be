"""All texts of an MJCF model, looked through before MuJoCo reads them: the file, those it includes, models it attaches.

MuJoCo takes an <include> from the folder of the model's main file, or else from that of the file that asks for it. It
takes the file of a <model> from the latter only, and that is a main file of its own. A text that lies in no folder is
taken to lie in the current directory.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from posixpath import normpath
from xml.etree.ElementTree import Element

from qdot.formats.mjcf_read_limits import Demand, with_copies
from qdot.formats.mjcf_read_numbers import may_lack_numbers, require_filled, require_finite
from qdot.formats.source import Source
from qdot.formats.xml import Document, ElementError, parse

DEEPEST = 20
"""Files within files."""

_PLAIN_ONLY = {"include", "model"}


class Texts:
    """The texts of a model from its main file on. `documents` are all that were read; `addresses` the elements that
    name files by an address such as "package://…", by what MuJoCo makes of it."""

    def __init__(self, main: Document) -> None:
        self.documents = [main]
        self.addresses: dict[str, Element] = {}

    def look_through(self) -> None:
        """Raise an `ElementError` where a text asks for what MuJoCo does not survive, or not for long."""
        _Model(self.documents[0], self, 0).look_through()

    @cached_property
    def models(self) -> dict[Path, Demand | None]:
        """The models of other files that are complete; None for those that are open, as the main file is."""
        source = self.documents[0].source
        return {} if source.folder is None else {(source.folder / Path(source.file).name).resolve(): None}

    def have(self, tag: str) -> bool:
        """Whether some text has an element of this tag."""
        return any(next(document.root.iter(tag), None) is not None for document in self.documents)

    def read(self, source: Source) -> Document:
        """One more of them."""
        self.documents.append(parse(source))
        return self.documents[-1]


class _Model:
    """One model: a main file, and those it includes."""

    def __init__(self, main: Document, texts: Texts, depth: int) -> None:
        self._main, self._texts, self._depth = main, texts, depth
        self._demand = Demand()
        self._included: set[Path] = set()
        self._attached: list[tuple[Element, float]] = []
        self._models: list[Demand] = []

    def look_through(self) -> Demand:
        """Look through the main file and all that belongs to it, and tell what they ask for."""
        self._text(self._main, 1.0, self._depth)
        for element, copies in self._attached:
            self._demand.attach(element, copies, self._models)
        self._demand.close()
        return self._demand

    def _text(self, document: Document, copies: float, depth: int) -> None:
        suspect, addressed = may_lack_numbers(document.text), b"://" in document.text
        for element, count in with_copies(document.root, copies):
            self._demand.add(element, count)
            if suspect:
                require_finite(element)
            if addressed:
                self._note_addresses(element)
            tag = element.tag
            if tag == "include":
                self._include(element, document.source, count, depth)
            elif tag == "attach":
                self._attached.append((element, count))
            elif tag == "connect" or tag == "model":
                require_filled(element)
                if tag == "model":
                    self._model(element, document.source, depth)

    def _note_addresses(self, element: Element) -> None:
        for attribute, text in element.attrib.items():
            if attribute.startswith("file") and "://" in text:
                if attribute != "file" or element.tag in _PLAIN_ONLY:
                    named = f"<{element.tag}>: {attribute} = {text[:200]!r}"
                    raise ElementError(element, f"{named}: MJCF names such files by plain paths; give one")
                self._texts.addresses[normpath(text)] = element

    def _include(self, include: Element, source: Source, copies: float, depth: int) -> None:
        """What MuJoCo cannot find, or finds twice, it tells itself."""
        part = _beside(self._main.source, include) or _beside(source, include)
        if part is None or part[0] in self._included:
            return
        _require_shallow(include, depth)
        self._included.add(part[0])
        self._text(self._texts.read(part[1]), copies, depth + 1)

    def _model(self, element: Element, source: Source, depth: int) -> None:
        part = _beside(source, element)
        if part is None or not part[1].text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            return
        path, text = part
        models = self._texts.models
        if path not in models:
            _require_shallow(element, depth)
            models[path] = None
            models[path] = _Model(self._texts.read(text), self._texts, depth + 1).look_through()
        demand = models[path]
        if demand is None:
            cause = f"<model>: the file {element.attrib['file']!r} leads back to itself; leave it out"
            raise ElementError(element, cause)
        self._demand.read(element, demand)
        self._models.append(demand)


def _require_shallow(element: Element, depth: int) -> None:
    if depth >= DEEPEST:
        cause = f"<{element.tag}>: more than {DEEPEST} files lie within each other; no model needs that"
        raise ElementError(element, cause)


def _beside(source: Source, element: Element) -> tuple[Path, Source] | None:
    """The file that an element names, from the folder of a text; None where there is none that can be read."""
    name = element.get("file", "")
    place = (Path.cwd() if source.folder is None else source.folder) / name
    try:
        if not place.is_file():
            return None
        return place.resolve(), Source(place.read_bytes(), str(Path(source.file).parent / name), place.parent)
    except (OSError, ValueError):
        return None
