"""TablePlan: which bits each permuted table looks up exactly, and which pairs the tables find.

Manku, Jain and Das Sarma (WWW 2007), section 3: the f bits are cut in m blocks. Each table brings
c chosen blocks to the front of the permuted fingerprint, the *prefix*, and finds all stored
fingerprints with the same prefix. Two fingerprints that differ in at most m - c bits have at least
c equal blocks (pigeonhole principle), so one of the C(m, c) tables finds the pair. The distance
m - c is *guaranteed*. Beyond it, `expected_recall` returns the share of pairs that tables find.
docs/how-it-works.md has an example.

The bits outside the chosen blocks may be cut again, in inner blocks (example 3.1 of the paper). One
inner block then follows the chosen blocks in the prefix, in a table for each inner block.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

from scrapy_simhash.errors import PlanError

MIN_RECALL = 0.95
MAX_TABLES = 4096
# Upper limit for the width of the prefixes of probed tables.
MAX_PROBED_BITS = 32


class Block(NamedTuple):
    """`width` adjacent bits of a fingerprint. `shift` is the number of the bits below them."""

    shift: int
    width: int


@dataclass(frozen=True)
class TablePlan:
    """The permuted tables of an index.

    :param bits: width of the fingerprints, f.
    :param blocks: number of blocks, m, whose widths differ by at most one bit. For probed tables
        (`scrapy_simhash.index.probing`): the number of tables.
    :param chosen: number of blocks brought to the front in each table, c.
    :param inner_blocks: number of inner blocks; 0 if there are none.
    :param prefix_bits: width of the prefixes of probed tables; 0 for other tables.
    :param probes: number of buckets to look up in all probed tables together, for a page with a
        known certainty: the likeliest ones, and all that are as likely as the last of them. 0 for
        other tables.
    :raises PlanError: the numbers do not fit each other, or make more than 4096 tables.
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
                f"{self.blocks} blocks with {self.chosen} chosen, and {self.inner_blocks} inner "
                f"blocks, make more than {MAX_TABLES} tables: take fewer blocks"
            )
        shorter_bits, longer = divmod(self.bits, self.blocks)
        most_chosen_bits = shorter_bits * self.chosen + min(longer, self.chosen)
        outside_bits = self.bits - most_chosen_bits
        if not 0 <= self.inner_blocks <= outside_bits:
            raise PlanError(
                f"{self.inner_blocks} inner blocks cannot be cut from the {outside_bits} bits "
                f"outside the chosen blocks: use 0 to {outside_bits}"
            )

    def _check_probing(self) -> None:
        if (self.chosen, self.inner_blocks) != (1, 0):
            raise PlanError("probed tables cannot have `chosen` or `inner_blocks`: leave them out")
        fits = self.blocks * self.prefix_bits <= self.bits
        if not (fits and 1 <= self.prefix_bits <= MAX_PROBED_BITS and self.blocks <= self.probes):
            raise PlanError(
                f"{self.blocks} probed tables, prefixes of {self.prefix_bits} bits and "
                f"{self.probes} probes: use prefixes of 1 to {MAX_PROBED_BITS} bits, at most "
                f"{self.bits} bits for all prefixes together, and one probe or more for each table"
            )

    @cached_property
    def tables(self) -> tuple[tuple[Block, ...], ...]:
        """The blocks of each table's prefix; in a prefix, the most significant block is first."""
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
        """The largest distance at which the tables still find every fingerprint."""
        distance = self.blocks - self.chosen
        # All inner blocks but one may differ.
        return min(distance, self.inner_blocks - 1) if self.inner_blocks else distance

    @cached_property
    def _single_blocks(self) -> tuple[tuple[int, int], ...] | None:
        """(shift, mask) of each table if each prefix is one block; else None."""
        if any(len(table) > 1 for table in self.tables):
            return None
        return tuple((shift, (1 << width) - 1) for ((shift, width),) in self.tables)

    def prefixes(self, fingerprint: int) -> list[int]:
        """Return the prefix of a fingerprint in each table."""
        if self._single_blocks is not None:
            return [fingerprint >> shift & mask for shift, mask in self._single_blocks]
        prefixes = []
        for table in self.tables:
            prefix = 0
            for shift, width in table:
                prefix = prefix << width | fingerprint >> shift & (1 << width) - 1
            prefixes.append(prefix)
        return prefixes

    def expected_recall(self, distance: int) -> float:
        """Return the share of the fingerprints at exactly this distance that the tables find.

        It is 1.0 up to the guaranteed distance. Beyond it, probed tables have the share that the
        model of `scrapy_simhash.index.probing` gives. For other tables, all bits are assumed to
        differ equally often.

        :raises PlanError: the distance is not 0 to `bits`.
        """
        if not 0 <= distance <= self.bits:
            raise PlanError(f"distance is {distance}: use 0 to {self.bits}")
        if distance <= self.guaranteed_distance:
            return 1.0
        if self.prefix_bits:
            from scrapy_simhash.index.probing import expected_recall

            return expected_recall(self, distance)
        if self.inner_blocks:
            return _recall_of_tables(self.bits, self.tables, distance)
        return _recall_of_blocks(self.bits, self.blocks, self.chosen, distance)

    def recall(self, max_distance: int) -> float:
        """Return the share by which a plan is judged: how many near-duplicates its tables find.

        For probed tables, it is the share of real near-duplicates up to the distance
        (`typical_recall`). For other tables, it is the share at exactly the distance, where they
        find least (`expected_recall`).
        """
        if self.prefix_bits:
            from scrapy_simhash.index.probing import typical_recall

            return typical_recall(self, max_distance)
        return self.expected_recall(max_distance)

    def expected_candidates(self, entries: int) -> float:
        """Return the expected number of records that a query reads, for random fingerprints."""
        if self.prefix_bits:
            # With few entries, a run has fewer buckets than prefixes.
            return self.probes * entries / (1 << slot_bits(self.prefix_bits, entries))
        return sum(entries / (1 << width) for width in self.prefix_widths_bits)

    def __str__(self) -> str:
        low, high = min(self.prefix_widths_bits), max(self.prefix_widths_bits)
        prefix = f"{low}" if low == high else f"{low}-{high}"
        count = len(self.tables)
        probed = f", {self.probes} probes" if self.probes else ""
        return f"{count} table{'s' * (count > 1)} with {prefix}-bit prefixes{probed}"


def slot_bits(prefix_bits: int, entries: int) -> int:
    """Return how many leading bits of a prefix tell the bucket in a run: all, or fewer, so that
    buckets have at least one entry on average.
    """
    return max(1, min(prefix_bits, entries.bit_length() - 1))


def fewest_tables(
    bits: int,
    max_distance: int,
    chosen: int,
    min_recall: float = MIN_RECALL,
    *,
    min_prefix_bits: int = 1,
) -> TablePlan | None:
    """Return the plan with the fewest blocks that finds `min_recall` of the pairs at a distance.

    More blocks find more pairs, but make more tables and shorter prefixes. A plan may have 4096
    tables, and its prefixes must have `min_prefix_bits` or more on average. Return None if no such
    plan finds enough.
    """
    max_blocks = min(max(chosen, chosen * bits // min_prefix_bits), bits)
    while comb(max_blocks, chosen) > MAX_TABLES:
        max_blocks -= 1
    choices = range(chosen, max_blocks + 1)

    def finds_enough(blocks: int) -> bool:
        return TablePlan(bits, blocks, chosen).expected_recall(max_distance) >= min_recall

    position = bisect_left(choices, True, key=finds_enough)  # noqa: FBT003 - the first True
    return TablePlan(bits, choices[position], chosen) if position < len(choices) else None


def _cut(bits: list[Block], parts: int) -> list[tuple[Block, ...]]:
    """Cut bits, most significant first, in parts whose widths differ by at most one bit.

    A part is several blocks if its bits are not contiguous.
    """
    shorter_bits, longer = divmod(sum(block.width for block in bits), parts)
    remaining = list(reversed(bits))
    cut = []
    for number in range(parts):
        missing_bits = shorter_bits + (number < longer)
        part = []
        while missing_bits:
            shift, width = remaining.pop()
            taken = min(width, missing_bits)
            part.append(Block(shift + width - taken, taken))
            if taken < width:
                remaining.append(Block(shift, width - taken))
            missing_bits -= taken
        cut.append(tuple(part))
    return cut


@lru_cache(maxsize=1024)
def _recall_of_blocks(bits: int, blocks: int, chosen: int, distance: int) -> float:
    """Return the share of pairs at a distance that have at least `chosen` equal blocks.

    The bits in which a pair differs are any set of `distance` bits, each with the same probability.
    """
    # In a polynomial, the coefficient of x**d counts sets of d bits. A polynomial is packed in one
    # integer, with room for each coefficient, so that a product of polynomials is one operation.
    coefficient_bits = bits + 1
    up_to_distance = (1 << coefficient_bits * (distance + 1)) - 1
    shorter_bits, longer = divmod(bits, blocks)
    # missed[e]: the polynomial of the sets that leave exactly e of the blocks so far equal.
    missed = [1] + [0] * (chosen - 1)
    for number in range(blocks):
        width = shorter_bits + (number < longer)
        differing = sum(comb(width, i) << coefficient_bits * i for i in range(1, width + 1))
        missed = [
            one_more_differs * differing + one_more_equal & up_to_distance
            for one_more_differs, one_more_equal in zip(missed, [0, *missed], strict=False)
        ]
    missed_sets = sum(sets >> coefficient_bits * distance for sets in missed)
    return (comb(bits, distance) - missed_sets) / comb(bits, distance)


@lru_cache(maxsize=1024)
def _recall_of_tables(bits: int, tables: tuple[tuple[Block, ...], ...], distance: int) -> float:
    """Return the share of pairs at a distance that have an equal prefix in some table.

    The bits in which a pair differs are any set of `distance` bits, each with the same probability.
    """
    # By set of tables, as a mask: how many bits of a fingerprint are in exactly their prefixes.
    bits_by_tables = Counter(
        sum(
            1 << number
            for number, table in enumerate(tables)
            if any(shift <= bit < shift + width for shift, width in table)
        )
        for bit in range(bits)
    )
    # sets[mask][d]: number of sets of d bits that change the prefixes of exactly these tables.
    sets = {0: [1] + [0] * distance}
    for mask, count in bits_by_tables.items():
        extended: dict[int, list[int]] = {}
        for changed, row in sets.items():
            for d, ways in enumerate(row):
                for i in range(min(count, distance - d) + 1) if ways else ():
                    key = changed | mask if i else changed
                    extended.setdefault(key, [0] * (distance + 1))[d + i] += ways * comb(count, i)
        sets = extended
    missed = sets.get((1 << len(tables)) - 1, [0] * (distance + 1))[distance]
    return (comb(bits, distance) - missed) / comb(bits, distance)
