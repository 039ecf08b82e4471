"""The k and the least resemblance to choose, of the distances and similarities of pairs.

Pairs that resemble each other enough should be found, pairs that hardly do should not. A crawl
finds a pair that is within k and confirmed. Recall is the share of the first that is found,
precision the share of the first among both that are. The best k has the highest F1, the harmonic
mean of both. Mostly several k in a row have it: the middle one is chosen, as far as can be from
either end. Confirmation lets a large k be as good as a small one, but each page that is near and no
copy is compared for nothing, so the different pairs within k must not be more than the
near-duplicates; and a present k that is one of the best stays. Where the tables for it would be
very many, a lower k that is as good is chosen.

The least resemblance is chosen by the pairs within k: as wrong count all of which a page would be
dropped that has less than half in common with what is kept. The present value stays if it is one of
the best; otherwise the nearest one that is replaces it.
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

    :param similar: different pairs within k that are not confirmed, so that a crawl lets their
        pages pass.
    """

    max_distance: int
    near_duplicates: float
    all_near_duplicates: float
    different: int
    similar: int = 0

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


class LeastResemblance(NamedTuple):
    """The least resemblance to choose, in per cent; those from `low` to `high` are as good."""

    per_cent: int
    low: int
    high: int


def fill_weight(near_duplicates: int, made: int) -> float:
    """What an edited copy counts: all together as many pairs as are missing to 20.

    More of them would weigh more than what is known of one's pages, and would hide wrong pairs.
    """
    return max(FEW_NEAR_DUPLICATES - near_duplicates, 0) / made if made else 0.0


def figures(
    near_duplicates: Sequence[float],
    different: Sequence[int],
    *,
    total: float | None = None,
    similar: Sequence[int] | None = None,
) -> list[Found]:
    """For each k from 0 on. Pairs come as their numbers at each distance.

    :param total: near-duplicates in all, also those that no k finds.
    :param similar: different pairs that confirmation rejects.
    """
    total = sum(near_duplicates) if total is None else total
    found, wrong, rejected = 0.0, 0, 0
    rows = []
    for k, (some, others) in enumerate(zip(near_duplicates, different, strict=True)):
        found += some
        wrong += others
        rejected += similar[k] if similar is not None else 0
        # Sums of fractions may differ in their last digits.
        rows.append(Found(k, min(found, total), total, wrong, rejected))
    return rows


def choose(
    rows: Sequence[Found], bits: int, *, keep: int | None = None, most: int | None = None
) -> Choice | None:
    """The k of the best F1; None if there is nothing to find, or too little to tell it from.

    :param keep: the present k, which stays if it is one of the best.
    :param most: the largest k that the tables in use serve: as far as k is one of the best, it
        is chosen within them.
    """
    if not rows[-1].all_near_duplicates or rows[-1].different + rows[-1].similar < LEAST_DIFFERENT:
        return None
    best = max(row.f1 for row in rows[:bits])
    runs: list[list[int]] = []
    for row in rows[:bits]:
        if row.f1 >= best - _EQUAL:
            if runs and runs[-1][-1] == row.max_distance - 1:
                runs[-1].append(row.max_distance)
            else:
                runs.append([row.max_distance])
    run = max(runs, key=len)
    low = run[0]
    high = max([low, *(k for k in run if rows[k].similar <= rows[k].near_duplicates)])
    middle = (low + high) // 2
    chosen = keep if keep is not None and low <= keep <= high else middle
    if most is not None and low <= most < chosen:
        chosen = most
    plan = _plan(bits, chosen)
    if plan is None or len(plan.tables) > _MANY_TABLES:
        for k in range(chosen - 1, low - 1, -1):
            cheaper = _plan(bits, k)
            if cheaper is not None and len(cheaper.tables) <= _MANY_TABLES:
                chosen, plan = k, cheaper
                break
    return Choice(chosen, low, high, middle, plan)


def choose_resemblance(
    near_duplicates: Sequence[float], loss: Sequence[int], now: int
) -> LeastResemblance:
    """The least resemblance of the best F1 that is nearest to the present one.

    :param near_duplicates: by similarity in per cent, of pairs within k, as `loss`.
    :param now: the present one in per cent.
    """
    total = sum(near_duplicates)
    scores = []
    for least in range(len(near_duplicates)):
        found, wrong = sum(near_duplicates[least:]), sum(loss[least:])
        scores.append(2 * found / (found + wrong + total) if found else 0.0)
    best = max(scores)
    good = [least for least, score in enumerate(scores) if score >= best - _EQUAL]
    chosen = min(good, key=lambda least: (abs(least - now), least))
    low = high = chosen
    while low - 1 in good:
        low -= 1
    while high + 1 in good:
        high += 1
    return LeastResemblance(chosen, low, high)


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
