"""Components of others for generated spiders, and the handler that asks spiders for their sites."""

import asyncio
from uuid import uuid4

from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.http import HtmlResponse

from tests.crawl.spiders import FromCrawler


class SiteHandler(BaseDownloadHandler):
    """Answers requests with the site of the spider."""

    async def download_request(self, request):
        spider = self.crawler.spider
        status, headers, body = await spider.respond(request)
        headers = {"Content-Type": "text/html; charset=utf-8", **headers}
        return HtmlResponse(
            request.url, status=status, headers=headers, body=body.encode(), request=request
        )


class ValidatingPipeline(FromCrawler):
    """Refuses items that say so: drops them, or fails; at once, late, or after the last page.
    Requests what is next.
    """

    async def process_item(self, item):
        refused = item.get("refused")
        if refused and "late" in refused:
            await asyncio.sleep(0.06)
        if refused and "last" in refused:  # the items of the last page are judged meanwhile
            await self.crawler.spider.last.wait()
            await asyncio.sleep(0.1)
        if item.get("slow"):
            await asyncio.sleep(0.03)
        if item.get("next"):
            self.crawler.engine.crawl(Request(item["next"]))
        if refused and "drops" in refused:
            raise DropItem("not valid")
        if refused:
            raise ValueError("database gone")
        return item


class RefusingMiddleware(FromCrawler):
    """Refuses the copy that a spider is to get for the second time, and items that break."""

    def process_spider_input(self, response):
        spider = self.crawler.spider
        path = response.url.partition("example")[2]
        if spider.way == "refused" and path == "/d/0?print=0" and spider.asked[path] > 1:
            raise IgnoreRequest("refused")

    async def process_spider_output(self, response, result):
        async for output in result:
            if isinstance(output, dict) and output.get("breaks"):
                raise RuntimeError("this middleware breaks")
            yield output


class StampingMiddleware:
    """Adds to the meta of each request what differs from request to request."""

    def process_request(self, request):
        request.meta["trace"] = uuid4().hex


class InjectingMiddleware:
    """Adds an object to the arguments of callbacks that can take it."""

    def process_response(self, request, response):
        if request.cb_kwargs:
            request.cb_kwargs.setdefault("item", object())
        return response


class RetryingMiddleware:
    """Requests ban pages again."""

    def process_response(self, request, response):
        if b"Please wait" in response.body and request.meta.get("bans", 0) < 3:
            again = request.replace(dont_filter=True)
            again.meta["bans"] = request.meta.get("bans", 0) + 1
            return again
        return response


class StickyMiddleware:
    """Hands the state of a page to the requests that its callback makes."""

    async def process_spider_output(self, response, result):
        async for output in result:
            if hasattr(output, "meta") and "name" in response.meta:
                output.meta.setdefault("name", response.meta["name"])
            yield output


class AnsweringMiddleware:
    """Gives nothing for exceptions of callbacks."""

    def process_spider_exception(self, response, exception):
        return []


class AddingMiddleware:
    """Adds an item of its own to each page, also to those that are dropped."""

    async def process_spider_output(self, response, result):
        yield {"content": response.url}
        async for output in result:
            yield output


class CachingMiddleware:
    """Answers with the same response object again."""

    def __init__(self):
        self._kept = {}

    def process_request(self, request):
        return self._kept.get(request.url)

    def process_response(self, request, response):
        self._kept[request.url] = response
        return response


class QueueScheduler(Scheduler):
    """Takes requests of plain values only, and whole numbers of 64 bits, as queues on a network."""

    def enqueue_request(self, request):
        self._check(request.meta)
        return super().enqueue_request(request)

    def _check(self, value):
        if isinstance(value, dict):
            value = [*value, *value.values()]
        if isinstance(value, (list, tuple)):
            for part in value:
                self._check(part)
        elif isinstance(value, int):
            value.to_bytes(8, "big", signed=True)
        elif not isinstance(value, (str, bytes, float, type(None))):
            raise TypeError(value)
