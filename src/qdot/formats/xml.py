"""XML as readers want it: elements that know where they stand, and numbers that are checked.

expat, the parser of the standard library, does the work. A file cannot make it read other files, expand entities or
nest without end. An element keeps the place of its tag in the text; line and text are found from it when asked for.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite, nan
from xml.parsers import expat
from xml.sax.saxutils import unescape

import numpy as np

from qdot.errors import ModelError
from qdot.formats.source import Source

DEEPEST = 200
"""Elements within elements: robots need ten, and what walks over them may recurse."""

DEEPEST_MJCF = 499
"""MJCF has bodies within bodies; MuJoCo itself reads no more."""

LONGEST = 1_000_000
"""Bytes from one "<" to the next, so of an attribute too: the height field of a model has some hundred thousand."""

ENCODINGS = {
    *("ascii", "utf-8", "utf-16", "utf-16-be", "utf-16-le", "iso8859-1", "iso8859-15", "cp1252"),
    *("big5", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "shift_jis"),
}
"""Python knows more, but some of those take time without end."""

_DECLARATION = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")
_TAG_AND_TEXT = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>([^<]*)""")


@dataclass(slots=True)
class Document:
    """The text that elements stand in, as UTF-8."""

    source: Source
    text: bytes
    _ends: list[int] | None = field(default=None, init=False)

    def line(self, at: int) -> int:
        """The line of a place in the text, from 1."""
        if self._ends is None:
            self._ends = np.flatnonzero(np.frombuffer(self.text, np.uint8) == ord("\n")).tolist()
        return bisect(self._ends, at) + 1


class Element:
    """An element: its tag, its attributes as strings, its children in order; `at` is its place in the document."""

    __slots__ = ("at", "attributes", "children", "document", "tag")  # no __init__: `parse` makes thousands

    tag: str
    attributes: dict[str, str]
    children: list[Element]
    at: int
    document: Document

    @property
    def line(self) -> int:
        """The line its tag begins on."""
        return self.document.line(self.at)

    @property
    def text(self) -> str:
        """What is written between its tag and the first thing inside it, without space around it."""
        found = _TAG_AND_TEXT.match(self.document.text, self.at)
        written = found.group(1) if found and not found.group().endswith(b"/>") else b""
        return unescape(written.decode().strip(), {"&quot;": '"', "&apos;": "'"})

    def error(self, cause: str) -> ModelError:
        """The error to raise about this element: "robot.urdf:12: cause"."""
        return ModelError(f"{self.document.source.at(self.line)}: {cause}")

    def child(self, tag: str) -> Element | None:
        """The first child of a tag."""
        for child in self.children:
            if child.tag == tag:
                return child
        return None

    def required(self, attribute: str, why: str = "") -> str:
        """An attribute that must be there and not be empty."""
        value = self.attributes.get(attribute)
        if value:
            return value
        state = "is empty" if value == "" else "is missing"
        raise self.error(f"<{self.tag}>: the attribute {attribute!r} {state}; give it{why and ' '}{why}")

    def number(self, attribute: str, default: float | None = None) -> float:
        """One finite number."""
        text = self.attributes.get(attribute)
        if text is None and default is not None:
            return default
        try:
            value = float(text or "")
        except ValueError:
            value = nan
        if isfinite(value) and text and _is_plain(text):
            return value
        return self.numbers(attribute, 1)[0]  # which says what is wrong

    def each(self, attributes: Iterable[str]) -> list[float]:
        """One finite number of each attribute: `number`, many at once."""
        texts = [self.attributes.get(attribute, "") for attribute in attributes]
        try:
            values = [*map(float, texts)]
        except ValueError:
            values = [nan]
        if isfinite(sum(values)) and _is_plain("".join(texts)):
            return values
        return [self.number(attribute) for attribute in attributes]

    def numbers(self, attribute: str, count: int) -> tuple[float, ...]:
        """So many finite numbers, with space between them."""
        text = self.attributes.get(attribute)
        if text is None:
            raise self.error(f"<{self.tag}>: the attribute {attribute!r} is missing; give it {_amount(count)}")
        try:
            values = tuple(map(float, text.split()))
        except ValueError:
            values = ()
        if len(values) != count or not all(map(isfinite, values)) or not _is_plain(text):
            raise self.error(
                f"<{self.tag}>: the attribute {attribute!r} needs {_amount(count)}, finite, with a point for decimals "
                f"and space between them; it is {_shortened(text)}"
            )
        return values


def parse(source: Source) -> Element:
    """The root element of a text; a `ModelError` where it is not well-formed, or not safe to read."""
    document = Document(source, _as_utf8(source))
    if len(document.text) > LONGEST:
        _require_tags(document)
    parser = expat.ParserCreate("UTF-8")
    top: list[Element] = []
    siblings = top
    open_lists: list[list[Element]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal siblings
        element = Element()
        element.tag = tag
        element.attributes = attributes
        element.at = parser.CurrentByteIndex
        element.document = document
        if not siblings and len(open_lists) >= DEEPEST:  # only a first child lies deeper than all before
            deepest = DEEPEST_MJCF if top[0].tag == "mujoco" else DEEPEST
            if len(open_lists) >= deepest:
                raise element.error(f"<{tag}> lies within more than {deepest} other elements; no model needs that")
        siblings.append(element)
        open_lists.append(siblings)
        element.children = siblings = []

    def end(_: str) -> None:
        nonlocal siblings
        siblings = open_lists.pop()

    def doctype(name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        if system or public or has_subset:
            raise ModelError(
                f"{source.at(parser.CurrentLineNumber)}: the DOCTYPE declares entities or names another file, and qdot "
                "reads neither; write what they stand for into the text, and remove the DOCTYPE"
            )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(document.text, True)
    except expat.ExpatError as error:
        raise ModelError(f"{source.at(error.lineno)}: {_cause(error.code, bool(top), document.text)}") from None
    finally:  # parser and handlers hold each other, and with them all elements: let go of them now
        parser.StartElementHandler = parser.EndElementHandler = parser.StartDoctypeDeclHandler = None
    return top[0]


def _as_utf8(source: Source) -> bytes:
    text = source.text
    if source.encoding == "utf-8":
        return text
    marked = text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    declared = _DECLARATION.match(text.removeprefix(codecs.BOM_UTF8)) if not marked else None
    name = "utf-16" if marked else declared.group(1).decode("ascii", "replace") if declared else "utf-8"
    if name.lower() == "utf-8":
        return text
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = ""
    if codec not in ENCODINGS:
        raise ModelError(f"{source.at(1)}: the encoding {name!r} is not one qdot reads; save the file as UTF-8")
    try:
        return text.decode(codec).encode()
    except UnicodeError as error:
        raise ModelError(
            f"{source.at(1)}: the text is not in the encoding {name!r} it declares ({error.__class__.__name__}); save "
            "the file as UTF-8"
        ) from None


def _cause(code: int, begun: bool, text: bytes) -> str:
    """What an error of expat means, and what to do."""
    errors = expat.errors
    if code == errors.codes[errors.XML_ERROR_NO_ELEMENTS] and not begun:
        return "the text is empty" if not text.strip() else "there is no element in the text; is it the right file?"
    if code in (errors.codes[errors.XML_ERROR_NO_ELEMENTS], errors.codes[errors.XML_ERROR_UNCLOSED_TOKEN]):
        return "the text breaks off before all elements are closed; is the file complete?"
    if code == errors.codes[errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]:
        return "something follows after the end of the root element; a file holds one root element only"
    if code == errors.codes[errors.XML_ERROR_UNDEFINED_ENTITY]:
        return "an entity is used that XML does not define; write the character itself"
    return f"not well-formed XML: {expat.ErrorString(code)}; repair the text there, or save it as UTF-8 from its source"


def _require_tags(document: Document) -> None:
    """Refuse attributes, texts and comments without end before expat reads them."""
    places = np.flatnonzero(np.frombuffer(document.text, np.uint8) == ord("<"))
    ends = np.append(places[1:], len(document.text))
    for at in places[ends - places > LONGEST].tolist():
        raise ModelError(
            f"{document.source.at(document.line(at))}: what begins here goes on for more than {LONGEST} bytes without "
            "another tag; put large data into a file of their own"
        )


def _is_plain(text: str) -> bool:
    """Whether a number is written as XML means it; Python reads 1_000 and the digits of all scripts too."""
    return text.isascii() and "_" not in text


def _amount(count: int) -> str:
    return "one number" if count == 1 else f"{count} numbers"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
