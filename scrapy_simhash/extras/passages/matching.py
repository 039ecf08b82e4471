"""Find passages of a text that also appear in stored documents, verbatim or nearly so.

A *neighbour* of a passage is a stored passage whose fingerprint is within the distance. A *source*
is a neighbour whose text is similar enough.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.extras.passages.cutting import spans_of
from scrapy_simhash.extras.passages.result import (
    CheckedPassage,
    Level,
    PassageReport,
    Source,
    summed_up,
)
from scrapy_simhash.extras.passages.scheme import MAX_REACH, fingerprint_of, reach_of
from scrapy_simhash.folding import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simhash.extras.passages.index import Neighbours, PassageIndex

_MAX_SOURCES = 5
_MIN_SIMILARITY = 0.75  # of a source
# A passage in so many documents is common, such as a notice or a footer.
_COMMON_DOCUMENTS = 100
_HIGH_SIMILARITY = 0.9
# A boilerplate passage may have thousands of neighbours. The texts of this many are compared.
_MAX_COMPARED = 64
# Passages that are looked up together, which takes less time.
_BATCH_PASSAGES = 64


class Matcher:
    """A matcher of a text against the documents of an index, whose lock the caller holds.

    :param exclude: name of a document that is no source.
    """

    def __init__(self, index: PassageIndex, exclude: str | None) -> None:
        self._index = index
        self._excluded = None if exclude is None else index.number(exclude)

    def check(self, name: str, text: str) -> PassageReport:
        """Return the report that `PassageIndex.check` describes."""
        spans = spans_of(text)
        different = list(dict.fromkeys(text[slice(*span)] for span in spans))
        checked: dict[str, CheckedPassage] = {}
        for start in range(0, len(different), _BATCH_PASSAGES):
            batch = different[start : start + _BATCH_PASSAGES]
            checked.update(zip(batch, self._check_passages(batch), strict=True))
        passages = [replace(checked[text[start:end]], start=start, end=end) for start, end in spans]
        return summed_up(name, text, passages)

    def _check_passages(self, passages: Sequence[str]) -> Iterator[CheckedPassage]:
        """Yield the results for passages, whose places are left out."""
        fingerprints = [fingerprint_of(passage) for passage in passages]
        near = iter(self._index.near([one for one in fingerprints if one], MAX_REACH))
        for passage, fingerprint in zip(passages, fingerprints, strict=True):
            if fingerprint is None:
                yield CheckedPassage(start=0, end=0, text=passage, level="none", short=True)
            else:
                yield self._checked(passage, next(near))

    def _checked(self, passage: str, near: Neighbours) -> CheckedPassage:
        reach = reach_of(passage)
        near = near.where((near.distances <= reach) & (near.documents != (self._excluded or 0)))
        best: dict[int, Source] = {}
        different: set[int] = set()
        nearest = (column[:_MAX_COMPARED].tolist() for column in near)
        for distance, number, (start, end) in zip(*nearest, strict=True):
            text = self._index.text(number)[start:end]
            similarity = similarity_of(passage, text)
            if similarity < _MIN_SIMILARITY:
                different.add(number)
            elif number not in best or similarity > best[number].similarity:
                name = self._index.name(number)
                best[number] = Source(name, start, end, similarity, distance, text)
            if sum(source.similarity == 1 for source in best.values()) == _MAX_SOURCES:
                break  # no source can be better
        sources = sorted(best.values(), key=lambda source: (-source.similarity, source.distance))
        # Documents that were not compared count.
        documents = len({*np.unique(near.documents).tolist()} - (different - best.keys()))
        return CheckedPassage(
            start=0,
            end=0,
            text=passage,
            level=self._level(sources, documents),
            sources=tuple(sources[:_MAX_SOURCES]),
            documents=documents if sources else 0,
        )

    def _level(self, sources: list[Source], documents: int) -> Level:
        if not sources:
            return "none"
        if documents >= _COMMON_DOCUMENTS:
            return "common"
        return "high" if sources[0].similarity >= _HIGH_SIMILARITY else "medium"


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
