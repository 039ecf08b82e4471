"""Spiders of crawls that are paused, for the child process."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals

from tests.crawl.retry_spiders import ScriptedSpider, until
from tests.crawl.spiders import FromCrawler, PagesSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response


def pause() -> None:
    """Pause the crawl, as Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


class JobSpider(PagesSpider):
    """Follows links, and records the verdict on each page.

    :param pause_after: number of responses.
    """

    def __init__(self, *args: Any, pause_after: int = 0, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.responses_left = pause_after

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> JobSpider:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.received, signal=signals.response_received)
        return spider

    def received(self) -> None:
        self.responses_left -= 1
        if not self.responses_left:
            pause()

    def parse(self, response: Response) -> Iterator[Any]:
        self.note(response)
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in response.css("a.next::attr(href)").getall():
            yield Request(response.urljoin(link), errback=self.errback)


class PausedSpider(ScriptedSpider):
    """Is paused while the callback of its original runs; the callback then follows the script.

    :param pauses: false when it goes on after the pause.
    """

    def __init__(self, *args: Any, pauses: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pauses = pauses

    async def outcome(
        self, response: Response, step: str, item: dict[str, Any]
    ) -> AsyncIterator[Any]:
        if self.pauses:
            pause()
            engine = self.crawler.engine
            await until(lambda: engine._slot.closing is not None, "the crawl is paused")
        async for output in super().outcome(response, step, item):
            yield output


class PausingPipeline(FromCrawler):
    """Pauses the crawl while it has an item that fails, and whose copy was dropped."""

    async def process_item(self, item: Any) -> Any:
        if item.get("fails"):
            stats, engine = self.crawler.stats, self.crawler.engine
            await until(lambda: stats.get_value("simhash/item/dropped"), "the copy is dropped")
            pause()
            await until(lambda: engine._slot.closing is not None, "the crawl is paused")
            raise RuntimeError("this pipeline fails")
        return item
