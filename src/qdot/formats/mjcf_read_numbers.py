"""Attributes that are refused before MuJoCo reads them: it lets "nan" pass, and some that are empty leave it broken."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from qdot.formats.xml import ElementError

TEXTS = """
    actuator assetdir body body1 body2 camera childclass class content_type cranksite data file fileback filedown
    filefront fileleft fileright fileup flex frame geom geom1 geom2 hfield instance joint joint1 joint2 jointinparent
    key material mesh meshdir model name node objname plugin prefix refname refsite sidesite site site1 site2
    slidersite subtree1 subtree2 target tendon tendon1 tendon2 texture texturedir value
"""
"""Attributes that hold names and other words, which may well be "nan"; data of <numeric> are numbers."""

_TEXTS = frozenset(TEXTS.split())
_SUSPECT = (b"nan", b"inf", b"&#")  # a character may be written as its number
_NOT_FINITE = re.compile(r"[+-]?(nan(\(\w*\))?|inf(inity)?)", re.IGNORECASE)


def may_lack_numbers(text: bytes) -> bool:
    """Whether a text may have numbers that are not finite; a quick look."""
    text = text.lower()
    return any(word in text for word in _SUSPECT)


def require_filled(element: Element) -> None:
    """Raise a `ModelError` where an attribute is empty that MuJoCo does not survive: it fails, and hangs later."""
    if element.tag == "model" and not element.get("file", "").strip():
        raise ElementError(element, "<model>: the attribute 'file' is missing or empty; name the file of the model")
    if element.tag == "connect" and not element.get("anchor", "0 0 0").strip():
        raise ElementError(
            element, "<connect>: the attribute 'anchor' is empty; give it 3 numbers, or leave it out for sites"
        )


def require_finite(element: Element) -> None:
    """Raise a `ModelError` where a number is NaN, or infinite but for ranges and cutoffs."""
    for attribute, text in element.attrib.items():
        if attribute in _TEXTS and (element.tag, attribute) != ("numeric", "data"):
            continue
        endless = attribute.endswith("range") or attribute == "cutoff"
        for word in text.split():
            if _NOT_FINITE.fullmatch(word) and ("nan" in word.lower() or not endless):
                raise ElementError(
                    element,
                    f"<{element.tag}>: the attribute {attribute!r} has {word!r} for a number; give a finite one",
                )
