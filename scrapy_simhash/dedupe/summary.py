"""Count the verdicts of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class DedupeSummary:
    """The numbers of a run.

    :param dropped: duplicates that are left out.
    :param tagged: near-duplicates that are kept with tags.
    :param similar: kept records within k bits of another one, but not confirmed as its copies.
    :param known: records whose content is in `DedupePaths.against`.
    :param kinds: records by kind of verdict.
    :param skipped: records without a verdict, by reason.
    :param went_on_after: records that an interrupted run had judged.
    :param damaged: path → reason, for files that cannot be read to the end.
    :param index_entries: entries at the end; None if the run only wrote its output.
    """

    records: int = 0
    kept: int = 0
    dropped: int = 0
    tagged: int = 0
    similar: int = 0
    known: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    went_on_after: int = 0
    index_entries: int | None = None
    damaged: dict[str, str] = field(default_factory=dict)

    def count(self, verdict: Mapping[str, Any]) -> None:
        """Count a record."""
        self.records += 1
        self.kinds[verdict["kind"]] += 1
        if verdict["reason"]:
            self.skipped[verdict["reason"]] += 1
        if verdict["dropped"]:
            self.dropped += 1
        else:
            self.kept += 1
            if verdict["kind"] == "near-duplicate":  # which only the action ``tag`` keeps
                self.tagged += 1
        if verdict["similar_to"] is not None:
            self.similar += 1
        if verdict.get("known"):
            self.known += 1

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON."""
        return dict(vars(self))
