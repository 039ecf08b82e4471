"""Decode pages and files by the rules of Scrapy's `TextResponse.text`.

By these rules, the encoding comes from the first of these that exists: a byte order mark, the HTTP
header, a declaration in the page, a guess.
"""

from __future__ import annotations

import re
from contextlib import suppress
from email.message import Message

from w3lib.encoding import html_to_unicode, read_bom, resolve_encoding

from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.file_types import type_of

# A file is binary if its first block has a zero byte but no byte order mark, or if too many of its
# first characters are control characters.
_FIRST_BLOCK_BYTES = 8192
_MAX_CONTROL_SHARE = 0.02
_BINARY_FILE = "binary"  # the reason, in words
_CHECKED_CHARACTERS = 64_000
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
# `_encoding_and_text` returns this name only if no encoding was declared or could be guessed: pages
# in ASCII count as Windows-1252, as in browsers.
_UNKNOWN = "ascii"


def decoded(content: bytes, content_type: str | None = None) -> str:
    """Return the text of a page as Scrapy decodes it. Invalid bytes are replaced.

    :param content_type: the HTTP header, which may name the encoding.
    """
    return _encoding_and_text(content, content_type)[1]


def decoded_file(content: bytes) -> str:
    """Return the text of a file that may be binary, as `decoded` does for a page.

    :raises Unreadable: the file is binary, or its encoding cannot be guessed.
    """
    if read_bom(content)[0] is None and b"\0" in content[:_FIRST_BLOCK_BYTES]:
        raise Unreadable(_BINARY_FILE)
    encoding, text = _encoding_and_text(content)
    if encoding == _UNKNOWN:
        advice = "the file is not UTF-8; convert it, as with iconv"
        raise Unreadable("in an unknown encoding", detail=advice)
    start = text[:_CHECKED_CHARACTERS]
    if len(_CONTROLS.findall(start)) > _MAX_CONTROL_SHARE * len(start):
        raise Unreadable(_BINARY_FILE)
    return text


def without_surrogates(text: str) -> str:
    """Return a text with lone surrogates replaced, so that UTF-8 can encode the text."""
    return text if text.isascii() else _SURROGATES.sub(_REPLACEMENT, text)


def _encoding_and_text(content: bytes, content_type: str | None = None) -> tuple[str, str]:
    return html_to_unicode(
        content_type, content, auto_detect_fun=_guessed_encoding, default_encoding=_UNKNOWN
    )


def _guessed_encoding(content: bytes) -> str | None:
    """Guess the encoding of bytes that do not declare one, as Scrapy does; None if unknown."""
    with suppress(UnicodeError):
        content.decode()
        return "utf-8"
    try:
        from charset_normalizer import from_bytes
    except ImportError:  # Scrapy before 2.19 does not require it
        return "cp1252"
    best = from_bytes(content).best()
    return None if best is None else resolve_encoding(best.encoding)


HTML_ENDINGS = (".html", ".htm", ".xhtml")
START_BYTES = 1 << 13
_HTML_TYPES = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
# For these and any other ``text/…``, Scrapy makes no `HtmlResponse`. Others do not decide.
_OTHER_TYPES = (
    *("application/atom+xml", "application/rdf+xml", "application/rss+xml", "application/xml"),
    *("application/json", "application/x-json", "application/json-amazonui-streaming"),
    *("application/javascript", "application/x-javascript"),
)
_SNIFFED_BYTES = 5000
_BINARY = frozenset(range(32)) - frozenset(b"\t\n\r\x0b\x0c\x1b")


def start_of(content: bytes) -> str:
    """Return the beginning of a file, whose markup is right in all encodings based on ASCII, and in
    UTF-16; the text may not be.
    """
    start = content[:START_BYTES].decode("latin-1").replace("\0", "")  # zeros of UTF-16
    return start.removeprefix("ï»¿").removeprefix("ÿþ").removeprefix("þÿ")


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
        types.append(type_of(header.get_filename() or ""))
    types.append(type_of(url))
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
