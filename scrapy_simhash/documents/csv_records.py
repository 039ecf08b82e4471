"""Find the layout of a CSV file, and read its rows."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import deque
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.documents.lines import Part, Unreadable, record_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DELIMITERS = ",\t;|"
# The layout is found in at most this many lines.
_SAMPLED_LINES = 5000
_FITTED_LINES = 200
# Excel's way to name the delimiter.
_SEP_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)
_ESCAPED_QUOTE = re.compile(r'(?<!\\)((?:\\\\)*)\\"')
_MARK = "\ufeff"  # the byte order mark
# Read after the last line. If the file ends within quotes, the last row contains it.
_END = "\ufdd0"


class Layout(NamedTuple):
    r"""The layout of a CSV file.

    :param columns: names of the columns; none for an empty file.
    :param head: the byte order mark and the line ``sep=`` before the columns, if there are any.
    :param head_lines: number of lines before the first record.
    :param escapes: a quote in a value is written as ``\"``, beside ``""``.
    :param spaced: spaces after a delimiter are no part of a value.
    :param line_end: that of the first line.
    """

    columns: tuple[str, ...] = ()
    delimiter: str = ","
    head: str = ""
    head_lines: int = 0
    escapes: bool = False
    spaced: bool = False
    line_end: str = "\n"


def layout_of(lines: Iterable[bytes], encoding: str, delimiter: str | None = None) -> Layout:
    """Return the layout of a file.

    :param delimiter: None finds the one that cuts the first lines best.
    :raises Unreadable: the first line that is not blank is no CSV, or not in that encoding.
    """
    sample = [line.decode(encoding, "surrogateescape") for line in islice(lines, _SAMPLED_LINES)]
    head = _MARK if sample and sample[0].startswith(_MARK) else ""
    first = next((at for at, line in enumerate(sample) if line.strip(_MARK).strip()), len(sample))
    if first < len(sample) and (named := _SEP_LINE.fullmatch(sample[first].lstrip(_MARK))):
        delimiter = delimiter or named[1]
        head += sample[first].lstrip(_MARK)
        first += 1
    sample = [line.lstrip(_MARK) for line in sample[first:]]
    if not sample:
        return Layout()
    fitted, fits = sample[:_FITTED_LINES], [Layout(delimiter=it, spaced=True) for it in DELIMITERS]
    delimiter = delimiter or max(fits, key=partial(_fitness, fitted)).delimiter
    line_end = "\r\n" if sample[0].endswith("\r\n") else "\n"
    text = "".join(sample)
    layouts = [
        Layout((), delimiter, head, 0, escapes, spaced, line_end)
        for escapes in (False, True)[: 1 + ('\\"' in text)]
        for spaced in (False, True)[: 1 + (f"{delimiter} " in text)]
    ]
    layout = max(layouts, key=partial(_fitness, sample))
    reader = _reader(iter(sample), layout)
    try:
        columns: list[str] = next(reader, [])
        "".join(columns).encode()
    except csv.Error:
        raise Unreadable("not_csv") from None
    except UnicodeEncodeError:
        raise Unreadable("not_its_encoding") from None
    return layout._replace(columns=tuple(columns), head_lines=first + reader.line_num)


def _fitness(lines: list[str], layout: Layout) -> tuple[bool, float, int]:
    """Return how well a layout cuts lines into rows as long as the first one, without text around
    quotes, and without names of columns that begin with a space.
    """
    names, *rows = [*_rows(lines, layout, strict=True)] or [""]
    columns = [] if isinstance(names, str) else names
    is_table, lengths = len(columns) > 1, (0, len(columns))
    faults = sum(isinstance(row, str) or (is_table and len(row) not in lengths) for row in rows)
    faults += sum(name[:1] == " " for name in columns[1:])
    return is_table, -faults / (len(rows) + 1), len(columns)


def csv_parts(
    lines: Iterable[bytes], encoding: str, layout: Layout, columns: Sequence[str], max_bytes: int
) -> Iterator[Part]:
    """Yield the rows of a file as records, each with its values in `columns` as a JSON object.

    Blank lines are no records.
    """
    places = [(name, at) for at, name in enumerate(layout.columns) if name in columns]
    last: list[str] | str = ""
    records = islice(lines, layout.head_lines, None)
    texts = (line.decode(encoding, "surrogateescape") for line in records)
    for row in _rows(chain(texts, [_END]), layout):
        if last:
            yield _part(last, places, layout, max_bytes)
        last = row
    if last != [_END]:  # the file ends within quotes
        row = [*last[:-1], last[-1].removesuffix(_END)]
        yield Part(b"", reason="not_csv", row=row)


def _part(
    row: list[str] | str, places: list[tuple[str, int]], layout: Layout, max_bytes: int
) -> Part:
    if isinstance(row, str):
        return Part(b"", reason="not_csv", row=row)
    values = {name: row[at] for name, at in places if at < len(row)}
    try:
        data = json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return Part(b"", reason="not_its_encoding", row=row)
    reason = "surplus_fields" if any(row[len(layout.columns) :]) else None
    return record_part(data, max_bytes, reason)._replace(row=row)


def written_row(row: Sequence[object] | str, layout: Layout, encoding: str) -> bytes:
    """Return a row as a line; one that is no CSV is text, and is copied."""
    out = io.StringIO(newline="")
    if isinstance(row, str):
        out.write(row if row.endswith("\n") else row + layout.line_end)
    else:
        csv.writer(out, delimiter=layout.delimiter, lineterminator=layout.line_end).writerow(row)
    try:
        return out.getvalue().encode(encoding, "surrogateescape")
    except UnicodeEncodeError:  # a tag that the encoding lacks
        return out.getvalue().encode(encoding, "backslashreplace")


class _Lines:
    """Lines that can be read again.

    :ivar taken: those of the row that is being read.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._again: list[str] = []
        self.taken: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.taken.append(self._again.pop() if self._again else next(self._lines))
        return self.taken[-1]

    def read_again(self) -> None:
        """Read all lines of the row again but the first."""
        self._again += reversed(self.taken[1:])


def _rows(
    lines: Iterable[str], layout: Layout, *, strict: bool = False
) -> Iterator[list[str] | str]:
    """Yield the fields of each row; one that is no CSV is a text.

    A quote without an end would join a row with those after it. If the second line is a row itself,
    the row ends with the first one.
    """
    source = _Lines(lines)
    reader = _reader(source, layout, strict=strict)
    while True:
        row: list[str] | str | None
        try:
            row = next(reader, None)
        except csv.Error:
            row = "".join(source.taken)
        if row is None:
            return
        if len(source.taken) > 1 and _has_open_quote(source.taken, layout):
            row = next(_reader([source.taken[0].rstrip("\r\n")], layout))
            if len(row) < len(layout.columns):  # the quote has hidden delimiters
                row = source.taken[0]
            source.read_again()
        yield row
        source.taken.clear()


def _has_open_quote(lines: list[str], layout: Layout) -> bool:
    """Return True for the lines of a row that a quote joins which has no end."""
    try:
        deque(_reader(lines, layout, strict=True), maxlen=0)
    except csv.Error:
        width = len(layout.columns)
        fields = len(next(_reader(lines[1:2], layout), ())), lines[1].count(layout.delimiter) + 1
        return width > 1 and width in fields
    return False


def _reader(lines: Iterable[str], layout: Layout, *, strict: bool = False) -> Any:
    csv.field_size_limit(sys.maxsize)
    if layout.escapes:
        lines = map(partial(_ESCAPED_QUOTE.sub, r'\1""'), lines)
    return csv.reader(
        lines, delimiter=layout.delimiter, skipinitialspace=layout.spaced, strict=strict
    )
