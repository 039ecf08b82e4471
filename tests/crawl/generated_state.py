"""Generated spiders whose requests, sessions or attributes carry what the items need."""

import asyncio
import functools
from urllib.parse import parse_qs, urlsplit

from itemloaders import ItemLoader
from scrapy import Request

from tests.crawl.generated_spiders import (
    BAN,
    COMPONENTS,
    HOST,
    GeneratedSpider,
    RequestFor,
    links,
    number_in,
    page,
    prose,
)


class Carried(GeneratedSpider):
    """A half-filled item goes to a second page, which is the same for all documents."""

    # test_arguments.py has more objects.
    ways = ("kwargs", "meta", "loader", "partial", "response", "attribute")

    def answer(self, path, request, count):
        if path.startswith("/reviews"):
            return page("Reviews", prose("no reviews yet"))
        if path.startswith("/d/"):
            number = number_in(path)
            return self.document(number, links([f"/reviews/{number}"], "r"))
        return super().answer(path, request, count)

    def parse_document(self, response):
        name, way = response.css("h1::text").get(), self.way
        link = response.css("a.r")[0]
        item = response if way == "response" else {"name": name}
        if way == "loader":
            item = ItemLoader({})
            item.add_value("name", name)
        if way == "partial":
            return [response.follow(link, functools.partial(self.parse_reviews, item=item))]
        if way == "meta":
            return [response.follow(link, self.parse_reviews, meta={"_item": item})]
        if way == "attribute":
            url = response.urljoin(link.attrib["href"])
            return [RequestFor(url, item, callback=self.parse_reviews)]
        return [response.follow(link, self.parse_reviews, cb_kwargs={"item": item})]

    def parse_reviews(self, response, item=None):
        item = response.meta.get("_item", item) or response.request.item
        if hasattr(item, "load_item"):
            item = item.load_item()
        name = item["name"] if isinstance(item, dict) else item.css("h1::text").get()
        yield {"content": f"{name} {response.css('h1::text').get()}"}


class Gathered(GeneratedSpider):
    """An item is complete when the pages of all variants were parsed."""

    ways = ("meta", "kwargs", "spider", "slow")

    def answer(self, path, request, count):
        if path.startswith("/v/"):
            colour = path.rsplit("/", 1)[1]
            return self.document(number_in(path), f"<p>Available in {colour}.</p>")
        if path.startswith("/d/"):
            number = number_in(path)
            variants = [f"/v/{number}/{colour}" for colour in ("red", "blue", "green")]
            return page(self.named(number), prose(f"list {number}"), links(variants, "v"))
        return super().answer(path, request, count)

    def listed(self):
        return [f"/d/{number}" for number in range(self.documents)]

    def parse_document(self, response):
        name = response.css("h1::text").get()
        found = response.css("a.v::attr(href)").getall()
        state = {"name": name, "found": [], "missing": len(found)}
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

    def parse_variant(self, response, state=None):
        state = response.meta.get("state", state)
        if isinstance(state, str):
            state = self.__dict__["gathered"][state]
        state["found"].append(response.url.rsplit("/", 1)[1])
        state["missing"] -= 1
        if not state["missing"]:
            yield {"content": f"{state['name']} {sorted(state['found'])}"}

    async def parse_slowly(self, response, state):
        await asyncio.sleep(0.02)  # the other variants arrive before this one has been added
        for item in self.parse_variant(response, state):
            yield item


class Remembered(Carried):
    """The spider keeps half-filled items until a last page arrives, which is the same for all."""

    ways = ("plain", "constant", "price")

    def parse_document(self, response):
        number = number_in(response.url[len(HOST) :])
        kept = self.__dict__.setdefault("kept", {})
        kept[number] = response.css("h1::text").get()
        return [response.follow(response.css("a.r")[0], self.parse_reviews)]

    def parse_reviews(self, response):
        name = self.__dict__["kept"][number_in(response.url[len(HOST) :])]
        item = {"content": name, "found": response.css("li::text").getall()}
        if self.way == "constant":
            item["source"] = "the catalogue of somebody"
        if self.way == "price":
            item["content"] = 100.5 + int(name.rsplit(" ", 1)[1])
        yield item


class Halves(GeneratedSpider):
    """An item is complete when both of its pages were parsed, one of which is the same for all."""

    def answer(self, path, request, count):
        if path.startswith("/stars/"):
            return page("Ratings", prose("no ratings yet"))
        return super().answer(path, request, count)

    def parse(self, response):
        self.found = {}
        for number in range(self.documents):
            yield response.follow(f"/d/{number}", self.parse_document)
            yield response.follow(f"/stars/{number}", self.parse_stars)

    def parse_document(self, response):
        return self.fill(response, "content", response.css("h1::text").get())

    def parse_stars(self, response):
        return self.fill(response, "stars", len(response.css("li")))

    def fill(self, response, name, value):
        item = self.found.setdefault(number_in(response.url[len(HOST) :]), {})
        item[name] = value
        return [item] if len(item) == 2 else []


class Sessions(GeneratedSpider):
    """The same start page in several sessions, each of which leads to its own offers."""

    ways = ("cookiejar", "headers", "language")

    async def start(self):
        for country in ("de", "fr", "it", "es"):
            url = f"{HOST}/shop?country={country}"
            if self.way == "language":
                url, headers = f"{HOST}/offers?country={country}", {"Accept-Language": country}
                yield Request(url, self.parse_document, headers=headers)
            else:
                yield Request(url, meta={self.way.replace("headers", "country"): country})

    def answer(self, path, request, count):
        if path.startswith("/shop"):
            country = parse_qs(urlsplit(path).query)["country"][0]
            headers = {"Set-Cookie": f"country={country}; Path=/"}
            return 200, headers, page("Choose", prose("choose"), links(["/offers"], "n"))
        cookie = request.headers.get("Cookie") or b""
        given = request.headers.get("X-Country") or cookie.partition(b"country=")[2][:2]
        if path != "/offers":
            country = request.headers["Accept-Language"].decode()
            return page("Offers", prose("offers"), f"<b>{country}</b>")
        country = given.decode()
        return page(f"Offers in {country}", prose(f"offers {country}"))

    def parse_document(self, response):
        return [{"content": response.css("b::text, h1::text").getall()[-1]}]

    def parse(self, response):
        given = {"meta": {"cookiejar": response.meta.get("cookiejar")}}
        if self.way == "headers":
            given = {"headers": {"X-Country": response.meta["country"]}}
        yield response.follow(
            response.css("a.n")[0], self.parse_document, dont_filter=True, **given
        )


class Others(Carried):
    """Middlewares of others add to meta and cb_kwargs, retry, answer for exceptions, or filter."""

    ways = ("kwargs", "meta")
    middlewares = ("Stamping", "Injecting", "Retrying", "Sticky", "Answering", "Caching", "Adding")

    def prepare(self, crawler):
        self.middleware = self.random.choice(self.middlewares)
        is_of_spider = self.middleware in ("Sticky", "Answering", "Adding")
        kind = "SPIDER" if is_of_spider else "DOWNLOADER"
        name, order = f"{COMPONENTS}.{self.middleware}Middleware", self.random.choice((50, 950))
        crawler.settings.set(f"{kind}_MIDDLEWARES", {name: order}, "spider")

    def answer(self, path, request, count):
        if self.middleware == "Retrying" and path.startswith("/d/") and count == 1:
            return BAN
        return super().answer(path, request, count)
