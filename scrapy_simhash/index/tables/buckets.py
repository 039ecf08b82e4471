"""Choose the buckets that a query looks up: its own, and those in which a copy probably is.

**Prefixes.** Tables sort a prefix by its *hash*, 64 bits: the prefix times an odd number, moved to
the top. Texts in one language have similar prefixes, so their leading bits would fill some buckets
and leave others empty. The products differ, too, and spread evenly: the number is 2**width divided
by the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4).

**Probing.** In probed tables, a query looks up its own prefix in each table, and then, in all
tables together, its prefixes with some of its least certain bits flipped (`certainty`, see
`scrapy_simhash.fingerprint.Fingerprint`). Each look-up of a bucket is a *probe*.
docs/fingerprint-index.md explains it, with an example. The model: the sums of two texts are normal,
with a correlation of cos(πd/f) if d of f bits differ. So a bit whose sum is z standard deviations
from zero differs with the probability Φ(-z·cot(πd/f)).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.base import Query
    from scrapy_simhash.index.plan import TablePlan

    Words = NDArray[np.uint64]
    Numbers = NDArray[np.int64]

WORD_BITS = 64
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio
# The certainty of a bit whose sum is one standard deviation from zero.
CERTAINTY_SCALE = 64
_BYTE_BITS = np.uint16(8)
# Upper limit for the bits of a prefix that may be flipped: the least certain ones.
_UNCERTAIN_BITS = 6
# Scores hold for pairs with this share of differing bits, where probes matter most.
_TYPICAL_SHARE = 48 / 256


class Buckets(NamedTuple):
    """The buckets to look up: that of a hash in a table, for a query, given by its number."""

    tables: Numbers
    hashes: Words
    owners: Numbers


class Prefixes:
    """The prefixes of a plan. Of a prefix that is longer than 64 bits, the last 64 count.

    A *fingerprint in words* is a row of 64-bit words, the least significant word first.
    """

    def __init__(self, plan: TablePlan) -> None:
        self._plan = plan
        self.words = -(-plan.bits // WORD_BITS)
        """Number of words of a fingerprint."""
        self.tables = len(plan.tables)
        widths = [min(width, WORD_BITS) for width in plan.prefix_widths_bits]
        self._factors = np.array([_GOLDEN >> WORD_BITS - width | 1 for width in widths], np.uint64)
        self._shifts = np.array([WORD_BITS - width for width in widths], np.uint64)
        self._has_single_blocks = all(len(table) == 1 for table in plan.tables)
        places = np.array([divmod(table[0].shift, WORD_BITS) for table in plan.tables])
        self._first_words, self._low_shifts = places[:, 0], places[:, 1].astype(np.uint64)
        # Shifts of the following word, in two parts: a shift by 64 bits is not defined.
        self._high_shifts = WORD_BITS - 1 - self._low_shifts
        self._prober = Prober(plan) if plan.prefix_bits else None

    def packed(self, fingerprints: Sequence[int]) -> Words:
        """Return fingerprints in words, a row for each."""
        size = 8 * self.words
        packed = b"".join([fingerprint.to_bytes(size, "little") for fingerprint in fingerprints])
        return np.frombuffer(packed, "<u8").reshape(-1, self.words)

    def buckets(self, queries: Sequence[Query], rows: Words) -> Buckets:
        """Return the buckets to look up, in the order of the queries.

        :param queries: either all have a certainty, or none is used.
        :param rows: the fingerprints in words.
        """
        if self._prober is None or not queries:
            owners, tables = _each_table(len(queries), self.tables)
            return Buckets(tables, self.hashes_in_all(rows).ravel(), owners)
        tables, prefixes, owners = self._prober.probes(queries)
        hashes = prefixes.astype(np.uint64)
        hashes *= self._factors[0]
        hashes <<= self._shifts[0]
        return Buckets(tables, hashes, owners)

    def hashes_in(self, table: int, rows: Words) -> Words:
        """Return the hash of each prefix in one table.

        :param rows: fingerprints in words.
        """
        hashes = np.zeros(len(rows), np.uint64)
        for shift, width in self._plan.tables[table]:
            word, at = divmod(shift, WORD_BITS)
            # Of a block, the last 64 bits.
            bits = rows[:, word] >> np.uint64(at)
            if at and at + width > WORD_BITS:
                bits = bits | rows[:, word + 1] << np.uint64(WORD_BITS - at)
            if width < WORD_BITS:
                hashes <<= np.uint64(width)
                bits = bits & np.uint64((1 << width) - 1)
                hashes |= bits
            else:
                hashes = bits
        hashes *= self._factors[table]
        hashes <<= self._shifts[table]
        return hashes

    def hashes_in_all(self, rows: Words) -> Words:
        """Return the hashes of the prefixes in all tables, a row for each row; see `hashes_in`."""
        if not self._has_single_blocks:
            return np.stack([self.hashes_in(table, rows) for table in range(self.tables)], 1)
        hashes: Words = rows.take(self._first_words, axis=1) >> self._low_shifts
        if self.words > 1:
            following = rows.take(self._first_words + 1, axis=1, mode="clip")
            hashes |= following << self._high_shifts << np.uint64(1)
        # The shift to the top drops the bits beyond the prefix.
        hashes *= self._factors
        hashes <<= self._shifts
        return hashes


class Prober:
    """A chooser of the buckets to look up in the probed tables of a plan."""

    def __init__(self, plan: TablePlan) -> None:
        self._block_shifts = [block.shift for (block,) in plan.tables]
        self._mask = (1 << plan.prefix_bits) - 1
        self._probe_count = plan.probes
        width, tables = plan.prefix_bits, len(plan.tables)
        self._bits = plan.bits
        self._shape = tables, width
        self._uncertain = min(_UNCERTAIN_BITS, width)
        # Column i is a subset of the uncertain bits: bit j of i is set if it has the j-th of them.
        subsets = np.arange(1 << self._uncertain)[:, None] >> np.arange(self._uncertain) & 1
        self._subsets = subsets.T.astype(np.float32)
        self._exact_subsets = subsets.T.astype(np.float64)
        self._log_odds, self._log_equal = _log_probabilities()
        self._ones = np.ones(width, np.float32)
        self._bit_numbers = np.arange(width, dtype=np.uint16)
        self._bit_values = 2.0 ** np.arange(width)[::-1]
        # For queries without certainty: flip no bit, or a single bit, of each prefix.
        masks = np.concatenate([[0], 1 << np.arange(width)])
        self._bare_tables = np.repeat(np.arange(tables), width + 1)
        self._bare_flips = np.tile(masks, tables)

    def probes(self, queries: Sequence[Query]) -> tuple[Numbers, Numbers, Numbers]:
        """Return (number of the table, prefix, number of the query) of each probe, in the order of
        the queries. If a certainty is unknown, none is used.
        """
        count, (tables, width) = len(queries), self._shape
        shifts, mask = self._block_shifts, self._mask
        own_prefixes = np.array(
            [[query.fingerprint >> shift & mask for shift in shifts] for query in queries]
        )
        packed = b"".join([query.certainty for query in queries])
        if len(packed) != count * self._bits:
            prefixes = own_prefixes.take(self._bare_tables, axis=1) ^ self._bare_flips
            owners = np.arange(count).repeat(len(self._bare_tables))
            return np.tile(self._bare_tables, count), prefixes.ravel(), owners
        certainties = np.frombuffer(packed, np.uint8).reshape(count, self._bits)
        in_tables = certainties[:, : tables * width].reshape(count, tables, width)
        uncertain, is_probed = self.subsets(in_tables)
        # Products of these floats are exact, and numpy is slow at products of integers.
        flips = (self._bit_values.take(uncertain) @ self._exact_subsets).ravel()
        chosen = is_probed.ravel().nonzero()[0]
        # (number of the query) * (number of tables) + (number of the table).
        rows = chosen >> self._uncertain
        prefixes = own_prefixes.ravel().take(rows) ^ flips.take(chosen).astype(np.int64)
        if count == 1:
            return rows, prefixes, np.zeros_like(rows)
        owners, probed_tables = np.divmod(rows, tables)
        return probed_tables, prefixes, owners

    def subsets(
        self, certainties: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
        """Return the probes of many queries, by query and table: (the numbers of the least certain
        bits of the prefix, where 0 is the most significant bit; for each subset of these bits, True
        if a probe flips it). Subset i has the j-th of these bits if bit j of i is set.

        :param certainties: by query, table and bit of the prefix.
        """
        # The upper byte is the certainty of a bit, the lower byte its number in the prefix.
        ranked: NDArray[np.uint16] = certainties.astype(np.uint16)
        ranked <<= _BYTE_BITS
        ranked |= self._bit_numbers
        ranked.sort(axis=-1)
        ranked = ranked[..., : self._uncertain]
        # The logarithm of the probability that a copy differs in exactly these bits of the prefix.
        scores: NDArray[np.float32] = self._log_odds.take(ranked >> _BYTE_BITS) @ self._subsets
        # A sum, as a product with ones: numpy's `sum` takes longer.
        scores += (self._log_equal.take(certainties) @ self._ones)[..., None]
        scores[..., 0] = np.inf  # the own prefix
        flat = scores.reshape(len(scores), -1)
        count = min(self._probe_count, flat.shape[1])
        # For so few scores, `partition` and `argpartition` take longer.
        lowest: NDArray[np.float32] = np.sort(flat, axis=1)[:, -count, None, None]
        return ranked & np.uint16(0xFF), scores >= lowest


@lru_cache(maxsize=32)
def _each_table(queries: int, tables: int) -> tuple[Numbers, Numbers]:
    """Return (number of the query, number of the table) of each table for each query."""
    return np.divmod(np.arange(queries * tables), tables)


@lru_cache(maxsize=1)
def _log_probabilities() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return, for each certainty, the logarithms of (the odds that such a bit differs, the
    probability that it is equal), for pairs with `_TYPICAL_SHARE`.
    """
    slope = 1 / math.tan(math.pi * _TYPICAL_SHARE)
    arguments = (np.arange(256) + 0.5) / CERTAINTY_SCALE * slope / math.sqrt(2)
    differs = np.array([math.erfc(argument) / 2 for argument in arguments]).clip(1e-9, 0.5)
    log_odds, log_equal = np.log(differs / (1 - differs)), np.log1p(-differs)
    return log_odds.astype(np.float32), log_equal.astype(np.float32)
