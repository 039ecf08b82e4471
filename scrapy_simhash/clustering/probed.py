"""Find pairs by *probed* tables: long prefixes, with the least certain bits flipped.

Near-duplicates differ in bits that are uncertain in both of them (`scrapy_simhash.index.probing`).
So a table has several *entries* of each fingerprint: under its own prefix, and under prefixes with
some of its least certain bits flipped. A pair is found if both have an entry under one prefix. With
8 entries each, two fingerprints have up to 64 chances for that.

Example with prefixes of 4 bits and three entries: 0b1011 with the certainties 9, 200, 3, 90 has
entries under 0b1011, 0b1001 and 0b0011. 0b0001 with the certainties 5, 90, 8, 200 has entries under
0b0001, 0b1001 and 0b0011. The two prefixes differ in two bits, but share 0b1001 and 0b0011.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from scrapy_simhash.clustering.words import WORD_BITS
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.index.probing import CERTAINTY_SCALE, typical_distances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from scrapy_simhash.clustering.words import Words

    Prefixes: TypeAlias = NDArray[np.uint32]

PREFIX_BITS = 22
_MAX_TABLES = 11
_ENTRIES = 8
# Sets of bits to flip: at most 4 of the 8 least certain bits. A bit is given by its rank; the least
# certain one has rank 0. Sets are sorted by the sum of rank + 1 over their bits.
_RANKED = 8
_FLIPS = sorted(
    (ranks for size in range(5) for ranks in combinations(range(_RANKED), size)),
    key=lambda ranks: (sum(ranks) + len(ranks), len(ranks)),
)
# Upper limit for `max_distance` as a share of the bits. Real near-duplicates differ in fewer bits.
_MAX_SHARE = 1 / 4
_SEED = 1


def probed_plan(bits: int, max_distance: int) -> TablePlan | None:
    """Return the probed tables for a width of fingerprints.

    Return None below 22 bits, or if `max_distance` is above a quarter of the bits.
    """
    tables = min(_MAX_TABLES, bits // PREFIX_BITS)
    if not tables or max_distance > _MAX_SHARE * bits:
        return None
    return TablePlan(bits, tables, prefix_bits=PREFIX_BITS, probes=tables * _ENTRIES)


def probed_prefixes(
    words: Words, certainties: NDArray[np.uint8], plan: TablePlan, table: int
) -> list[Prefixes]:
    """Return the prefixes of the entries of a table: in each array, one entry per fingerprint."""
    width = plan.prefix_bits
    number, shift = divmod(plan.tables[table][0].shift, WORD_BITS)
    shifted = words[number] >> np.uint64(shift)
    if shift + width > WORD_BITS:
        shifted |= words[number + 1] << np.uint64(WORD_BITS - shift)
    prefixes = (shifted & np.uint64((1 << width) - 1)).astype(np.uint32)
    certainties = certainties[:, table * width : (table + 1) * width]
    return list(flipped(prefixes, certainties, entries_per_table(plan)))


def flipped(prefixes: Prefixes, certainties: NDArray[np.uint8], count: int) -> Iterator[Prefixes]:
    """Yield at most `count` arrays of prefixes: the given prefixes, then these with flipped bits.

    :param certainties: a row for each prefix, with a byte for each bit, the most significant first.
    """
    width = certainties.shape[1]
    # Sorted by certainty: each bit has its certainty in the high byte, its number in the low byte.
    ranked = certainties.astype(np.uint16) << 8 | np.arange(width, dtype=np.uint16)
    ranked.sort(axis=1)
    usable = min(width, _RANKED)
    bits = np.uint32(1) << (np.uint32(width - 1) - (ranked[:, :usable] & 0xFF).T.astype(np.uint32))
    for ranks in [ranks for ranks in _FLIPS if max(ranks, default=0) < usable][:count]:
        entries = prefixes
        for rank in ranks:
            entries = entries ^ bits[rank]
        yield entries


@lru_cache(maxsize=256)
def typical_recall(plan: TablePlan, max_distance: int) -> float:
    """Return the expected share of real near-duplicates that `cluster` finds within a distance.

    The share is simulated, with the distances and the model of `scrapy_simhash.index.probing`.
    """
    random = np.random.default_rng(_SEED)
    distances = typical_distances(plan.bits, max_distance)
    shape = len(distances), len(plan.tables), plan.prefix_bits
    correlation = np.cos(np.pi * distances / plan.bits)[:, None, None]
    # The sum of each bit of a page, and of its copy. The sign gives the bit.
    sums = random.standard_normal(shape)
    others = correlation * sums + np.sqrt(1 - correlation**2) * random.standard_normal(shape)
    is_found = np.zeros(len(distances), dtype=bool)
    weights = np.uint32(1) << np.arange(plan.prefix_bits, dtype=np.uint32)[::-1]
    for table in range(len(plan.tables)):
        one, other = (
            flipped(
                ((bit_sums[:, table] > 0) * weights).sum(axis=1, dtype=np.uint32),
                np.minimum(abs(bit_sums[:, table]) * CERTAINTY_SCALE, 255).astype(np.uint8),
                entries_per_table(plan),
            )
            for bit_sums in (sums, others)
        )
        other_prefixes = np.array(list(other))
        for prefixes in one:
            is_found |= (prefixes == other_prefixes).any(axis=0)
    return float(is_found.mean())


def entries_per_table(plan: TablePlan) -> int:
    """Return the number of entries that each table has of a fingerprint."""
    return max(plan.probes // len(plan.tables), 1)
