"""Fingerprints to reported pairs, and pairs to recall and precision with their intervals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from quality_lib.corpus import BETWEEN, MUST, WRONG
from scrapy_simhash.index.base import Query
from scrapy_simhash.index.tables.buckets import Prober

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from quality_lib.corpus import Kind, PageSet
    from scrapy_simhash.index.plan import TablePlan

Z95 = 1.959963984540054
_BLOCK = 512


# Pairs


def distances(fingerprints: Sequence[int], bits: int) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, rows of the matrix of Hamming distances), in blocks."""
    words = -(-bits // 64)
    raw = b"".join(fingerprint.to_bytes(words * 8, "big") for fingerprint in fingerprints)
    rows = np.frombuffer(raw, dtype=np.uint64).reshape(-1, words)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        total = np.zeros((len(block), len(rows)), dtype=np.int16)
        for word in range(words):
            total += np.bitwise_count(block[:, word, None] ^ rows[:, word])
        yield start, total


def close_pairs(
    fingerprints: Sequence[int | None], bits: int, max_distance: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (a < b) within a distance, and their distances; None has no neighbours."""
    there = np.array([n for n, fp in enumerate(fingerprints) if fp is not None], dtype=np.int64)
    pairs, found = [np.empty((0, 2), np.int64)], [np.empty(0, np.int16)]
    for start, block in distances([fp for fp in fingerprints if fp is not None], bits):
        a, b = np.nonzero(block <= max_distance)
        upper = a + start < b
        a, b = a[upper], b[upper]
        pairs.append(np.stack([there[a + start], there[b]], axis=1))
        found.append(block[a, b])
    return np.concatenate(pairs), np.concatenate(found)


def sharing_a_prefix(
    fingerprints: Sequence[int | None], pairs: np.ndarray, plan: TablePlan
) -> np.ndarray:
    """Which of the pairs one of the plan's tables brings together."""
    if not len(pairs):
        return np.zeros(0, dtype=bool)
    numbers: dict[tuple[int, int], int] = {}
    nothing = [-1] * len(plan.tables)
    rows = [
        nothing
        if fingerprint is None
        else [
            numbers.setdefault(key, len(numbers)) for key in enumerate(plan.prefixes(fingerprint))
        ]
        for fingerprint in fingerprints
    ]
    prefixes = np.array(rows, dtype=np.int64)
    return (prefixes[pairs[:, 0]] == prefixes[pairs[:, 1]]).any(axis=1)


def probed(
    fingerprints: Sequence[int | None],
    certainties: Sequence[bytes],
    pairs: np.ndarray,
    plan: TablePlan,
) -> np.ndarray:
    """Return which of the pairs the later page finds by probing."""
    prober = Prober(plan)
    asked: dict[int, set[tuple[int, int]]] = {}
    found = np.zeros(len(pairs), dtype=bool)
    for at, (earlier, later) in enumerate(pairs.tolist()):
        stored, asking = fingerprints[earlier], fingerprints[later]
        if stored is None or asking is None:
            continue
        if later not in asked:
            tables, prefixes, _ = prober.probes([Query(asking, certainties[later])])
            asked[later] = set(zip(tables.tolist(), prefixes.tolist(), strict=True))
        found[at] = not asked[later].isdisjoint(enumerate(plan.prefixes(stored)))
    return found


def reported_kinds(page_set: PageSet, pairs: Iterable[Sequence[int]]) -> Counter[Kind]:
    """The reported pairs that are judged, by kind."""
    kinds = (page_set.kind(int(a), int(b)) for a, b in pairs)
    return Counter(kind for kind in kinds if kind is not None)


# Figures


def wilson(successes: int, trials: int) -> tuple[float, float] | None:
    """95 % score interval of a proportion (Wilson 1927); None without trials."""
    if not trials:
        return None
    share = successes / trials
    spread = Z95 * sqrt(share * (1 - share) / trials + Z95**2 / (4 * trials**2))
    middle = share + Z95**2 / (2 * trials)
    scale = 1 + Z95**2 / trials
    low, high = (middle - spread) / scale, (middle + spread) / scale
    # Exact at the ends, where rounding would leave 1e-17.
    return (0.0 if successes == 0 else low, 1.0 if successes == trials else high)


@dataclass(frozen=True)
class Figures:
    """Counts of pairs, and what follows from them."""

    found: int
    must: int
    wrong: int
    must_not: int
    between: int
    between_all: int

    @classmethod
    def of(
        cls,
        reported: Mapping[Kind, int],
        existing: Mapping[Kind, int],
        wanted: Callable[[Kind], bool] = lambda _kind: True,
    ) -> Figures:
        """Those of the kinds that are wanted."""
        counts: Counter[tuple[str, bool]] = Counter()
        for is_reported, kinds in ((True, reported), (False, existing)):
            for kind, count in kinds.items():
                if wanted(kind):
                    counts[kind.band, is_reported] += count
        return cls(*(counts[b, r] for b in (MUST, WRONG, BETWEEN) for r in (True, False)))

    @property
    def recall(self) -> float | None:
        """Share of the pairs that must be found that are."""
        return self.found / self.must if self.must else None

    @property
    def precision(self) -> float | None:
        """Share of the reported pairs at one end or the other that must be found."""
        judged = self.found + self.wrong
        return self.found / judged if judged else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both."""
        return f1(self.recall, self.precision)

    @property
    def wrong_per_million(self) -> float | None:
        """Reported pairs of a million that must not be."""
        return 1e6 * self.wrong / self.must_not if self.must_not else None

    def as_json(self) -> dict[str, Any]:
        """Counts, shares and intervals."""
        per_million = wilson(self.wrong, self.must_not)
        return {
            "found": self.found,
            "must_be_found": self.must,
            "wrong": self.wrong,
            "must_not_be_found": self.must_not,
            "between_reported": self.between,
            "between": self.between_all,
            "recall": self.recall,
            "recall_95": wilson(self.found, self.must),
            "precision": self.precision,
            "precision_95": wilson(self.found, self.found + self.wrong),
            "f1": self.f1,
            "wrong_per_million": self.wrong_per_million,
            "wrong_per_million_95": per_million and [1e6 * end for end in per_million],
        }


def f1(recall: float | None, precision: float | None) -> float | None:
    """Harmonic mean; none if nothing had to be found."""
    if recall is None:
        return None
    if precision is None or recall + precision == 0:
        return 0.0
    return 2 * recall * precision / (recall + precision)
