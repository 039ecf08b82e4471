"""Judge fingerprinted records in the order of the inputs, as a crawl would."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe.state import Checkpoint
from scrapy_simhash.detector import Detector
from scrapy_simhash.evidence import decode_evidence, encode_evidence
from scrapy_simhash.index.base import PageToObserve
from scrapy_simhash.sites import scope_filter
from scrapy_simhash.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_simhash.dedupe.fingerprinting import Fingerprinted
    from scrapy_simhash.dedupe.options import DedupeOptions
    from scrapy_simhash.dedupe.state import State
    from scrapy_simhash.index import Index, Observation
    from scrapy_simhash.index.base import Action


# Upper limit of a batch, whose records are written to the index together. A batch also ends before
# a repeated key and after a record that changed, so that verdicts are the same for any limit.
BATCH_RECORDS = 128


class Judge:
    """A judge of records that writes verdicts to the state, and new content to the index.

    :param checkpoint: the last checkpoint of the run. Its batch is written to the index again.
    :param damaged: name of a file that cannot be read to its end → reason, for checkpoints.
    :param known: an index that is only read. Copies of its records are duplicates, too.
    :raises SimhashError: the index has more entries than the checkpoint accounts for.
    """

    def __init__(
        self,
        state: State,
        index: Index,
        options: DedupeOptions,
        checkpoint: Checkpoint,
        damaged: dict[str, str],
        *,
        known: Index | None = None,
    ) -> None:
        self._state = state
        self._index = index
        self._options = options
        self._damaged = damaged
        self._known = known
        self._detector = Detector(options.scheme, min_tokens=options.min_tokens)
        self.records_judged = checkpoint.records_after
        # The batch: its verdicts, the observations of its records by key, and what was done.
        self._lines: list[bytes] = []
        self._observed: dict[str, Observation] = {}
        self._acted: list[tuple[Observation, Action]] = []
        if checkpoint.index_entries is None:
            self.commit()
            state.sync()  # else a power loss could hide that the index has records of this run
        elif len(index) > checkpoint.index_entries + len(checkpoint.confirmed):
            raise state.damaged_error()
        else:
            self._repeat(checkpoint)

    def add_all(self, records: Sequence[Fingerprinted]) -> None:
        """Judge the next records."""
        at = 0
        while at < len(records):
            # The index changes only when a batch ends, so it searches for all records together.
            batch = records[at : at + BATCH_RECORDS - len(self._lines)]
            self._index.prefetch(
                [
                    (fingerprint, evidence)
                    for _, fingerprint, evidence, _ in batch
                    if fingerprint is not None
                ]
            )
            for record in batch:
                self.add(record)
            at += len(batch)

    def add(self, record: Fingerprinted) -> None:
        """Judge the next record."""
        if record.key in self._observed:
            self.commit()
        verdict, is_known = self._verdict(record)
        is_seen = is_known or self._is_seen(verdict)
        is_dropped = self._options.action == "drop" and is_seen
        values = {"key": record.key, **verdict.to_dict()}
        del values["canonical"]  # `dedupe` does not read rel=canonical
        # Equal for a record and its near-duplicates.
        cluster = None if verdict.kind == "skipped" else verdict.representative or verdict.key
        known = {} if self._known is None else {"known": is_known}
        values |= {"cluster": cluster, "dropped": is_dropped, **known}
        self._lines.append(json.dumps(values).encode("ascii") + b"\n")
        self.records_judged += 1
        if (observation := verdict.observation) is not None:  # else it is known or skipped
            self._observed[observation.key] = observation
            if verdict.kind == "near-duplicate":
                self._acted.append((observation, "dropped" if is_dropped else "tagged"))
            elif verdict.similar_to is not None:
                self._acted.append((observation, "passed"))
        if len(self._lines) == BATCH_RECORDS or verdict.kind == "changed":
            self.commit()

    def _verdict(self, record: Fingerprinted) -> tuple[Verdict, bool]:
        """Return the verdict on a record; and True for a copy of a known record, which is a
        ``near-duplicate`` or, with the same key, ``unchanged``.
        """
        key, fingerprint, evidence, skipped = record
        if fingerprint is None:
            bits = self._options.scheme.bits
            return Verdict(kind="skipped", key=key, bits=bits, reason=skipped), False
        page = PageToObserve(key, fingerprint, evidence, scope_filter(self._options.scope, key))
        if self._known is not None:
            verdict = self._detector.verdict(self._known.foresee(page), 0)
            if verdict.kind in ("near-duplicate", "unchanged"):
                return replace(verdict, observation=None), True
        [observation] = self._index.observe_all([page])
        if observation.kind == "changed" and self._is_of_this_run(key):
            # Both contents of a key stay in the index.
            self._index.discard(observation)
            page = page._replace(key=f"{key}#{self.records_judged + 1}")
            [observation] = self._index.observe_all([page])
        return self._detector.verdict(observation, 0), False

    def commit(self) -> None:
        """Write the batch to the state, and then to the index."""
        self._index.acted_all(*self._acted)
        self._state.append(self._checkpoint())
        self._index.confirm(*self._to_confirm())
        for batch in (self._lines, self._observed, self._acted):
            batch.clear()

    def finish(self) -> Checkpoint:
        """Commit the last batch, close the index, and return the last checkpoint."""
        self.commit()
        checkpoint = replace(self._checkpoint(), phase="judged")
        self._index.close()  # syncs the index to the disk before the phase is ``judged``
        self._state.append(checkpoint)
        return checkpoint

    def _to_confirm(self) -> list[Observation]:
        return [one for one in self._observed.values() if one.kind != "near-duplicate"]

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            records=self.records_judged - len(self._lines),
            lines=b"".join(self._lines),
            confirmed=[
                (one.key, f"{one.fingerprint:x}", encode_evidence(one.evidence).hex())
                for one in self._to_confirm()
            ],
            index_entries=len(self._index),
            crawl_start=self._index.crawl_start,
            damaged=self._damaged,
        )

    def _is_seen(self, verdict: Verdict) -> bool:
        """Return True if an earlier record has this content, or the index counts it as seen."""
        if verdict.kind != "unchanged" or self._options.incremental:
            return verdict.kind in ("near-duplicate", "unchanged")
        # A crawl fetches a page again only on purpose, but two records of this run with the same
        # key and content are duplicates.
        return self._is_of_this_run(verdict.key)

    def _is_of_this_run(self, key: str) -> bool:
        """Return True if an earlier record of this run has a key."""
        stored = self._index.entry(key)
        return stored is not None and stored.last_sequence >= self._index.crawl_start

    def _repeat(self, checkpoint: Checkpoint) -> None:
        """Repeat the changes of the last batch to the index, some of which a kill may have lost."""
        for key, fingerprint, evidence in checkpoint.confirmed:
            observation = self._index.observe(
                key,
                int(fingerprint, 16),
                decode_evidence(bytes.fromhex(evidence)),
                in_scope=scope_filter(self._options.scope, key),
            )
            if observation.similar_to is not None:
                self._index.acted(observation, "passed")
            self._index.confirm(observation)


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
        and 0, if an interrupted run had written the output, or had judged all records and there is
        no output.
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
        kind, is_dropped = verdict["kind"], verdict["dropped"]
        self.records += 1
        self.kinds[kind] += 1
        if kind == "skipped":
            self.skipped[verdict["reason"]] += 1
        self.dropped += is_dropped
        self.kept += not is_dropped
        self.tagged += kind == "near-duplicate" and not is_dropped  # the action is ``tag``
        self.similar += verdict["similar_to"] is not None
        self.known += verdict.get("known", False)
