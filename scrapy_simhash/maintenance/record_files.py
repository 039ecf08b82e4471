"""Write records to files as JSON lines, and read them back."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.files import GZIP_MARK, replaced
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.maintenance.export import PlacedRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

STANDARD_STREAM = "-"


def write_records(name: str, records: Iterable[Mapping[str, Any]]) -> int:
    """Write records as JSON lines to a file atomically, or to standard output; return their number.

    :param name: a file name, or ``-`` for standard output. ``.gz`` compresses.
    :raises SimhashError: standard output is closed.
    :raises OSError: the file cannot be written.
    """
    if name == STANDARD_STREAM:
        if sys.stdout is None:
            raise SimhashError("standard output is closed: name a file")
        return _write_lines(sys.stdout, records)
    with replaced(Path(name)) as temporary:
        open_text = gzip.open if name.lower().endswith(".gz") else open
        with open_text(temporary, "wt", encoding="utf-8", newline="\n") as file:
            return _write_lines(file, records)


def read_records(name: str) -> Iterator[PlacedRecord]:
    """Yield the records of a file of JSON lines without checking their fields.

    :param name: name of a file, which may be gzipped; or ``-`` for standard input.
    :raises SimhashError: the file has another format or is damaged, or standard input is closed.
    :raises OSError: the file cannot be read.
    """
    if name == STANDARD_STREAM:
        if sys.stdin is None:
            raise SimhashError("standard input is closed: name a file")
        yield from _read_lines(name, sys.stdin.buffer)
    else:
        with Path(name).open("rb") as file:
            compressed = file.peek(2).startswith(GZIP_MARK)
            yield from _read_lines(name, gzip.GzipFile(fileobj=file) if compressed else file)


def _write_lines(file: Any, records: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    for record in records:
        file.write(json.dumps(record) + "\n")
        count += 1
    return count


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
