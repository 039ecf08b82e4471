"""A page as the lines of text that a browser would show, with what tells prose from chrome.

Boilerplate is known by shallow features: short blocks, blocks made of links, and blocks inside
navigation (Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text
Features", WSDM 2010).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

# What a browser shows on lines of its own; elsewhere tags don't separate words.
BLOCK_TAGS = frozenset(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html "
    "legend li main menu nav ol optgroup option p pre section select summary table tbody td "
    "tfoot th thead title tr ul".split()
)
# Not `embed`: it has no end tag, and the parser puts what follows into it.
INVISIBLE_TAGS = frozenset(
    "applet audio canvas head iframe math noframes noscript object script style svg "
    "template textarea video".split()
)
_MARKS = {
    "a": "link",
    "button": "link",
    "nav": "chrome",
    "footer": "chrome",
    "aside": "chrome",
    "form": "chrome",
    "pre": "pre",
}
_MAYBE_HIDDEN = ".//*[@hidden or @style]"

DISPLAY_NONE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\s*(?:!\s*important\s*)?(?:;|$)",
    re.IGNORECASE,
)
# A word, or a character of a script that writes no spaces.
_UNIT = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|[^\\W_]+")

_MIN_PROSE_UNITS = 10
_MAX_LINK_SHARE = 0.4


class Block(NamedTuple):
    """One line of a page.

    :param link_characters: how many of its characters stand in links.
    :param chrome: it stands in navigation, a footer, an aside or a form.
    :param preformatted: it stands in ``pre``, where short lines are content.
    """

    text: str
    link_characters: int
    chrome: bool
    preformatted: bool


def iterate_blocks(root: HtmlElement) -> Iterator[Block]:
    """The visible lines below an element, in order; white space is collapsed."""
    from lxml import etree

    hidden = {element for element in root.xpath(_MAYBE_HIDDEN) if _is_hidden(element)}
    pieces: list[tuple[str, bool]] = []
    depth = {"link": 0, "chrome": 0, "pre": 0}
    skipped = None
    walker = etree.iterwalk(root, events=("start", "end"))
    for event, element in walker:
        tag = element.tag
        if event == "start":
            if tag in INVISIBLE_TAGS or (hidden and element in hidden):
                walker.skip_subtree()
                skipped = element
                continue
            step = 1
            text = element.text
        else:
            step = -1
            text = element.tail if element is not root else None
        if element is not skipped:
            if tag in BLOCK_TAGS and pieces:
                yield from _block(pieces, depth)
                pieces = []
            if tag in _MARKS:
                depth[_MARKS[tag]] += step
        if text:
            pieces.append((text, depth["link"] > 0))
    if pieces:
        yield from _block(pieces, depth)


def join(blocks: Iterable[Block]) -> str:
    """The text of blocks, one a line."""
    return "\n".join(block.text for block in blocks)


def content_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Those that are not navigation: outside of chrome, and not made of links."""
    return [
        block
        for block in blocks
        if not block.chrome and block.link_characters <= _MAX_LINK_SHARE * len(block.text)
    ]


def prose_characters(content: Iterable[Block]) -> int:
    """How much running text there is: short lines don't count, but in ``pre``."""
    return sum(
        len(block.text)
        for block in content
        if block.preformatted or len(_UNIT.findall(block.text)) >= _MIN_PROSE_UNITS
    )


def _is_hidden(element: HtmlElement) -> bool:
    style = element.get("style")
    return element.get("hidden") is not None or DISPLAY_NONE.search(style or "") is not None


def _block(pieces: list[tuple[str, bool]], depth: dict[str, int]) -> Iterator[Block]:
    text = " ".join("".join([piece for piece, _ in pieces]).split())
    if text:
        linked = " ".join("".join([piece for piece, linked in pieces if linked]).split())
        yield Block(text, len(linked), depth["chrome"] > 0, depth["pre"] > 0)
