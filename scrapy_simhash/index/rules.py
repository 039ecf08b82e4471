"""Classify observations in one place, without a store.

Two pages within k bits whose resemblance and names confirm it (`scrapy_simhash.confirmation`) are
copies. A page under its own key has the same text if it is within k bits and resembles what is
stored. Names are ignored here, because a renamed page is still the same page.

`ObservingIndex`, `RedisIndex`, merge, reindex and explain all call `decide`.
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


class Decision(NamedTuple):
    """The kind of an observation, with its reasons.

    :param nearest: the representative of a near-duplicate; the similar entry of a new or changed
        page; else None.
    :param provisional: all entries that count and that the page is a copy of are pending.
    :param outdated: entries that the page replaces when it is stored: they don't count, and the
        page is a copy of them.
    """

    kind: ObservationKind
    nearest: Neighbour | None = None
    provisional: bool = False
    outdated: Sequence[Entry] = ()


_NEW = Decision("new")


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


def decide(
    own: Own | None,
    neighbours: Callable[[], tuple[Sequence[Neighbour], Sequence[Neighbour]]],
    counts: Callable[[Entry], bool],
) -> Decision:
    """Return the decision on an observed page.

    :param own: the last known entry of its key, or None.
    :param neighbours: returns the entries of other keys within k bits, nearest first: those that
        are stored, and those that are pending. Called only if `own` does not decide.
    :param counts: returns True for entries seen by this crawl, and in incremental crawls for all.
    """
    if own is not None and own.same and counts(own.entry):
        return Decision("unchanged")
    stored, pending = neighbours()
    if not stored and not pending:
        if own is None:
            return _NEW
        return Decision("unchanged" if own.same else "changed")
    copies = [one for one in stored if one.confirmed and counts(one.entry)]
    others = [one for one in pending if one.confirmed and counts(one.entry)]
    if copies or others:
        nearest = min((*copies, *others), key=_by_distance_and_age)
        return Decision("near-duplicate", nearest, provisional=not copies)
    outdated = outdated_entries((*stored, *pending), counts)
    if own is not None and own.same:
        return Decision("unchanged", outdated=outdated)
    similar = min(
        (one for one in (*stored, *pending) if counts(one.entry)),
        key=_by_distance_and_age,
        default=None,
    )
    return Decision("new" if own is None else "changed", similar, outdated=outdated)


def outdated_entries(
    neighbours: Iterable[Neighbour], counts: Callable[[Entry], bool]
) -> list[Entry]:
    """Return the entries that a page replaces: copies that don't count."""
    return [one.entry for one in neighbours if one.confirmed and not counts(one.entry)]


def _by_distance_and_age(neighbour: Neighbour) -> tuple[int, int]:
    return neighbour.distance, neighbour.entry.number
