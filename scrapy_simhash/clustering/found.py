"""Pairs that were found, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simhash.clustering.words import Distances, Positions

# Pairs are handed on when there are about so many.
BATCH = 1 << 16


class Found(NamedTuple):
    """Pairs of fingerprints by their positions, `first` < `second`, and their distances."""

    first: Positions
    second: Positions
    distance: Distances

    def at(self, places: Positions) -> Found:
        """The same pairs, where each position is one of these places."""
        return Found(places[self.first], places[self.second], self.distance)


def ordered(one: Positions, other: Positions, distance: Distances) -> Found:
    """Pairs with the earlier position first."""
    return Found(np.minimum(one, other), np.maximum(one, other), distance)


def gathered(pairs: Iterable[Found]) -> Iterator[Found]:
    """The same pairs, small batches of them put together."""
    held: list[Found] = []
    count = 0
    for found in pairs:
        held.append(found)
        count += len(found.first)
        if count >= BATCH:
            yield together(held)
            held, count = [], 0
    if count:
        yield together(held)


def once(pairs: Iterable[Found], count: int) -> Iterator[Found]:
    """The same pairs among so many fingerprints, each once."""
    known = np.empty(0, dtype=np.intp)
    for found in pairs:
        number = found.first * count + found.second
        number, at = np.unique(number, return_index=True)
        new = ~np.isin(number, known, assume_unique=True)
        known = np.concatenate([known, number[new]])
        at = at[new]
        yield Found(found.first[at], found.second[at], found.distance[at])


def together(pairs: list[Found]) -> Found:
    """Batches of pairs as one."""
    if len(pairs) == 1:
        return pairs[0]
    if not pairs:
        none = np.empty(0, dtype=np.intp)
        return Found(none, none, np.empty(0, dtype=np.uint16))
    return Found(*(np.concatenate(part) for part in zip(*pairs, strict=True)))
