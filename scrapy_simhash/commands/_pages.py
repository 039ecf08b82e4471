"""Load the page that a command is about, from a URL, a file or standard input."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands._options import whole
from scrapy_simhash.commands._output import note
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
_SHOWN_SKIPS = 20


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

    @property
    def shown_name(self) -> str:
        """Return the name, and the URL if a redirect led to another one."""
        return self.name if self.url in (None, self.name) else f"{self.name} ({self.url})"

    def fingerprint(self, detector: Detector) -> PageFingerprint:
        """Return the fingerprint that a crawl would make; plain text counts as a whole."""
        from scrapy_simhash.detector import evidence_of

        if self.is_html:
            page = detector.fingerprint_page(self.text)
        else:
            page = detector.fingerprint_text(self.text)
        return replace(page, evidence=evidence_of(self.url or "", page))


def add_page_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an argument for a page, and the options for reading files."""
    parser.add_argument("page", metavar=PAGE, help="a file, a URL, or standard input")
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


def reading(options: argparse.Namespace, *, keep_html: bool = True) -> DocumentReader:
    """Return a reader with these options.

    :param keep_html: keep pages as they are, instead of their main text.
    """
    return DocumentReader(
        text_field=getattr(options, "text_field", "text"),
        name_field=getattr(options, "name_field", None),
        encoding=options.encoding,
        max_bytes=options.max_bytes,
        keep_html=keep_html,
    )


def existing_paths(files: Sequence[str]) -> list[Path]:
    """Return the paths of files and folders.

    :raises SimhashError: one does not exist.
    """
    for file in files:
        _check_name(file)
        if not Path(file).exists():
            advice = ": standard input is not read here" if file == "-" else ""
            raise SimhashError(f"{file}: no such file{advice}")
    return [Path(file) for file in files]


def is_url(text: str) -> bool:
    """Return True for the URL of a page, and False for the name of a file."""
    return re.match(r"https?://", text, re.IGNORECASE) is not None


def _check_name(file: str) -> None:
    if not file:  # Path("") is the working directory
        raise SimhashError("a file without a name: an empty variable of the shell?")


class Skips:
    """A counter of unreadable documents, by reason, that reports the first ones."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, skipped: Skipped) -> None:
        """Count a document."""
        self.counts[skipped.reason] += 1
        count = self.counts.total()
        if count <= _SHOWN_SKIPS:
            note(f"skipped {_why(skipped)}")
        elif count == _SHOWN_SKIPS + 1:
            note("skipped more documents; all are counted below")


def _why(skipped: Skipped) -> str:
    detail = f" ({skipped.detail})" if skipped.detail else ""
    return f"{skipped.place}: {skipped.reason}{detail}"


def load_page(where: str, options: argparse.Namespace) -> LoadedPage:
    """Return one page; see `load_pages`."""
    return load_pages([where], options)[0]


def load_pages(places: Sequence[str], options: argparse.Namespace) -> list[LoadedPage]:
    """Return the pages at URLs, in files, or on standard input.

    All URLs are fetched in one crawl, so call it once in a process.

    :raises SimhashError: a page cannot be read, or has no text.
    """
    documents = _documents(places, reading(options), options)
    return [
        LoadedPage(
            name=STANDARD_INPUT if place == "-" else place,
            text=document.text,
            is_html=isinstance(document, HtmlDocument),
            url=url,
        )
        for place, (document, url) in zip(places, documents, strict=True)
    ]


def load_document(place: str, options: argparse.Namespace) -> Document:
    """Return the main text at a URL, in a file, or on standard input.

    :raises SimhashError: it cannot be read, has no text, or has several documents.
    """
    return _documents([place], reading(options, keep_html=False), options)[0][0]


def _documents(
    places: Sequence[str], read: DocumentReader, options: argparse.Namespace
) -> list[tuple[Document, str | None]]:
    """Return the document at each place, and its URL after redirects if it was fetched."""
    if places.count("-") > 1:
        raise SimhashError("standard input can be read once")
    # Read files before the crawl, so that a missing one is reported at once.
    local = {at: (_local(at, read), None) for at in dict.fromkeys(places) if not is_url(at)}
    addresses = [at for at in places if is_url(at)]
    fetched = iter(_fetched(addresses, read, options) if addresses else ())
    return [local[at] if at in local else next(fetched) for at in places]


def _fetched(
    addresses: Sequence[str], read: DocumentReader, options: argparse.Namespace
) -> Iterator[tuple[Document, str]]:
    from scrapy_simhash.commands._fetching import fetch_all

    pages = fetch_all(addresses, options.settings, max_bytes=read.max_bytes)
    for address, page in zip(addresses, pages, strict=True):
        documents = iter([read.page(address, page.content, page.text, html=page.is_html)])
        yield _only(address, documents), page.url


def _local(where: str, read: DocumentReader) -> Document:
    if where == "-":
        if sys.stdin is None:
            raise SimhashError("standard input is closed: name a file")
        return _only(STANDARD_INPUT, read.stream(STANDARD_INPUT, sys.stdin.buffer))
    _check_name(where)
    path = Path(where)
    if path.is_dir():
        raise SimhashError(f"{where} is a folder: name one file in it")
    if not path.exists():
        raise SimhashError(
            f"{where}: no such file; the URL of a page begins with http:// or https://"
        )
    return _only(where, read.file(path))


def _only(name: str, documents: Iterator[Document | Skipped]) -> Document:
    found = next(documents, None)
    if found is None:
        raise SimhashError(f"{name}: no text in it")
    if isinstance(found, Skipped):
        raise SimhashError(_why(found))
    if next(documents, None) is not None:
        raise SimhashError(
            f"{name} holds more than one document: put one of them in a file of its own"
        )
    return found


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
