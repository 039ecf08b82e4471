"""Write records to files as JSON lines, and read them back."""

from __future__ import annotations

import gzip
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.files import DamagedFile, replaced, uncompressed
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
    if name == STANDARD_STREAM and sys.stdin is None:
        raise SimhashError("standard input is closed: name a file")
    number = 0
    try:
        with (
            (
                nullcontext(sys.stdin.buffer) if name == STANDARD_STREAM else Path(name).open("rb")
            ) as file,
            uncompressed(file) as lines,
        ):
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield PlacedRecord(f"{name}, line {number}", _parsed(line))
    except (ValueError, RecursionError) as error:
        raise SimhashError(f"{name}, line {number}: {error}; expected JSON lines") from error
    except DamagedFile as error:
        raise SimhashError(f"{name}: truncated or damaged ({error})") from error


def _parsed(line: bytes) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - as of a line that is no JSON
    return record


def _write_lines(file: Any, records: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    for record in records:
        file.write(json.dumps(record) + "\n")
        count += 1
    return count
