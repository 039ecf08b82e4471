"""The Index port: seven methods that answer "have I seen this content before?".

An index holds *representatives*: one page of each near-duplicate family, the first seen. Chains
don't drift, and the index grows with distinct content alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, get_args

from scrapy_simhash.confirmation import NO_EVIDENCE, Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from typing_extensions import Self

ObservationKind = Literal["new", "near-duplicate", "unchanged", "changed"]

Action = Literal["", "dropped", "tagged", "followed", "passed"]
"""What was done with a page that is like another; empty if it is not known."""

ACTIONS: tuple[Action, ...] = get_args(Action)

SideKind = Literal["url-rules", "history", "validators", "sitemaps"]
"""A kind of small rows beside the entries, each with a name: the rules of URLs of a site
(`scrapy_simhash.url_rules.rows`), a crawl (`scrapy_simhash.index.history`), the ETag of a page
(`scrapy_simhash.index.validators`), or how far the sitemap of a site is right
(`scrapy_simhash.crawl.lastmod`).
"""

SyncPolicy = Literal["always", "everysec", "no"]
"""When confirmed pages are synced to disk. A killed process loses nothing with any policy.

After a power loss or a crash of the operating system, ``always`` has lost nothing. ``everysec`` has
lost about a second: it syncs the first write that comes a second or more after the last synced one,
and syncs on closing. ``no`` has lost what the system had not written yet.
"""


@dataclass(frozen=True)
class Match:
    """A stored or pending page within the distance asked for.

    :param similarity: estimated resemblance, from 0 to 1; None if it is not known.
    :param confirmed: it is a copy of the page that was asked for, and not only similar.
    """

    key: str
    fingerprint: int
    distance: int
    similarity: float | None = None
    confirmed: bool = True


@dataclass(frozen=True)
class Observation:
    """The result of `Index.observe`.

    :param kind: ``new``; ``near-duplicate`` of `representative`; ``unchanged`` (the same key
        again with the same text, see `scrapy_simhash.index.rules`); ``changed`` (the same key
        with another text).
    :param representative: key of the nearest representative, for near-duplicates; else None.
    :param distance: to the representative or to `similar_to`; without these, to the key's own
        stored fingerprint; None if there is none.
    :param sequence: place in the order of all observations of the index.
    :param provisional: of a near-duplicate or an unchanged page: no copy of it is stored yet. If
        the pending copies are discarded, this page is the content.
    :param similarity: estimated resemblance to the page that `distance` is measured to.
    :param similar_to: of a new or changed page: key of the nearest representative within k that
        was not confirmed to be a copy.
    :param evidence: of the page, as it was given to `observe`.
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


@dataclass(frozen=True)
class NearDuplicate:
    """A line of the near-duplicate log: a page within k bits of a representative.

    :param seen_at_s: Unix time.
    :param similarity: estimated resemblance in steps of 0.01; None if it is not known.
    :param confirmed: the page is a copy. If not, it is only similar, and was stored, too.
    :param action: what was done with the page.
    """

    key: str
    representative: str
    distance: int
    fingerprint: int
    sequence: int
    seen_at_s: int
    similarity: float | None = None
    confirmed: bool = True
    action: Action = ""


class Index(Protocol):
    """A set of representatives, by key and by Hamming distance.

    Distances are inclusive: near-duplicate means distance ≤ `max_distance`, and confirmed (see
    `scrapy_simhash.confirmation`). A page within the distance that is not confirmed is similar:
    it is content of its own, and is stored. Methods are atomic
    and may be called from any thread. All raise StorageError (or a subclass) where the storage
    fails and IndexClosed after `close`.

    **This crawl and earlier ones.** An index records when a crawl last saw each entry. By default,
    an entry that this crawl has not seen yet cannot make a page a near-duplicate, because its page
    may be gone. So the near-duplicates are the same as with an empty index; entries of earlier
    crawls only distinguish unchanged and changed pages from new ones. A new page replaces the
    entries of earlier crawls that it is a copy of. With `incremental`, all entries count.
    """

    def observe(
        self,
        key: str,
        fingerprint: int,
        evidence: Evidence = NO_EVIDENCE,
        *,
        in_scope: Callable[[str], bool] | None = None,
    ) -> Observation:
        """Query and add in one step.

        ``new`` and ``changed`` pages, and ``unchanged`` ones that this crawl sees for the first
        time, are *pending* until `confirm` or `discard`: queries find them, but they are not
        stored. A near-duplicate is not stored, but logged with its representative. The nearest
        representative wins, and among equals the oldest. A similar page is logged, too.

        :param key: the page's identity, such as its URL; not empty.
        :param fingerprint: of the index's scheme. :raises SchemeError: it is not.
        :param evidence: what confirms that a page is a copy; its certainty says where to look.
        :param in_scope: whether the page of a key may be its representative; all may if absent.
        """

    def supersede(self, observed: Observation) -> None:
        """Make a near-duplicate pending as the successor of its representative. `confirm` stores
        it, removes the representative, and logs that one as its near-duplicate.
        """

    def confirm(self, observed: Observation | str) -> None:
        """Store a page that was handled without an error: all of its rows, or none.

        :param observed: an observation, or a key: all of its observations that are pending through
            this index. Without a pending one, this does nothing.
        """

    def discard(self, observed: Observation | str) -> None:
        """Forget the observation of a page that failed, so that a copy can take its place.

        Its line in the near-duplicate log is removed. The stored entry of the key stays. Without
        a pending observation, this does nothing.
        """

    def acted(self, observed: Observation, action: Action) -> None:
        """Record the action on a page in the near-duplicate log. No effect if it is not logged."""

    def query(self, fingerprint: int, evidence: Evidence = NO_EVIDENCE) -> list[Match]:
        """Return all stored and pending pages within `max_distance`: the confirmed ones first,
        then the nearest, then the oldest.

        Up to the plan's guaranteed distance none is missed; beyond it, see
        `TablePlan.expected_recall`.
        """

    def close(self) -> None:
        """Close the index and discard pending observations. A second call has no effect."""

    def __len__(self) -> int:
        """Return the number of stored entries; pending ones don't count."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class Entry(NamedTuple):
    """A representative as it is stored.

    :param number: the sequence of the observation that made it: its age.
    :param met: the sequence at which a crawl last saw it.
    :param first_seen_s: Unix time, as is `last_seen_s`.
    :param ordinal: where its store keeps it, from 0; -1 before it is stored.
    :param evidence: of the page, without certainty.
    """

    number: int
    key: str
    fingerprint: int
    met: int
    first_seen_s: int
    last_seen_s: int
    ordinal: int = -1
    evidence: Evidence = NO_EVIDENCE


class Entries(Protocol):
    """The entries of a store, and the sequence number that comes next.

    Every write carries that number, so that a reopened store never gives a number twice.
    """

    @property
    def next_sequence(self) -> int:
        """The lowest sequence number that was never used."""

    def entry(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""

    def within(
        self, fingerprint: int, max_distance: int, certainty: bytes = b""
    ) -> list[tuple[int, Entry]]:
        """Return (distance, entry) of the entries that the tables find within the distance.

        :param certainty: of the fingerprint's bits, see `Evidence`.
        """

    def prefetch(self, asking: Sequence[tuple[int, bytes]], max_distance: int) -> None:
        """Look up fingerprints with their certainties together, which takes less time than one by
        one. It changes no result: until an entry is written, `within` returns what was found.
        """

    def write(
        self, put: Entry, replaced: Entry | None, outdated: Iterable[Entry], next_sequence: int
    ) -> Entry:
        """Store an entry and remove others: all or none. Return the entry as it is stored.

        :param replaced: the stored entry with the same key, or None.
        :param outdated: stored entries that it replaces, too.
        """

    def __len__(self) -> int: ...


class Log(Protocol):
    """The near-duplicate log of a store."""

    def log(self, near_duplicate: NearDuplicate, next_sequence: int) -> None:
        """Append to the near-duplicate log, or replace its line of that sequence."""

    def unlog(self, sequence: int) -> None:
        """Remove the line of that sequence from the near-duplicate log, if there is one."""

    def near_duplicates(self, since_sequence: int) -> Iterator[NearDuplicate]:
        """Return the log from a sequence on, in its order."""


class SideRows(Protocol):
    """The small rows that a store keeps beside the entries; see `SideKind`."""

    def side_rows(self, kind: SideKind) -> Iterator[tuple[str, bytes]]:
        """Return (name, row) of all rows of a kind."""

    def side_row(self, kind: SideKind, name: str) -> bytes | None:
        """Return a row, or None."""

    def write_side_row(self, kind: SideKind, name: str, row: bytes | None) -> None:
        """Replace or create the row of that name; None deletes it."""


class Store(Entries, Log, SideRows, Protocol):
    """What an index on disk or in memory keeps. `ObservingIndex` makes the decisions.

    Callers serialize all calls but `sync`.
    """

    def sync(self) -> None:
        """Sync earlier writes to disk, without blocking other calls."""

    def close(self) -> None:
        """Release the storage."""
