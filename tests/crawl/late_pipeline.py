"""A spider, and a pipeline that fails for an item once others were dropped because of it."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tests.crawl.spiders import FromCrawler, ItemsSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

TIMEOUT_S = 60


class LateItemsSpider(ItemsSpider):
    """Requests the next page only when the items that are to fail late have reached the pipeline.
    So later copies of them are dropped.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reached: asyncio.Queue[Any] = asyncio.Queue()

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        for item in super().parse(response):
            yield item
            if "fails_after" in item:
                await asyncio.wait_for(self.reached.get(), TIMEOUT_S)
        for request in islice(self.waiting, 1):
            yield request


class LatePipeline(FromCrawler):
    """Raises for items with ``fails_after`` once that many items were dropped."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._dropped = 0
        self._waiting: list[tuple[int, Deferred[None]]] = []
        crawler.signals.connect(self._item_dropped, signal=signals.item_dropped)

    async def process_item(self, item: Any) -> Any:
        fails_after = ItemAdapter(item).get("fails_after")
        if fails_after is None:
            return item
        self._crawler.spider.reached.put_nowait(item)
        if self._dropped < fails_after:
            deferred: Deferred[None] = Deferred()
            self._waiting.append((fails_after, deferred))
            await maybe_deferred_to_future(deferred)
        raise RuntimeError("this item fails late")

    def _item_dropped(self) -> None:
        self._dropped += 1
        due = [pair for pair in self._waiting if pair[0] <= self._dropped]
        self._waiting = [pair for pair in self._waiting if pair[0] > self._dropped]
        for _, deferred in due:
            deferred.callback(None)
