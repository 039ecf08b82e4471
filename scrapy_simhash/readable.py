"""readability-lxml without the work that cannot change the text.

Most of what `readability.Document.summary` does goes into rewriting links, cleaning attributes,
serializing each ``div`` and measuring white space. `LeanDocument` overrides those steps with ones
that decide alike: `benchmarks/fingerprints.py --extraction` compares the texts page by page.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy_simhash.blocks import DISPLAY_NONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement

# The tags that make readability keep a ``div`` one: it looks for "<" and these in the markup, so
# that they are prefixes ("<p" also finds "<picture").
_KEEPS_DIV = ("blockquote", "dl", "div", "img", "ol", "p", "pre", "table", "ul")
_INLINE = frozenset("a b cite code em font i small span strong sub sup u".split())


def article_of(
    root: HtmlElement, parse_again: Callable[[], HtmlElement]
) -> tuple[HtmlElement, int]:
    """The element that readability takes for the article, cleaned, and how many characters the
    whole page shows at most.

    :param root: a parsed page without comments; it is changed.
    :param parse_again: gives the same page anew, for a second try that cuts away less.
    :raises readability.readability.Unparseable: it gives up.
    """
    document = _lean_document()(root, parse_again)
    document.summary(html_partial=True)
    article: HtmlElement = document.article
    return article, document.visible_characters


@lru_cache(maxsize=1)
def _lean_document() -> type[Any]:
    """The class is made when first asked for, so that importing this costs no readability."""
    import readability
    from readability.readability import REGEXES

    # It logs each candidate of each page at DEBUG, and a traceback for each page it gives up.
    log = logging.getLogger("readability.readability")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)

    @lru_cache(maxsize=16384)
    def is_unlikely(names: str) -> bool:
        # Pages of a site share their class names.
        return bool(
            REGEXES["unlikelyCandidatesRe"].search(names)
            and not REGEXES["okMaybeItsACandidateRe"].search(names)
        )

    class LeanDocument(readability.Document):  # type: ignore[misc]
        """A Document whose steps cost less; see the module."""

        article: HtmlElement | None = None
        visible_characters = 0

        def __init__(self, root: HtmlElement, parse_again: Callable[[], HtmlElement]) -> None:
            super().__init__(root)
            self._parse_again = parse_again

        def _parse(self, root: HtmlElement | None) -> HtmlElement:
            # summary() asks for a fresh tree when its first, ruthless try finds too little.
            self.encoding = "utf-8"
            self.input = None
            if root is None:
                root = self._parse_again()
            for element in root.xpath("//script | //style | //link | //*[@hidden]"):
                _drop(element)
            for element in root.xpath("//*[@style]"):
                if DISPLAY_NONE.search(element.get("style")):
                    _drop(element)
            for element in root.iter("image"):
                element.tag = "img"
            self.visible_characters = len(root.text_content())
            return root

        def get_link_density(self, elem: HtmlElement) -> float:
            linked = sum(_length(a.text_content()) for a in elem.iterfind(".//a"))
            return linked / max(_length(elem.text_content()), 1) if linked else 0.0

        def remove_unlikely_candidates(self) -> None:
            for element in self.html.xpath("//*[@class or @id][not(self::html or self::body)]"):
                names = f"{element.get('class', '')} {element.get('id', '')}"
                if is_unlikely(names) and not element.xpath(
                    "ancestor-or-self::pre | ancestor-or-self::code | descendant-or-self::main"
                    " | descendant-or-self::article | descendant-or-self::math"
                ):
                    element.drop_tree()

        def transform_misused_divs_into_paragraphs(self) -> None:
            divs = self.html.findall(".//div")
            for div in divs:
                if not _holds_block(div):
                    div.tag = "p"
            for div in divs:
                if div.tag == "div":
                    _wrap_loose_text(div)

        def get_clean_html(self) -> str:
            # Called last, on the article. summary() only measures what it gets back, to see
            # whether a second try is needed; the text alone shows that it is not.
            self.article = self.html
            text: str = self.html.text_content()
            if len(text) >= self.retry_length:
                return text
            clean: str = super().get_clean_html()
            return clean

    return LeanDocument


def _drop(element: HtmlElement) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def _length(text: str) -> int:
    """Characters of a text whose white space is collapsed."""
    return len(" ".join(text.split()))


def _holds_block(element: HtmlElement) -> bool:
    return any(
        isinstance(inner.tag, str) and inner.tag.startswith(_KEEPS_DIV)
        for inner in element.iterdescendants()
    )


def _wrap_loose_text(div: HtmlElement) -> None:
    """Give text that stands between the blocks of a ``div`` paragraphs of its own."""
    from lxml.html import Element

    children = list(div)
    run = None
    if div.text and div.text.strip():
        run = Element("p")
        run.text, div.text = div.text, None
        div.insert(0, run)
    for child in children:
        if child.tag not in _INLINE or _holds_block(child):
            run = None
            continue
        if run is None:
            run = Element("p")
            child.addprevious(run)
        run.append(child)
    for child in reversed(list(div)):
        if child.tail and child.tail.strip():
            paragraph = Element("p")
            paragraph.text, child.tail = child.tail, None
            child.addnext(paragraph)
        if child.tag == "br":
            child.drop_tree()
