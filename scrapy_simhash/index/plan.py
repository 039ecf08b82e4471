"""TablePlan: which bits each permuted table looks up exactly, and what that finds.

Manku, Jain and Das Sarma (WWW 2007), section 3: the f bits are cut in m blocks; each table
brings c chosen blocks to the front of the permuted fingerprint and finds the stored ones with
that prefix. Two fingerprints within m - c bits of each other leave at least c blocks equal
(pigeonhole), so one of the C(m, c) tables brings them together: that distance is guaranteed.
Beyond it the chance is a matter of counting, and `expected_recall` counts.

A table may be cut again (example 3.1 of the paper, section 3.1.1): the bits
outside the chosen blocks are cut in inner blocks, and one of these also comes to the front. With 64
bits, 4 blocks, one chosen, and 4 inner blocks that makes 16 tables of 28-bit prefixes.

Example, 8 bits in 4 blocks, one chosen: 4 tables of 2-bit prefixes. 0b11_01_10_00 and
0b11_01_01_11 differ in 4 bits, more than the guaranteed 3, yet share the first two blocks:
tables 0 and 1 find the pair.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

from scrapy_simhash.errors import PlanError

MIN_RECALL = 0.95
MAX_TABLES = 4096
MAX_PROBED_BITS = 32


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
    :param inner_blocks: number of blocks that the other bits are cut in, one of which follows
        the chosen ones; 0 if they are not cut.
    :param prefix_bits: of tables that are probed (`scrapy_simhash.index.probing`): `blocks` tables,
        each with a prefix of this many bits; 0 if the bits are cut in blocks.
    :param probes: buckets that are asked in all probed tables together; more if the next ones are
        as likely as the last.
    :raises PlanError: there are fewer bits than blocks, fewer blocks than chosen, or more than
        4096 tables.
    """

    bits: int
    blocks: int
    chosen: int = 1
    inner_blocks: int = 0
    prefix_bits: int = 0
    probes: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.chosen <= self.blocks <= self.bits:
            raise PlanError(
                f"{self.blocks} blocks of {self.bits} bits with {self.chosen} chosen: "
                "1 <= chosen <= blocks <= bits is needed"
            )
        if self.prefix_bits or self.probes:
            self._check_probing()
            return
        if comb(self.blocks, self.chosen) * max(self.inner_blocks, 1) > MAX_TABLES:
            raise PlanError(
                f"{self.blocks} blocks with {self.chosen} chosen make more than {MAX_TABLES} tables"
            )
        base, longer = divmod(self.bits, self.blocks)
        outside_bits = self.bits - base * self.chosen - min(longer, self.chosen)
        if not 0 <= self.inner_blocks <= outside_bits:
            raise PlanError(
                f"{self.inner_blocks} inner blocks of the {outside_bits} bits outside the chosen "
                "blocks: 0 (none) or up to so many"
            )

    def _check_probing(self) -> None:
        if (self.chosen, self.inner_blocks) != (1, 0):
            raise PlanError("tables that are probed have neither chosen nor inner blocks")
        fits = self.blocks * self.prefix_bits <= self.bits
        if not (fits and 1 <= self.prefix_bits <= MAX_PROBED_BITS and self.blocks <= self.probes):
            raise PlanError(
                f"{self.blocks} tables with prefixes of {self.prefix_bits} of {self.bits} bits and "
                f"{self.probes} probes: prefixes that fit, of 1 to {MAX_PROBED_BITS} bits, and a "
                "probe for each table are needed"
            )

    @cached_property
    def tables(self) -> tuple[tuple[Block, ...], ...]:
        """For each table the bits of its prefix, most significant first."""
        if self.prefix_bits:
            width = self.prefix_bits
            return tuple(
                (Block(self.bits - (number + 1) * width, width),) for number in range(self.blocks)
            )
        cut = _cut([Block(0, self.bits)], self.blocks)
        tables = []
        for chosen in combinations(cut, self.chosen):
            front = tuple(block for part in chosen for block in part)
            if not self.inner_blocks:
                tables.append(front)
                continue
            others = [block for part in cut if part not in chosen for block in part]
            tables += [(*front, *inner) for inner in _cut(others, self.inner_blocks)]
        return tuple(tables)

    @cached_property
    def prefix_widths_bits(self) -> tuple[int, ...]:
        """Width of each table's prefix."""
        return tuple(sum(block.width for block in table) for table in self.tables)

    @property
    def guaranteed_distance(self) -> int:
        """Every fingerprint within this many bits is found."""
        outer = self.blocks - self.chosen
        return min(outer, self.inner_blocks - 1) if self.inner_blocks else outer

    @cached_property
    def _single_blocks(self) -> tuple[tuple[int, int], ...] | None:
        """(shift, mask) by table where each prefix is one block; else None."""
        if any(len(table) > 1 for table in self.tables):
            return None
        return tuple((shift, (1 << width) - 1) for ((shift, width),) in self.tables)

    def prefixes(self, fingerprint: int) -> list[int]:
        """Return the prefix of a fingerprint in each table."""
        if self._single_blocks is not None:
            return [fingerprint >> shift & mask for shift, mask in self._single_blocks]
        found = []
        for table in self.tables:
            prefix = 0
            for shift, width in table:
                prefix = prefix << width | fingerprint >> shift & (1 << width) - 1
            found.append(prefix)
        return found

    def expected_recall(self, distance: int) -> float:
        """Share of the fingerprints at that distance which the tables find, if the differing
        bits fall anywhere alike; of probed tables, if uncertain bits differ as those of
        near-duplicates do. Exactly 1.0 up to the guaranteed distance.
        """
        if not 0 <= distance <= self.bits:
            raise PlanError(f"distance {distance}: from 0 to {self.bits}")
        if distance <= self.guaranteed_distance:
            return 1.0
        if self.prefix_bits:
            from scrapy_simhash.index.probing import expected_recall

            return expected_recall(self, distance)
        if self.inner_blocks:
            return _recall_of_tables(self.bits, self.tables, distance)
        return _recall_of_blocks(self.bits, self.blocks, self.chosen, distance)

    def recall(self, max_distance: int) -> float:
        """Share of the pairs that matter at that k: of probed tables, of real near-duplicates
        within it; else of the fingerprints at it.
        """
        if self.prefix_bits:
            from scrapy_simhash.index.probing import typical_recall

            return typical_recall(self, max_distance)
        return self.expected_recall(max_distance)

    def expected_candidates(self, entries: int) -> float:
        """Candidates per query among that many entries with random fingerprints."""
        if self.prefix_bits:
            return self.probes * entries / (1 << self.prefix_bits)
        return sum(entries / (1 << width) for width in self.prefix_widths_bits)

    def __str__(self) -> str:
        low, high = min(self.prefix_widths_bits), max(self.prefix_widths_bits)
        prefix = f"{low}" if low == high else f"{low}-{high}"
        count = len(self.tables)
        probed = f", {self.probes} probes" if self.probes else ""
        return f"{count} table{'s' * (count > 1)} with {prefix}-bit prefixes{probed}"


def fewest_tables(
    bits: int,
    max_distance: int,
    chosen: int,
    min_recall: float = MIN_RECALL,
    *,
    min_prefix_bits: int = 1,
) -> TablePlan | None:
    """Return the plan with the fewest blocks that finds enough of the pairs at a distance.

    More blocks find more, but mean more tables and shorter prefixes. Return None if no prefixes of
    at least `min_prefix_bits` find enough.
    """
    most = min(max(chosen, chosen * bits // min_prefix_bits), bits)
    while comb(most, chosen) > MAX_TABLES:
        most -= 1
    choices = range(chosen, most + 1)

    def finds_enough(blocks: int) -> bool:
        return TablePlan(bits, blocks, chosen).expected_recall(max_distance) >= min_recall

    position = bisect_left(choices, True, key=finds_enough)  # noqa: FBT003 - what is looked for
    return TablePlan(bits, choices[position], chosen) if position < len(choices) else None


def _cut(bits: list[Block], parts: int) -> list[tuple[Block, ...]]:
    """Cut bits, most significant first, in parts whose widths differ by at most one bit.

    A part of bits that don't lie together is several blocks.
    """
    base, longer = divmod(sum(block.width for block in bits), parts)
    left = list(reversed(bits))
    cut = []
    for number in range(parts):
        wanted = base + (number < longer)
        part = []
        while wanted:
            shift, width = left.pop()
            taken = min(width, wanted)
            part.append(Block(shift + width - taken, taken))
            if taken < width:
                left.append(Block(shift, width - taken))
            wanted -= taken
        cut.append(tuple(part))
    return cut


@lru_cache(maxsize=1024)
def _recall_of_blocks(bits: int, blocks: int, chosen: int, distance: int) -> float:
    # A subset of `distance` bits is missed if it leaves fewer than `chosen` blocks untouched. A
    # polynomial counts in its coefficient of x**d the subsets of d bits of a block, but for the
    # empty one. It is one integer, in which each coefficient has so many bits that none carries
    # into the next: products are one operation.
    slot_bits = bits + 1
    up_to_distance = (1 << slot_bits * (distance + 1)) - 1
    base, longer = divmod(bits, blocks)
    touched = {
        width: sum(comb(width, i) << slot_bits * i for i in range(1, width + 1))
        for width in (base, base + 1)
    }

    def all_of(width: int, count: int) -> int:
        product = 1
        for bit in f"{count:b}":
            product = product * product & up_to_distance
            if bit == "1":
                product = product * touched[width] & up_to_distance
        return product

    missed = 0
    for untouched in range(chosen):
        for of_longer in range(max(0, untouched - (blocks - longer)), min(untouched, longer) + 1):
            of_others = untouched - of_longer
            ways = all_of(base + 1, longer - of_longer) * all_of(base, blocks - longer - of_others)
            missed += (
                comb(longer, of_longer)
                * comb(blocks - longer, of_others)
                * ((ways & up_to_distance) >> slot_bits * distance)
            )
    return (comb(bits, distance) - missed) / comb(bits, distance)


@lru_cache(maxsize=1024)
def _recall_of_tables(bits: int, tables: tuple[tuple[Block, ...], ...], distance: int) -> float:
    """Return the same for any tables, more slowly."""
    # Bits that are in the prefixes of the same tables are alike: `alike` counts them by tables.
    alike: dict[int, int] = {}
    for bit in range(bits):
        uses = sum(
            1 << number
            for number, table in enumerate(tables)
            if any(shift <= bit < shift + width for shift, width in table)
        )
        alike[uses] = alike.get(uses, 0) + 1
    # ways[touched][d]: subsets of d bits that touch exactly these tables.
    ways = {0: [1] + [0] * distance}
    for uses, count in alike.items():
        after: dict[int, list[int]] = {}
        for touched, row in ways.items():
            for d, subsets in enumerate(row):
                for i in range(min(count, distance - d) + 1) if subsets else ():
                    to = after.setdefault(touched | uses if i else touched, [0] * (distance + 1))
                    to[d + i] += subsets * comb(count, i)
        ways = after
    missed = ways.get((1 << len(tables)) - 1, [0] * (distance + 1))[distance]
    return (comb(bits, distance) - missed) / comb(bits, distance)
