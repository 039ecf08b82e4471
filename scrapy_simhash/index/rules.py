"""Decide what a page is: new, changed, unchanged or a near-duplicate. No store is involved.

1. The index finds entries whose fingerprints are within k bits of the page's.
2. `Rules.neighbours` compares the page with each of them. An entry is *confirmed* if resemblance
   and names say that the page is a copy of it (`scrapy_simhash.confirmation`). `Index.confirm` has
   another sense: it stores a page that was handled without an error.
3. `classify` chooses the nearest entry that is confirmed and *eligible* as the representative.
   An entry is eligible if this crawl has seen it; in an incremental crawl, all entries are.

A page has the same text as an earlier page under its key if they are within k bits and resemble
each other. Their names are ignored, because a renamed page is still the same page.

`ObservingIndex`, `RedisIndex`, merge, reindex and explain all call `classify`.
`scrapy_simhash.spark` applies the same rules to DataFrames without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_simhash.fingerprint import hamming_distance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index.base import Entry, ObservationKind


class Text(Protocol):
    """An object with a fingerprint and evidence, such as an entry, an observation or a page."""

    @property
    def fingerprint(self) -> int:
        """See `Entry`."""

    @property
    def evidence(self) -> Evidence:
        """See `Entry`."""


class Neighbour(NamedTuple):
    """An entry compared with a page: within k bits of it, or under its key (`Rules.own`).

    :param similarity: estimated resemblance, from 0 to 1; None if unknown.
    :param confirmed: the page is a copy of the entry; under one key: it has the same text.
    """

    distance: int
    entry: Entry
    similarity: float | None
    confirmed: bool


class Classification(NamedTuple):
    """The result of `classify`.

    :param nearest: for a near-duplicate, the representative; for a new or changed page, the nearest
        eligible entry, which is only similar; None without one, and for an unchanged page.
    :param provisional: for a near-duplicate: all eligible entries that it is a copy of are pending.
    :param outdated: entries that the page replaces when it is stored, see `outdated_entries`.
    """

    kind: ObservationKind
    nearest: Neighbour | None = None
    provisional: bool = False
    outdated: Sequence[Entry] = ()


_NEW = Classification("new")


@dataclass(frozen=True)
class Rules:
    """The conditions for a page to be a copy.

    :param max_distance: k, the upper limit for the distance of a copy, inclusive.
    """

    max_distance: int
    confirmation: Confirmation

    @cached_property
    def _without_names(self) -> Confirmation:
        """The confirmation for two pages under one key."""
        return replace(self.confirmation, same_name=False)

    def neighbours(self, evidence: Evidence, near: Sequence[tuple[int, Entry]]) -> list[Neighbour]:
        """Compare a page with entries, and return these sorted by distance, then by age.

        :param near: (distance, entry) of entries within k bits.
        """
        compare = self.confirmation.compare
        neighbours = [
            Neighbour(distance, entry, *compare(evidence, entry.evidence))
            for distance, entry in near
        ]
        neighbours.sort(key=_by_distance_and_age)
        return neighbours

    def own(self, fingerprint: int, evidence: Evidence, entry: Entry) -> Neighbour:
        """Compare a page with the last seen entry of its key, stored or pending."""
        distance = hamming_distance(entry.fingerprint, fingerprint)
        similarity, resembles = self._without_names.compare(evidence, entry.evidence)
        return Neighbour(distance, entry, similarity, distance <= self.max_distance and resembles)

    def same_text(self, one: Text, other: Text) -> bool:
        """Return True if two pages under one key have the same text."""
        return self._confirms(self._without_names, one, other)

    def is_copy(self, one: Text, other: Text) -> bool:
        """Return True if two pages of different keys are copies of each other."""
        return self._confirms(self.confirmation, one, other)

    def _confirms(self, confirmation: Confirmation, one: Text, other: Text) -> bool:
        if hamming_distance(one.fingerprint, other.fingerprint) > self.max_distance:
            return False
        return confirmation.compare(one.evidence, other.evidence)[1]

    def copy_of(self, entry: Entry, other: Entry) -> Neighbour | None:
        """Return `other` as a neighbour of `entry`; None if it is not a confirmed copy."""
        distance = hamming_distance(entry.fingerprint, other.fingerprint)
        if distance > self.max_distance:
            return None
        [neighbour] = self.neighbours(entry.evidence, [(distance, other)])
        return neighbour if neighbour.confirmed else None


def classify(
    own: Neighbour | None,
    neighbours: Callable[[], tuple[Sequence[Neighbour], Sequence[Neighbour]]],
    is_eligible: Callable[[Entry], bool],
) -> Classification:
    """Return what an observed page is.

    :param own: the result of `Rules.own`; None for a key that was not seen before.
    :param neighbours: returns two lists, the stored and the pending entries under other keys within
        k bits. Not called if `own` is eligible and has the same text.
    :param is_eligible: returns True for an entry that may be a representative.
    """
    if own is not None and own.confirmed and is_eligible(own.entry):
        return Classification("unchanged")
    stored, pending = neighbours()
    if not stored and not pending:
        if own is None:
            return _NEW
        return Classification("unchanged" if own.confirmed else "changed")
    stored_copies = [near for near in stored if near.confirmed and is_eligible(near.entry)]
    pending_copies = [near for near in pending if near.confirmed and is_eligible(near.entry)]
    if stored_copies or pending_copies:
        nearest = min((*stored_copies, *pending_copies), key=_by_distance_and_age)
        return Classification("near-duplicate", nearest, provisional=not stored_copies)
    outdated = outdated_entries((*stored, *pending), is_eligible)
    if own is not None and own.confirmed:
        return Classification("unchanged", outdated=outdated)
    similar = min(
        (near for near in (*stored, *pending) if is_eligible(near.entry)),
        key=_by_distance_and_age,
        default=None,
    )
    return Classification("new" if own is None else "changed", similar, outdated=outdated)


def outdated_entries(
    neighbours: Iterable[Neighbour], is_eligible: Callable[[Entry], bool]
) -> list[Entry]:
    """Return the entries of earlier crawls that a page replaces: confirmed, but not eligible."""
    return [near.entry for near in neighbours if near.confirmed and not is_eligible(near.entry)]


def _by_distance_and_age(neighbour: Neighbour) -> tuple[int, int]:
    return neighbour.distance, neighbour.entry.number
