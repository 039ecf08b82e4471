"""WARC files are cut in records as warcio cuts them, and every byte is kept."""

from __future__ import annotations

import gzip
import io
import random
from itertools import accumulate

import pytest
from warcio.archiveiterator import ArchiveIterator

from scrapy_simhash.dedupe.warc_frames import (
    is_compressed_by_record,
    warc_frames,
    warc_gzip_frames,
)

from .samples import http_response, warc_record

SIZES = (10, 5000, 300_000, 1_500_000, 0, 20)
LIMIT = 400_000


def warc(*, compressed):
    made = [warc_record("warcinfo", b"software: test\r\n")]
    for number, size in enumerate(SIZES):
        # Some that can be compressed, and some that cannot.
        body = random.Random(number).randbytes(size) if number % 2 else b"a" * size
        made.append(warc_record("request", b"GET / HTTP/1.1\r\n\r\n"))
        made.append(warc_record("response", http_response(body)))
    return b"".join(gzip.compress(record, mtime=0) if compressed else record for record in made)


def by_record(frames):
    """[type or reason, content or None] of each record, with its pieces."""
    found = []
    for frame in frames:
        if frame.kind != "rest":
            found.append([frame.kind, frame.reason, b""])
        found[-1][2] += frame.data
    return found


@pytest.mark.parametrize("compressed", [False, True])
def test_as_warcio_cuts_them(compressed):
    content = warc(compressed=compressed)
    framer = warc_gzip_frames if compressed else warc_frames
    found = by_record(framer(io.BytesIO(content), LIMIT))
    assert b"".join(data for _, _, data in found) == content
    iterator = ArchiveIterator(io.BytesIO(content))
    records = []
    for record in iterator:
        record.raw_stream.read()
        iterator.read_to_end()
        records.append((record.rec_type, iterator.get_record_offset()))
    ends = list(accumulate(len(data) for _, _, data in found))
    assert [0, *ends[:-1]] == [offset for _, offset in records]
    kinds = {"response": "record"}
    assert [kind for kind, _, _ in found] == [kinds.get(kind, "other") for kind, _ in records]
    reasons = [reason for kind, reason, _ in found if kind == "record"]
    assert reasons == ["too_large" if size > LIMIT * 3 else None for size in SIZES]


def test_what_is_compressed_by_record():
    assert is_compressed_by_record(io.BytesIO(warc(compressed=True)))
    assert not is_compressed_by_record(io.BytesIO(gzip.compress(warc(compressed=False))))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("at", [1, 100, 690, 5000, 40_000, 600_000, -1_000_000, -200, -30])
@pytest.mark.parametrize("max_bytes", [1000, LIMIT])
def test_of_a_file_that_is_cut_off_whole_records_are_there(compressed, at, max_bytes):
    content = warc(compressed=compressed)
    framer = warc_gzip_frames if compressed else warc_frames
    ends = [0, *accumulate(len(data) for *_, data in by_record(framer(io.BytesIO(content), LIMIT)))]
    at %= len(content)
    found = list(framer(io.BytesIO(content[:at]), max_bytes))
    assert b"".join(frame.data for frame in found) == content[: max(e for e in ends if e <= at)]
    # An end between records cannot be told from the end.
    assert [frame.kind for frame in found].count("damage") == (at not in ends)
    assert found[-1].kind == "damage" or at in ends


@pytest.mark.parametrize("end", [b"\r\n", b"\n", b"\n\n", b"\r\n" * 3, b"\r", b""])
def test_line_breaks_between_records_are_mended(end):
    record = warc_record("response", http_response(b"<p>"))
    between = end.replace(b"\r", b"\r\n") if end == b"\r" else end or b"\n"
    content = record[:-4] + between + record[:-4] + end
    found = list(warc_frames(io.BytesIO(content), LIMIT))
    assert [(frame.data, frame.kind) for frame in found] == [(record, "record")] * 2


@pytest.mark.parametrize(
    ("compressed", "garbage"),
    [
        (False, b"garbage " * 50_000),
        (False, b"WARC/1.0\r\nno length\r\n\r\n"),
        (False, b"WARC/1.0\r\nContent-Length: -3\r\n\r\n"),
        (False, warc_record("response", b"abc").replace(b"Length: 3", b"Length: 2")),
        (False, warc_record("response", b"abc").replace(b"Length: 3", b"Length: %d" % 10**17)),
        (True, b"garbage " * 300_000),
        (True, gzip.compress(b"no record", mtime=0)),
    ],
)
def test_garbage_is_left_out_and_said(compressed, garbage):
    content = warc(compressed=compressed)
    framer = warc_gzip_frames if compressed else warc_frames
    found = list(framer(io.BytesIO(content + garbage), LIMIT))
    assert b"".join(frame.data for frame in found) == content
    assert [(frame.data, frame.reason) for frame in found if frame.kind == "damage"] == [
        (b"", found[-1].reason)
    ]


def test_a_member_that_is_no_record_stands_in_the_way_of_none():
    record = gzip.compress(warc_record("response", b"abc"), mtime=0)
    content = record + gzip.compress(b"no record") + gzip.compress(b"") + record
    found = list(warc_gzip_frames(io.BytesIO(content), LIMIT))
    assert [frame.kind for frame in found] == ["record", "damage", "other", "record"]
    assert sum(1 for _ in ArchiveIterator(io.BytesIO(b"".join(f.data for f in found)))) == 2
