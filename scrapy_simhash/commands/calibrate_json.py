"""Build the JSON of ``calibrate --json``, and the settings to propose."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.calibration.counting import STEPS
from scrapy_simhash.commands.fitting import needed_rebuilds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.calibration.calibrating import Calibrated, Calibration
    from scrapy_simhash.calibration.choosing import Choice, Score
    from scrapy_simhash.calibration.index_distances import IndexDistances
    from scrapy_simhash.commands.fitting import IndexInUse


def as_json(calibration: Calibration, indexes: Sequence[IndexInUse]) -> dict[str, Any]:
    """Return a calibration as values for JSON.

    :param indexes: the indexes of the project.
    """
    best = calibration.best
    return {
        "read": calibration.read,
        "sampled": calibration.sampled,
        "seed": calibration.seed,
        "unreadable": dict(calibration.unreadable),
        "repeated": calibration.repeated,
        "threshold": calibration.threshold,
        "best_preset": None if best is None else best.preset.name,
        "settings": None if best is None else proposed_settings(best),
        "rebuild_first": [one.command for one in needed_rebuilds(best, indexes)],
        "presets": [_preset_as_json(one) for one in calibration.presets],
    }


def _preset_as_json(one: Calibrated) -> dict[str, Any]:
    choice = one.choice
    return {
        "preset": one.preset.name,
        "scheme": one.preset.scheme.id,
        "bits": one.preset.scheme.bits,
        "fingerprints": one.fingerprints,
        "skipped": dict(one.skipped),
        "near_duplicate_pairs": one.near_duplicate_pairs,
        "edited_copy_pairs": one.edited_copy_pairs,
        "between_pairs": sum(one.counts.between),
        "different_pairs": sum(one.counts.different),
        "named_apart_pairs": one.counts.named_apart,
        "basis": _basis(one),
        "max_distance": None if choice is None else choice.max_distance,
        "best_from": None if choice is None else choice.low,
        "best_to": None if choice is None else choice.high,
        "min_resemblance": None if one.least is None else one.least.per_cent / STEPS,
        "least_from": None if one.least is None else one.least.low / STEPS,
        "least_to": None if one.least is None else one.least.high / STEPS,
        "min_resemblance_now": one.preset.confirmation.min_resemblance,
        "chosen": None if one.chosen is None else _score_as_json(one.chosen),
        "now": _score_as_json(one.now),
        "tables": None if choice is None else _tables_as_json(one, choice),
        "distances": {
            "near_duplicate": one.counts.near_duplicate,
            "edited_copies": one.edited.distances,
            "between": one.counts.between,
            "different": one.counts.different,
        },
        "curve": [
            {name: getattr(row, name) for name in ("max_distance", "recall", "precision", "f1")}
            for row in one.rows
        ],
    }


def _score_as_json(found: Score) -> dict[str, Any]:
    computed = ("recall", "recall_95", "precision", "precision_95", "f1")
    return found._asdict() | {name: getattr(found, name) for name in computed}


def _tables_as_json(one: Calibrated, choice: Choice) -> dict[str, Any] | None:
    plan = choice.plan
    if plan is None:
        return None
    return {
        "plan": {**asdict(plan), "tables": len(plan.tables)},
        "guaranteed_distance": plan.guaranteed_distance,
        "expected_recall": one.table_recall,
        "expected_recall_at_max_distance": plan.expected_recall(choice.max_distance),
    }


def _basis(one: Calibrated) -> str | None:
    """Return the kind of pairs that the choice is based on."""
    if one.choice is None:
        return None
    if not one.edited_copy_pairs:
        return "pairs"
    return "pairs and edited copies" if one.near_duplicate_pairs else "edited copies"


def proposed_settings(one: Calibrated) -> dict[str, Any]:
    """Return the settings to paste."""
    settings: dict[str, Any] = {"SIMHASH_PRESET": one.preset.name}
    if one.choice is not None:
        settings["SIMHASH_MAX_DISTANCE"] = one.choice.max_distance
    if one.least is not None:
        settings["SIMHASH_MIN_RESEMBLANCE"] = one.least.per_cent / STEPS
    return settings


def index_as_json(found: IndexDistances) -> dict[str, Any]:
    """Return the distances of an index as values for JSON."""
    return {
        "index": found.directory,
        "scheme": found.scheme_id,
        "bits": found.bits,
        "max_distance": found.max_distance,
        "near_duplicates": sum(found.logged),
        "similar": found.similar,
        "representatives": found.representatives,
        "sampled": found.sampled,
        "late_share": found.late_share,
        "nearest_representatives": found.nearest,
        "distances": {"near_duplicates": found.logged, "representatives": found.apart},
    }
