"""The page that a command is about: a URL, a file or standard input → its HTML or text."""

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
