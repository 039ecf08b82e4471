"""Spiders that record their responses and errors as events. Crawls of tests run them in a child
process.
"""

from dataclasses import make_dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import attrs
from scrapy import Field, Item, Request, Spider, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http import HtmlResponse

from scrapy_simhash import NearDuplicatePage

TAGS = tuple(f"simhash_{name}" for name in ("kind", "representative", "distance", "fingerprint"))
TAGGED = [("url", str), *((name, Any, None) for name in TAGS)]


class PlainObject:
    """An object that itemadapter does not accept, but that Scrapy passes to pipelines."""

    def __init__(self, url):
        self.url = url


ITEM_TYPES = {
    "dict": dict,
    "dataclass": make_dataclass("DataclassItem", TAGGED),
    "attrs": attrs.make_class(
        "AttrsItem", {"url": attrs.field(), **{name: attrs.field(default=None) for name in TAGS}}
    ),
    "item": type("ScrapyItem", (Item,), {name: Field() for name in ("url", *TAGS)}),
    "bare item": type("BareItem", (Item,), {"url": Field()}),
    "bare dataclass": make_dataclass("BareDataclass", ["url"]),
    "frozen dataclass": make_dataclass("FrozenDataclass", TAGGED, frozen=True),
    "partial item": type("PartialItem", (Item,), {"url": Field(), "simhash_kind": Field()}),
    "plain object": PlainObject,
}


class FromCrawler:
    """A component that knows its crawler."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)


class PagesSpider(Spider):
    """Requests pages, yields an item for each, and follows links of class ``next``.

    :param requests: URLs, or arguments of Request. ``callback`` is the name of a method; a true
        ``errback`` sets `errback`.
    :param item_type: a name in `ITEM_TYPES`.
    :param failing: paths whose callbacks raise.
    :param start_items: yielded before the requests.
    :param at_once: start all requests at once. If False, start each when the page before and its
        links are finished, so that tests know which of several copies comes first.
    """

    name = "pages"

    def __init__(
        self, *args, requests, item_type="dict", failing=(), start_items=(), at_once=False, **kwargs
    ):
        super().__init__(*args, **kwargs)
        self.waiting = self.described_requests(requests)
        self.at_once = at_once
        self.item_type = ITEM_TYPES[item_type]
        self.failing = failing
        self.start_items = start_items
        self.events = []

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.go_on, signal=signals.spider_idle)
        return spider

    async def start(self):
        for item in self.start_items:
            yield item
        for request in self.waiting if self.at_once else islice(self.waiting, 1):
            yield request

    def go_on(self):
        """Request the next page, because the one before is finished, with its items and links."""
        request = next(self.waiting, None)
        if request is not None:
            self.crawler.engine.crawl(request)
            raise DontCloseSpider

    def described_requests(self, requests):
        for described in requests:
            arguments = {"url": described} if isinstance(described, str) else dict(described)
            if "callback" in arguments:
                arguments["callback"] = getattr(self, arguments["callback"])
            if arguments.pop("errback", False):
                arguments["errback"] = self.errback
            yield Request(**arguments)

    def note(self, response, what="callback", **more):
        self.events.append(
            {
                "what": what,
                "path": path_of(response),
                "method": response.request.method,
                "verdict": response.meta.get("simhash"),
                "flags": list(response.flags),
                **more,
            }
        )

    def outputs(self, response):
        self.note(response)
        if path_of(response) in self.failing:
            raise RuntimeError("this callback fails")
        found = []
        if isinstance(response, HtmlResponse):
            found = response.css("a.next::attr(href)").getall()
        # A page with requests for another callback leads on.
        callback = response.request.callback
        further = [response.follow(url, callback) for url in found]
        return [self.item_type(url=response.url), *further]

    def parse(self, response):
        yield from self.outputs(response)

    def parse_list(self, response):
        return self.outputs(response)

    async def parse_coroutine(self, response):
        return self.outputs(response)

    async def parse_async_generator(self, response):
        for output in self.outputs(response):
            yield output

    def parse_nothing(self, response):
        self.note(response)

    def errback(self, failure):
        error = failure.value
        response = getattr(error, "response", None)
        if isinstance(error, NearDuplicatePage):
            verdict = error.verdict
            self.note(
                response,
                "errback",
                error=type(error).__name__,
                judged={
                    "kind": verdict.kind,
                    "key": verdict.key,
                    "representative": verdict.representative,
                    "distance": verdict.distance,
                    "fingerprint": verdict.fingerprint_hex,
                },
            )
            yield {"url": response.url, "from": "errback"}
        elif response is not None:
            self.note(response, "errback", error=type(error).__name__)


def path_of(response):
    parts = urlsplit(response.url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


class ItemsSpider(PagesSpider):
    """Yields the items that are given for the path of a page."""

    def __init__(self, *args, items, **kwargs):
        super().__init__(*args, **kwargs)
        self.items = items

    def parse(self, response):
        self.note(response)
        for item in self.items[path_of(response)]:
            yield {"url": response.url, **item}
