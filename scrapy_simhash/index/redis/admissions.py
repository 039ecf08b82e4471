"""Admissions: one script reads, compares and admits, so that all processes share one order.

`scrapy_simhash.index.redis.index` describes the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_simhash.index.records import SEQUENCE_BYTES, encode_entry
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.layout import NOTHING, State, new_attempt
from scrapy_simhash.index.redis.replica import End, Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simhash.index.base import NearDuplicate, Observation, PageToObserve
    from scrapy_simhash.index.redis.layout import Layout
    from scrapy_simhash.index.redis.leases import HeldPage
    from scrapy_simhash.index.redis.server import Server


@dataclass(eq=False, slots=True)
class Asked:
    """A page while it is observed, or a query.

    :param digest: of its key; b"" for a query.
    :param mark: see `Store.within`; None for a query, which finds all pages within k.
    :param attempt: see `scrapy_simhash.index.redis.layout`.
    :param candidates: digests of the pages that the replica finds, by the number of their row.
    :param extra: how many more the next search chooses, see
        `scrapy_simhash.index.tables.crowds.more_to_choose`.
    :param searched: the end of the replica and `extra` at the last search.
    :param sequence: number of the observation; 0 if it has none yet.
    :param own: the server's state of its digest.
    :param held: what it becomes if it is admitted; None if it does not ask for admission.
    :param judged: attempts of the pages that ask together with it, and that it was compared with.
    :param outdated: digests of stored pages that it relies on not to be seen by this crawl.
    :param has_row: the journal has an equal row of its stored entry.
    :param is_admitted: it is pending.
    :param observation: the result.
    :param line: the line to write to the near-duplicate log.
    """

    page: PageToObserve
    digest: bytes
    mark: int | None = None
    attempt: bytes = field(default_factory=new_attempt)
    candidates: dict[int, bytes] = field(default_factory=dict)
    extra: int = 0
    searched: tuple[End, int] | None = None
    sequence: int = 0
    own: State = NOTHING
    held: HeldPage | None = None
    judged: bytes = b""
    outdated: Sequence[bytes] = ()
    has_row: bool = False
    is_admitted: bool = False
    observation: Observation | None = None
    line: NearDuplicate | None = None

    @property
    def others(self) -> set[bytes]:
        """The digests of other pages among the candidates."""
        return {*self.candidates.values()} - {self.digest}


class Admissions:
    """The part of an index that orders observations among all processes. It has the replica.

    Callers hold a lock.

    :param require_open: raises IndexClosed after the index was closed.
    """

    def __init__(
        self,
        server: Server,
        layout: Layout,
        *,
        max_distance: int,
        lease_ms: int,
        crawl_start: int,
        require_open: Callable[[], None],
    ) -> None:
        self.replica = Replica(layout, server.location)
        self._server = server
        self._layout = layout
        self._keys = (layout.journal, layout.entries, layout.pending, layout.sequence)
        self._max_distance = max_distance
        self._lease_ms = lease_ms
        self._crawl_start = crawl_start
        self._require_open = require_open
        self.known: dict[bytes, State] = {}
        """The server's states of digests, of the moment up to which the replica has all rows."""

    def search(self, asked: Iterable[Asked]) -> None:
        """Search the replica, and set the candidates."""
        end = self.replica.end
        together: dict[tuple[int, int, bool], list[Asked]] = {}
        for one in asked:
            if one.searched == (end, one.extra):
                continue  # it would find the same
            one.searched = end, one.extra
            kind = (len(one.page.evidence.certainty), one.extra, one.mark is None)
            together.setdefault(kind, []).append(one)
        for (_, extra, is_query), pages in together.items():
            queries = [(one.page.fingerprint, one.page.evidence.certainty) for one in pages]
            marks = None if is_query else [one.mark or 0 for one in pages]
            found = self.replica.near(queries, self._max_distance, marks, extra)
            for one, rows in zip(pages, found, strict=True):
                one.candidates = rows

    def unknown(self, one: Asked) -> set[bytes]:
        """Return the digests of candidates whose state is not known."""
        return one.others - self.known.keys()

    def ask(
        self, asked: Sequence[Asked], digests: Iterable[bytes] = (), *, is_compared: bool = True
    ) -> None:
        """Ask for admission of pages, and read the states of those that don't ask for it, and of
        their candidates. Bring the replica up to date.

        Afterwards each page has a number, and is admitted or has its present state.

        :param digests: read the states of these, too.
        :param is_compared: the server compares the pages with rows that the replica lacks.
        """
        fresh = [one for one in asked if not one.sequence]
        asked = fresh + [one for one in asked if one.sequence]
        wanted = {*digests}.union(*(one.others for one in asked if one.held is None))
        end = self.replica.end
        k = self._max_distance if is_compared else -1
        arguments: list[Any] = [end.rows, end.last, k, self._lease_ms, self._crawl_start]
        arguments += (len(asked), len(fresh))
        for one in asked:
            row = packed = expected = b""
            if one.held is not None:
                row = self._layout.row(one.digest, one.attempt, one.held.entry)
                packed = encode_entry(one.held.entry, self._layout.width_bytes)
                packed = packed if one.sequence else packed[SEQUENCE_BYTES:]
                others = b"".join(self.known[digest].check(digest) for digest in one.outdated)
                expected = one.own.check(one.digest) + others
            arguments += (one.digest, row, packed, one.judged, expected, int(one.has_row))
        (start, rows), first, answers, read = self._server.run(
            scripts.OBSERVE, self._keys, (*arguments, *wanted)
        )
        self._server.to_number(first + len(fresh))
        is_current = self._extend(start, rows)
        for number, one in enumerate(fresh, first):
            one.sequence = number
        for one, answer in zip(asked, answers, strict=True):
            one.judged = b""
            if isinstance(answer, int):
                one.is_admitted = True
                one.sequence = answer or one.sequence
            else:
                one.own = State.of(*answer)
        states = zip(wanted, read, strict=True)
        # If more rows had to be read, these are of a later moment.
        self.known = {digest: State.of(*state) for digest, state in states} if is_current else {}

    def _extend(self, start: int, rows: list[bytes]) -> bool:
        """Extend the replica by some rows, and by the rows after them, if any. Return False if
        there were some.

        :param start: see `Replica.extend`.
        """
        is_current = True
        while True:
            self.replica.extend(start, rows)
            if len(rows) < scripts.ROWS_AT_ONCE:
                return is_current
            is_current = False
            self._require_open()
            end = self.replica.end
            arguments = (end.rows, end.last, -1, 0, 0, 0, 0)
            (start, rows), *_ = self._server.run(scripts.OBSERVE, self._keys, arguments)
