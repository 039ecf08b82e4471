"""GroupedPlan: tables for a guaranteed distance that are fewer than those of a `TablePlan`.

The bits are cut in g groups. Two fingerprints within k bits are within k // g bits in one of the
groups (pigeonhole), and there each group has the tables of a `TablePlan` of its own bits. For 64
bits and k = 3, two groups of 32 bits, 4 blocks of 8 with 3 chosen: 8 tables with 24-bit prefixes
find all pairs, where 5 blocks with 2 chosen take 10 tables for about as long prefixes.

Example, 8 bits in 2 groups of 2 blocks, one chosen: 4 tables of 2-bit prefixes. 0b0110_1100 and
0b0010_0101 differ by one bit in the first group, and share the second of its blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index.plan import Block, TablePlan


@dataclass(frozen=True)
class GroupedPlan:
    """The tables of each group of bits.

    :param groups: number of groups; their widths differ by at most one bit.
    :param blocks: number of blocks in each group.
    :param chosen: blocks of the group brought to the front in each table.
    :raises PlanError: see `TablePlan`, or there are fewer bits than groups.
    """

    bits: int
    groups: int
    blocks: int
    chosen: int

    def __post_init__(self) -> None:
        if not 1 <= self.groups <= self.bits:
            raise PlanError(f"{self.groups} groups of {self.bits} bits: 1 to {self.bits}")
        _ = self._plans

    @cached_property
    def _plans(self) -> list[TablePlan]:
        base, longer = divmod(self.bits, self.groups)
        widths = [base + (number < longer) for number in range(self.groups)]
        return [TablePlan(width, self.blocks, self.chosen) for width in widths]

    @cached_property
    def tables(self) -> tuple[tuple[Block, ...], ...]:
        """For each table the bits of its prefix, most significant first."""
        tables: list[tuple[Block, ...]] = []
        low = self.bits
        for plan in self._plans:
            low -= plan.bits
            tables += [
                tuple(Block(shift + low, width) for shift, width in table) for table in plan.tables
            ]
        return tuple(tables)

    @cached_property
    def prefix_widths_bits(self) -> tuple[int, ...]:
        """Width of each table's prefix."""
        return tuple(width for plan in self._plans for width in plan.prefix_widths_bits)

    @property
    def guaranteed_distance(self) -> int:
        """Every pair within this many bits is found."""
        return self.groups * (self.blocks - self.chosen + 1) - 1

    def expected_recall(self, distance: int) -> float:
        """See `TablePlan.expected_recall`."""
        if not 0 <= distance <= self.bits:
            raise PlanError(f"distance {distance}: from 0 to {self.bits}")
        # missed[d]: ways to choose d bits of the groups so far that no table of theirs survives.
        missed = [1.0] + [0.0] * distance
        for plan in self._plans:
            of_group = [
                comb(plan.bits, d) * (1 - plan.expected_recall(d))
                for d in range(min(distance, plan.bits) + 1)
            ]
            missed = [
                sum(missed[d - i] * ways for i, ways in enumerate(of_group[: d + 1]))
                for d in range(distance + 1)
            ]
        return 1 - missed[distance] / comb(self.bits, distance)

    def __str__(self) -> str:
        low, high = min(self.prefix_widths_bits), max(self.prefix_widths_bits)
        prefix = f"{low}" if low == high else f"{low}-{high}"
        return f"{len(self.tables)} tables with {prefix}-bit prefixes"
