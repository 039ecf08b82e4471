"""Spiders whose pages fail, by a script, once their copies were dropped; for the child process."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from functools import partialmethod
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import IgnoreRequest

from scrapy_simhash.crawl.retries import META_KEY, Retries
from tests.crawl.spiders import FromCrawler, PagesSpider, path_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy import Request
    from scrapy.http import Response

DEADLINE_S = 60
HELD_AT_MOST = 2


async def until(happened: Callable[[], bool], what: str) -> None:
    """Wait until something has happened."""
    latest = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < latest, f"{what}: it did not happen"
        await asyncio.sleep(0.005)


class ScriptedSpider(PagesSpider):
    """Requests an original, and copies of it while its callback runs.

    :param requests: the original.
    :param copies: asked for when the first callback runs; arguments as of requests.
        It goes on when all of them were judged.
    :param script: what callbacks do, one after the other, whatever their page: ``keep`` (as do all
        further ones), ``raise``, ``spoil`` (a pipeline raises), ``break`` (a middleware raises),
        ``kill`` (the process), ``retry``, ``link to itself``, or a URL, which is asked for past the filter of duplicates.
        A word followed by ``, keep`` yields an item, too.
    :param ban: title of the pages whose callback sees that they are none, and asks again.
    """

    def __init__(
        self,
        *args: Any,
        copies: list[Any] = (),
        script: list[str] = (),
        ban: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.copies = list(self.described_requests(copies))
        self.script = list(script)
        self.ban = ban

    def next_step(self, title: str) -> str:
        if title == self.ban:
            return "retry"
        return self.script.pop(0) if self.script else "keep"

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Any]:
        title = response.css("title::text").get("")
        self.note(response, second_chance=META_KEY in response.meta)
        step = self.next_step(title)
        copies, self.copies = self.copies, []
        for copy in copies:
            self.crawler.engine.crawl(copy)
        if copies:
            await self.judged(1 + len(copies))
        item = {"url": response.url, "path": path_of(response), "title": title}
        async for output in self.outcome(response, step, item):
            yield output
        meta = response.meta if self.copies_meta else None
        for link in response.css("a.next::attr(href)").getall():
            yield response.follow(link, meta=meta)

    async def outcome(
        self, response: Response, step: str, item: dict[str, Any]
    ) -> AsyncIterator[Any]:
        what, _, also = step.partition(", ")
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "raise":
            raise RuntimeError("this callback fails")
        if what == "retry":
            yield get_retry_request(response.request, spider=self, reason="ban")
        elif what == "link to itself":
            yield response.follow(response.url)
        elif what.startswith("http"):
            yield response.follow(what, dont_filter=True)
        if "keep" in (what, also):
            yield item
        elif what in ("spoil", "break"):
            yield {**item, what: True}

    async def judged(self, count: int) -> None:
        """Wait until that many pages were judged."""
        stats = self.crawler.stats
        await until(lambda: stats.get_value("simhash/checked", 0) >= count, f"{count} are judged")


class AskingLastSpider(PagesSpider):
    """Notes the URLs of ban pages, and asks for them again when its last page arrives.

    :param ban: title of the ban pages.
    """

    def __init__(self, *args: Any, ban: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ban = ban
        self.banned: list[str] = []

    def parse(self, response: Response) -> Any:
        title = response.css("title::text").get("")
        if title == self.ban:
            self.banned.append(response.url)
            return
        yield {"url": response.url, "title": title}
        if response.url.endswith("/last"):
            for url in self.banned:
                yield response.follow(url, dont_filter=True)


class SpoilingPipeline:
    """Raises for spoiled items."""

    def process_item(self, item: Any) -> Any:
        if ItemAdapter(item).get("spoil"):
            raise RuntimeError("this pipeline fails")
        return item


class BreakingMiddleware:
    """Raises for items that are to break."""

    async def process_spider_output(self, response: Response, result: Any) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, dict) and output.get("break"):
                raise RuntimeError("this middleware breaks")
            yield output


class _Refusing(FromCrawler):
    """Refuses the second request for paths that name the place."""

    def refuse(self, request: Request, where: str) -> None:
        if f"/refused-{where}/1" in request.url and META_KEY in request.meta:
            self.crawler.stats.inc_value(f"refused/{where}")
            raise IgnoreRequest(where)


class RefusingDownloads(_Refusing):
    """Refuses requests and responses in a downloader middleware."""

    def process_request(self, request: Request) -> None:
        self.refuse(request, "request")

    def process_response(self, request: Request, response: Response) -> Response:
        self.refuse(request, "response")
        return response


class RefusingPages(_Refusing):
    """Refuses pages in a spider middleware before ours."""

    def process_spider_input(self, response: Response) -> None:
        self.refuse(response.request, "page")


COMPONENTS = {
    "ITEM_PIPELINES": {f"{__name__}.SpoilingPipeline": 300},
    "SPIDER_MIDDLEWARES": {f"{__name__}.BreakingMiddleware": 900, f"{__name__}.RefusingPages": 40},
    "DOWNLOADER_MIDDLEWARES": {f"{__name__}.RefusingDownloads": 300},
}


def hold_few_copies() -> None:
    """Hold no copies beyond the second."""
    Retries.__init__ = partialmethod(Retries.__init__, max_held=HELD_AT_MOST)
