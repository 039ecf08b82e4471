"""CrawlIndex: the part of `ObservingIndex` and `RedisIndex` that needs no store."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.index.base import UNKNOWN, Entry, Match, NearDuplicate, Observation
from scrapy_simhash.index.marks import mark_of, without_name
from scrapy_simhash.index.rules import classify
from scrapy_simhash.reasons import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typing_extensions import Self

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index.base import Action, Earlier, PageToObserve
    from scrapy_simhash.index.rules import Classification, Neighbour, Rules
    from scrapy_simhash.scheme import Scheme

    Near = list[tuple[int, Entry]]  # (distance, entry)


class CrawlIndex:
    """The base class of indexes. It decides which entries count for this crawl, and what is stored.

    :param rules: conditions for a page to be a copy.
    :param incremental: entries of earlier crawls count as seen by this crawl.
    :param crawl_start: first sequence number of the crawl.
    """

    def __init__(
        self,
        *,
        rules: Rules,
        incremental: bool,
        crawl_start: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self.rules = rules
        self.incremental = incremental
        self.crawl_start = crawl_start

    @property
    def max_distance(self) -> int:
        """k, the upper limit for the distance of a copy, inclusive."""
        return self.rules.max_distance

    @property
    def confirmation(self) -> Confirmation:
        """Conditions for a page within k bits to count as a copy."""
        return self.rules.confirmation

    def discard(self, observed: Observation | str) -> None:
        """See `Index.discard`."""
        raise NotImplementedError

    def acted(self, observed: Observation, action: Action | None) -> None:
        """See `Index.acted`."""
        raise NotImplementedError

    def discard_all(self, observed: Iterable[Observation]) -> None:
        """Discard observations, which may take less time than `discard` for each."""
        for one in observed:
            self.discard(one)

    def acted_all(self, observed: Iterable[tuple[Observation, Action]]) -> None:
        """Record what was done with several pages; see `Index.acted`."""
        for one, action in observed:
            self.acted(one, action)

    def close(self) -> None:
        """See `Index.close`."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _mark(self, evidence: Evidence) -> int:
        """Return the mark by which a search for copies of a page leaves out other pages."""
        mark = mark_of(evidence)
        return mark if self.confirmation.same_name else without_name(mark)

    def _is_eligible(self, entry: Entry) -> bool:
        """Return True if an entry may be a representative in this crawl."""
        return self.incremental or entry.last_sequence >= self.crawl_start

    def _judge(
        self,
        key: str,
        fingerprint: int,
        evidence: Evidence,
        in_scope: Callable[[str], bool] | None,
        *,
        stored: Entry | None,
        last: Entry | None,
        near: Callable[[], tuple[Near, Near]],
        take_sequence: Callable[[], int],
    ) -> tuple[Classification, Observation, Entry | None]:
        """Return (classification of a page, its observation, the entry to make pending or None).

        :param stored: the stored entry of the page's key, or None.
        :param last: the last seen entry of the page's key, stored or pending, or None.
        :param near: returns the stored and the pending entries within k.
        :param take_sequence: returns the number of the observation; called after the searches, so
            that a search that fails takes no number.
        """
        own = None if last is None else self._compared(fingerprint, evidence, last)

        def neighbours_in(entries: Near) -> list[Neighbour]:
            others = [
                (distance, entry)
                for distance, entry in entries
                if entry.key != key and (in_scope is None or in_scope(entry.key))
            ]
            return self.rules.neighbours(evidence, others)

        def neighbours() -> tuple[list[Neighbour], list[Neighbour]]:
            stored_entries, pending_entries = near()
            return neighbours_in(stored_entries), neighbours_in(pending_entries)

        result = classify(own, neighbours, self._is_eligible, evidence)
        is_copy = result.kind == "near-duplicate"
        nearest, compared = result.nearest, result.nearest or own
        reason = "" if compared is None else self.reason(evidence, compared, result.earlier)
        similar_to = None if nearest is None else nearest.entry.key
        observation = Observation(
            result.kind,
            key,
            fingerprint,
            similar_to if is_copy else None,
            None if compared is None else compared.distance,
            take_sequence(),
            result.provisional,
            None if compared is None else compared.similarity,
            None if is_copy else similar_to,
            evidence,
            result.earlier,
            reason,
        )
        if is_copy:
            return result, observation, None
        entry = self._new_entry(observation, observation.sequence)
        if result.kind != "unchanged":
            return result, observation, entry
        # An unchanged page has the text of `last`.
        if stored is None or (
            stored is not last and not self._compared(fingerprint, evidence, stored).confirmed
        ):
            # Only a pending page has the same text. It may fail, so this page becomes pending, too.
            return result, replace(observation, provisional=True), entry
        if stored.last_sequence >= self.crawl_start:
            return result, observation, None
        seen_again = stored._replace(
            last_sequence=entry.last_sequence, last_seen_s=entry.last_seen_s
        )
        if not self.incremental:
            # Results must not differ from those of an empty index, which would have this text.
            seen_again = seen_again._replace(fingerprint=entry.fingerprint, evidence=entry.evidence)
        elif not stored.evidence.content:  # for example an entry that was imported
            seen_again = seen_again._replace(evidence=entry.evidence)
        return result, observation, seen_again

    def reason(self, evidence: Evidence, near: Neighbour, earlier: Earlier = UNKNOWN) -> str:
        """Return in words why a page is, or is no copy of a neighbour."""
        labels = (evidence.label, near.entry.evidence.label)
        one, other = (label.decode("utf-8", "replace") for label in labels)
        return explain(
            near.against,
            distance=near.distance,
            similarity=near.similarity,
            max_distance=self.max_distance,
            confirmation=self.confirmation,
            names=(one, other),
            same_request=earlier.same_request,
        )

    def _compared(self, fingerprint: int, evidence: Evidence, entry: Entry) -> Neighbour:
        """Return the comparison of a page with an entry of its key."""
        return self.rules.own(fingerprint, evidence, entry, crawl_start=self.crawl_start)

    def _new_entry(self, page: Observation | PageToObserve, sequence: int) -> Entry:
        now_s, evidence = int(self._clock()), page.evidence
        if evidence.certainty:
            evidence = evidence._replace(certainty=b"")
        return Entry(sequence, page.key, page.fingerprint, sequence, now_s, now_s, -1, evidence)

    def _merged(self, entry: Entry, stored: Entry | None) -> Entry:
        """Return the entry to store for a page, from its entry and the stored one of its key."""
        if stored is None:
            return entry
        if not self._compared(entry.fingerprint, entry.evidence, stored).confirmed:
            return entry._replace(first_seen_s=stored.first_seen_s)
        # The same text keeps its number and, if this crawl has seen it before, its fingerprint.
        is_eligible = self._is_eligible(stored)
        source = stored if is_eligible else entry
        return stored._replace(
            fingerprint=source.fingerprint,
            last_sequence=entry.last_sequence,
            last_seen_s=entry.last_seen_s,
            evidence=source.evidence if source.evidence.sketch else entry.evidence,
            gave_items=entry.gave_items or (is_eligible and stored.gave_items),
        )

    def _log_line(
        self, page: Entry | Observation, sequence: int, representative: str, pair: Neighbour
    ) -> NearDuplicate:
        """Return the result of `log_line` for a page that is seen now."""
        return log_line(page, sequence, int(self._clock()), representative, pair)


def log_line(
    page: Entry | Observation, sequence: int, seen_at_s: int, representative: str, pair: Neighbour
) -> NearDuplicate:
    """Return the line of the near-duplicate log for a page within k of a representative.

    :param pair: the comparison of the two pages.
    """
    similarity = pair.similarity
    return NearDuplicate(
        page.key,
        representative,
        pair.distance,
        page.fingerprint,
        sequence,
        seen_at_s,
        None if similarity is None else round(similarity, 2),
        pair.against,
        label=page.evidence.label.decode("utf-8", "replace"),
    )


def check_page(scheme: Scheme, key: str, fingerprint: int) -> None:
    """Raise SchemeError if the key is empty or no string, or the fingerprint does not fit."""
    if not isinstance(key, str) or not key:
        raise SchemeError(f"the key of a page is {key!r}: it must be a string that is not empty")
    scheme.check_fingerprint(fingerprint)


def matches(neighbours: Iterable[Neighbour]) -> list[Match]:
    """Return one match for each key, confirmed ones first. A key may have two neighbours, because
    its page may be stored and pending.
    """
    by_key: dict[str, Match] = {}
    for neighbour in sorted(neighbours, key=lambda neighbour: not neighbour.confirmed):
        distance, entry, similarity, against = neighbour
        label = entry.evidence.label.decode("utf-8", "replace")
        match = Match(entry.key, entry.fingerprint, distance, similarity, against, label)
        by_key.setdefault(entry.key, match)
    return list(by_key.values())
