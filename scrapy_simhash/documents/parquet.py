"""Read Parquet files in batches of rows, so that memory is bounded."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.files import import_extra
from scrapy_simhash.documents.lines import Part
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_ROWS = 256


def parquet_schema(path: Path) -> Any:
    """Return the schema of a Parquet file.

    :raises FileNotFoundError: there is no such file.
    :raises SimhashError: the file cannot be read as Parquet, or pyarrow cannot be imported.
    """
    with _opened(path) as file:
        return file.schema_arrow


def row_parts(path: Path, columns: Sequence[str], max_bytes: int) -> Iterator[Part]:
    """Yield rows as records in JSON. A value that Python has no type for is null.

    :raises SimhashError, FileNotFoundError: see `parquet_schema`.
    """
    for batch in row_batches(path, _ROWS, list(columns)):
        values = [[*map(_value, column)] for column in batch.columns]
        for row in zip(*values, strict=True):
            record = dict(zip(batch.schema.names, row, strict=True))
            text = json.dumps(record, ensure_ascii=False, default=_as_text)
            data = text.encode("utf-8", "replace")
            yield Part(data, reason="too_large" if len(data) > max_bytes else None)


def row_batches(path: Path, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield batches of at most `rows` rows.

    :raises SimhashError, FileNotFoundError: see `parquet_schema`.
    """
    with _opened(path) as file:
        yield from file.iter_batches(rows, columns=columns)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    parquet = import_extra("pyarrow.parquet")
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # the errors of pyarrow
        raise SimhashError(f"{path} cannot be read as Parquet: {error}") from error


def _value(scalar: Any) -> Any:
    with suppress(ValueError, OverflowError):
        return scalar.as_py()
    return None


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
