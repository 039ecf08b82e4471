"""Generated spiders with their sites: each is a shape of crawl in which a plugin could lose items.

A spider answers its own requests (`answer`), so that a crawl needs no server, and a process can run
many. The seed decides the way that a shape takes. An item's ``content`` is what must not be lost.
"""

from __future__ import annotations

import asyncio
import functools
import json
import random
import zlib
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from itemloaders import ItemLoader
from scrapy import Field, FormRequest, Item, Request, Spider, signals
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DontCloseSpider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

HOST = "http://generated.example"
_RANDOM = random.Random(7)
_WORDS = ["".join(_RANDOM.choices("abcdefghijklmnoprstuvw", k=6)) for _ in range(3000)]
SHAPES: dict[str, type[GeneratedSpider]] = {}
COMPONENTS = "tests.crawl.generated_components"


def prose(seed: object, words: int = 90) -> str:
    """Return random words, the same for the same seed."""
    return " ".join(random.Random(str(seed)).choices(_WORDS, k=words))


def page(name: str, text: str, more: str = "") -> str:
    """Return a page with a name of its own."""
    return (
        f"<html><head><title>{name}</title></head><body><article><h1>{name}</h1><p>{text}</p>"
        f"{more}</article></body></html>"
    )


def links(urls: Iterable[str], css_class: str = "d") -> str:
    return "".join(f'<a class="{css_class}" href="{url}">page</a> ' for url in urls)


BAN = page(
    "Please wait",
    "You have sent very many requests within a short time. Wait for some minutes and load the page "
    "again. If you think that this is an error, write to the owners of this site and tell them your "
    "address and the time at which you have seen this page.",
)


class Row(Item):
    """A Scrapy item."""

    name = Field()
    found = Field()


@dataclass
class Record:
    """An item that is a dataclass."""

    name: str = ""
    found: list[str] = field(default_factory=list)


class RequestFor(Request):
    """A request with an attribute and an argument of its own."""

    def __init__(self, url: str, item: str, **given: Any) -> None:
        super().__init__(url, **given)
        self.item = item


class GeneratedSpider(Spider):
    """A site with documents, some with copies under other URLs, and a spider for it.

    :param seed: decides the number of documents, their order, and the ways of the shape.
    """

    name = "generated"
    settings_of_shape: ClassVar[dict[str, Any]] = {}
    ways: ClassVar[tuple[str, ...]] = ("",)
    follows = True
    """The shape is also crawled with SIMHASH_FOLLOW."""
    pauses = False
    """The shape is also crawled in parts, with JOBDIR: its spider keeps nothing in attributes."""

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            SHAPES[cls.__name__] = cls

    def __init__(self, seed: int = 0, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.random = random.Random(f"{type(self).__name__} {seed}")
        self.seed = seed
        self.way = self.random.choice(self.ways)
        self.documents = self.random.randint(3, 8)
        self.style = self.random.choice(("list", "generator", "coroutine", "async"))
        self.delays_ms = self.random.choice((0, 0, 3, 15))
        self.asked: dict[str, int] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.prepare(crawler)
        return spider

    def prepare(self, crawler: Crawler) -> None:
        """Connect the spider with its crawl."""

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{HOST}/")

    async def respond(self, request: Request) -> tuple[int, dict[str, str], str]:
        """Return status, headers and body, some milliseconds later."""
        parts = urlsplit(request.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        count = self.asked[path] = self.asked.get(path, 0) + 1
        if self.delays_ms:
            share = zlib.crc32(f"{self.seed} {path} {count}".encode()) % 100 / 100
            await asyncio.sleep(share * self.delays_ms / 1000)
        answer = self.answer(path, request, count)
        return (200, {}, answer) if isinstance(answer, str) else answer

    def answer(self, path: str, request: Request, count: int) -> Any:
        """Return the body for a path, or (status, headers, body)."""
        if path == "/":
            return page("Home", prose("home", 40), links(self.listed()))
        return self.document(number_in(path))

    def listed(self) -> list[str]:
        """Return the URLs of the home page: documents and copies of them, shuffled."""
        urls = [f"/d/{number}" for number in range(self.documents)]
        urls += [f"/d/{number}?print={copy}" for number in range(2) for copy in range(2)]
        self.random.shuffle(urls)
        return urls

    def document(self, number: int, more: str = "") -> str:
        """Return a document with a name and a text of its own."""
        return page(self.named(number), prose(f"document {number}"), more)

    def named(self, number: int) -> str:
        """Return the name of a document."""
        return f"{prose(f'name {number}', 2)} {number}"

    def parse(self, response: Response) -> Any:
        return [response.follow(a, self.styled(self.parse_document)) for a in response.css("a.d")]

    def parse_document(self, response: Response) -> Any:
        return [{"content": response.css("h1::text").get()}]

    def styled(self, callback: Callable[..., Any]) -> Any:
        """Return a callback in the style of this crawl: list, generator, coroutine, async generator."""
        return getattr(self, f"{callback.__name__}_{self.style}", callback)

    def parse_document_generator(self, response: Response) -> Any:
        yield from self.parse_document(response)

    async def parse_document_coroutine(self, response: Response) -> Any:
        await asyncio.sleep(0.002)
        return self.parse_document(response)

    async def parse_document_async(self, response: Response) -> Any:
        for output in self.parse_document(response):
            await asyncio.sleep(0.001)
            yield output


def number_in(path: str) -> int:
    """Return the number in ``/kind/number…``."""
    return int(urlsplit(path).path.split("/")[2])


class Plain(GeneratedSpider):
    """Documents and copies, and nothing else."""

    pauses = True


class Carried(GeneratedSpider):
    """A half-filled item goes to a second page, which is the same for all documents."""

    ways = (
        *("kwargs", "meta", "row", "record", "loader", "nested", "partial", "closure"),
        *("response", "attribute", "wrapper"),
    )

    def answer(self, path: str, request: Request, count: int) -> Any:
        if path.startswith("/reviews"):
            return page("Reviews", prose("no reviews yet"))
        if path.startswith("/d/"):
            number = number_in(path)
            return self.document(number, links([f"/reviews/{number}"], "r"))
        return super().answer(path, request, count)

    def parse_document(self, response: Response) -> Any:
        name, way = response.css("h1::text").get(), self.way
        link = response.css("a.r")[0]
        values: dict[str, Any] = {
            "kwargs": {"name": name},
            "meta": {"name": name},
            "row": Row(name=name),
            "record": Record(name),
            "nested": [("found", {"name": name})],
            "response": response,
        }
        if way == "loader":
            loader = ItemLoader({})
            loader.add_value("name", name)
            values[way] = loader
        if way == "partial":
            return [response.follow(link, functools.partial(self.parse_reviews, item=name))]
        if way == "wrapper":

            @functools.wraps(self.parse_reviews)
            def parse(answer: Response) -> Any:
                return self.parse_reviews(answer, name)

            return [response.follow(link, parse)]
        if way == "closure":
            return [response.follow(link, lambda answer: self.parse_reviews(answer, name))]
        if way == "meta":
            return [response.follow(link, self.parse_reviews, meta={"_item": values[way]})]
        if way == "attribute":
            url = response.urljoin(link.attrib["href"])
            return [RequestFor(url, name, callback=self.parse_reviews)]
        return [response.follow(link, self.parse_reviews, cb_kwargs={"item": values[way]})]

    def parse_reviews(self, response: Response, item: Any = None) -> Any:
        item = response.meta.get("_item", item) or response.request.item
        if isinstance(item, list):
            item = item[0][1]
        if hasattr(item, "load_item"):
            item = item.load_item()
        if hasattr(item, "css"):
            item = item.css("h1::text").get()
        if hasattr(item, "name"):
            item = item.name
        name = item if isinstance(item, str) else item["name"]
        if isinstance(name, list):
            name = name[0]
        yield {"content": f"{name} {response.css('h1::text').get()}"}


class Gathered(GeneratedSpider):
    """An item is complete when the pages of all variants were parsed."""

    ways = ("meta", "kwargs", "record", "spider", "slow")

    def answer(self, path: str, request: Request, count: int) -> Any:
        if path.startswith("/v/"):
            colour = path.rsplit("/", 1)[1]
            return self.document(number_in(path), f"<p>Available in {colour}.</p>")
        if path.startswith("/d/"):
            number = number_in(path)
            variants = [f"/v/{number}/{colour}" for colour in ("red", "blue", "green")]
            return page(self.named(number), prose(f"list {number}"), links(variants, "v"))
        return super().answer(path, request, count)

    def listed(self) -> list[str]:
        return [f"/d/{number}" for number in range(self.documents)]

    def parse_document(self, response: Response) -> Any:
        name = response.css("h1::text").get()
        found = response.css("a.v::attr(href)").getall()
        state: Any = {"name": name, "found": [], "missing": len(found)}
        if self.way == "spider":
            gathered = self.__dict__.setdefault("gathered", {})
            gathered[name] = state
            state = name
        callback = self.parse_slowly if self.way == "slow" else self.parse_variant
        for url in found:
            if self.way == "meta":
                yield response.follow(url, callback, meta={"state": state})
            else:
                yield response.follow(url, callback, cb_kwargs={"state": state})

    def parse_variant(self, response: Response, state: Any = None) -> Any:
        state = response.meta.get("state", state)
        if isinstance(state, str):
            state = self.__dict__["gathered"][state]
        state["found"].append(response.url.rsplit("/", 1)[1])
        state["missing"] -= 1
        if not state["missing"]:
            yield {"content": f"{state['name']} {sorted(state['found'])}"}

    async def parse_slowly(self, response: Response, state: Any) -> Any:
        await asyncio.sleep(0.02)  # the other variants arrive before this one has been added
        for item in self.parse_variant(response, state):
            yield item


class Remembered(Carried):
    """The spider keeps half-filled items until a last page arrives, which is the same for all."""

    ways = ("plain", "constant", "nested", "record", "price")

    def parse_document(self, response: Response) -> Any:
        number = number_in(response.url[len(HOST) :])
        kept = self.__dict__.setdefault("kept", {})
        kept[number] = response.css("h1::text").get()
        return [response.follow(response.css("a.r")[0], self.parse_reviews)]

    def parse_reviews(self, response: Response) -> Any:
        name = self.__dict__["kept"][number_in(response.url[len(HOST) :])]
        item: dict[str, Any] = {"content": name, "found": response.css("li::text").getall()}
        if self.way == "constant":
            item["source"] = "the catalogue of somebody"
        if self.way == "nested":
            item["more"] = [{"names": [name]}]
        if self.way == "record":
            item["more"] = Record(name)
        if self.way == "price":
            item["content"] = 100.5 + int(name.rsplit(" ", 1)[1])
        yield item


class Sessions(GeneratedSpider):
    """The same start page in several sessions, each of which leads to its own offers."""

    ways = ("cookiejar", "cookies", "meta")

    async def start(self) -> AsyncIterator[Any]:
        for country in ("de", "fr", "it", "es"):
            url = f"{HOST}/shop?country={country}"
            if self.way == "cookies":
                yield Request(url, cookies={"country": country}, cb_kwargs={})
            elif self.way == "meta":
                yield Request(url, meta={"country": country})
            else:
                yield Request(url, meta={"cookiejar": country})

    def answer(self, path: str, request: Request, count: int) -> Any:
        if path.startswith("/shop"):
            country = parse_qs(urlsplit(path).query)["country"][0]
            headers = {"Set-Cookie": f"country={country}; Path=/"}
            return 200, headers, page("Choose", prose("choose"), links(["/offers"], "n"))
        cookie = request.headers.get("Cookie") or b""
        given = request.headers.get("X-Country") or cookie.partition(b"country=")[2][:2]
        country = given.decode()
        return page(f"Offers in {country}", prose(f"offers {country}"))

    def parse(self, response: Response) -> Any:
        link, meta = response.css("a.n")[0], response.meta
        follow = functools.partial(response.follow, link, self.parse_document, dont_filter=True)
        if self.way == "cookiejar":
            yield follow(meta={"cookiejar": meta["cookiejar"]})
        elif self.way == "meta":
            yield follow(headers={"X-Country": meta["country"]})
        else:
            yield follow(headers={"X-Country": response.request.cookies["country"]})


class _BaseIdle(GeneratedSpider):
    """Requests what waits when the spider is idle."""

    def prepare(self, crawler: Crawler) -> None:
        crawler.signals.connect(self.idle, signals.spider_idle)
        self.waiting: list[Any] = []

    def idle(self) -> None:
        if self.waiting:
            waiting, self.waiting = self.waiting, []
            for request in waiting:
                if isinstance(request, Request):  # else a task that requests it
                    self.crawler.engine.crawl(request)
            raise DontCloseSpider


class _BaseWalled(_BaseIdle):
    """A wall stands before the documents until something is done about it."""

    wall = ""

    def answer(self, path: str, request: Request, count: int) -> Any:
        if path == "/open":
            return 200, {"Set-Cookie": "open=1; Path=/"}, page("Thanks", "You may go on now.")
        if path.startswith("/d/") and self.is_closed(request, count):
            return self.wall
        return super().answer(path, request, count)

    def is_closed(self, request: Request, count: int) -> bool:
        return b"open=1" not in (request.headers.get("Cookie") or b"")

    def is_wall(self, response: Response) -> bool:
        return "wall" in response.text or "Please wait" in response.text


class Login(_BaseWalled):
    """A login page with status 200 under each URL; the callback logs in, and asks again."""

    ways = ("form", "inline", "idle")
    wall = page(
        "Log in",
        "This wall is only passed by members of the association. Write your name and your password "
        "below. If you have forgotten it, ask the office for a new one, which takes two days.",
        '<form action="/open" method="post"><input name="u"><input type="password" name="p"></form>',
    )

    def idle(self) -> None:
        if self.waiting:
            urls, self.waiting = self.waiting, []
            again = {"callback": self.again, "cb_kwargs": {"urls": urls}}
            self.crawler.engine.crawl(Request(f"{HOST}/open", dont_filter=True, **again))
            raise DontCloseSpider

    def again(self, response: Response, urls: list[str]) -> Any:
        for url in urls:
            yield Request(url, self.parse_document, dont_filter=True)

    def parse(self, response: Response) -> Any:
        callback = self.parse_inline if self.way == "inline" else self.parse_document
        return [response.follow(a, callback) for a in response.css("a.d")]

    def parse_document(self, response: Response) -> Any:
        if not self.is_wall(response):
            yield {"content": response.css("h1::text").get()}
        elif self.way == "idle":
            self.waiting.append(response.url)
        else:
            yield FormRequest.from_response(
                response, callback=self.again, cb_kwargs={"urls": [response.url]}, dont_filter=True
            )

    async def parse_inline(self, response: Response) -> Any:
        if self.is_wall(response):
            form = FormRequest.from_response(response)
            await self.crawler.engine.download_async(form)
            yield response.request.replace(dont_filter=True)
        else:
            yield {"content": response.css("h1::text").get()}


class Consent(Login):
    """A consent page without a password."""

    wall = page(
        "Before you go on",
        "This wall tells you about the cookies that we set and about the partners who read them. "
        "You agree by going on to the site, or choose what you agree to in the settings below.",
        '<form action="/open" method="post"><input name="agree" value="1"></form>',
    )


class Banned(_BaseWalled):
    """A ban page under each URL, recognized by the callback, which asks again in its own way."""

    ways = ("repeat", "retry", "plain", "buster", "engine", "idle", "inline", "kept", "error")
    wall = BAN
    settings_of_shape: ClassVar[dict[str, Any]] = {"SCHEDULER": f"{COMPONENTS}.QueueScheduler"}

    def prepare(self, crawler: Crawler) -> None:
        super().prepare(crawler)
        if self.way == "plain":
            crawler.settings.set("DUPEFILTER_CLASS", "scrapy.dupefilters.BaseDupeFilter", "spider")
        self.bans = self.random.randint(1, 2)
        # Pages before the first ban; if no banned page is requested again, at least some.
        self.late = 3 if self.way == "error" else self.random.choice((0, 0, 3))
        self.answered = 0

    def is_closed(self, request: Request, count: int) -> bool:
        self.answered += 1
        if self.answered <= self.late:
            return False
        return "t=" not in request.url if self.way == "buster" else count <= self.bans

    def parse(self, response: Response) -> Any:
        callback = self.parse_inline if self.way == "inline" else self.parse_document
        return [
            response.follow(a, callback, errback=self.failed_page, cb_kwargs={"attempt": 0})
            for a in response.css("a.d")
        ]

    def failed_page(self, failure: Any) -> None:
        """Do nothing, as most errbacks."""

    def parse_document(self, response: Response, attempt: int = 0) -> Any:
        if not self.is_wall(response):
            return [{"content": response.css("h1::text").get()}]
        request, way = response.request, self.way
        if way == "error":
            raise RuntimeError("banned")
        if way == "repeat":
            return [request.replace(dont_filter=True)]
        if way == "retry":
            again = get_retry_request(request, spider=self, reason="ban", max_retry_times=5)
            return [again] if again else []
        if way == "plain":
            return [Request(response.url, self.parse_document)]
        if way == "buster":
            url = f"{response.url.partition('?')[0]}?t={self.random.random()}"
            return [request.replace(url=url)]
        if way == "engine":
            self.crawler.engine.crawl(request.replace(dont_filter=True))
        else:
            self.waiting.append(request.replace(dont_filter=True))
        return [] if way != "kept" else [{"content": "a ban page", "url": response.url}]

    async def parse_inline(self, response: Response, attempt: int = 0) -> Any:
        while self.is_wall(response):
            again = Request(response.url, dont_filter=True)
            response = await self.crawler.engine.download_async(again)
        yield {"content": response.css("h1::text").get()}


class Errback(_BaseIdle):
    """An errback requests each failed page again, and gives an item for it in the end."""

    ways = (
        *("same", "copied", "buster", "engine", "engine buster", "engine path", "engine later"),
        *("idle buster", "idle path", "all by engine"),
    )

    async def later(self, request: Request) -> None:
        await asyncio.sleep(0.01)
        self.crawler.engine.crawl(request)

    def parse(self, response: Response) -> Any:
        for a in response.css("a.d"):
            request = response.follow(a, self.parse_document, errback=self.failed)
            if self.way == "all by engine":
                self.crawler.engine.crawl(request)
            else:
                yield request

    def failed(self, failure: Any) -> Any:
        request = failure.request
        if self.way == "engine":
            self.crawler.engine.crawl(request.replace(dont_filter=True))
            return
        if "buster" in self.way or "path" in self.way or "engine" in self.way:
            sign = "/again" if "path" in self.way else "?t="
            url = f"{request.url.partition('?')[0]}{sign}{self.random.random()}"
            again = Request(url, self.parse_document, errback=self.failed)
            if self.way == "engine later":
                self.waiting.append(asyncio.create_task(self.later(again)))
            elif "engine" in self.way:
                self.crawler.engine.crawl(again)
            elif "idle" in self.way:
                self.waiting.append(again)
            else:
                yield again
        elif self.way == "copied":
            yield request.replace(dont_filter=True, meta={**request.meta, "proxy_number": 1})
        else:
            yield Request(request.url, self.parse_document, errback=self.failed, dont_filter=True)


class Depth(GeneratedSpider):
    """A copy of a list is reached at the depth limit, before the list itself."""

    settings_of_shape: ClassVar[dict[str, Any]] = {"DEPTH_LIMIT": 3}

    def answer(self, path: str, request: Request, count: int) -> Any:
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

    async def respond(self, request: Request) -> tuple[int, dict[str, str], str]:
        if "/late/" in request.url:
            await asyncio.sleep(0.05)
        return await super().respond(request)

    def parse(self, response: Response) -> Any:
        if response.css("a.l, a.d"):
            return [response.follow(a, self.parse) for a in response.css("a.l, a.d")]
        return self.parse_document(response)


class _BaseVersions(GeneratedSpider):
    """Each document has another version, from which the crawl takes no item."""

    def listed(self) -> list[str]:
        other = [f"/amp/{number}" for number in range(self.documents)]
        return other + [f"/d/{number}" for number in range(self.documents)]

    async def respond(self, request: Request) -> tuple[int, dict[str, str], str]:
        if "/d/" in request.url:
            await asyncio.sleep(0.03)
        return await super().respond(request)


class FollowRule(_BaseVersions, CrawlSpider):
    """A CrawlSpider whose rule for the other versions only follows links."""

    rules = (
        Rule(LinkExtractor(allow="/d/"), callback="parse_document"),
        Rule(LinkExtractor(allow="/amp/")),
    )

    def parse(self, response: Response) -> Any:
        raise NotImplementedError


class Dispatch(_BaseVersions):
    """One callback, which gives items only for some URLs."""

    pauses = True

    def parse(self, response: Response) -> Any:
        for a in response.css("a.d"):
            yield response.follow(a, self.parse)
        if "/d/" in response.url:
            yield {"content": response.css("h1::text").get()}


class Validated(_BaseVersions):
    """A pipeline drops the items of the other versions, or fails for them."""

    ways = ("drops", "fails", "drops late", "fails late")
    settings_of_shape: ClassVar[dict[str, Any]] = {
        "ITEM_PIPELINES": {f"{COMPONENTS}.ValidatingPipeline": 300}
    }

    def parse_document(self, response: Response) -> Any:
        if "/amp/" in response.url:
            return [{"content": response.css("h1::text").get(), "refused": self.way}]
        return [{"content": response.css("h1::text").get()}]


class Landing(_BaseVersions):
    """The callback recognizes the other versions, and gives nothing for them."""

    pauses = True

    def parse_document(self, response: Response) -> Any:
        if "/amp/" in response.url:
            return []
        return super().parse_document(response)


class Behind(_BaseVersions):
    """Pages with a link to further ones, which the callback takes from one version only."""

    ways = ("item first", "link first", "links only")

    def answer(self, path: str, request: Request, count: int) -> Any:
        number = number_in(path) if path != "/" else 0
        if path.startswith("/behind/"):
            return page(f"Behind {self.named(number)}", prose(f"behind {number}"))
        if path != "/":
            further = [f"/behind/{number}", f"/behind/{number + 100}"]
            return self.document(number, links(further, "b"))
        return super().answer(path, request, count)

    def parse_document(self, response: Response) -> Any:
        if "/amp/" in response.url:
            return []
        item = [{"content": response.css("h1::text").get()}]
        further = [response.follow(a, self.parse_behind) for a in response.css("a.b")]
        orders = {"item first": item + further, "link first": further + item}
        return orders.get(self.way, further)

    def parse_behind(self, response: Response) -> Any:
        return [{"content": response.css("h1::text").get()}]


class Others(Carried):
    """Middlewares of others add to meta and cb_kwargs, retry, answer for exceptions, or filter."""

    ways = ("kwargs", "meta")
    middlewares = ("Stamping", "Injecting", "Retrying", "Sticky", "Answering", "Caching", "Adding")

    def prepare(self, crawler: Crawler) -> None:
        self.middleware = self.random.choice(self.middlewares)
        is_of_spider = self.middleware in ("Sticky", "Answering", "Adding")
        kind = "SPIDER" if is_of_spider else "DOWNLOADER"
        name, order = f"{COMPONENTS}.{self.middleware}Middleware", self.random.choice((50, 950))
        crawler.settings.set(f"{kind}_MIDDLEWARES", {name: order}, "spider")

    def answer(self, path: str, request: Request, count: int) -> Any:
        if self.middleware == "Retrying" and path.startswith("/d/") and count == 1:
            return BAN
        return super().answer(path, request, count)


class Polled(GeneratedSpider):
    """One URL whose content changes, and returns to what it was."""

    ways = ("callback", "start")
    contents = (1, 1, 2, 1, 3, 2, 1, 4)
    settings_of_shape: ClassVar[dict[str, Any]] = {"CONCURRENT_REQUESTS": 1}

    async def start(self) -> AsyncIterator[Any]:
        for _ in range(1 if self.way == "callback" else len(self.contents)):
            yield Request(f"{HOST}/status", dont_filter=True)

    def answer(self, path: str, request: Request, count: int) -> Any:
        content = self.contents[min(count, len(self.contents)) - 1]
        return page("Status", prose(f"status {content}"))

    def parse(self, response: Response) -> Any:
        yield {"content": (response.css("p::text").get() or "")[:40]}
        if self.way == "callback" and self.asked["/status"] < len(self.contents):
            yield response.request.replace(dont_filter=True)


class Chained(GeneratedSpider):
    """Each page leads to the next one, and some pages have the content of earlier ones."""

    ways = ("number", "next", "feeder", "two callbacks", "slow pipelines", "calendar", "engine")
    settings_of_shape: ClassVar[dict[str, Any]] = {
        "ITEM_PIPELINES": {f"{COMPONENTS}.ValidatingPipeline": 300}
    }

    async def start(self) -> AsyncIterator[Any]:
        self.order = [number for number in range(self.documents) for _ in range(3)]
        if self.way == "next":
            self.order = [0, 1, 0, 2, 2, 1, 3]
        self.waiting = [f"{HOST}/d/{place}" for place in range(len(self.order))]
        yield Request(self.waiting.pop(0))

    def answer(self, path: str, request: Request, count: int) -> Any:
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

    def parse(self, response: Response) -> Any:
        if "/list/" in response.url:
            return [response.follow(a, self.parse) for a in response.css("a.n")]
        return self.styled(self.parse_document)(response)

    def parse_document(self, response: Response) -> Any:
        place = number_in(response.url[len(HOST) :])
        if self.way == "calendar" and "/d/" in response.url:
            further = response.css("a.d, a.n" if place < 2 * self.documents else "a.d")
            return [response.follow(a, self.parse) for a in further]
        if self.way == "calendar":
            return [{"content": response.css("h1::text").get()}]
        outputs: list[Any] = [{"content": response.css("h1::text").get()}]
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

    def parse_list(self, response: Response) -> Any:
        return [response.follow(a, self.parse) for a in response.css("a.n")]


class Paged(GeneratedSpider):
    """Pages with one text, each with an entry of its own and a link to the next page."""

    ways = ("text", "picture")
    follows = False
    pauses = True

    def answer(self, path: str, request: Request, count: int) -> Any:
        place = 0 if path == "/" else number_in(path)
        if place > 2 * self.documents:
            return page("The end", prose("end"))
        entry = f'<p class="e"><img src="/pictures/0.jpg">{self.named(place // 2)}</p>'
        return page("Entries", prose("entries"), entry + links([f"/d/{place + 1}"], "n"))

    def parse(self, response: Response) -> Any:
        item = {"content": response.css("p.e::text, h1::text").getall()[-1]}
        if self.way == "picture":
            item["picture"] = response.css("img::attr(src)").get()
        yield item
        yield from response.follow_all(css="a.n")


class LedByItems(Chained):
    """A pipeline, or a handler of a signal, requests the next page of the chain."""

    ways = ("pipeline", "slow pipeline", "signal")

    def prepare(self, crawler: Crawler) -> None:
        if self.way == "signal":
            crawler.signals.connect(self.lead_on, signals.item_scraped)

    def lead_on(self, item: Any) -> None:
        if self.waiting:
            self.crawler.engine.crawl(Request(self.waiting.pop(0)))

    def parse_document(self, response: Response) -> Any:
        item = {"content": response.css("h1::text").get(), "slow": "slow" in self.way}
        if self.way != "signal" and self.waiting:
            item["next"] = self.waiting.pop(0)
        return [item]


class Listed(GeneratedSpider):
    """Lists with one text, some of which repeat the one before; one callback sees all pages."""

    ways = ("lists", "doors", "parameters", "tree")
    pauses = True

    def answer(self, path: str, request: Request, count: int) -> Any:
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

    def parse(self, response: Response) -> Any:
        for a in response.css("a.d"):
            yield response.follow(a, self.parse)
        if not response.css("a.d"):
            yield {"content": response.css("h1::text").get()}


class Gated(GeneratedSpider):
    """A page before each document is the same for all: one that asks, or one that tells to wait."""

    pauses = True

    ways = ("ask", "other callback", "constant", "poll")

    def answer(self, path: str, request: Request, count: int) -> Any:
        if path.startswith("/gate/"):
            number, step = number_in(path), int(path.split("/")[3])
            following = f"/gate/{number}/{step + 1}" if step < 3 else f"/d/{number}"
            if self.way != "poll":
                following = f"/d/{number}"
            return page("One moment", prose("one moment"), links([following], "n"))
        return super().answer(path, request, count)

    def listed(self) -> list[str]:
        return [f"/gate/{number}/0" for number in range(self.documents)]

    def parse_document(self, response: Response) -> Any:
        links_on = response.css("a.n")
        if not links_on:
            return super().parse_document(response)
        if self.way == "constant":
            urls = links_on[0].attrib["href"], links_on[0].attrib["href"] + "00"
            return [response.follow(url, self.parse_answer, meta={"is": "asked"}) for url in urls]
        callback = self.parse_answer if self.way == "other callback" else self.parse_document
        return [response.follow(links_on[0], callback)]

    def parse_answer(self, response: Response) -> Any:
        yield {"content": response.css("h1::text").get()}


class Marked(GeneratedSpider):
    """Pages with the text of a licence, which differ in nothing but their markup."""

    ways = ("picture", "file", "attribute", "number", "script", "price")
    pauses = True

    def document(self, number: int, more: str = "") -> str:
        file = f'<a class="f" href="/get?file={number}">File</a>'
        script = f'<script id="s">{{"seat": {number}, "price": "{number}.50"}}</script>'
        seat = f'<b data-seat="row {number}" data-number={number}></b>'
        marked = f'<img src="/pictures/{number}.jpg">{file}{seat}{script}'
        return page("Picture", prose("licence"), marked)

    def parse_document(self, response: Response) -> Any:
        script = "script#s::text"
        found: dict[str, Callable[[], Any]] = {
            "picture": response.css("img::attr(src)").get,
            "file": lambda: response.urljoin(response.css("a.f::attr(href)").get()),
            "attribute": response.css("b::attr(data-seat)").get,
            "number": lambda: int(response.css("b::attr(data-number)").get()),
            "script": lambda: json.loads(response.css(script).get())["seat"],
            "price": lambda: float(json.loads(response.css(script).get())["price"]),
        }
        return [{"content": found[self.way]()}]


class Objects(GeneratedSpider):
    """Pages with one text, whose items have values as objects: one of each page, or two."""

    ways = ("price", "day", "set", "path", "price two", "day two", "time two")
    pauses = True

    def document(self, number: int, more: str = "") -> str:
        value = (
            f'<b data-price="{number}.25" data-day="2024-05-{number + 1:02}">Adults, children</b>'
        )
        return page("Offer", prose("offer"), f'{value}<a class="f" href="/f/{number}.pdf">File</a>')

    def parse_document(self, response: Response) -> Any:
        values = response.css("b")[0].attrib
        day = date.fromisoformat(values["data-day"])
        found: dict[str, Any] = {
            "price": Decimal(values["data-price"]),
            "day": day,
            "time": datetime.combine(day, time(19, 30)),
            "set": {values["data-price"]},
            "path": PurePosixPath(response.css("a.f::attr(href)").get() or ""),
        }
        way, *two = self.way.split()
        names = ("adults", "children") if two else ("adults",)
        return [{"name": name, "content": found[way]} for name in names]


class Overlapping(GeneratedSpider):
    """Lists that share an introduction and most entries, each of which is an item."""

    ways = ("names", "numbers", "links", "more")
    pauses = True

    def answer(self, path: str, request: Request, count: int) -> Any:
        if path == "/":
            return super().answer(path, request, count)
        place = number_in(path)
        rows = "".join(
            f'<p class="e"><a href="/e/{number}">{prose(f"entry {number}", 3)}</a>'
            f"<b>{number * (place + 1) % 50}</b></p>"
            for number in range(place % self.documents * 2, place % self.documents * 2 + 9)
        )
        return page("Offers", prose("offers", 150), rows)

    def parse_document(self, response: Response) -> Any:
        for entry in response.css("p.e"):
            if self.way == "links":
                yield {"content": entry.css("a::attr(href)").get()}
            elif self.way == "numbers":
                number = int(entry.css("b::text").get())
                yield {"content": f"{entry.css('a::text').get()} {number}", "n": number}
            else:
                yield {"content": entry.css("a::text").get(), "page": response.url}
        if self.way == "more":
            yield from response.follow_all(css="p.e a", callback=self.parse_document)


class Waiting(GeneratedSpider):
    """The spider waits until each of its pages has reached a callback."""

    ways = ("batches", "semaphore", "further pages", "idle")

    left = 0

    def prepare(self, crawler: Crawler) -> None:
        crawler.signals.connect(self.idle, signals.spider_idle)

    def idle(self) -> None:
        if self.left > 0:
            raise DontCloseSpider

    async def start(self) -> AsyncIterator[Any]:
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

    def answer(self, path: str, request: Request, count: int) -> Any:
        if path.startswith("/further/"):
            return page(f"More of {self.named(number_in(path))}", prose(f"further {path[9]}"))
        return super().answer(path, request, count)

    def parse(self, response: Response) -> Any:
        if self.way == "further pages":
            yield Request(response.url.replace("/d/", "/further/"), self.parse_further)
            return
        self.done()
        yield {"content": response.css("h1::text").get()}

    def parse_further(self, response: Response) -> Any:
        self.done()
        yield {"content": response.css("h1::text").get()}

    def done(self) -> None:
        self.left -= 1
        self.free.release()


class OneEntry(GeneratedSpider):
    """Pages of one template, each with an entry: hits of a search, or the answers to a question."""

    ways = ("hits", "answers", "late hits")
    follows = False

    def answer(self, path: str, request: Request, count: int) -> Any:
        if not path.startswith("/e/"):
            return super().answer(path, request, count)
        entry = f"<h3>{self.named(number_in(path) + 100)}</h3>"
        return page("Which mill is open?", prose("search", 120), entry)

    def parse(self, response: Response) -> Any:
        if self.way == "late hits":
            yield from super().parse(response)
        for number in range(2 * self.documents):
            yield response.follow(f"/e/{number}", self.parse_document, priority=-1)

    def parse_document(self, response: Response) -> Any:
        item = {"content": response.css("h3::text, h1::text").getall()[-1]}
        if self.way == "answers":
            item["question"] = response.css("h1::text").get()
        return [item]


class Halves(GeneratedSpider):
    """An item is complete when both of its pages were parsed, one of which is the same for all."""

    def answer(self, path: str, request: Request, count: int) -> Any:
        if path.startswith("/stars/"):
            return page("Ratings", prose("no ratings yet"))
        return super().answer(path, request, count)

    def parse(self, response: Response) -> Any:
        self.found: dict[int, dict[str, Any]] = {}
        for number in range(self.documents):
            yield response.follow(f"/d/{number}", self.parse_document)
            yield response.follow(f"/stars/{number}", self.parse_stars)

    def parse_document(self, response: Response) -> Any:
        return self.fill(response, "content", response.css("h1::text").get())

    def parse_stars(self, response: Response) -> Any:
        return self.fill(response, "stars", len(response.css("li")))

    def fill(self, response: Response, name: str, value: Any) -> Any:
        item = self.found.setdefault(number_in(response.url[len(HOST) :]), {})
        item[name] = value
        return [item] if len(item) == 2 else []
