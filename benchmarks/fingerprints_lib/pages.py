"""Extraction: time for a page, and whether our readability gives the text of the stock one."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from scrapy.http import HtmlResponse

from fingerprints_lib.timing import Candidate, Missing
from scrapy_simhash import Scheme
from scrapy_simhash.detector import Detector
from scrapy_simhash.extraction import extract, visible_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

LEAN = "ours readability-only"
STOCK = "stock readability: summary()"


class PageOfSet(NamedTuple):
    """A decoded page.

    :param language: two letters, or nothing where the set does not say.
    """

    name: str
    html: str
    language: str = ""


def pages(folders: Iterable[Path]) -> list[PageOfSet]:
    """The pages of page sets, decoded as Scrapy decodes them."""
    found = []
    for folder in folders:
        with (folder / "docs.jsonl").open(encoding="utf-8") as file:
            docs = [doc for doc in map(json.loads, file) if doc.get("file")]
        for doc in docs:
            body = (folder / doc["file"]).read_bytes()
            body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
            response = HtmlResponse("https://localhost/", body=body)
            language = str(doc.get("lang", "")).lower()[:2]
            found.append(PageOfSet(f"{folder.name} {doc['id']}", response.text, language))
    return found


def _kept(run: Callable[[str], object]) -> Callable[[PageOfSet], object]:
    """An extractor that gives up on a page has done its work."""

    def attempt(page: PageOfSet) -> object:
        try:
            return run(page.html)
        except Exception as error:  # noqa: BLE001
            return error

    return attempt


def whole_way() -> list[Candidate]:
    """From HTML to text, to fingerprint, and to fingerprint and sketch; `segments` first."""
    found = []
    for extractor in ("segments", "readability"):
        scheme = replace(Scheme.preset("wide"), extractor=extractor)
        found.append(
            Candidate(f"{extractor}: to text", _kept(partial(extract, extractor=extractor)))
        )
        for goal, sketches in (("fingerprint", False), ("fingerprint and sketch", True)):
            detector = Detector(scheme, sketches=sketches)
            found.append(Candidate(f"{extractor}: to {goal}", _kept(detector.fingerprint_page)))
    return found


def stock_readability(html: str) -> str:
    """Its article, as HTML."""
    from readability import Document

    article: str = Document(html).summary(html_partial=True)
    return article


def extractors() -> list[Candidate | Missing]:
    """Ours with its fallback first, then ours as readability alone, and the others."""
    found: list[Candidate | Missing] = [
        Candidate("ours readability, with fallback", _kept(extract)),
        Candidate("ours segments", _kept(lambda html: extract(html, "segments"))),
        Candidate(LEAN, _kept(lambda html: extract(html, "readability-only"))),
        Candidate(STOCK, _kept(stock_readability)),
    ]
    try:
        from trafilatura import extract as trafilatura
    except ImportError:
        found.append(Missing("trafilatura", "not installed: pip install trafilatura"))
    else:
        found += [
            Candidate("trafilatura: extract()", _kept(trafilatura)),
            Candidate("trafilatura: fast", _kept(lambda html: trafilatura(html, fast=True))),
        ]
    try:
        from resiliparse.extract.html2text import extract_plain_text
    except ImportError:
        found.append(Missing("resiliparse", "not installed: pip install resiliparse"))
    else:
        found.append(
            Candidate(
                "resiliparse: main content",
                _kept(lambda html: extract_plain_text(html, main_content=True)),
            )
        )
    return found


class Difference(NamedTuple):
    """A page on which ours and the stock readability differ.

    :param ours: characters, white space aside.
    :param at: the stretches from where they part to where they meet again.
    """

    page: str
    ours: int
    stock: int
    at: tuple[str, str]


def differences(pages_: Sequence[PageOfSet]) -> list[Difference]:
    """Pages with another text, white space aside. The stock's HTML becomes text as ours does."""
    found = []
    for page in pages_:
        ours = _text(page.html, lambda html: extract(html, "readability-only").text)
        stock = _text(page.html, lambda html: visible_text(stock_readability(html)))
        if ours != stock:
            found.append(Difference(page.name, len(ours), len(stock), parting(ours, stock)))
    return found


def parting(a: str, b: str) -> tuple[str, str]:
    """Two texts without what they begin and end with in common."""
    start = _common(a, b)
    a, b = a[start:], b[start:]
    end = _common(a[::-1], b[::-1])
    return a[: len(a) - end], b[: len(b) - end]


def _common(a: str, b: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((at for at, (x, y) in pairs if x != y), min(len(a), len(b)))


def _text(html: str, extractor: Callable[[str], str]) -> str:
    """Without white space; empty where the extractor gives up."""
    try:
        return "".join(extractor(html).split())
    except Exception:  # noqa: BLE001
        return ""
