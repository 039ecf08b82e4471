"""The verdicts of a run: their form in files, and their numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.verdict import Verdict


def plain_verdict(verdict: Verdict, *, dropped: bool) -> dict[str, Any]:
    """Return the values of the line of JSON that `--verdicts` writes for a record."""
    values = verdict.to_dict()
    del values["canonical"]  # records have none
    return {"key": verdict.key, **values, "dropped": dropped}


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

    def count(self, verdict: Mapping[str, Any], times: int = 1) -> None:
        """Count the records with a verdict."""
        self.records += times
        self.kinds[verdict["kind"]] += times
        if verdict["reason"]:
            self.skipped[verdict["reason"]] += times
        if verdict["dropped"]:
            self.dropped += times
        else:
            self.kept += times
            if verdict["kind"] == "near-duplicate":  # only the action ``tag`` keeps them
                self.tagged += times
        if verdict["similar_to"] is not None:
            self.similar += times
        if verdict.get("known"):
            self.known += times

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON."""
        return dict(vars(self))
