"""Load the page that a command is about, from a URL, a file or standard input."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands._options import whole
from scrapy_simhash.documents.reader import (
    DEFAULT_MAX_BYTES,
    Document,
    DocumentReader,
    HtmlDocument,
    Skipped,
)
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simhash.detector import Detector, PageFingerprint

STANDARD_INPUT = "standard input"
PAGE = "FILE|URL|-"
_URL = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class LoadedPage:
    """The page that a command is about.

    :param name: file or URL, as the user gave it.
    :param text: HTML, or plain text.
    :param url: URL after redirects; None if the page was not fetched.
    """

    name: str
    text: str
    is_html: bool
    url: str | None = None

    def fingerprint(self, detector: Detector) -> PageFingerprint:
        """Return the fingerprint that a crawl would make; plain text counts as a whole."""
        from scrapy_simhash.detector import evidence_of

        if self.is_html:
            page = detector.fingerprint_page(self.text)
        else:
            page = detector.fingerprint_text(self.text)
        return replace(page, evidence=evidence_of(self.url or "", page))


def add_page_arguments(
    parser: argparse.ArgumentParser, name: str | None = "page", explained: str = ""
) -> None:
    """Add the options for reading files, and an argument `name` for a page unless it is None."""
    if name is not None:
        parser.add_argument(
            name, metavar=PAGE, help=explained or "a file, a URL, or standard input"
        )
    add_reading_options(parser, json=False)


def add_reading_options(parser: argparse.ArgumentParser, *, json: bool = True) -> None:
    """Add the options for reading files.

    :param json: also add the options for JSON lines.
    """
    reading = parser.add_argument_group("reading files")
    if json:
        reading.add_argument(
            "--text-field",
            metavar="NAME",
            default="text",
            help="JSON field with the text or HTML (default: %(default)s)",
        )
        reading.add_argument(
            "--name-field",
            metavar="NAME",
            help="JSON field with the name of the document (default: url, else id, else FILE:LINE)",
        )
    reading.add_argument(
        "--encoding",
        type=encoding,
        help="encoding of files (default: declared by the file, else guessed)",
    )
    reading.add_argument(
        "--max-bytes",
        metavar="N",
        type=whole(0),
        default=DEFAULT_MAX_BYTES,
        help="refuse longer files; 0 for no limit (default: %(default)s)",
    )


def reading(options: argparse.Namespace) -> DocumentReader:
    """Return a reader with these options that keeps HTML as it is."""
    return DocumentReader(
        text_field=getattr(options, "text_field", "text"),
        name_field=getattr(options, "name_field", None),
        encoding=options.encoding,
        max_bytes=options.max_bytes,
        keep_html=True,
    )


def load_page(where: str, options: argparse.Namespace) -> LoadedPage:
    """Return one page; see `load_pages`."""
    return load_pages([where], options)[0]


def load_pages(places: Sequence[str], options: argparse.Namespace) -> list[LoadedPage]:
    """Return the pages at URLs, in files, or on standard input.

    All URLs are fetched in one crawl, so call it once in a process.

    :raises SimhashError: a page cannot be read, or has no text.
    """
    read = reading(options)
    if places.count("-") > 1:
        raise SimhashError("standard input can be read once")
    # Read files before the crawl, so that a missing one is reported at once.
    local = {at: _local(at, read) for at in dict.fromkeys(places) if not _URL.match(at)}
    addresses = [at for at in places if _URL.match(at)]
    fetched = iter(_fetched(addresses, read, options) if addresses else ())
    return [local[at] if at in local else next(fetched) for at in places]


def _fetched(
    addresses: Sequence[str], read: DocumentReader, options: argparse.Namespace
) -> Iterator[LoadedPage]:
    from scrapy_simhash.commands._fetching import fetch_all

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
            f"{where}: no such file; the URL of a page begins with http:// or https://"
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
            f"{name} holds more than one document: put one of them in a file of its own"
        )
    return LoadedPage(name=name, text=found.text, is_html=isinstance(found, HtmlDocument), url=url)


def encoding(text: str) -> str:
    """Return the name of an encoding unchanged.

    :raises argparse.ArgumentTypeError: Python has no such encoding.
    """
    try:
        b"text".decode(text, "replace")
    except (LookupError, ValueError, AssertionError):
        raise argparse.ArgumentTypeError(
            f"{text}: Python has no text encoding of this name"
        ) from None
    return text
