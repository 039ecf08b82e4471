"""Frames: a file cut in records, as bytes; what they hold is not looked at.

A record that is too long is cut in pieces, so that no file takes more memory than another.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE_BYTES = 1 << 20
_GZIP_INPUT_BYTES = 1 << 17
# gzip, with its header and check.
_GZIP_WINDOW = 31
_WHITE_SPACE = b" \t\r\n"
_BEHIND_ITEMS = b"]," + _WHITE_SPACE
_BEFORE_ITEMS = b"," + _WHITE_SPACE
_BEFORE_ARRAYS = b"\xef\xbb\xbf" + _BEFORE_ITEMS

Kind: TypeAlias = Literal["record", "rest", "other", "damage"]


class Frame(NamedTuple):
    """A piece of a file.

    :param data: what the output has in its place.
    :param kind: ``record``; ``rest``, more of the record before; ``other``, what is no record;
        ``damage``, what is left out as nothing can be made of it.
    :param reason: of a record that cannot be looked at, or of damage: why.
    :param content: what is looked at; `data` if absent.
    """

    data: bytes
    kind: Kind = "record"
    reason: str | None = None
    content: bytes | None = None


def line_frames(stream: BinaryIO, max_bytes: int) -> Iterator[Frame]:
    """A record in each line that is not blank."""
    while line := stream.readline(max_bytes + 1):
        if _is_cut(line, max_bytes):
            yield Frame(line, reason="too_large")
            yield from _rest_of_line(stream)
        elif not line.isspace():
            yield Frame(line)


def array_frames(stream: BinaryIO, max_bytes: int) -> Iterator[Frame]:
    """A record in each line of a JSON array, as Scrapy writes it; without what stands between.

    Feeds that Scrapy appended to others are several arrays, one after the other.
    """
    items = _Items()
    for frame in line_frames(stream, max_bytes):
        if frame.kind == "record":
            yield from items.end()
        yield from items.take(frame)
    yield from items.end()


def csv_frames(stream: BinaryIO, max_bytes: int) -> Iterator[Frame]:
    """Records of CSV, some of them over several lines; the first is the header."""
    csv.field_size_limit(max(csv.field_size_limit(), max_bytes + 1))
    lines = _CsvLines(stream, max_bytes)
    kind: Kind = "other"
    reader: Any = None
    while True:
        try:
            if reader is None:
                reader = csv.reader(lines, delimiter=lines.delimiter)
            row = next(reader, None)
        except csv.Error:
            row, reader = [""], None
        data, ended_within = lines.taken()
        if not data:
            return
        # A reader that was told that there are no more lines is of no more use.
        reader = None if ended_within or row is None else reader
        if len(data) > max_bytes:
            yield Frame(data, kind, "too_large")
            quotes = _Quotes(lines.delimiter)
            while not quotes.ends_record(data) and (data := stream.readline(PIECE_BYTES)):
                yield Frame(data, "rest")
        elif row or ended_within:
            yield Frame(data, kind, "not_csv" if ended_within else None)
        else:  # a blank line
            continue
        kind = "record"


def csv_delimiter(header: bytes) -> str:
    """Of a file with that header: a comma, unless only tabs or semicolons can be meant."""
    if b"," in header:
        return ","
    return next((other for other in "\t;" if other.encode() in header), ",")


class _CsvLines:
    """Lines for a `csv.reader`, which says by taking them where its records end.

    Whatever the encoding is, bytes that mean something in CSV mean themselves.
    """

    def __init__(self, stream: BinaryIO, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes
        self._lines: list[bytes] = []
        self._size = 0
        self._ended = False
        self._next = stream.readline(max_bytes + 1)
        self.delimiter = csv_delimiter(self._next)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line, self._next = self._next, b""
        if not line and self._size <= self._max_bytes:
            line = self._stream.readline(self._max_bytes - self._size + 1)
        if not line:
            self._ended = True
            raise StopIteration
        self._lines.append(line)
        self._size += len(line)
        return line.decode("latin-1")

    def taken(self) -> tuple[bytes, bool]:
        """The bytes of a record, and whether the lines ended in the middle of it."""
        data, ended = b"".join(self._lines), self._ended
        self._lines, self._size, self._ended = [], 0, False
        return data, ended


class _Quotes:
    """Follows a record to its end in pieces of lines, as `csv.reader` would: a quote opens a field
    at its start only, and a line break within it is text.
    """

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter.encode()
        self._tokens = re.compile(rb'["\n%b]|[^"\n%b]+' % (self._delimiter, self._delimiter))
        self._state: Literal["start", "plain", "quoted", "closing"] = "start"

    def ends_record(self, piece: bytes) -> bool:
        """Whether it does; line breaks may stand at its end, or within quotes."""
        for match in self._tokens.finditer(piece):
            token = match[0]
            if self._state == "quoted":
                self._state = "closing" if token == b'"' else "quoted"
            elif token == b'"':
                self._state = "plain" if self._state == "plain" else "quoted"
            else:
                self._state = "start" if token in (self._delimiter, b"\n") else "plain"
        return self._state == "start" and piece.endswith(b"\n")


def _is_cut(line: bytes, max_bytes: int) -> bool:
    return len(line) > max_bytes and not line.endswith(b"\n")


def _rest_of_line(stream: BinaryIO) -> Iterator[Frame]:
    while piece := stream.readline(PIECE_BYTES):
        yield Frame(piece, "rest")
        if piece.endswith(b"\n"):
            return


class _Items:
    """Takes commas, brackets of arrays and white space from around items, which have a line each.

    They may lie in any piece of a line. What is within an item stays as it is.
    """

    def __init__(self) -> None:
        self._in_array = False
        self._reason: str | None = None
        self._held: Frame | None = None
        # Of the item, but for white space; none before it has begun.
        self._first = self._last = b""
        # What stands behind `_held`: the item's, or not.
        self._tail = b""

    def take(self, frame: Frame) -> Iterator[Frame]:
        """A piece of a line."""
        if frame.kind == "record":
            self._reason = frame.reason
        data = self._tail + (frame.data if self._first else self._begun(frame.data))
        body = data.rstrip(_BEHIND_ITEMS)
        self._last = body[-1:] or self._last
        if not body and len(data) > PIECE_BYTES and data.isspace():
            body = data  # nobody has room for any number of them
        self._tail = data[len(body) :]
        if body:
            if self._held is not None:
                yield self._held
            self._held = Frame(body, "rest") if self._first else Frame(body, "record", self._reason)
            self._first = self._first or body[:1]

    def end(self) -> Iterator[Frame]:
        """There is no more of the line."""
        held, first, tail = self._held, self._first, self._tail.rstrip(_WHITE_SPACE)
        self._held, self._first, self._tail = None, b"", b""
        if tail.endswith(b","):
            tail = tail[:-1].rstrip(_WHITE_SPACE)
        elif tail and (self._last == b"}" if first == b"{" else first != b"["):
            self._in_array, tail = False, b""
        if held is not None and (held.data, tail) != (b"[", b""):  # no second array in one
            yield held._replace(data=held.data + tail)

    def _begun(self, data: bytes) -> bytes:
        """A piece without what stands before the item."""
        while data := data.lstrip(_BEFORE_ITEMS if self._in_array else _BEFORE_ARRAYS):
            if data[:1] == (b"]" if self._in_array else b"["):
                self._in_array = not self._in_array
            elif data[:1] != b"]":
                break
            data = data[1:]
        return data


class Gunzip(io.RawIOBase):
    """The content of a gzip file. Where that is damaged, it ends, and `damage` says why.

    Python's own raises an error, and keeps what it had read of a line.
    """

    def __init__(self, compressed: BinaryIO) -> None:
        self._compressed = compressed
        self._decompressor = zlib.decompressobj(_GZIP_WINDOW)
        self._waiting = self._content = b""
        self._within = False
        self.damage: str | None = None

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """See `io.RawIOBase.readinto`."""
        size = len(buffer)
        while not self._content and self.damage is None and self._take(size):
            pass
        content, self._content = self._content[:size], self._content[size:]
        buffer[: len(content)] = content
        return len(content)

    def _take(self, size: int) -> bool:
        """Decompress about so much. False at the end."""
        if not self._within:
            self._waiting = self._waiting.lstrip(b"\0")  # padding
        ended = False
        if not self._waiting:
            self._waiting = self._compressed.read(_GZIP_INPUT_BYTES)
            ended = not self._waiting
            if not self._within:
                return not ended
        before = self._decompressor.copy()
        try:
            self._content = self._decompressor.decompress(self._waiting, size)
        except zlib.error as error:
            self.damage = str(error)
            self._content = _all_before_error(before, self._waiting)
            return False
        self._within = True
        self._waiting = self._decompressor.unconsumed_tail
        if self._decompressor.eof:
            self._waiting = self._decompressor.unused_data
            self._decompressor = zlib.decompressobj(_GZIP_WINDOW)
            self._within = False
        elif ended and not self._content:
            self.damage = "it ends too early"
        return True


def _all_before_error(decompressor: Any, compressed: bytes) -> bytes:
    """What zlib keeps to itself when it meets an error."""
    parts = []
    with suppress(zlib.error):
        for at in range(len(compressed)):
            parts.append(decompressor.decompress(compressed[at : at + 1]))  # noqa: PERF401
    return b"".join(parts)
