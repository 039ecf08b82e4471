"""Pipelines that fail or drop, and an extractor that gives up, for the child process."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any
from urllib.parse import urlsplit

import jieba
import readability
from itemadapter import ItemAdapter
from parsel import Selector
from scrapy import Request
from scrapy.exceptions import DropItem

FAILING_MARK = "give up on this page"


class StrictPipeline:
    """Raises for items of ``/failing…``, drops those of ``/dropped…``, replaces the rest."""

    def process_item(self, item: Any) -> Any:
        path = urlsplit(ItemAdapter(item)["url"]).path
        if path.startswith("/failing"):
            raise RuntimeError("this pipeline fails")
        if path.startswith("/dropped"):
            raise DropItem("not wanted")
        return dict(item)


_summary = readability.Document.summary


def _giving_up(document: Any, *args: Any, **kwargs: Any) -> str:
    if FAILING_MARK in document.input.text_content():
        raise ZeroDivisionError("readability stumbled")
    return _summary(document, *args, **kwargs)


def make_readability_fail() -> None:
    """For pages that hold the mark; nothing on a real page is known to make it raise."""
    readability.Document.summary = _giving_up


class ForgivingMiddleware:
    """Makes an item of what a callback raised."""

    def process_spider_exception(self, response: Any, exception: Exception) -> Any:
        if isinstance(exception, RuntimeError):
            return [{"url": response.url, "forgiven": True}]
        return None


class RefusingMiddleware:
    """Refuses pages that are on their way to a callback."""

    def process_spider_input(self, response: Any) -> None:
        raise RuntimeError("this middleware fails")


class SwallowingMiddleware:
    """Lets nothing through."""

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for output in result:
            if isinstance(output, Request):
                yield output


def log_dictionaries() -> None:
    """A line of the log for each tokenizer that loads jieba's dictionary, without rjieba."""
    sys.modules["rjieba"] = None  # type: ignore[assignment]
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
    """An extractor: the text of the story."""
    return Selector(html).css(".story").xpath("string()").get("")


def no_story(html: str) -> str:
    """An extractor that fails."""
    raise RuntimeError(f"no story in {len(html)} characters")


def story_in_bytes(html: str) -> bytes:
    """An extractor that gives the wrong type."""
    return story_of(html).encode()


def no_way_out(html: str) -> str:
    """An extractor that ends the program."""
    raise SystemExit(len(html))
