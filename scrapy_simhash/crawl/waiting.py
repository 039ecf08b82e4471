"""Run the callbacks of dropped copies after all if the spider waits for them.

A spider may count its pages, and wait for the last one: in ``start()``, which yields requests in
batches, in a handler of ``spider_idle`` that raises DontCloseSpider, or in a callback that awaits
what other callbacks set. If the missing page was dropped, the spider would wait for ever. So if a
crawl has nothing to do and does not end, the callbacks of dropped copies run, and their items are
dropped. Copies with an errback don't count, because the errback was called.

A crawl may also wait for something else, such as messages of a queue. So if three times nothing
follows, no further callbacks run.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import call_later

from scrapy_simhash.crawl.retries import is_retry

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.retries import DroppedCopy, Retries

logger = logging.getLogger(__name__)

CALLED_AFTER_ALL_META_KEY = "simhash_called_after_all"
"""Marks a request for a dropped copy whose callback is to run."""
_FIRST_DELAY_S = 1.0
# A callback may await something slow, such as a service.
_LOOKS_AT_CALLBACKS = 5
# Once a spider was found to wait for callbacks.
_DELAY_S = 0.02
_FOLLOWS_WITHIN_S = 0.5
_MAX_ATTEMPTS = 3


class WaitingSpiders:
    """Runs the callbacks of the dropped copies of one crawl for which the spider may wait.

    :param retries: has the last dropped copies with their responses.
    """

    def __init__(self, crawler: Crawler, retries: Retries) -> None:
        self._crawler = crawler
        self._retries = retries
        self.is_idle = False
        """No request was made since the crawl was idle."""
        self._is_timed = False
        self.starting = True
        """``start()`` has not ended."""
        self._requests = 0
        self._delay_s = _FIRST_DELAY_S
        self._ran_at_s = -_FOLLOWS_WITHIN_S
        self._attempts = 0  # that nothing followed
        crawler.signals.connect(self._nothing_to_do, signal=signals.scheduler_empty)

    def requested(self, request: Request) -> None:
        """Record that a page is downloaded, so the spider has gone on."""
        self.is_idle = False
        self._requests += 1
        if not is_retry(request) and time.monotonic() - self._ran_at_s < _FOLLOWS_WITHIN_S:
            self._delay_s = _DELAY_S
            self._attempts = 0

    def run(self) -> bool:
        """Run the callbacks of the dropped copies. Return False if there are none.

        Call this when somebody keeps an idle crawl open, too.
        """
        copies = self._awaited() if self._attempts < _MAX_ATTEMPTS else []
        if not copies:
            return False
        self._attempts += 1
        logger.info(
            "simhash: the crawl has nothing to do, but it does not end. The spider may wait for "
            "pages that were dropped: the callbacks of %d copies run, without their items",
            len(copies),
            extra={"spider": self._crawler.spider},
        )
        self._retries.request(copies, anew=False, mark=CALLED_AFTER_ALL_META_KEY)
        return True

    def _awaited(self) -> list[DroppedCopy]:
        scraping = self._crawler.engine and self._crawler.engine.scraper.slot
        # A callback that is slow would be slow for a copy, too.
        at_work = [request.callback for request in scraping.active] if scraping else []
        return [
            copy
            for copy in self._retries.responses
            if copy.request.errback is None and copy.request.callback not in at_work
        ]

    def _nothing_to_do(self, looks: int = 0) -> None:
        if not self._is_timed and self._looks_needed() and self._awaited():
            self._is_timed = True
            call_later(self._delay_s, self._look, self._requests, looks + 1)

    def _look(self, requests: int, looks: int) -> None:
        self._is_timed = False
        is_waiting = self._requests == requests
        if not is_waiting or looks < self._looks_needed():
            self._nothing_to_do(looks if is_waiting else 0)
        elif self._looks_needed() and self.run():
            self._ran_at_s = time.monotonic()

    def _looks_needed(self) -> int:
        """Return after how many looks ``start()`` or a callback surely waits; 0 if none does."""
        engine = self._crawler.engine
        if engine is None or engine.spider is None or engine.downloader.active:
            return 0
        scraping = engine.scraper.slot
        if scraping is None or scraping.queue or scraping.itemproc_size:
            return 0
        return _LOOKS_AT_CALLBACKS if scraping.active else int(self.starting)
