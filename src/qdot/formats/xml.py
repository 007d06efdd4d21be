"""XML as readers want it: elements whose line in the file can be told, and numbers that are checked.

expat, the parser of the standard library, does the work, and ElementTree's builder keeps the elements: both are written
in C, and files have thousands of elements. A file cannot make them read other files, expand entities or nest without
end. Neither notes where an element stands; few are asked, and then it is counted: the tenth element has the tenth tag.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import isfinite, nan
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat
from xml.sax.saxutils import unescape

import numpy as np

from qdot.errors import ModelError
from qdot.formats.source import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


@dataclass(frozen=True, eq=False, slots=True)
class Document:
    """A text as UTF-8, and its root element; an element has its tag, attributes as strings and children in order."""

    source: Source
    text: bytes
    root: Element

    def line(self, element: Element) -> int:
        """The line that the tag of an element begins on, from 1."""
        return self.lines([element])[0]

    def lines(self, elements: Sequence[Element]) -> list[int]:
        """Those of many elements at once."""
        return self.lines_later(elements)()

    def lines_later(self, elements: Sequence[Element]) -> Callable[[], list[int]]:
        """`lines`, found when they are asked for; until then the text is kept, but not its elements."""
        return partial(_lines, self.text, self._numbers(elements))

    def contents(self, elements: Sequence[Element]) -> list[str]:
        """What is written between the tag of each element and the first thing inside it, without space around it."""
        return [_content(self.text, place) for place in _places(self.text)[self._numbers(elements)].tolist()]

    def __contains__(self, element: Element) -> bool:
        return any(other is element for other in self.root.iter())

    def _numbers(self, elements: Sequence[Element]) -> list[int]:
        """The tenth element has the number nine."""
        wanted = set(elements)
        numbers = {element: k for k, element in enumerate(self.root.iter()) if element in wanted}
        return [numbers[element] for element in elements]


class ElementError(Exception):
    """Something is wrong about an element; whoever has the document makes a `ModelError` of it, with the place."""

    def __init__(self, element: Element, cause: str) -> None:
        super().__init__(cause)
        self.element = element

    def placed(self, *documents: Document) -> ModelError:
        """The error to raise, "robot.urdf:12: cause", where one of the documents holds the element."""
        document = next(document for document in documents if self.element in document)
        return ModelError(f"{document.source.at(document.line(self.element))}: {self}")


def required(element: Element, attribute: str, why: str = "") -> str:
    """An attribute that must be there and not be empty."""
    value = element.get(attribute)
    if value:
        return value
    state = "is empty" if value == "" else "is missing"
    raise ElementError(element, f"<{element.tag}>: the attribute {attribute!r} {state}; give it{why and ' '}{why}")


def number(element: Element, attribute: str, default: float | None = None) -> float:
    """One finite number."""
    text = element.get(attribute)
    if text is None and default is not None:
        return default
    try:
        value = float(text or "")
    except ValueError:
        value = nan
    if isfinite(value) and text and text.isascii() and "_" not in text:
        return value
    return numbers(element, attribute, 1)[0]  # which says what is wrong


def each(element: Element, attributes: Iterable[str]) -> list[float]:
    """One finite number of each attribute: `number`, many at once."""
    texts = [element.get(attribute, "") for attribute in attributes]
    try:
        values = [*map(float, texts)]
    except ValueError:
        values = [nan]
    if isfinite(sum(values)) and _is_plain("".join(texts)):
        return values
    return [number(element, attribute) for attribute in attributes]


def numbers(element: Element, attribute: str, count: int) -> tuple[float, ...]:
    """So many finite numbers, with space between them."""
    text = element.get(attribute)
    if text is None:
        raise ElementError(
            element, f"<{element.tag}>: the attribute {attribute!r} is missing; give it {_amount(count)}"
        )
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        values = ()
    if len(values) != count or not all(map(isfinite, values)) or not _is_plain(text):
        raise ElementError(
            element,
            f"<{element.tag}>: the attribute {attribute!r} needs {_amount(count)}, finite, with a point for decimals "
            f"and space between them; it is {_shortened(text)}",
        )
    return values


def parse(source: Source) -> Document:
    """The elements of a text; a `ModelError` where it is not well-formed, or not safe to read."""
    text = _as_utf8(source)
    if len(text) > LONGEST:
        _require_tags(source, text)
    parser, builder = expat.ParserCreate("UTF-8"), TreeBuilder()

    def doctype(name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        if system or public or has_subset:
            raise ModelError(
                f"{source.at(parser.CurrentLineNumber)}: the DOCTYPE declares entities or names another file, and qdot "
                "reads neither; write what they stand for into the text, and remove the DOCTYPE"
            )

    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        cause = _cause(error.code, builder.close() is not None, text)
        raise ModelError(f"{source.at(error.lineno)}: {cause}") from None
    finally:
        parser.StartDoctypeDeclHandler = None  # the two hold each other
    document = Document(source, text, builder.close())
    try:
        _require_shallow(document.root)
    except ElementError as error:
        raise error.placed(document) from None
    return document


def _require_shallow(root: Element) -> None:
    deepest = DEEPEST_MJCF if root.tag == "mujoco" else DEEPEST
    level = [root]
    for _ in range(deepest):
        level = [*chain.from_iterable(filter(len, level))]  # type: ignore[arg-type]  # those that hold others
        if not level:
            return
    tag = level[0].tag
    raise ElementError(level[0], f"<{tag}> lies within more than {deepest} other elements; no model needs that")


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


def _require_tags(source: Source, text: bytes) -> None:
    """Refuse attributes, texts and comments without end before expat reads them."""
    places = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("<"))
    ends = np.append(places[1:], len(text))
    for place in places[ends - places > LONGEST].tolist():
        line = text.count(b"\n", 0, place) + 1
        raise ModelError(
            f"{source.at(line)}: what begins here goes on for more than {LONGEST} bytes without another "
            "tag; put large data into a file of their own"
        )


def _places(text: bytes) -> NDArray[np.intp]:
    """Where in a text each element begins."""
    letters = np.frombuffer(text, np.uint8)
    brackets = np.flatnonzero(letters == ord("<"))
    after = letters[brackets + 1]
    special = (after == ord("!")) | (after == ord("?"))
    tags = brackets[~special & (after != ord("/"))]
    starts, ends = [-1], [-1]
    for start in brackets[special].tolist():
        if start > ends[-1]:
            starts.append(start)
            ends.append(_end(text, start))
    before = np.searchsorted(starts, tags) - 1
    return tags[tags > np.array(ends)[before]]  # not those within comments and the like


def _lines(text: bytes, numbers: list[int]) -> list[int]:
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    lines: list[int] = (np.searchsorted(ends, _places(text)[numbers]) + 1).tolist()
    return lines


def _content(text: bytes, place: int) -> str:
    found = _TAG_AND_TEXT.match(text, place)
    written = found.group(1) if found and not found.group().endswith(b"/>") else b""
    return unescape(written.decode().strip(), {"&quot;": '"', "&apos;": "'"})


def _end(text: bytes, start: int) -> int:
    """Where a comment, an instruction, a piece of plain text or a DOCTYPE ends."""
    if text.startswith(b"<!--", start):
        return text.index(b"-->", start + 4)
    if text.startswith(b"<?", start):
        return text.index(b"?>", start)
    return text.index(b"]]>" if text.startswith(b"<![", start) else b">", start)


def _is_plain(text: str) -> bool:
    """Whether a number is written as XML means it; Python reads 1_000 and the digits of all scripts too."""
    return text.isascii() and "_" not in text


def _amount(count: int) -> str:
    return "one number" if count == 1 else f"{count} numbers"


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
