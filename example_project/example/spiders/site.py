"""A spider for any site: `scrapy crawl site -a url=https://example.org/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

USAGE = "usage: scrapy crawl site -a url=URL[,URL…] [-a allow=REGEX]"


class SiteSpider(Spider):
    """A spider that follows links within the hosts of its start URLs, and yields page titles.

    Links to other ports of these hosts are followed, too.

    :param url: the start URLs, separated by commas.
    :param allow: regular expression; only links whose URL contains a match are followed.
    """

    name = "site"

    def __init__(self, *args: Any, url: str = "", allow: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.start_urls = [part.strip() for part in url.split(",") if part.strip()]
        self.hosts = {urlsplit(start).hostname for start in self.start_urls}
        if not self.start_urls or None in self.hosts:
            raise ValueError(f"no complete URL to start from in {url!r}; {USAGE}")
        self.links = LinkExtractor(allow=allow or ())

    async def start(self) -> AsyncIterator[Any]:
        """Yield the start requests. They are filtered, unlike Scrapy's: no link repeats them."""
        for start in self.start_urls:
            yield Request(start)

    def parse(self, response: Response, **_kwargs: Any) -> Iterator[dict[str, str] | Request]:
        """Yield an item for the page, and a request for each link within the hosts."""
        if not isinstance(response, HtmlResponse):
            return
        yield {"url": response.url, "title": response.css("title::text").get("").strip()}
        for link in self.links.extract_links(response):
            if urlsplit(link.url).hostname in self.hosts:
                yield response.follow(link)
