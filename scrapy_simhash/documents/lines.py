"""Split files of JSON lines, JSON arrays and CSV into records of bytes, and parse records.

A record that is too large is read in pieces, so that memory is bounded.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

PIECE_BYTES = 1 << 20
_SPACE = b" \t\r\n"
_BETWEEN_ITEMS = b"," + _SPACE
_AROUND_ITEMS = b"[]" + _BETWEEN_ITEMS
# `_item_pieces` holds back this many bytes: they may be brackets or commas after the object.
_HELD_BYTES = 1 << 12


class Part(NamedTuple):
    """A part of a file: a record, or bytes between records.

    :param data: the bytes to judge, and to copy. For HTML: the path of a file. For Parquet: a row
        as a JSON object.
    :param is_record: False for a part that is not judged, such as a blank line or a header.
    :param reason: why a record cannot be judged, such as ``too_large``; None if it can.
    :param rest: the bytes after `data` of a part that is too large. Read them before the next part.
    """

    data: bytes
    is_record: bool = True
    reason: str | None = None
    rest: Iterable[bytes] = ()


class Unreadable(Exception):
    """Raised for a record that cannot be read.

    :param reason: the reason in verdicts, such as ``not_json``.
    :param key: key of the record; None if unknown.
    """

    def __init__(self, reason: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.key = key


def line_parts(stream: BinaryIO, max_bytes: int) -> Iterator[Part]:
    """Yield each line as a part. Blank lines are no records."""
    return _parts(stream, max_bytes, lambda piece: piece.endswith(b"\n"), space=None)


def csv_parts(stream: io.BufferedReader, max_bytes: int) -> Iterator[Part]:
    """Yield the rows of a CSV file. The header and blank lines are no records."""
    scanner = _CsvScanner(csv_delimiter(stream.peek(PIECE_BYTES).partition(b"\n")[0]))
    is_header = True
    # A line of tabs is not blank: it is a record of empty fields.
    for part in _parts(stream, max_bytes, scanner.ends_record, space=b"\r\n"):
        # If the file ends within quotes, the last record is incomplete.
        is_torn = part.reason is None and scanner.state == "quoted"
        reason = "not_csv" if is_torn else part.reason
        yield part._replace(is_record=part.is_record and not is_header, reason=reason)
        is_header = is_header and not part.is_record


def array_parts(stream: BinaryIO, max_bytes: int) -> Iterator[Part]:
    """Yield the items of a JSON array that has an item in each line, as Scrapy writes it.

    Brackets, commas and white space around an object are left out, also if they have lines of their
    own. The file may contain several arrays: Scrapy appends to a feed by adding another array.
    """
    for part in line_parts(stream, max_bytes):
        pieces = _item_pieces(chain([part.data.removeprefix(codecs.BOM_UTF8)], part.rest))
        if data := next(pieces):
            yield Part(data, reason=part.reason, rest=pieces)


def _item_pieces(line: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a line in pieces, without commas around its item and without brackets around an object.

    If `line` has only one piece, yield one piece.
    """
    held = first = b""
    for piece in line:
        held += piece
        if not first:
            bare = held.lstrip(_AROUND_ITEMS)
            held = bare if bare[:1] in (b"{", b"") else held.lstrip(_BETWEEN_ITEMS)
            first = held[:1]
        if len(held) > max(2 * _HELD_BYTES, len(piece)):
            yield held[:-_HELD_BYTES]
            held = held[-_HELD_BYTES:]
    bare = held.rstrip(_AROUND_ITEMS)
    yield bare if first + bare[-1:] == b"{}" else held.rstrip(_BETWEEN_ITEMS)


def _parts(
    stream: BinaryIO,
    max_bytes: int,
    ends_record: Callable[[bytes], bool],
    *,
    space: bytes | None,
) -> Iterator[Part]:
    """Yield records of one line or more, and blank lines, which are no records.

    :param ends_record: called with each piece of a line; returns True if a record ends with it.
    :param space: the bytes that a blank line may have; None for ASCII white space.
    """
    while piece := stream.readline(max_bytes + 1):
        pieces = [piece]
        size = len(piece)
        while not (ended := ends_record(piece)) and size <= max_bytes:
            piece = stream.readline(max_bytes + 1 - size)
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        data = b"".join(pieces)
        if ended or size <= max_bytes:
            yield Part(data, is_record=bool(data.strip(space)))
        else:
            rest = _rest(stream, ends_record)
            yield Part(data, reason="too_large", rest=rest)
            for _ in rest:
                pass


def _rest(stream: BinaryIO, ends_record: Callable[[bytes], bool]) -> Iterator[bytes]:
    while piece := stream.readline(PIECE_BYTES):
        yield piece
        if ends_record(piece):
            return


def csv_delimiter(header: bytes) -> str:
    """Return the first of comma, tab and semicolon that the header contains; else a comma."""
    return next((delimiter for delimiter in ",\t;" if delimiter.encode() in header), ",")


class _CsvScanner:
    """A scanner that finds the ends of CSV records in pieces of lines.

    As in `csv.reader`, only a quote at the start of a field opens quoted text. A line break in it
    does not end the record. Quotes, delimiters and line breaks are the same bytes in all encodings
    that are based on ASCII.
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter.encode()
        self._tokens = re.compile(rb'["\n%b]|[^"\n%b]+' % (self._delimiter, self._delimiter))
        self.state: Literal["start", "plain", "quoted", "closing"] = "start"

    def ends_record(self, piece: bytes) -> bool:
        """Return True if a record ends with this piece."""
        if self.state == "start" and b'"' not in piece:
            self.state = "start" if piece.endswith((b"\n", self._delimiter)) else "plain"
            return piece.endswith(b"\n")
        for match in self._tokens.finditer(piece):
            token = match[0]
            if self.state == "quoted":
                self.state = "closing" if token == b'"' else "quoted"
            elif token == b'"':
                self.state = "plain" if self.state == "plain" else "quoted"
            else:
                self.state = "start" if token in (self._delimiter, b"\n") else "plain"
        return self.state == "start" and piece.endswith(b"\n")


def parse_record(
    content: bytes, encoding: str, header: Sequence[str] | None, delimiter: str
) -> dict[str, Any]:
    """Return the fields of a record. CSV fields beyond the last column are left out.

    :param header: the columns of CSV; None for JSON.
    :raises Unreadable: see `parse_json` and `parse_csv`.
    """
    if header is None:
        return parse_json(content, encoding)
    return dict(zip(header, parse_csv(content, encoding, delimiter), strict=False))


def parse_json(content: bytes, encoding: str) -> dict[str, Any]:
    """Return a JSON object.

    :raises Unreadable: the content is no JSON object, or not in that encoding.
    """
    try:
        record = json.loads(_decode(content, encoding))
    except (ValueError, RecursionError):
        raise Unreadable("not_json") from None
    if not isinstance(record, dict):
        raise Unreadable("not_json")
    return record


def parse_csv(content: bytes, encoding: str, delimiter: str) -> list[str]:
    """Return the fields of one CSV record.

    :raises Unreadable: the content is not one CSV record, or not in that encoding.
    """
    csv.field_size_limit(max(csv.field_size_limit(), len(content) + 1))
    text = _decode(content, encoding)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        raise Unreadable("not_csv") from None
    if len(rows) != 1:
        raise Unreadable("not_csv")
    return rows[0]


def _decode(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError:
        raise Unreadable("not_its_encoding") from None
