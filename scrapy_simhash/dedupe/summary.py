"""Verdicts as JSON, and the counts of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.verdict import Verdict


def plain_verdict(verdict: Verdict, *, dropped: bool) -> dict[str, Any]:
    """Return the line of a record in ``--verdicts``, as values for JSON, without ``known``.

    ``cluster`` is the key of the representative: equal for a record and its near-duplicates.
    """
    values = verdict.to_dict()
    del values["canonical"]  # `dedupe` does not read rel=canonical
    cluster = None if verdict.kind == "skipped" else verdict.representative or verdict.key
    return {"key": verdict.key, **values, "cluster": cluster, "dropped": dropped}


@dataclass
class DedupeSummary:
    """The counts of a run.

    :param dropped: duplicates that are left out.
    :param tagged: near-duplicates that are kept, because the action is ``tag``.
    :param similar: kept records within k bits of another, but not confirmed as copies of it.
    :param known: records with a copy in `DedupePaths.against`.
    :param kinds: kind of verdict → number of records.
    :param skipped: reason → number of records with the verdict ``skipped``.
    :param passed_over: WARC records without a page, or files of folders that are no page. Unknown,
        and 0, if an interrupted run had written the output.
    :param went_on_after: number of records that the interrupted run had judged, or 0.
    :param index_entries: number of entries at the end. None without an index, and if the
        interrupted run had judged all records.
    :param damaged: name of a file that cannot be read to its end → reason.
    """

    records: int = 0
    kept: int = 0
    dropped: int = 0
    tagged: int = 0
    similar: int = 0
    known: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    passed_over: int = 0
    went_on_after: int = 0
    index_entries: int | None = None
    damaged: dict[str, str] = field(default_factory=dict)

    def count(self, verdict: Mapping[str, Any]) -> None:
        """Count a record."""
        self.records += 1
        self.kinds[verdict["kind"]] += 1
        if verdict["kind"] == "skipped":
            self.skipped[verdict["reason"]] += 1
        if verdict["dropped"]:
            self.dropped += 1
        else:
            self.kept += 1
            if verdict["kind"] == "near-duplicate":  # kept only if the action is ``tag``
                self.tagged += 1
        if verdict["similar_to"] is not None:
            self.similar += 1
        self.known += verdict.get("known", False)
