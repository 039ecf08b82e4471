"""Find pairs of fingerprints within a distance by sorting, once for each table.

Fingerprints are arrays of 64-bit words of shape (words, n), with the lowest words first. A table
brings together the fingerprints with the same prefix. A 32-bit hash of the prefix and the number of
the fingerprint are packed in one key; sorting the keys makes equal prefixes neighbours. In each run
of equal prefixes, each fingerprint is compared with those after it.
"""

from __future__ import annotations

from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan, fewest_tables
from scrapy_simhash.index.tables.buckets import WORD_BITS, Prefixes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint64]
    Positions: TypeAlias = NDArray[np.intp]
    Distances: TypeAlias = NDArray[np.uint16]

# The approximate number of pairs that are compared at once, and of keys in a piece.
_BATCH, _PIECE_KEYS = 1 << 16, 40_000
_BLOCK = 64
_LOWER_HALF = np.uint64((1 << 32) - 1)
# Words of unrelated fingerprints differ in 32 of 64 bits on average, rarely in fewer than 20.
_UNRELATED_BITS = 20
# Costs in ns of CPU time: a table, a fingerprint in it, a word of two compared fingerprints; and
# such a word if all are compared with all. A search that finds all pairs in 2 s is fast enough.
_TABLE_NS, _ENTRY_NS, _PAIR_NS, _COMPARED_NS, _FAST_NS = 200_000.0, 40.0, 3.5, 1.3, 2e9


class Pairs(NamedTuple):
    """Pairs of fingerprints by their numbers, `first` < `second`, and distances."""

    first: Positions
    second: Positions
    distance: Distances


def words_of(fingerprints: Iterable[int] | NDArray[Any], bits: int) -> Words:
    """Return the words of fingerprints; for the accepted forms see `cluster`.

    :raises SchemeError: `fingerprints` has another form, or a fingerprint has too many bits.
    """
    width = -(-bits // WORD_BITS)
    array = fingerprints if isinstance(fingerprints, np.ndarray) else np.empty(0)
    if array.dtype == np.uint8 and array.shape[1:] == (bits // 8,):
        array = np.pad(array, ((0, 0), (-bits % WORD_BITS // 8, 0))).view(">u8")
    if array.dtype.kind == "u" and array.ndim == width == 1:
        rows = array.astype(np.uint64)[:, None]
    elif array.dtype.str[1:] == "u8" and array.shape[1:] == (width,):
        rows = array[:, ::-1].astype(np.uint64)
    else:
        try:
            packed = b"".join(index(one).to_bytes(width * 8, "little") for one in fingerprints)
        except (TypeError, OverflowError) as error:
            raise SchemeError(
                f"fingerprints: needs ints from 0 to 2**{bits} - 1 ({error}), or an array of shape "
                f"(n, {bits // 8}) and type uint8, or of shape (n, {width}) and type uint64"
            ) from None
        rows = np.frombuffer(packed, "<u8").reshape(-1, width)
    if bits % WORD_BITS and (rows[:, -1] >> np.uint64(bits % WORD_BITS)).any():
        raise SchemeError(f"a fingerprint is 2**{bits} or more")
    return np.ascontiguousarray(rows.T)


def fastest_plan(bits: int, max_distance: int, count: int) -> TablePlan | None:
    """Return the tables that find pairs fastest; None to compare all with all.

    If a search that finds all pairs takes longer than two seconds, it competes with tables that
    find 95 % of the pairs at `max_distance`.
    """
    words, pairs = _telling_words(-(-bits // WORD_BITS), max_distance), count * (count - 1) / 2

    def cost_ns(plan: TablePlan | None) -> float:
        if plan is None:
            return pairs * words * _COMPARED_NS
        candidates = sum(pairs / (1 << width) for width in plan.prefix_widths_bits)
        tables_ns = len(plan.tables) * (_TABLE_NS + count * _ENTRY_NS)
        return tables_ns + candidates * words * _PAIR_NS

    def cheapest(min_recall: float) -> TablePlan | None:
        plans = (fewest_tables(bits, max_distance, chosen, min_recall) for chosen in range(1, 5))
        return min([None, *filter(None, plans)], key=cost_ns)

    exact = cheapest(1.0)
    return exact if cost_ns(exact) <= _FAST_NS else cheapest(MIN_RECALL)


def find_pairs(words: Words, max_distance: int, plan: TablePlan | None) -> Iterator[Pairs]:
    """Yield the pairs of distinct fingerprints within the distance in batches, some repeatedly.

    :param plan: tables without probes; None compares all fingerprints with all.
    """
    if plan is None:
        yield from _of_all(words, max_distance)
        return
    prefixes = Prefixes(plan)
    for table in range(len(plan.tables)):
        yield from _of_table(words, max_distance, prefixes.hashes_in(table, words.T))


def _of_table(words: Words, max_distance: int, keys: Words) -> Iterator[Pairs]:
    """Yield the pairs with equal upper halves of their `keys`, the hashes of their prefixes."""
    keys &= ~_LOWER_HALF
    keys |= np.arange(words.shape[1], dtype=np.uint64)
    keys.sort()
    is_new = np.ones(len(keys), dtype=bool)
    np.greater(keys[1:] ^ keys[:-1], _LOWER_HALF, out=is_new[1:])
    sizes = np.diff(np.flatnonzero(is_new), append=len(keys))
    keys = keys[np.repeat(sizes > 1, sizes)]
    ends = np.append(0, np.cumsum(sizes[sizes > 1]))
    # Pieces of whole runs, which fit in the cache of a processor.
    cuts = np.searchsorted(ends, np.arange(0, len(keys) + _PIECE_KEYS, _PIECE_KEYS))
    for start, stop in pairwise(np.minimum(cuts, len(ends) - 1).tolist()):
        piece = ends[start : stop + 1]
        members = (keys[piece[0] : piece[-1]] & _LOWER_HALF).astype(np.intp)
        run_ends = np.repeat(piece[1:], np.diff(piece)) - piece[0]
        own = words.take(members, 1)
        for one, other in ranges(np.arange(1, len(members) + 1), run_ends):
            near = _near(own, one, other, max_distance)
            yield Pairs(members[near.first], members[near.second], near.distance)


def _of_all(words: Words, max_distance: int) -> Iterator[Pairs]:
    """Yield the pairs of each fingerprint with those after it."""
    telling, count = words[: _telling_words(len(words), max_distance)], words.shape[1]
    for start in range(0, count, _BLOCK):
        held = []
        for first in range(start, min(start + _BLOCK, count)):
            apart = _bit_counts(word[first + 1 :] ^ word[first] for word in telling)
            second = np.flatnonzero(apart <= max_distance) + (first + 1)
            if len(second):
                held.append(_near(words, np.full_like(second, first), second, max_distance))
        yield concatenate(held)


def _near(words: Words, first: Positions, second: Positions, max_distance: int) -> Pairs:
    """Return the pairs (first, second) without those beyond the distance."""
    telling = _telling_words(len(words), max_distance)
    if telling < len(words):
        near = np.flatnonzero(distances(words[:telling], first, second) <= max_distance)
        first, second = first[near], second[near]
    apart = distances(words, first, second)
    near = np.flatnonzero(apart <= max_distance)
    return Pairs(first[near], second[near], apart[near])


def distances(words: Words, first: Positions, second: Positions) -> Distances:
    """Return the Hamming distances of words[:, first] and words[:, second], pair by pair."""
    return _bit_counts(word.take(first) ^ word.take(second) for word in words)


def _bit_counts(differing: Iterable[Words]) -> Distances:
    total: Distances = sum(map(np.bitwise_count, differing), start=np.uint16(0))
    return total


def _telling_words(count: int, max_distance: int) -> int:
    """Return how many of `count` words are enough to reject most unrelated pairs."""
    return min(count, max_distance // _UNRELATED_BITS + 1)


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
