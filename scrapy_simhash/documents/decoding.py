"""Decode pages and files by the rules of Scrapy's `TextResponse.text`.

By these rules, the encoding comes from the first of these that exists: a byte order mark, the HTTP
header, a declaration in the page, a guess.
"""

from __future__ import annotations

import re

from w3lib.encoding import html_to_unicode, read_bom, resolve_encoding

from scrapy_simhash.errors import SimhashError

# A file is binary if its first block has a zero byte but no byte order mark, or if too many of its
# first characters are control characters.
_FIRST_BLOCK_BYTES = 8192
_MAX_CONTROL_SHARE = 0.02
_CHECKED_CHARACTERS = 64_000
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
# `_encoding_and_text` returns this name only if no encoding was declared or could be guessed: pages
# in ASCII count as Windows-1252, as in browsers.
_UNKNOWN = "ascii"


class NotReadable(SimhashError):
    """Raised for a document that cannot be read.

    :param reason: a short reason, by which errors are counted.
    :param detail: more about this document, such as advice.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def decoded(content: bytes, content_type: str | None = None) -> str:
    """Return the text of a page as Scrapy decodes it. Invalid bytes are replaced.

    :param content_type: the HTTP header, which may name the encoding.
    """
    return _encoding_and_text(content, content_type)[1]


def decoded_file(content: bytes) -> str:
    """Return the text of a file that may be binary, as `decoded` does for a page.

    :raises NotReadable: the file is binary, or its encoding cannot be guessed.
    """
    if byte_order_encoding(content) is None and b"\0" in content[:_FIRST_BLOCK_BYTES]:
        raise NotReadable("binary")
    encoding, text = _encoding_and_text(content)
    if encoding == _UNKNOWN:
        raise NotReadable(
            "in an unknown encoding", "the file is not UTF-8; convert it, as with iconv"
        )
    start = text[:_CHECKED_CHARACTERS]
    if len(_CONTROLS.findall(start)) > _MAX_CONTROL_SHARE * len(start):
        raise NotReadable("binary")
    return text


def byte_order_encoding(content: bytes) -> str | None:
    """Return the encoding of a byte order mark, or None. Decoding with it removes the mark."""
    encoding, _ = read_bom(content)
    if encoding is None:
        return None
    return "utf-8-sig" if encoding == "utf-8" else encoding.removesuffix("-le").removesuffix("-be")


def without_surrogates(text: str) -> str:
    """Return a text with lone surrogates replaced, so that UTF-8 can encode the text."""
    return text if text.isascii() else _SURROGATES.sub(_REPLACEMENT, text)


def _encoding_and_text(content: bytes, content_type: str | None = None) -> tuple[str, str]:
    return html_to_unicode(
        content_type, content, auto_detect_fun=_guessed_encoding, default_encoding=_UNKNOWN
    )


def _guessed_encoding(content: bytes) -> str | None:
    """Guess the encoding of bytes that do not declare one, as Scrapy does; None if unknown."""
    for encoding in ("ascii", "utf-8"):
        try:
            content.decode(encoding)
        except UnicodeError:
            continue
        return resolve_encoding(encoding)
    try:
        from charset_normalizer import from_bytes
    except ImportError:  # Scrapy before 2.19 does not require it
        return "cp1252"
    best = from_bytes(content).best()
    return None if best is None else resolve_encoding(best.encoding)
