"""Draw a random sample of documents, and fingerprint them as a crawl would."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.detector import Detector, PageFingerprint, evidence_of
from scrapy_simhash.documents.reader import Document, HtmlDocument, Skipped
from scrapy_simhash.errors import ExtractionError
from scrapy_simhash.extraction import Extraction, extract
from scrapy_simhash.inspection import content_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simhash.scheme import Scheme


@dataclass
class Sample:
    """A random sample of the readable documents.

    :param read: number of readable documents.
    :param unreadable: number of unreadable documents, by reason.
    :param repeated: number of drawn documents that were left out, because another drawn document
        has the same name.
    """

    read: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    # (name, True for HTML, text); texts are compressed to save memory.
    _drawn: list[tuple[str, bool, bytes]] = field(default_factory=list)

    @classmethod
    def draw(
        cls,
        documents: Iterable[Document | Skipped],
        size: int,
        seed: int,
        *,
        on_progress: Callable[[], object] = lambda: None,
        on_skipped: Callable[[Skipped], object] = lambda _skipped: None,
    ) -> Sample:
        """Return a uniform random sample, drawn in one pass (Vitter's algorithm R).

        :param size: upper limit for the documents to draw.
        :param on_progress: called for each readable document.
        :param on_skipped: called for each unreadable document.
        """
        sample = cls()
        chance = random.Random(seed)  # noqa: S311 - no secret
        for document in documents:
            if isinstance(document, Skipped):
                sample.unreadable[document.reason] += 1
                on_skipped(document)
                continue
            place = sample.read if sample.read < size else chance.randrange(sample.read + 1)
            sample.read += 1
            if place < size:
                packed = (
                    document.name,
                    isinstance(document, HtmlDocument),
                    zlib.compress(document.text.encode("utf-8", "surrogatepass"), 1),
                )
                sample._drawn[place : place + 1] = [packed]
            on_progress()
        by_name: dict[str, tuple[str, bool, bytes]] = {}
        for packed in sample._drawn:
            by_name.setdefault(packed[0], packed)
        sample.repeated = len(sample._drawn) - len(by_name)
        sample._drawn = list(by_name.values())
        return sample

    def __len__(self) -> int:
        return len(self._drawn)

    def pages(
        self,
        schemes: Sequence[Scheme],
        min_tokens: int,
        *,
        on_progress: Callable[[], object] = lambda: None,
    ) -> list[SampledPage]:
        """Return the documents of the sample, extracted and fingerprinted.

        :param schemes: at least one; all have the same extractor and selectors.
        :param on_progress: called for each page.
        """
        detectors = [Detector(scheme, min_tokens=min_tokens) for scheme in schemes]
        pages = []
        for name, is_html, packed in self._drawn:
            text = zlib.decompress(packed).decode("utf-8", "surrogatepass")
            pages.append(_page(name, text, detectors, is_html=is_html))
            on_progress()
        return pages


class SampledPage(NamedTuple):
    """A page of the sample.

    :param content: an estimate of the content that does not depend on the scheme's extractor: what
        `segments` extracts. The main text if the user's selectors matched, or if the document is
        plain text. Empty if the extraction failed.
    :param fingerprints: one for each scheme.
    """

    name: str
    extraction: Extraction
    content: str
    fingerprints: list[PageFingerprint]


def _page(name: str, text: str, detectors: Sequence[Detector], *, is_html: bool) -> SampledPage:
    extraction, content = Extraction(text), text
    if is_html:
        scheme = detectors[0].scheme
        try:
            extraction = extract(text, scheme.extractor, scheme.selectors)
        except ExtractionError as error:
            failed = PageFingerprint(skipped="extraction_error", error=str(error))
            return SampledPage(name, Extraction(""), "", [failed] * len(detectors))
        is_selected = extraction.way == "selected"
        content = extraction.text if is_selected else content_text(text, scheme.remove)
    pages = [detector.fingerprint_extraction(extraction) for detector in detectors]
    fingerprints = [replace(page, evidence=evidence_of(name, page)) for page in pages]
    return SampledPage(name, extraction, content, fingerprints)
