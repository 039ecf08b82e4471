"""Find passages of a text that also appear in stored documents, verbatim or nearly so.

A *neighbour* of a passage is a stored passage whose fingerprint is within the distance. A *source*
is a neighbour whose text is similar enough.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scrapy_simhash.extras.passages.cutting import MAX_REACH, fingerprint_of, reach_of, spans_of
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


Level = Literal["none", "medium", "high", "common"]
"""``none``: a passage without sources. ``common``: very many documents have the passage. ``high``:
its most similar source has a similarity of 0.9 or more. ``medium``: all others with a source.
"""

_SHARE_DIGITS = 4
_MAX_SHARES = 100


@dataclass(frozen=True)
class Source:
    """A source of a passage: the characters from `start` to `end` of a document, its `text`.

    :param similarity: from 0 to 1, computed from the texts (1 - edits / length).
    :param distance: Hamming distance of the fingerprints, in bits.
    """

    document: str
    start: int
    end: int
    similarity: float
    distance: int
    text: str


@dataclass(frozen=True, kw_only=True)
class CheckedPassage:
    """A passage of the checked text: its characters from `start` to `end`.

    :param sources: at most five, one for each document, the most similar first.
    :param documents: about the number of documents with the passage.
    :param short: the passage is too short for a fingerprint and was not looked up.
    """

    start: int
    end: int
    text: str
    level: Level
    sources: tuple[Source, ...] = ()
    documents: int = 0
    short: bool = False

    @property
    def similarity(self) -> float:
        """Return the similarity to the most similar source; 0 without sources."""
        return self.sources[0].similarity if self.sources else 0.0


@dataclass(frozen=True, kw_only=True)
class SourceShare:
    """A document, the number of passages with a source in it, and their share of the text."""

    document: str
    share: float
    passages: int


@dataclass(frozen=True, kw_only=True)
class PassageReport:
    """The result of a passage check.

    :param document: name of the checked text.
    :param characters: length of the text, including white space; shares are without white space.
    :param known_share: share of the text in passages with a source.
    :param similar_share: the same, with each passage weighted by its similarity.
    :param common_share: share of the text in common passages.
    :param sources: at most 100 documents, the largest share first.
    """

    document: str
    characters: int
    known_share: float
    similar_share: float
    common_share: float
    sources: tuple[SourceShare, ...]
    passages: tuple[CheckedPassage, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values for JSON."""
        values = asdict(self)
        for plain, passage in zip(values["passages"], self.passages, strict=True):
            plain["similarity"] = passage.similarity
        return values


def summed_up(document: str, text: str, passages: Sequence[CheckedPassage]) -> PassageReport:
    """Return the report on checked passages, which are sorted by start.

    Passages may overlap; each character counts once. White space does not count.
    """
    length = _length(text)
    known, similar, common = (_Coverage(text, length) for _ in range(3))
    by_source: dict[str, _Coverage] = {}
    for passage in passages:
        if passage.level == "common":
            common.add(passage)
        if not passage.sources:
            continue
        known.add(passage)
        similar.add(passage, passage.similarity)
        for name in {source.document for source in passage.sources}:
            by_source.setdefault(name, _Coverage(text, length)).add(passage)
    shares = [
        SourceShare(document=name, share=coverage.share, passages=coverage.passages)
        for name, coverage in by_source.items()
    ]
    shares.sort(key=lambda source: (-source.share, -source.passages, source.document))
    return PassageReport(
        document=document,
        characters=len(text),
        known_share=known.share,
        similar_share=similar.share,
        common_share=common.share,
        sources=tuple(shares[:_MAX_SHARES]),
        passages=tuple(passages),
    )


class _Coverage:
    """The share of a text that passages cover. They must be added in order of start."""

    def __init__(self, text: str, length: int) -> None:
        self._text = text
        self._length = length
        self._end = 0
        self._covered = 0.0
        self.passages = 0

    def add(self, passage: CheckedPassage, weight: float = 1.0) -> None:
        self.passages += 1
        start = max(passage.start, self._end)
        if passage.end > start:
            self._covered += weight * _length(self._text[start : passage.end])
            self._end = passage.end

    @property
    def share(self) -> float:
        share = self._covered / self._length if self._length else 0.0
        return round(share, _SHARE_DIGITS) or share  # no share is rounded to 0


def _length(text: str) -> int:
    """Return the number of characters that are not white space."""
    return sum(map(len, text.split()))
