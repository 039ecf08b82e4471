"""Find what stands beside the content of a page: comments, reviews, lists of other pages, forms.

An aside differs from one date to the next, or from one version of a page to another, while the
content stays. Unlike chrome, an aside may be all that a page has: a thread, or a list of the latest
posts. So `scrapy_simhash.extraction.segments` leaves asides out only if the rest is enough.

An element is an aside by its classes, its id or its microdata (``class="comment-list"``,
``itemprop="review"``), or because it is a form to write something. Sites in all languages have
English names in their markup, and the stem of "comment" is nearly the same in most languages.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simhash.extraction.elements import holding, names_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

_TAGS = ("article", "div", "form", "ol", "section", "table", "ul")
# Discussions, which may be longer than the content. Commentaries are content.
_DISCUSSION = re.compile(
    r"[ck]om+ent(?!ary|ator)|disqus|respond(?![a-z])|reviews(?![a-z])|^(?:review|aggregaterating)$"
)
# A class or id with one of these words names a state of the page (comments-open).
_STATE = re.compile(
    r"(?:^|[-_])(?:no|has|with|without|open|closed?|on|off|enabled|disabled|allowed)(?:[-_]|$)"
)
_LIST = re.compile(
    r"(?<!un)(?<!or)related|recommend|(?<![a-z])(?:shar(?:e|ing)|social)(?![a-z])|newsletter|subscri"
)
# Every match of these contains one of these words.
_WORDS = (
    *("omment", "oment", "disqus", "respond", "review", "aggregaterating"),
    *("related", "recommend", "shar", "social", "newsletter", "subscri"),
)
# The content of a page may be named so, too ("social-policy"), but has fewer links.
_MAX_WORDS_PER_LINK = 40
_WRITTEN_INPUTS = ("email", "password")
_CONTENT_TAGS = ("article", "main", "table")


def asides(elements: Elements) -> list[HtmlElement]:
    """Return the asides by name, and the forms to write something; none with a heading inside."""
    return list(filter(aside_filter(elements), _candidates(elements)))


def aside_filter(elements: Elements) -> Callable[[HtmlElement], bool]:
    """Return a function that returns True for an aside of a page."""
    headings = [h1 for h1 in elements.tagged("h1") if h1.tag == "h1"]
    around_headings = holding(headings or islice(elements.root.iter("h2", "h3"), 1))
    candidates = set(_candidates(elements))
    return lambda one: (
        one in candidates
        and one.tag in _TAGS
        and one not in around_headings
        and (_is_named_aside(one) or (one.tag == "form" and _is_to_write(one)))
    )


def _candidates(elements: Elements) -> list[HtmlElement]:
    return [*elements.with_words(_WORDS), *elements.tagged("form")]


def _is_to_write(form: HtmlElement) -> bool:
    """Return True for a form that asks for a text, an address or a password, and has no content."""
    written = any(
        element.tag == "textarea" or element.get("type", "").lower() in _WRITTEN_INPUTS
        for element in form.iter("textarea", "input")
    )
    return written and next(form.iter(*_CONTENT_TAGS), None) is None


def _is_named_aside(element: HtmlElement) -> bool:
    more = (element.get(name, "") for name in ("itemprop", "aria-label"))
    of_type = element.get("itemtype", "")
    kind = _kind(" ".join((names_of(element), *more, of_type * ("Comment" in of_type))))
    return kind == "discussion" or (kind == "list" and _is_list_of_links(element))


def is_discussion(name: str) -> bool:
    """Return True if a class, id or property in lower case names comments, reviews or ratings."""
    return _DISCUSSION.search(name) is not None and not _STATE.search(name)


@lru_cache(maxsize=8192)  # pages of a site share their names
def _kind(names: str) -> str:
    """Return what classes, id or property name, ``discussion`` or ``list``; empty for others."""
    each = names.lower().split()
    if any(map(is_discussion, each)):
        return "discussion"
    return "list" if any(map(_LIST.search, each)) else ""


def _is_list_of_links(element: HtmlElement) -> bool:
    """Return True for a short element, and for one with a link in every few words."""
    words = len(element.text_content().split())
    links = sum(1 for _ in element.iter("a")) if words > _MAX_WORDS_PER_LINK else 0
    return words <= _MAX_WORDS_PER_LINK * (1 + links)
