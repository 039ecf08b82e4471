"""Find passages of a text that also appear in stored documents, verbatim or nearly so.

A *neighbour* of a passage is a stored passage whose fingerprint is within the distance. A *source*
is a neighbour whose text is similar enough.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.extras.passages.cutting import MAX_REACH, fingerprint_of, reach_of, spans_of
from scrapy_simhash.tokens.folding import normalize

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from scrapy_simhash.extras.passages.index import PassageIndex


_MAX_SOURCES = 5
_MIN_SIMILARITY = 0.75  # of a source
# A passage in so many documents is common, such as a notice or a footer.
_COMMON_DOCUMENTS = 100
_HIGH_SIMILARITY = 0.9
# A boilerplate passage may have thousands of neighbours. The texts of this many are compared.
_MAX_COMPARED = 64
# Passages that are looked up together, which takes less time.
_BATCH_PASSAGES = 64


def checked(index: PassageIndex, name: str, text: str, exclude: str | None) -> PassageReport:
    """Return the report that `PassageIndex.check` describes. The caller holds the index's lock."""
    spans = spans_of(text)
    different = list(dict.fromkeys(text[slice(*span)] for span in spans))
    known: dict[str, CheckedPassage] = {}
    for start in range(0, len(different), _BATCH_PASSAGES):
        batch = different[start : start + _BATCH_PASSAGES]
        fingerprints = {passage: fingerprint_of(passage) for passage in batch}
        asked = {passage: one for passage, one in fingerprints.items() if one}
        found = index.near([*asked.values()], MAX_REACH, exclude)
        near = dict(zip(asked, found, strict=True))
        known |= {one: _compared(index, one, near.get(one)) for one in batch}
    passages = [replace(known[text[start:end]], start=start, end=end) for start, end in spans]
    return _summed_up(name, text, passages)


def _compared(index: PassageIndex, passage: str, near: NDArray[np.int64] | None) -> CheckedPassage:
    """Return the result for a passage, whose place is left out.

    :param near: rows of `PassageIndex.near`; None if the passage is too short.
    """
    unknown = CheckedPassage(start=0, end=0, text=passage, level="none", short=near is None)
    if near is None:
        return unknown
    near = near[near[:, 0] <= reach_of(passage)]
    best: dict[int, Source] = {}
    different: set[int] = set()
    for distance, number, start, end in near[:_MAX_COMPARED].tolist():
        name, text = index.document(number)
        text = text[start:end]
        similarity = similarity_of(passage, text)
        if similarity < _MIN_SIMILARITY:
            different.add(number)
        elif number not in best or similarity > best[number].similarity:
            best[number] = Source(name, start, end, similarity, distance, text)
        if sum(source.similarity == 1 for source in best.values()) == _MAX_SOURCES:
            break  # no source can be better
    if not best:
        return unknown
    sources = sorted(best.values(), key=lambda source: (-source.similarity, source.distance))
    # Documents that were not compared count.
    documents = len({*near[:, 1].tolist()} - (different - best.keys()))
    level: Level = "high" if sources[0].similarity >= _HIGH_SIMILARITY else "medium"
    if documents >= _COMMON_DOCUMENTS:
        level = "common"
    return replace(
        unknown,
        level=level,
        sources=tuple(sources[:_MAX_SOURCES]),
        documents=documents,
        similarity=sources[0].similarity,
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
    :param similarity: similarity to the most similar source; 0 without sources.
    """

    start: int
    end: int
    text: str
    level: Level
    sources: tuple[Source, ...] = ()
    documents: int = 0
    short: bool = False
    similarity: float = 0.0


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


def _summed_up(document: str, text: str, passages: Sequence[CheckedPassage]) -> PassageReport:
    """Return the report on the passages of a text. White space does not count."""
    total = _length(text) or 1
    known = [passage for passage in passages if passage.sources]
    by_source: defaultdict[str, list[int]] = defaultdict(list)
    for passage in known:
        for source in passage.sources:
            by_source[source.document].append(_length(passage.text))
    shares = [
        SourceShare(document=name, share=_share(sum(lengths), total), passages=len(lengths))
        for name, lengths in by_source.items()
    ]
    shares.sort(key=lambda source: (-source.share, -source.passages, source.document))
    lengths = [_length(passage.text) for passage in known]
    similar = [length * passage.similarity for length, passage in zip(lengths, known, strict=True)]
    common = [_length(passage.text) for passage in known if passage.level == "common"]
    return PassageReport(
        document=document,
        characters=len(text),
        known_share=_share(sum(lengths), total),
        similar_share=_share(sum(similar), total),
        common_share=_share(sum(common), total),
        sources=tuple(shares[:_MAX_SHARES]),
        passages=tuple(passages),
    )


def _share(covered: float, total: int) -> float:
    share = covered / total
    return round(share, _SHARE_DIGITS) or share  # no share is rounded to 0


def _length(text: str) -> int:
    """Return the number of characters that are not white space."""
    return sum(map(len, text.split()))
