"""The k to choose, of the distances at which pairs of a sample are.

Pairs that resemble each other enough should be found, pairs that hardly do should not; recall is
the share of the first that is within k, precision the share of the first among both that are. The
best k has the highest F1, the harmonic mean of both. Mostly several k in a row have it, for between
the farthest copy and the nearest different pair there is a gap: then the middle of them is chosen,
as far as can be from either end. Where its tables would be very many, a lower k that is as good.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index.cost import choose_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.plan import TablePlan

# Of fewer pairs little can be told: edited copies are added.
FEW_NEAR_DUPLICATES = 20
# Of fewer different pairs nothing can be.
LEAST_DIFFERENT = 100
_MANY_TABLES = 100
_Z95 = 1.959963984540054
_EQUAL = 1e-9


class Found(NamedTuple):
    """Pairs within k, of those that should be found and those that should not.

    Those that should are no whole numbers where edited copies are among them.
    """

    max_distance: int
    near_duplicates: float
    all_near_duplicates: float
    different: int

    @property
    def recall(self) -> float:
        """Share of those that should be found that is; 1 if there are none."""
        if not self.all_near_duplicates:
            return 1.0
        return self.near_duplicates / self.all_near_duplicates

    @property
    def precision(self) -> float:
        """Share of those that should be found among both; 1 if none is found."""
        judged = self.near_duplicates + self.different
        return self.near_duplicates / judged if judged else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0

    @property
    def recall_95(self) -> tuple[float, float]:
        """Its 95 % interval, as if pairs were independent."""
        return wilson(self.near_duplicates, self.all_near_duplicates)

    @property
    def precision_95(self) -> tuple[float, float]:
        """Its 95 % interval, as if pairs were independent."""
        return wilson(self.near_duplicates, self.near_duplicates + self.different)


class Choice(NamedTuple):
    """The k to choose; those from `low` to `high` are as good on the sample.

    :param middle: what would be chosen if tables did not count.
    :param plan: the tables of a crawl; None if none can serve it.
    """

    max_distance: int
    low: int
    high: int
    middle: int
    plan: TablePlan | None


def filled(near_duplicates: Sequence[int], made: Sequence[int]) -> list[float]:
    """Few pairs, at each distance, filled up to 20 by edited copies, of which each counts the same.

    More of them would weigh more than what is known of one's pages, and would hide wrong pairs.
    """
    missing = max(FEW_NEAR_DUPLICATES - sum(near_duplicates), 0)
    weight = missing / sum(made) if sum(made) else 0.0
    return [a + b * weight for a, b in zip(near_duplicates, made, strict=True)]


def figures(near_duplicates: Sequence[float], different: Sequence[int]) -> list[Found]:
    """For each k from 0 on. Pairs come as their numbers at each distance."""
    found, wrong, total = 0.0, 0, sum(near_duplicates)
    rows = []
    for k, (some, others) in enumerate(zip(near_duplicates, different, strict=True)):
        found += some
        wrong += others
        # Sums of fractions may differ in their last digits.
        rows.append(Found(k, min(found, total), total, wrong))
    return rows


def choose(rows: Sequence[Found], bits: int) -> Choice | None:
    """The k of the best F1; None if there is nothing to find, or too little to tell it from."""
    if not rows[-1].all_near_duplicates or rows[-1].different < LEAST_DIFFERENT:
        return None
    best = max(row.f1 for row in rows)
    runs: list[list[int]] = []
    for row in rows[:bits]:
        if row.f1 >= best - _EQUAL:
            if runs and runs[-1][-1] == row.max_distance - 1:
                runs[-1].append(row.max_distance)
            else:
                runs.append([row.max_distance])
    run = max(runs, key=len)
    low, high = run[0], run[-1]
    middle = (low + high) // 2
    chosen, plan = middle, _plan(bits, middle)
    if plan is None or len(plan.tables) > _MANY_TABLES:
        for k in range(middle - 1, low - 1, -1):
            cheaper = _plan(bits, k)
            if cheaper is not None and len(cheaper.tables) <= _MANY_TABLES:
                chosen, plan = k, cheaper
                break
    return Choice(chosen, low, high, middle, plan)


def table_recall(plan: TablePlan, near_duplicates: Sequence[float], max_distance: int) -> float:
    """Share of the pairs within k that the tables are expected to find."""
    within = near_duplicates[: max_distance + 1]
    found = sum(count * plan.expected_recall(d) for d, count in enumerate(within) if count)
    return found / sum(within) if sum(within) else 1.0


def _plan(bits: int, max_distance: int) -> TablePlan | None:
    try:
        return choose_plan(bits, max_distance)
    except PlanError:
        return None


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """95 % score interval of a share (Wilson 1927); of no trials, anything."""
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    spread = _Z95 * sqrt(share * (1 - share) / trials + _Z95**2 / (4 * trials**2))
    middle = share + _Z95**2 / (2 * trials)
    scale = 1 + _Z95**2 / trials
    low, high = (middle - spread) / scale, (middle + spread) / scale
    # Exact at the ends.
    return (0.0 if successes == 0 else low, 1.0 if successes >= trials else high)
