"""Other fingerprints of the same passages: how far edited copies and unrelated passages are.

A linear scan in numpy over the passages of a language: tables of an index lose nothing here.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from quality_lib.output import table

from passages_lib import texts
from scrapy_simhash.errors import EmptyText
from scrapy_simhash.passages.cutting import Cutting
from scrapy_simhash.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

EDITED = 0.05
PRECISION = 0.99
_NEAREST = 40


class Contestant(NamedTuple):
    """Fingerprints to compare: of the features of one or several schemes of equal width.

    `idf`: features weigh what they say about a passage.
    """

    name: str
    schemes: tuple[Scheme, ...]
    idf: bool = False

    @property
    def bits(self) -> int:
        """Of a fingerprint."""
        return self.schemes[0].bits


def _characters(bits: int, *lengths: int) -> tuple[Scheme, ...]:
    return tuple(
        Scheme(bits=bits, tokenizer="characters", shingle_length=length, weighting="uniform")
        for length in lengths
    )


def _words(bits: int) -> tuple[Scheme, ...]:
    return (Scheme(bits=bits, shingle_length=1, weighting="uniform"),)


CONTESTANTS = (
    Contestant("pairs of characters, 256", _characters(256, 2)),
    Contestant("triples of characters, 256", _characters(256, 3)),
    Contestant("characters and pairs, 256", _characters(256, 1, 2)),
    Contestant("single characters, 256", _characters(256, 1)),
    Contestant("pairs of characters, TF-IDF, 256", _characters(256, 2), idf=True),
    Contestant("words, 256", _words(256)),
    Contestant("words, TF-IDF, 256", _words(256), idf=True),
    Contestant("pairs of characters, 64", _characters(64, 2)),
    Contestant("words, 64", _words(64)),
    Contestant("words, TF-IDF, 64", _words(64), idf=True),
)
# Of these widths, the distances whose recall and precision are printed.
_DISTANCES = {64: (3, 11), 256: (44, 52, 60, 64, 72)}


class Question(NamedTuple):
    """A passage that is asked for. `own`: number of the one that it was edited from, or -1."""

    language: str
    letters: int
    text: str
    own: int


class Answer(NamedTuple):
    """Distances of a question: of its own passage (-1: none), of the nearest one, of the nearest
    that shares no text with it; and whether the nearest one shares text.
    """

    language: str
    letters: int
    own: int
    nearest: int
    other: int
    right: bool


def show(folders: Iterable[Path], count: int, seed: int) -> None:
    """All tables."""
    indexed, others = texts.split(texts.load(folders), seed)
    passages = {
        language: members[: max(count // 2, 1)]
        for language, members in sorted(_passages(indexed, seed).items())
    }
    asked = questions(passages, _passages(others, seed), indexed, count, seed)
    edited = sum(question.own >= 0 for some in asked.values() for question in some)
    total = sum(map(len, asked.values()))
    print(
        f"{sum(map(len, passages.values()))} passages of {len(passages)} languages; asked for: "
        f"{edited} edited copies ({EDITED:.0%} of characters) and {total - edited} passages of "
        "other documents"
    )
    found = {}
    for contestant in CONTESTANTS:
        found[contestant] = [
            answer
            for language, members in passages.items()
            for answer in answers(contestant, members, asked[language])
        ]
    print("\n== distances, all languages and lengths\n")
    print(overall(found))
    print("\n== by script and letters: distances, and those that give 0.99 of right ones\n")
    print(by_length(found))


def _passages(documents: Iterable[texts.Document], seed: int) -> dict[str, list[str]]:
    """Distinct passages by language, in an order of chance."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    cutting = Cutting()
    for document in documents:
        for start, end in cutting.spans(document.text):
            passage = document.text[start:end]
            if texts.letters(passage) >= texts.BUCKETS[0][0]:
                found[document.language][passage] = None
    lists = {language: list(members) for language, members in found.items()}
    dice = random.Random(f"passages {seed}")
    for language in sorted(lists):
        dice.shuffle(lists[language])
    return lists


def questions(
    passages: dict[str, list[str]],
    strangers: dict[str, list[str]],
    indexed: Sequence[texts.Document],
    count: int,
    seed: int,
) -> dict[str, list[Question]]:
    """For each language as many edited copies as passages of other documents."""
    alphabet = texts.alphabet(indexed)
    asked: dict[str, list[Question]] = {}
    each = max(count // (2 * max(len(passages), 1)), 1)
    for language, members in passages.items():
        dice = random.Random(f"questions {language} {seed}")
        by_bucket: defaultdict[str, list[int]] = defaultdict(list)
        for number, passage in enumerate(members):
            by_bucket[texts.bucket(texts.letters(passage))].append(number)
        some = asked[language] = []
        for bucket in sorted(by_bucket):
            for own in by_bucket[bucket][: each // len(by_bucket)]:
                size = texts.letters(members[own])
                text = texts.edited(members[own], EDITED, alphabet[language], dice)
                some.append(Question(language, size, text, own))
        some += [
            Question(language, texts.letters(passage), passage, -1)
            for passage in strangers.get(language, [])[: len(some)]
        ]
    return asked


def answers(
    contestant: Contestant, members: Sequence[str], asked: Sequence[Question]
) -> list[Answer]:
    """The distances of one language's questions."""
    features = _Features(contestant, members)
    known = features.fingerprints(members)
    mine = features.fingerprints([question.text for question in asked])
    found = []
    for number, question in enumerate(asked):
        distances = np.bitwise_count(known ^ mine[number]).sum(axis=1, dtype=np.int64)
        count = min(_NEAREST, len(members))
        order = np.argpartition(distances, count - 1)[:count]
        order = order[np.argsort(distances[order], kind="stable")]
        sharing = [
            at == question.own or texts.shares_text(question.text, members[at]) for at in order
        ]
        unlike = [at for at, shared in zip(order, sharing, strict=True) if not shared]
        found.append(
            Answer(
                question.language,
                question.letters,
                int(distances[question.own]) if question.own >= 0 else -1,
                int(distances[order[0]]),
                int(distances[unlike[0]]) if unlike else contestant.bits,
                sharing[0],
            )
        )
    return found


class _Features:
    def __init__(self, contestant: Contestant, members: Sequence[str]) -> None:
        self._schemes = contestant.schemes
        self._passages = len(members)
        self._counts: Counter[str] | None = None
        if contestant.idf:
            self._counts = Counter()
            for passage in members:
                self._counts.update(self._of(passage).keys())

    def fingerprints(self, passages: Iterable[str]) -> NDArray[np.uint64]:
        """Of each passage, as words of 64 bits."""
        size = self._schemes[0].bits // 8
        whole = b"".join(self._fingerprint(one).to_bytes(size, "big") for one in passages)
        return np.frombuffer(whole, dtype=">u8").astype(np.uint64).reshape(-1, size // 8)

    def _of(self, passage: str) -> dict[str, float]:
        found: dict[str, float] = {}
        for scheme in self._schemes:
            found.update(scheme.features(scheme.tokens(passage)))
        return found

    def _fingerprint(self, passage: str) -> int:
        features = self._of(passage)
        if self._counts is not None:
            # A term frequency is nearly always 1: what occurs in a passage occurs once.
            features = {
                name: weight * math.log((1 + self._passages) / (1 + self._counts[name]))
                for name, weight in features.items()
            }
        try:
            return self._schemes[0].fingerprint_features(features)
        except EmptyText:
            return 0


def threshold(found: Sequence[Answer]) -> tuple[int, float]:
    """The largest distance within which 0.99 of the nearest passages share text with what was
    asked for, and the share of edited copies whose nearest passage is within it; (-1, 0) if none.
    """
    edited = sum(answer.own >= 0 for answer in found)
    best, hits, right, caught = (-1, 0.0), 0, 0, 0
    by_distance: defaultdict[int, list[Answer]] = defaultdict(list)
    for answer in found:
        by_distance[answer.nearest].append(answer)
    for distance in sorted(by_distance):
        for answer in by_distance[distance]:
            hits += 1
            right += answer.right
            caught += answer.own >= 0 and answer.right
        if hits and right >= PRECISION * hits:
            best = (distance, caught / edited if edited else 0.0)
    return best


def _quantiles(values: Sequence[int], shares: Sequence[float]) -> list[str]:
    if not values:
        return ["-"] * len(shares)
    return [f"{np.quantile(values, share, method='inverted_cdf'):.0f}" for share in shares]


_HEADER = ("copies", "d50", "d90", "d95", "other 1 %", "other 5 %", "other 50 %", "k", "recall")


def _cells(found: Sequence[Answer]) -> list[str]:
    own = [answer.own for answer in found if answer.own >= 0]
    k, recall = threshold(found)
    return [
        str(len(own)),
        *_quantiles(own, (0.5, 0.9, 0.95)),
        *_quantiles([answer.other for answer in found], (0.01, 0.05, 0.5)),
        str(k) if k >= 0 else "-",
        f"{recall:.3f}",
    ]


def overall(found: dict[Contestant, list[Answer]]) -> str:
    """A row for each contestant, and the literal choice of 64 bits and k = 3."""
    rows = []
    for contestant, some in found.items():
        bits = contestant.bits
        fixed = []
        for k in _DISTANCES[bits]:
            hits = [answer for answer in some if answer.nearest <= k]
            near = sum(0 <= answer.own <= k for answer in some)
            copies = sum(answer.own >= 0 for answer in some)
            right = sum(answer.right for answer in hits) / len(hits) if hits else 1.0
            fixed.append(f"k={k}: {near / max(copies, 1):.3f}/{right:.3f}")
        rows.append([contestant.name, *_cells(some), ", ".join(fixed)])
    return table(["fingerprint", *_HEADER, "recall/precision at k"], rows)


def by_length(found: dict[Contestant, list[Answer]]) -> str:
    """A row for each contestant, script and bucket of lengths."""
    rows = []
    for contestant, some in found.items():
        groups: defaultdict[tuple[str, int, str], list[Answer]] = defaultdict(list)
        for answer in some:
            low = next((low for low, high in texts.BUCKETS if low <= answer.letters < high), 80)
            groups[texts.script(answer.language), low, texts.bucket(answer.letters)].append(answer)
        rows += [
            [contestant.name, group[0], group[2], *_cells(members)]
            for group, members in sorted(groups.items())
        ]
    return table(["fingerprint", "script", "letters", *_HEADER], rows, left=3)
