"""Cut the text of a page into lines, as a browser shows them, and find links and chrome.

Chrome is what surrounds the content of a page: navigation, footers, sidebars, dialogs, cookie
banners. lxml walks the page once, in C: an XSLT stylesheet writes the text of the tree, with marks
where blocks, links and chrome begin and end. Python only splits the text at these marks.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lxml.html import HtmlElement

# A browser shows each of these on lines of its own. Tags that are in no list separate no words.
_BLOCK_TAGS = (
    "address article blockquote body br caption center details dir div dl fieldset figcaption "
    "figure form frameset h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol optgroup "
    "option p pre section select summary table tbody tfoot thead title ul".split()
)
# A table row is one line, and so is a term or a description in a list of terms.
_ROW_TAGS = ("tr", "dt", "dd")
_CELL_TAGS = ("td", "th")
_LINK_TAGS = ("a", "button")
_CHROME_TAGS = ("nav", "footer", "aside", "dialog")
# Not `embed`: it has no end tag, so the parser puts the following text into it.
_INVISIBLE_TAGS = (
    "applet audio canvas head iframe math noframes noscript object script style svg "
    "template textarea video".split()
)
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

# Marks: private-use characters. `prepared` replaces them in pages. Links have `_LINK` at both ends.
_BREAK, _CHROME, _END_CHROME, _HEADING, _ROW, _LINK = map(chr, range(0xE000, 0xE006))

# Characters of scripts without spaces between words. Two of them count as a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(f"[^\\W_{_UNSPACED}]+")
# The bytes of UTF-8 that do not begin a character of those scripts.
_SPACED_BYTES = bytes(range(0xE0)) + b"\xe2" + bytes(range(0xEA, 0x100))


class Line(NamedTuple):
    """One line of a page.

    :param words: number of words, see `count_words`.
    :param link_characters: number of characters of the text that are in links.
    :param chrome: the line belongs to the chrome of the page.
    :param row: the line begins a row of a table, or a term or description in a list of terms.
    :param heading: the line is an ``h1``, and not the site's logo.
    """

    text: str
    words: int
    link_characters: int
    chrome: bool = False
    row: bool = False
    heading: bool = False


# Makes a Line from a tuple, twice as fast as `Line(…)`.
_make_line = partial(tuple.__new__, Line)


def lines_of(root: HtmlElement, *, clean: bool = False) -> list[Line]:
    """Return the visible lines below an element, in order, with white space collapsed.

    :param root: parsed from the result of `scrapy_simhash.extraction.prepared`.
    :param clean: ignore attributes, which is faster. Otherwise they may hide an element, or make it
        chrome or a logo.
    """
    renamed = [] if clean else _rename(root)
    try:
        text = str(_stylesheet()(root))
    finally:
        for element, tag in renamed:
            element.tag = tag
    return _split(text)


def join(lines: Iterable[Line]) -> str:
    """Return the text of lines, joined by line breaks."""
    return "\n".join(line.text for line in lines)


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


def own_heading(lines: Iterable[Line]) -> Line | None:
    """Return the heading of the page: the first line with `heading` outside chrome, or None."""
    return next((line for line in lines if line.heading and not line.chrome), None)


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


def count_words(text: str) -> int:
    """Return the number of words in a line with collapsed white space.

    Two characters of a script without spaces count as one word.
    """
    if not text.isascii() and (runs := _UNSPACED_RUN.findall(text)):
        return len(_WORD.findall(text)) + (sum(map(len, runs)) + 1) // 2
    return text.count(" ") + 1 if text else 0


def _rename(root: HtmlElement) -> list[tuple[HtmlElement, str]]:
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
        and any(map(_LOGO.search, names.split()))
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
    href = hrefs[0].strip() if hrefs else ""
    if not href or href.startswith("#"):
        return False
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return parts.path.strip("/") in _HOME_PATHS and not parts.fragment and not parts.query


def _split(marked: str) -> list[Line]:
    """Return the lines of the text that the stylesheet wrote."""
    lines = []
    chrome_depth = 0
    in_link = False
    # Collapsing the white space of all lines at once is faster than line by line.
    marked = " ".join(marked.split())
    has_only_spaced_scripts = not marked.encode().translate(None, _SPACED_BYTES)
    for raw in marked.split(_BREAK):
        text = raw.strip(" ")
        if not text:
            continue
        row = heading = False
        mark = text[0]  # all marks except `_LINK` come right after a break
        if _CHROME <= mark <= _ROW:
            chrome_depth += (mark == _CHROME) - (mark == _END_CHROME)
            row, heading = mark == _ROW, mark == _HEADING
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
            words = text.count(" ") + 1 if has_only_spaced_scripts else count_words(text)
            lines.append(_make_line((text, words, link_characters, chrome_depth > 0, row, heading)))
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
        # `_LINK` begins a link or ends it, so two of them inside a link change nothing.
        + template(nested_links, 2 * _LINK, 2 * _LINK)
        + template(_CHROME_TAGS, _BREAK + _CHROME, _BREAK + _END_CHROME)
        + f'<xsl:template match="{"|".join(_INVISIBLE_TAGS)}"/></xsl:stylesheet>'
    )
    compiled: Callable[[HtmlElement], Any] = etree.XSLT(etree.XML(stylesheet))
    return compiled


@lru_cache(maxsize=1)
def _attributes() -> Any:
    """Return a search for hidden, style and role attributes. It is faster than three searches."""
    from lxml import etree

    return etree.XPath(
        " | ".join(f"descendant-or-self::*/@{n}" for n in ("hidden", "style", "role"))
    )
