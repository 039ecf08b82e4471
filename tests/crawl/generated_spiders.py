"""Generated spiders with their sites: each is a shape of crawl in which a plugin could lose items.

A spider answers its own requests (`answer`), so that a crawl needs no server, and a process can run
many. The seed decides the way that a shape takes. An item's ``content`` is what must not be lost.
"""

import asyncio
import random
import zlib
from typing import Any, ClassVar
from urllib.parse import urlsplit

from scrapy import Request, Spider

HOST = "http://generated.example"
_RANDOM = random.Random(7)
_WORDS = ["".join(_RANDOM.choices("abcdefghijklmnoprstuvw", k=6)) for _ in range(3000)]
SHAPES = {}
COMPONENTS = "tests.crawl.generated_components"


def prose(seed, words=90):
    """Return random words, the same for the same seed."""
    return " ".join(random.Random(str(seed)).choices(_WORDS, k=words))


def page(name, text, more=""):
    """Return a page with a name of its own."""
    return (
        f"<html><head><title>{name}</title></head><body><article><h1>{name}</h1><p>{text}</p>"
        f"{more}</article></body></html>"
    )


def links(urls, css_class="d"):
    return "".join(f'<a class="{css_class}" href="{url}">page</a> ' for url in urls)


BAN = page(
    "Please wait",
    "You have sent very many requests within a short time. Wait for some minutes and load the page "
    "again. If you think that this is an error, write to the owners of this site and tell them your "
    "address and the time at which you have seen this page.",
)


def named_item(response):
    """Return an item with the name of a page."""
    return {"content": response.css("h1::text").get()}


class RequestFor(Request):
    """A request with an attribute and an argument of its own."""

    def __init__(self, url, item, **given):
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

    def __init_subclass__(cls):
        if not cls.__name__.startswith("_"):
            SHAPES[cls.__name__] = cls

    def __init__(self, seed=0, **arguments):
        super().__init__(**arguments)
        self.random = random.Random(f"{type(self).__name__} {seed}")
        self.seed = seed
        self.way = self.random.choice(self.ways)
        self.documents = self.random.randint(3, 8)
        self.style = self.random.choice(("list", "generator", "coroutine", "async"))
        self.delays_ms = self.random.choice((0, 0, 3, 15))
        self.asked = {}

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.prepare(crawler)
        return spider

    def prepare(self, crawler):
        """Connect the spider with its crawl."""

    async def start(self):
        yield Request(f"{HOST}/")

    async def respond(self, request):
        """Return status, headers and body, some milliseconds later."""
        parts = urlsplit(request.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        count = self.asked[path] = self.asked.get(path, 0) + 1
        if self.delays_ms:
            share = zlib.crc32(f"{self.seed} {path} {count}".encode()) % 100 / 100
            await asyncio.sleep(share * self.delays_ms / 1000)
        answer = self.answer(path, request, count)
        return (200, {}, answer) if isinstance(answer, str) else answer

    def answer(self, path, request, count):
        """Return the body for a path, or (status, headers, body)."""
        if path == "/":
            return page("Home", prose("home", 40), links(self.listed()))
        return self.document(number_in(path))

    def listed(self):
        """Return the URLs of the home page: documents and copies of them, shuffled."""
        urls = [f"/d/{number}" for number in range(self.documents)]
        urls += [f"/d/{number}?print={copy}" for number in range(2) for copy in range(2)]
        self.random.shuffle(urls)
        return urls

    def document(self, number, more=""):
        """Return a document with a name and a text of its own."""
        return page(self.named(number), prose(f"document {number}"), more)

    def named(self, number):
        """Return the name of a document."""
        return f"{prose(f'name {number}', 2)} {number}"

    def parse(self, response):
        return [response.follow(a, self.styled(self.parse_document)) for a in response.css("a.d")]

    def parse_document(self, response):
        return [named_item(response)]

    def styled(self, callback):
        """Return a callback in the style of this crawl: list, generator, coroutine, async generator."""
        return getattr(self, f"{callback.__name__}_{self.style}", callback)

    def parse_document_generator(self, response):
        yield from self.parse_document(response)

    async def parse_document_coroutine(self, response):
        await asyncio.sleep(0.002)
        return self.parse_document(response)

    async def parse_document_async(self, response):
        for output in self.parse_document(response):
            await asyncio.sleep(0.001)
            yield output


def number_in(path):
    """Return the number in ``/kind/number…``."""
    return int(urlsplit(path).path.split("/")[2])


class Plain(GeneratedSpider):
    """Documents and copies, and nothing else."""

    pauses = True
