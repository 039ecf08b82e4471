"""Download pages with Scrapy and the settings of the project."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.http import HtmlResponse, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError

from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.documents.reader import Document, document_of
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy.http import Response
    from scrapy.settings import Settings


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
    # URL → the page, or why there is none.
    answers: dict[str, Document | str]

    async def start(self) -> AsyncIterator[Any]:
        for url in self.answers:
            yield Request(
                url,
                callback=self.keep_page,
                errback=self.keep_problem,
                cb_kwargs={"name": url},
                dont_filter=True,
            )

    def keep_page(self, response: Response, name: str) -> None:
        # A crawl judges only the responses that are an HtmlResponse.
        is_html = isinstance(response, HtmlResponse)
        try:
            if not isinstance(response, TextResponse):
                raise Unreadable("not text: save its text to a file, and name that file", name)
            self.answers[name] = document_of(name, response.text, html=is_html, url=response.url)
        except Unreadable as error:
            self.answers[name] = error.reason

    def keep_problem(self, failure: Any) -> None:
        error, name = failure.value, failure.request.cb_kwargs["name"]
        problem = f"{type(error).__name__}: {error}"
        if isinstance(error, HttpError):
            problem = f"the server answered {error.response.status}"
        self.answers[name] = f"it cannot be fetched ({problem})"


def fetch_all(urls: Iterable[str], settings: Settings, max_bytes: int) -> dict[str, Document]:
    """Download the pages at URLs in one crawl, and return them by URL.

    Call this once in a process, because a reactor cannot be restarted.

    :param max_bytes: upper limit of a page, in place of DOWNLOAD_MAXSIZE.
    :raises SimhashError: a page cannot be fetched, or is not text.
    """
    settings = settings.copy()
    settings.setdict(_OVERRIDDEN | {"DOWNLOAD_MAXSIZE": max_bytes}, priority="cmdline")
    nothing = "no response arrived; `scrapy simhash … --loglevel DEBUG` shows more"
    answers: dict[str, Document | str] = dict.fromkeys(urls, nothing)
    # CrawlerProcess works with every reactor; AsyncCrawlerProcess works without one.
    has_reactor = settings.getbool("TWISTED_REACTOR_ENABLED")
    process = (CrawlerProcess if has_reactor else AsyncCrawlerProcess)(settings)
    process.crawl(_FetchSpider, answers=answers)
    try:
        # With Scrapy's handlers, the first Ctrl-C would wait for running downloads.
        process.start(install_signal_handlers=False)
    except KeyboardInterrupt:
        # Python would wait for the threads of an interrupted reactor at exit.
        if (reactor := sys.modules.get("twisted.internet.reactor")) is not None:
            reactor.getThreadPool().stop()
        raise
    for url, answer in answers.items():
        if isinstance(answer, str):
            raise SimhashError(f"{url}: {answer}")
    return {url: answer for url, answer in answers.items() if isinstance(answer, Document)}
