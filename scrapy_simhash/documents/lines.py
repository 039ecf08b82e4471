"""Read text files as lines of bytes, the records of JSON lines; other formats begin with these."""

from __future__ import annotations

import codecs
import io
import json
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

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


class Unreadable(Exception):
    """Raised for a record that cannot be read.

    :param reason: the reason in verdicts, such as ``not_json``.
    :param key: key of the record; None if unknown.
    """

    def __init__(self, reason: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.key = key


def ascii_lines(stream: io.BufferedReader, encoding: str) -> tuple[Iterable[bytes], str]:
    """Return the lines of a stream, with their ends, and their encoding, which is based on ASCII:
    UTF-16 and the like become UTF-8.

    :param encoding: that of a stream that is not recognized as UTF-16 or UTF-32.
    """
    found = json.detect_encoding(stream.peek(4)[:4])
    if found.startswith(("utf-16", "utf-32")):
        encoding = found
    elif codecs.lookup(encoding).name in ("utf-16", "utf-32"):  # without a byte order mark
        encoding += "-le"
    if "\n".encode(encoding) == b"\n":
        return stream, encoding
    return _utf8_lines(stream, encoding), "utf-8"


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


def decoded_record(content: bytes, encoding: str) -> str:
    """Return the text of a record, without a byte order mark.

    :raises Unreadable: the content is not in that encoding.
    """
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError:
        raise Unreadable("not_its_encoding") from None
