"""Download pages with Scrapy, by the settings of the project."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.reactor import _asyncio_reactor_path

from scrapy_simhash.commands._settings import project_settings
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.http import Response
    from scrapy.settings import Settings
    from twisted.python.failure import Failure

# A command must not write the project's feeds, nor run the plugin.
_OVERRIDDEN: dict[str, Any] = {
    "FEEDS": {},
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
    "LOG_STDOUT": False,
    "SIMHASH_ENABLED": False,
    "SPIDER_MODULES": [],
    "TELNETCONSOLE_ENABLED": False,
}


class FetchedPage(NamedTuple):
    """A downloaded page, with its text as Scrapy decoded it.

    :param is_html: True for an HtmlResponse, which a crawl would judge.
    :param url: URL of the response, after redirects.
    """

    content: bytes
    text: str
    is_html: bool
    url: str


class _FetchSpider(Spider):
    name = "simhash"
    urls: Sequence[str]
    # Keyed by position, because a URL may be given twice.
    pages: dict[int, FetchedPage]
    problems: dict[int, str]

    async def start(self) -> AsyncIterator[Any]:
        for place, url in enumerate(self.urls):
            yield Request(
                url,
                callback=self.take,
                errback=partial(self.fail, place=place),
                cb_kwargs={"place": place},
                dont_filter=True,
            )

    def take(self, response: Response, place: int) -> None:
        if isinstance(response, TextResponse):
            is_html = isinstance(response, HtmlResponse)
            self.pages[place] = FetchedPage(response.body, response.text, is_html, response.url)
            return
        found = response.headers.get("Content-Type")
        content_type = "no Content-Type" if found is None else found.decode("latin-1")
        self.problems[place] = (
            f"not text ({content_type}): save its text to a file, and name that file"
        )

    def fail(self, failure: Failure, *, place: int) -> None:
        error = failure.value
        if isinstance(error, HttpError):
            problem = f"the server answered {error.response.status}"
        elif isinstance(error, IgnoreRequest) and "robots" in str(error).lower():
            problem = "the site's robots.txt forbids it (setting ROBOTSTXT_OBEY)"
        else:
            problem = f"{type(error).__name__}: {error}".rstrip(": ")
        self.problems[place] = problem


def fetch_all(
    urls: Sequence[str], settings: Settings | None, *, max_bytes: int
) -> list[FetchedPage]:
    """Return the pages at URLs, downloaded in one crawl.

    Call it once in a process: a reactor cannot run again.

    :param settings: None for the settings of the project.
    :param max_bytes: 0 leaves the limit of Scrapy.
    :raises SimhashError: a page cannot be fetched, or is not text.
    """
    settings = (project_settings() if settings is None else settings).copy()
    settings.setdict(_OVERRIDDEN, priority="cmdline")
    if max_bytes:
        settings.set("DOWNLOAD_MAXSIZE", max_bytes, priority="cmdline")
    pages: dict[int, FetchedPage] = {}
    problems: dict[int, str] = {}
    # As scrapy.cmdline.execute chooses.
    asynchronous = (
        settings["TWISTED_REACTOR"] == _asyncio_reactor_path
        and not settings.getbool("FORCE_CRAWLER_PROCESS")
    ) or not settings.getbool("TWISTED_REACTOR_ENABLED")
    process = (AsyncCrawlerProcess if asynchronous else CrawlerProcess)(settings)
    process.crawl(_FetchSpider, urls=urls, pages=pages, problems=problems)
    try:
        # Scrapy's handlers would make Ctrl-C slow.
        process.start(install_signal_handlers=False)
    except KeyboardInterrupt:
        _end_threads()
        raise
    for place, url in enumerate(urls):
        if place not in pages:
            problem = problems.get(place, "no response arrived; --loglevel DEBUG shows more")
            raise SimhashError(f"{url} cannot be fetched: {problem}")
    return [pages[place] for place in range(len(urls))]


def _end_threads() -> None:
    """Stop the threads of an interrupted reactor; Python would wait for them at exit."""
    reactor: Any = sys.modules.get("twisted.internet.reactor")
    if reactor is not None:
        reactor.getThreadPool().stop()
