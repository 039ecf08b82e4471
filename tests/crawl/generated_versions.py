"""Generated spiders that take items, or what lies behind, from one version of a page only."""

import asyncio
from typing import Any, ClassVar

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from tests.crawl.generated_spiders import (
    COMPONENTS,
    GeneratedSpider,
    links,
    named_item,
    number_in,
    page,
    prose,
)


class Depth(GeneratedSpider):
    """A copy of a list is reached at the depth limit, before the list itself."""

    settings_of_shape: ClassVar[dict[str, Any]] = {"DEPTH_LIMIT": 3}

    def answer(self, path, request, count):
        if path == "/":
            return page("Home", prose("home", 40), links(["/late/archive", "/news"], "l"))
        if path == "/news":
            return page("News", prose("news"), links(["/news/1"], "l"))
        if path == "/news/1":
            return page("More news", prose("more news"), links(["/archive?from=news"], "l"))
        if "archive" in path:
            urls = [f"/d/{number}" for number in range(self.documents)]
            return page("Archive", prose("archive"), links(urls))
        return super().answer(path, request, count)

    async def respond(self, request):
        if "/late/" in request.url:
            await asyncio.sleep(0.05)
        return await super().respond(request)

    def parse(self, response):
        if response.css("a.l, a.d"):
            return [response.follow(a, self.parse) for a in response.css("a.l, a.d")]
        return self.parse_document(response)


class _BaseVersions(GeneratedSpider):
    """Each document has another version, from which the crawl takes no item."""

    def listed(self):
        other = [f"/amp/{number}" for number in range(self.documents)]
        return other + [f"/d/{number}" for number in range(self.documents)]

    async def respond(self, request):
        if "/d/" in request.url:
            await asyncio.sleep(0.03)
        return await super().respond(request)


class FollowRule(_BaseVersions, CrawlSpider):
    """A CrawlSpider whose rule for the other versions only follows links."""

    rules = (
        Rule(LinkExtractor(allow="/d/"), callback="parse_document"),
        Rule(LinkExtractor(allow="/amp/")),
    )

    def parse(self, response):
        raise NotImplementedError


class Dispatch(_BaseVersions):
    """One callback, which gives items only for some URLs."""

    pauses = True

    def parse(self, response):
        for a in response.css("a.d"):
            yield response.follow(a, self.parse)
        if "/d/" in response.url:
            yield named_item(response)


class Validated(_BaseVersions):
    """A pipeline drops the items of the other versions, or fails for them."""

    ways = ("drops", "fails", "drops late", "fails late")
    settings_of_shape: ClassVar[dict[str, Any]] = {
        "ITEM_PIPELINES": {f"{COMPONENTS}.ValidatingPipeline": 300}
    }

    def parse_document(self, response):
        if "/amp/" in response.url:
            return [{"content": response.css("h1::text").get(), "refused": self.way}]
        return [named_item(response)]


class RefusedOfTemplate(Validated):
    """The pages have one text, and their values in attributes: an item or two of each page."""

    ways = ("drops", "fails", "drops one")
    settings_of_shape: ClassVar[dict[str, Any]] = Validated.settings_of_shape | {
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        # README's list: what is refused while its copies are at work is lost.
        "CONCURRENT_REQUESTS": 1,
    }

    def listed(self):
        return ["/d/99", *super().listed()]

    def document(self, number, more=""):
        return page("Offer", prose("offer"), f'<b data-row="row {number}"></b>')

    def parse_document(self, response):
        content = response.css("b").attrib["data-row"]
        items = [{"content": content}]
        if "/amp/" in response.url:
            items[0]["refused"] = self.way
        if "one" in self.way:
            items.append({"content": f"{content}, the other half"})
        return items


class Landing(_BaseVersions):
    """The callback recognizes the other versions, and gives nothing for them."""

    pauses = True

    def parse_document(self, response):
        if "/amp/" in response.url:
            return []
        return super().parse_document(response)


class Behind(_BaseVersions):
    """Pages with a link to further ones, which the callback takes from one version only."""

    ways = ("item first", "link first", "links only")

    def answer(self, path, request, count):
        number = number_in(path) if path != "/" else 0
        if path.startswith("/behind/"):
            return page(f"Behind {self.named(number)}", prose(f"behind {number}"))
        if path != "/":
            further = [f"/behind/{number}", f"/behind/{number + 100}"]
            return self.document(number, links(further, "b"))
        return super().answer(path, request, count)

    def parse_document(self, response):
        if "/amp/" in response.url:
            return []
        item = [named_item(response)]
        further = [response.follow(a, self.parse_behind) for a in response.css("a.b")]
        orders = {"item first": item + further, "link first": further + item}
        return orders.get(self.way, further)

    def parse_behind(self, response):
        return [named_item(response)]
