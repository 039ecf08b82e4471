"""A page as the lines of text that a browser would show, with what tells content from chrome.

One walk in C: an XSLT stylesheet writes the text of the tree with marks where blocks end and where
links and chrome begin and end; Python only splits at the marks. Chrome is what surrounds the
content of a page: navigation, footers, sidebars, dialogs, cookie banners.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lxml.html import HtmlElement

# What a browser shows on lines of its own; elsewhere tags don't separate words.
_BLOCK_TAGS = (
    "address article blockquote body br caption center details dir div dl fieldset figcaption "
    "figure form frameset h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol optgroup "
    "option p pre section select summary table tbody tfoot thead title ul".split()
)
# A row of a table is one line, and so is a term or its description.
_ROW_TAGS = ("tr", "dt", "dd")
_CELL_TAGS = ("td", "th")
_LINK_TAGS = ("a", "button")
_CHROME_TAGS = ("nav", "footer", "aside", "dialog")
# Not `embed`: it has no end tag, and the parser puts what follows into it.
_INVISIBLE_TAGS = (
    "applet audio canvas head iframe math noframes noscript object script style svg "
    "template textarea video".split()
)
_CHROME_ROLES = frozenset(
    "alertdialog banner complementary contentinfo dialog menu menubar navigation search".split()
)
_SECTION_TAGS = frozenset(("article", "main", "section"))
# Whatever their role or class, these hold the content.
_NEVER_CHROME = frozenset(("html", "body", "main", "article"))

_HIDES = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\s*(?:!\s*important\s*)?(?:;|$)"
)
_LOGO = re.compile(
    r"(?:^|[-_])(?:logo|masthead|branding|navbar-brand|site-?(?:title|name|header))(?:[-_]|$)"
    r"|^(?:header|brand)$"
)
# One of them is in all that `_LOGO` finds.
_LOGO_WORDS = ("logo", "masthead", "brand", "site", "header")
# A form with one of these may be a whole page.
_CONTENT_TAGS = ("p", "h1", "h2", "h3", "table", "article")
_DIALOG_ROLES = frozenset(("dialog", "alertdialog"))
_CONSENT_TAGS = ("div", "section", "aside", "form", "dialog")
_CONSENT_WORDS = ("cookie", "consent", "gdpr")
# Names that say something about cookies, but are no banner: of a state, or of a topic.
_NO_CONSENT = re.compile(
    r"(?:^|[-_])(?:not?|has|category|tag|topic|set|accepted|allowed|enabled|disabled)(?:[-_]|$)"
)
_HOME_PATHS = frozenset(("", "index.html", "index.htm", "index.php", "home"))

# Private-use characters, which `prepared` takes out of pages.
# One mark stands at both ends of a link.
_BREAK, _CHROME, _END_CHROME, _HEADING, _ROW, _LINK = map(chr, range(0xE000, 0xE006))
_MARK_BYTES = re.compile(b"\xee\x80[\x80-\x86]")

# Characters of scripts that write no spaces, two of which count as a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(f"[^\\W_{_UNSPACED}]+")
# Bytes that begin no character of those scripts in UTF-8.
_SPACED_BYTES = bytes(range(0xE0)) + b"\xe2" + bytes(range(0xEA, 0x100))


class Line(NamedTuple):
    """One line of a page.

    :param words: number of words; two characters of a script without spaces count as one.
    :param link_characters: how many of its characters are links.
    :param chrome: it belongs to the chrome of the page.
    :param row: it is a row of a table, or a term or description of a list of terms.
    :param heading: it is an ``h1``, and not the site's logo.
    """

    text: str
    words: int
    link_characters: int
    chrome: bool
    row: bool
    heading: bool


# `Line(…)` itself takes twice the time.
_new_line = partial(tuple.__new__, Line)


def lines_of(root: HtmlElement, *, clean: bool = False) -> list[Line]:
    """Return the visible lines below an element, in order, with white space collapsed.

    :param root: parsed from a page that has been through `scrapy_simhash.extraction.prepared`.
    :param clean: nothing below it is hidden, and what of it is chrome does not matter.
    """
    renamed = [] if clean else _rename(root)
    try:
        text = str(_stylesheet()(root))
    finally:
        for element, tag in renamed:
            element.tag = tag
    return _split(text)


def join(lines: Iterable[Line]) -> str:
    """Return the text of lines, one a line."""
    return "\n".join(line.text for line in lines)


def hidden_elements(root: HtmlElement) -> list[HtmlElement]:
    """Return the elements that a browser does not show, by attribute, in the document's order."""
    attributes = _path("descendant-or-self::*/@hidden | descendant-or-self::*/@style")(root)
    return list(dict.fromkeys(value.getparent() for value in attributes if _hides(value)))


def is_hidden(style: str) -> bool:
    """Return whether an element of that style is not shown."""
    lowered = style.lower()
    # Most styles have neither, and the search is slow.
    return ("none" in lowered or "hidden" in lowered) and _HIDES.search(lowered) is not None


def _hides(attribute: Any) -> bool:
    """Return whether an attribute that XPath found hides its element."""
    return attribute.attrname == "hidden" or (
        attribute.attrname == "style" and is_hidden(attribute)
    )


def own_heading(lines: Iterable[Line]) -> Line | None:
    """Return the heading of the page itself: the first ``h1`` outside chrome, or None."""
    return next((line for line in lines if line.heading and not line.chrome), None)


def without_marks(html: bytes) -> bytes:
    """Replace by spaces the characters that mark places in the text.

    :param html: in UTF-8.
    """
    # A search for one byte is several times faster, and hardly a page has it.
    return _MARK_BYTES.sub(b" ", html) if b"\xee" in html else html


def consent_elements(root: HtmlElement) -> list[HtmlElement]:
    """Return the cookie banners and consent dialogs of a page, in the order of the document."""
    return _unless_headed(root, [e for e in root.iter(*_CONSENT_TAGS) if _is_consent(e)])


def count_words(text: str) -> int:
    """Return the number of words in a line, which has single spaces between them.

    Two characters of a script without spaces count as one word.
    """
    if not text.isascii() and (runs := _UNSPACED_RUN.findall(text)):
        return len(_WORD.findall(text)) + (sum(map(len, runs)) + 1) // 2
    return text.count(" ") + 1 if text else 0


def _rename(root: HtmlElement) -> list[tuple[HtmlElement, str]]:
    """Give elements tags that say what they are, and return them with the tags they had.

    The stylesheet goes by tags alone: tests of attributes would take it most of its time.
    """
    renamed = []

    def rename(element: HtmlElement, tag: str) -> None:
        if element.tag not in _NEVER_CHROME and element.tag != "script":
            renamed.append((element, element.tag))
            element.tag = tag

    # One search for all three takes less time than one for each.
    attributes = _path(
        "descendant-or-self::*/@hidden | descendant-or-self::*/@style | descendant-or-self::*/@role"
    )(root)
    for value in attributes:
        if _hides(value):
            rename(value.getparent(), "script")
    for value in attributes:
        if value in _CHROME_ROLES and value.attrname == "role":
            rename(value.getparent(), "nav")
    # Others that `_is_consent` knows are chrome by their tag, or by their role.
    for element in _unless_headed(root, _named_for_consent(root, "div", "section", "form")):
        rename(element, "nav")
    # Each element is asked once, however deep the page is: else nests of them take minutes.
    named_as_logo = _Ancestry(_is_named_as_logo)
    in_section = _Ancestry(lambda element: element.tag in _SECTION_TAGS)
    for element in root.iter("h1", "header", "form"):
        tag = element.tag
        if tag == "h1":
            if named_as_logo(element) or _is_link_home(element):
                rename(element, "h2")
        elif tag == "header":
            # An article may have a header of its own.
            if not in_section(element):
                rename(element, "nav")
        # A form may wrap a whole page.
        elif next(element.iter(*_CONTENT_TAGS), None) is None:
            rename(element, "nav")
    return renamed


class _Ancestry:
    """Tells of elements whether they or one above them have a quality."""

    def __init__(self, has: Callable[[HtmlElement], bool]) -> None:
        self._has = has
        self._known: dict[HtmlElement, bool] = {}

    def __call__(self, element: HtmlElement) -> bool:
        asked = []
        answer = False
        at: HtmlElement | None = element
        while at is not None:
            if at in self._known:
                answer = self._known[at]
                break
            asked.append(at)
            if self._has(at):
                answer = True
                break
            at = at.getparent()
        self._known.update(dict.fromkeys(asked, answer))
        return answer


def _holders(root: HtmlElement, *tags: str) -> set[HtmlElement]:
    """Return the elements that have one of these tags inside."""
    holders: set[HtmlElement] = set()
    for element in root.iter(*tags):
        above = element.getparent()
        while above is not None and above not in holders:
            holders.add(above)
            above = above.getparent()
    return holders


def _unless_headed(root: HtmlElement, elements: list[HtmlElement]) -> list[HtmlElement]:
    headed = _holders(root, "h1") if elements else ()
    return [element for element in elements if element not in headed]


def _is_consent(element: HtmlElement) -> bool:
    """Return whether an element is a consent dialog, unless the heading of the page is inside.

    A policy about cookies has such classes, too.
    """
    return (
        element.tag == "dialog"
        or element.get("role") in _DIALOG_ROLES
        or _is_named_for_consent(element)
    )


def _named_for_consent(root: HtmlElement, *tags: str) -> list[HtmlElement]:
    elements = list(root.iter(*tags))
    # Most pages have no such name, which one search of all of them shows.
    if not _has_one_of(_CONSENT_WORDS, " ".join(map(_names, elements)).lower()):
        return []
    return [element for element in elements if _is_named_for_consent(element)]


def _is_named_for_consent(element: HtmlElement) -> bool:
    names = _names(element).lower()
    return _has_one_of(_CONSENT_WORDS, names) and any(
        _has_one_of(_CONSENT_WORDS, name) and not _NO_CONSENT.search(name) for name in names.split()
    )


def _is_named_as_logo(element: HtmlElement) -> bool:
    names = _names(element).lower()
    return (
        _has_one_of(_LOGO_WORDS, names)
        and element.tag not in _NEVER_CHROME
        and any(map(_LOGO.search, names.split()))
    )


def _names(element: HtmlElement) -> str:
    return f"{element.get('class', '')} {element.get('id', '')}"


def _has_one_of(words: Iterable[str], names: str) -> bool:
    """Return whether names hold one of the words; most do not, and need no closer look."""
    return any(word in names for word in words)


def _is_link_home(heading: HtmlElement) -> bool:
    """Return whether a heading has one link, which leads to the front page."""
    hrefs: list[str] = []
    for element in heading.iterdescendants("a", "h1"):
        href = element.get("href")
        if element.tag == "h1" or (href is not None and hrefs):
            return False
        if href is not None:
            hrefs.append(href)
    return bool(hrefs) and _leads_home(hrefs[0])


def _leads_home(href: str) -> bool:
    if not href.strip() or href.strip().startswith("#"):
        return False
    try:
        parts = urlsplit(href.strip())
    except ValueError:
        return False
    return parts.path.strip("/") in _HOME_PATHS and not parts.fragment and not parts.query


def _split(marked: str) -> list[Line]:
    lines = []
    chrome = 0
    in_link = False
    # Collapsing the white space of all lines at once takes less time than line by line.
    marked = " ".join(marked.split())
    spaced = not marked.encode().translate(None, _SPACED_BYTES)
    for raw in marked.split(_BREAK):
        text = raw.strip(" ")
        if not text:
            continue
        row = heading = False
        # The stylesheet writes these right behind a break.
        mark = text[0]
        if _CHROME <= mark <= _ROW:
            if mark == _CHROME:
                chrome += 1
            elif mark == _END_CHROME:
                chrome -= 1
            elif mark == _ROW:
                row = True
            else:
                heading = True
            text = text[1:].lstrip(" ")
        link_characters = len(text) if in_link else 0
        if _LINK in text:
            parts = text.split(_LINK)
            characters = sum(map(len, parts[0 if in_link else 1 :: 2]))
            in_link ^= len(parts) % 2 == 0
            text = "".join(parts).strip(" ")
            if "  " in text:
                text = " ".join(text.split())
            link_characters = min(characters, len(text))
        if text:
            words = text.count(" ") + 1 if spaced else count_words(text)
            lines.append(_new_line((text, words, link_characters, chrome > 0, row, heading)))
    return lines


@lru_cache(maxsize=1)
def _stylesheet() -> Callable[[HtmlElement], Any]:
    from lxml import etree

    def template(tags: Iterable[str], before: str, after: str) -> str:
        return (
            f'<xsl:template match="{"|".join(tags)}"><xsl:text>{before}</xsl:text>'
            f"<xsl:apply-templates/><xsl:text>{after}</xsl:text></xsl:template>"
        )

    nested_links = [f"{outer}//{inner}" for outer in _LINK_TAGS for inner in _LINK_TAGS]
    stylesheet = (
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
        '<xsl:output method="text" encoding="UTF-8"/>'
        + template(_BLOCK_TAGS, _BREAK, _BREAK)
        + template(_ROW_TAGS, _BREAK + _ROW, _BREAK)
        + template(_CELL_TAGS, " ", " ")
        + f'<xsl:template match="h1"><xsl:text>{_BREAK}{_HEADING}</xsl:text>'
        f'<xsl:apply-templates mode="heading"/><xsl:text>{_BREAK}</xsl:text></xsl:template>'
        # A heading is one line, whatever blocks are inside.
        f'<xsl:template mode="heading" match="{"|".join((*_BLOCK_TAGS, *_ROW_TAGS))}">'
        '<xsl:text> </xsl:text><xsl:apply-templates mode="heading"/><xsl:text> </xsl:text>'
        "</xsl:template>"
        f'<xsl:template mode="heading" match="{"|".join(_INVISIBLE_TAGS)}"/>'
        + template(_LINK_TAGS, _LINK, _LINK)
        # Two marks keep the state, and divide white space as the marks of other links do.
        + template(nested_links, 2 * _LINK, 2 * _LINK)
        + template(_CHROME_TAGS, _BREAK + _CHROME, _BREAK + _END_CHROME)
        + f'<xsl:template match="{"|".join(_INVISIBLE_TAGS)}"/></xsl:stylesheet>'
    )
    compiled: Callable[[HtmlElement], Any] = etree.XSLT(etree.XML(stylesheet))
    return compiled


@lru_cache(maxsize=8)
def _path(expression: str) -> Any:
    from lxml import etree

    return etree.XPath(expression)
