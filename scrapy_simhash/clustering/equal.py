"""Which fingerprints are equal to an earlier one.

They are found before all else and left out of the search: 100,000 equal ones would be five
billion pairs that say nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.clustering.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.partition import Partitioner
    from scrapy_simhash.clustering.words import Columns, Positions, Words
    from scrapy_simhash.index.plan import Block

# An odd number with about as many bits set as not.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Copies(NamedTuple):
    """Positions of fingerprints that stood before, ascending, and of the first equal one."""

    position: Positions
    first: Positions


def copies_in(partitioner: Partitioner, leading: tuple[Block, ...]) -> Copies:
    """The copies among all fingerprints; equal ones are in the same piece of any cut."""
    jobs = [partial(_copies_in_piece, partitioner, piece) for piece in partitioner.cut(leading)]
    found = list(in_threads(jobs, partitioner.threads))
    if not found:
        return Copies(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
    position, first = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(position)
    return Copies(position[order], first[order])


def _copies_in_piece(partitioner: Partitioner, piece: int) -> Iterator[Copies]:
    columns = partitioner.columns(piece)
    if _some_equal(columns):
        position, first = _copies_of(columns)
        places = partitioner.positions(piece, np.concatenate([position, first]))
        yield Copies(places[: len(position)], places[len(position) :])


def _some_equal(columns: Columns) -> bool:
    folded = columns[0] * _MULTIPLIER
    for column in columns[1:]:
        folded ^= (folded >> np.uint64(29)) ^ column
        folded *= _MULTIPLIER
    # The upper half depends on all bits; it is sorted in half of the time, and mostly tells enough.
    return _repeats((folded >> np.uint64(32)).astype(np.uint32)) and _repeats(folded)


def _repeats(words: Words | NDArray[np.uint32]) -> bool:
    words.sort()
    return bool((words[1:] == words[:-1]).any())


def _copies_of(columns: Columns) -> Copies:
    order = np.lexsort(columns)
    equal = np.zeros(len(order), dtype=bool)
    equal[1:] = True
    for column in columns:
        in_order = column[order]
        equal[1:] &= in_order[1:] == in_order[:-1]
    # Sorting was stable: the first of each group is the earliest.
    firsts = order[~equal]
    group = np.cumsum(~equal) - 1
    return Copies(order[equal], firsts[group[equal]])
