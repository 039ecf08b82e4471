"""What the detector and its peers make of each document, on two processes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, MutableMapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from common import body_of
from scrapy.http import HtmlResponse

from quality_lib import peers
from scrapy_simhash import detector
from scrapy_simhash.detector import Detector
from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.tokens import tokenization

if TYPE_CHECKING:
    from quality_lib.corpus import Document
    from scrapy_simhash.scheme import Scheme

PROCESSES = 2
_REMEMBERED = 8


class Served(NamedTuple):
    """What a scheme's detector says of one document."""

    fingerprint: int | None
    tokens: int
    skipped: str | None
    way: str = ""
    evidence: Evidence = NO_EVIDENCE


class Row(NamedTuple):
    """One document: by scheme, and by peer."""

    schemes: list[Served]
    peers: list[Any]


def serve(
    documents: Sequence[Document],
    schemes: Sequence[Scheme],
    peer_names: Sequence[str],
    *,
    pages: bool,
    min_tokens: int,
    processes: int = PROCESSES,
) -> list[Row]:
    """Fingerprint documents by all schemes, and by the peers.

    Peers know neither pages nor short texts: they get the texts of the first scheme's extractor,
    and none where its detector skips.

    :param pages: serve the HTML where there is any, else the text.
    """
    work = partial(
        _serve, schemes=list(schemes), peer_names=list(peer_names), pages=pages, least=min_tokens
    )
    if processes <= 1:
        return [work(doc) for doc in documents]
    with ProcessPoolExecutor(processes, initializer=_initialize) as executor:
        return list(executor.map(work, documents, chunksize=8))


def decoded(body: bytes) -> str:
    """A page as a crawl sees it that is told no charset in the header."""
    return HtmlResponse("http://localhost/", body=body).text


def _initialize() -> None:
    """Schemes that differ in bits alone ask for the same texts and tokens: these processes
    remember those of the last few documents.
    """
    _quiet()
    detector.extract = lru_cache(_REMEMBERED)(detector.extract)
    tokenizers = tokenization.TOKENIZERS
    if isinstance(tokenizers, MutableMapping):
        for name, tokenizer in list(tokenizers.items()):
            tokenizers[name] = tokenizer._replace(tokens=_remembering(tokenizer.tokens))


def _remembering(tokenize: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    remembered = lru_cache(_REMEMBERED)(lambda text: tuple(tokenize(text)))
    return lambda text: list(remembered(text))


def _quiet() -> None:
    if not sys.warnoptions and not os.environ.get("PYTHONWARNINGS"):
        warnings.simplefilter("ignore")  # jieba 0.42.1 has a line of them for each process


def _serve(
    doc: Document, *, schemes: list[Scheme], peer_names: list[str], pages: bool, least: int
) -> Row:
    html = None
    if pages and doc.page is not None:
        html = decoded(body_of(doc.page))
    row = Row([], [])
    for scheme in schemes:
        judge = Detector(scheme, min_tokens=least)
        page = judge.fingerprint_text(doc.text) if html is None else judge.fingerprint_page(html)
        row.schemes.append(
            Served(
                page.fingerprint,
                page.tokens,
                page.skipped,
                page.way or ("text" if html is None else scheme.extractor),
                page.evidence,
            )
        )
    text = doc.text
    skipped = not row.schemes or row.schemes[0].skipped is not None
    if html is not None and peer_names and not skipped:
        try:
            text = detector.extract(html, schemes[0].extractor).text
        except ExtractionError:
            skipped = True
    row.peers.extend(None if skipped else peers.PEERS[name].digest(text) for name in peer_names)
    return row
