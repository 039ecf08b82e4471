"""The values of an index, which answers "have I seen this content before?".

An index stores only *representatives*: from each cluster of near-duplicates the page seen first.
Pages are compared with representatives alone, so a cluster cannot drift from copy to copy.
*k* is the distance, inclusive, up to which a page may be a near-duplicate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from scrapy_simhash.evidence import NO_EVIDENCE, Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.confirmation import Against
    from scrapy_simhash.index.rules import CrawlRules

ObservationKind = Literal["new", "near-duplicate", "unchanged", "changed"]

Action = Literal["", "dropped", "tagged", "followed", "passed"]
"""What was done with a near-duplicate or similar page; empty if unknown."""

SyncPolicy = Literal["always", "everysec", "no"]
"""When confirmed pages are synced to disk. A killed process loses no confirmed page.

A power loss or a crash of the operating system loses none with ``always``, about one second of
writes with ``everysec``, and all that the system had not written with ``no``. ``everysec`` syncs
the first write that comes a second or more after the last synced one, and all writes on closing.
"""


OPENING = RLock()
"""Held while an index on disk is opened, closed, moved or deleted: its users share a store. A
thread that opens one may close another meanwhile."""


class PageToObserve(NamedTuple):
    """A page for `Index.observe_all`; for the fields see `Index.observe`."""

    key: str
    fingerprint: int
    evidence: Evidence = NO_EVIDENCE
    in_scope: Callable[[str], bool] | None = None


class Query(NamedTuple):
    """A search of the tables for what is near a fingerprint.

    :param certainty: see `Evidence`; empty if unknown.
    :param mark: of a page (`scrapy_simhash.index.marks`). With it, most pages that the page cannot
        be a copy of are left out, see `scrapy_simhash.index.tables.crowds`. None finds all.
    """

    fingerprint: int
    certainty: bytes = b""
    mark: int | None = None


class Earlier(NamedTuple):
    """What the pages have done that a page is a copy of, or the earlier page under its key.

    :param same_request: the callback of one was called with the same arguments. The other two
        fields are of such pages, if there are any.
    :param gave_items: one gave items that the pipelines kept, or is pending and may still do so.
    :param nearer: the page is nearer to the start of the crawl than each of them.
    """

    same_request: bool = True
    gave_items: bool = True
    nearer: bool = False


UNKNOWN = Earlier()


@dataclass(frozen=True)
class Match:
    """A stored or pending page within k bits of the fingerprint of a query.

    :param similarity: estimated resemblance, from 0 to 1; None if unknown.
    :param against: the rule that says that the page is no copy of the queried one, but only
        similar; empty if it is a copy.
    :param label: see `Evidence`.
    """

    key: str
    fingerprint: int
    distance: int
    similarity: float | None = None
    against: Against = ""
    label: str = ""

    @property
    def confirmed(self) -> bool:
        """Return True if the page is a copy of the queried one."""
        return not self.against


@dataclass(frozen=True)
class Observation:
    """The result of `Index.observe`.

    :param kind: ``new``; ``near-duplicate``; ``unchanged`` (the key was seen with the same text,
        see `scrapy_simhash.index.rules`); ``changed`` (the key was seen with another text).
    :param representative: for a near-duplicate, the key of the nearest page that it is a copy of.
    :param distance: distance to the representative or to `similar_to`; without either, to the last
        seen page under the same key, stored or pending; without any, None.
    :param sequence: number of the observation in the index; later ones have higher numbers.
    :param provisional: for a near-duplicate or unchanged page: it is a copy only of pending pages,
        which may be discarded.
    :param similarity: estimated resemblance to the page that `distance` is for; None if unknown.
    :param similar_to: for a new or changed page, the key of the nearest representative within k,
        which it is not a copy of; None without one.
    :param earlier: for a near-duplicate or unchanged page, what the pages have done that it is a
        copy of.
    :param reason: why it is a near-duplicate, or only similar, in words (`explain`); else empty.
    :param line: for a near-duplicate or similar page, its line of the near-duplicate log.
    :param outdated: entries of earlier crawls that the page replaces if it is stored.
    """

    kind: ObservationKind
    key: str
    fingerprint: int
    representative: str | None
    distance: int | None
    sequence: int
    provisional: bool = False
    similarity: float | None = None
    similar_to: str | None = None
    evidence: Evidence = field(default=NO_EVIDENCE, repr=False, compare=False)
    earlier: Earlier = field(default=UNKNOWN, compare=False)
    reason: str = field(default="", repr=False, compare=False)
    line: NearDuplicate | None = field(default=None, repr=False, compare=False)
    outdated: Sequence[Entry] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True)
class NearDuplicate:
    """A line of the near-duplicate log: a page within k bits of a representative.

    :param seen_at_s: Unix time.
    :param similarity: estimated resemblance in steps of 0.01; None if unknown.
    :param against: the rule that says that the page is no copy, but only similar; it is then stored
        as well. Empty for a copy.
    :param label: what the page is called, see `Evidence`.
    """

    key: str
    representative: str
    distance: int
    fingerprint: int
    sequence: int
    seen_at_s: int
    similarity: float | None = None
    against: Against = ""
    action: Action = ""
    label: str = ""

    @property
    def confirmed(self) -> bool:
        """Return True if the page is a copy of the representative."""
        return not self.against


class Entry(NamedTuple):
    """A representative in its stored form.

    :param number: sequence number of the observation that first found its text. The lower, the
        older the entry.
    :param last_sequence: sequence number of the last stored observation of the page.
    :param first_seen_s: Unix time at which a crawl first saw the key; `last_seen_s` likewise.
    :param ordinal: number of its rows in the database and in the tables, from 0. It is -1 for an
        entry that has none yet, or is stored in Redis.
    :param evidence: evidence of the page, without certainty.
    :param gave_items: the page gave an item that the pipelines kept.
    """

    number: int
    key: str
    fingerprint: int
    last_sequence: int
    first_seen_s: int
    last_seen_s: int
    ordinal: int = -1
    evidence: Evidence = NO_EVIDENCE
    gave_items: bool = False


Found: TypeAlias = tuple[Entry, bool]
"""An entry that a search finds, and True if it is that of a pending page. Entries of a page that is
pending again are found both stored and pending.
"""


@dataclass(eq=False, slots=True)
class Pending:
    """A page that is neither confirmed nor discarded.

    :param entry: the entry that queries find, and that `confirm` stores. Its ordinal is that of its
        row in the tables.
    :param stored: the entry that the store now holds under the same key, or None.
    :param outdated: entries of earlier crawls that `confirm` replaces, as found by `observe`.
    :param in_scope: see `Index.observe`.
    :param supersedes: key of the representative that the page replaces, or None.
    :param gave_items: the page gave an item that the pipelines kept; set by `confirm`.
    :param is_settled: the page is stored, or nobody can store it any more.
    :param attempt: its name on a Redis server (`scrapy_simhash.index.redis.layout`).
    """

    observation: Observation
    entry: Entry
    stored: Entry | None
    outdated: Sequence[Entry]
    in_scope: Callable[[str], bool] | None = None
    supersedes: str | None = None
    gave_items: bool = False
    is_settled: bool = False
    attempt: bytes = b""

    def replaced(
        self, entry: Entry, rules: CrawlRules, stored: Callable[[str], Entry | None]
    ) -> list[Entry]:
        """Return the stored entries that are removed when the page is stored as `entry`: those of
        earlier crawls that it is a copy of, or the representative that it supersedes, if it still
        is a copy of that.

        :param stored: returns the stored entry of a key, or None.
        """
        if self.supersedes is not None:
            other = stored(self.supersedes)
            return [] if other is None or not rules.is_copy(entry, other) else [other]
        if rules.incremental:
            return []
        others = [stored(other.key) for other in self.outdated]
        return [other for other in others if other is not None and rules.replaces(entry, other)]
