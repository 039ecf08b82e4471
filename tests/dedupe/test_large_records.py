"""Records that are too large are copied unchanged, and no other record is lost."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import tracemalloc
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.dedupe.inputs import Inputs
from scrapy_simhash.dedupe.options import DedupePaths, Fields
from scrapy_simhash.dedupe.writing import write_output
from scrapy_simhash.documents import lines as lines_module
from scrapy_simhash.documents.lines import array_parts, csv_parts

from .samples import options, read_lines, run, text

TEXTS = st.text(alphabet=' ab,;"\n\r\t[]{}\\é', max_size=60)
ROWS = st.lists(TEXTS, min_size=1, max_size=6)
LIMITS = st.integers(min_value=5, max_value=90)
PIECES = st.sampled_from([1, 2, 7, 50, 1 << 20])


def kept(name, content, max_bytes, piece_bytes):
    """Return (what is written if nothing is dropped, the number of records)."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(lines_module, "PIECE_BYTES", piece_bytes),
    ):
        path, out = Path(folder, name), Path(folder, "out")
        path.write_bytes(content)
        paths = DedupePaths(inputs=[path], output=out, state=Path(folder, "state"))
        asked = options(max_bytes=max_bytes, fields=Fields(text=("text",), key=""))
        inputs = Inputs(paths, asked)
        count = sum(part.is_record for _, part in inputs.parts())
        verdicts = iter([{"dropped": False, "reason": None}] * count)
        write_output(inputs, verdicts, paths, asked, out, threads=1)
        assert next(verdicts, None) is None
        return out.read_bytes(), count


@given(
    texts=ROWS,
    max_bytes=LIMITS,
    piece_bytes=PIECES,
    after=st.sampled_from(["", "  ", "\n", " \n\n"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_json_lines(texts, max_bytes, piece_bytes, after, end):
    lines = [json.dumps({"text": value}, ensure_ascii=False) + after for value in texts]
    content = "".join(line + end for line in lines).encode()
    # Only blank lines are left out.
    expected = b"".join(line for line in content.splitlines(keepends=True) if line.strip())
    assert kept("in.jsonl", content, max_bytes, piece_bytes) == (expected, len(texts))


@given(
    texts=ROWS,
    max_bytes=LIMITS,
    piece_bytes=PIECES,
    layout=st.sampled_from(
        [
            ("[\n", ",\n", "\n]\n"),
            ("[", ",\n", "]"),
            ("[ ", " ,\r\n", " ]\r\n"),
            ("[\n", "\n,", "]"),
            ("\ufeff[\n", ",\n\n", "\n]"),
            ("[\n", ",\n][\n", "\n]\n"),
            ("[\n", "\n,\n", "\n]\n"),
        ]
    ),
    again=st.booleans(),
)
def test_json_arrays(texts, max_bytes, piece_bytes, layout, again):
    start, between, end = layout
    items = [json.dumps({"text": value}, ensure_ascii=False) for value in texts]
    content = (start + between.join(items) + end).encode()
    if again:  # a feed that was appended to another
        content, items = content + b"\n" + content, items * 2
    out, count = kept("in.json", content, max_bytes, piece_bytes)
    assert out == b"[\n" + ",\n".join(items).encode() + b"\n]\n"
    assert count == len(items)


@given(
    texts=ROWS,
    max_bytes=st.integers(min_value=16, max_value=90),
    piece_bytes=PIECES,
    layout=st.tuples(
        st.sampled_from(",;\t"),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    ),
)
def test_csv(texts, max_bytes, piece_bytes, layout):
    delimiter, end, quoting = layout
    made = io.StringIO(newline="")
    writer = csv.writer(made, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(["id", "text"])
    writer.writerows([(number, value) for number, value in enumerate(texts)])
    content = made.getvalue().encode()
    out, count = kept("in.csv", content, max_bytes, piece_bytes)
    assert out == content
    assert count == len(texts)


def test_blank_lines_within_quotes_belong_to_the_record(tmp_path):
    story = "x" * 500 + "\n\nsecond\n\n" + f'he said "{text(3)}"\n' * 3 + "end"
    made = io.StringIO(newline="")
    csv.writer(made).writerows([["url", "text"], ["a", text(1)], ["b", story], ["c", text(2)]])
    (tmp_path / "in.csv").write_text(made.getvalue(), newline="")
    for max_bytes in range(1000, 1600, 90):
        summary = run(tmp_path, "in.csv", max_bytes=max_bytes, overwrite=True)
        assert (summary.kinds, summary.skipped) == ({"new": 2, "skipped": 1}, {"too_large": 1})
        assert (tmp_path / "out").read_bytes() == made.getvalue().encode()


def test_a_quote_within_a_field_means_nothing():
    content = b'id,text\n1,5" disk ' + b"x" * 50 + b"\n2,b\n3," + b"y" * 50 + b'"\n4,d\n'
    found = [
        (part.reason, b"".join([part.data, *part.rest]))
        for part in csv_parts(io.BufferedReader(io.BytesIO(content)), 20)
    ]
    assert [reason for reason, _ in found] == [None, "too_large", None, "too_large", None]
    assert b"".join(data for _, data in found) == content


@pytest.mark.parametrize(
    "line", [b'"' + b'a\n"", ' * 9 + b"x" * 999, b'"a\n' + b"x" * 999, b"x" * 40]
)
def test_a_large_record_takes_no_memory(line, monkeypatch):
    monkeypatch.setattr(lines_module, "PIECE_BYTES", 1 << 14)

    class Endless(io.RawIOBase):
        """A stream that is longer than the memory limit."""

        left = 2 << 20

        def readable(self):
            return True

        def readinto(self, buffer):
            size = min(len(buffer), self.left)
            self.left -= size
            buffer[:size] = (line * (size // len(line) + 1))[:size]
            return size

    for framer in (csv_parts, array_parts):
        tracemalloc.start()
        for part in framer(io.BufferedReader(Endless()), 1000):
            for _ in part.rest:
                pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 18


@pytest.mark.parametrize(
    ("content", "items"),
    [
        (b'[{"a": 1},\n{"a": 2}]', [b'{"a": 1}', b'{"a": 2}']),
        (b'\xef\xbb\xbf [ {"a": 1} ] ', [b'{"a": 1}']),
        (b'[\n{"a": 1}\n][\n{"a": 2}\n]', [b'{"a": 1}', b'{"a": 2}']),
        (b'[\n{"a": [1]},\n1,\n"x]",\n]', [b'{"a": [1]}', b"1", b'"x]"']),
        (b'[{"a": [1]}\n,{"a": [{}]}\n]', [b'{"a": [1]}', b'{"a": [{}]}']),
        # Incomplete objects are kept unchanged.
        (b'[\n{"a": ["x]\n,\n{"b": ["y"]\n', [b'{"a": ["x]', b'{"b": ["y"]']),
        # A crawl was killed, and another one appended its feed.
        (b'[\n{"a": 1},\n[\n{"a": 2}\n]', [b'{"a": 1}', b'{"a": 2}']),
        (b"[\n]\n[]\n[\n\n]", []),
    ],
)
@pytest.mark.parametrize("max_bytes", [3, 4, 5, 8, 1000])
def test_what_is_an_item_of_an_array(content, items, max_bytes):
    parts = array_parts(io.BytesIO(content), max_bytes)
    assert [b"".join([part.data, *part.rest]) for part in parts] == items


def test_brackets_that_share_a_line_with_records(tmp_path):
    values = [{"url": f"https://e.com/{n}", "text": text(n // 2)} for n in range(4)]
    (tmp_path / "in.json").write_text("[" + ",\n".join(map(json.dumps, values)) + "]")
    assert run(tmp_path, "in.json").kinds == {"new": 2, "near-duplicate": 2}
    assert json.loads((tmp_path / "out").read_bytes()) == [values[0], values[2]]
    run(tmp_path, "in.json", overwrite=True, action="tag")
    tagged = json.loads((tmp_path / "out").read_bytes())
    assert [one["simhash_kind"] for one in tagged] == ["new", "near-duplicate"] * 2
    assert all(verdict["reason"] is None for verdict in read_lines(tmp_path / "verdicts"))
