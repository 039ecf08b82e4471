"""Decoding: the bytes of a file → its text, or the reason why it has none."""

from __future__ import annotations

import codecs
import re

from scrapy_simhash.errors import SimhashError

# UTF-32 first, for its mark begins as that of UTF-16 does.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_FIRST_BLOCK_BYTES = 8192
# What a guess of the encoding rests on.
_SAMPLE_BYTES = 64_000
# Text in an encoding that was guessed wrong has control characters; few letters are others.
_MAX_CONTROL_SHARE = 0.02
# Where so many characters are right for each wrong byte, it is UTF-8 with a fault in it.
_RIGHT_FOR_EACH_WRONG = 10
# Those that browsers know; of equally good guesses, the earlier one.
_GUESSED = (
    *("cp1252", "gb18030", "big5", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp1250"),
    *("cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "iso8859_2"),
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATES = re.compile("[\ud800-\udfff]")
_BEYOND_ASCII = re.compile(b"[\x80-\xff]")
_CONTROLS = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


class NotReadable(SimhashError):
    """No text can be made of it. `reason` is the same for all of its kind."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def byte_order_encoding(content: bytes) -> str | None:
    """The encoding that a byte order mark names; it takes the mark away."""
    return next((encoding for mark, encoding in _MARKS if content.startswith(mark)), None)


def decoded(
    content: bytes,
    encoding: str | None = None,
    *,
    html: bool = False,
    content_type: str | None = None,
) -> str:
    """The text of a file: by `encoding`, its byte order mark, its declaration (HTML), as UTF-8,
    or by a guess.

    :raises NotReadable: it is binary, or in an encoding that nobody names.
    """
    marked = byte_order_encoding(content)
    if encoding is not None:
        try:
            text = content.decode(encoding)
        except UnicodeError as error:
            raise NotReadable(f"not {encoding}", _fault(error)) from None
        return without_surrogates(text.removeprefix("\ufeff"))
    if marked is None and b"\0" in content[:_FIRST_BLOCK_BYTES]:
        raise NotReadable("binary")
    if marked is not None:
        return without_surrogates(content.decode(marked, "replace"))
    if html or content_type is not None:
        from w3lib.encoding import html_to_unicode

        return html_to_unicode(content_type, content, auto_detect_fun=_detected_or_web)[1]
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = _detected(content)
        if found is None:
            raise NotReadable(
                "in an unknown encoding", f"{_fault(error)} it is not UTF-8; --encoding names it"
            ) from None
        text = content.decode(found, "replace")
    if len(_CONTROLS.findall(text[:_SAMPLE_BYTES])) > _MAX_CONTROL_SHARE * len(
        text[:_SAMPLE_BYTES]
    ):
        raise NotReadable("binary")
    return text


def without_surrogates(text: str) -> str:
    """A text that UTF-8 can hold: halves of characters are replaced."""
    return text if text.isascii() else _SURROGATES.sub(_REPLACEMENT, text)


def _detected_or_web(content: bytes) -> str:
    """For pages; browsers take those for Windows-1252 that say nothing."""
    return _detected(content) or "cp1252"


def _detected(content: bytes) -> str | None:
    """The encoding of bytes that do not say it, if there is a good guess."""
    text = content.decode("utf-8", "replace")
    wrong = text.count(_REPLACEMENT)
    right = len(text) - len(text.encode("ascii", "ignore")) - wrong
    if right >= wrong * _RIGHT_FOR_EACH_WRONG:
        return "utf-8"
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return None
    # What tells encodings apart is beyond ASCII. No half of a character: to the end of a line.
    first = _BEYOND_ASCII.search(content)
    start = content.rfind(b"\n", 0, first.start()) + 1 if first else 0
    sample = content[start : start + _SAMPLE_BYTES]
    if start + _SAMPLE_BYTES < len(content):
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    guesses = from_bytes(sample, cp_isolation=list(_GUESSED))
    best = guesses.best()
    if best is None:
        return None
    quality = (best.chaos, best.coherence)
    return min(
        (guess.encoding for guess in guesses if (guess.chaos, guess.coherence) == quality),
        key=_GUESSED.index,
    )


def _fault(error: UnicodeError) -> str:
    return f"at byte {error.start:,}" if isinstance(error, UnicodeDecodeError) else str(error)
