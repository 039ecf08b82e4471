"""Split WARC files into records, and read the pages in them. `warcio` finds the boundaries; the
bytes are not changed.
"""

from __future__ import annotations

import io
import zlib
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from scrapy_simhash.documents.files import DamagedFile, Gunzip, import_extra
from scrapy_simhash.documents.lines import Part, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

# Records of these kinds have a page: as it was answered, without headers, or as a text (WET).
_PAGE_KINDS = ("response", "resource", "conversion")
# `max_bytes` limits the body of a page. Its headers may add up to this many bytes.
_HEADER_BYTES = 1 << 16
_PIECE_BYTES = 1 << 20
_END = b"\r\n\r\n"
_TORN = "a record is damaged"
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")
_BROTLI_MODULES = ("brotli", "brotlicffi")
_SUCCESS = "2"


class WarcPage(NamedTuple):
    """The page in a WARC record.

    :param url: empty if the record names none.
    :param kind: ``response``, ``resource`` or ``conversion``.
    :param body: at most one byte longer than the limit.
    :param is_decoded: False if the body is still encoded, because its Content-Encoding is unknown,
        its package is missing, or the body has another encoding.
    """

    url: str
    kind: str
    content_type: str | None
    disposition: str | None
    body: bytes
    is_decoded: bool


def warc_parts(
    open_stream: Callable[[], AbstractContextManager[io.BufferedReader]], max_bytes: int
) -> Iterator[Part]:
    """Yield each WARC record of a file as a part. `Part.is_record` is True for pages only.

    :param open_stream: opens the file, decompressed. Called twice.
    :raises DamagedFile: the bytes after the last yielded part are no record, or an incomplete one.
    """
    with open_stream() as stream, open_stream() as copied:
        position = 0
        for offset, length, record in _records(stream):
            copied.read(offset - position)  # line breaks between records
            position = offset + length
            is_page = record.rec_type in _PAGE_KINDS
            if record.length > max_bytes + _HEADER_BYTES:
                data = copied.read(min(length, _PIECE_BYTES))
                # `length` does not count the line breaks after a record.
                rest = chain(_pieces(copied, length - len(data)), [_END])
                yield Part(data, is_page, "too_large" if is_page else None, rest=rest)
                for _ in rest:
                    pass
            else:
                yield Part(copied.read(length) + _END, is_page)
        # warcio reports no error for a record that is cut off in its first bytes.
        if copied.read(_HEADER_BYTES).strip(b"\r\n\0"):
            raise DamagedFile(_TORN)


def read_page(content: bytes, max_bytes: int) -> WarcPage:
    """Return the page in a record.

    :raises Unreadable: the record is damaged, has no URL, or is a response whose status is no
        success.
    """
    archive = import_extra("warcio.archiveiterator")
    try:
        record = next(iter(archive.ArchiveIterator(io.BytesIO(content))))
        url = record.rec_headers.get_header("WARC-Target-URI") or ""
        headers = record.http_headers
        is_response = record.rec_type == "response"
        status = "" if headers is None else str(headers.get_statuscode())
        raw = b"".join(_pieces(record.raw_stream, len(content)))
    except Exception:  # noqa: BLE001 - warcio raises many kinds
        raise Unreadable("not_warc") from None
    if not url or (is_response and not status.isdecimal()):
        raise Unreadable("not_warc", url or None)
    if is_response and not status.startswith(_SUCCESS):
        raise Unreadable("status", url)
    headers = headers if is_response else record.rec_headers
    # In the order in which the encodings were applied.
    encodings = ",".join(
        text
        for name in ("content-encoding", "transfer-encoding")
        for header, text in headers.headers
        if header.lower() == name
    )
    body = decompressed(raw, encodings, max_bytes)
    return WarcPage(
        url,
        record.rec_type,
        headers.get_header("Content-Type"),
        headers.get_header("Content-Disposition"),
        raw[: max_bytes + 1] if body is None else body,
        is_decoded=body is not None,
    )


def decompressed(body: bytes, encodings: str, max_bytes: int) -> bytes | None:
    """Return at most one byte more than `max_bytes` of a body; None if it cannot be decoded.

    :param encodings: names of encodings, as in the header Content-Encoding, or ``chunked``.
    """
    for name in reversed(encodings.lower().split(",")):
        decode = _DECODERS.get(name.strip())
        if decode is None:
            return None
        try:
            body = decode(body, max_bytes + 1)
        except (Exception, MemoryError):  # noqa: BLE001 - each package has its own errors
            return None
    return body


def _gunzip(body: bytes, size: int) -> bytes:
    """Return what all members of a body contain, up to the first damage."""
    stream = Gunzip(fileobj=io.BytesIO(body), mode="rb")
    content = io.BufferedReader(stream).read(size)
    if stream.damage is not None and not content:
        raise DamagedFile(stream.damage)
    return content


def _dechunk(body: bytes, _size: int) -> bytes:
    readers = import_extra("warcio.bufferedreaders")
    stream = readers.ChunkedDataReader(io.BytesIO(body), decomp_type=None)
    return b"".join(_pieces(stream, len(body)))


def _inflate(body: bytes, size: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(body, size)
    except zlib.error:  # without a header, as some servers send it
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, size)


def _unbrotli(body: bytes, size: int) -> bytes:
    decompressor = _first_of(_BROTLI_MODULES).Decompressor()
    pieces = [decompressor.process(body, output_buffer_limit=size)]
    while sum(map(len, pieces)) < size and not decompressor.is_finished():
        if not (piece := decompressor.process(b"", output_buffer_limit=size)):
            break
        pieces.append(piece)
    return b"".join(pieces)[:size]


def _unzstd(body: bytes, size: int) -> bytes:
    content: bytes = _first_of(_ZSTD_MODULES).ZstdFile(io.BytesIO(body)).read(size)
    return content


def _first_of(modules: Iterable[str]) -> Any:
    """Return the first module that is installed. :raises LookupError: none is."""
    for name in modules:
        with suppress(ImportError):
            return import_module(name)
    raise LookupError(modules)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "": lambda body, size: body[:size],
    "identity": lambda body, size: body[:size],
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
    "chunked": _dechunk,
}


def _records(stream: BinaryIO) -> Iterator[tuple[int, int, Any]]:
    """Yield (offset, length, record) of complete records; raise DamagedFile at any other."""
    archive = import_extra("warcio.archiveiterator")
    records = archive.WARCIterator(stream, no_record_parse=True)
    while True:
        try:
            record = next(records, None)
            if record is None:
                return
            records.read_to_end()
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - warcio raises many kinds
            raise DamagedFile("a part is no WARC record") from None
        # The limit is 0 if the whole record was read. A record of invalid length has none.
        if getattr(record.raw_stream, "limit", 1) or records.err_count:
            raise DamagedFile(_TORN)
        yield records.get_record_offset(), records.get_record_length(), record


def _pieces(stream: BinaryIO, count: int) -> Iterator[bytes]:
    while count and (piece := stream.read(min(count, _PIECE_BYTES))):
        count -= len(piece)
        yield piece
