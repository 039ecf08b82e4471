"""WARC files are split into the records that warcio finds, and no byte is lost."""

import gzip
import io
import random
import sys
import zlib
from itertools import accumulate

import brotli
import pytest
from warcio.archiveiterator import ArchiveIterator

from scrapy_simhash.documents.files import DamagedFile
from scrapy_simhash.documents.warc import decompressed, warc_parts
from tests.dedupe.samples import http_response, warc_record

SIZES = (10, 5000, 300_000, 1_500_000, 0, 20)
LIMIT = 400_000
zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def warc():
    made = [warc_record("warcinfo", b"software: test\r\n")]
    for number, size in enumerate(SIZES):
        # Compressible and incompressible bytes.
        body = random.Random(number).randbytes(size) if number % 2 else b"a" * size
        made.append(warc_record("request", b"GET / HTTP/1.1\r\n\r\n"))
        made.append(warc_record("response", http_response(body)))
    return b"".join(made)


def read(content, max_bytes=LIMIT):
    """Return [(bytes, is a response, reason)] of the parts, and the damage."""
    found = []

    def opened():
        return io.BufferedReader(io.BytesIO(content))

    try:
        for part in warc_parts(opened, max_bytes):
            found.append((b"".join([part.data, *part.rest]), part.is_record, part.reason))  # noqa: PERF401
    except DamagedFile as error:
        return found, str(error)
    return found, None


def test_as_warcio_cuts_them():
    content = warc()
    found, damage = read(content)
    assert damage is None
    assert b"".join(data for data, *_ in found) == content
    iterator = ArchiveIterator(io.BytesIO(content))
    records = []
    for record in iterator:
        iterator.read_to_end()
        records.append((record.rec_type, iterator.get_record_offset()))
    ends = list(accumulate(len(data) for data, *_ in found))
    assert [0, *ends[:-1]] == [offset for _, offset in records]
    assert [is_record for _, is_record, _ in found] == [kind == "response" for kind, _ in records]
    reasons = [reason for _, is_record, reason in found if is_record]
    assert reasons == ["too_large" if size > LIMIT * 3 else None for size in SIZES]


@pytest.mark.parametrize("at", [1, 100, 690, 5000, 40_000, 600_000, -1_000_000, -200, -30])
@pytest.mark.parametrize("max_bytes", [1000, LIMIT])
def test_of_a_file_that_is_cut_off_whole_records_are_there(at, max_bytes):
    content = warc()
    whole, _ = read(content)
    ends = [0, *accumulate(len(data) for data, *_ in whole)]
    at %= len(content)
    found, damage = read(content[:at], max_bytes)
    assert b"".join(data for data, *_ in found) == content[: max(e for e in ends if e <= at)]
    # A file that was cut off between two records looks complete.
    assert (damage is None) == (at in ends)


@pytest.mark.parametrize(
    "garbage",
    [
        b"garbage " * 50_000,
        b"WARC/1.0\r\nno length\r\n\r\n",
        warc_record("response", b"abc").replace(b"Length: 3", b"Length: 2"),
        warc_record("response", b"abc").replace(b"Length: 3", b"Length: %d" % 10**17),
    ],
)
def test_garbage_is_left_out_and_reported(garbage):
    content = warc()
    found, damage = read(content + garbage)
    assert b"".join(data for data, *_ in found) == content
    assert damage is not None


BODY = b"<p>tides</p>" * 999
PACKED = gzip.compress(BODY)
DEFLATE = zlib.compressobj(wbits=-15)
ENCODED = {
    "": BODY,
    "identity": BODY,
    "gzip": gzip.compress(BODY),
    "X-GZIP": gzip.compress(BODY)[:-8],  # cut off
    "deflate": zlib.compress(BODY),
    "Deflate": DEFLATE.compress(BODY) + DEFLATE.flush(),
    "br": brotli.compress(BODY),
    "zstd": zstd.compress(BODY),
    "x-gzip,": gzip.compress(BODY[:50]) + gzip.compress(BODY[50:]) + b"\n",
    "gzip, chunked": b"%x;a=b\r\n%b\r\n0\r\n\r\n" % (len(PACKED), PACKED),
    "gzip, br": brotli.compress(gzip.compress(BODY)),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_bodies_are_decompressed_up_to_a_limit(encoding):
    assert decompressed(ENCODED[encoding], encoding, 1 << 20) == BODY
    assert decompressed(ENCODED[encoding], encoding, 100) == BODY[:101] or "," in encoding
    if encoding not in ("", "identity"):
        assert decompressed(BODY, encoding, 1 << 20) is None
