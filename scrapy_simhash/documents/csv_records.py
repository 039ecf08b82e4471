"""Find the layout of a CSV file, split it into records of bytes, and parse records.

Records are found in bytes, decoded as Latin-1: in all encodings that are based on ASCII, quotes,
delimiters and line breaks are the same bytes.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.documents.json_records import parse_json
from scrapy_simhash.documents.lines import Part, Unreadable, decoded_record, record_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

DELIMITERS = ",\t;|"
_SAMPLED_LINES = 200
# Excel's way to name the delimiter.
_SEP_LINE = re.compile(rb"(?:\xef\xbb\xbf)?sep=(.)\s*", re.IGNORECASE)
_ESCAPED_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)\\"')


class Layout(NamedTuple):
    r"""The layout of a CSV file.

    :param columns: names of the columns; none for an empty file.
    :param head: the bytes before the first record.
    :param escapes: a quote in a value is written as ``\"``, beside ``""``.
    """

    columns: tuple[str, ...] = ()
    head: bytes = b""
    delimiter: str = ","
    escapes: bool = False


def layout_of(
    opened: Callable[[], AbstractContextManager[Iterable[bytes]]],
    encoding: str,
    delimiter: str | None = None,
) -> Layout:
    """Return the layout of a file.

    :param opened: opens its lines. Called twice, or four times.
    :param delimiter: None finds the one that cuts the first lines best.
    :raises Unreadable: the first line that is not blank is no record, or not in that encoding.
    """
    with opened() as lines:
        sample = list(islice(_by_line(lines), _SAMPLED_LINES))
    first = next((at for at, line in enumerate(sample) if line.strip()), len(sample))
    if first < len(sample) and (named := _SEP_LINE.fullmatch(sample[first])):
        delimiter = delimiter or named[1].decode("latin-1")
        first += 1
    delimiter = delimiter or max(DELIMITERS, key=lambda it: _fitness(sample[first:], it))
    layout = Layout((), b"".join(sample[:first]), delimiter)
    header, _ = next(_records(iter(sample[first:]), layout), (b"", None))
    columns = tuple(parse_csv(header, encoding, layout)) if header else ()
    layout = Layout(columns, layout.head + header, delimiter)
    with opened() as lines:
        has_backslashes = any(b'\\"' in line for line in lines)
    if has_backslashes:
        both = (layout, layout._replace(escapes=True))
        layout = min(both, key=lambda it: _faults(opened, it))
    return layout


def _fitness(lines: list[bytes], delimiter: str) -> tuple[bool, float, int]:
    """Return how well a delimiter cuts lines into rows as long as the first one."""
    rows = [row for _, row in _records(iter(lines), Layout(delimiter=delimiter)) if row]
    if not rows:
        return False, 0.0, 0
    columns = len(rows[0])
    if columns == 1:
        return False, 0.0, 0
    return True, sum(len(row) == columns for row in rows) / len(rows), columns


def _faults(opened: Callable[[], AbstractContextManager[Iterable[bytes]]], layout: Layout) -> int:
    """Return the number of records with other columns, or with text around quotes."""
    with opened() as lines:
        records = _records(_by_line(lines), layout, strict=True)
        return sum(row is None or len(row) not in (0, len(layout.columns)) for _, row in records)


def csv_parts(lines: Iterable[bytes], layout: Layout, max_bytes: int) -> Iterator[Part]:
    """Yield the records of a file. The bytes before them, and blank lines, are no records."""
    source, head = _by_line(lines), b""
    while len(head) < len(layout.head) and (line := next(source, b"")):
        head += line
    if head:
        yield Part(head, is_record=False)
    last = Part(b"", is_record=False)
    for data, row in _records(source, layout):
        if last.data:
            yield last
        last = record_part(data, max_bytes, "not_csv" if row is None else None)
        last = last._replace(is_record=row != [])
    # If the file ends within quotes, a further line would belong to the last record.
    if last.is_record and last.reason is None:
        further = _records(iter((*io.BytesIO(last.data.rstrip(b"\r\n") + b"\n"), b"x")), layout)
        if len([row for _, row in further if row]) == 1:
            last = last._replace(reason="not_csv")
    if last.data:
        yield last


def _by_line(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines; of files whose line breaks are all CR, as on old Macs, cut the only line."""
    source = iter(lines)
    first = next(source, b"")
    if b"\r" in first and b"\n" not in first:
        yield from (part + b"\n" for part in first.removesuffix(b"\r").split(b"\r"))
    elif first:
        yield first
    yield from source


def _records(
    lines: Iterator[bytes], layout: Layout, *, strict: bool = False
) -> Iterator[tuple[bytes, list[str] | None]]:
    """Yield the bytes of each record, and its fields as Latin-1; None if it is no CSV."""
    taken: list[bytes] = []

    def texts() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield _unescaped(line.decode("latin-1"), layout)

    reader = _reader(texts(), layout, strict=strict)
    while True:
        row: list[str] | None
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            row = None
        yield b"".join(taken), row
        taken.clear()


def parse_csv(content: bytes, encoding: str, layout: Layout) -> list[str]:
    """Return the fields of one record.

    :raises Unreadable: the content is not one record, or not in that encoding; or it has more
        fields than the layout has columns, and these are not empty.
    """
    text = _unescaped(decoded_record(content, encoding), layout)
    try:
        rows = list(_reader(io.StringIO(text, newline=""), layout))
    except csv.Error:
        raise Unreadable("not_csv") from None
    if len(rows) != 1:
        raise Unreadable("not_csv")
    columns = len(layout.columns) or len(rows[0])
    if any(rows[0][columns:]):
        raise Unreadable("surplus_fields")
    return rows[0][:columns]


def parse_record(content: bytes, encoding: str, layout: Layout | None) -> dict[str, Any]:
    """Return the fields of a record.

    :param layout: None for JSON.
    :raises Unreadable: see `parse_json` and `parse_csv`.
    """
    if layout is None:
        return parse_json(content, encoding)
    return dict(zip(layout.columns, parse_csv(content, encoding, layout), strict=False))


def _reader(lines: Iterable[str], layout: Layout, *, strict: bool = False) -> Iterator[list[str]]:
    csv.field_size_limit(sys.maxsize)
    return csv.reader(lines, delimiter=layout.delimiter, strict=strict)


def _unescaped(text: str, layout: Layout) -> str:
    return _ESCAPED_QUOTE.sub(r'\1""', text) if layout.escapes else text
