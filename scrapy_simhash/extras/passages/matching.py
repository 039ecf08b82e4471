"""Find passages of a text that also appear in stored documents, verbatim or nearly so.

A *neighbour* of a passage is a stored fingerprint within the distance. A *source* is a passage of a
document that is similar enough. *Exact* mode looks a passage up in all tables and keeps its most
similar sources. *Fast* mode stops at the first neighbour with a source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.extras.passages import DEFAULT_COMMON_DOCUMENTS, DEFAULT_MIN_SIMILARITY
from scrapy_simhash.extras.passages.result import (
    DEFAULT_HIGH_SIMILARITY,
    CheckedPassage,
    Level,
    PassageReport,
    Source,
    summed_up,
)
from scrapy_simhash.folding import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simhash.extras.passages.rows import Place
    from scrapy_simhash.extras.passages.store import PassageStore
    from scrapy_simhash.index.base import Entry

Mode = Literal["exact", "fast"]

_MAX_SOURCES = 5
# A boilerplate passage may have thousands of neighbours in thousands of documents. Only the first
# neighbours, and the first documents of each, are compared.
_MAX_NEIGHBOURS = 64
_MAX_DOCUMENTS = 32
# A text of thousands of similar sentences may have millions of neighbours. After this many, the
# first neighbours are not the nearest, but those that the tables find first, which is faster.
_MAX_NEIGHBOURS_OF_TEXT = 100_000


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of a check.

    :param mode: ``exact`` or ``fast``.
    :param min_similarity: least similarity of a source, from 0 to 1.
    :param high_similarity: least similarity of a passage of level ``high``, from 0 to 1.
    :param common_documents: a passage in at least so many documents is common; 0 disables this.
    :param ignore_common: exclude common passages from all shares except `common_share`.
    :raises SchemeError: a value is invalid.
    """

    mode: Mode = "exact"
    min_similarity: float = DEFAULT_MIN_SIMILARITY
    high_similarity: float = DEFAULT_HIGH_SIMILARITY
    common_documents: int = DEFAULT_COMMON_DOCUMENTS
    ignore_common: bool = False

    def __post_init__(self) -> None:
        if self.mode not in ("exact", "fast"):
            raise SchemeError(f"mode={self.mode!r}: exact or fast is needed")
        for name in ("min_similarity", "high_similarity"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise SchemeError(f"{name}={value!r}: 0 to 1 is needed")
        if type(self.common_documents) is not int or self.common_documents < 0:
            raise SchemeError(f"common_documents={self.common_documents!r}: 0 or more is needed")


class Matcher:
    """A matcher of a text against the documents of a store.

    It computes similarities from the stored texts, or estimates them from the fingerprints if the
    store keeps no texts.

    :param exclude: name of a document that is no source.
    """

    def __init__(self, store: PassageStore, options: CheckOptions, exclude: str | None) -> None:
        self._store = store
        self._scheme = store.manifest.scheme
        self._options = options
        self._verify = store.manifest.keep_text
        self._neighbour_count = 0
        self._excluded = None if exclude is None else store.number(exclude)

    def check(
        self, name: str, text: str, on_progress: Callable[[int, int], None] | None
    ) -> PassageReport:
        """Return the report that `PassageIndex.check` describes."""
        spans = self._scheme.cutting.spans(text)
        by_text: dict[str, CheckedPassage] = {}
        passages = []
        for done, (start, end) in enumerate(spans, 1):
            passage = text[start:end]
            if passage not in by_text:
                by_text[passage] = self._check_passage(start, end, passage)
            passages.append(replace(by_text[passage], start=start, end=end))
            if on_progress is not None:
                on_progress(done, len(spans))
        return summed_up(
            name,
            text,
            passages,
            mode=self._options.mode,
            verified=self._verify,
            high_similarity=self._options.high_similarity,
            ignore_common=self._options.ignore_common,
        )

    def _check_passage(self, start: int, end: int, passage: str) -> CheckedPassage:
        fingerprint = self._scheme.fingerprint(passage)
        if fingerprint is None:
            return CheckedPassage(start=start, end=end, text=passage, level="none", short=True)
        max_distance = self._scheme.reach(passage) if self._verify else self._scheme.max_distance
        is_fast = self._options.mode == "fast"
        sources: list[Source] = []
        documents = 0
        stored = (
            (distance, entry)
            for distance, entry in self._neighbours(fingerprint, max_distance, is_fast=is_fast)
            # The index keeps fingerprints of replaced and removed documents.
            if self._store.passage(entry.ordinal, entry.fingerprint).documents
        )
        for distance, entry in islice(stored, _MAX_NEIGHBOURS):
            document_count, new_sources = self._sources(passage, distance, entry)
            documents += document_count
            sources += new_sources
            if is_fast and new_sources:
                break
        sources.sort(key=lambda source: (-source.similarity, source.distance))
        best: dict[str, Source] = {}
        for source in sources:
            best.setdefault(source.document, source)
        return CheckedPassage(
            start=start,
            end=end,
            text=passage,
            level=self._level(sources, documents),
            sources=tuple(best.values())[:_MAX_SOURCES],
            documents=max(documents, len(best)),
        )

    def _neighbours(
        self, fingerprint: int, max_distance: int, *, is_fast: bool
    ) -> Iterable[tuple[int, Entry]]:
        """Return (distance, entry) of neighbours, nearest first, or as the tables find them."""
        # The tables miss many neighbours beyond their distance, unless prefixes are flipped, too.
        is_beyond = max_distance > self._scheme.max_distance
        if (is_fast and not is_beyond) or self._neighbour_count > _MAX_NEIGHBOURS_OF_TEXT:
            return self._store.index.within_in_turn(fingerprint, max_distance)
        neighbours = self._store.index.within(fingerprint, max_distance, flipped=is_beyond)
        self._neighbour_count += len(neighbours)
        return sorted(neighbours, key=lambda near: (near[0], near[1].number))

    def _level(self, sources: list[Source], documents: int) -> Level:
        if not sources:
            return "none"
        least_common = self._options.common_documents
        if least_common and documents >= least_common:
            return "common"
        is_high = sources[0].similarity >= self._options.high_similarity
        return "high" if is_high else "medium"

    def _sources(self, passage: str, distance: int, entry: Entry) -> tuple[int, list[Source]]:
        """Return (number of documents with a neighbour, sources in them); (0, []) without any."""
        store, excluded = self._store, self._excluded
        documents = store.passage(entry.ordinal, entry.fingerprint).documents
        if excluded is not None and store.is_in_document(entry, excluded):
            documents -= 1
        sources: list[Source] = []
        equal_sources = 0
        for places in islice(store.places(entry), _MAX_DOCUMENTS):
            if places[0].document == excluded:
                continue
            source = self._best_source(passage, distance, places)
            if source is None:
                documents -= 1  # the passage of this document is too different
                continue
            sources.append(source)
            equal_sources += source.similarity == 1
            if equal_sources >= _MAX_SOURCES:
                break  # no source can be better, and loading texts is slow
        return (max(documents, len(sources)) if sources else 0), sources

    def _best_source(self, passage: str, distance: int, places: Sequence[Place]) -> Source | None:
        """Return the most similar place in a document; None if no place is similar enough."""
        document = self._store.document(places[0].document)
        if document is None:
            return None
        text = (self._store.text(places[0].document) or "") if self._verify else ""
        if text:
            similarities = [similarity_of(passage, text[start:end]) for _, start, end in places]
        else:
            similarities = [self._scheme.estimated_similarity(distance)]
        similarity = max(similarities)
        if similarity < self._options.min_similarity:
            return None
        _, start, end = places[similarities.index(similarity)]
        return Source(
            document=document.name,
            start=start,
            end=end,
            similarity=similarity,
            distance=distance,
            text=text[start:end],
        )


@lru_cache(maxsize=4096)  # many documents have the same text of a shared passage
def similarity_of(one: str, other: str) -> float:
    """Return 1 - edits / length of the longer text, ignoring case and differences in white space.

    Edits are insertions, deletions and substitutions of characters (Levenshtein 1966).
    """
    from rapidfuzz.distance import Levenshtein

    similarity: float = Levenshtein.normalized_similarity(_folded(one), _folded(other))
    return similarity


@lru_cache(maxsize=1024)  # a passage is compared with all of its sources
def _folded(text: str) -> str:
    return " ".join(normalize(text).split())
