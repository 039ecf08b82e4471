"""Spiders for crawls with an index in Redis, for the child process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from redis.connection import AbstractConnection
from scrapy import Request

from tests.crawl.spiders import PagesSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response


class InlineSpider(PagesSpider):
    """Downloads a page in the callback of the first one."""

    def __init__(self, *args: Any, inline: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.inline = inline

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        self.note(response)
        if response.url.endswith("/start"):
            await self.crawler.engine.download_async(Request(self.inline))
        yield {"url": response.url}


class ThreadsSpider(PagesSpider):
    """Writes down whether answers of the server are awaited in the event loop's thread.

    From the first request until the crawl is idle; opening and closing an index may wait there.
    """

    async def start(self) -> AsyncIterator[Any]:
        self.in_loop: list[bool] = []
        self.read_response = AbstractConnection.read_response

        def read_response(*args: Any, **kwargs: Any) -> Any:
            self.in_loop.append(threading.current_thread() is threading.main_thread())
            return self.read_response(*args, **kwargs)

        AbstractConnection.read_response = read_response
        async for request in super().start():
            yield request

    def go_on(self) -> None:
        AbstractConnection.read_response = self.read_response

    def closed(self, reason: str) -> None:
        self.events.append({"what": "answers", "path": "", "in_loop": self.in_loop})
