"""Decide what a page is: new, changed, unchanged or a near-duplicate. No store is involved.

1. The index finds entries whose fingerprints are within k bits of the page's.
2. `Rules.neighbours` compares the page with each of them. An entry is *confirmed* if resemblance
   and names say that the page is a copy of it (`scrapy_simhash.confirmation`).
3. `classify` chooses the nearest confirmed entry as the representative.

A page under its own key has the same text if it is within k bits and resembles what is stored.
Names are ignored in this case, because a renamed page is still the same page.

`ObservingIndex`, `RedisIndex`, merge, reindex and explain all call `classify`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_simhash.fingerprint import hamming_distance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simhash.confirmation import Confirmation, Evidence
    from scrapy_simhash.index.base import Entry, ObservationKind


class Text(Protocol):
    """A text by its fingerprint and evidence: an entry, an observation, a dropped copy."""

    @property
    def fingerprint(self) -> int:
        """See `Entry`."""

    @property
    def evidence(self) -> Evidence:
        """See `Entry`."""


class Neighbour(NamedTuple):
    """An entry within k bits of a page.

    :param similarity: estimated resemblance, None if it is not known.
    :param confirmed: the page is a copy of it.
    """

    distance: int
    entry: Entry
    similarity: float | None
    confirmed: bool


class Own(NamedTuple):
    """The last known entry of a page's key, compared with the page.

    :param same: the page has the same text.
    """

    distance: int
    entry: Entry
    similarity: float | None
    same: bool


class Classification(NamedTuple):
    """What `classify` says of a page.

    :param nearest: the representative of a near-duplicate; the similar entry of a new or changed
        page; else None.
    :param provisional: all eligible entries that the page is a copy of are pending.
    :param outdated: entries that the page replaces when it is stored: the page is a copy of them,
        and they are not eligible.
    """

    kind: ObservationKind
    nearest: Neighbour | None = None
    provisional: bool = False
    outdated: Sequence[Entry] = ()


_NEW = Classification("new")


@dataclass(frozen=True)
class Rules:
    """The conditions for a page to be a copy.

    :param max_distance: k, inclusive.
    """

    max_distance: int
    confirmation: Confirmation

    @cached_property
    def _of_one_key(self) -> Confirmation:
        return replace(self.confirmation, same_name=False)

    def neighbours(self, evidence: Evidence, found: Sequence[tuple[int, Entry]]) -> list[Neighbour]:
        """Return the entries that were found within k bits, compared with a page, nearest first,
        then oldest.
        """
        if not found:
            return []
        compared = self.confirmation.similarities(evidence, [entry.evidence for _, entry in found])
        neighbours = [
            Neighbour(distance, entry, similarity, confirmed)
            for (distance, entry), (similarity, confirmed) in zip(found, compared, strict=True)
        ]
        neighbours.sort(key=_by_distance_and_age)
        return neighbours

    def own(self, fingerprint: int, evidence: Evidence, entry: Entry) -> Own:
        """Compare a page with what is known under its key."""
        distance = hamming_distance(entry.fingerprint, fingerprint)
        [(similarity, resembles)] = self._of_one_key.similarities(evidence, [entry.evidence])
        return Own(distance, entry, similarity, distance <= self.max_distance and resembles)

    def same_text(self, one: Text, other: Text) -> bool:
        """Return True if two pages of one key have the same text."""
        return self._confirms(self._of_one_key, one, other)

    def is_copy(self, one: Text, other: Text) -> bool:
        """Return True if two pages of different keys are copies of each other."""
        return self._confirms(self.confirmation, one, other)

    def _confirms(self, confirmation: Confirmation, one: Text, other: Text) -> bool:
        if hamming_distance(one.fingerprint, other.fingerprint) > self.max_distance:
            return False
        [(_, confirmed)] = confirmation.similarities(one.evidence, [other.evidence])
        return confirmed

    def copy_of(self, entry: Entry, other: Entry) -> Neighbour | None:
        """Return another entry as the representative of one that is a copy of it, or None."""
        distance = hamming_distance(entry.fingerprint, other.fingerprint)
        if distance > self.max_distance:
            return None
        [neighbour] = self.neighbours(entry.evidence, [(distance, other)])
        return neighbour if neighbour.confirmed else None


def classify(
    own: Own | None,
    neighbours: Callable[[], tuple[Sequence[Neighbour], Sequence[Neighbour]]],
    is_eligible: Callable[[Entry], bool],
) -> Classification:
    """Return what an observed page is.

    :param own: the last known entry of its key, or None.
    :param neighbours: returns the entries of other keys within k bits, nearest first: those that
        are stored, and those that are pending. Called only if `own` does not decide.
    :param is_eligible: returns True for an entry that may be a representative: one that this crawl
        has seen, or any entry in an incremental crawl.
    """
    if own is not None and own.same and is_eligible(own.entry):
        return Classification("unchanged")
    stored, pending = neighbours()
    if not stored and not pending:
        if own is None:
            return _NEW
        return Classification("unchanged" if own.same else "changed")
    stored_copies = [one for one in stored if one.confirmed and is_eligible(one.entry)]
    pending_copies = [one for one in pending if one.confirmed and is_eligible(one.entry)]
    if stored_copies or pending_copies:
        nearest = min((*stored_copies, *pending_copies), key=_by_distance_and_age)
        return Classification("near-duplicate", nearest, provisional=not stored_copies)
    outdated = outdated_entries((*stored, *pending), is_eligible)
    if own is not None and own.same:
        return Classification("unchanged", outdated=outdated)
    similar = min(
        (one for one in (*stored, *pending) if is_eligible(one.entry)),
        key=_by_distance_and_age,
        default=None,
    )
    return Classification("new" if own is None else "changed", similar, outdated=outdated)


def outdated_entries(
    neighbours: Iterable[Neighbour], is_eligible: Callable[[Entry], bool]
) -> list[Entry]:
    """Return the entries that a page replaces: copies of it that are not eligible."""
    return [one.entry for one in neighbours if one.confirmed and not is_eligible(one.entry)]


def _by_distance_and_age(neighbour: Neighbour) -> tuple[int, int]:
    return neighbour.distance, neighbour.entry.number
