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
from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.documents.reader import Document, Skipped, document_of
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from scrapy.http import Response
    from scrapy.settings import Settings
    from twisted.python.failure import Failure


# A command only downloads pages, so these parts of a crawl are off: writing files, judging pages,
# opening ports.
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
    # By position, because a URL may be given twice: the page, or why there is none.
    answers: list[Document | str]

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
        name = self.urls[position]
        if isinstance(response, TextResponse):
            # A crawl judges only the responses that are an HtmlResponse.
            is_html = isinstance(response, HtmlResponse)
            try:
                page = document_of(name, response.text, html=is_html, url=response.url)
                self.answers[position] = page
            except Unreadable as error:
                self.answers[position] = str(Skipped(name, error.reason, error.detail))
            return
        header = response.headers.get("Content-Type")
        content_type = "no Content-Type" if header is None else header.decode("latin-1")
        self.answers[position] = (
            f"{name} is not text ({content_type}): save its text to a file, and name that file"
        )

    def keep_problem(self, failure: Failure, *, position: int) -> None:
        error = failure.value
        if isinstance(error, HttpError):
            problem = f"the server answered {error.response.status}"
        elif isinstance(error, IgnoreRequest) and "robots" in str(error).lower():
            problem = "the site's robots.txt forbids it (setting ROBOTSTXT_OBEY)"
        else:
            problem = f"{type(error).__name__}: {error}".rstrip(": ")
        self.answers[position] = f"{self.urls[position]} cannot be fetched: {problem}"


def fetch_all(urls: Sequence[str], settings: Settings | None, max_bytes: int) -> list[Document]:
    """Download the pages at URLs in one crawl, and return them in the order of the URLs.

    Call this once in a process, because a reactor cannot be restarted.

    :param urls: a URL that is given twice is downloaded twice.
    :param settings: None for the settings of the project.
    :param max_bytes: upper limit of a page, in place of DOWNLOAD_MAXSIZE.
    :raises SimhashError: a page cannot be fetched, or is not text.
    """
    settings = (project_settings() if settings is None else settings).copy()
    settings.setdict(_OVERRIDDEN | {"DOWNLOAD_MAXSIZE": max_bytes}, priority="cmdline")
    answers: list[Document | str] = [
        f"{url} cannot be fetched: no response arrived; `scrapy simhash … --loglevel DEBUG` shows "
        "more"
        for url in urls
    ]
    # CrawlerProcess works with every reactor; AsyncCrawlerProcess works without one.
    has_reactor = settings.getbool("TWISTED_REACTOR_ENABLED")
    process = (CrawlerProcess if has_reactor else AsyncCrawlerProcess)(settings)
    process.crawl(_FetchSpider, urls=urls, answers=answers)
    try:
        # With Scrapy's handlers, the first Ctrl-C would wait for running downloads.
        process.start(install_signal_handlers=False)
    except KeyboardInterrupt:
        # Python would wait for the threads of an interrupted reactor at exit.
        if (reactor := sys.modules.get("twisted.internet.reactor")) is not None:
            reactor.getThreadPool().stop()
        raise
    if problem := next((answer for answer in answers if isinstance(answer, str)), None):
        raise SimhashError(problem)
    return [answer for answer in answers if isinstance(answer, Document)]
