"""Find headings by their tags and roles, and what they say."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

LOWER_HEADINGS = ("h2", "h3", "h4", "h5", "h6", "caption")
_LABELS = ("aria-label", "alt", "title")
# More pieces of text are not read: elements in one another would take quadratic time.
_MAX_PIECES = 1000


def with_role(elements: Elements) -> list[HtmlElement]:
    """Return the elements with the role of a heading."""
    roles = elements.values("role")
    return [role.getparent() for role in roles if role.strip().lower() == "heading"]


def of_level(headings: Iterable[HtmlElement], level: str) -> list[HtmlElement]:
    """Return those with the role of a heading of a level; without a level, it is 2."""
    return [heading for heading in headings if heading.get("aria-level", "2").strip() == level]


def text_of(heading: HtmlElement) -> str:
    """Return the text of a heading, or else the first label of it or of a picture in it."""
    text = shown_text(heading)
    if text:
        return text
    inner = islice(heading.iter(), _MAX_PIECES)
    labels = (element.get(name, "") for element in inner for name in _LABELS)
    return next((" ".join(label.split()) for label in labels if label.strip()), "")


def shown_text(element: HtmlElement) -> str:
    """Return the text of an element that is no longer than a heading."""
    return " ".join("".join(islice(element.itertext(), _MAX_PIECES)).split())
