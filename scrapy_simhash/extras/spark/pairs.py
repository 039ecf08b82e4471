"""Pairs of fingerprints, as arrays of numpy.

Fingerprints are arrays of 64-bit words of shape (words, n), with the lowest words first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from scrapy_simhash.index.tables.prefixes import WORD_BITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint64]
    Positions: TypeAlias = NDArray[np.intp]
    Distances: TypeAlias = NDArray[np.uint16]

_BATCH = 1 << 16  # the approximate number of pairs that are compared at once


class Pairs(NamedTuple):
    """Pairs of fingerprints by their numbers, and their distances."""

    first: Positions
    second: Positions
    distance: Distances


def words_of(packed: NDArray[np.uint8]) -> Words:
    """Return the words of fingerprints in rows of bytes, the most significant byte first."""
    missing = -packed.shape[1] % (WORD_BITS // 8)
    rows = np.pad(packed, ((0, 0), (missing, 0))).view(">u8")
    return np.ascontiguousarray(rows[:, ::-1].T.astype(np.uint64))


def distances(words: Words, first: Positions, second: Positions) -> Distances:
    """Return the Hamming distances of words[:, first] and words[:, second], pair by pair."""
    differing = (word.take(first) ^ word.take(second) for word in words)
    total: Distances = sum(map(np.bitwise_count, differing), start=np.uint16(0))
    return total


def concatenate(batches: Iterable[Pairs]) -> Pairs:
    """Return the pairs of some batches as one batch."""
    none = np.empty(0, dtype=np.intp)
    empty = Pairs(none, none, np.empty(0, dtype=np.uint16))
    return Pairs(*map(np.concatenate, zip(empty, *batches, strict=True)))


def ranges(begin: Positions, end: Positions) -> Iterator[tuple[Positions, Positions]]:
    """Yield (i, position) for each position in each range begin[i]:end[i], in batches of arrays."""
    counts = np.maximum(end - begin, 0)
    total = np.cumsum(counts)
    start = 0
    while start < len(begin):
        before = int(total[start - 1]) if start else 0
        stop = max(int(np.searchsorted(total, before + _BATCH, side="right")), start + 1)
        part = slice(start, stop)
        first = begin[part] - (total[part] - counts[part] - before)
        position = np.repeat(first, counts[part]) + np.arange(int(counts[part].sum()))
        if len(position):
            yield np.repeat(np.arange(start, stop), counts[part]), position
        start = stop
