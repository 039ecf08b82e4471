"""Find what a page's tags and attributes hide, and what they name as chrome or as the site's logo.

Chrome is what surrounds the content of a page: navigation, footers, sidebars, dialogs, cookie
banners.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lxml.html import HtmlElement

_CHROME_ROLES = frozenset(
    "alertdialog banner complementary contentinfo dialog menu menubar navigation search".split()
)
_SECTION_TAGS = frozenset(("article", "main", "section"))
# Elements that may contain the content, whatever their role or class.
_NEVER_CHROME = frozenset(("html", "body", "main", "article"))

_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\s*(?:!\s*important\s*)?(?:;|$)"
)
_LOGO = re.compile(
    r"(?:^|[-_])(?:logo|masthead|branding|navbar-brand|site-?(?:title|name|header))(?:[-_]|$)"
    r"|^(?:header|brand)$"
)
_SURE_LOGO = re.compile(
    r"(?:^|[-_])(?:logo|branding|navbar-brand|site-?(?:title|name))(?:[-_]|$)|^brand$"
)
# Every match of `_LOGO` contains one of these words, which are faster to search.
_LOGO_WORDS = ("logo", "masthead", "brand", "site", "header")
# A form that contains one of these may be a whole page.
_CONTENT_TAGS = ("p", "h1", "h2", "h3", "table", "article")
_DIALOG_ROLES = frozenset(("dialog", "alertdialog"))
_CONSENT_TAGS = ("div", "section", "aside", "form", "dialog")
_CONSENT_WORDS = ("cookie", "consent", "gdpr")
# A class or id with one of these words names a state (no-cookies) or a topic (category-cookies).
_NO_CONSENT = re.compile(
    r"(?:^|[-_])(?:not?|has|category|tag|topic|set|accepted|allowed|enabled|disabled)(?:[-_]|$)"
)
_HOME_PATHS = frozenset(("", "index.html", "index.htm", "index.php", "home"))


def rename_by_attributes(root: HtmlElement) -> list[tuple[HtmlElement, str]]:
    """Change the tags of hidden elements, chrome and logos; return (element, former tag) of each.

    The stylesheet matches only tags, because matching attributes would take most of its time.
    """
    renamed = []

    def rename(element: HtmlElement, tag: str) -> None:
        if element.tag not in _NEVER_CHROME and element.tag != "script":
            renamed.append((element, element.tag))
            element.tag = tag

    attributes = _attributes()(root)
    for value in attributes:
        if _hides(value):
            rename(value.getparent(), "script")
    for value in attributes:
        if value in _CHROME_ROLES and value.attrname == "role":
            rename(value.getparent(), "nav")
    # Other consent dialogs are chrome by their tag or role already.
    for element in _without_h1(root, _named_for_consent(root, "div", "section", "form")):
        rename(element, "nav")
    named_as_logo = _inside(_is_named_as_logo)
    in_section = _inside(lambda element: element.tag in _SECTION_TAGS)
    for element in root.iter("h1", "header", "form"):
        tag = element.tag
        if tag == "h1":
            if named_as_logo(element) or _is_link_home(element):
                rename(element, "h2")
        elif tag == "header":
            if not in_section(element):  # an article may have a header of its own
                rename(element, "nav")
        # Only a form without content, because a form may contain the whole page.
        elif next(element.iter(*_CONTENT_TAGS), None) is None:
            rename(element, "nav")
    return renamed


def hidden_elements(root: HtmlElement) -> list[HtmlElement]:
    """Return the elements, root included, that ``hidden`` or a style hides, in document order."""
    return list(dict.fromkeys(value.getparent() for value in _attributes()(root) if _hides(value)))


def is_hidden(style: str) -> bool:
    """Return True if a ``style`` attribute hides its element."""
    lowered = style.lower()
    # Most styles contain neither word, and the search is slow.
    return ("none" in lowered or "hidden" in lowered) and _HIDING_STYLE.search(lowered) is not None


def _hides(attribute: Any) -> bool:
    """Return True if an attribute hides its element."""
    name = attribute.attrname
    return name == "hidden" or (name == "style" and is_hidden(attribute))


def is_logo(heading: HtmlElement) -> bool:
    """Return True if a heading, or an element around it, is named as the site's logo, or if it is a
    link to the front page.
    """
    around = [heading, *heading.iterancestors()]
    return _is_link_home(heading) or any(
        element.tag not in _NEVER_CHROME and any(map(_SURE_LOGO.search, _names(element).split()))
        for element in around
    )


def consent_elements(root: HtmlElement) -> list[HtmlElement]:
    """Return the cookie banners and dialogs without an ``h1``, in document order."""
    named = set(_named_for_consent(root, *_CONSENT_TAGS))
    found = [
        element
        for element in root.iter(*_CONSENT_TAGS)
        if element in named or element.tag == "dialog" or element.get("role") in _DIALOG_ROLES
    ]
    # The content of a page about cookies may have such a name, too.
    return _without_h1(root, found)


def _inside(passes: Callable[[HtmlElement], bool]) -> Callable[[HtmlElement], bool]:
    """Return a function that returns True if an element, or one that contains it, passes.

    Each element is tested once. Otherwise deeply nested pages would take minutes.
    """
    answers: dict[HtmlElement | None, bool] = {None: False}  # no element contains the root

    def is_inside(element: HtmlElement) -> bool:
        visited = []
        at: Any = element
        while at not in answers:
            visited.append(at)
            if passes(at):
                answers[at] = True
            else:
                at = at.getparent()
        answers.update(dict.fromkeys(visited, answers[at]))
        return answers[at]

    return is_inside


def _without_h1(root: HtmlElement, elements: list[HtmlElement]) -> list[HtmlElement]:
    """Return the elements without an ``h1`` inside."""
    headed: set[HtmlElement | None] = {None}
    for heading in root.iter("h1") if elements else ():
        above = heading.getparent()
        while above not in headed:
            headed.add(above)
            above = above.getparent()
    return [element for element in elements if element not in headed]


def _named_for_consent(root: HtmlElement, *tags: str) -> list[HtmlElement]:
    """Return the elements with one of the tags and a class or id such as ``cookie-banner``."""
    elements = list(root.iter(*tags))
    # Most pages have no such name. One search in all names together is fast.
    if not _has_one_of(_CONSENT_WORDS, " ".join(map(_names, elements)).lower()):
        return []
    return [
        element
        for element in elements
        if any(
            _has_one_of(_CONSENT_WORDS, name) and not _NO_CONSENT.search(name)
            for name in _names(element).lower().split()
        )
    ]


def _is_named_as_logo(element: HtmlElement) -> bool:
    names = _names(element).lower()
    return (
        _has_one_of(_LOGO_WORDS, names)
        and element.tag not in _NEVER_CHROME
        # A heading named "header" is one; an element above it may be the header of the site.
        and any(map((_SURE_LOGO if element.tag == "h1" else _LOGO).search, names.split()))
    )


def _names(element: HtmlElement) -> str:
    """Return the classes and the id of an element."""
    return f"{element.get('class', '')} {element.get('id', '')}"


def _has_one_of(words: Iterable[str], names: str) -> bool:
    """Return True if the names contain one of the words."""
    return any(word in names for word in words)


def _is_link_home(heading: HtmlElement) -> bool:
    """Return True if a heading has one link, which leads to the front page, and no inner ``h1``."""
    hrefs: list[str] = []
    for element in heading.iterdescendants("a", "h1"):
        href = element.get("href")
        if element.tag == "h1" or (href is not None and hrefs):
            return False
        if href is not None:
            hrefs.append(href)
    return bool(hrefs) and leads_home(hrefs[0])


def leads_home(href: str) -> bool:
    """Return True if a link leads to the front page of a site."""
    href = href.strip()
    if not href or href.startswith("#"):
        return False
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return parts.path.strip("/") in _HOME_PATHS and not parts.fragment and not parts.query


@lru_cache(maxsize=1)
def _attributes() -> Any:
    """Return a search for hidden, style and role attributes. It is faster than three searches."""
    from lxml import etree

    return etree.XPath(
        " | ".join(f"descendant-or-self::*/@{n}" for n in ("hidden", "style", "role"))
    )
