"""Crawl a generated site with Scrapy, in a process of its own, and record what was requested."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse

from url_rules_lib.site import html
from url_rules_lib.sites import SITES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

PEERS: dict[str, dict[str, Any]] = {
    "duplicate-url-discarder": {
        "REQUEST_FINGERPRINTER_CLASS": "duplicate_url_discarder.Fingerprinter"
    },
    "MaybeDont": {"DOWNLOADER_MIDDLEWARES": {"url_rules_lib.maybedont.MaybeDont": 30}},
}
OURS = {"off": False, "learn": "learn", "apply": "apply"}
CONTESTANTS = (*OURS, *PEERS)


class GeneratedHandler(BaseDownloadHandler):
    """Answers from the site that the settings name, without a network."""

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        self._show = SITES[crawler.settings["SITE"]].show

    async def download_request(self, request: Request) -> Response:
        """Return the page of a URL."""
        name, links = self._show(request.url)
        body = html(name, links).encode()
        response = HtmlResponse(request.url, body=body, request=request, encoding="utf-8")
        response.headers["X-Content"] = name.encode()
        return response


class LinksSpider(Spider):
    """Follows all links; records URLs and contents in the order of their requests."""

    name = "links"

    def __init__(self, site: str, pages: int) -> None:
        super().__init__()
        self.start_url = SITES[site].start
        self.pages_left = pages
        self.asked: list[tuple[str, str]] = []
        self.spared: list[tuple[int, str]] = []

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> LinksSpider:
        """Return the spider, connected to the signals that it records."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.received, signal=signals.response_received)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """Request the first page."""
        yield Request(self.start_url, errback=self.failed)

    def received(self, response: Response) -> None:
        """Record a page that was downloaded."""
        self.asked.append((response.url, response.headers["X-Content"].decode()))
        self.pages_left -= 1

    def parse(self, response: Response) -> Iterator[Request]:
        """Follow the links of a page, unless there were enough."""
        for link in response.css("nav a::attr(href)").getall() if self.pages_left > 0 else ():
            yield Request(link, errback=self.failed)

    def failed(self, failure: Any) -> None:
        """Record a request that was spared."""
        if type(failure.value).__name__ in ("SparedRequest", "IgnoreRequest"):
            self.spared.append((len(self.asked), failure.request.url))


def main(site: str, contestant: str, pages: int, directory: str, order: str) -> None:
    """Crawl a site, and write what was requested to standard output, as JSON."""
    settings: dict[str, Any] = {
        "SITE": site,
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "SIMHASH_ENABLED": True,
        "SIMHASH_EXTRACTOR": "segments",
        "SIMHASH_WORKERS": 0,
        "SIMHASH_CLUSTER_LIMIT": 0,
        "SIMHASH_DIR": directory,
        "SIMHASH_URL_RULES": OURS.get(contestant, False),
        "DOWNLOAD_HANDLERS": dict.fromkeys(
            ("http", "https"), "url_rules_lib.crawling.GeneratedHandler"
        ),
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "LOG_LEVEL": "ERROR",
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        **PEERS.get(contestant, {}),
    }
    if order == "breadth":
        settings |= {
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        }
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(LinksSpider)
    process.crawl(crawler, site=site, pages=pages)
    process.start()
    spider: Any = crawler.spider
    stats = crawler.stats.get_stats()
    json.dump(
        {
            "asked": spider.asked,
            "spared": spider.spared,
            "stats": {name: value for name, value in stats.items() if "url_rules" in name},
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))
