"""Write a crawl into the history of its index (`scrapy_simhash.index.history`)."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy_simhash.index.history import (
    MAX_CRAWLS,
    CrawlRow,
    decode_crawl,
    encode_crawl,
    row_name,
)
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index import Index
    from scrapy_simhash.verdict import Verdict


class CrawlHistory:
    """The row of a crawl in the history of an index."""

    def __init__(self, index: Index, *, clock: Callable[[], float] = time.time) -> None:
        self._index = index
        self.clock = clock
        self.crawl = CrawlRow(index.crawl_start, int(clock()))
        """What this process does; earlier processes may have done other parts of the crawl."""

    def judged(self, verdict: Verdict) -> None:
        """Record that a page was judged."""
        self.crawl.judged(site_of(verdict.key))

    def close(self, next_sequence: int, *, finished: bool) -> None:
        """Write the row of the crawl.

        :param next_sequence: that of the index, now.
        :param finished: the crawl ended by itself, without a limit or a signal.
        :raises StorageError: the index fails.
        """
        name, crawl = row_name(self.crawl.start), self.crawl
        crawl.end, crawl.ended_s, crawl.finished = next_sequence, int(self.clock()), finished
        rows = dict(sorted(self._index.side_rows("history")))
        # Remove the oldest rows, so that there is room for this one.
        for old in [*rows][: 1 - MAX_CRAWLS]:
            self._index.replace_side_row("history", old, rows[old], None)
        row = rows.get(name)
        while True:
            with suppress(ValueError):  # a damaged row is replaced
                if row is not None:
                    crawl.absorb(decode_crawl(name, row))
            if self._index.replace_side_row("history", name, row, encode_crawl(crawl)):
                return
            row = self._index.side_row("history", name)
