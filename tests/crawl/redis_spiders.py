"""Spiders for crawls with an index in Redis, for the child process."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

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


class LagSpider(PagesSpider):
    """Measures how late the event loop runs what is due, in 99 of 100 cases at most."""

    async def start(self) -> AsyncIterator[Any]:
        self.lags: list[float] = []
        self.beating = asyncio.ensure_future(self.beat())
        async for request in super().start():
            yield request

    async def beat(self) -> None:
        while True:
            due_s = time.perf_counter() + 0.005
            await asyncio.sleep(0.005)
            self.lags.append(time.perf_counter() - due_s)

    def closed(self, reason: str) -> None:
        self.beating.cancel()
        late = sorted(self.lags)
        self.events.append(
            {"what": "lag", "path": "", "lag_ms": 1000 * late[int(0.99 * len(late))]}
        )
