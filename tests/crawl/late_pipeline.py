"""A pipeline that fails for an item once another was dropped because of it."""

from __future__ import annotations

from typing import Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tests.crawl.spiders import FromCrawler


class LatePipeline(FromCrawler):
    """Raises for items with ``fails_after`` once that many items were dropped."""

    def __init__(self, crawler: Any) -> None:
        self._dropped = 0
        self._waiting: list[tuple[int, Deferred[None]]] = []
        crawler.signals.connect(self._item_dropped, signal=signals.item_dropped)

    async def process_item(self, item: Any) -> Any:
        fails_after = ItemAdapter(item).get("fails_after")
        if fails_after is None:
            return item
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
