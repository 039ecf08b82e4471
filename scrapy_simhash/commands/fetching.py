"""fetch: one page, downloaded by Scrapy with the project's settings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import TextResponse
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.reactor import _asyncio_reactor_path

from scrapy_simhash.commands.project import project_settings
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response
    from scrapy.settings import Settings
    from twisted.python.failure import Failure

# Not what a project does with its own pages. Our add-on would take this one for one of a crawl.
_OVERRIDDEN: dict[str, Any] = {
    "FEEDS": {},
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
    "LOG_STDOUT": False,
    "SIMHASH_ENABLED": False,
    "SPIDER_MODULES": [],
    "TELNETCONSOLE_ENABLED": False,
}


class Page(NamedTuple):
    """What came back."""

    content: bytes
    content_type: str | None


class _OnePage(Spider):
    name = "simhash"
    address: str
    pages: list[Page]
    problems: list[str]

    async def start(self) -> AsyncIterator[Any]:
        yield Request(
            self.address, callback=self.take, errback=self.fail, meta={"dont_simhash": True}
        )

    def take(self, response: Response) -> None:
        found = response.headers.get("Content-Type")
        content_type = None if found is None else found.decode("latin-1")
        if isinstance(response, TextResponse):
            self.pages.append(Page(response.body, content_type))
        else:
            self.problems.append(
                f"it is no text ({content_type or 'of no type'}): save its text in a file, and "
                "check that"
            )

    def fail(self, failure: Failure) -> None:
        error = failure.value
        if isinstance(error, HttpError):
            problem = f"the server answers {error.response.status}"
        elif isinstance(error, IgnoreRequest) and "robots" in str(error).lower():
            problem = "its site's robots.txt forbids it (the setting ROBOTSTXT_OBEY)"
        else:
            problem = f"{type(error).__name__}: {error}".rstrip(": ")
        self.problems.append(problem)


def fetch(address: str, settings: Settings | None, *, max_bytes: int) -> Page:
    """The page at a URL. Once in a process, for a reactor cannot be run again.

    :param settings: those of the project, if absent.
    :raises SimhashError: there is none, or it is no text.
    """
    settings = (project_settings() if settings is None else settings).copy()
    settings.setdict(_OVERRIDDEN, priority="cmdline")
    if max_bytes:
        settings.set("DOWNLOAD_MAXSIZE", max_bytes, priority="cmdline")
    pages: list[Page] = []
    problems: list[str] = []
    # As Scrapy itself chooses.
    asynchronous = (
        settings["TWISTED_REACTOR"] == _asyncio_reactor_path
        and not settings.getbool("FORCE_CRAWLER_PROCESS")
    ) or not settings.getbool("TWISTED_REACTOR_ENABLED")
    process = (AsyncCrawlerProcess if asynchronous else CrawlerProcess)(settings)
    process.crawl(_OnePage, address=address, pages=pages, problems=problems)
    try:
        # Ctrl-C is ours: it ends the command at once.
        process.start(install_signal_handlers=False)
    except KeyboardInterrupt:
        _end_threads()
        raise
    if not pages:
        problem = problems[0] if problems else "nothing came back; --loglevel DEBUG shows more"
        raise SimhashError(f"{address} cannot be fetched: {problem}")
    return pages[0]


def _end_threads() -> None:
    """A reactor that was interrupted leaves threads behind, for which Python would wait."""
    reactor: Any = sys.modules.get("twisted.internet.reactor")
    if reactor is not None:
        reactor.getThreadPool().stop()
