"""Recognize HTML: bytes by their beginning, responses by their type, as Scrapy does."""

from __future__ import annotations

import mimetypes
from email.message import Message

from scrapy_simhash.markup import begins_as_html

HTML_ENDINGS = (".html", ".htm", ".xhtml")
_START_CHARACTERS = 4096
_HTML_TYPES = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
# For these and any other ``text/…``, Scrapy makes no `HtmlResponse`. Others do not decide.
_OTHER_TYPES = (
    *("application/atom+xml", "application/rdf+xml", "application/rss+xml", "application/xml"),
    *("application/json", "application/x-json", "application/json-amazonui-streaming"),
    *("application/javascript", "application/x-javascript"),
)
_SNIFFED_BYTES = 5000
_BINARY = frozenset(range(32)) - frozenset(b"\t\n\r\x0b\x0c\x1b")


def begins_as_html_bytes(content: bytes) -> bool:
    """Return True if bytes based on ASCII, or UTF-16 without a mark, begin as an HTML page."""
    start = content[:_START_CHARACTERS].decode("latin-1").replace("\0", "")  # zeros of UTF-16
    return begins_as_html(start.removeprefix("ï»¿"))


def is_html_response(
    body: bytes, url: str, content_type: str | None = None, disposition: str | None = None
) -> bool:
    """Return True if Scrapy would make an `HtmlResponse`: by the first known type, else the body.

    :param disposition: the header Content-Disposition, which may name a file.
    """
    types = [] if content_type is None else [content_type.split(";")[0].strip().lower()]
    if disposition is not None:
        header = Message()
        header["Content-Disposition"] = disposition.replace("\r", " ").replace("\n", " ")
        types.append(_type_of_name(header.get_filename() or ""))
    types.append(_type_of_name(url))
    for mime_type in types:
        if mime_type in _HTML_TYPES:
            return True
        if mime_type in _OTHER_TYPES or mime_type.startswith("text/"):
            return False
    start = body[:_SNIFFED_BYTES]
    if not _BINARY.isdisjoint(start):
        return False
    lower = start.lower()
    return b"<html>" in lower or (b"<!doctype html>" in lower and b"<?xml" not in lower)


def _type_of_name(name: str) -> str:
    """Return the MIME type of a file name or URL; empty if it is unknown or compressed."""
    try:
        mime_type, encoding = mimetypes.guess_type(name)
    except ValueError:  # a URL with brackets around something that is no IPv6 address
        return ""
    return "" if mime_type is None or encoding else mime_type
