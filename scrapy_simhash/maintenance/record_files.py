"""Write records to files as JSON lines, CSV or Parquet; read JSON lines and Parquet back."""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.escaping import csv_cell
from scrapy_simhash.documents.files import GZIP_MARK, import_extra, replaced
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.maintenance.export import PlacedRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

STANDARD_STREAM = "-"
_BATCH_RECORDS = 65_536


def is_parquet(name: str) -> bool:
    """Return True if a file name ends with ``.parquet`` or ``.pq``."""
    return name.lower().endswith((".parquet", ".pq"))


def is_csv(name: str) -> bool:
    """Return True if a file name ends with ``.csv`` or ``.csv.gz``."""
    return name.lower().removesuffix(".gz").endswith(".csv")


def write_records(name: str, records: Iterable[Mapping[str, Any]], types: Mapping[str, Any]) -> int:
    """Write records to a file atomically, or to standard output, and return their number.

    :param name: a file name, or ``-`` for JSON lines on standard output. The format is CSV or
        Parquet (`is_csv`, `is_parquet`), else JSON lines; ``.gz`` compresses CSV and JSON lines.
    :param types: the type of each field: str, int, bool or int | None. JSON lines do not use them.
    :raises SimhashError: Parquet cannot store a value, pyarrow is missing, or standard output is
        closed.
    :raises OSError: the file cannot be written.
    """
    count = 0

    def counted() -> Iterator[Mapping[str, Any]]:
        nonlocal count
        for record in records:
            yield record
            count += 1

    if name == STANDARD_STREAM:
        if sys.stdout is None:
            raise SimhashError("standard output is closed: name a file")
        _write_lines(sys.stdout, counted())
        return count
    with replaced(Path(name)) as temporary:
        if is_parquet(name):
            _write_parquet(temporary, counted(), types)
            return count
        open_text = gzip.open if name.lower().endswith(".gz") else open
        # newline="" keeps line ends as they are written: \r\n in CSV, \n in JSON lines.
        with open_text(temporary, "wt", encoding="utf-8", newline="") as file:
            if is_csv(name):
                _write_csv(file, counted(), types)
            else:
                _write_lines(file, counted())
    return count


def read_records(name: str) -> Iterator[PlacedRecord]:
    """Yield the records of a file without checking their fields.

    :param name: name of a Parquet file or of a file of JSON lines, which may be gzipped; or ``-``
        for JSON lines on standard input.
    :raises SimhashError: the file is CSV, has another format or is damaged, pyarrow is missing, or
        standard input is closed.
    :raises OSError: the file cannot be read.
    """
    if name == STANDARD_STREAM:
        if sys.stdin is None:
            raise SimhashError("standard input is closed: name a file")
        yield from _read_lines(name, sys.stdin.buffer)
    elif is_csv(name):
        raise SimhashError(
            f"{name}: CSV is for spreadsheets and cannot be read back: export JSON lines or Parquet"
        )
    elif is_parquet(name):
        yield from _read_parquet(Path(name))
    else:
        with Path(name).open("rb") as file:
            compressed = file.peek(2).startswith(GZIP_MARK)
            yield from _read_lines(name, gzip.GzipFile(fileobj=file) if compressed else file)


def _write_lines(file: Any, records: Iterable[Mapping[str, Any]]) -> None:
    file.writelines(json.dumps(record) + "\n" for record in records)


def _write_csv(file: Any, records: Iterable[Mapping[str, Any]], types: Mapping[str, Any]) -> None:
    writer = csv.DictWriter(file, list(types))
    writer.writeheader()
    writer.writerows(
        {
            field: csv_cell(value) if isinstance(value, str) else value
            for field, value in record.items()
        }
        for record in records
    )


def _read_lines(name: str, file: Iterable[bytes]) -> Iterator[PlacedRecord]:
    """Yield the records of JSON lines; blank lines are skipped."""
    number = 0
    try:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            record = json.loads(line)
            if not isinstance(record, dict):
                raise TypeError("not a JSON object")
            yield PlacedRecord(f"{name}, line {number}", record)
    except (ValueError, TypeError, RecursionError) as error:
        raise SimhashError(f"{name}, line {number}: {error}; expected JSON lines") from error
    except (EOFError, OSError, zlib.error) as error:
        # An OSError with a number is an error of the disk; `gzip.BadGzipFile` has no number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise SimhashError(f"{name}: truncated or damaged ({error})") from error


def _write_parquet(
    path: Path, records: Iterable[Mapping[str, Any]], types: Mapping[str, Any]
) -> None:
    arrow, parquet = import_extra("pyarrow"), import_extra("pyarrow.parquet")
    arrow_types = {
        str: arrow.string(),
        int: arrow.int64(),
        bool: arrow.bool_(),
        int | None: arrow.int64(),
    }
    schema = arrow.schema([(field, arrow_types[kind]) for field, kind in types.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        iterator = iter(records)
        while batch := list(islice(iterator, _BATCH_RECORDS)):
            try:
                writer.write_table(arrow.Table.from_pylist(batch, schema))
            except (UnicodeError, arrow.ArrowException) as error:  # noqa: PERF203 - once a batch
                raise SimhashError(
                    f"Parquet cannot store a record ({error}): export JSON lines instead"
                ) from error


def _read_parquet(path: Path) -> Iterator[PlacedRecord]:
    arrow, parquet = import_extra("pyarrow"), import_extra("pyarrow.parquet")
    with path.open("rb") as stream:
        try:
            file = parquet.ParquetFile(stream)
            number = 0
            for batch in file.iter_batches(_BATCH_RECORDS):
                for record in batch.to_pylist():
                    number += 1
                    yield PlacedRecord(f"{path}, row {number}", record)
        except (arrow.ArrowException, OSError) as error:
            raise SimhashError(f"{path}: not a Parquet file, or damaged ({error})") from error
