"""Download pages with Scrapy and the settings of the project."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

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

    from scrapy_simhash.documents.reader import Document, DocumentReader, Skipped

    # A downloaded page, with its text as Scrapy decoded it, and its URL after redirects.
    FetchedPage = tuple[Document | Skipped, str]

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


class _FetchSpider(Spider):
    name = "simhash"
    urls: Sequence[str]
    reader: DocumentReader
    pages: dict[str, FetchedPage]
    problems: dict[str, str]

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(
                url,
                callback=self.keep_page,
                errback=partial(self.keep_problem, url=url),
                cb_kwargs={"url": url},
                dont_filter=True,
            )

    def keep_page(self, response: Response, url: str) -> None:
        if isinstance(response, TextResponse):
            # A crawl judges only the responses that are an HtmlResponse.
            is_html = isinstance(response, HtmlResponse)
            page = self.reader.page(url, response.body, response.text, html=is_html)
            self.pages[url] = (page, response.url)
            return
        header = response.headers.get("Content-Type")
        content_type = "no Content-Type" if header is None else header.decode("latin-1")
        self.problems[url] = (
            f"not text ({content_type}): save its text to a file, and name that file"
        )

    def keep_problem(self, failure: Failure, *, url: str) -> None:
        error = failure.value
        if isinstance(error, HttpError):
            problem = f"the server answered {error.response.status}"
        elif isinstance(error, IgnoreRequest) and "robots" in str(error).lower():
            problem = "the site's robots.txt forbids it (setting ROBOTSTXT_OBEY)"
        else:
            problem = f"{type(error).__name__}: {error}".rstrip(": ")
        self.problems[url] = problem


def fetch_all(
    urls: Sequence[str], settings: Settings | None, reader: DocumentReader
) -> dict[str, FetchedPage]:
    """Download the pages at URLs in one crawl.

    Call this once in a process, because a reactor cannot be restarted. A limit of the reader for
    the length of documents replaces DOWNLOAD_MAXSIZE.

    :param urls: each URL once.
    :param settings: None for the settings of the project.
    :raises SimhashError: a page cannot be fetched, or is not text.
    """
    settings = (project_settings() if settings is None else settings).copy()
    settings.setdict(_OVERRIDDEN, priority="cmdline")
    if reader.max_bytes:
        settings.set("DOWNLOAD_MAXSIZE", reader.max_bytes, priority="cmdline")
    pages: dict[str, FetchedPage] = {}
    problems: dict[str, str] = {}
    # Without a reactor, only AsyncCrawlerProcess works; with one other than asyncio's, the other.
    has_reactor = settings.getbool("TWISTED_REACTOR_ENABLED")
    process = (CrawlerProcess if has_reactor else AsyncCrawlerProcess)(settings)
    process.crawl(_FetchSpider, urls=urls, reader=reader, pages=pages, problems=problems)
    try:
        # With Scrapy's handlers, the first Ctrl-C would wait for running downloads.
        process.start(install_signal_handlers=False)
    except KeyboardInterrupt:
        # Python would wait for the threads of an interrupted reactor at exit.
        if (reactor := sys.modules.get("twisted.internet.reactor")) is not None:
            reactor.getThreadPool().stop()
        raise
    for url in urls:
        if url not in pages:
            problem = problems.get(
                url, "no response arrived; `scrapy simhash … --loglevel DEBUG` shows more"
            )
            raise SimhashError(f"{url} cannot be fetched: {problem}")
    return pages
