"""Cut the text of a page into lines, as a browser shows them, and find links and chrome.

lxml walks the page once, in C: an XSLT stylesheet writes the text of the tree, with marks where
blocks, links and chrome begin and end. Python only splits the text at these marks.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.extraction.chrome import ASIDE, FORM_LINK, OUTER, rename_by_attributes
from scrapy_simhash.lazy import etree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

# A browser shows each of these on lines of its own. Tags that are in no list separate no words.
_BLOCK_TAGS = (
    "address article blockquote body br caption center details dir div dl fieldset figcaption "
    "figure form frameset h2 h3 h4 h5 h6 header hgroup hr html legend menu ol optgroup option p "
    "pre section summary table tbody textarea tfoot thead title ul".split()
)
# Each of these is one line: a row of a table, an item of a list, a term or its description.
_ROW_TAGS = ("tr", "li", "dt", "dd")
_CELL_TAGS = ("td", "th")
_LINK_TAGS = ("a", "area", "button")
# Besides `href`, where a click leads, and what it runs.
_LEADING_ATTRIBUTES = ("@onclick", "@data-href", "@data-url", "@data-link", "@formaction")
# Hidden values that are as long protect a form, and differ from one visit to the next.
_MIN_TOKEN_CHARACTERS = 32
# Options and labels are the same on all pages with a form.
_CHROME_TAGS = ("nav", "footer", "aside", "dialog", "select", "form//label", "form//legend")
# Not `embed`: it has no end tag, so the parser puts the following text into it. What a script draws
# on a `canvas` is unknown, so its fallback counts.
_INVISIBLE_TAGS = (
    "annotation annotation-xml applet audio datalist defs desc head/title iframe metadata mphantom "
    "noembed noframes noscript rp script style svg//title symbol template video".split()
)
# The words of a picture or a formula stand apart.
_WORD_TAGS = ("text", "tspan", "mi", "mn", "ms", "mtext")
# Signs that a formula shows by the places of its parts.
_SIGNS = {"mfrac": "/", "msup": "^", "msub": "_", "mover": "^", "munder": "_"}
# Marks: private-use characters. `prepared` replaces them in pages. Links have `_LINK` at both ends,
# and begin with their targets, which `_TARGET` ends.
_BREAK, _LINK, _TARGET, _HEADING, _ROW, *_SCOPES = map(chr, range(0xE000, 0xE00D))
_CHROME, _END_CHROME, _ASIDE, _END_ASIDE, _OUTER, _END_OUTER, _MAIN, _END_MAIN = _SCOPES
# What these marks add to the numbers of open chrome, asides and blocks around the headings.
_OPENED = {
    _CHROME: (1, 0, 0), _ASIDE: (0, 1, 0), _OUTER: (0, 0, 1), _MAIN: (0, 0, 1),
    _END_CHROME: (-1, 0, 0), _END_ASIDE: (0, -1, 0), _END_OUTER: (0, 0, -1), _END_MAIN: (0, 0, -1),
}  # fmt: skip
# Beyond so many characters of a line in links, the line is mostly links.
MAX_LINK_SHARE = 0.5

# Characters of scripts without spaces between words: alphabets (Thai, Lao, Burmese, Khmer), four of
# whose letters and marks count as a word, and kana and Han characters, two of which do.
_UNSPACED_ALPHABETS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = f"{_UNSPACED_ALPHABETS}\u3040-\u30ff\u3400-\u9fff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED_ALPHABETS}]")
_WORD = re.compile(f"[^\\W_{_UNSPACED}]+")
# The bytes of UTF-8 that do not begin a character of those scripts.
_SPACED_BYTES = bytes(range(0xE0)) + b"\xe2" + bytes(range(0xEA, 0x100))
_SPACES = bytes.maketrans(b"\t\n\r", b"   ")


class Line(NamedTuple):
    """One line of a page.

    :param words: number of words, see `count_words`.
    :param link_characters: number of characters of the text that are in links; 0 in chrome.
    :param chrome: the line belongs to the chrome of the page.
    :param row: the line begins a row of a table, an item of a list, a term or its description; not
        in chrome.
    :param heading: the line is an ``h1``, and not the site's logo.
    :param targets: where the links lead that begin in the line, as the page writes it.
    :param aside: the line belongs to an aside, see `scrapy_simhash.extraction.asides`.
    :param level: number of blocks that contain both the line and all headings of the page.
    """

    text: str
    words: int
    link_characters: int
    chrome: bool = False
    row: bool = False
    heading: bool = False
    targets: tuple[str, ...] = ()
    aside: bool = False
    level: int = 0

    @property
    def is_links(self) -> bool:
        """Return True if the line is mostly links."""
        return self.link_characters > MAX_LINK_SHARE * len(self.text)


# Makes a Line from a tuple, twice as fast as `Line(…)`.
_make_line = partial(tuple.__new__, Line)


def lines_of(elements: Elements) -> list[Line]:
    """Return the visible lines of a page, in order, with white space collapsed.

    Attributes may hide an element, or make it chrome or a logo.

    :param elements: parsed from the result of `scrapy_simhash.extraction.prepared`.
    """
    renamed = rename_by_attributes(elements)
    try:
        return lines_of_clean(elements.root)
    finally:
        for element, tag in reversed(renamed):
            element.tag = tag


def lines_of_clean(root: HtmlElement) -> list[Line]:
    """Return the lines below an element, as `lines_of` does, but ignore attributes."""
    return _split(bytes(memoryview(_stylesheet()(root))))


def join(lines: Iterable[Line]) -> str:
    """Return the text of lines, joined by line breaks."""
    return "\n".join(line.text for line in lines)


def own_heading(lines: Iterable[Line]) -> Line | None:
    """Return the heading of the page: the first line with `heading` outside chrome, or None."""
    return next((line for line in lines if line.heading and not line.chrome), None)


def count_words(text: str) -> int:
    """Return the number of words in a line with collapsed white space.

    Two characters of a script without spaces count as one word; four if it is an alphabet.
    """
    if not text.isascii() and (runs := _UNSPACED_RUN.findall(text)):
        letters = len(_UNSPACED_LETTER.findall(text))
        return len(_WORD.findall(text)) + (2 * sum(map(len, runs)) - letters + 3) // 4
    return text.count(" ") + 1 if text else 0


def _split(marked: bytes) -> list[Line]:
    """Return the lines of the text that the stylesheet wrote, in UTF-8."""
    lines: list[Line] = []
    chrome = aside = level = 0
    in_link = False
    outside_main = []
    targets: list[str] = []
    has_only_spaced_scripts = not marked.translate(None, _SPACED_BYTES)
    pieces = marked.translate(_SPACES).decode().split(_BREAK)
    for raw in filter(None, map(str.strip, pieces)):
        text = raw
        row = heading = False
        mark = text[0]  # all marks except `_LINK` come right after a break
        if _HEADING <= mark <= _END_MAIN:
            text = text[1:].lstrip()
            row, heading = mark == _ROW, mark == _HEADING
            if mark >= _CHROME:
                # An unclosed tag may put the content of a page into its chrome.
                if mark == _MAIN:
                    outside_main.append((chrome, aside, in_link))
                    chrome, aside, in_link = 0, 0, False
                elif mark == _END_MAIN:
                    chrome, aside, in_link = outside_main.pop()
                elif targets and mark <= _END_CHROME:  # what no text followed is on the other side
                    _add_targets([] if chrome else lines, targets)
                opened = _OPENED[mark]
                chrome, aside, level = chrome + opened[0], aside + opened[1], level + opened[2]
            if not text:
                continue
        # Most white space is between lines: `split` for the whole page takes twice as long.
        if "  " in text or not text.isascii():
            text = " ".join(text.split())
        linked = len(text) if in_link else 0
        if _LINK in text:
            # Each second part is in a link, and begins with its target. In a `main` inside a link,
            # all links are nested, and each other part may begin with a target.
            first = 0 if in_link else 1
            parts = text.split(_LINK)
            _move_targets(parts, targets, *((0, 1) if outside_main else (first, 2)))
            characters = sum(map(len, parts[first::2]))
            in_link ^= len(parts) % 2 == 0
            text = " ".join("".join(parts).split())
            linked = min(characters, len(text))
        if text:
            words = text.count(" ") + 1 if has_only_spaced_scripts else count_words(text)
            of_line = tuple(filter(None, targets)) if targets else ()
            line = (text, words, linked, chrome > 0, row, heading, of_line, aside > 0, level)
            lines.append(_make_line(line))
            if targets:
                targets = []
    _add_targets([] if chrome else lines, targets)
    return lines


def _move_targets(parts: list[str], targets: list[str], start: int, step: int) -> None:
    """Move the targets that parts of a line begin with to `targets`."""
    for place in range(start, len(parts), step):
        target, mark, parts[place] = parts[place].rpartition(_TARGET)
        if mark:
            targets += target.split(_TARGET)


def _add_targets(lines: list[Line], targets: list[str]) -> None:
    """Move the targets of pictures after the last line outside chrome to it."""
    own = (at for at in range(len(lines) - 1, -1, -1) if targets and not lines[at].chrome)
    if (last := next(own, None)) is not None:
        before = lines[last].targets
        lines[last] = lines[last]._replace(targets=(*before, *filter(None, targets)))
    targets.clear()


@lru_cache(maxsize=1)
def _stylesheet() -> Callable[[HtmlElement], Any]:
    def template(
        tags: Iterable[str], before: str, after: str, mode: str = "", inner: str | None = None
    ) -> str:
        return (
            f'<xsl:template match="{"|".join(tags)}"{mode}><xsl:text>{before}</xsl:text>'
            f"<xsl:apply-templates{mode if inner is None else inner}/><xsl:text>{after}</xsl:text>"
            "</xsl:template>"
        )

    def everywhere(mode: str = "") -> str:
        """Return the templates that all modes need."""
        signs = "".join(
            f'<xsl:template match="{tag}"{mode}><xsl:apply-templates select="*[1]"{mode}/>'
            f"<xsl:text>{sign}</xsl:text>"
            f'<xsl:apply-templates select="*[position() &gt; 1]"{mode}/></xsl:template>'
            for tag, sign in _SIGNS.items()
        )
        return (
            f'<xsl:template match="{"|".join(_INVISIBLE_TAGS)}"{mode}/>'
            f"{template(_WORD_TAGS, ' ', ' ', mode)}{template(['mo'], ' ', '', mode)}{signs}"
            # Furigana (rt) say how the base is read. One without an end tag contains the next base.
            f'<xsl:template match="rt|rtc"{mode}><xsl:apply-templates select="rb"{mode}/>'
            "</xsl:template>"
            # Text in a picture is in elements of its own.
            f'<xsl:template match="svg"{mode}><xsl:apply-templates select="*"{mode}/>'
            f'</xsl:template><xsl:template match="math[not(*)]"{mode}>'
            '<xsl:text> </xsl:text><xsl:value-of select="@alttext"/><xsl:text> </xsl:text>'
            "</xsl:template>"
        )

    heading, chrome = ' mode="heading"', ' mode="chrome"'
    scripted = (
        f'<xsl:for-each select="{"|".join(_LEADING_ATTRIBUTES)}">'
        "<xsl:if test=\"name() = 'onclick'\">"
        f"javascript:</xsl:if><xsl:value-of select='.'/><xsl:text>{_TARGET}</xsl:text>"
        "</xsl:for-each>"
    )
    target = (
        f'</xsl:text><xsl:value-of select="@href"/><xsl:text>{_TARGET}</xsl:text>'
        # A link to nowhere has a script.
        "<xsl:if test=\"string-length(@href) &lt; 2 or starts-with(@href, 'javascript:')\">"
        f"{scripted}</xsl:if><xsl:text>"
    )
    # What a click on a row or a cell opens: a link without a text. Inside a link, that counts.
    opened = (
        f'</xsl:text><xsl:if test="({" or ".join(_LEADING_ATTRIBUTES)}) and not(ancestor::a)">'
        f"<xsl:text>{_LINK}</xsl:text>{scripted}<xsl:text>{_LINK}</xsl:text></xsl:if><xsl:text>"
    )
    # What the button of a form opens.
    submitted = (
        '</xsl:text><xsl:value-of select="@action"/>'
        f"<xsl:for-each select=\".//input[@type = 'hidden'][string-length(@value) &lt; "
        f'{_MIN_TOKEN_CHARACTERS}]">&amp;<xsl:value-of select="@name"/>=<xsl:value-of '
        f'select="@value"/></xsl:for-each><xsl:text>{_TARGET}'
    )
    nested_links = [f"{outer}//{inner}" for outer in _LINK_TAGS for inner in _LINK_TAGS]
    stylesheet = (
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
        '<xsl:output method="text" encoding="UTF-8"/>'
        + template(_BLOCK_TAGS, _BREAK, _BREAK)
        + template(_ROW_TAGS, _BREAK + _ROW + opened, _BREAK)
        + template(_CELL_TAGS, " " + opened, " ")
        # A heading is one line, whatever blocks are inside.
        + template((*_BLOCK_TAGS, *_ROW_TAGS, "main", ASIDE), " ", " ", heading)
        + template(_LINK_TAGS, _LINK + target, _LINK)
        # `_LINK` begins a link or ends it, so two of them inside a link change nothing.
        + template(nested_links, 2 * _LINK + target, 2 * _LINK)
        + template((FORM_LINK,), " " + _LINK + submitted, _LINK + " ")
        # The form says where its button leads.
        + template((f"{FORM_LINK}//button",), " ", " ")
        + template(_CHROME_TAGS, _BREAK + _CHROME, _BREAK + _END_CHROME, inner=chrome)
        # Links and rows of chrome do not count.
        + template((*_BLOCK_TAGS, *_ROW_TAGS, *_CHROME_TAGS), _BREAK, _BREAK, chrome)
        + template((*_CELL_TAGS, FORM_LINK, f"{FORM_LINK}//button"), " ", " ", chrome)
        + everywhere(heading)
        + "".join(
            everywhere(mode)
            + template(("h1",), _BREAK + _HEADING, _BREAK, mode, heading)
            + template(("main",), _BREAK + _MAIN, _BREAK + _END_MAIN, mode, "")
            + template((OUTER,), _BREAK + _OUTER, _BREAK + _END_OUTER, mode)
            + template((ASIDE,), _BREAK + _ASIDE, _BREAK + _END_ASIDE, mode)
            for mode in ("", chrome)
        )
        + "</xsl:stylesheet>"
    )
    compiled: Callable[[HtmlElement], Any] = etree.XSLT(etree.XML(stylesheet))
    return compiled
