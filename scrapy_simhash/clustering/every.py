"""Every fingerprint with every other: exact, quadratic, and a nanosecond or two for a pair.

Work goes in tiles that fit a processor's cache, so memory does not grow with the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.clustering.found import Found, ordered
from scrapy_simhash.clustering.words import take

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.words import Columns, Distances, Positions, Words

_TILE_PAIRS = 1 << 17
_TILE_WIDTH = 1 << 12
# Of 64 bits, unrelated fingerprints differ in 32, and hardly ever in fewer than so many.
_UNRELATED_BITS = 20
# The distance of so many words fits the byte that numpy counts each of them in.
_WORDS_OF_BYTE = 3
# Fingerprints that links begin at, before they must lead to others.
_BEGINNINGS = 64


def telling_words(words: int, max_distance: int) -> int:
    """How many words of unrelated fingerprints are enough to show that they are not near."""
    return min(words, max_distance // _UNRELATED_BITS + 1)


def pairs_of_all(columns: Columns, max_distance: int) -> Iterator[Found]:
    """All pairs within the distance."""
    count = len(columns[0])
    height = max(_TILE_PAIRS // max(min(count, _TILE_WIDTH), 1), 1)
    for top in range(0, count, height):
        rows = [column[top : top + height] for column in columns]
        for left in range(top, count, _TILE_WIDTH):
            others = [column[left : left + _TILE_WIDTH] for column in columns]
            row, other, distance = _near(rows, others, max_distance)
            first, second = row + top, other + left
            if left < top + height:
                later = np.flatnonzero(first < second)
                first, second, distance = first[later], second[later], distance[later]
            if len(first):
                yield Found(first, second, distance)


def pairs_across(
    columns: Columns, ones: Positions, others: Positions, max_distance: int
) -> Iterator[Found]:
    """All pairs within the distance of one of `ones` with one of `others`."""
    left, right = take(columns, ones), take(columns, others)
    height = max(_TILE_PAIRS // max(min(len(others), _TILE_WIDTH), 1), 1)
    for top in range(0, len(ones), height):
        rows = [column[top : top + height] for column in left]
        for start in range(0, len(others), _TILE_WIDTH):
            parts = [column[start : start + _TILE_WIDTH] for column in right]
            row, other, distance = _near(rows, parts, max_distance)
            if len(row):
                yield ordered(ones[row + top], others[other + start], distance)


def links_of_all(
    columns: Columns, max_distance: int, comparisons: int | None = None
) -> Generator[Found, None, Positions]:
    """Pairs within the distance that connect what all of them do: a spanning forest.

    A fingerprint that was reached is compared with those that were not, so a dense set takes time
    by its size, where it has pairs by the square of it.

    :param comparisons: when it has taken more for each one that was reached, besides some for the
        beginning, it ends.
    :return: positions of those that were not compared with all others.
    """
    count = len(columns[0])
    left = np.arange(count)
    reached = left[:0]
    credit = _BEGINNINGS * count
    while len(left):
        if not len(reached):
            reached, left = left[:1], left[1:]
        height = max(_TILE_PAIRS // max(len(left), 1), 1)
        batch, reached = reached[:height], reached[height:]
        rows = take(columns, batch)
        near = np.zeros(len(left), dtype=bool)
        for start in range(0, len(left), _TILE_PAIRS):
            part = left[start : start + _TILE_PAIRS]
            row, other, distance = _near(rows, take(columns, part), max_distance)
            # All of the batch are connected: one link is enough.
            other, one = np.unique(other, return_index=True)
            near[other + start] = True
            if len(other):
                yield ordered(batch[row[one]], part[other], distance[one])
        if comparisons is not None:
            credit += comparisons * np.count_nonzero(near) - len(batch) * len(left)
        reached = np.concatenate([reached, left[near]])
        left = left[~near]
        if credit < 0:
            return np.sort(np.concatenate([reached, left]))
    return left


def sum_of_counts(differing: Iterable[Words]) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """How many bits are set in the words of each fingerprint together."""
    total = None
    for number, words in enumerate(differing):
        counts = np.bitwise_count(words)
        if total is None:
            total = counts
            continue
        if number == _WORDS_OF_BYTE:
            total = total.astype(np.uint16)
        total += counts
    assert total is not None
    return total


def _near(
    rows: Columns, others: Columns, max_distance: int
) -> tuple[Positions, Positions, Distances]:
    """Each of `rows` with each of `others`, within the distance."""
    telling = telling_words(len(rows), max_distance)
    total = sum_of_counts(
        one[:, None] ^ other for one, other in zip(rows[:telling], others[:telling], strict=True)
    )
    at = np.flatnonzero(total <= max_distance)
    row, column = np.divmod(at, len(others[0])) if len(at) else (at, at)
    distance = total.ravel()[at].astype(np.uint16)
    if telling < len(rows) and len(at):
        for one, other in zip(rows[telling:], others[telling:], strict=True):
            distance += np.bitwise_count(one[row] ^ other[column])
        near = np.flatnonzero(distance <= max_distance)
        row, column, distance = row[near], column[near], distance[near]
    return row, column, distance
