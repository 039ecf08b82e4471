"""Draw a random sample of documents, and fingerprint them as a crawl would."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.detector import evidence_of
from scrapy_simhash.documents.reader import Document, Skipped
from scrapy_simhash.extraction import Extraction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simhash.detector import Detector
    from scrapy_simhash.evidence import Evidence


class Sample(NamedTuple):
    """A random sample of the readable documents, each with a name of its own.

    :param read: number of readable documents.
    :param left_out: number of documents that were not read or not fingerprinted, by reason.
    """

    documents: list[Document]
    read: int
    left_out: Counter[str]


class SampledPage(NamedTuple):
    """A page of the sample that has a fingerprint, and its evidence."""

    extraction: Extraction
    fingerprint: int
    evidence: Evidence


def draw(documents: Iterable[Document | Skipped], size: int) -> Sample:
    """Return a uniform random sample of at most `size` documents, drawn in one pass (Vitter's
    algorithm R). Two calls with the same documents return the same sample.
    """
    drawn: list[Document] = []
    left_out: Counter[str] = Counter()
    read = 0
    chance = random.Random(1)  # noqa: S311 - no secret
    for document in documents:
        if isinstance(document, Skipped):
            left_out[document.reason] += 1
            continue
        place = read if read < size else chance.randrange(read + 1)
        read += 1
        if place < size:
            drawn[place : place + 1] = [document]
    by_name = {document.name: document for document in drawn}
    if repeated := len(drawn) - len(by_name):
        left_out["repeated name"] = repeated
    return Sample(list(by_name.values()), read, left_out)


def fingerprinted(
    documents: Iterable[Document], detector: Detector, left_out: Counter[str]
) -> Iterator[SampledPage]:
    """Yield the pages that a crawl would not skip; count the others in `left_out`, by reason."""
    for document in documents:
        if document.is_html:
            extraction, page = detector.extract_and_fingerprint(document.text)
        else:
            extraction = Extraction(document.text)
            page = detector.fingerprint_extraction(extraction)
        if page.fingerprint is None:
            left_out[str(page.skipped)] += 1
        else:
            evidence = evidence_of(document.name, page)
            yield SampledPage(extraction, page.fingerprint, evidence)
