"""Rows of Parquet files: read and written by batches of rows, so that memory is bounded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe.extras import needed
from scrapy_simhash.dedupe.frames import Frame
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_ROWS = 256


def column_names(path: Path) -> list[str]:
    """Of a Parquet file. :raises SimhashError: it is none."""
    with _opened(path) as file:
        return list(file.schema_arrow.names)


def row_frames(path: Path, columns: Sequence[str], max_bytes: int) -> Iterator[Frame]:
    """A record in each row: a JSON object of these columns."""
    with _opened(path) as file:
        for batch in _batches(path, file, _ROWS, list(columns)):
            for row in batch.to_pylist():
                content = json.dumps(row, ensure_ascii=False, default=_as_text).encode(
                    "utf-8", "replace"
                )
                too_large = len(content) > max_bytes
                yield Frame(b"", reason="too_large" if too_large else None, content=content)


def write_rows(
    paths: Sequence[Path],
    verdicts: Iterator[Mapping[str, Any]],
    output: Path,
    tags: Mapping[str, str] | None,
) -> None:
    """The rows that are kept.

    :param verdicts: of all rows, in their order.
    :param tags: field of a verdict → column, for those that are to be added.
    """
    parquet = needed("pyarrow.parquet")
    arrow = needed("pyarrow")
    types = {"distance": arrow.int32(), "similarity": arrow.float64()}
    columns = {} if tags is None else tags
    writer = None
    try:
        for path in paths:
            with _opened(path) as file:
                schema = file.schema_arrow
                for name, column in columns.items():
                    schema = schema.append(arrow.field(column, types.get(name, arrow.string())))
                if writer is None:
                    first = schema
                    writer = parquet.ParquetWriter(output, schema)
                elif not schema.equals(first):
                    raise SimhashError(f"{path} has other columns than {paths[0]}")
                batches = _batches(path, file, _ROWS * 16)
                for table in _kept(arrow, batches, schema, verdicts, columns):
                    writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def check_same_columns(paths: Sequence[Path]) -> None:
    """:raises SimhashError: the files don't fit in one."""
    schemas = []
    for path in paths:
        with _opened(path) as file:
            schemas.append(file.schema_arrow)
        if not schemas[-1].equals(schemas[0]):
            raise SimhashError(
                f"{path} has other columns than {paths[0]}: de-duplicate them one by one, with "
                "the same --index and --incremental"
            )


def _kept(
    arrow: Any,
    batches: Iterator[Any],
    schema: Any,
    verdicts: Iterator[Mapping[str, Any]],
    columns: Mapping[str, str],
) -> Iterator[Any]:
    """Tables of rows that are kept, one for each batch."""
    for batch in batches:
        told = [next(verdicts) for _ in range(batch.num_rows)]
        table = arrow.Table.from_batches([batch])
        for name, column in columns.items():
            values = [None if one["reason"] else one.get(name) for one in told]
            table = table.append_column(
                schema.field(column), arrow.array(values, schema.field(column).type)
            )
        yield table.filter(arrow.array([not one["dropped"] for one in told]))


def _batches(
    path: Path, file: Any, rows: int, columns: Sequence[str] | None = None
) -> Iterator[Any]:
    """Of so many rows each. :raises SimhashError: there is no reading on."""
    try:
        yield from file.iter_batches(rows, columns=columns)
    except (OSError, ValueError) as error:  # its errors are of these kinds
        raise _damaged(path, error) from error


def _opened(path: Path) -> Any:
    parquet = needed("pyarrow.parquet")
    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> SimhashError:
    return SimhashError(f"{path} cannot be read as Parquet: {error}")


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
