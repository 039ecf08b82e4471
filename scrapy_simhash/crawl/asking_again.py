"""Recognize requests by which a spider asks again for a dropped page.

Requests that callbacks and errbacks yield are known by their key, or by the page that they come
from. A request that is passed to ``engine.crawl`` may have any URL, so it counts if it is made
while the errback of a dropped page runs. An errback may also leave a request to a task, a timer or
a handler of ``spider_idle``. So for each errback that was called, one further request with the same
callback and errback counts.

A request that a callback passes to ``engine.crawl`` leads on like one that it yields. One that
comes from a pipeline or a signal while an item is on its way belongs to the item.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.arguments import CARRIED_META_KEY
from scrapy_simhash.crawl.identity import ASKED_AGAIN_META_KEY
from scrapy_simhash.crawl.retries import is_retry

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.signalmanager import SignalManager

    from scrapy_simhash.crawl.copies import Copies
    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.settlement import PageState

_REMEMBERED_KEYS = 100_000
_REMEMBERED_ERRBACKS = 1000
running: ContextVar[PageState | None] = ContextVar("simhash_running", default=None)
"""The page whose callback or errback runs, until its output has ended; None as long as it is not
judged. Tasks of Scrapy inherit it.
"""


class AskingAgain:
    """The dropped pages of one crawl, and the requests that ask for them again.

    :param crawl_signals: the signals of the crawl.
    """

    def __init__(self, crawl_signals: SignalManager, identity: Identity, copies: Copies) -> None:
        self._identity = identity
        self._copies = copies
        crawl_signals.connect(self._scheduled, signal=signals.request_scheduled)
        # Keys of pages whose callbacks did not run.
        self._dropped: LocalCache[str, None] = LocalCache(_REMEMBERED_KEYS)
        # (callback, errback) → number of dropped pages that the errback may ask for again.
        self._owed: LocalCache[tuple[Any, Any], int] = LocalCache(_REMEMBERED_ERRBACKS)

    def dropped(self, page: PageState, request: Request, *, by_engine: bool) -> None:
        """Record that a page is dropped.

        :param request: the request of the page, which the errback may copy.
        :param by_engine: the request was passed to ``engine.crawl``. A spider may pass all of its
            requests to it, so further ones say nothing.
        """
        self._dropped[page.key] = None
        request.meta[ASKED_AGAIN_META_KEY] = True  # for copies of the request
        if request.errback is not None and not by_engine:
            pair = request.callback, request.errback
            self._owed[pair] = self._owed.get(pair, 0) + 1

    def was_dropped(self, request: Request) -> bool:
        """Return True if the page of a request was dropped, so that the request asks again."""
        return bool(self._dropped) and self._identity.key(request) in self._dropped

    def claims(self, request: Request) -> bool:
        """Return True if a request that was passed to ``engine.crawl`` asks for a dropped page."""
        pair = request.callback, request.errback
        owed = self._owed.get(pair, 0)
        if owed:
            self._owed[pair] = owed - 1
        return owed > 0 or self.was_dropped(request)

    def _scheduled(self, request: Request) -> None:
        page = running.get()
        # Requests that were yielded carry their arguments. Scrapy may schedule those of ``start()``
        # in a task that inherits the context of a callback.
        if page is None or CARRIED_META_KEY in request.meta or is_retry(request):
            return
        if page.dropped and not page.ended:
            request.meta[ASKED_AGAIN_META_KEY] = True
        elif page.unsettled > 0:
            page.given.items_lead_on = True
        elif not page.ended:  # it leads on, as if the callback had yielded the request
            self._copies.gave_request(page, request)
