"""Tell which responses of an archive are HTML pages to Scrapy."""

from __future__ import annotations

import mimetypes
from email.message import Message

_HTML_TYPES = ("text/html", "application/xhtml+xml")
# Of these Scrapy makes other responses; of all else it goes by the name and the content.
_KNOWN_TYPES = (
    *("application/atom+xml", "application/rdf+xml", "application/rss+xml", "application/xml"),
    *("application/json", "application/x-json", "application/json-amazonui-streaming"),
    *("application/javascript",),
)
_SNIFFED_BYTES = 5000
_BINARY = frozenset(range(32)) - frozenset(b"\0\t\n\r\x0b\x0c\x1b")


def is_html(
    body: bytes, url: str, content_type: str | None = None, disposition: str | None = None
) -> bool:
    """Return whether Scrapy makes an `HtmlResponse` of a response."""
    if content_type is not None:
        known = _by_type(content_type.split(";")[0].strip().lower())
        if known is not None:
            return known
    names = [url]
    if disposition is not None:
        header = Message()
        header["Content-Disposition"] = disposition.replace("\r", " ").replace("\n", " ")
        names.insert(0, header.get_filename() or "")
    for name in names:
        guessed, encoding = _guessed(name)
        known = None if guessed is None or encoding else _by_type(guessed)
        if known is not None:
            return known
    start = body[:_SNIFFED_BYTES]
    if not _BINARY.isdisjoint(start) or b"\0" in start:
        return False
    lower = start.lower()
    return b"<html>" in lower or (b"<!doctype html>" in lower and b"<?xml" not in lower)


def _by_type(mime_type: str) -> bool | None:
    if mime_type in _HTML_TYPES:
        return True
    if mime_type in _KNOWN_TYPES or mime_type.startswith("text/"):
        return False
    return None


def _guessed(name: str) -> tuple[str | None, str | None]:
    try:
        return mimetypes.guess_type(name)
    except ValueError:  # brackets that are no IPv6 address
        return None, None
