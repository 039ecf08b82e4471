"""Find sentences of a text that also appear in stored documents, verbatim or nearly so.

*Exact* mode looks a passage up in all tables and keeps its most similar sources. *Fast* mode stops
at the first source that is similar enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.passages import DEFAULT_COMMON_DOCUMENTS, DEFAULT_MIN_SIMILARITY
from scrapy_simhash.passages.result import (
    DEFAULT_HIGH_SIMILARITY,
    CheckedPassage,
    Level,
    PassageReport,
    Source,
    summed_up,
)
from scrapy_simhash.tokenization import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.passages.rows import Place
    from scrapy_simhash.passages.scheme import PassageScheme
    from scrapy_simhash.passages.store import PassageStore

Mode = Literal["exact", "fast"]

_MAX_SOURCES = 5
# A boilerplate passage may have thousands of neighbours in thousands of documents. Only the nearest
# neighbours and their first documents are checked.
_MAX_NEIGHBOURS = 64
_MAX_DOCUMENTS = 32
# A text of thousands of similar sentences has millions of pairs. After this many neighbours, the
# first neighbours of each further passage are checked, not the nearest.
_MAX_NEIGHBOURS_OF_TEXT = 100_000


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of a lookup.

    :param mode: ``exact`` or ``fast``.
    :param min_similarity: least similarity of a source, 0 to 1.
    :param high_similarity: least similarity of a passage with level ``high``.
    :param common_documents: a passage in at least so many documents is common; 0 disables this.
    :param ignore_common: exclude common passages from all shares except `common_share`.
    :raises SchemeError: a value is outside its range.
    """

    mode: Mode = "exact"
    min_similarity: float = DEFAULT_MIN_SIMILARITY
    high_similarity: float = DEFAULT_HIGH_SIMILARITY
    common_documents: int = DEFAULT_COMMON_DOCUMENTS
    ignore_common: bool = False

    def __post_init__(self) -> None:
        if self.mode not in ("exact", "fast"):
            raise SchemeError(f"mode={self.mode!r}: exact or fast")
        for name in ("min_similarity", "high_similarity"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise SchemeError(f"{name}={value!r}: from 0 to 1")
        if type(self.common_documents) is not int or self.common_documents < 0:
            raise SchemeError(f"common_documents={self.common_documents!r}: 0 or more")


class Matcher:
    """A matcher of texts against a store.

    :param verify: compute similarities from stored texts; otherwise estimate them from the
        fingerprints.
    """

    def __init__(
        self, store: PassageStore, scheme: PassageScheme, options: CheckOptions, *, verify: bool
    ) -> None:
        self._store = store
        self._scheme = scheme
        self._options = options
        self._verify = verify
        self._found = 0

    def check(
        self,
        name: str,
        text: str,
        *,
        exclude: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> PassageReport:
        """Return the report that `PassageIndex.check` describes."""
        options = self._options
        self._found = 0
        own = None if exclude is None else self._store.number(exclude)
        spans = self._scheme.cutting.spans(text)
        known: dict[str, CheckedPassage] = {}
        passages = []
        for done, (start, end) in enumerate(spans, 1):
            passage = text[start:end]
            checked = known.get(passage)
            if checked is None:
                checked = known[passage] = self._checked(start, end, passage, own)
            elif checked.start != start:
                checked = replace(checked, start=start, end=end)
            passages.append(checked)
            if on_progress is not None:
                on_progress(done, len(spans))
        return summed_up(
            name,
            text,
            passages,
            mode=options.mode,
            verified=self._verify,
            high_similarity=options.high_similarity,
            ignore_common=options.ignore_common,
        )

    def _checked(self, start: int, end: int, passage: str, own: int | None) -> CheckedPassage:
        fingerprint = self._scheme.fingerprint(passage)
        if fingerprint is None:
            return CheckedPassage(start=start, end=end, text=passage, level="none", short=True)
        max_distance = self._scheme.reach(passage) if self._verify else self._scheme.max_distance
        fast = self._options.mode == "fast"
        neighbours = self._neighbours(fingerprint, max_distance, fast=fast)
        sources: list[Source] = []
        documents = checked = 0
        for distance, entry in neighbours:
            # The index keeps fingerprints that no document has any more.
            if not self._store.passage(entry.ordinal, entry.fingerprint).documents:
                continue
            checked += 1
            if checked > _MAX_NEIGHBOURS:
                break
            count, found = self._sources(passage, distance, entry, own)
            documents += count
            sources += found
            if fast and found:
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
        self, fingerprint: int, max_distance: int, *, fast: bool
    ) -> Iterable[tuple[int, Entry]]:
        # Two changed characters move a short passage beyond the distance of the tables.
        further = max_distance > self._scheme.max_distance
        if (fast and not further) or self._found > _MAX_NEIGHBOURS_OF_TEXT:
            return self._store.within_in_turn(fingerprint, max_distance)
        found = self._store.within(fingerprint, max_distance, flipped=further)
        self._found += len(found)
        return found

    def _level(self, sources: list[Source], documents: int) -> Level:
        if not sources:
            return "none"
        common = self._options.common_documents
        if common and documents >= common:
            return "common"
        high = sources[0].similarity >= self._options.high_similarity
        return "high" if high else "medium"

    def _sources(
        self, passage: str, distance: int, entry: Entry, own: int | None
    ) -> tuple[int, list[Source]]:
        """Return (number of documents with the passage, its sources in the first of them)."""
        store = self._store
        documents = store.passage(entry.ordinal, entry.fingerprint).documents
        if own is not None and store.is_in_document(entry.ordinal, entry.fingerprint, own):
            documents -= 1
        sources: list[Source] = []
        equal = 0
        for places in islice(store.places(entry.ordinal, entry.fingerprint), _MAX_DOCUMENTS):
            number = places[0].document
            if number == own:
                continue
            found = self._best(passage, distance, places)
            if found is None:
                documents -= 1
                continue
            sources.append(found)
            equal += found.similarity == 1
            if equal >= _MAX_SOURCES:
                break  # no source can be better, and loading texts is slow
        return (max(documents, len(sources)) if sources else 0), sources

    def _best(self, passage: str, distance: int, places: Sequence[Place]) -> Source | None:
        """Return the most similar place in a document, or None."""
        document = self._store.document(places[0].document)
        if document is None:
            return None
        text = self._store.text(places[0].document) if self._verify else None
        best: Source | None = None
        for _, start, end in places:
            if text is None:
                source_text, similarity = "", self._scheme.estimated_similarity(distance)
            else:
                source_text = text[start:end]
                similarity = similarity_of(passage, source_text)
            if similarity < self._options.min_similarity:
                continue
            if best is None or similarity > best.similarity:
                best = Source(
                    document=document.name,
                    start=start,
                    end=end,
                    similarity=similarity,
                    distance=distance,
                    text=source_text,
                )
        return best


@lru_cache(maxsize=4096)  # many documents have the same text of a shared passage
def similarity_of(one: str, other: str) -> float:
    """Return 1 - edits / length of the longer text, ignoring case and differences in white space.

    Edits are insertions, deletions and substitutions (Levenshtein 1966).
    """
    from rapidfuzz.distance import Levenshtein

    similarity: float = Levenshtein.normalized_similarity(_compared(one), _compared(other))
    return similarity


@lru_cache(maxsize=1024)  # a passage is compared with all of its sources
def _compared(text: str) -> str:
    return " ".join(normalize(text).split())
