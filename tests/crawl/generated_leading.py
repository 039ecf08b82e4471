"""Generated spiders whose pages lead on to the next ones, or that wait for all of their pages."""

import asyncio
from typing import Any, ClassVar

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider

from tests.crawl.generated_spiders import (
    COMPONENTS,
    HOST,
    GeneratedSpider,
    links,
    named_item,
    number_in,
    page,
    prose,
)


class Chained(GeneratedSpider):
    """Each page leads to the next one, and some pages have the content of earlier ones."""

    ways = ("number", "next", "feeder", "two callbacks", "slow pipelines", "calendar", "engine")
    settings_of_shape: ClassVar[dict[str, Any]] = {
        "ITEM_PIPELINES": {f"{COMPONENTS}.ValidatingPipeline": 300}
    }

    async def start(self):
        self.order = [number for number in range(self.documents) for _ in range(3)]
        if self.way == "next":
            self.order = [0, 1, 0, 2, 2, 1, 3]
        self.waiting = [f"{HOST}/d/{place}" for place in range(len(self.order))]
        yield Request(self.waiting.pop(0))

    def answer(self, path, request, count):
        place = number_in(path)
        if self.way == "calendar" and path.startswith("/d/"):
            # Months without an event, and some with one.
            event = links([f"/event/{place}"]) if place % 4 == 3 else ""
            around = [place - 1, place + 1] if self.seed % 2 and place else [place + 1]
            months = links([f"/d/{month}" for month in around], "n")
            return page("Events", prose("calendar"), event + months)
        following = links([f"/d/{place + 1}"], "n") if place + 1 < len(self.order) else ""
        if path.startswith("/list/"):
            return page("List", prose("list"), links([f"/d/{place}"], "n"))
        return self.document(self.order[place], following)

    def parse(self, response):
        if "/list/" in response.url:
            return [response.follow(a, self.parse) for a in response.css("a.n")]
        return self.styled(self.parse_document)(response)

    def parse_document(self, response):
        place = number_in(response.url[len(HOST) :])
        if self.way == "calendar" and "/d/" in response.url:
            further = response.css("a.d, a.n" if place < 2 * self.documents else "a.d")
            return [response.follow(a, self.parse) for a in further]
        if self.way == "calendar":
            return [named_item(response)]
        outputs = [named_item(response)]
        if self.way == "slow pipelines":
            outputs[0]["slow"] = True
        if place + 1 < len(self.order):
            if self.way == "next":
                outputs += [response.follow(a, self.parse) for a in response.css("a.n")]
            elif self.way == "feeder":
                outputs.append(Request(self.waiting.pop(0)))
            elif self.way == "engine":
                self.crawler.engine.crawl(Request(f"{HOST}/d/{place + 1}"))
            elif self.way == "two callbacks":
                outputs.append(Request(f"{HOST}/list/{place + 1}", self.parse_list))
            else:
                outputs.insert(0, Request(f"{HOST}/d/{place + 1}"))
        return outputs

    def parse_list(self, response):
        return [response.follow(a, self.parse) for a in response.css("a.n")]


class Overviews(GeneratedSpider):
    """Pages with one text and an item without words of its own, which lead to other documents."""

    ways = ("others", "siblings")
    pauses = True

    def answer(self, path, request, count):
        if not path.startswith("/o/"):
            return super().answer(path, request, count)
        place = number_in(path) * (4 if self.way == "others" else 1)
        urls = [f"/d/{number}" for number in range(place, place + 4)]
        return page("Overview", prose("overview"), links(urls))

    def listed(self):
        return [f"/o/{number}" for number in range(self.documents)] + ["/o/0?print=1"]

    def parse_document(self, response):
        if "/d/" in response.url:
            return [named_item(response)]
        found = [response.follow(a, self.parse_entry) for a in response.css("a.d")]
        return [named_item(response), *found]

    def parse_entry(self, response):
        return [named_item(response)]


class Paged(GeneratedSpider):
    """Pages with one text, each with an entry of its own and a link to the next page."""

    ways = ("text", "picture")
    follows = False
    pauses = True

    def answer(self, path, request, count):
        place = 0 if path == "/" else number_in(path)
        if place > 2 * self.documents:
            return page("The end", prose("end"))
        entry = f'<p class="e"><img src="/pictures/0.jpg">{self.named(place // 2)}</p>'
        return page("Entries", prose("entries"), entry + links([f"/d/{place + 1}"], "n"))

    def parse(self, response):
        item = {"content": response.css("p.e::text, h1::text").getall()[-1]}
        if self.way == "picture":
            item["picture"] = response.css("img::attr(src)").get()
        yield item
        yield from response.follow_all(css="a.n")


class LedByItems(Chained):
    """A pipeline, or a handler of a signal, requests the next page of the chain."""

    ways = ("pipeline", "slow pipeline", "signal")

    def prepare(self, crawler):
        if self.way == "signal":
            crawler.signals.connect(self.lead_on, signals.item_scraped)

    def lead_on(self, item):
        if self.waiting:
            self.crawler.engine.crawl(Request(self.waiting.pop(0)))

    def parse_document(self, response):
        item = {"content": response.css("h1::text").get(), "slow": "slow" in self.way}
        if self.way != "signal" and self.waiting:
            item["next"] = self.waiting.pop(0)
        return [item]


class Listed(GeneratedSpider):
    """Lists with one text, some of which repeat the one before; one callback sees all pages."""

    ways = ("lists", "doors", "parameters", "tree")
    pauses = True

    def answer(self, path, request, count):
        if path != "/" and "/list/" not in path:
            return self.document(int(path.replace("=", "/").rsplit("/", 1)[1]))
        place = number_in(path) if path != "/" else 0
        urls = [f"/d/{4 * (place // 2) + number}" for number in range(4)]
        if place < 2 * self.documents:
            urls.append(f"/list/{place + 1}")
        # Below, nothing but the targets of links differs.
        if self.way == "tree":
            urls = [f"/list/{3 * place + child}" for child in (1, 2, 3)]
            if place > self.documents:
                urls = [f"/d/{place}", f"/d/{place + 50}", f"/d/{place + 100}"]
        elif self.way != "lists" and path == "/":
            urls = [f"/list/{number}" for number in range(self.documents)]
        elif self.way == "doors":
            urls = [f"/d/{place}", f"/d/{place + 50}", f"/d/{place + 100}"]
        elif self.way == "parameters":
            urls = [f"/get?id={place}", f"/get?id={place + 50}", f"/get?id={place + 100}"]
        return page("List", prose("list"), links(urls))

    def parse(self, response):
        for a in response.css("a.d"):
            yield response.follow(a, self.parse)
        if not response.css("a.d"):
            yield named_item(response)


class Waiting(GeneratedSpider):
    """The spider waits until each of its pages has reached a callback."""

    ways = ("batches", "semaphore", "further pages", "idle")

    left = 0

    def prepare(self, crawler):
        crawler.signals.connect(self.idle, signals.spider_idle)

    def idle(self):
        if self.left > 0:
            raise DontCloseSpider

    async def start(self):
        urls = [f"{HOST}/d/{number}?{copy}" for number in range(self.documents) for copy in "ab"]
        self.free = asyncio.Semaphore(len(urls) if self.way == "idle" else 3)
        self.left = len(urls) if self.way == "idle" else 0
        for place, url in enumerate(urls):
            if self.way == "batches" and place % 3 == 0:
                for _ in range(3):
                    await self.free.acquire()
            elif self.way != "batches":
                await self.free.acquire()
            yield Request(url)

    def answer(self, path, request, count):
        if path.startswith("/further/"):
            return page(f"More of {self.named(number_in(path))}", prose(f"further {path[9]}"))
        return super().answer(path, request, count)

    def parse(self, response):
        if self.way == "further pages":
            yield Request(response.url.replace("/d/", "/further/"), self.parse_further)
            return
        self.done()
        yield named_item(response)

    def parse_further(self, response):
        self.done()
        yield named_item(response)

    def done(self):
        self.left -= 1
        self.free.release()
