"""Extractors by name, and the choice between readability and segments.

readability is made for articles. On other pages, such as documentation, it often returns a sidebar
or almost nothing. Different pages with the same sidebar would then look like copies. So if
readability finds fewer words than `scrapy_simhash.extraction.segments`, the text is that of the
segments. The rule needs no other page, so the same page always has the same text.
``docs/decisions/extraction.md`` has the figures.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from html import unescape
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from scrapy_simhash.errors import ExtractionError, SchemeError
from scrapy_simhash.extraction.asides import asides
from scrapy_simhash.extraction.consent import consent_elements
from scrapy_simhash.extraction.declared import declared_phrases
from scrapy_simhash.extraction.lines import count_words, join, lines_of_clean, own_heading
from scrapy_simhash.extraction.page import Extraction, Page, prepared
from scrapy_simhash.extraction.readability import article_of
from scrapy_simhash.extraction.script_data import is_notice
from scrapy_simhash.extraction.segments import MIN_CONTENT_WORDS, words_of
from scrapy_simhash.extraction.selectors import Selectors
from scrapy_simhash.markup import is_markup, mentions_escaped, repaired

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements
    from scrapy_simhash.extraction.lines import Line

# Without the semicolon, "&copy" may belong to a URL.
_REFERENCE = re.compile(r"&(?:#\d{1,8}|#[xX][\da-fA-F]{1,7}|[a-zA-Z][a-zA-Z\d]{1,31});")
_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


def extract(
    html: str, extractor: str = "readability", selectors: Selectors | None = None
) -> Extraction:
    """Return the main text of an HTML page, which may be empty, with its title and other facts.

    :param html: a decoded page; it may be broken, empty, or not HTML at all.
    :param extractor: a name in `EXTRACTORS`, or the import path of a function from HTML to text.
    :raises ExtractionError: parsing, a selector or the extractor fails on the page.
    :raises SchemeError: the extractor is missing or not installed, or a selector is not valid.
    """
    extract_text = find_extractor(extractor)
    try:
        content = prepared(html)
        if not content:
            return Extraction("", way=extractor)
        page = Page(content, selectors or Selectors())
        about = page.about
        if page.selected is not None:
            return replace(about, text=page.selected, way="selected")
        text = extract_text(page)
        notice = is_notice(text, lambda: page.elements or page.parse())
        if notice and (declared := _declared_text(page)):
            return replace(about, text=declared, way="declared")
        return replace(about, text=text, way=page.way or extractor, is_notice=notice)
    except (SchemeError, MemoryError):  # a worker that has no memory left must exit
        raise
    except Exception as error:
        raise ExtractionError(extractor, f"{type(error).__name__}: {error}") from error


def _declared_text(page: Page) -> str:
    """Return the text that a page declares in JSON-LD, if it is enough to stand for the page."""
    elements = page.elements or page.parse()
    phrases = [] if elements is None else list(map(plain_text, declared_phrases(elements)))
    return "\n".join(phrases) if sum(map(count_words, phrases)) >= MIN_CONTENT_WORDS else ""


def _readability(page: Page) -> str:
    segments = page.content
    # readability takes a long consent dialog for the article.
    is_with_asides = any(line.aside for line in segments)
    article = _article(page, (consent_elements,) if is_with_asides else (consent_elements, asides))
    # readability takes short pages as a whole. An unclosed tag may put the content into chrome.
    own = [line for line in article if not line.chrome]
    if 2 * words_of(own) >= words_of(article):
        article = own
    heading = own_heading(page.lines)
    if heading is not None and all(line.text != heading.text for line in article):
        article.insert(0, heading)
    if words_of(article) < words_of(segments):
        page.way = "segments"
        return join(segments)
    return join(article)


def _article(
    page: Page, drop: Sequence[Callable[[Elements], list[HtmlElement]]] = ()
) -> list[Line]:
    elements, page.elements = page.elements, None  # readability changes their tree
    if elements is None:
        return []
    return lines_of_clean(article_of(elements, page.parse, drop))


def _trafilatura(page: Page) -> str:
    from trafilatura import extract as trafilatura_extract

    return trafilatura_extract(page.html(), fast=True, include_comments=False) or ""


def _resiliparse(page: Page) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    text: str = extract_plain_text(page.html(), main_content=True, alt_texts=False)
    return text


EXTRACTORS: Mapping[str, Callable[[Page], str]] = {
    "readability": _readability,
    "readability-only": lambda page: join(_article(page)),
    "segments": lambda page: join(page.content),
    "text": lambda page: join(page.lines),
    "trafilatura": _trafilatura,
    "resiliparse": _resiliparse,
}
"""Functions that return the text of a page, by name."""
# Extractors that need the extra of the same name.
_EXTRAS = ("trafilatura", "resiliparse")


def is_extractor(name: str) -> bool:
    """Return True for a name in `EXTRACTORS`, and for a name that looks like an import path."""
    return name in EXTRACTORS or _IMPORT_PATH.fullmatch(name) is not None


@lru_cache(maxsize=64)
def find_extractor(name: str) -> Callable[[Page], str]:
    """Return the extractor of a name or import path. :raises SchemeError: it cannot be used."""
    if name in _EXTRAS and find_spec(name) is None:
        raise SchemeError(
            f"the extractor {name} is not installed: pip install scrapy-simhash[{name}]"
        )
    if name in EXTRACTORS:
        return EXTRACTORS[name]
    module, _, attribute = name.rpartition(".")
    try:
        function: Callable[[str], object] = getattr(import_module(module), attribute)
        if not callable(function):
            raise TypeError("not callable")
    except Exception as error:
        raise SchemeError(
            f"extractor={name!r}: one of {', '.join(EXTRACTORS)}, or the import path of a "
            f"function from HTML to text ({type(error).__name__}: {error})"
        ) from error

    def extract_by_function(page: Page) -> str:
        text = function(page.html())
        if text is not None and not isinstance(text, str):
            raise TypeError(f"it returned {type(text).__name__}, not a string")
        return text or ""

    return extract_by_function


def plain_text(text: str) -> str:
    """Return what a browser shows of a text that is markup, else the text. Decode references, such
    as ``&amp;``, in either case. Errors are those of `extract`.
    """
    if "<" in text and is_markup(marked := mentions_escaped(text)):
        visible = extract(repaired(marked), "text").text
        if visible or "</" in text:
            return visible  # else it is the name of a tag
    return _REFERENCE.sub(lambda found: unescape(found[0]), text) if "&" in text else text
