"""TablePlan: which bits each permuted table looks up exactly, and which pairs the tables find.

Manku, Jain and Das Sarma (WWW 2007), section 3: the f bits are cut in m blocks. Each table brings
c chosen blocks to the front of the permuted fingerprint, the *prefix*, and finds all stored
fingerprints with the same prefix. Two fingerprints that differ in at most m - c bits have at least
c equal blocks (pigeonhole principle), so one of the C(m, c) tables finds the pair. The distance
m - c is *guaranteed*. Beyond it, `expected_recall` returns the share of pairs that tables find.
docs/how-it-works.md has an example.
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
PROBED_RECALL = 0.985
MAX_TABLES = 4096
# Upper limit for the width of the prefixes of probed tables.
MAX_PROBED_BITS = 32
DEFAULT_EXPECTED_PAGES = 1_000_000
# Rounded measurements of one machine; only their ratios decide which plan is chosen.
# CPU time in µs to query and insert a page: for the page, for each table, and for each candidate.
PAGE_US = 5.0
TABLE_US = 12.0
CANDIDATE_US = 0.052
# In probed tables: for the page, for each probe, and for each candidate.
PROBED_PAGE_US = 130.0
PROBE_US = 0.25
PROBED_CANDIDATE_US = 0.042
# Probed tables are chosen for this multiple of the expected pages: an index may grow beyond these.
HEADROOM = 10
# With shorter prefixes, a bucket would hold more than a thousandth of all pages.
_MIN_PREFIX_BITS = 10
# Upper limit for the blocks in a prefix.
_MAX_CHOSEN = 3
# Upper limit for k in probed tables, as a share of the bits. Unrelated English texts differ in 0.38
# of their bits on average, so pairs beyond the limit are hardly ever copies.
_MAX_SHARE = 3 / 8
# The smallest probed tables, 8 with prefixes of 16 bits, need fingerprints with this many bits.
_MIN_PROBED_BITS = 128
# (bits of a prefix, tables, probes), with the fewest probes that find `PROBED_RECALL` of the real
# near-duplicates, by the simulation of tests/index/probing_model.py.
PROBING = ((16, 8, 112), (18, 10, 128), (20, 12, 292), (21, 12, 432))


class Block(NamedTuple):
    """`width` adjacent bits of a fingerprint. `shift` is the number of the bits below them."""

    shift: int
    width: int


@dataclass(frozen=True)
class TablePlan:
    """The permuted tables of an index.

    :param bits: width of the fingerprints, f.
    :param blocks: number of blocks, m, whose widths differ by at most one bit. For probed tables
        (`scrapy_simhash.index.tables.buckets`): the number of tables.
    :param chosen: number of blocks brought to the front in each table, c.
    :param prefix_bits: width of the prefixes of probed tables; 0 for other tables.
    :param probes: number of buckets to look up in all probed tables together, for a page with a
        known certainty: the likeliest ones, and all that are as likely as the last of them. 0 for
        other tables.
    :raises PlanError: the numbers do not fit each other, or make more than 4096 tables.
    """

    bits: int
    blocks: int
    chosen: int = 1
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
        if comb(self.blocks, self.chosen) > MAX_TABLES:
            raise PlanError(
                f"{self.blocks} blocks with {self.chosen} chosen make more than {MAX_TABLES} "
                "tables: take fewer blocks"
            )

    def _check_probing(self) -> None:
        if self.chosen != 1:
            raise PlanError("probed tables cannot have `chosen`: leave it out")
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
        shorter_bits, longer = divmod(self.bits, self.blocks)
        blocks, shift = [], self.bits
        for number in range(self.blocks):
            width = shorter_bits + (number < longer)
            shift -= width
            blocks.append(Block(shift, width))
        return tuple(combinations(blocks, self.chosen))

    @cached_property
    def prefix_widths_bits(self) -> tuple[int, ...]:
        """Width of each table's prefix."""
        return tuple(sum(block.width for block in table) for table in self.tables)

    @property
    def guaranteed_distance(self) -> int:
        """The largest distance at which the tables still find every fingerprint."""
        return self.blocks - self.chosen

    def prefixes(self, fingerprint: int) -> list[int]:
        """Return the prefix of a fingerprint in each table."""
        prefixes = []
        for table in self.tables:
            prefix = 0
            for shift, width in table:
                prefix = prefix << width | fingerprint >> shift & (1 << width) - 1
            prefixes.append(prefix)
        return prefixes

    def expected_recall(self, distance: int) -> float:
        """Return the share of the fingerprints at exactly this distance that the tables find.

        It is 1.0 up to the guaranteed distance. Beyond it, all bits are assumed to differ equally
        often.

        :raises PlanError: the distance is not 0 to `bits`, or the tables are probed, and nothing
            is guaranteed at this distance: they are judged by `recall`.
        """
        if not 0 <= distance <= self.bits:
            raise PlanError(f"distance is {distance}: use 0 to {self.bits}")
        if distance <= self.guaranteed_distance:
            return 1.0
        if self.prefix_bits:
            raise PlanError(f"the recall of probed tables at distance {distance} is not known")
        return _recall_of_blocks(self.bits, self.blocks, self.chosen, distance)

    def recall(self, max_distance: int) -> float:
        """Return the share by which a plan is judged: how many near-duplicates its tables find.

        For tables without probes, it is the share at exactly the distance, where they find least
        (`expected_recall`). For probed tables, it is the share of real near-duplicates that those
        of `choose_plan` find at least, whatever the distance.
        """
        return PROBED_RECALL if self.prefix_bits else self.expected_recall(max_distance)

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


def require_distance(max_distance: int, bits: int) -> None:
    """Raise PlanError unless a distance is 0 to `bits` - 1."""
    if not 0 <= max_distance < bits:
        raise PlanError(
            f"max_distance is {max_distance}: use 0 to {bits - 1} for fingerprints of {bits} bits"
        )


@lru_cache(maxsize=256)
def choose_plan(
    bits: int,
    max_distance: int,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
) -> TablePlan:
    """Return the cheapest tables that find enough pairs: 95 % of those at `max_distance`.

    With 128 bits or more, and k of at most 3/8 of the bits, probed tables need only find 98.5 % of
    the real near-duplicates (`PROBED_RECALL`).

    :raises PlanError: the distance is not 0 to `bits` - 1, or too large for prefixes of 10 bits.
    """
    require_distance(max_distance, bits)
    plans = [
        fewest_tables(bits, max_distance, chosen, min_prefix_bits=_MIN_PREFIX_BITS)
        for chosen in range(1, _MAX_CHOSEN + 1)
    ]
    if bits >= _MIN_PROBED_BITS and max_distance <= _MAX_SHARE * bits:
        plans += [
            TablePlan(bits, tables, prefix_bits=width, probes=probes)
            for width, tables, probes in PROBING
            if width * tables <= bits
        ]

    def cost_us(plan: TablePlan) -> float:
        if plan.prefix_bits:
            candidates = plan.expected_candidates(expected_pages * HEADROOM)
            return PROBED_PAGE_US + PROBE_US * plan.probes + PROBED_CANDIDATE_US * candidates
        candidates = plan.expected_candidates(expected_pages)
        return PAGE_US + TABLE_US * len(plan.tables) + CANDIDATE_US * candidates

    if cheapest := min(filter(None, plans), key=cost_us, default=None):
        return cheapest
    raise PlanError(
        f"no tables with prefixes of {_MIN_PREFIX_BITS} bits or more find {MIN_RECALL:.0%} of the "
        f"pairs at distance {max_distance} of {bits} bits: lower the distance, or take more bits"
    )


@lru_cache(maxsize=1024)
def _recall_of_blocks(bits: int, blocks: int, chosen: int, distance: int) -> float:
    """Return the share of pairs at a distance that have at least `chosen` equal blocks.

    The bits in which a pair differs are any set of `distance` bits, each with the same probability.
    """
    shorter_bits, longer = divmod(bits, blocks)
    # By inclusion and exclusion: over all choices of `equal` blocks, of which some are longer, the
    # sets of bits that leave these equal.
    found = 0
    for equal in range(chosen, blocks + 1):
        sets = sum(
            comb(longer, some)
            * comb(blocks - longer, equal - some)
            * comb(bits - equal * shorter_bits - some, distance)
            for some in range(min(longer, equal) + 1)
        )
        found += (-1) ** (equal - chosen) * comb(equal - 1, chosen - 1) * sets
    return found / comb(bits, distance)
