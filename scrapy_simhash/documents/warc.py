"""Split WARC files into records. `warcio` finds the boundaries; the bytes are not changed."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

from scrapy_simhash.documents.files import DamagedFile, import_extra
from scrapy_simhash.documents.lines import PIECE_BYTES, Part

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

# `max_bytes` limits the body of a response. Its headers may add up to this many bytes.
_HEADER_BYTES = 1 << 16
_END = b"\r\n\r\n"
_TORN = "a record is damaged"


def warc_parts(
    open_stream: Callable[[], AbstractContextManager[io.BufferedReader]],
    max_bytes: int,
    *,
    by_record: bool,
) -> Iterator[Part]:
    """Yield each WARC record of a file as a part. `Part.is_record` is True for responses only.

    :param open_stream: opens the file, decompressed unless `by_record` is set. Called twice.
    :param by_record: each record is a gzip member of its own; yield these members, compressed.
    :raises DamagedFile: the bytes after the last yielded part are no record, or an incomplete one.
    """
    with open_stream() as stream, open_stream() as copied:
        position = 0
        for offset, length, record in _records(stream):
            copied.read(offset - position)  # line breaks between records
            position = offset + length
            too_large = record.length > max_bytes + _HEADER_BYTES
            data = copied.read(min(length, PIECE_BYTES) if too_large else length)
            rest: Iterable[bytes] = _pieces(copied, length - len(data))
            if not by_record:  # `length` does not count the line breaks after a record
                if too_large:
                    rest = chain(rest, [_END])
                else:
                    data += _END
            is_response = record.rec_type == "response"
            reason = "too_large" if too_large and is_response else None
            yield Part(data, is_response, reason, rest=rest)
            for _ in rest:
                pass
        # warcio reports no error for a record that is cut off in its first bytes.
        if copied.read(_HEADER_BYTES).strip(b"\r\n\0"):
            raise DamagedFile(_TORN)


def is_compressed_by_record(stream: BinaryIO) -> bool:
    """Return True if each of the first two records of a compressed file has its own gzip member."""
    records = _iterator(stream)
    try:
        next(records, None)
        next(records, None)  # raises an error if both are in one gzip member
    except Exception:  # noqa: BLE001 - warcio raises many kinds
        return False
    return True


def _records(stream: BinaryIO) -> Iterator[tuple[int, int, Any]]:
    """Yield (offset, length, record) of complete records; raise DamagedFile at any other."""
    records = _iterator(stream)
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
        decompressor = records.reader.decompressor
        if (
            # The limit is 0 if the whole record was read. A record of invalid length has none.
            getattr(record.raw_stream, "limit", 1)
            or records.err_count
            or (decompressor is not None and not decompressor.eof)
        ):
            raise DamagedFile(_TORN)
        yield records.get_record_offset(), records.get_record_length(), record


def _iterator(stream: BinaryIO) -> Any:
    return import_extra("warcio.archiveiterator").WARCIterator(stream, no_record_parse=True)


def _pieces(stream: BinaryIO, count: int) -> Iterator[bytes]:
    while count and (piece := stream.read(min(count, PIECE_BYTES))):
        count -= len(piece)
        yield piece
