"""Decide what a page is: new, changed, unchanged or a near-duplicate. No store is involved.

1. The index finds entries whose fingerprints are within k bits of the page's.
2. `Rules.neighbours` compares the page with each of them. An entry is *confirmed* if resemblance
   and names say that the page is a copy of it (`scrapy_simhash.confirmation`). `Index.confirm` has
   another sense: it stores a page that was handled without an error.
3. `CrawlRules.judge` chooses the nearest entry that is confirmed and *eligible* as the
   representative. An entry is eligible if this crawl has seen it; in an incremental crawl, all
   entries are. It prefers entries whose callbacks were called with the same arguments, and of these
   such as gave items, or may still give some.

A page is unchanged since this crawl saw it under its key if it would be a copy under another one.
If an earlier crawl saw it, the page is unchanged only if nothing but a typing error is different.
Where a crawl asks whether a page has come again with other content (`Rules.same_text`), names don't
count.

Crawls, `merge`, `rebuild` and `query` all ask `CrawlRules.judge`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_simhash.evidence import same_request
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import (
    UNKNOWN,
    Earlier,
    Entry,
    NearDuplicate,
    Observation,
    Query,
)
from scrapy_simhash.index.marks import mark_of, without_name
from scrapy_simhash.reasons import explain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simhash.confirmation import Against, Confirmation
    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index.base import Found, ObservationKind, PageToObserve


class Text(Protocol):
    """An object with a fingerprint and evidence, such as an entry, an observation or a page."""

    @property
    def fingerprint(self) -> int:
        """See `Entry`."""

    @property
    def evidence(self) -> Evidence:
        """See `Entry`."""


class Neighbour(NamedTuple):
    """An entry compared with a page: within k bits of it, or under its key (`CrawlRules.last`).

    :param similarity: estimated resemblance, from 0 to 1; None if unknown.
    :param against: the rule that says that the page is no copy of the entry (under one key: has
        another text); empty if it is one.
    :param is_pending: the entry is that of a pending page.
    """

    distance: int
    entry: Entry
    similarity: float | None
    against: Against = ""
    is_pending: bool = False

    @property
    def confirmed(self) -> bool:
        """Return True if the page is a copy of the entry; under one key: has the same text."""
        return not self.against


@dataclass(frozen=True)
class Rules:
    """The conditions for a page to be a copy.

    :param max_distance: k, the upper limit for the distance of a copy, inclusive.
    """

    max_distance: int
    confirmation: Confirmation

    def neighbours(self, page: Text, found: Iterable[Found]) -> list[Neighbour]:
        """Compare a page with entries, and return those within k bits, sorted by distance, then by
        age.
        """
        compare, k = self.confirmation.compare, self.max_distance
        neighbours = []
        for entry, is_pending in found:
            distance = hamming_distance(page.fingerprint, entry.fingerprint)
            if distance <= k:
                similarity, against = compare(page.evidence, entry.evidence)
                neighbours.append(Neighbour(distance, entry, similarity, against, is_pending))
        neighbours.sort(key=_by_distance_and_age)
        return neighbours

    def same_text(self, one: Text, other: Text) -> bool:
        """Return True if two pages that one crawl saw under one key have the same text."""
        return self._confirms(replace(self.confirmation, same_name=False), one, other)

    def is_copy(self, one: Text, other: Text) -> bool:
        """Return True if two pages of different keys are copies of each other."""
        return self._confirms(self.confirmation, one, other)

    def _confirms(self, confirmation: Confirmation, one: Text, other: Text) -> bool:
        if hamming_distance(one.fingerprint, other.fingerprint) > self.max_distance:
            return False
        return confirmation.compare(one.evidence, other.evidence).is_copy


@dataclass(frozen=True)
class CrawlRules(Rules):
    """The rules of one crawl: which entries count as seen by it, and what it stores.

    :param incremental: entries of earlier crawls count as seen by this crawl.
    :param crawl_start: first sequence number of the crawl.
    :param clock: returns the Unix time.
    """

    incremental: bool = False
    crawl_start: int = 0
    clock: Callable[[], float] = time.time

    def is_eligible(self, entry: Entry) -> bool:
        """Return True if an entry may be a representative in this crawl."""
        return self.incremental or entry.last_sequence >= self.crawl_start

    def query(self, page: Text) -> Query:
        """Return the search for copies of a page."""
        mark = mark_of(page.evidence)
        if not self.confirmation.same_name:
            mark = without_name(mark)
        return Query(page.fingerprint, page.evidence.certainty, mark)

    def last(self, page: Text, entry: Entry | None) -> Neighbour | None:
        """Compare a page with the last seen entry of its key, stored or pending, if there is one.

        An entry that this crawl has seen has the same text if the page is a copy of it. One of an
        earlier crawl has it only if the page is unchanged (`Confirmation.compare_versions`).
        """
        if entry is None:
            return None
        distance = hamming_distance(entry.fingerprint, page.fingerprint)
        is_earlier = entry.last_sequence < self.crawl_start
        compare = self.confirmation.compare_versions if is_earlier else self.confirmation.compare
        similarity, against = compare(page.evidence, entry.evidence)
        if distance > self.max_distance:
            against = "distance"
        return Neighbour(distance, entry, similarity, against)

    def is_settled(self, own: Neighbour | None) -> bool:
        """Return True if a page is unchanged whatever is near it, by the result of `last`."""
        return own is not None and own.confirmed and self.is_eligible(own.entry)

    def judge(
        self,
        page: PageToObserve,
        stored: Entry | None,
        own: Neighbour | None,
        found: Iterable[Found],
        sequence: int,
    ) -> tuple[Observation, Entry | None]:
        """Return what a page is, its observation, and the entry to make pending, or None.

        A page replaces the entries of earlier crawls that it is a copy of, and whose callbacks were
        called with the same arguments, when it is stored.

        :param stored: the stored entry of the page's key, or None.
        :param own: the result of `last`.
        :param found: the entries within k, and perhaps others; not needed if `is_settled`.
        :param sequence: number of the observation.
        """
        key, fingerprint, evidence, in_scope = page
        is_settled = self.is_settled(own)
        others = [one for one in found if not is_settled and one[0].key != key]
        near = self.neighbours(
            page, [one for one in others if in_scope is None or in_scope(one[0].key)]
        )
        outdated = [one.entry for one in near if self._is_outdated(page, one)]
        eligible = [one for one in near if self.is_eligible(one.entry)]
        copies = [one for one in eligible if one.confirmed]
        kind: ObservationKind = "new" if own is None else "changed"
        nearest, earlier = next(iter(eligible), None), UNKNOWN
        if copies:
            kind = "near-duplicate"
            alike = [one for one in copies if same_request(evidence, one.entry.evidence)]
            copies = alike or copies
            earlier = _earlier(evidence, copies)
            if earlier.gave_items:
                # A pending one may still give items. So a copy does not rely on one without.
                copies = [one for one in copies if _may_give_items(one)]
            nearest = copies[0]
        elif own is not None and own.confirmed:
            kind, nearest = "unchanged", None
            if is_settled:
                earlier = _earlier(evidence, [own])
        compared = nearest or own
        nearest_key = None if nearest is None else nearest.entry.key
        observation = Observation(
            kind,
            key,
            fingerprint,
            nearest_key if copies else None,
            None if compared is None else compared.distance,
            sequence,
            bool(copies) and all(one.is_pending for one in copies),
            None if compared is None else compared.similarity,
            None if copies else nearest_key,
            evidence,
            earlier,
            "" if compared is None else self.reason(evidence, compared, earlier),
            None if nearest is None else self.log_line(page, sequence, nearest.entry.key, nearest),
            outdated,
        )
        if own is not None and kind == "unchanged":
            return self._seen_again(page, observation, stored, own)
        return observation, None if copies else self.new_entry(page, sequence)

    def _seen_again(
        self,
        page: PageToObserve,
        observation: Observation,
        stored: Entry | None,
        own: Neighbour,
    ) -> tuple[Observation, Entry | None]:
        """Return the result of `judge` for an unchanged page."""
        entry = self.new_entry(page, observation.sequence)
        # An unchanged page has the text of the last seen entry.
        if stored is None or (stored is not own.entry and not self._has_same_text(page, stored)):
            # Only a pending page has the same text. It may fail, so this page becomes pending, too.
            return replace(observation, provisional=True), entry
        if stored.last_sequence >= self.crawl_start:
            return observation, None
        seen_again = stored._replace(
            last_sequence=entry.last_sequence, last_seen_s=entry.last_seen_s
        )
        if not self.incremental:
            # Results must not differ from those of an empty index, which would have this text.
            seen_again = seen_again._replace(fingerprint=entry.fingerprint, evidence=entry.evidence)
        elif not stored.evidence.content:  # for example an entry that was imported
            seen_again = seen_again._replace(evidence=entry.evidence)
        return observation, seen_again

    def new_entry(self, page: Observation | PageToObserve, sequence: int) -> Entry:
        """Return the entry of a page that is seen now."""
        now_s, evidence = int(self.clock()), page.evidence
        if evidence.certainty:
            evidence = evidence._replace(certainty=b"")
        return Entry(sequence, page.key, page.fingerprint, sequence, now_s, now_s, -1, evidence)

    def merged(self, entry: Entry, stored: Entry | None) -> Entry:
        """Return the entry to store for a page, from its entry and the stored one of its key."""
        if stored is None:
            return entry
        if not self._has_same_text(entry, stored):
            return entry._replace(first_seen_s=stored.first_seen_s)
        # The same text keeps its number and, if this crawl has seen it before, its fingerprint.
        is_eligible = self.is_eligible(stored)
        source = stored if is_eligible else entry
        return stored._replace(
            fingerprint=source.fingerprint,
            last_sequence=entry.last_sequence,
            last_seen_s=entry.last_seen_s,
            evidence=source.evidence if source.evidence.sketch else entry.evidence,
            gave_items=entry.gave_items or (is_eligible and stored.gave_items),
        )

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

    def log_line(
        self,
        page: Entry | PageToObserve,
        sequence: int,
        representative: str,
        pair: Neighbour,
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
            int(self.clock()),
            None if similarity is None else round(similarity, 2),
            pair.against,
            label=page.evidence.label.decode("utf-8", "replace"),
        )

    def replaces(self, entry: Entry, other: Entry) -> bool:
        """Return True if a stored page replaces an entry of an earlier crawl; see `judge`."""
        return any(
            self._is_outdated(entry, one) for one in self.neighbours(entry, [(other, False)])
        )

    def _is_outdated(self, page: Text, near: Neighbour) -> bool:
        return (
            near.confirmed
            and not self.is_eligible(near.entry)
            and same_request(page.evidence, near.entry.evidence)
        )

    def _has_same_text(self, page: Text, stored: Entry) -> bool:
        last = self.last(page, stored)
        return last is not None and last.confirmed


def _earlier(evidence: Evidence, copies: Sequence[Neighbour]) -> Earlier:
    """Return what these entries have done. Either all have the page's request, or none has."""
    return Earlier(
        same_request(evidence, copies[0].entry.evidence),
        any(map(_may_give_items, copies)),
        all(evidence.depth < one.entry.evidence.depth for one in copies),
    )


def _may_give_items(neighbour: Neighbour) -> bool:
    return neighbour.is_pending or neighbour.entry.gave_items


def _by_distance_and_age(neighbour: Neighbour) -> tuple[int, int]:
    return neighbour.distance, neighbour.entry.number
