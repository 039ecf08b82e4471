"""Frames of WARC files: where a record begins and ends; the rest is for `warcio`.

Records are copied as they are, to the byte: those of a ``.warc.gz`` are compressed one by one. One
that is torn is left out, or nothing behind it could be read: so none is given before its end is
there, and what is too large for memory waits in a temporary file.
"""

from __future__ import annotations

import re
import zlib
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, BinaryIO

from scrapy_simhash.dedupe.frames import PIECE_BYTES, Frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.dedupe.frames import Kind

_HEADER_BYTES = 1 << 16
_GZIP_WINDOW = 31
_START = re.compile(rb"WARC/\d+\.\d+\s*\r?\n")
_LENGTH = re.compile(
    rb"^Content-Length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
_RESPONSE = re.compile(rb"^WARC-Type[ \t]*:[ \t]*response[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)

_END = b"\r\n\r\n"
_TORN = Frame(b"", "damage", "a record of it is torn")
_FOREIGN = Frame(b"", "damage", "there is something in it that is no WARC record")


def warc_frames(stream: BinaryIO, max_bytes: int) -> Iterator[Frame]:
    """Of a file that is not compressed, or as a whole. Responses are records."""
    max_bytes += _HEADER_BYTES
    while header := _header(stream):
        length = _LENGTH.search(header)
        if not _START.match(header) or length is None:
            yield _FOREIGN
            return
        left = int(length[1])
        with SpooledTemporaryFile(max_bytes) as record:
            record.write(header)
            while left and (piece := stream.read(min(left, PIECE_BYTES))):
                record.write(piece)
                left -= len(piece)
            # Of the two line breaks that belong there, one will do, or the end of the file.
            if left or stream.readline(2) not in (b"\r\n", b"\n", b"\r", b""):
                yield _TORN
                return
            record.write(_END)
            reason = "too_large" if record.tell() > max_bytes else None
            record.seek(0)
            kind: Kind = "record" if _RESPONSE.search(header) else "other"
            yield Frame(record.read(max_bytes), kind, reason)
            yield from _pieces(record)


def warc_gzip_frames(stream: BinaryIO, max_bytes: int) -> Iterator[Frame]:
    """Of a file whose records are compressed one by one: `data` is what stands in the file."""
    limit = max_bytes + 2 * _HEADER_BYTES
    waiting = b""
    while waiting := waiting or stream.read(PIECE_BYTES):
        member = _Member(limit)
        with SpooledTemporaryFile(limit) as compressed:
            while not member.ended:
                waiting = waiting or stream.read(PIECE_BYTES)
                used = member.take(waiting)
                if member.damaged or not used:  # it makes no sense, or ends too early
                    yield _TORN
                    return
                compressed.write(waiting[:used])
                waiting = waiting[used:]
            compressed.seek(0)
            frame = member.frame(compressed.read(limit))
            yield frame
            if frame.kind != "damage":
                yield from _pieces(compressed)


def is_compressed_by_record(stream: BinaryIO) -> bool:
    """Whether the first gzip member of a file is one record, and not all of them."""
    member = _Member(1 << 20)
    content = stream.read(1 << 20)
    member.take(content)
    header, _, _ = member.content.partition(b"\r\n\r\n")
    length = _LENGTH.search(header)
    return length is None or len(member.content) <= len(header) + int(length[1]) + 8


class _Member:
    """A gzip member, of which no more than `limit` bytes of content are kept."""

    def __init__(self, limit: int) -> None:
        self._decompressor = zlib.decompressobj(_GZIP_WINDOW)
        self._limit = limit
        self._cut = False
        self.content = b""
        self.damaged = False

    @property
    def ended(self) -> bool:
        return self._decompressor.eof

    def take(self, data: bytes) -> int:
        """Decompress; returns how much of it belongs to this member."""
        decompressor, tail = self._decompressor, data
        parts = [self.content]
        size = len(self.content)
        try:
            while True:
                part = decompressor.decompress(tail, PIECE_BYTES)
                if size <= self._limit:
                    parts.append(part)
                    size += len(part)
                else:
                    self._cut = self._cut or bool(part)
                tail = decompressor.unconsumed_tail
                if decompressor.eof or (not tail and len(part) < PIECE_BYTES):
                    break
        except zlib.error:
            self.damaged = True
        self.content = b"".join(parts)
        return len(data) - len(decompressor.unused_data)

    def frame(self, data: bytes) -> Frame:
        """What it is."""
        header, _, _ = self.content[:_HEADER_BYTES].partition(b"\r\n\r\n")
        if header.strip() and not _START.match(header):
            return _FOREIGN
        if not _RESPONSE.search(header):
            return Frame(data, "other")
        reason = "too_large" if self._cut or len(self.content) > self._limit else None
        return Frame(data, "record", reason, self.content)


def _header(stream: BinaryIO) -> bytes:
    """All to the blank line, if it is one; nothing at the end."""
    lines: list[bytes] = []
    size = 0
    while size < _HEADER_BYTES and (line := stream.readline(_HEADER_BYTES)):
        if not lines and line in (b"\r\n", b"\n"):  # there may be more of them than needed
            continue
        lines.append(line)
        size += len(line)
        if line in (b"\r\n", b"\n") or (len(lines) == 1 and not _START.match(line)):
            break
    return b"".join(lines)


def _pieces(record: IO[bytes]) -> Iterator[Frame]:
    """What there is more of it."""
    while piece := record.read(PIECE_BYTES):
        yield Frame(piece, "rest")
