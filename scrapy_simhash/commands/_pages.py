"""Load pages and documents from URLs, files or standard input."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.documents.files import file_path, standard_input
from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.documents.reader import Document, DocumentReader
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Sequence


STANDARD_INPUT = "standard input"
PAGE_METAVAR = "FILE|URL|-"


def shown_name(page: Document) -> str:
    """Return the name of a page, with the URL after redirects in parentheses if it differs."""
    return page.name if page.url in (None, page.name) else f"{page.name} ({page.url})"


def add_field_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading JSON."""
    parser.add_argument(
        "--text-field",
        metavar="NAME",
        default="text",
        help="JSON field with the text or HTML (default: %(default)s)",
    )
    parser.add_argument(
        "--name-field",
        metavar="NAME",
        help="JSON field with the name of the document (default: url, else id, else FILE:LINE)",
    )


def make_reader(options: argparse.Namespace) -> DocumentReader:
    """Return a reader with SIMHASH_MAX_BYTES, and those of `add_field_arguments`, if any."""
    return DocumentReader(
        text_field=getattr(options, "text_field", "text"),
        name_field=getattr(options, "name_field", None),
        max_bytes=options.settings("SIMHASH_MAX_BYTES"),
    )


def existing_paths(files: Sequence[str]) -> list[Path]:
    """Return the paths of files and folders.

    :raises SimhashError: a file or folder does not exist, or its name is empty.
    """
    paths = [file_path(file) for file in files]
    for file in paths:
        if not file.exists():
            advice = ": standard input is not read here" if file == Path("-") else ""
            raise SimhashError(f"{file}: no such file{advice}")
    return paths


def is_url(text: str) -> bool:
    """Return True for the URL of a page, and False for the name of a file."""
    return re.match(r"https?://", text, re.IGNORECASE) is not None


def load_page(place: str, options: argparse.Namespace) -> Document:
    """Return one page; see `load_pages`."""
    return load_pages([place], options)[0]


def load_pages(places: Sequence[str], options: argparse.Namespace) -> list[Document]:
    """Return the pages at URLs, in files, or on standard input, in the given order.

    Call this once in a process, because it can run only one crawl.

    :param places: URLs, names of files, or ``-`` at most once.
    :raises SimhashError: a place cannot be read, has no text, or has several documents; or ``-`` is
        given twice.
    """
    if places.count("-") > 1:
        raise SimhashError("standard input can be read once")
    reader = make_reader(options)
    # Files are read before the crawl, so that a missing file is reported at once.
    pages = {place: _read_local(place, reader) for place in places if not is_url(place)}
    if urls := [place for place in places if is_url(place)]:
        from scrapy_simhash.commands._fetching import fetch_all

        pages |= fetch_all(urls, options.settings.given, reader.max_bytes)
    return [pages[place] for place in places]


def _read_local(place: str, reader: DocumentReader) -> Document:
    name, path = place, file_path(place)
    if place == "-":
        name = STANDARD_INPUT
        documents = reader.stream(name, standard_input())
    else:
        if path.is_dir():
            raise SimhashError(f"{place} is a folder: name one file in it")
        if not path.exists():
            raise SimhashError(
                f"{place}: no such file; the URL of a page begins with http:// or https://"
            )
        documents = reader.file(path)
    document = next(documents, None)
    if document is None:
        raise SimhashError(f"{name}: no text in it")
    if isinstance(document, Unreadable):
        raise document
    if next(documents, None) is not None:
        raise SimhashError(
            f"{name} holds more than one document: put one of them in a file of its own"
        )
    return document._replace(name=name)


def encoding(text: str) -> str:
    """Return the name of an encoding unchanged.

    :raises argparse.ArgumentTypeError: Python has no text encoding of this name.
    """
    try:
        b"text".decode(text, "replace")
    except (LookupError, ValueError, AssertionError):
        raise argparse.ArgumentTypeError(
            f"{text}: Python has no text encoding of this name"
        ) from None
    return text
