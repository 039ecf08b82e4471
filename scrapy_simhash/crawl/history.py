"""Write a crawl into the history of its index (`scrapy_simhash.index.history`)."""

from __future__ import annotations

import time
from threading import Event
from typing import TYPE_CHECKING

from scrapy_simhash.index.history import (
    MAX_CRAWLS,
    CrawlRow,
    closed_by,
    opened_by,
    row_name,
)
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index import ObservingIndex
    from scrapy_simhash.index.base import Ending
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.verdict import Verdict


class CrawlHistory:
    """The row of a crawl in the history of an index.

    :param resumed: the crawl continues after a pause.
    """

    def __init__(
        self,
        index: ObservingIndex | RedisIndex,
        *,
        resumed: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._index = index
        self._resumed = resumed
        self.clock = clock
        self.process = CrawlRow(index.crawl_start, int(clock()))
        """The part of the crawl that this process does; other processes may share the crawl."""
        self._is_open = False
        self._opening_ended = Event()

    def open(self) -> None:
        """Write the beginning of the crawl. Any thread may call this, once.

        :raises StorageError: the index fails.
        """
        try:
            self._open()
            self._is_open = True
        finally:
            self._opening_ended.set()

    def _open(self) -> None:
        rows = dict(sorted(self._index.side_rows("history")))
        # Remove the oldest rows, so that there is room for the row of this crawl.
        for name in [*rows][: 1 - MAX_CRAWLS]:
            self._index.replace_side_row("history", name, rows[name], None)
        row = rows.get(row_name(self.process.start))
        self._change(row, opened_by(self.process, resumed=self._resumed))

    def judged(self, verdict: Verdict) -> None:
        """Count a judged page."""
        self.process.count(site_of(verdict.key), 1, int(verdict.kind == "near-duplicate"))

    def close(self, ending: Ending, *, finished: bool) -> None:
        """Add the counts of this process to the row, and set the end of the crawl. Wait for `open`
        first. No effect if that has failed.

        :param ending: the answer of `index.ending()`, called just before.
        :param finished: the crawl ended by itself, without a limit or a signal.
        :raises StorageError: the index fails.
        """
        self._opening_ended.wait()
        if not self._is_open:
            return
        process = self.process
        process.end, process.ended_s = ending.next_sequence, int(self.clock())
        process.finished = finished
        self._change(ending.row, closed_by(process))

    def _change(self, row: bytes | None, change: Callable[[bytes | None], bytes]) -> None:
        """Change the row of this crawl.

        :param row: the row, as it was just read.
        """
        name = row_name(self.process.start)
        while not self._index.replace_side_row("history", name, row, change(row)):
            row = self._index.side_row("history", name)
