"""Find cookie banners and consent dialogs.

A class, an id or a label with "cookie", "consent" or "gdpr" makes no banner: a recipe of oat
cookies may have it, a form of informed consent, or an article about the law. A banner has other
signs:

- It is a dialog, by its tag or role, or its style fixes it on the screen.
- It has a control, which is a button or a link that leads nowhere, and its name says nothing else:
  ``cookie-banner``, ``CookieConsent``, ``gdpr``.
- Under another name, it is short, without headings, has a button and says what it is about.

An element with an ``h1`` is none, whatever its signs.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simhash.extraction.elements import holding, names_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

DIALOG_ROLES = frozenset(("dialog", "alertdialog"))
_TAGS = ("div", "section", "aside", "form", "dialog")
_OTHER_TOPICS = ("consent", "gdpr")
_TOPICS = ("cookie", *_OTHER_TOPICS)
# What a name calls a banner, and other words in such names.
_BANNERS = frozenset(
    "banner bar dialog drawer layer manager modal notice notification overlay popup toast "
    "wall".split()
)
_PARTS = _BANNERS.union(
    "alert bottom box container content eu fixed info is js law message policy privacy root top "
    "visible wrapper".split()
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FIXED = re.compile(r"(?:^|;)\s*position\s*:\s*(?:fixed|sticky)")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MAX_ELEMENTS = 40
_MAX_CHARACTERS = 400


def consent_elements(elements: Elements) -> list[HtmlElement]:
    """Return the cookie banners and the dialogs without an ``h1``."""
    by_role = [
        element
        for element in elements.having("role")
        if element.get("role") in DIALOG_ROLES and element.tag in _TAGS
    ]
    dialogs = [*elements.tagged("dialog"), *by_role]
    return [*consent_banners(elements), *_without_h1(elements, dialogs)]


def consent_banners(elements: Elements) -> list[HtmlElement]:
    """Return the banners without an ``h1`` that are no dialogs by their tag or role."""
    # The label of an element is one name more.
    named = (
        (element, f"{names_of(element)} {'-'.join(element.get('aria-label', '').split())}")
        for element in elements.with_words(_TOPICS)
        if element.tag in _TAGS
    )
    banners = {element: names for element, names in named if _has_topic(names.lower())}
    fixed = {one for one in banners if _FIXED.search(one.get("style", "").lower())}
    named_so = {
        one for one, names in banners.items() if _says_banner(names) or _is_short_banner(one)
    } - fixed
    if named_so:
        named_so &= holding(filter(_is_control, elements.root.iter("button", "input", "a")))
    return _without_h1(elements, [one for one in banners if one in fixed or one in named_so])


def _says_banner(names: str) -> bool:
    """Return True if a name of an element has a topic, and beside it only parts of a page."""
    for name in names.split():
        if not _has_topic(name.lower()):
            continue
        rest = [word for word in map(str.lower, _WORD.findall(name)) if not _has_topic(word)]
        # Cookies alone may be those that one eats.
        is_other_topic = not rest and any(topic in name.lower() for topic in _OTHER_TOPICS)
        if is_other_topic or (_PARTS.issuperset(rest) and not _BANNERS.isdisjoint(rest)):
            return True
    return False


def _is_short_banner(element: HtmlElement) -> bool:
    """Return True for a few words about a topic with a button, and without a heading."""
    inside = list(islice(element.iter(), _MAX_ELEMENTS + 1))
    if len(inside) > _MAX_ELEMENTS or any(one.tag in _HEADINGS for one in inside):
        return False
    text = "".join(element.itertext()).lower()
    return len(text) <= _MAX_CHARACTERS and _has_topic(text)


def _is_control(element: HtmlElement) -> bool:
    """Return True for a button, an input, and a link that leads nowhere."""
    if element.tag != "a":
        return True
    href = element.get("href", "").strip().lower()
    return href in ("", "#") or href.startswith("javascript:") or element.get("role") == "button"


def _without_h1(elements: Elements, found: list[HtmlElement]) -> list[HtmlElement]:
    """Return the elements that are found and have no ``h1`` inside."""
    headed = holding(h1 for h1 in elements.tagged("h1") if h1.tag == "h1") if found else ()
    return [element for element in found if element not in headed]


def _has_topic(names: str) -> bool:
    return any(topic in names for topic in _TOPICS)
