"""The page that a command is about: a URL, a file or standard input."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, TextResponse
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.reactor import _asyncio_reactor_path

from scrapy_simhash.commands._options import whole
from scrapy_simhash.commands._settings import project_settings
from scrapy_simhash.documents.reader import (
    DEFAULT_MAX_BYTES,
    Document,
    DocumentReader,
    HtmlDocument,
    Skipped,
)
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy.http import Response
    from scrapy.settings import Settings
    from twisted.python.failure import Failure

    from scrapy_simhash.detector import Detector, PageFingerprint

STANDARD_INPUT = "standard input"


PAGE = "FILE|URL|-"


_URL = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class LoadedPage:
    """A page to look at.

    :param name: as it was asked for.
    :param text: its HTML, or a plain text.
    :param url: where it was fetched, after redirects; None if it was not.
    """

    name: str
    text: str
    is_html: bool
    url: str | None = None

    def fingerprint(self, detector: Detector) -> PageFingerprint:
        """What a crawl would make of it; of a plain text, all of it counts."""
        from scrapy_simhash.detector import evidence_of

        if self.is_html:
            page = detector.fingerprint_page(self.text)
        else:
            page = detector.fingerprint_text(self.text)
        return replace(page, evidence=evidence_of(self.url or "", page))


def add_page_arguments(
    parser: argparse.ArgumentParser, name: str | None = "page", explained: str = ""
) -> None:
    """Add how files are read, and unless `name` is None an argument of that name for a page."""
    if name is not None:
        parser.add_argument(
            name, metavar=PAGE, help=explained or "a file, a URL, or standard input"
        )
    add_reading_options(parser, json=False)


def add_reading_options(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    """Add how files are read.

    :param json: whether those of JSON lines are, too.
    """
    reading = parser.add_argument_group("reading files")
    if json:
        reading.add_argument(
            "--text-field",
            metavar="NAME",
            default="text",
            help="of JSON: the text or HTML (default: %(default)s)",
        )
        reading.add_argument(
            "--name-field",
            metavar="NAME",
            help="of JSON: the document's name (default: url, else id; without one, FILE:LINE)",
        )
    reading.add_argument(
        "--encoding", type=encoding, help="of files (default: what they say, else a guess)"
    )
    reading.add_argument(
        "--max-bytes",
        metavar="N",
        type=whole(0),
        default=DEFAULT_MAX_BYTES,
        help="longer ones are refused; 0 for none (default: %(default)s)",
    )


def reading(options: argparse.Namespace) -> DocumentReader:
    """How files are read: pages as they are."""
    return DocumentReader(
        text_field=getattr(options, "text_field", "text"),
        name_field=getattr(options, "name_field", None),
        encoding=options.encoding,
        max_bytes=options.max_bytes,
        keep_html=True,
    )


def load_page(where: str, options: argparse.Namespace) -> LoadedPage:
    """The page there; see `load_pages`."""
    return load_pages([where], options)[0]


def load_pages(places: Sequence[str], options: argparse.Namespace) -> list[LoadedPage]:
    """The pages at URLs (fetched in one crawl: once in a process), in files, or on standard input.

    :raises SimhashError: one cannot be had, or has no text.
    """
    read = reading(options)
    if places.count("-") > 1:
        raise SimhashError("standard input can be read once")
    # What is cheap to find missing, first.
    local = {at: _local(at, read) for at in dict.fromkeys(places) if not _URL.match(at)}
    addresses = [at for at in places if _URL.match(at)]
    fetched = iter(_fetched(addresses, read, options) if addresses else ())
    return [local[at] if at in local else next(fetched) for at in places]


def _fetched(
    addresses: Sequence[str], read: DocumentReader, options: argparse.Namespace
) -> Iterator[LoadedPage]:

    pages = fetch_all(addresses, options.settings, max_bytes=read.max_bytes)
    for address, page in zip(addresses, pages, strict=True):
        documents = iter([read.page(address, page.content, page.text, html=page.is_html)])
        yield _loaded(address, documents, url=page.url)


def _local(where: str, read: DocumentReader) -> LoadedPage:
    if where == "-":
        if sys.stdin is None:
            raise SimhashError("standard input is closed: name a file")
        return _loaded(STANDARD_INPUT, read.stream(STANDARD_INPUT, sys.stdin.buffer))
    if not where:  # Path("") is the working directory
        raise SimhashError("a file without a name: an empty variable of the shell?")
    path = Path(where)
    if path.is_dir():
        raise SimhashError(f"{where} is a folder: name one file in it")
    if not path.exists():
        raise SimhashError(
            f"{where}: there is no such file, and the URL of a page begins with http:// or https://"
        )
    return _loaded(where, read.file(path))


def _loaded(
    name: str, documents: Iterator[Document | Skipped], url: str | None = None
) -> LoadedPage:
    found = next(documents, None)
    if found is None:
        raise SimhashError(f"{name}: no text in it")
    if isinstance(found, Skipped):
        detail = f" ({found.detail})" if found.detail else ""
        raise SimhashError(f"{found.place}: {found.reason}{detail}")
    if next(documents, None) is not None:
        raise SimhashError(
            f"{name} holds more than one document: put the one that is meant in a file of its own"
        )
    return LoadedPage(name=name, text=found.text, is_html=isinstance(found, HtmlDocument), url=url)


def encoding(text: str) -> str:
    """For an option that takes the name of an encoding."""
    try:
        b"text".decode(text, "replace")
    except (LookupError, ValueError, AssertionError):
        raise argparse.ArgumentTypeError(f"{text}: Python knows no such encoding of text") from None
    return text


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
    """A response, with its text as Scrapy decoded it.

    :param is_html: a crawl would take it for a page.
    :param url: of the response, after redirects.
    """

    content: bytes
    text: str
    is_html: bool
    url: str


class _Pages(Spider):
    name = "simhash"
    addresses: Sequence[str]
    # By the places of their addresses, for one may be asked for twice.
    pages: dict[int, Page]
    problems: dict[int, str]

    async def start(self) -> AsyncIterator[Any]:
        for place, address in enumerate(self.addresses):
            yield Request(
                address,
                callback=self.take,
                errback=partial(self.fail, place=place),
                cb_kwargs={"place": place},
                meta={"dont_simhash": True},
                dont_filter=True,
            )

    def take(self, response: Response, place: int) -> None:
        if isinstance(response, TextResponse):
            is_html = isinstance(response, HtmlResponse)
            self.pages[place] = Page(response.body, response.text, is_html, response.url)
            return
        found = response.headers.get("Content-Type")
        content_type = "of no type" if found is None else found.decode("latin-1")
        self.problems[place] = (
            f"it is no text ({content_type}): save its text in a file, and name that file"
        )

    def fail(self, failure: Failure, *, place: int) -> None:
        error = failure.value
        if isinstance(error, HttpError):
            problem = f"the server answers {error.response.status}"
        elif isinstance(error, IgnoreRequest) and "robots" in str(error).lower():
            problem = "its site's robots.txt forbids it (the setting ROBOTSTXT_OBEY)"
        else:
            problem = f"{type(error).__name__}: {error}".rstrip(": ")
        self.problems[place] = problem


def fetch(address: str, settings: Settings | None, *, max_bytes: int) -> Page:
    """The page at a URL; see `fetch_all`."""
    return fetch_all([address], settings, max_bytes=max_bytes)[0]


def fetch_all(addresses: Sequence[str], settings: Settings | None, *, max_bytes: int) -> list[Page]:
    """The pages at URLs, in one crawl. Once in a process, for a reactor cannot be run again.

    :param settings: those of the project, if absent.
    :raises SimhashError: one of them is not there, or is no text.
    """
    settings = (project_settings() if settings is None else settings).copy()
    settings.setdict(_OVERRIDDEN, priority="cmdline")
    if max_bytes:
        settings.set("DOWNLOAD_MAXSIZE", max_bytes, priority="cmdline")
    pages: dict[int, Page] = {}
    problems: dict[int, str] = {}
    # As Scrapy itself chooses.
    asynchronous = (
        settings["TWISTED_REACTOR"] == _asyncio_reactor_path
        and not settings.getbool("FORCE_CRAWLER_PROCESS")
    ) or not settings.getbool("TWISTED_REACTOR_ENABLED")
    process = (AsyncCrawlerProcess if asynchronous else CrawlerProcess)(settings)
    process.crawl(_Pages, addresses=addresses, pages=pages, problems=problems)
    try:
        # Ctrl-C is ours: it ends the command at once.
        process.start(install_signal_handlers=False)
    except KeyboardInterrupt:
        _end_threads()
        raise
    for place, address in enumerate(addresses):
        if place not in pages:
            problem = problems.get(place, "nothing came back; --loglevel DEBUG shows more")
            raise SimhashError(f"{address} cannot be fetched: {problem}")
    return [pages[place] for place in range(len(addresses))]


def _end_threads() -> None:
    """A reactor that was interrupted leaves threads behind, for which Python would wait."""
    reactor: Any = sys.modules.get("twisted.internet.reactor")
    if reactor is not None:
        reactor.getThreadPool().stop()
