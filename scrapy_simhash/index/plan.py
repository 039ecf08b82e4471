"""TablePlan: which bits each permuted table looks up exactly, and what that finds.

Manku, Jain and Das Sarma (WWW 2007), section 3: the f bits are cut in m blocks; each table
brings c chosen blocks to the front of the permuted fingerprint and finds the stored ones with
that prefix. Two fingerprints within m - c bits of each other leave at least c blocks equal
(pigeonhole), so one of the C(m, c) tables brings them together: that distance is guaranteed.
Beyond it the chance is a matter of counting, and `expected_recall` counts.

Example, 8 bits in 4 blocks, one chosen: 4 tables of 2-bit prefixes. 0b11_01_10_00 and
0b11_01_01_11 differ in 4 bits, more than the guaranteed 3, yet share the first two blocks:
tables 0 and 1 find the pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

from scrapy_simhash.errors import PlanError

MIN_RECALL = 0.95
MAX_TABLES = 4096
# With shorter prefixes, each query of an index of a million pages would meet thousands of
# candidates in every table.
_MIN_PREFIX_BITS = 10


class Block(NamedTuple):
    """Contiguous bits of a fingerprint: `width` bits above the `shift` lowest."""

    shift: int
    width: int


@dataclass(frozen=True)
class TablePlan:
    """The permuted tables of an index.

    :param bits: width of the fingerprints, f.
    :param blocks: number of blocks, m; widths differ by at most one bit.
    :param chosen: blocks brought to the front in each table, c.
    :raises PlanError: there are fewer bits than blocks, fewer blocks than chosen, or more than
        4096 tables.
    """

    bits: int
    blocks: int
    chosen: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.chosen <= self.blocks <= self.bits:
            raise PlanError(
                f"{self.blocks} blocks of {self.bits} bits with {self.chosen} chosen: "
                "1 <= chosen <= blocks <= bits is needed"
            )
        if comb(self.blocks, self.chosen) > MAX_TABLES:
            raise PlanError(
                f"{self.blocks} blocks with {self.chosen} chosen make more than {MAX_TABLES} tables"
            )

    @classmethod
    def for_distance(cls, bits: int, max_distance: int) -> TablePlan:
        """The fewest one-block tables that find at least 95 % of pairs at `max_distance`.

        :raises PlanError: that would take prefixes shorter than 10 bits.
        """
        if not 0 <= max_distance < bits:
            raise PlanError(f"distance {max_distance} of {bits} bits: from 0 to {bits - 1}")
        for blocks in range(1, max(bits // _MIN_PREFIX_BITS, 1) + 1):
            plan = cls(bits, blocks)
            if plan.expected_recall(max_distance) >= MIN_RECALL:
                return plan
        raise PlanError(
            f"no tables with prefixes of {_MIN_PREFIX_BITS} bits or more find {MIN_RECALL:.0%} of "
            f"the pairs at distance {max_distance} of {bits} bits: lower the distance, or take "
            "more bits"
        )

    @cached_property
    def tables(self) -> tuple[tuple[Block, ...], ...]:
        """For each table its chosen blocks, most significant first."""
        base, longer = divmod(self.bits, self.blocks)
        cut = []
        shift = self.bits
        for number in range(self.blocks):
            width = base + (number < longer)
            shift -= width
            cut.append(Block(shift, width))
        return tuple(combinations(cut, self.chosen))

    @cached_property
    def prefix_widths_bits(self) -> tuple[int, ...]:
        """Width of each table's prefix."""
        return tuple(sum(block.width for block in table) for table in self.tables)

    @property
    def guaranteed_distance(self) -> int:
        """Every fingerprint within this many bits is found."""
        return self.blocks - self.chosen

    def prefixes(self, fingerprint: int) -> list[int]:
        """The prefix of a fingerprint in each table."""
        found = []
        for table in self.tables:
            prefix = 0
            for shift, width in table:
                prefix = prefix << width | fingerprint >> shift & (1 << width) - 1
            found.append(prefix)
        return found

    def expected_recall(self, distance: int) -> float:
        """Share of the fingerprints at that distance which the tables find, if the differing
        bits fall anywhere alike; exactly 1.0 up to the guaranteed distance.
        """
        if not 0 <= distance <= self.bits:
            raise PlanError(f"distance {distance}: from 0 to {self.bits}")
        if distance <= self.guaranteed_distance:
            return 1.0
        return _expected_recall(self.bits, self.blocks, self.chosen, distance)

    def expected_candidates(self, entries: int) -> float:
        """Candidates per query among that many entries with random fingerprints."""
        return sum(entries / (1 << width) for width in self.prefix_widths_bits)

    def __str__(self) -> str:
        low, high = min(self.prefix_widths_bits), max(self.prefix_widths_bits)
        prefix = f"{low}" if low == high else f"{low}-{high}"
        count = len(self.tables)
        return f"{count} table{'s' * (count > 1)} with {prefix}-bit prefixes"


@lru_cache(maxsize=1024)
def _expected_recall(bits: int, blocks: int, chosen: int, distance: int) -> float:
    # ways[touched][d]: subsets of d bits that fall in exactly `touched` of the blocks so far.
    ways = [[0] * (distance + 1) for _ in range(blocks + 1)]
    ways[0][0] = 1
    base, longer = divmod(bits, blocks)
    for number in range(blocks):
        width = base + (number < longer)
        for touched in range(number, -1, -1):
            row = ways[touched]
            above = ways[touched + 1]
            for d, count in enumerate(row):
                if count:
                    for i in range(1, min(width, distance - d) + 1):
                        above[d + i] += count * comb(width, i)
    found = sum(ways[touched][distance] for touched in range(blocks - chosen + 1))
    return found / comb(bits, distance)
