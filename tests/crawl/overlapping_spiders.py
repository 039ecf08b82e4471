"""Spiders whose callbacks wait for each other, for the child process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.downloadermiddlewares.retry import get_retry_request

from tests.crawl.retry_spiders import ScriptedSpider, until
from tests.crawl.spiders import FromCrawler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

# What has happened in this process, in any of its crawls.
HAPPENED: set[str] = set()


class FirstOfTwoSpider(ScriptedSpider):
    """Fails in its callback when the other crawl of the process is idle."""

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Any]:
        self.note(response)
        HAPPENED.add("begun")
        await until(lambda: "idle" in HAPPENED, "the other crawl is idle")
        async for output in self.outcome(response, self.next_step(""), {"path": "/first"}):
            yield output


class SecondOfTwoSpider(ScriptedSpider):
    """Starts when the callback of the other crawl of the process has started."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> SecondOfTwoSpider:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.is_idle, signal=signals.spider_idle)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        await until(lambda: "begun" in HAPPENED, "the other crawl has begun")
        async for output in super().start():
            yield output

    def is_idle(self) -> None:
        HAPPENED.add("idle")


class AskingAgain(FromCrawler):
    """A spider middleware that retries pages whose callback raised."""

    def process_spider_exception(self, response: Response, exception: Exception) -> Iterable[Any]:
        return [get_retry_request(response.request, spider=self.crawler.spider, reason="error")]


class RefusingOriginals:
    """A spider middleware behind ours that refuses pages that are not copies."""

    def process_spider_input(self, response: Response) -> None:
        if "copy" not in response.url:
            raise RuntimeError("this middleware refuses it")


class TakingOne:
    """A spider middleware on the engine's side of ours that takes no more than a page's first
    output."""

    async def process_spider_output(self, response: Response, result: Any) -> AsyncIterator[Any]:
        async for output in result:
            yield output
            break
