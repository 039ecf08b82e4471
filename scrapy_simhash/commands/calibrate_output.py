"""Show the result of ``calibrate`` as text."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy_simhash.calibration.choosing import FEW_NEAR_DUPLICATES
from scrapy_simhash.calibration.counting import STEPS
from scrapy_simhash.commands._output import bar, counted, show
from scrapy_simhash.commands.calibrate_json import proposed_settings
from scrapy_simhash.commands.fitting import needed_rebuilds
from scrapy_simhash.documents.escaping import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.calibration.calibrating import Calibrated, Calibration, PresentSettings
    from scrapy_simhash.calibration.choosing import Choice, LeastResemblance, Score
    from scrapy_simhash.calibration.index_distances import IndexDistances
    from scrapy_simhash.commands.fitting import IndexInUse, Rebuild

_ROWS = 24
_BAR_CHARACTERS = 24


def show_calibration(calibration: Calibration, indexes: Sequence[IndexInUse]) -> None:
    """Show all presets, and the lines for settings.py.

    :param indexes: the indexes of the project.
    """
    drawn = ""
    if calibration.read > calibration.sampled + calibration.repeated:
        drawn = f", drawn from {calibration.read:,} (seed {calibration.seed})"
    show(f"sample      {counted(calibration.sampled, 'page')}{drawn}")
    if calibration.repeated:
        show(f"            {calibration.repeated:,} more have a name that came before")
    _show_reasons("left out", calibration.unreadable)
    for one in calibration.presets:
        show()
        _show_preset(one, calibration.threshold)
    best = calibration.best
    if best is None:
        return
    show()
    if len(calibration.presets) > 1:
        show(f"The best of these presets on these pages is {best.preset.name}.")
    _show_rebuilds(needed_rebuilds(best, indexes))
    show("For settings.py:")
    show()
    for name, value in proposed_settings(best).items():
        show(f"{name} = {value!r}".replace("'", '"'))


def _show_rebuilds(first: Sequence[Rebuild]) -> None:
    if not first:
        return
    show("A crawl with these settings cannot open the indexes below. Rebuild them first:")
    show()
    for one in first:
        show(f"# {escaped(str(one.directory))}: {one.why}")
        show(escaped(one.command))
    show()


def _show_preset(one: Calibrated, threshold: float) -> None:
    counts = one.counts
    show(f"preset      {one.preset.name}, {one.preset.scheme.bits} bits")
    show(f"pages       {one.fingerprints:,} with a fingerprint")
    _show_reasons("skipped", one.skipped)
    show(
        f"pairs       {one.near_duplicate_pairs:,} near-duplicate (resemblance of {threshold:g} "
        f"and more), {sum(counts.different):,} different (below 0.2), {sum(counts.between):,} "
        "between"
    )
    if counts.named_apart:
        show(
            f"            {counts.named_apart:,} more resemble each other as much, but are pages "
            "of one site whose names differ"
        )
    if copies := one.edited_copy_pairs:
        show(
            f"            too few near-duplicates: {copies:,} edited copies of pages are "
            f"added, which count as {FEW_NEAR_DUPLICATES - one.near_duplicate_pairs} together"
        )
    near = [
        own + edited
        for own, edited in zip(counts.near_duplicate, one.edited.distances, strict=True)
    ]
    k = None if one.choice is None else one.choice.max_distance
    show()
    _show_histograms(("near-duplicate pairs", near), ("different pairs", counts.different), k)
    show()
    if one.choice is None:
        _show_why_none(one)
    else:
        _show_choice(one, one.choice)


def _show_why_none(one: Calibrated) -> None:
    from scrapy_simhash.calibration.choosing import LEAST_DIFFERENT

    if sum(one.counts.different) < LEAST_DIFFERENT:
        show(
            f"No k can be chosen: the sample has {sum(one.counts.different):,} different pairs, "
            f"and {LEAST_DIFFERENT} are needed. Give more pages."
        )
    else:
        show(
            "No k can be chosen: the sample has no near-duplicate pairs, and no edited copies "
            "could be made. Give more pages."
        )


def _show_choice(one: Calibrated, choice: Choice) -> None:
    show(f"{'k':>5}  {'recall':<22}{'precision':<22}")
    shown = {choice.low: "least of the best", choice.high: "most of the best"}
    shown[choice.max_distance] = "to choose"
    now = one.preset.max_distance
    unchanged = one.now == one.rows[now]  # the least resemblance stays, too
    shown.setdefault(now, "now" if unchanged else "the present k")
    for k in sorted(shown):
        _show_found(one.rows[k], shown[k])
    if not unchanged:
        _show_found(one.now, "now")
    show()
    show(f"k to choose {choice.max_distance}: {_rule(choice, one.preset)}")
    if one.chosen is not None and one.chosen.similar:
        show(
            f"            {one.chosen.similar:,} different pairs within k are not confirmed: a "
            "crawl keeps their pages as similar"
        )
    if one.least is not None:
        show(f"resemblance {one.least.per_cent / STEPS:g} at least: {_least_rule(one.least)}")
    if one.table_recall is None:
        show("tables      no tables support this k: set SIMHASH_TABLES, or choose another preset")
    else:
        found_by_them = _floor(one.table_recall)
        show(f"tables      {choice.plan}, which find {found_by_them} of the pairs within k")


def _show_found(row: Score, what: str) -> None:
    show(
        f"{row.max_distance:>5}  {_share(row.recall, row.recall_95):<22}"
        f"{_share(row.precision, row.precision_95):<22}{what}"
    )


def _least_rule(least: LeastResemblance) -> str:
    if least.low == least.high:
        return "it has the best F1"
    return f"{least.low / STEPS:g} to {least.high / STEPS:g} have the best F1"


def _rule(choice: Choice, preset: PresentSettings) -> str:
    if choice.low == choice.high:
        return "it has the best F1"
    best = f"{choice.low} to {choice.high} have the best F1"
    if choice.max_distance == preset.max_distance:
        return f"{best}, and it is the present one"
    if choice.max_distance == choice.middle:
        return f"{best}, and it is in their middle"
    if choice.max_distance == preset.served_distance:
        return f"{best}, and the tables of your indexes support no larger one"
    return f"{best}; the middle, {choice.middle}, would need too many tables"


def _show_reasons(title: str, reasons: Mapping[str, int]) -> None:
    if reasons:
        shown = ", ".join(f"{count:,} {reason}" for reason, count in Counter(reasons).most_common())
        show(f"{title:<12}{escaped(shown)}")


def _show_histograms(
    one: tuple[str, Sequence[int]], other: tuple[str, Sequence[int]], k: int | None
) -> None:
    """Show two histograms side by side, each with its own scale."""
    titles, counts = (one[0], other[0]), (one[1], other[1])
    last = max((d for d, both in enumerate(zip(*counts, strict=True)) if any(both)), default=0)
    last = max(last, k or 0)
    width = next(w for w in (1, 2, 4, 8, 16, 32) if last < w * _ROWS)
    edges = range(0, last + width + 1, width)
    binned = [[sum(column[start:stop]) for start, stop in pairwise(edges)] for column in counts]
    most = [max(column) for column in binned]
    show(f"{'distance':>9}  {titles[0]:<{_BAR_CHARACTERS + 12}}{titles[1]}")
    for row, (start, stop) in enumerate(pairwise(edges)):
        label = str(start) if width == 1 else f"{start}-{stop - 1}"
        cells = []
        for column, highest in zip(binned, most, strict=True):
            count = column[row]
            drawn = bar(count, highest, _BAR_CHARACTERS)
            cells.append(f"{count:>9,}  {drawn:<{_BAR_CHARACTERS + 1}}")
        mark = f"<- k = {k}" if k is not None and start <= k < stop else ""
        show(f"{label:>9}  {''.join(cells)}{mark}".rstrip())


def _share(value: float, interval: tuple[float, float]) -> str:
    return f"{value:.3f} ({interval[0]:.3f}-{interval[1]:.3f})"


def _floor(value: float) -> str:
    """Return per cent, rounded down so that only 1 gives 100 %."""
    return f"{int(value * 1000 + 1e-9) / 10:g} %"


def show_index(found: IndexDistances) -> None:
    """Show the distances of an index, and what they can and cannot tell."""
    show(f"index       {escaped(found.directory)}")
    show(f"scheme      {found.scheme_id}, k = {found.max_distance}")
    drawn = "" if found.sampled == found.representatives else f", a sample of {found.sampled:,}"
    show(f"pages       {counted(found.representatives, 'representative')}{drawn}")
    show(
        f"            {counted(sum(found.logged), 'near-duplicate')} in the log"
        + (f", and {counted(found.similar, 'similar page')}" if found.similar else "")
    )
    show()
    _show_histograms(
        ("near-duplicates of the log", found.logged),
        ("pairs of representatives", found.apart),
        found.max_distance,
    )
    show()
    if found.late_share is not None:
        share = f"{found.late_share * 100:.1f} %"
        show(
            f"{share} of the near-duplicates are in the last quarter of distances up to k. If this "
            "share is high, more of them lie beyond k, and a larger k would find them."
        )
    show(
        "An index has no texts, so it cannot tell which pairs are copies, nor what a crawl missed. "
        "To choose a k, give pages."
    )
