"""Frames of WARC files: where a record begins and ends; the rest is for `warcio`.

Records are copied as they are, to the byte: those of a ``.warc.gz`` are compressed one by one.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, BinaryIO, Literal

from scrapy_simhash.dedupe.frames import PIECE_BYTES, Frame

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER_BYTES = 1 << 16
_GZIP_WINDOW = 31
_START = re.compile(rb"WARC/\d+\.\d+\s*\r?\n")
_LENGTH = re.compile(
    rb"^Content-Length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
_RESPONSE = re.compile(rb"^WARC-Type[ \t]*:[ \t]*response[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


def warc_frames(stream: BinaryIO, max_bytes: int) -> Iterator[Frame]:
    """Of a file that is not compressed, or as a whole. Responses are records; the rest of a file
    that is damaged is one, too.
    """
    max_bytes += _HEADER_BYTES
    while True:
        header = _header(stream)
        if not header:
            return
        length = _LENGTH.search(header)
        if not _START.match(header) or length is None or not header.endswith(b"\n"):
            yield Frame(header, reason="not_warc")
            yield from _pieces(stream, None)
            return
        is_response = _RESPONSE.search(header) is not None
        left = int(length[1]) + 4  # and two line breaks
        body = stream.read(min(left, max_bytes))
        left -= len(body)
        kind: Literal["record", "other"] = "record" if is_response else "other"
        reason = None
        if left:
            reason = "too_large" if len(body) == max_bytes else "not_warc"
        elif not body.endswith(b"\r\n\r\n"):
            reason = "not_warc"
        yield Frame(header + body, kind if reason != "not_warc" else "record", reason)
        if reason == "not_warc":
            yield from _pieces(stream, None)
            return
        yield from _pieces(stream, left)


def warc_gzip_frames(stream: BinaryIO, max_bytes: int) -> Iterator[Frame]:
    """Of a file whose records are compressed one by one: `data` is what stands in the file."""
    limit = max_bytes + 2 * _HEADER_BYTES
    waiting = b""
    while waiting := waiting or stream.read(PIECE_BYTES):
        member = _Member(limit)
        data = bytearray()
        begun = False
        while not member.ended:
            waiting = waiting or stream.read(PIECE_BYTES)
            used = member.take(waiting)
            data += waiting[:used]
            waiting = waiting[used:]
            if member.damaged or not used:  # it makes no sense, or ends too early
                yield Frame(bytes(data), "rest") if begun else Frame(bytes(data), reason="not_warc")
                if waiting:
                    yield Frame(waiting, "rest")
                yield from _pieces(stream, None)
                return
            if len(data) > limit:
                yield Frame(bytes(data), "rest") if begun else member.frame(data)
                begun = True
                data.clear()
        if not begun:
            yield member.frame(data)
        elif data:
            yield Frame(bytes(data), "rest")


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

    def frame(self, data: bytes | bytearray) -> Frame:
        """What it is."""
        header, _, _ = self.content[:_HEADER_BYTES].partition(b"\r\n\r\n")
        if not _START.match(header):
            return Frame(bytes(data), reason="not_warc")
        if not _RESPONSE.search(header):
            return Frame(bytes(data), "other")
        reason = "too_large" if self._cut or len(self.content) > self._limit else None
        return Frame(bytes(data), "record", reason, self.content)


def _header(stream: BinaryIO) -> bytes:
    """All to the blank line; less where it is damaged, nothing at the end."""
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


def _pieces(stream: BinaryIO, size: int | None) -> Iterator[Frame]:
    """So many bytes, or all to the end, of what is not looked at."""
    while size != 0 and (
        piece := stream.read(PIECE_BYTES if size is None else min(size, PIECE_BYTES))
    ):
        size = None if size is None else size - len(piece)
        yield Frame(piece, "rest")
