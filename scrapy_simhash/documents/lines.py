"""Read text files as lines of bytes, and JSON files as the objects in them."""

from __future__ import annotations

import codecs
import io
import json
import re
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Part(NamedTuple):
    """A part of a file: a record, or bytes between records.

    :param data: the bytes to judge, and to copy. For HTML: the path of a file. For CSV and Parquet:
        the values of a row as a JSON object.
    :param is_record: False for a part that is not judged, such as a blank line or a header.
    :param reason: why a record cannot be judged, such as ``too_large``; None if it can.
    :param rest: the bytes after `data`, of a large part of a WARC file. Read them before the next
        part.
    :param row: the fields of a row of CSV, to write it again; the text of one that is no CSV.
    """

    data: bytes
    is_record: bool = True
    reason: str | None = None
    rest: Iterable[bytes] = ()
    row: list[str] | str = ""


class Unreadable(SimhashError):
    """Raised for a record, a document or a file that cannot be read.

    :param reason: the reason in verdicts, such as ``not_json``; of documents, in words.
    :param key: key of the record, or place of the document; None if unknown.
    :param detail: more about this record, such as advice.
    """

    def __init__(self, reason: str, key: str | None = None, detail: str = "") -> None:
        super().__init__(f"{key}: {reason}{f' ({detail})' if detail else ''}")
        self.reason, self.key, self.detail = reason, key, detail


def ascii_lines(stream: io.BufferedReader, encoding: str) -> tuple[Iterator[bytes], str]:
    """Return the lines of a stream, with their ends, and their encoding, which is based on ASCII:
    UTF-16 and the like become UTF-8. If all line breaks are CR, as on old Macs, they become LF.

    :param encoding: that of a stream that is not recognized as UTF-16 or UTF-32.
    """
    found = json.detect_encoding(stream.peek(4)[:4])
    if found.startswith(("utf-16", "utf-32")):
        encoding = found
    elif codecs.lookup(encoding).name in ("utf-16", "utf-32"):  # without a byte order mark
        encoding += "-le"
    lines: Iterator[bytes] = stream
    if "\n".encode(encoding) != b"\n":
        lines, encoding = _utf8_lines(stream, encoding), "utf-8"
    first = next(lines, b"")
    if b"\r" in first and b"\n" not in first:
        return (line + b"\n" for line in first.removesuffix(b"\r").split(b"\r")), encoding
    return chain([first] if first else [], lines), encoding


def _utf8_lines(stream: io.BufferedReader, encoding: str) -> Iterator[bytes]:
    text = io.TextIOWrapper(stream, encoding, "replace", newline="\n")
    try:
        for line in text:
            yield line.encode("utf-8", "replace")
    finally:
        with suppress(ValueError):  # the stream was closed before this generator
            text.detach()


def line_parts(lines: Iterable[bytes], max_bytes: int) -> Iterator[Part]:
    """Yield each line as a part. Blank lines are no records."""
    for line in lines:
        yield record_part(line, max_bytes)._replace(is_record=bool(line.strip()))


def record_part(data: bytes, max_bytes: int, reason: str | None = None) -> Part:
    """Return a record, whose reason is ``too_large`` if it is longer than `max_bytes`."""
    return Part(data, reason="too_large" if len(data) > max_bytes else reason)


# What may stand between objects: the brackets of arrays, and the separators of JSON text sequences.
_BETWEEN = re.compile(r"[\s,\[\]\x1e\ufeff]*")

_AROUND = b"\xef\xbb\xbf\x1e \t\r\n"
# Not a line of a log, such as `[INFO]`, nor an array of values that are no objects.
_BEGINS_VALUE = re.compile(rb"\{|\[\s*(?:\{.*)?", re.DOTALL)
# Many programs write tabs and other control characters in strings as they are.
_LENIENT = json.JSONDecoder(strict=False)


def json_parts(lines: Iterable[bytes], encoding: str, max_bytes: int) -> Iterator[Part]:
    """Yield the values in a file, without the brackets and commas of the arrays around them.

    A file may be one array or several, in one line or many, or objects without an array. A broken
    value ends before the next line that begins as its own one does.

    :param encoding: based on ASCII.
    """
    decode = json.JSONDecoder().raw_decode
    text = ""
    at = needed = 0  # position in `text`; characters needed before the next attempt to parse
    pending: list[str] = []
    for line in chain(lines, [None]):
        if line is not None:
            pending.append(line.decode(encoding, "surrogateescape"))
            needed -= len(pending[-1])
            if needed > 0:
                continue
        start = text.rfind("\n", 0, at) + 1  # of the line, whose indentation counts
        text = text[start:] + "".join(pending)
        at -= start
        pending.clear()
        while (between := _BETWEEN.match(text, at)) and (at := between.end()) < len(text):
            end: int | None
            try:
                _, end = decode(text, at)
            except (ValueError, RecursionError) as error:
                # No token of JSON contains a line break, so only a value that is cut off has its
                # error at the end.
                is_cut_off = not text[getattr(error, "pos", at) :].strip()
                end = None if is_cut_off else _end_of_broken(text, at)
            if end is None:
                if line is not None:
                    break
                end = len(text)
            yield record_part(_bytes_of(text[at:end], encoding), max_bytes)
            at = end
        needed = len(text) - at  # doubles, because parsing begins again


def _end_of_broken(text: str, at: int) -> int | None:
    """Return where the next line begins that is indented as that of a broken value; or None."""
    indent = text[text.rfind("\n", 0, at) + 1 : at]
    end = text.find(f"\n{indent if indent.isspace() else ''}{text[at]}", at)
    return None if end < 0 else end


def _bytes_of(value: str, encoding: str) -> bytes:
    """Return a value as bytes, without what follows a broken one in an array."""
    value = value.rstrip(" \t\r\n,")
    if value.startswith("{") and value.endswith("]"):
        value = value[:-1].rstrip()
    return value.encode(encoding, "surrogateescape")


def begins_as_array(line: bytes) -> bool:
    """Return True unless the first line of a file begins an object."""
    return not line.strip(_AROUND).startswith(b"{")


def begins_value(line: bytes) -> bool:
    """Return True if the first line of a file begins an array, or an object over several lines."""
    return _BEGINS_VALUE.fullmatch(line.strip(_AROUND)) is not None


def parse_json(content: bytes, encoding: str) -> dict[str, Any]:
    """Return a JSON object. Its strings may contain control characters.

    :raises Unreadable: the content is no JSON object, or not in that encoding.
    """
    try:
        record = _LENIENT.decode(content.decode(encoding).strip("\ufeff\x1e, \t\r\n"))
    except UnicodeError:
        raise Unreadable("not_its_encoding", detail=f"it is not {encoding}") from None
    except (ValueError, RecursionError):
        raise Unreadable("not_json") from None
    if not isinstance(record, dict):
        raise Unreadable("not_json")
    return record
