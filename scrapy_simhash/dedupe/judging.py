"""Judging: what is known of records → their verdicts, as a crawl would give them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe.evidence import evidence_from, plain_evidence
from scrapy_simhash.dedupe.state import Checkpoint
from scrapy_simhash.detector import Detector, PageFingerprint
from scrapy_simhash.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from scrapy_simhash.dedupe.options import DedupeOptions
    from scrapy_simhash.dedupe.records import Answer
    from scrapy_simhash.dedupe.state import State
    from scrapy_simhash.index import Observation, ObservingIndex
    from scrapy_simhash.verdict import Verdict

# Records whose representatives are confirmed together; fewer where a key comes again, or its
# content has changed, so that what was confirmed one by one would have been judged the same.
# Where a batch ends depends on the records alone: pending pages are compared one by one, others
# are looked up in tables, and so what is found at large distances may depend on it.
BATCH_RECORDS = 128


class Judge:
    """Judges records in their order, and writes the verdicts to the state.

    :param checkpoint: where the run is.
    """

    def __init__(
        self,
        state: State,
        index: ObservingIndex,
        options: DedupeOptions,
        checkpoint: Checkpoint,
    ) -> None:
        self._state = state
        self._index = index
        self._options = options
        self._detector = Detector(options.scheme, min_tokens=options.min_tokens)
        self._policy = Policy(action="drop", incremental=options.incremental)
        self.records = checkpoint.records
        self._lines: list[bytes] = []
        self._evidence: list[list[Any]] = []
        self._observations: list[Observation] = []
        self._keys: set[str] = set()
        self._log = state.log.open("ab")
        self._log.truncate(checkpoint.log_bytes)
        self._log_bytes = checkpoint.log_bytes
        if checkpoint.lines:
            self._replay(checkpoint)

    def add(self, answer: Answer) -> None:
        """The next record."""
        key = answer.key
        if key in self._keys:
            self.commit()
        page = PageFingerprint(
            fingerprint=None if answer.fingerprint is None else int(answer.fingerprint, 16),
            evidence=answer.evidence,
            skipped=answer.reason,
        )
        verdict = self._detector.judge(self._index, key, page, among=self._among(key))
        observation = verdict.observation
        dropped = observation is not None and self._is_dropped(verdict)
        line = {"key": key, **verdict.to_dict(), "dropped": dropped}
        del line["canonical"]  # not known of records
        self._lines.append(json.dumps(line).encode("ascii") + b"\n")
        if observation is not None:
            self._keys.add(key)
            if verdict.kind == "near-duplicate":
                self._index.acted(observation, "dropped" if dropped else "tagged")
            else:
                if verdict.similar_to is not None:
                    self._index.acted(observation, "passed")
                self._observations.append(observation)
                self._evidence.append(plain_evidence(observation.evidence))
        self.records += 1
        if len(self._lines) == BATCH_RECORDS or verdict.kind == "changed":
            self.commit()

    def commit(self) -> None:
        """Keep what was judged since the last time."""
        lines = b"".join(self._lines)
        self._state.write(
            Checkpoint(
                *("judging", self.records, self._log_bytes, self._index.began),
                lines=lines,
                evidence=self._evidence,
            )
        )
        self._write(lines)
        for observation in self._observations:
            self._index.confirm(observation)
        self._lines.clear()
        self._evidence.clear()
        self._observations.clear()
        self._keys.clear()

    def finish(self) -> int:
        """All records were added. Closes the index, and returns how many entries it has."""
        self.commit()
        entries = len(self._index)
        self._index.close()  # which brings it to the disk, before nobody could do it again
        self._state.write(Checkpoint("judged", self.records, self._log_bytes, self._index.began))
        return entries

    def _is_dropped(self, verdict: Verdict) -> bool:
        if self._options.action != "drop":
            return False
        if verdict.kind == "unchanged" and self._met_before(verdict.key):
            # The same record again; a crawl, in which pages come again by themselves, lets it pass.
            return True
        action, _ = self._policy.decide(verdict)
        return not action.items

    def _met_before(self, key: str) -> bool:
        """Whether the entry of an unchanged record was met in this run, and not in an earlier
        one alone.
        """
        stored = self._index.entry(key)
        return stored is not None and stored.met >= self._index.began

    def _among(self, key: str) -> Callable[[str], bool] | None:
        return None if self._options.scope is None else self._options.scope(key)

    def _write(self, lines: bytes) -> None:
        self._log.write(lines)
        self._log.flush()
        self._log_bytes += len(lines)

    def _replay(self, checkpoint: Checkpoint) -> None:
        """Repeat what may have been interrupted after the journal was written."""
        self._write(checkpoint.lines)
        evidence = iter(checkpoint.evidence)
        for line in checkpoint.lines.splitlines():
            verdict: dict[str, Any] = json.loads(line)
            if verdict["kind"] not in ("new", "changed", "unchanged"):
                continue
            key, fingerprint = verdict["key"], int(verdict["fingerprint"], 16)
            observation = self._index.observe(
                key, fingerprint, evidence_from(next(evidence)), among=self._among(key)
            )
            if observation.similar_to is not None:
                self._index.acted(observation, "passed")
            self._index.confirm(observation)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._log.close()
