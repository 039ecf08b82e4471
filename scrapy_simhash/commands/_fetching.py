"""Download pages with Scrapy and the settings of the project."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError

from scrapy_simhash.commands._settings import project_settings
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.http import Response
    from scrapy.settings import Settings
    from twisted.python.failure import Failure

# A command only downloads pages: the parts of a crawl that write files, judge pages or open ports
# are off.
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

    :param is_html: the response is an HtmlResponse; a crawl judges only these.
    :param url: URL after redirects.
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
        for position, url in enumerate(self.urls):
            yield Request(
                url,
                callback=self.keep_page,
                errback=partial(self.keep_problem, position=position),
                cb_kwargs={"position": position},
                dont_filter=True,
            )

    def keep_page(self, response: Response, position: int) -> None:
        if isinstance(response, TextResponse):
            is_html = isinstance(response, HtmlResponse)
            self.pages[position] = FetchedPage(response.body, response.text, is_html, response.url)
            return
        header = response.headers.get("Content-Type")
        content_type = "no Content-Type" if header is None else header.decode("latin-1")
        self.problems[position] = (
            f"not text ({content_type}): save its text to a file, and name that file"
        )

    def keep_problem(self, failure: Failure, *, position: int) -> None:
        error = failure.value
        if isinstance(error, HttpError):
            problem = f"the server answered {error.response.status}"
        elif isinstance(error, IgnoreRequest) and "robots" in str(error).lower():
            problem = "the site's robots.txt forbids it (setting ROBOTSTXT_OBEY)"
        else:
            problem = f"{type(error).__name__}: {error}".rstrip(": ")
        self.problems[position] = problem


def fetch_all(
    urls: Sequence[str], settings: Settings | None, *, max_bytes: int
) -> list[FetchedPage]:
    """Download the pages at URLs in one crawl, and return them in the order of the URLs.

    Call this once in a process, because a reactor cannot be restarted.

    :param settings: None for the settings of the project.
    :param max_bytes: replaces DOWNLOAD_MAXSIZE; 0 keeps that setting.
    :raises SimhashError: a page cannot be fetched, or is not text.
    """
    settings = (project_settings() if settings is None else settings).copy()
    settings.setdict(_OVERRIDDEN, priority="cmdline")
    if max_bytes:
        settings.set("DOWNLOAD_MAXSIZE", max_bytes, priority="cmdline")
    pages: dict[int, FetchedPage] = {}
    problems: dict[int, str] = {}
    # Without a reactor, only AsyncCrawlerProcess works; with one other than asyncio's, the other.
    has_reactor = settings.getbool("TWISTED_REACTOR_ENABLED")
    process = (CrawlerProcess if has_reactor else AsyncCrawlerProcess)(settings)
    process.crawl(_FetchSpider, urls=urls, pages=pages, problems=problems)
    try:
        # With Scrapy's handlers, the first Ctrl-C would wait for running downloads.
        process.start(install_signal_handlers=False)
    except KeyboardInterrupt:
        _stop_threads()
        raise
    for position, url in enumerate(urls):
        if position not in pages:
            problem = problems.get(
                position, "no response arrived; `scrapy simhash … --loglevel DEBUG` shows more"
            )
            raise SimhashError(f"{url} cannot be fetched: {problem}")
    return [pages[position] for position in range(len(urls))]


def _stop_threads() -> None:
    """Stop the threads of an interrupted reactor, because Python would wait for them at exit."""
    reactor: Any = sys.modules.get("twisted.internet.reactor")
    if reactor is not None:
        reactor.getThreadPool().stop()
