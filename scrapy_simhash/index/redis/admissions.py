"""Admissions: take sequence numbers, search the replica, and ask for admission, so that all
processes share one order.

`scrapy_simhash.index.redis.index` describes the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.replica import End, Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_simhash.index.base import PageToObserve
    from scrapy_simhash.index.redis.layout import Layout
    from scrapy_simhash.index.redis.leases import HeldPage
    from scrapy_simhash.index.redis.server import Server

ADMITTED, SEARCH_AGAIN = 1, 2
# An admitted page may be unmarked for this many admissions. Then other processes mark it.
_MAX_LAG = 200
# How often pages are searched for and begun together again, before each asks for admission alone.
_MAX_SEARCHES = 8


@dataclass(eq=False, slots=True)
class Asked:
    """A page while it is observed, or a query.

    :param digest: of its key; b"" for a query.
    :param mark: see `Store.within`; None for a query, which finds all pages within k.
    :param packed: the entry to store if the page is new, encoded, without its sequence number.
    :param candidates: digests of the pages that the replica finds.
    :param rows: the rows of the replica that gave these, by number.
    :param extra: how many more the next search chooses, see
        `scrapy_simhash.index.tables.crowds.more_to_choose`.
    :param sequence: number of the observation.
    :param since: number of the last admission up to which the replica has all pages.
    :param is_admitted: it was admitted at once.
    :param own: its encoded entry or b"", and the fields and values of its group's pending pages,
        alternating; empty if they were not read.
    """

    page: PageToObserve
    digest: bytes
    mark: int | None = None
    packed: bytes = b""
    candidates: set[bytes] = field(default_factory=set)
    rows: dict[int, bytes] = field(default_factory=dict)
    extra: int = 0
    sequence: int = 0
    since: int = 0
    is_admitted: bool = False
    own: Sequence[bytes] = ()


class Admissions:
    """The part of an index that orders observations among all processes. It has the replica.

    :param require_open: raises IndexClosed after the index was closed.
    """

    def __init__(
        self,
        server: Server,
        layout: Layout,
        *,
        max_distance: int,
        lease_ms: int,
        require_open: Callable[[], None],
    ) -> None:
        self.replica = Replica(layout, server.location)
        self._server = server
        self._layout = layout
        self._max_distance = max_distance
        self._lease_ms = lease_ms
        self._require_open = require_open
        self._following = Lock()

    def begin_together(self, asked: Sequence[Asked]) -> dict[int, Sequence[bytes]]:
        """Search for pages, and begin them. Afterwards each is admitted, or has all its candidates.

        :param asked: no two are within k, or have the same digest. In a cluster, a single page.
        :return: by number, groups of candidates that were read: encoded entries, and the fields and
            values of pending pages, alternating. Others must be read.
        """
        searched = self.search(asked)
        if self._server.cluster:
            [one] = asked
            one.sequence, one.since, end = self.begin(searched)
            self.search(asked, end, after=searched)
            return {}
        end, groups = self._observe(asked, searched)
        for _ in range(_MAX_SEARCHES):
            if groups is not None:
                break
            searched = self.search(asked, end, after=searched)
            end, groups = self._observe(asked, searched)
        others = [one for one in asked if not one.is_admitted]
        # If only the rows of admitted pages are new, no search is needed: they are not near others.
        rows = searched.rows + len(asked) - len(others)
        if others and (end.load, end.rows) != (searched.load, rows):
            self.search(others, end, after=searched)
        return groups or {}

    def search(
        self, asked: Sequence[Asked], followed: End | None = None, after: End | None = None
    ) -> End:
        """Search the replica, add what is found to the candidates, and return the end of the
        replica that was searched.

        :param followed: an end that the replica had: all rows up to it are searched.
        :param after: see `Replica.near`.
        """
        queries = [(one.page.fingerprint, one.page.evidence.certainty) for one in asked]
        marks = [one.mark for one in asked if one.mark is not None] or None
        extra = max(one.extra for one in asked)
        while True:
            end, found = self.replica.near(queries, self._max_distance, after, marks, extra)
            if followed is None or end.load == followed.load:
                for one, digests in zip(asked, found, strict=True):
                    one.candidates.update(digests.values())
                    one.rows |= digests
                return end
            # Another thread has emptied the replica, and may not have read all rows again.
            followed = self.follow()

    def begin(self, end: End | None = None) -> tuple[int, int, End]:
        """Take a sequence number, and bring the replica up to date. Return (the number, the last
        admission up to which the replica has all pages, the end of the replica).

        :param end: an end that the replica had; None for its present one.
        """
        end = end or self.replica.end
        order = self._layout.order
        keys = (order.sequence, order.admitted, order.unmarked, order.journal)
        number, since, last, rows = self._server.run(scripts.BEGIN, keys, (end.rows, end.last))
        self._server.require_in_range([number, since, last])
        if last - since > _MAX_LAG:
            # Younger ones are probably being marked by their own processes.
            self._mark_others(since + _MAX_LAG // 2)
        return number, since, self._extend(end, *rows)

    def admit(
        self,
        page: HeldPage,
        since: int,
        judged: Iterable[int],
        *,
        relies_on: bytes,
        is_compared: bool,
    ) -> list[Any]:
        """Ask for admission. Return the answer of the Lua function `admit` (`scripts`).

        :param since: see `Asked`.
        :param judged: sequence numbers of admitted pages that the page was compared with.
        :param relies_on: value of the stored entry on whose row the page relies, or b"".
        :param is_compared: the server compares the page with later admissions.
        """
        layout, digest, fingerprint = self._layout, page.digest, page.entry.fingerprint
        order = layout.order
        entries, pending, _ = layout.group_keys(layout.group_of(digest))
        member = layout.member(page.observation.sequence, digest, fingerprint)
        row = layout.journal_row(digest, page.entry)
        admission = (
            member,
            since,
            self._max_distance if is_compared else -1,
            b"".join(number.to_bytes(8, "big") for number in judged),
        )
        held = (page.field, self._lease_ms, page.value, relies_on)
        answer: list[Any]
        if not self._server.cluster:
            keys = [order.admitted, order.recent, order.journal, pending, entries]
            answer = self._server.run(scripts.TAKE, keys, (*admission, row, *held))
            return answer
        has_row = self._server.run(scripts.HOLD, (pending, entries), held)
        keys = [order.admitted, order.recent, order.journal, order.unmarked]
        answer = self._server.run(scripts.ADMIT, keys, (*admission, b"" if has_row else row))
        if answer[0] == ADMITTED:
            self._mark(member)
        else:
            self._server.call("HDEL", pending, page.field)
        return answer

    def follow(self) -> End:
        """Bring the replica up to date, and return its end."""
        end = self.replica.end
        return self._extend(end, *self._new_rows(end))

    def _observe(
        self, asked: Sequence[Asked], end: End
    ) -> tuple[End, dict[int, Sequence[bytes]] | None]:
        """Run `OBSERVE`, and bring the replica up to date. Return (its end, the groups of
        candidates by number; None if the replica must be searched again).

        :param end: the end of the replica that was searched.
        """
        layout = self._layout
        order = layout.order
        keys = [order.sequence, order.admitted, order.unmarked, order.journal, order.recent]
        arguments: list[bytes | int] = [end.rows, end.last, self._max_distance, self._lease_ms]
        arguments.append(len(asked))
        numbers: set[int] = set()
        for one in asked:
            keys += layout.group_keys(layout.group_of(one.digest))[:2]
            if one.candidates:
                arguments += (one.digest, b"", b"")
                numbers.update(map(layout.group_of, one.candidates))
            else:
                row = layout.journal_row(one.digest, one.page)
                arguments += (one.digest, row, one.packed)
        looked_at = sorted(numbers)[: scripts.MAX_GROUPS]
        for number in looked_at:
            keys += layout.group_keys(number)[:2]
        first, since, rows, *read = self._server.run(scripts.OBSERVE, keys, arguments)
        self._server.require_in_range([first + len(asked), since])
        followed = self._extend(end, *rows)
        for number, one in enumerate(asked, first):
            one.sequence, one.since = number, since
        if not read:
            return followed, None
        answers, groups = read
        for one, answer in zip(asked, answers, strict=True):
            if isinstance(answer, int):
                one.sequence, one.is_admitted = answer, True
            else:
                one.own = answer
        return followed, dict(zip(looked_at, groups, strict=True))

    def _extend(self, end: End, start: int, rows: list[bytes]) -> End:
        """Extend the replica by some rows, and by the rows after them, if any. Return its end.

        :param start: see `Replica.extend`.
        """
        followed = self.replica.extend(end, start, rows)
        if followed is not None and len(rows) < scripts.ROWS_AT_ONCE:
            return followed
        with self._following:  # so that several threads do not read a long journal at the same time
            while True:
                self._require_open()
                end = self.replica.end
                start, rows = self._new_rows(end)
                followed = self.replica.extend(end, start, rows)
                if followed is not None and len(rows) < scripts.ROWS_AT_ONCE:
                    return followed

    def _new_rows(self, end: End) -> tuple[int, list[bytes]]:
        """Return the parameters `start` and `rows` of `Replica.extend`."""
        start, rows = self._server.run(
            scripts.FOLLOW, (self._layout.order.journal,), (end.rows, end.last)
        )
        return start, rows

    def _mark(self, member: bytes) -> None:
        """Mark the pending page of an admission as admitted."""
        digest = member[8:16]
        self._server.run(scripts.MARK, (self._layout.pending_key(digest),), (member[:16],))
        self._server.call("ZREM", self._layout.order.unmarked, member)

    def _mark_others(self, up_to: int) -> None:
        """Mark all pages that were admitted up to a number."""
        for member in self._server.call(
            "ZRANGEBYSCORE", self._layout.order.unmarked, "-inf", up_to
        ):
            self._mark(member)
