"""Files are split into records, and no byte is lost."""

import gzip
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.documents.files import DamagedFile, uncompressed
from scrapy_simhash.documents.lines import ascii_lines, line_parts

LINES = st.lists(st.sampled_from([b"{}", b"a" * 50, b"", b" \t", b'x,"y', b'"', b"\0", b"["]))


def parts(split, content, *more):
    """Return (data, is a record, reason) of all parts."""
    found = split(io.BytesIO(content), *more, 20)
    return [(part.data, part.is_record, part.reason) for part in found]


@given(lines=LINES, end=st.sampled_from([b"", b"\n"]))
def test_nothing_is_lost(lines, end):
    content = b"\n".join(lines) + end
    found = parts(line_parts, content)
    assert b"".join(data for data, *_ in found) == content
    assert [is_record for _, is_record, _ in found] == [bool(data.strip()) for data, *_ in found]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b'{"a": 1}\r{"b": 2}\r', [b'{"a": 1}\n', b'{"b": 2}\n']),
        ('{"a": 1}\r{"b": 2}'.encode("utf-16"), [b'{"a": 1}\n', b'{"b": 2}\n']),
        (b"{}\r\n{}\r{}", [b"{}\r\n", b"{}\r{}"]),
        (b"{}\n\n", [b"{}\n", b"\n"]),
        (b"", []),
    ],
)
def test_line_breaks_of_old_macs(content, lines):
    found, encoding = ascii_lines(io.BufferedReader(io.BytesIO(content)), "utf-8")
    assert ([*found], encoding) == (lines, "utf-8")


def test_a_line_that_is_too_long_is_one_record():
    assert parts(line_parts, b"a\n" + b"b" * 30 + b"\nc\n") == [
        (b"a\n", True, None),
        (b"b" * 30 + b"\n", True, "too_large"),
        (b"c\n", True, None),
    ]
    assert parts(line_parts, b"b" * 19 + b"\n")[0][2] is None
    assert parts(line_parts, b"b" * 20 + b"\n")[0][2] == "too_large"


def read(packed):
    """Return (the bytes that can be read of a gzip file, its damage)."""
    content = b""
    try:
        with uncompressed(io.BytesIO(packed)) as stream:
            while piece := stream.read(1000):
                content += piece
    except DamagedFile as error:
        return content, str(error)
    return content, None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda packed: packed[:-20], "ended before the end-of-stream marker"),
        (lambda packed: packed + b"garbage", "Not a gzipped file"),
        (lambda packed: packed[:600_000] + b"\xff" * 50 + packed[600_050:], "Error -3|CRC"),
        (lambda packed: packed[:-8] + b"\0" * 8, "CRC check failed"),
    ],
)
def test_a_damaged_gzip_file_is_read_up_to_the_damage(damage, message):
    content = b"".join(str(n**9).encode() for n in range(60_000))
    found, reason = read(damage(gzip.compress(content)))
    # zlib may notice damage some bytes later. At most one buffer is lost.
    assert content.startswith(found[:300_000])
    assert len(found) > len(content) // 4
    assert re.search(message, reason)


def test_the_damage_is_found_if_the_gzip_module_reads_past_our_read(monkeypatch):
    def readinto(self, buffer):  # as in Python 3.14
        raise EOFError

    for name in ("readinto", "readinto1"):
        monkeypatch.setattr(gzip.GzipFile, name, readinto)
    content, reason = read(gzip.compress(b"a" * 5000)[:-8])
    assert content == b"a" * 5000
    assert "ended before" in reason
