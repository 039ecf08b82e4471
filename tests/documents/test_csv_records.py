"""Layouts of CSV files, and their rows."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.documents.csv_records import (
    DELIMITERS,
    Layout,
    csv_parts,
    layout_of,
    written_row,
)
from scrapy_simhash.documents.lines import ascii_lines

VALUES = st.lists(st.sampled_from([*'ab ",;|\t\n\\é', "\r\n"]), max_size=9).map("".join)
PROSE = 'He said \\"no\\", then \\"yes\\", and left.'


def lines_of(content):
    return ascii_lines(io.BufferedReader(io.BytesIO(content)), "utf-8")[0]


def layout(content, delimiter=None):
    return layout_of(lines_of(content), "utf-8", delimiter)


def parts(content, of=None, max_bytes=1000):
    of = of or layout(content)
    return list(csv_parts(lines_of(content), "utf-8", of, of.columns, max_bytes))


@given(
    st.lists(st.tuples(VALUES, VALUES, VALUES)),
    st.sampled_from(DELIMITERS),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
)
def test_what_python_writes_is_read_and_written_again(values, delimiter, line_end, mark):
    table = [("a", "b", "c"), *values]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=line_end).writerows(table)
    content = (mark + out.getvalue()).encode()
    found = layout(content, delimiter)
    assert (found.columns, found.delimiter, found.head) == (("a", "b", "c"), delimiter, mark)
    if found.escapes:  # a value may end with a backslash
        return
    records = parts(content, found)
    assert [json.loads(part.data) for part in records] == [
        dict(zip("abc", row, strict=True)) for row in values
    ]
    rows = [found.columns, *(part.row for part in records)]
    written = b"".join(written_row(row, found, "utf-8") for row in rows)
    assert mark.encode() + written == content


@pytest.mark.parametrize(
    ("content", "escapes"),
    [
        (f'a,b\n1,"{PROSE}"\n', True),
        (f'a,b\n1,plain\n2,"two\nlines"\n3,"{PROSE}"\n', True),
        ('a,b\n1,"ends with \\""\n2,x\n', True),
        ('a,b\n"C:\\dir\\",x\n"D:\\dir\\",y\n', False),
        ('a,b\n1,"C:\\new ""dir"""\n', False),
    ],
)
def test_what_a_backslash_before_a_quote_means(content, escapes):
    assert layout(content.encode()).escapes is escapes


@pytest.mark.parametrize(
    ("content", "delimiter", "columns"),
    [
        ("a,b\n1,2\n", ",", ("a", "b")),
        ("a;b, c;d\n1;2;3\n4;5, 6, 7;8\n", ";", ("a", "b, c", "d")),
        ("a|b\n1|x, y\n", "|", ("a", "b")),
        ("a\tb\n1\tx, y\n", "\t", ("a", "b")),
        ("\n\na;b\n", ";", ("a", "b")),
        ("sep=|\na;x|b\n", "|", ("a;x", "b")),
        ("\ufeffSEP=;\r\na,x;b\r\n", ";", ("a,x", "b")),
        ('"a, b";c\n1;2\n', ";", ("a, b", "c")),
        ("a\rb\r", ",", ("a",)),
        ("text\nwords, and more\n", ",", ("text",)),
        ('a, b\n1, "x, y"\n', ",", ("a", "b")),
        ('a; "b; c"\n1; 2\n', ";", ("a", "b; c")),
        ("a, b\n1, 2\n", ",", ("a", "b")),
        ("a, b\n", ",", ("a", "b")),
        ("", ",", ()),
    ],
)
def test_the_layout(content, delimiter, columns):
    found = layout(content.encode())
    assert (found.delimiter, found.columns) == (delimiter, columns)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ('1, "x, y"', ["1", "x, y"]),
        ("1, x", ["1", "x"]),
        ('1,"x, y"', ["1", "x, y"]),
        ('"1" , "x"', ["1 ", "x"]),
    ],
)
def test_spaces_after_delimiters_are_no_part_of_values(line, row):
    content = f'a, b\n0, "z, z"\n{line}\n'.encode()
    found = layout(content)
    *_, part = csv_parts(content.splitlines(True), "utf-8", found, ["a", "b"], 99)
    assert (part.reason, part.row) == (None, row)


@pytest.mark.parametrize(
    "content", ["a,b\n1, x\n2,y\n", 'a,b\n1,he said "so, what"\n', 'a,b\n1, "x" he said\n']
)
def test_other_spaces_are_part_of_values(content):
    assert not layout(content.encode()).spaced


@pytest.mark.parametrize(
    ("line", "reason", "row"),
    [
        (b"1,2,,\n", None, ["1", "2", "", ""]),
        (b"1\n", None, ["1"]),
        (b"1,2,3\n", "surplus_fields", ["1", "2", "3"]),
        (b"1,\xff\n", "not_its_encoding", ["1", "\udcff"]),
        (b'1,"open', "not_csv", ["1", "open"]),
        (b"1,a\rb\n", "not_csv", "1,a\rb\n"),
        (b"1," + b"x" * 99 + b"\n", "too_large", ["1", "x" * 99]),
    ],
)
def test_a_row_that_cannot_be_judged_has_a_reason_and_is_written_as_it_was(line, reason, row):
    content = b"a,b\n" + line
    (part,) = parts(content, Layout(("a", "b"), head_lines=1), max_bytes=60)
    assert (part.reason, part.row) == (reason, row)
    if b'"' not in line:
        assert written_row(part.row, Layout(), "utf-8") == line


def test_rows_over_several_lines():
    content = b'a,b\r\n1,"x\r\ny"\r\n\r\n2,"he ""said"""\r\n\t\n3,"open\r\n4,z\r\n'
    assert [(part.row, part.reason) for part in parts(content)] == [
        (["1", "x\r\ny"], None),
        (["2", 'he "said"'], None),
        (["\t"], None),
        (["3", "open"], None),
        (["4", "z"], None),
    ]


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_quote_without_an_end_joins_no_rows(delimiter):
    rows = [["1", '"5 apples'], ["2", "b"], ["3", '"c "d" e"'], ["4", '"e'], ["5", "f"]]
    content = "\n".join(delimiter.join(row) for row in [["a", "b"], *rows]).encode()
    found = [(part.row[0], part.reason) for part in parts(content)]
    assert found == [(row[0], None) for row in rows]
    # The quote has hidden a delimiter, so the row is kept as a text.
    content = b'a,b,c\n1,"5 apples,2\n2,"6 apples,3\n3,4,"5"\n'
    assert [(part.row, part.reason) for part in parts(content)] == [
        ('1,"5 apples,2\n', "not_csv"),
        ('2,"6 apples,3\n', "not_csv"),
        (["3", "4", "5"], None),
    ]
    # A line of a text is no row, so it belongs to the row before it.
    content = b'a,b,c\n1,2,"He said\n"no" and left"\n4,5,6\n'
    assert len(parts(content)) == 2
