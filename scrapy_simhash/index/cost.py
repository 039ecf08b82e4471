"""Estimate the cost of table plans, and choose the cheapest that finds enough.

``python benchmarks/index.py --cost-model --sizes …`` measures plans and fits the constants. Those
below are rounded, and within a fifth of what was measured where most records are in rows: 4 and 19
tables at a million pages and more, 10 and 12 tables with long prefixes at 200,000. They are of one
machine; what matters is how they relate.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan, fewest_tables

DEFAULT_EXPECTED_PAGES = 1_000_000
# Query and insert of a page: per page, per table, and per candidate with each 32 bits of it.
PAGE_US = 5.0
TABLE_US = 12.0
CANDIDATE_WORD_US = 0.026
# Of tables that are probed: per page, per probe, and per candidate, which is compared in one pass;
# within a third of what was measured.
PROBED_PAGE_US = 130.0
PROBE_US = 0.25
PROBED_CANDIDATE_US = 0.042
# An index may outgrow its expected size: probed tables are chosen for this multiple of it.
HEADROOM = 10
# A check lets a candidate that only chance brought through less often than this.
_MAX_CHANCE = 1e-5
# Buckets of fewer bits would hold a thousandth of all pages each.
_MIN_PREFIX_BITS = 10
_MAX_CHOSEN = 3
# Unrelated texts differ in half of their bits, give or take a sixteenth: nearer ones alone can be
# copies.
_MAX_SHARE = 3 / 8
# Narrower fingerprints have no room for tables with long prefixes of their own.
_MIN_PROBED_BITS = 128
# (bits of a prefix, tables, probes): the fewest that find enough of real near-duplicates.
_PROBING = ((16, 8, 112), (18, 10, 128), (20, 12, 256), (21, 12, 384))
MIN_TYPICAL_RECALL = 0.985


def check_bits(bits: int, max_distance: int) -> int:
    """Bits of a fingerprint that a bucket's record holds (see `records.fold`), multiple of 32.

    As few as let fewer than one unrelated candidate in 100,000 through.
    """
    widest = -(-bits // 32) * 32
    for width in range(32, widest, 32):
        near = sum(comb(width, differing) for differing in range(min(max_distance, width) + 1))
        if near / 2**width <= _MAX_CHANCE:
            return width
    return widest


def cost_us(plan: TablePlan, max_distance: int, pages: int) -> float:
    """Return the CPU time in µs to query and insert a page in an index of `pages` pages."""
    if plan.prefix_bits:
        compared = PROBED_CANDIDATE_US * met_candidates(plan, pages)
        return PROBED_PAGE_US + PROBE_US * plan.probes + compared
    words = check_bits(plan.bits, max_distance) // 32 + 1
    candidates = plan.expected_candidates(pages)
    return PAGE_US + TABLE_US * len(plan.tables) + CANDIDATE_WORD_US * words * candidates


def met_candidates(plan: TablePlan, pages: int) -> float:
    """Return how many candidates probes meet: directories know fewer bits where pages are few."""
    bits = min(plan.prefix_bits, pages.bit_length() - 1)
    return plan.probes * pages / (1 << bits)


def bytes_per_page(plan: TablePlan, max_distance: int) -> int:
    """Return the bytes on disk that a page takes besides its key and evidence: its records, and
    the entry's numbers.

    Without what the database adds to rows, and what it has not yet dropped of old ones.
    """
    entry = 5 + 18 + plan.bits // 8
    if plan.prefix_bits:
        # Fingerprint and id; and in each table a position, and up to two words of directory
        # for three of them.
        row = 8 * (-(-plan.bits // 64) + 1)
        return entry + row + (len(plan.tables) + 1) * 7
    record = check_bits(plan.bits, max_distance) // 8 + 4
    return len(plan.tables) * record + 8 + entry


def require_plan(bits: int, max_distance: int) -> None:
    """Raise what `choose_plan` would raise, without simulating probed tables if others suffice."""
    if not _unprobed_plans(bits, max_distance):
        choose_plan(bits, max_distance)


@lru_cache(maxsize=256)
def choose_plan(
    bits: int,
    max_distance: int,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
    *,
    probing: bool = True,
) -> TablePlan:
    """Return the cheapest tables that find at least 95 % of the pairs at `max_distance`.

    For fingerprints of 128 bits and more, also consider tables that are probed and find 98.5 % of
    real near-duplicates within it, by the model of `scrapy_simhash.index.probing`.

    :param probing: whether pages come with the certainty of their bits.
    :raises PlanError: that would take prefixes shorter than 10 bits.
    """
    plans = _unprobed_plans(bits, max_distance)
    if probing and bits >= _MIN_PROBED_BITS and max_distance <= _MAX_SHARE * bits:
        plans += [
            TablePlan(bits, tables, prefix_bits=width, probes=probes)
            for width, tables, probes in _PROBING
            if width * tables <= bits
        ]

    def cost(plan: TablePlan) -> float:
        later = expected_pages * HEADROOM if plan.prefix_bits else expected_pages
        return cost_us(plan, max_distance, later)

    for plan in sorted(plans, key=cost):
        # The recall of probed tables is simulated, which takes 20 ms: the cheapest come first.
        if not plan.prefix_bits or plan.recall(max_distance) >= MIN_TYPICAL_RECALL:
            return plan
    raise PlanError(
        f"no tables with prefixes of {_MIN_PREFIX_BITS} bits or more find {MIN_RECALL:.0%} of "
        f"the pairs at distance {max_distance} of {bits} bits: lower the distance, or take "
        "more bits"
    )


def _unprobed_plans(bits: int, max_distance: int) -> list[TablePlan]:
    if not 0 <= max_distance < bits:
        raise PlanError(f"distance {max_distance} of {bits} bits: from 0 to {bits - 1}")
    plans = (
        fewest_tables(bits, max_distance, chosen, min_prefix_bits=_MIN_PREFIX_BITS)
        for chosen in range(1, _MAX_CHOSEN + 1)
    )
    return [plan for plan in plans if plan is not None]
