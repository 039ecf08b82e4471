"""A spider of sitemaps that tells the plugin what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.spiders import SitemapSpider

from scrapy_simhash.crawl.sitemaps import remember_lastmod
from tests.crawl.spiders import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response


class NewsSpider(SitemapSpider):
    name = "news"

    def __init__(self, *args: Any, requests: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sitemap_urls = requests
        self.events: list[dict[str, Any]] = []

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        return remember_lastmod(self, entries)

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        self.events.append({"what": "callback", "path": path_of(response)})
        yield {"url": response.url}
