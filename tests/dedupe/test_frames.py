"""Files are cut in records, and nothing is lost on the way."""

from __future__ import annotations

import gzip
import io
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.dedupe.frames import Gunzip, array_frames, csv_frames, line_frames

LINES = st.lists(st.sampled_from([b"{}", b"a" * 50, b"", b" \t", b'x,"y', b'"', b"\0", b"["]))


def frames(framer, content, max_bytes=20):
    return list(framer(io.BytesIO(content), max_bytes))


@given(lines=LINES, end=st.sampled_from([b"", b"\n"]))
def test_lines_are_all_there_but_blank_ones(lines, end):
    content = b"\n".join(lines) + end
    kept = b"".join(frame.data for frame in frames(line_frames, content))
    expected = [line for line in content.splitlines(keepends=True) if line.strip()]
    assert kept == b"".join(expected)


@given(lines=LINES, end=st.sampled_from([b"", b"\n"]))
def test_of_csv_nothing_is_lost_but_blank_lines(lines, end):
    content = b"\n".join(lines) + end
    found = frames(csv_frames, content)
    assert b"".join(f.data for f in found).split() == content.split()
    # Only what is too long is cut.
    assert all(
        f.reason for f, after in pairwise(found) if (f.kind, after.kind) == ("record", "rest")
    )


def test_a_line_that_is_too_long_is_one_record():
    found = frames(line_frames, b"a\n" + b"b" * 30 + b"\nc\n")
    assert [(f.kind, f.reason) for f in found] == [
        ("record", None),
        ("record", "too_large"),
        ("rest", None),
        ("record", None),
    ]
    assert frames(line_frames, b"b" * 20 + b"\n")[0].reason is None
    assert frames(line_frames, b"b" * 21 + b"\n")[0].reason == "too_large"


@pytest.mark.parametrize("separator", [b",\n", b" ,\r\n", b",\n\n", b",\n][\n", b"\n,\n"])
@pytest.mark.parametrize("size", [3, 25, 3_000_000])
def test_the_lines_of_an_array(separator, size):
    items = [json.dumps({"n": n}).encode() for n in range(3)]
    items[1] = json.dumps("é" * size, ensure_ascii=False).encode()
    content = b"\xef\xbb\xbf[\n" + separator.join(items) + b"\n]\n"
    found = frames(array_frames, content)
    joined = []
    for frame in found:
        if frame.kind == "record":
            joined.append(b"")
        joined[-1] += frame.data
    assert joined == items


def test_records_of_csv_over_several_lines():
    content = b'a,b\r\n1,"x\r\ny"\r\n\r\n2,"he ""said"""\r\n3,"open\r\n4,z\r\n'
    found = frames(csv_frames, content, 1000)
    assert [(f.kind, f.data, f.reason) for f in found] == [
        ("other", b"a,b\r\n", None),
        ("record", b'1,"x\r\ny"\r\n', None),
        ("record", b'2,"he ""said"""\r\n', None),
        ("record", b'3,"open\r\n4,z\r\n', "not_csv"),
    ]


@pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
def test_gzip_is_decompressed(size):
    content = bytes(range(256)) * (size // 256) + b"." * (size % 256)
    half = len(content) // 2
    packed = gzip.compress(content[:half]) + b"\0\0" + gzip.compress(content[half:]) + b"\0"
    inside = Gunzip(io.BytesIO(packed))
    assert io.BufferedReader(inside).read() == content
    assert inside.damage is None


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda packed: packed[:-20], "too early"),
        (lambda packed: packed + b"garbage", "incorrect header"),
        (lambda packed: packed[:2000] + b"\xff" * 50 + packed[2050:], "Error -3"),
        (lambda packed: packed[:-8] + b"\0" * 8, "incorrect data check"),
    ],
)
def test_what_stands_before_the_damage_is_there(damage, said):
    content = b"".join(str(n * n).encode() for n in range(9000))
    inside = Gunzip(io.BytesIO(damage(gzip.compress(content))))
    read = io.BufferedReader(inside).read()
    assert content.startswith(read[:1000])
    assert len(read) > 1000
    assert said in inside.damage
