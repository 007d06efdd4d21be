"""XML: what is read, where it stands, and that nothing unsafe or broken gets further than an error with its place."""

from __future__ import annotations

import pytest

from qdot.errors import ModelError
from qdot.formats.source import Source
from qdot.formats.xml import (
    DEEPEST,
    DEEPEST_MJCF,
    LONGEST,
    Document,
    ElementError,
    each,
    number,
    numbers,
    parse,
    required,
)


def parsed(text: str | bytes) -> Document:
    return parse(Source(text if isinstance(text, bytes) else text.encode(), "thing.xml", None))


def lines_of(text: str | bytes) -> list[int]:
    document = parsed(text)
    return document.lines([*document.root.iter()])


def test_tags_attributes_children_lines_and_content() -> None:
    document = parsed(
        "<?xml version='1.0'?>\n<!-- <no/> -->\n<a one='1'>\n  <b two=\"x > 'y' &lt; z\">\n some &amp; more </b>\n"
        "<c/><!-- \n --><c\n three='3'/>\n</a>\n"
    )
    root = document.root
    assert (root.tag, root.attrib, document.line(root)) == ("a", {"one": "1"}, 3)
    b, first, second = root
    assert (b.tag, b.attrib, document.line(b)) == ("b", {"two": "x > 'y' < z"}, 4)
    assert document.lines([second, first]) == [7, 6]
    assert document.contents([second, b, root, first]) == ["", "some & more", "", ""]


@pytest.mark.parametrize(
    "other",
    [
        "<!-- <no/>\n<no> -->",
        "<!--> <no/> -->",
        "<!-- ]]> <no/> ?> -->",
        "<![CDATA[ <no/>\n --> ?> <!-- ]]>",
        "<?robot <no/>\n --> ]]> <!-- ?>",
        "<?r?>",
        "<![CDATA[]]>",
    ],
)
def test_what_only_looks_like_an_element_is_not_counted(other: str) -> None:
    down = other.count("\n")
    assert lines_of(f"<a>\n<b/>{other}<c/>\n{other}\n<d/></a>") == [1, 2, 2 + down, 4 + 2 * down]


def test_a_doctype_is_not_counted() -> None:
    assert lines_of("<?xml version='1.0'?>\n<!DOCTYPE a>\n<a>\n<b/></a>") == [3, 4]


def test_an_error_is_placed_in_the_document_that_holds_the_element() -> None:
    one, other = parsed("<a/>"), parse(Source(b"<a>\n<b/></a>", "other.xml", None))
    error = ElementError(other.root[0], "it is wrong")
    assert str(error.placed(one, other)) == "other.xml:2: it is wrong"


@pytest.mark.parametrize(
    "text",
    [
        "<a b='Ä'/>".encode(),
        "﻿<a b='Ä'/>".encode(),
        "<?xml version='1.0' encoding='UTF-8'?><a b='Ä'/>".encode(),
        "<?xml version='1.0' encoding='iso-8859-1'?><a b='Ä'/>".encode("latin-1"),
        '<?xml version="1.0" encoding="windows-1252" standalone="yes"?><a b="Ä"/>'.encode("cp1252"),
        "<?xml version='1.0' encoding='utf-16'?><a b='Ä'/>".encode("utf-16"),
    ],
)
def test_encodings(text: bytes) -> None:
    assert parsed(text).root.attrib == {"b": "Ä"}


def test_a_text_of_known_encoding_is_not_decoded_again() -> None:
    text = "<?xml version='1.0' encoding='iso-8859-1'?><a b='Ä'/>"
    assert parse(Source(text.encode(), "thing.xml", None, "utf-8")).root.attrib == {"b": "Ä"}


def test_lines_are_right_after_letters_of_several_bytes() -> None:
    text = "<?xml version='1.0' encoding='iso-8859-1'?>\n<!-- ÄÖÜ -->\n\n<a>\n<b/></a>"
    assert lines_of(text.encode("latin-1")) == [4, 5]


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────


def test_numbers() -> None:
    element = parsed("<a three=' 1 -2.5e-3\t+.5\n' one='7' none=''/>").root
    assert numbers(element, "three", 3) == (1.0, -0.0025, 0.5)
    assert number(element, "one") == 7.0
    assert number(element, "other", 4.0) == 4.0
    assert required(element, "one") == "7"
    assert each(parsed("<a x='1' y=' -2e1' z='3'/>").root, ("z", "y", "x")) == [3.0, -20.0, 1.0]
    assert each(parsed("<a x='1e308' y='1e308'/>").root, ("x", "y")) == [1e308, 1e308]  # though their sum is infinite
    with pytest.raises(ElementError, match=r"^<a>: the attribute 'other' is missing; give it one number"):
        number(element, "other")
    with pytest.raises(ElementError, match=r"^<a>: the attribute 'other' is missing; give it 3 numbers"):
        numbers(element, "other", 3)
    with pytest.raises(ElementError, match=r"^<a>: the attribute 'none' is empty; give it a name"):
        required(element, "none", "a name")


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "nan", "inf", "-infinity", "1e999", "1,5", "1_000", "0x10", "one", "1 2", "--1", "1;", "½"),
        *("٣", "１", "1\u00a0"),  # Python reads these
    ],
)
def test_what_is_no_number_is_refused(text: str) -> None:
    document = parsed(f"<a>\n<b c='{text}'/></a>")
    element = document.root[0]
    for read in (lambda: number(element, "c"), lambda: numbers(element, "c", 1), lambda: each(element, ("c",))):
        with pytest.raises(ElementError, match=r"^<b>: the attribute 'c' needs one number, finite") as caught:
            read()
        assert caught.value.element is element
        assert str(caught.value.placed(document)).startswith("thing.xml:2: <b>")


def test_a_wrong_count_of_numbers_is_refused() -> None:
    with pytest.raises(ElementError, match=r"^<a>: the attribute 'b' needs 3 numbers.*it is '1 2'"):
        numbers(parsed("<a b='1 2'/>").root, "b", 3)


# ── what is not read ─────────────────────────────────────────────────────────────────────────────

BROKEN = {
    "empty": ("", r":1: the text is empty"),
    "blank": (" \n ", r":\d: the text is empty"),
    "no element": ("<!-- nothing -->", r":1: there is no element"),
    "no xml": ("ply\nformat ascii", r":1: not well-formed XML"),
    "long and no xml": ("x" * (LONGEST + 1), r":1: not well-formed XML"),
    "truncated": ("<a>\n<b>\n", r":3: the text breaks off"),
    "truncated in a tag": ("<a>\n<b c=", r":2: the text breaks off"),
    "junk": ("<a/>\n<b/>", r":2: something follows"),
    "text behind": ("<a/>\nmore", r":2: something follows"),
    "mismatched": ("<a>\n</b>", r":2: not well-formed XML: mismatched tag"),
    "twice": ("<a b='1' b='2'/>", r":1: not well-formed XML: duplicate attribute"),
    "no quotes": ("<a b=1/>", r":1: not well-formed XML"),
    "nul": (b"<a>\n\0</a>", r":2: not well-formed XML"),
    "nul in an attribute": (b"<a b='\0'/>", r":1: not well-formed XML"),
    "not utf-8": (b"<a b='\xff\xfe'/>", r":1: not well-formed XML"),
    "not what it declares": (b"<?xml version='1.0' encoding='ascii'?><a b='\xc4'/>", r":1: .*not in the encoding"),
    "unknown encoding": (b"<?xml version='1.0' encoding='klingon'?><a/>", r":1: the encoding 'klingon'"),
    "an encoding that runs programs": (
        b"<?xml version='1.0' encoding='punycode'?><a/>",
        r":1: the encoding 'punycode'",
    ),
    "half a pair": ("<a/>".encode("utf-16") + b"\x00", r":1: .*not in the encoding"),
    "unknown entity": ("<a>&nbsp;</a>", r":1: an entity is used"),
    "entity": ("<!DOCTYPE a [\n<!ENTITY b 'c'>]><a>&b;</a>", r":1: the DOCTYPE"),
    "external entity": ("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", r":1: the DOCTYPE"),
    "parameter entity": ("<!DOCTYPE a [<!ENTITY % b SYSTEM 'http://x/y.dtd'> %b;]><a/>", r":1: the DOCTYPE"),
    "external subset": ("\n<!DOCTYPE a SYSTEM 'http://x/y.dtd'><a/>", r":2: the DOCTYPE"),
    "default attributes": ("<!DOCTYPE a [<!ATTLIST a b CDATA 'c'>]><a/>", r":1: the DOCTYPE"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_and_unsafe_texts_are_refused_with_their_place(case: str) -> None:
    text, message = BROKEN[case]
    with pytest.raises(ModelError, match=rf"^thing\.xml{message}"):
        parsed(text)


def test_a_bomb_of_entities_does_not_go_off() -> None:
    entities = "".join(f"<!ENTITY e{k + 1} '{f'&e{k};' * 100}'>" for k in range(20))
    with pytest.raises(ModelError, match=r"thing\.xml:1: the DOCTYPE"):
        parsed(f"<!DOCTYPE a [<!ENTITY e0 'x'>{entities}]><a>&e20;</a>")


def test_a_doctype_that_only_names_the_root_is_read() -> None:
    assert parsed("<!DOCTYPE a><a/>").root.tag == "a"


@pytest.mark.parametrize("depth", [DEEPEST + 1, 100_000])
def test_elements_nested_too_deep_are_refused(depth: int) -> None:
    with pytest.raises(ModelError, match=rf"thing\.xml:1: <a> lies within more than {DEEPEST} other elements"):
        parsed("<a>" * depth + "</a>" * depth)


@pytest.mark.parametrize(("root", "deepest"), [("a", DEEPEST), ("mujoco", DEEPEST_MJCF)])
def test_elements_nested_as_deep_as_allowed_are_read(root: str, deepest: int) -> None:
    inner = deepest - 1
    element, depth = parsed(f"<{root}>" + "<a>" * inner + "</a>" * inner + f"</{root}>").root, 1
    while len(element):
        element, depth = element[0], depth + 1
    assert depth == deepest
    with pytest.raises(ModelError, match=rf"lies within more than {deepest} other elements"):
        parsed(f"<{root}>" + "<a>" * deepest + "</a>" * deepest + f"</{root}>")


@pytest.mark.parametrize("size", [LONGEST + 1, 100_000_000])
def test_an_attribute_without_end_is_refused(size: int) -> None:
    with pytest.raises(ModelError, match=r"^thing\.xml:2: what begins here goes on for more than"):
        parsed(b"<a>\n<b c='" + b"1" * size + b"'/></a>")


def test_a_long_text_with_short_attributes_is_read() -> None:
    root = parsed("<a>" + "<b c='1'/>" * (LONGEST // 8) + "</a>").root
    assert len(root) == LONGEST // 8
