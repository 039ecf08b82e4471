"""Components of users that fail, drop, add or answer, for the child process."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from typing import Any
from urllib.parse import urlsplit

import jieba
from itemadapter import ItemAdapter
from parsel import Selector
from scrapy import Request
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DropItem

from scrapy_simhash.extraction.readability import _lean_document as lean_document
from tests.crawl.retry_spiders import until
from tests.crawl.spiders import FromCrawler, PagesSpider

FAILING_MARK = "give up on this page"


class StrictPipeline:
    """Raises for items of ``/failing…``, drops items of ``/dropped…``, replaces the rest by a dict."""

    def process_item(self, item: Any) -> Any:
        path = urlsplit(ItemAdapter(item)["url"]).path
        if path.startswith("/failing"):
            raise RuntimeError("this pipeline fails")
        if path.startswith("/dropped"):
            raise DropItem("not wanted")
        return dict(item)


class CopyingPipeline:
    """Replaces every item by a new dict."""

    def process_item(self, item: Any) -> Any:
        return dict(item)


def make_readability_fail() -> None:
    """Make readability raise for pages with the mark; no real page is known to do that."""
    document = lean_document()
    summary = document.summary

    def giving_up(self: Any, *args: Any, **kwargs: Any) -> str:
        if FAILING_MARK in self.input.text_content():
            raise ZeroDivisionError("readability stumbled")
        return summary(self, *args, **kwargs)

    document.summary = giving_up


class ForgivingMiddleware:
    """Returns an item for an exception of a callback."""

    def process_spider_exception(self, response: Any, exception: Exception) -> Any:
        if isinstance(exception, RuntimeError):
            return [{"url": response.url, "forgiven": True}]
        return None


class RefusingMiddleware:
    """Refuses pages that are on their way to a callback."""

    def process_spider_input(self, response: Any) -> None:
        raise RuntimeError("this middleware fails")


class SwallowingMiddleware:
    """Drops all items."""

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for output in result:
            if isinstance(output, Request):
                yield output


def log_dictionaries() -> None:
    """Log each tokenizer that loads jieba's dictionary, without rjieba."""
    sys.modules |= dict.fromkeys(("rjieba", "rjieba.rjieba"))  # type: ignore[arg-type]
    initialize = jieba.Tokenizer.initialize
    lock = threading.Lock()
    known = []

    def logged(tokenizer: Any, *args: Any) -> None:
        with lock:
            if not any(tokenizer is other for other in known):
                known.append(tokenizer)
                logging.getLogger(__name__).info("a dictionary is loaded")
        initialize(tokenizer, *args)

    jieba.Tokenizer.initialize = logged


def story_of(html: str) -> str:
    """Return the text of the story; an extractor."""
    return Selector(html).css(".story").xpath("string()").get("")


def no_story(html: str) -> str:
    """Raise; an extractor that fails."""
    raise RuntimeError(f"no story in {len(html)} characters")


def story_in_bytes(html: str) -> bytes:
    """Return the wrong type; a wrong extractor."""
    return story_of(html).encode()


def no_way_out(html: str) -> str:
    """Exit; an extractor that would end the program."""
    raise SystemExit(len(html))


class AnsweringMiddleware(FromCrawler):
    """Handles every exception, as a middleware made from Scrapy's project template may."""

    def process_spider_exception(self, response: Any, exception: Exception) -> list[Any]:
        self.crawler.stats.inc_value(f"answered/{type(exception).__name__}")
        return []


class AddingMiddleware:
    """Adds an item of its own to each response."""

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        yield {"url": response.url, "added": True}
        async for output in result:
            yield output


class SlowPipeline(FromCrawler):
    """Raises for items of the first page of a family, once all pages have arrived (``PAGES``)."""

    async def process_item(self, item: Any) -> Any:
        if item["url"].endswith("/0") and not item.get("added"):
            stats, pages = self.crawler.stats, self.crawler.settings.getint("PAGES")
            await until(lambda: stats.get_value("response_received_count") >= pages, "")
            await asyncio.sleep(0.5)  # so that the last page is judged, too
            raise RuntimeError("this pipeline fails late")
        return item


class BannedSpider(PagesSpider):
    """Retries ban pages, as in Scrapy's documentation, until it gives up.

    :param reports: yield an item then.
    """

    reports = False

    def parse(self, response: Any) -> Any:
        self.note(response)
        if response.css("title::text").get() == "Please wait":
            again = get_retry_request(response.request, spider=self, reason="ban")
            if again is not None:
                yield again
            elif self.reports:
                yield {"url": response.url, "banned": True}
            return
        yield {"url": response.url}


class SlowBannedSpider(BannedSpider):
    """Requests ``/slow`` from the first callback for another page, before it retries that page, and
    finishes the first callback for ``/slow`` once three pages have been judged.
    """

    reports = True

    async def parse(self, response: Any) -> Any:
        is_first = not response.meta.get("retry_times")
        if is_first and not response.url.endswith("/slow"):
            yield response.follow("/slow")
        elif is_first:
            stats = self.crawler.stats
            await until(lambda: stats.get_value("simhash/checked", 0) >= 3, "a third verdict")
        for output in super().parse(response):
            yield output
