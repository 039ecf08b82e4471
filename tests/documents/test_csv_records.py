"""Layouts of CSV files, and their records."""

from __future__ import annotations

import csv
import io
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.documents.csv_records import DELIMITERS, Layout, csv_parts, layout_of, parse_csv
from scrapy_simhash.documents.lines import Unreadable

VALUES = st.lists(st.sampled_from([*'ab ",;|\t\n\\é', "\r\n"]), max_size=9).map("".join)


def opened(content):
    @contextmanager
    def opener():
        yield io.BytesIO(content)

    return opener


def rows(content, delimiter=None):
    layout = layout_of(opened(content), "utf-8", delimiter)
    records = [part for part in csv_parts(io.BytesIO(content), layout, 1000) if part.is_record]
    assert all(part.reason is None for part in records)
    return layout, [parse_csv(part.data, "utf-8", layout) for part in records]


def written(table, delimiter, line_end):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator=line_end).writerows(table)
    return out.getvalue().encode()


@given(
    st.lists(st.tuples(VALUES, VALUES, VALUES)),
    st.sampled_from(DELIMITERS),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_what_python_writes(values, delimiter, line_end, mark):
    table = [("a", "b", "c"), *values]
    content = mark + written(table, delimiter, line_end)
    layout, found = rows(content, delimiter)
    assert (layout.columns, layout.delimiter) == (("a", "b", "c"), delimiter)
    if not layout.escapes:  # a value may end with a backslash
        assert found == [list(row) for row in values]


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1), st.sampled_from(DELIMITERS))
def test_quotes_after_backslashes(values, delimiter):
    table = [[value.replace("\\", "") for value in row] for row in values]
    quoted = [
        delimiter.join('"{}"'.format(value.replace('"', '\\"')) for value in row) for row in table
    ]
    content = f"a{delimiter}b\n{''.join(f'{row}{chr(10)}' for row in quoted)}".encode()
    layout = Layout(("a", "b"), f"a{delimiter}b\n".encode(), delimiter, escapes=True)
    records = [part.data for part in csv_parts(io.BytesIO(content), layout, 1000) if part.is_record]
    assert [parse_csv(data, "utf-8", layout) for data in records] == table


PROSE = 'He said \\"no\\", then \\"yes\\", and left.'


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
    assert layout_of(opened(content.encode()), "utf-8").escapes is escapes


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
        ("", ",", ()),
    ],
)
def test_the_layout(content, delimiter, columns):
    layout = layout_of(opened(content.encode()), "utf-8")
    assert (layout.delimiter, layout.columns) == (delimiter, columns)


def test_surplus_fields_that_are_not_empty_are_an_error():
    layout = Layout(("a", "b"))
    assert parse_csv(b"1,2,,\r\n", "utf-8", layout) == ["1", "2"]
    assert parse_csv(b"1\n", "utf-8", layout) == ["1"]
    with pytest.raises(Unreadable, match="surplus_fields"):
        parse_csv(b"1,2,3\n", "utf-8", layout)
