"""Generated spiders that ask again: for pages behind walls and bans, and for pages that failed."""

import asyncio
from typing import Any, ClassVar

from scrapy import FormRequest, Request, signals
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DontCloseSpider

from tests.crawl.generated_spiders import (
    BAN,
    COMPONENTS,
    HOST,
    GeneratedSpider,
    links,
    named_item,
    number_in,
    page,
    prose,
)


class _BaseIdle(GeneratedSpider):
    """Requests what waits when the spider is idle."""

    def prepare(self, crawler):
        crawler.signals.connect(self.idle, signals.spider_idle)
        self.waiting = []

    def idle(self):
        if self.waiting:
            waiting, self.waiting = self.waiting, []
            for request in waiting:
                if isinstance(request, Request):  # else a task that requests it
                    self.crawler.engine.crawl(request)
            raise DontCloseSpider


class _BaseWalled(_BaseIdle):
    """A wall stands before the documents until something is done about it."""

    wall = ""

    def answer(self, path, request, count):
        if path == "/open":
            return 200, {"Set-Cookie": "open=1; Path=/"}, page("Thanks", "You may go on now.")
        if path.startswith("/d/") and self.is_closed(request, count):
            return self.wall
        return super().answer(path, request, count)

    def is_closed(self, request, count):
        return b"open=1" not in (request.headers.get("Cookie") or b"")

    def is_wall(self, response):
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

    def idle(self):
        if self.waiting:
            urls, self.waiting = self.waiting, []
            again = {"callback": self.again, "cb_kwargs": {"urls": urls}}
            self.crawler.engine.crawl(Request(f"{HOST}/open", dont_filter=True, **again))
            raise DontCloseSpider

    def again(self, response, urls):
        for url in urls:
            yield Request(url, self.parse_document, dont_filter=True)

    def parse(self, response):
        callback = self.parse_inline if self.way == "inline" else self.parse_document
        return [response.follow(a, callback) for a in response.css("a.d")]

    def parse_document(self, response):
        if not self.is_wall(response):
            yield named_item(response)
        elif self.way == "idle":
            self.waiting.append(response.url)
        else:
            yield FormRequest.from_response(
                response, callback=self.again, cb_kwargs={"urls": [response.url]}, dont_filter=True
            )

    async def parse_inline(self, response):
        if self.is_wall(response):
            form = FormRequest.from_response(response)
            await self.crawler.engine.download_async(form)
            yield response.request.replace(dont_filter=True)
        else:
            yield named_item(response)


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

    def prepare(self, crawler):
        super().prepare(crawler)
        if self.way == "plain":
            crawler.settings.set("DUPEFILTER_CLASS", "scrapy.dupefilters.BaseDupeFilter", "spider")
        self.bans = self.random.randint(1, 2)
        # Pages before the first ban; if no banned page is requested again, at least some.
        self.late = 3 if self.way == "error" else self.random.choice((0, 0, 3))
        self.answered = 0

    def is_closed(self, request, count):
        self.answered += 1
        if self.answered <= self.late:
            return False
        return "t=" not in request.url if self.way == "buster" else count <= self.bans

    def parse(self, response):
        callback = self.parse_inline if self.way == "inline" else self.parse_document
        return [
            response.follow(a, callback, errback=self.failed_page, cb_kwargs={"attempt": 0})
            for a in response.css("a.d")
        ]

    def failed_page(self, failure):
        """Do nothing, as most errbacks."""

    def parse_document(self, response, attempt=0):
        if not self.is_wall(response):
            return [named_item(response)]
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

    async def parse_inline(self, response, attempt=0):
        while self.is_wall(response):
            again = Request(response.url, dont_filter=True)
            response = await self.crawler.engine.download_async(again)
        yield named_item(response)


class Errback(_BaseIdle):
    """An errback requests each failed page again, and gives an item for it in the end."""

    ways = (
        *("same", "copied", "buster", "engine", "engine buster", "engine path", "engine later"),
        *("idle buster", "idle path", "all by engine"),
    )

    async def later(self, request):
        await asyncio.sleep(0.01)
        self.crawler.engine.crawl(request)

    def parse(self, response):
        for a in response.css("a.d"):
            request = response.follow(a, self.parse_document, errback=self.failed)
            if self.way == "all by engine":
                self.crawler.engine.crawl(request)
            else:
                yield request

    def failed(self, failure):
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


class Gated(GeneratedSpider):
    """A page before each document is the same for all: one that asks, or one that tells to wait."""

    pauses = True

    ways = ("ask", "other callback", "constant", "poll")

    def answer(self, path, request, count):
        if path.startswith("/gate/"):
            number, step = number_in(path), int(path.split("/")[3])
            following = f"/gate/{number}/{step + 1}" if step < 3 else f"/d/{number}"
            if self.way != "poll":
                following = f"/d/{number}"
            return page("One moment", prose("one moment"), links([following], "n"))
        return super().answer(path, request, count)

    def listed(self):
        return [f"/gate/{number}/0" for number in range(self.documents)]

    def parse_document(self, response):
        links_on = response.css("a.n")
        if not links_on:
            return super().parse_document(response)
        if self.way == "constant":
            urls = links_on[0].attrib["href"], links_on[0].attrib["href"] + "00"
            return [response.follow(url, self.parse_answer, meta={"is": "asked"}) for url in urls]
        callback = self.parse_answer if self.way == "other callback" else self.parse_document
        return [response.follow(links_on[0], callback)]

    def parse_answer(self, response):
        yield named_item(response)


class Polled(GeneratedSpider):
    """One URL whose content changes, and returns to what it was."""

    ways = ("callback", "start")
    contents = (1, 1, 2, 1, 3, 2, 1, 4)
    settings_of_shape: ClassVar[dict[str, Any]] = {"CONCURRENT_REQUESTS": 1}

    async def start(self):
        for _ in range(1 if self.way == "callback" else len(self.contents)):
            yield Request(f"{HOST}/status", dont_filter=True)

    def answer(self, path, request, count):
        content = self.contents[min(count, len(self.contents)) - 1]
        return page("Status", prose(f"status {content}"))

    def parse(self, response):
        yield {"content": (response.css("p::text").get() or "")[:40]}
        if self.way == "callback" and self.asked["/status"] < len(self.contents):
            yield response.request.replace(dont_filter=True)
