"""The report of a passage check: results for each passage, and shares of the whole text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Level = Literal["none", "medium", "high", "common"]
"""``none``: a passage without sources. ``common``: very many documents have the passage. ``high``:
its most similar source has a similarity of 0.9 or more. ``medium``: all others with a source.
"""

_SHARE_DIGITS = 4
_MAX_SOURCES = 100


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
        sources=tuple(shares[:_MAX_SOURCES]),
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
