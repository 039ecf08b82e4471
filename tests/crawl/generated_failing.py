"""Generated spiders whose pages or items fail when their copies were dropped; see `generated_spiders`."""

import asyncio
from typing import Any, ClassVar

from scrapy import Request
from scrapy.downloadermiddlewares.retry import get_retry_request

from tests.crawl.generated_spiders import BAN, COMPONENTS, HOST, GeneratedSpider, named_item, prose

IN_ORDER = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}


class Failing(GeneratedSpider):
    """A page with copies, which are requested while its callback runs. Then callbacks do what a script
    says, one after the other, whatever their page.
    """

    settings_of_shape: ClassVar[dict[str, Any]] = IN_ORDER | {
        "ITEM_PIPELINES": {f"{COMPONENTS}.ValidatingPipeline": 300},
        "SPIDER_MIDDLEWARES": {f"{COMPONENTS}.RefusingMiddleware": 40},
        "REDIRECT_MAX_TIMES": 3,
    }
    scripts: ClassVar[dict[str, list[str]]] = {
        "callback": ["raise"],
        "pipeline": ["spoil"],
        "middleware": ["break"],
        "everything": ["spoil", "raise", "break"],
        "all": ["raise"] * 4,
        "link to itself": ["link", "keep"],
        "retry": ["retry"],
        "first URL": ["first"],
        "copied meta": ["raise"] * 2,
    }
    ways = tuple(scripts)
    first = f"{HOST}/d/0"

    def prepare(self, crawler):
        self.script = [*self.scripts[self.way]]
        if self.way == "first URL":
            self.first = f"{HOST}/from/0"

    async def start(self):
        yield Request(self.first)
        yield Request(f"{HOST}/d/1", self.parse_document)

    def answer(self, path, request, count):
        if path.startswith("/from/"):
            return 302, {"Location": "/d/0"}, ""
        return super().answer(path, request, count)

    async def parse(self, response):
        if "?" not in response.url and self.asked["/d/0"] == 1:
            for copy in range(3):
                self.crawler.engine.crawl(Request(f"{HOST}/d/0?print={copy}"))
            await self.judged(5)
        item = named_item(response)
        step = self.script.pop(0) if self.script else "keep"
        if step == "link":
            yield response.follow(response.url)
            step = self.script.pop(0)
        if step == "raise":
            raise RuntimeError("this callback fails")
        if step == "retry":
            yield get_retry_request(response.request, spider=self, reason="ban")
        elif step == "first":
            yield Request(self.first, dont_filter=True)
        elif step == "spoil":
            yield {**item, "refused": "fails"}
        else:
            yield {**item, "breaks": step == "break"}
        if self.way == "copied meta":
            for copy in range(3):
                yield Request(f"{HOST}/d/2?{copy}", self.parse_document, meta=response.meta)

    async def judged(self, count):
        """Wait until so many pages were judged, or answered if nobody judges them."""
        stats = self.crawler.stats
        for _ in range(1000):
            answered = stats.get_value("response_received_count", 0)
            if stats.get_value("simhash/checked", answered) >= count:
                return
            await asyncio.sleep(0.005)
        raise AssertionError("the copies do not come")


class Returning(Failing):
    """The page fails, and the first copy comes back otherwise when it is requested again."""

    fates: ClassVar[dict[str, Any]] = {
        "gone": (404, {}, "gone"),
        "hang-up": ConnectionAbortedError(),
        "moved to itself": (302, {"Location": "/d/0?print=0"}, ""),
        "moved away": (302, {"Location": "/d/2"}, ""),
        "moved back": (302, {"Location": "/d/0"}, ""),
        "no HTML": '{"text": "now it is JSON"}',
        "few words": "<p>Too few words are here.</p>",
        "refused": "",
    }
    ways = tuple(fates)
    scripts: ClassVar[dict[str, list[str]]] = {way: ["raise"] for way in fates}

    def answer(self, path, request, count):
        if path != "/d/0?print=0" or count == 1 or self.way == "refused":
            return super().answer(path, request, count)
        if isinstance(self.fates[self.way], Exception):
            raise self.fates[self.way]
        return self.fates[self.way]


class BannedForEver(GeneratedSpider):
    """Some pages stay ban pages; the callback of the last page asks for all of them again."""

    settings_of_shape = IN_ORDER

    def listed(self):
        return [f"/d/{number}" for number in (1, 2, 3, 9)]

    def answer(self, path, request, count):
        if path in ("/d/1", "/d/2") or (path == "/d/3" and count == 1):
            return BAN
        return super().answer(path, request, count)

    def parse_document(self, response):
        if "Please wait" not in response.text:
            yield named_item(response)
        if response.url.endswith("/9"):
            for number in (1, 2, 3):
                yield Request(f"{HOST}/d/{number}", self.parse_document, dont_filter=True)


class ItemsFail(GeneratedSpider):
    """Items are compared by their texts. Some fail when copies of them were dropped."""

    ways = ("", "incremental", "items only")
    settings_of_shape: ClassVar[dict[str, Any]] = IN_ORDER | {
        "ITEM_PIPELINES": {f"{COMPONENTS}.ValidatingPipeline": 300},
        "SIMHASH_ITEM_FIELDS": ["text"],
    }
    items = (((1, True), (2, True)), ((1, False), (2, False), (3, False)), ((1, False),))

    def prepare(self, crawler):
        crawler.settings.set("SIMHASH_INCREMENTAL", self.way == "incremental", "spider")
        crawler.settings.set("SIMHASH_PAGES", self.way != "items only", "spider")
        self.last = asyncio.Event()

    def answer(self, path, request, count):
        if path == "/d/2":
            self.last.set()
        return super().answer(path, request, count)

    def listed(self):
        return [f"/d/{place}" for place in range(len(self.items))]

    def parse_document(self, response):
        place = int(response.url[-1])
        for number, fails in self.items[place]:
            refused = {"refused": "fails last"} if fails else {}
            yield {"content": f"text {number}", "text": f"{prose(number)} {place}", **refused}
