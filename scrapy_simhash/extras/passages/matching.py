"""Find passages of a text that also appear in stored documents, verbatim or nearly so.

A *neighbour* of a passage is a stored passage whose fingerprint is within the distance. A *source*
is a neighbour whose text is similar enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.extras.passages import DEFAULT_COMMON_DOCUMENTS, DEFAULT_MIN_SIMILARITY
from scrapy_simhash.extras.passages.cutting import spans_of
from scrapy_simhash.extras.passages.result import (
    DEFAULT_HIGH_SIMILARITY,
    CheckedPassage,
    Level,
    PassageReport,
    Source,
    summed_up,
)
from scrapy_simhash.extras.passages.scheme import fingerprint_of, reach_of
from scrapy_simhash.folding import normalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.extras.passages.index import PassageIndex

_MAX_SOURCES = 5
# A boilerplate passage may have thousands of neighbours. The texts of this many are compared.
_MAX_COMPARED = 64


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of a check.

    :param min_similarity: least similarity of a source, from 0 to 1.
    :param high_similarity: least similarity of a passage of level ``high``, from 0 to 1.
    :param common_documents: a passage in at least so many documents is common; 0 disables this.
    :param ignore_common: exclude common passages from all shares except `common_share`.
    :raises SchemeError: a value is invalid.
    """

    min_similarity: float = DEFAULT_MIN_SIMILARITY
    high_similarity: float = DEFAULT_HIGH_SIMILARITY
    common_documents: int = DEFAULT_COMMON_DOCUMENTS
    ignore_common: bool = False

    def __post_init__(self) -> None:
        for name in ("min_similarity", "high_similarity"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise SchemeError(f"{name}={value!r}: 0 to 1 is needed")
        if type(self.common_documents) is not int or self.common_documents < 0:
            raise SchemeError(f"common_documents={self.common_documents!r}: 0 or more is needed")


class Matcher:
    """A matcher of a text against the documents of an index, whose lock the caller holds.

    :param exclude: name of a document that is no source.
    """

    def __init__(self, index: PassageIndex, options: CheckOptions, exclude: str | None) -> None:
        self._index = index
        self._options = options
        self._excluded = None if exclude is None else index.number(exclude)

    def check(
        self, name: str, text: str, on_progress: Callable[[int, int], None] | None
    ) -> PassageReport:
        """Return the report that `PassageIndex.check` describes."""
        spans = spans_of(text)
        by_text: dict[str, CheckedPassage] = {}
        passages = []
        for done, (start, end) in enumerate(spans, 1):
            passage = text[start:end]
            if passage not in by_text:
                by_text[passage] = self._check_passage(start, end, passage)
            passages.append(replace(by_text[passage], start=start, end=end))
            if on_progress is not None:
                on_progress(done, len(spans))
        options = self._options
        return summed_up(
            name,
            text,
            passages,
            high_similarity=options.high_similarity,
            ignore_common=options.ignore_common,
        )

    def _check_passage(self, start: int, end: int, passage: str) -> CheckedPassage:
        fingerprint = fingerprint_of(passage)
        if fingerprint is None:
            return CheckedPassage(start=start, end=end, text=passage, level="none", short=True)
        neighbours = [
            neighbour
            for neighbour in self._index.near(fingerprint, reach_of(passage))
            if neighbour[1] != self._excluded
        ]
        best: dict[int, Source] = {}
        different: set[int] = set()
        for distance, number, span in neighbours[:_MAX_COMPARED]:
            text = self._index.text(number)[slice(*span)]
            similarity = similarity_of(passage, text)
            if similarity < self._options.min_similarity:
                different.add(number)
            elif number not in best or similarity > best[number].similarity:
                name = self._index.name(number)
                best[number] = Source(name, span.start, span.end, similarity, distance, text)
            if sum(source.similarity == 1 for source in best.values()) == _MAX_SOURCES:
                break  # no source can be better
        sources = sorted(best.values(), key=lambda source: (-source.similarity, source.distance))
        # Documents that were not compared count.
        documents = len({number for _, number, _ in neighbours} - (different - best.keys()))
        return CheckedPassage(
            start=start,
            end=end,
            text=passage,
            level=self._level(sources, documents),
            sources=tuple(sources[:_MAX_SOURCES]),
            documents=documents if sources else 0,
        )

    def _level(self, sources: list[Source], documents: int) -> Level:
        if not sources:
            return "none"
        least_common = self._options.common_documents
        if least_common and documents >= least_common:
            return "common"
        is_high = sources[0].similarity >= self._options.high_similarity
        return "high" if is_high else "medium"


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
