"""Components of users that fail, drop, add or answer, for the child process."""

import os
from urllib.parse import urlsplit

from itemadapter import ItemAdapter
from parsel import Selector
from scrapy import Request
from scrapy.exceptions import DropItem


class StrictPipeline:
    """Raises for items of ``/failing…``, drops items of ``/dropped…``, replaces the rest by a dict."""

    def process_item(self, item):
        path = urlsplit(ItemAdapter(item)["url"]).path
        if path.startswith("/failing"):
            raise RuntimeError("this pipeline fails")
        if path.startswith("/dropped"):
            raise DropItem("not wanted")
        return dict(item)


class WritingPipeline:
    """Appends the URL of each item to the file WRITTEN, before the item counts as scraped."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings["WRITTEN"])

    def process_item(self, item):
        os.write(self._file, f"{item['url']}\n".encode())
        return item


class CopyingPipeline:
    """Replaces every item by a new dict."""

    def process_item(self, item):
        return dict(item)


class SwallowingMiddleware:
    """Drops all items."""

    async def process_spider_output(self, response, result):
        async for output in result:
            if isinstance(output, Request):
                yield output


def story_of(html):
    """Return the text of the story; an extractor."""
    return Selector(html).css(".story").xpath("string()").get("")


def no_story(html):
    """Raise; an extractor that fails."""
    raise RuntimeError(f"no story in {len(html)} characters")


def story_in_bytes(html):
    """Return the wrong type; a wrong extractor."""
    return story_of(html).encode()


def no_way_out(html):
    """Exit; an extractor that would end the program."""
    raise SystemExit(len(html))
