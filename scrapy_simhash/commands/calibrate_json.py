"""Build the JSON of ``calibrate --json``, and the settings that ``calibrate`` proposes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.needed_rebuilds import needed_rebuilds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.calibration.calibrating import Calibrated, Calibration
    from scrapy_simhash.calibration.choosing import Choice, Score
    from scrapy_simhash.calibration.index_distances import IndexDistances
    from scrapy_simhash.commands.needed_rebuilds import ProjectIndex


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
    choice, least = calibrated.choice, calibrated.least
    return {
        "preset": calibrated.preset.name,
        "scheme": calibrated.preset.scheme.id,
        "bits": calibrated.preset.scheme.bits,
        "fingerprints": calibrated.fingerprints,
        "skipped": dict(calibrated.skipped),
        "near_duplicate_pairs": calibrated.near_duplicate_pairs,
        "edited_copy_pairs": calibrated.edited_copy_pairs,
        "between_pairs": sum(calibrated.counts.between),
        "different_pairs": sum(calibrated.counts.different),
        "named_apart_pairs": calibrated.counts.named_apart,
        "basis": _basis(calibrated),
        "max_distance": None if choice is None else choice.max_distance,
        "best_from": None if choice is None else choice.low,
        "best_to": None if choice is None else choice.high,
        "min_resemblance": None if least is None else least.per_cent / 100,
        "least_from": None if least is None else least.low / 100,
        "least_to": None if least is None else least.high / 100,
        "min_resemblance_now": calibrated.preset.confirmation.min_resemblance,
        "chosen": None if calibrated.chosen is None else _score_as_json(calibrated.chosen),
        "now": _score_as_json(calibrated.now),
        "tables": None if choice is None else _tables_as_json(calibrated, choice),
        "distances": {
            "near_duplicate": calibrated.counts.near_duplicate,
            "edited_copies": calibrated.edited.distances,
            "between": calibrated.counts.between,
            "different": calibrated.counts.different,
        },
        "curve": [
            {name: getattr(row, name) for name in ("max_distance", "recall", "precision", "f1")}
            for row in calibrated.rows
        ],
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
    """Return the values of the settings to propose, by name. A preset in JSON becomes a dict."""
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
