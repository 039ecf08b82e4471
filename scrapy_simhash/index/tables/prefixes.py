"""Read the prefixes of a plan's tables from fingerprints, and say where a prefix is sorted.

A run sorts a prefix by its *hash*, 64 bits: the prefix times an odd number, moved to the top.
Texts in one language have similar prefixes, so their leading bits would fill some buckets and leave
others empty. The products differ, too, and spread evenly: the number is 2**width divided by the
golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import TablePlan

    Words = NDArray[np.uint64]

WORD_BITS = 64
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio


class Prefixes:
    """The prefixes of a plan. Of a prefix that is longer than 64 bits, the last 64 count.

    A *fingerprint in words* is a row of 64-bit words, the least significant word first.
    """

    def __init__(self, plan: TablePlan) -> None:
        self._plan = plan
        self.words = -(-plan.bits // WORD_BITS)
        """Number of words of a fingerprint."""
        widths = [min(width, WORD_BITS) for width in plan.prefix_widths_bits]
        self._factors = np.array([_GOLDEN >> WORD_BITS - width | 1 for width in widths], np.uint64)
        self._shifts = np.array([WORD_BITS - width for width in widths], np.uint64)
        self._has_single_blocks = all(len(table) == 1 for table in plan.tables)
        places = np.array([divmod(table[0].shift, WORD_BITS) for table in plan.tables])
        self._first_words, self._low_shifts = places[:, 0], places[:, 1].astype(np.uint64)
        # Shifts of the following word, in two parts: a shift by 64 bits is not defined.
        self._high_shifts = np.uint64(WORD_BITS - 1) - self._low_shifts

    def packed(self, fingerprints: Sequence[int]) -> Words:
        """Return fingerprints in words, a row for each."""
        size = 8 * self.words
        packed = b"".join([fingerprint.to_bytes(size, "little") for fingerprint in fingerprints])
        return np.frombuffer(packed, "<u8").reshape(-1, self.words)

    def hashes(self, prefixes: NDArray[np.int64]) -> Words:
        """Return the hashes of prefixes of a probed plan, which all have the same width."""
        hashes = prefixes.astype(np.uint64)
        hashes *= self._factors[0]
        hashes <<= self._shifts[0]
        return hashes

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
            return np.stack([self.hashes_in(table, rows) for table in range(len(self._shifts))], 1)
        hashes: Words = rows.take(self._first_words, axis=1) >> self._low_shifts
        if self.words > 1:
            following = rows.take(self._first_words + 1, axis=1, mode="clip")
            hashes |= following << self._high_shifts << np.uint64(1)
        # The shift to the top drops the bits beyond the prefix.
        hashes *= self._factors
        hashes <<= self._shifts
        return hashes
