"""A spider whose pages fail, by a script, once their copies were dropped; for the child process."""

import asyncio
import os
import signal
import time
from functools import partialmethod

from scrapy_simhash.crawl.retries import Retries
from tests.crawl.spiders import PagesSpider, path_of

DEADLINE_S = 60
HELD_AT_MOST = 2


async def until(happened, what):
    """Wait until something has happened."""
    latest = time.monotonic() + DEADLINE_S
    while not happened():
        assert time.monotonic() < latest, f"{what}: it did not happen"
        await asyncio.sleep(0.005)


class ScriptedSpider(PagesSpider):
    """Requests an original, and copies of it while its callback runs.

    :param requests: the original.
    :param copies: asked for when the first callback runs; arguments as of requests.
        It goes on when all of them were judged.
    :param script: what callbacks do, one after the other, whatever their page: ``keep`` (as do all
        further ones), ``raise``, ``kill`` (the process), or ``link to itself, keep``.
    """

    def __init__(self, *args, copies=(), script=(), **kwargs):
        super().__init__(*args, **kwargs)
        self.copies = list(self.described_requests(copies))
        self.script = list(script)

    def next_step(self):
        return self.script.pop(0) if self.script else "keep"

    async def parse(self, response, **kwargs):
        self.note(response)
        step = self.next_step()
        copies, self.copies = self.copies, []
        for copy in copies:
            self.crawler.engine.crawl(copy)
        if copies:
            stats, count = self.crawler.stats, 1 + len(copies)
            await until(lambda: stats.get_value("simhash/checked", 0) >= count, "all are judged")
        async for output in self.outcome(response, step, {"path": path_of(response)}):
            yield output
        for link in response.css("a.next::attr(href)").getall():
            yield response.follow(link)

    async def outcome(self, response, step, item):
        if step == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if step == "raise":
            raise RuntimeError("this callback fails")
        if step.startswith("link"):
            yield response.follow(response.url)
        yield {"url": response.url, **item}


def hold_few_copies():
    """Hold no copies beyond the second."""
    Retries.__init__ = partialmethod(Retries.__init__, max_held=HELD_AT_MOST)
