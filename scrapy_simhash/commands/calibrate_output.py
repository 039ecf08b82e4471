"""Show the result of ``calibrate`` as text, or build its JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scrapy_simhash.calibration.choosing import FEW_NEAR_DUPLICATES, LEAST_DIFFERENT
from scrapy_simhash.commands._output import bar, counted, show
from scrapy_simhash.commands.needed_rebuilds import needed_rebuilds
from scrapy_simhash.documents.escaping import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.calibration.calibrating import Calibrated, Calibration, PresentSettings
    from scrapy_simhash.calibration.choosing import Choice, Score
    from scrapy_simhash.calibration.index_distances import IndexDistances
    from scrapy_simhash.commands.needed_rebuilds import ProjectIndex

_MAX_ROWS = 24
_BAR_CHARACTERS = 24


def show_calibration(calibration: Calibration, indexes: Sequence[ProjectIndex]) -> None:
    """Show the calibration of each preset, the needed rebuilds, and the lines for settings.py."""
    drawn = ""
    if calibration.read > calibration.sampled + calibration.repeated:
        drawn = f", drawn from {calibration.read:,} (seed {calibration.seed})"
    show(f"sample      {counted(calibration.sampled, 'page')}{drawn}")
    if calibration.repeated:
        show(f"            {calibration.repeated:,} more left out: another page has the same name")
    _show_reasons("left out", calibration.unreadable)
    for calibrated in calibration.presets:
        show()
        _show_preset(calibrated, calibration.threshold)
    best = calibration.best
    if best is None:
        return
    show()
    if len(calibration.presets) > 1:
        show(f"The best of these presets on these pages is {best.preset.name}.")
    if rebuilds := needed_rebuilds(best, indexes):
        show("A crawl with these settings cannot open these indexes:\n")
        for rebuild in rebuilds:
            show(f"# {escaped(str(rebuild.directory))}: {rebuild.why}")
            if rebuild.command is not None:
                show(escaped(rebuild.command))
        show()
    show("For settings.py:\n")
    for name, value in proposed_settings(best).items():
        quoted = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
        show(f"{name} = {quoted}")


def _show_preset(calibrated: Calibrated, threshold: float) -> None:
    counts = calibrated.counts
    show(f"preset      {calibrated.preset.name}, {calibrated.preset.scheme.bits} bits")
    show(f"pages       {calibrated.fingerprints:,} with a fingerprint")
    _show_reasons("skipped", calibrated.skipped)
    show(
        f"pairs       {calibrated.near_duplicate_pairs:,} near-duplicate (resemblance of "
        f"{threshold:g} and more), {sum(counts.different):,} different (below 0.2), "
        f"{sum(counts.between):,} between"
    )
    if counts.named_apart:
        show(
            f"            {counts.named_apart:,} more have this resemblance, but are pages of one "
            "site whose names differ"
        )
    if copies := calibrated.edited_copy_pairs:
        missing = FEW_NEAR_DUPLICATES - calibrated.near_duplicate_pairs
        show(
            f"            too few near-duplicates: {copies:,} edited copies of pages are added, "
            f"which together count as {missing} pairs"
        )
    near_duplicates = [
        pairs + copies
        for pairs, copies in zip(counts.near_duplicate, calibrated.edited.distances, strict=True)
    ]
    k = None if calibrated.choice is None else calibrated.choice.max_distance
    show()
    _show_histograms(
        ("near-duplicate pairs", near_duplicates), ("different pairs", counts.different), k
    )
    show()
    different = sum(counts.different)
    if calibrated.choice is not None:
        _show_choice(calibrated, calibrated.choice)
    elif different < LEAST_DIFFERENT:
        show(
            f"No k can be chosen: the sample has {different:,} different pairs, and "
            f"{LEAST_DIFFERENT} are needed. Give more pages."
        )
    else:
        show(
            "No k can be chosen: the sample has no near-duplicate pairs, and no edited copies "
            "could be made. Give more pages."
        )


def _show_choice(calibrated: Calibrated, choice: Choice) -> None:
    show(f"{'k':>5}  {'recall':<22}precision")
    labels = {choice.low: "lowest best k", choice.high: "highest best k"}
    labels[choice.max_distance] = "chosen k"
    present_k = calibrated.preset.max_distance
    labels.setdefault(present_k, "present k")
    for k in sorted(labels):
        _show_score(calibrated.rows[k], labels[k])
    # The rows above are scored with the chosen least resemblance.
    if calibrated.now != calibrated.rows[present_k]:
        _show_score(calibrated.now, "present k and least resemblance")
    show()
    show(f"chosen k    {choice.max_distance}: {_why_this_k(choice, calibrated.preset)}")
    if calibrated.chosen is not None and calibrated.chosen.similar:
        show(
            f"            {calibrated.chosen.similar:,} different pairs within k are not "
            "confirmed: a crawl keeps these pages as similar"
        )
    if (least := calibrated.least) is not None:
        several = f"{least.low / 100:g} to {least.high / 100:g} have"
        best = "it has" if least.low == least.high else several
        show(f"resemblance {least.per_cent / 100:g} or more: {best} the best F1")
    if calibrated.table_recall is None:
        show("tables      no tables support this k: set SIMHASH_TABLES, or take another preset")
    else:
        # Rounded down, so that only 1 becomes 100 %.
        recall = int(calibrated.table_recall * 1000 + 1e-9) / 10
        show(
            f"tables      {choice.plan}, which should find {recall:g} % of the near-duplicate "
            "pairs within k"
        )


def _show_score(score: Score, label: str) -> None:
    shares = ((score.recall, score.recall_95), (score.precision, score.precision_95))
    cells = [f"{share:.3f} ({low:.3f}-{high:.3f})" for share, (low, high) in shares]
    show(f"{score.max_distance:>5}  {cells[0]:<22}{cells[1]:<22}{label}")


def _why_this_k(choice: Choice, preset: PresentSettings) -> str:
    if choice.low == choice.high:
        return "it has the best F1"
    best = f"{choice.low} to {choice.high} have the best F1"
    if choice.max_distance == preset.max_distance:
        return f"{best}, and this is the present k"
    if choice.max_distance == choice.middle:
        return f"{best}, and this is the middle"
    if choice.max_distance == preset.served_distance:
        return f"{best}, and the tables of your indexes support no larger one"
    return f"{best}, and a larger one would need too many tables"


def _show_reasons(title: str, reasons: Mapping[str, int]) -> None:
    if reasons:
        shown = ", ".join(f"{count:,} {reason}" for reason, count in Counter(reasons).most_common())
        show(f"{title:<12}{escaped(shown)}")


def _show_histograms(
    left: tuple[str, Sequence[int]], right: tuple[str, Sequence[int]], k: int | None
) -> None:
    """Show two histograms, given as (title, counts by distance), each with its own scale."""
    titles, counts = (left[0], right[0]), (left[1], right[1])
    used = [distance for distance, both in enumerate(zip(*counts, strict=True)) if any(both)]
    last = max([*used, k or 0])
    width = next(width for width in (1, 2, 4, 8, 16, 32) if last < width * _MAX_ROWS)
    edges = range(0, last + width + 1, width)
    binned = [[sum(column[start:stop]) for start, stop in pairwise(edges)] for column in counts]
    maxima = [max(column) for column in binned]
    show(f"{'distance':>9}  {titles[0]:<{_BAR_CHARACTERS + 12}}{titles[1]}")
    for row, (start, stop) in enumerate(pairwise(edges)):
        label = str(start) if width == 1 else f"{start}-{stop - 1}"
        cells = []
        for column, highest in zip(binned, maxima, strict=True):
            count = column[row]
            drawn = bar(count, highest, _BAR_CHARACTERS)
            cells.append(f"{count:>9,}  {drawn:<{_BAR_CHARACTERS + 1}}")
        mark = f"<- k = {k}" if k is not None and start <= k < stop else ""
        show(f"{label:>9}  {''.join(cells)}{mark}".rstrip())


def show_index(distances: IndexDistances) -> None:
    """Show the distances of an index, and explain them."""
    show(f"index       {escaped(distances.directory)}")
    show(f"scheme      {distances.scheme_id}, k = {distances.max_distance}")
    is_sampled = distances.sampled < distances.representatives
    drawn = f", a sample of {distances.sampled:,}" if is_sampled else ""
    show(f"pages       {counted(distances.representatives, 'representative')}{drawn}")
    show(
        f"            {counted(sum(distances.logged), 'near-duplicate')} in the log"
        + (f", and {counted(distances.similar, 'similar page')}" if distances.similar else "")
    )
    show()
    _show_histograms(
        ("logged near-duplicates", distances.logged),
        ("pairs of representatives", distances.apart),
        distances.max_distance,
    )
    show()
    if distances.late_share is not None:
        share = f"{distances.late_share * 100:.1f} %"
        show(
            f"{share} of the logged near-duplicates are in the top quarter of the distances from 0 "
            "to k. A high share suggests that k cuts off copies: try a larger k."
        )
    show(
        "Distances alone do not tell which pairs are copies, nor what a crawl missed. To choose a "
        "k, give pages."
    )


def as_json(calibration: Calibration, indexes: Sequence[ProjectIndex]) -> dict[str, Any]:
    """Return a calibration, and the needed rebuilds of indexes, as values for JSON."""
    best = calibration.best
    rebuilds = needed_rebuilds(best, indexes)
    return {
        "read": calibration.read,
        "sampled": calibration.sampled,
        "seed": calibration.seed,
        "unreadable": dict(calibration.unreadable),
        "repeated": calibration.repeated,
        "threshold": calibration.threshold,
        "best_preset": None if best is None else best.preset.name,
        "settings": None if best is None else proposed_settings(best),
        "rebuild_first": [rebuild.command for rebuild in rebuilds if rebuild.command is not None],
        "presets": [_preset_as_json(calibrated) for calibrated in calibration.presets],
    }


def _preset_as_json(calibrated: Calibrated) -> dict[str, Any]:
    preset, counts, rows = calibrated.preset, calibrated.counts, calibrated.rows
    choice, least = calibrated.choice, calibrated.least
    # Without a choice, its values are None.
    ks = [None] * 3 if choice is None else [choice.max_distance, choice.low, choice.high]
    shares = [None] * 3 if least is None else [per_cent / 100 for per_cent in least]
    names = ("max_distance", "recall", "precision", "f1")
    return {
        "preset": preset.name,
        "scheme": preset.scheme.id,
        "bits": preset.scheme.bits,
        "fingerprints": calibrated.fingerprints,
        "skipped": dict(calibrated.skipped),
        "near_duplicate_pairs": calibrated.near_duplicate_pairs,
        "edited_copy_pairs": calibrated.edited_copy_pairs,
        "between_pairs": sum(counts.between),
        "different_pairs": sum(counts.different),
        "named_apart_pairs": counts.named_apart,
        "basis": _basis(calibrated),
        **dict(zip(("max_distance", "best_from", "best_to"), ks, strict=True)),
        **dict(zip(("min_resemblance", "least_from", "least_to"), shares, strict=True)),
        "min_resemblance_now": preset.confirmation.min_resemblance,
        "chosen": None if calibrated.chosen is None else _score_as_json(calibrated.chosen),
        "now": _score_as_json(calibrated.now),
        "tables": None if choice is None else _tables_as_json(calibrated, choice),
        "distances": {
            "near_duplicate": counts.near_duplicate,
            "edited_copies": calibrated.edited.distances,
            "between": counts.between,
            "different": counts.different,
        },
        "curve": [{name: getattr(row, name) for name in names} for row in rows],
    }


def _score_as_json(score: Score) -> dict[str, Any]:
    computed = ("recall", "recall_95", "precision", "precision_95", "f1")
    return score._asdict() | {name: getattr(score, name) for name in computed}


def _tables_as_json(calibrated: Calibrated, choice: Choice) -> dict[str, Any] | None:
    plan = choice.plan
    if plan is None:
        return None
    return {
        "plan": {**asdict(plan), "tables": len(plan.tables)},
        "guaranteed_distance": plan.guaranteed_distance,
        "expected_recall": calibrated.table_recall,
        "expected_recall_at_max_distance": plan.expected_recall(choice.max_distance),
    }


def _basis(calibrated: Calibrated) -> str | None:
    """Return the kind of pairs that the choice of k is based on; None without a choice."""
    if calibrated.choice is None:
        return None
    if not calibrated.edited_copy_pairs:
        return "pairs"
    return "pairs and edited copies" if calibrated.near_duplicate_pairs else "edited copies"


def proposed_settings(calibrated: Calibrated) -> dict[str, Any]:
    """Return the proposed settings, by name. A preset that is given as JSON becomes a dict."""
    preset = calibrated.preset.name
    settings: dict[str, Any] = {
        "SIMHASH_PRESET": json.loads(preset) if preset.startswith("{") else preset
    }
    if calibrated.choice is not None:
        settings["SIMHASH_MAX_DISTANCE"] = calibrated.choice.max_distance
    if calibrated.least is not None:
        settings["SIMHASH_MIN_RESEMBLANCE"] = calibrated.least.per_cent / 100
    return settings


def index_as_json(distances: IndexDistances) -> dict[str, Any]:
    """Return the distances of an index as values for JSON."""
    return {
        "index": distances.directory,
        "scheme": distances.scheme_id,
        "bits": distances.bits,
        "max_distance": distances.max_distance,
        "near_duplicates": sum(distances.logged),
        "similar": distances.similar,
        "representatives": distances.representatives,
        "sampled": distances.sampled,
        "late_share": distances.late_share,
        "nearest_representatives": distances.nearest,
        "distances": {"near_duplicates": distances.logged, "representatives": distances.apart},
    }
