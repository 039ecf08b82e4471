"""Write a crawl into the history of its index (`scrapy_simhash.index.history`)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy_simhash.index.history import (
    MAX_CRAWLS,
    CrawlRow,
    closed_by,
    last_finished,
    opened_by,
    row_name,
)
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index import ObservingIndex
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.verdict import Verdict


class CrawlHistory:
    """The row of a crawl in the history of an index.

    :param resumed: the crawl continues after a pause.
    :raises StorageError: the index fails.
    """

    def __init__(
        self,
        index: ObservingIndex | RedisIndex,
        *,
        resumed: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._index = index
        self.clock = clock
        self.process = CrawlRow(index.crawl_start, int(clock()))
        """The part of the crawl that this process does; other processes may share the crawl."""
        rows = sorted(index.side_rows("history"))
        self.previous = last_finished(rows, before=index.crawl_start)
        """The last crawl before this one that ended by itself; None if there is none."""
        # Remove the oldest rows, so that there is room for the row of this crawl.
        for name, _ in rows[: 1 - MAX_CRAWLS]:
            index.change_side_row("history", name, lambda _: None)
        self._change(opened_by(self.process, resumed=resumed))

    def judged(self, verdict: Verdict) -> None:
        """Count a judged page."""
        self.process.count(site_of(verdict.key), 1, int(verdict.kind == "near-duplicate"))

    def close(self, *, finished: bool) -> None:
        """Add the counts of this process to the row, and set the end of the crawl.

        :param finished: the crawl ended by itself, without a limit or a signal.
        :raises StorageError: the index fails.
        """
        process = self.process
        process.end, process.ended_s = self._index.next_sequence, int(self.clock())
        process.finished = finished
        self._change(closed_by(process))

    def _change(self, change: Callable[[bytes | None], bytes]) -> None:
        self._index.change_side_row("history", row_name(self.process.start), change)
