"""One crawl in a process of its own, and what it took."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess

from crawl_lib.contestants import CONTESTANTS, REDIS_URL
from crawl_lib.processes import children_cpu_s, descendants, memory_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

STEPS = ("extraction", "tokenization", "fingerprint", "index")
# Each look at the lag takes a tenth of a millisecond of CPU time: not more of them than it needs,
# or slow crawls would pay more for a page than quick ones.
LAG_INTERVAL_S = 0.02


@dataclass(frozen=True)
class Task:
    """The crawl of one process.

    :param url: of the server, where page n is ``<url>/n``.
    :param directory: of the index.
    :param delay_s: between requests.
    """

    name: str
    url: str
    pages: int
    concurrency: int
    directory: str
    delay_s: float = 0.0

    def settings(self) -> dict[str, Any]:
        """Return the settings of Scrapy."""
        return {
            "LOG_LEVEL": "WARNING",
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "CONCURRENT_REQUESTS": self.concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": self.concurrency,
            "DOWNLOAD_DELAY": self.delay_s,
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "SIMHASH_DIR": self.directory,
            "SIMHASH_REDIS_URL": os.environ.get(REDIS_URL),
            "SIMHASH_REDIS_KEY": self.directory,  # an index for each crawl
            **CONTESTANTS[self.name].settings,
        }


@dataclass
class Mark:
    """The pages and costs of a crawl at one moment.

    :param cpu_s: of the crawl's process alone.
    """

    pages: int
    time_s: float = field(default_factory=time.perf_counter)
    cpu_s: float = field(default_factory=time.process_time)
    children_cpu_s: float = field(default_factory=children_cpu_s)
    steps_ms: dict[str, int] = field(default_factory=dict)


class Watch:
    """Records the moments of a crawl and the lag of its event loop.

    Each page gives an item. If copies are dropped, responses are counted in place of items.
    """

    def __init__(self, crawler: Crawler, pages: int) -> None:
        self._crawler = crawler
        self._drops = crawler.settings.get("SIMHASH_ACTION") == "drop"
        # Workers have started, dictionaries are loaded, caches are warm.
        self._warm_after = max(1, pages // 10)
        self._pages = 0
        self._lag: asyncio.Task[None] | None = None
        self.marks: dict[str, Mark] = {}
        self.late_ms: list[float] = []
        self.children = 0
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._scraped, signal=signals.item_scraped)
        crawler.signals.connect(self._received, signal=signals.response_received)

    def first_request(self) -> None:
        """Record the start of the spider."""
        self.mark("request")
        self._lag = asyncio.get_running_loop().create_task(self._watch_lag())

    def crawled(self, _task: object) -> None:
        """Record the end, after everything is closed."""
        self.mark("end")
        if self._lag is not None:
            self._lag.cancel()

    def mark(self, name: str) -> None:
        """Record one moment."""
        stats = self._crawler.stats
        steps = {step: stats.get_value(f"simhash/time/{step}_ms", 0) for step in STEPS}
        self.marks[name] = Mark(self._pages, steps_ms=steps)

    def _opened(self) -> None:
        self.mark("opened")

    def _scraped(self) -> None:
        if "item" not in self.marks:
            self.mark("item")
        if not self._drops:
            self._count()

    def _received(self) -> None:
        if self._drops:
            self._count()

    def _count(self) -> None:
        self._pages += 1
        if self._pages == self._warm_after:
            self.mark("warm")
            self.children = len(descendants(os.getpid()))

    async def _watch_lag(self) -> None:
        clock = time.perf_counter
        with suppress(asyncio.CancelledError):
            while True:
                before = clock()
                await asyncio.sleep(LAG_INTERVAL_S)
                self.late_ms.append(1000 * (clock() - before - LAG_INTERVAL_S))


class PageSpider(Spider):
    """Requests all pages, and yields a small item for each."""

    name = "pages"
    url: str
    pages: int
    begin: Callable[[], None]

    async def start(self) -> AsyncIterator[Any]:
        """Request all pages at once."""
        self.begin()
        for number in range(self.pages):
            yield Request(f"{self.url}/{number}")

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        """Yield one item."""
        yield {"url": response.url, "title": response.css("title::text").get()}


def crawl(task: Task) -> dict[str, Any]:
    """Return the costs of a crawl. :raises Exception: what ended the crawl."""
    process = AsyncCrawlerProcess(task.settings())
    crawler = process.create_crawler(PageSpider)
    watch = Watch(crawler, task.pages)
    crawling = process.crawl(crawler, url=task.url, pages=task.pages, begin=watch.first_request)
    crawling.add_done_callback(watch.crawled)
    process.start()
    crawling.result()
    # With the CPU time of workers that ended after the spider.
    end = watch.marks["end"]
    end.cpu_s, end.children_cpu_s = time.process_time(), children_cpu_s()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    return {
        "marks": {moment: asdict(mark) for moment, mark in watch.marks.items()},
        "lag_ms": lag(watch.late_ms),
        "children": watch.children,
        "peak_rss_bytes": memory_bytes(os.getpid(), "VmHWM"),
        "near_duplicates": stats.get("simhash/near_duplicate", 0),
        "troubles": {
            key: value
            for key, value in stats.items()
            if key.startswith(("log_count/", "simhash/errors/", "spider_exceptions/"))
            or "exception_count" in key
        },
    }


def lag(late_ms: list[float]) -> dict[str, float]:
    """Return median, 99th percentile and maximum. A stall counts once, however long it is."""
    ordered = sorted(late_ms)
    if not ordered:
        return {"p50": 0.0, "p99": 0.0, "max": 0.0}
    last = len(ordered) - 1
    return {"p50": ordered[last // 2], "p99": ordered[round(0.99 * last)], "max": ordered[-1]}


def main(text: str) -> None:
    """Run the crawl that the text describes, and print its costs as JSON."""
    print(json.dumps(crawl(Task(**json.loads(text)))), flush=True)
