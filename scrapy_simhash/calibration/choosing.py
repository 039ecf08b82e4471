"""Choose k and the least resemblance from the distances and similarities of pairs.

Pairs of pages are *near-duplicate* or *different* by the exact resemblance of their texts: 0.8 or
more, and below 0.2, by default (`counting.py`). Other pairs do not count for k.

A crawl *finds* a pair that is within k and confirmed. It should find the near-duplicate pairs, and
no different pairs. Recall is the share of near-duplicate pairs that are found. Precision is the
share of near-duplicate pairs among the found pairs. The best k has the highest F1, the harmonic
mean of both.

- The *range* is the longest run of consecutive k with the highest F1. With confirmation, a large k
  may score as well as a small one, but costs more comparisons. So the range ends at the last k at
  which rejected different pairs do not outnumber the found near-duplicate pairs.
- The middle of the range is chosen or, with confirmation, the present k if it is in the range. A
  lower k of the range is chosen instead if the tables of existing indexes support no larger k, or
  if larger k need more than 100 tables.

The *least resemblance* (SIMHASH_MIN_RESEMBLANCE) is chosen from the pairs within k. Here more pairs
count than the different ones: a pair is *wrong* if it is not near-duplicate and its resemblance is
below 0.5, because dropping either page would lose content. The value with the best F1 that is
nearest to the present one is chosen.
"""

from __future__ import annotations

from itertools import accumulate, chain, groupby
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index.cost import choose_plan
from scrapy_simhash.intervals import Z95, wilson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.plan import TablePlan

# If there are fewer near-duplicate pairs, copies with random edits are added (`edits.py`).
FEW_NEAR_DUPLICATES = 20
# If there are fewer different pairs, no k is chosen.
LEAST_DIFFERENT = 100
_MAX_TABLES = 100
# Scores that differ by less are equal.
_EQUAL = 1e-9


class Score(NamedTuple):
    """The counts of pairs in a crawl with this k, which give its recall and precision.

    :param near_duplicates: found near-duplicate pairs; a fraction if edited copies have weights.
    :param all_near_duplicates: near-duplicate pairs at any distance.
    :param different: different pairs that are found by mistake.
    :param similar: different pairs within k that confirmation rejects.
    """

    max_distance: int
    near_duplicates: float
    all_near_duplicates: float
    different: int
    similar: int = 0

    @property
    def recall(self) -> float:
        """Return the share of near-duplicate pairs that are found; 1 if there are none."""
        if not self.all_near_duplicates:
            return 1.0
        return self.near_duplicates / self.all_near_duplicates

    @property
    def precision(self) -> float:
        """Return the share of near-duplicates among the found pairs; 1 if no pair is found."""
        total = self.near_duplicates + self.different
        return self.near_duplicates / total if total else 1.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of recall and precision; 0 if both are 0."""
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0

    @property
    def recall_95(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of recall, as if pairs were independent."""
        return wilson(self.near_duplicates, self.all_near_duplicates, Z95)

    @property
    def precision_95(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of precision, as if pairs were independent."""
        return wilson(self.near_duplicates, self.near_duplicates + self.different, Z95)


class Choice(NamedTuple):
    """The chosen k. All k of the range from `low` to `high` have the same F1 on the sample.

    :param middle: middle of the range.
    :param plan: the tables for the chosen k; None if no tables support it.
    """

    max_distance: int
    low: int
    high: int
    middle: int
    plan: TablePlan | None


class LeastResemblance(NamedTuple):
    """The chosen least resemblance in per cent. All from `low` to `high` have the same F1."""

    per_cent: int
    low: int
    high: int


def fill_weight(near_duplicates: int, copies: int) -> float:
    """Return the weight of one edited copy: with it, pairs and copies count as at least 20 pairs.

    With a larger weight, copies would outweigh the real pairs and hide wrong ones.
    """
    return max(FEW_NEAR_DUPLICATES - near_duplicates, 0) / copies if copies else 0.0


def scores_by_k(
    near_duplicates: Sequence[float],
    different: Sequence[int],
    *,
    total: float | None = None,
    similar: Sequence[int] | None = None,
) -> list[Score]:
    """Return the score of each k, from 0 to the last distance.

    :param near_duplicates: number of confirmed near-duplicate pairs at each distance.
    :param different: number of confirmed different pairs at each distance.
    :param total: number of all near-duplicate pairs; None if all are confirmed.
    :param similar: number of different pairs at each distance that confirmation rejects.
    """
    total = sum(near_duplicates) if total is None else total
    counts = zip(
        accumulate(near_duplicates),
        accumulate(different),
        accumulate(similar or [0] * len(different)),
        strict=True,
    )
    # Rounding may lift a sum of fractions above the total.
    return [
        Score(k, min(found, total), total, wrong, rejected)
        for k, (found, wrong, rejected) in enumerate(counts)
    ]


def choose(
    scores: Sequence[Score], bits: int, *, present: int | None = None, served: int | None = None
) -> Choice | None:
    """Return the choice of k; None without near-duplicates, or with fewer than 100 different pairs.

    :param scores: the score of each k from 0 to `bits`.
    :param present: the present k, chosen if it is in the range; None for the middle.
    :param served: the largest k that the tables of existing indexes support; None for no limit.
    """
    last = scores[-1]
    if not last.all_near_duplicates or last.different + last.similar < LEAST_DIFFERENT:
        return None
    # All pages are within k = bits of each other, so this k is not allowed.
    run = max(_best_runs([score.f1 for score in scores[:bits]]), key=len)
    low = run[0]
    high = max([low, *(k for k in run if scores[k].similar <= scores[k].near_duplicates)])
    middle = (low + high) // 2
    chosen = present if present is not None and low <= present <= high else middle
    if served is not None and low <= served < chosen:
        chosen = served
    for k in range(chosen, low - 1, -1):
        plan = _plan(bits, k)
        if plan is not None and len(plan.tables) <= _MAX_TABLES:
            return Choice(k, low, high, middle, plan)
    return Choice(chosen, low, high, middle, _plan(bits, chosen))


def choose_resemblance(
    near_duplicates: Sequence[float], wrong: Sequence[int], present: int
) -> LeastResemblance:
    """Return the value that is nearest to the present one among those with the best F1.

    :param near_duplicates: number of near-duplicate pairs within k, by similarity in per cent.
    :param wrong: number of wrong pairs within k, by similarity in per cent.
    :param present: the present least resemblance in per cent.
    """
    total = sum(near_duplicates)
    scores = []
    for least in range(len(near_duplicates)):
        found, found_wrong = sum(near_duplicates[least:]), sum(wrong[least:])
        # F1 of the recall found / total and the precision found / (found + found_wrong).
        scores.append(2 * found / (found + found_wrong + total) if found else 0.0)
    runs = _best_runs(scores)
    chosen = min(chain.from_iterable(runs), key=lambda least: (abs(least - present), least))
    run = next(run for run in runs if chosen in run)
    return LeastResemblance(chosen, run[0], run[-1])


def _best_runs(scores: Sequence[float]) -> list[list[int]]:
    """Return the positions of the best score, as runs of consecutive positions."""
    best = max(scores)
    positions = [at for at, score in enumerate(scores) if score >= best - _EQUAL]
    # In a run of consecutive positions, the difference of position and rank is constant.
    runs = groupby(enumerate(positions), lambda ranked: ranked[1] - ranked[0])
    return [[position for _, position in run] for _, run in runs]


def table_recall(plan: TablePlan, near_duplicates: Sequence[float], max_distance: int) -> float:
    """Return the share of pairs within k that the tables are expected to find; 1 for no pairs."""
    within = near_duplicates[: max_distance + 1]
    found = sum(count * plan.expected_recall(d) for d, count in enumerate(within) if count)
    return found / sum(within) if sum(within) else 1.0


def _plan(bits: int, max_distance: int) -> TablePlan | None:
    try:
        return choose_plan(bits, max_distance)
    except PlanError:
        return None
