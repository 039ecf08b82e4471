"""Measure the size of an index, and how evenly its buckets are filled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from scrapy_simhash.index import records
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.offline import opened_database, opened_runs
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.run_files import KEY_HASH_BITS
from scrapy_simhash.maintenance.sources import Location, file_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.runs import Runs

ROW_KINDS = ("entries", "buckets", "page keys", "near-duplicates", "state")

# Kinds of keys in Redis: the letter in their names, and the commands that are sent for each key.
REDIS_KINDS = {
    "entries": ("e", ("MEMORY USAGE",)),
    "buckets": ("t", ("MEMORY USAGE", "STRLEN")),
    "pending pages": ("p", ("MEMORY USAGE",)),
    "near-duplicates": ("l", ("MEMORY USAGE",)),
    "state": ("n", ("MEMORY USAGE",)),
}


@dataclass
class RowStatistics:
    """The number of rows (in Redis, keys) of one kind, with the size of their keys and values."""

    rows: int = 0
    key_bytes: int = 0
    value_bytes: int = 0

    def add(self, key_bytes: int, value_bytes: int) -> None:
        """Count a row."""
        self.rows += 1
        self.key_bytes += key_bytes
        self.value_bytes += value_bytes


@dataclass
class TableStatistics:
    """The buckets of one table; on disk, page keys are a table, too.

    :param used: number of buckets with at least one record.
    :param largest: number of records in the fullest bucket.
    """

    name: str
    prefix_bits: int
    used: int = 0
    records: int = 0
    largest: int = 0

    def add_bucket(self, records_in_bucket: int) -> None:
        """Count a bucket."""
        self.used += 1
        self.records += records_in_bucket
        self.largest = max(self.largest, records_in_bucket)

    @property
    def skew(self) -> float:
        """Return the size of the fullest bucket divided by the mean of all buckets, empty ones too.

        Evenly distributed fingerprints give a small number. An empty table gives 0.
        """
        return self.largest * (1 << self.prefix_bits) / self.records if self.records else 0.0


@dataclass
class IndexStatistics:
    """The statistics of an index.

    :param page_key_bytes: size of all page keys, which the values of entries include.
    :param buffered: number of entries whose records the next opening adds; 0 in Redis.
    :param file_bytes: size of the database's files; in Redis, of the keys and values in memory.
    :param rows: statistics by kind: `ROW_KINDS`, or those of `REDIS_KINDS`.
    """

    manifest: Manifest | RedisManifest
    entries: int
    page_key_bytes: int
    buffered: int
    file_bytes: int
    rows: dict[str, RowStatistics]
    tables: list[TableStatistics]


def statistics(
    where: Location, *, on_progress: Callable[[], object] = lambda: None
) -> IndexStatistics:
    """Read all rows of an index, and return its statistics.

    :param on_progress: called for each row of the database, or for each key in Redis.
    :raises StorageError: the index is missing, open elsewhere or damaged, or cannot be read.
    """
    if isinstance(where, RedisAddress):
        with where.open() as index:
            return _of_server(index, on_progress)
    with opened_database(where) as (manifest, database):
        try:
            return _of_directory(where, manifest, database, on_progress)
        except ValueError as error:
            raise corrupt(str(where), error) from error


def _of_directory(
    directory: Path, manifest: Manifest, database: Database, on_progress: Callable[[], object]
) -> IndexStatistics:
    """Return the statistics of an index in a directory."""
    state = records.decode_state(database.get(records.STATE_KEY) or bytes(24))
    first_buffered = records.entry_row(state.first_buffered)
    rows = {kind: RowStatistics() for kind in ROW_KINDS}
    page_key_bytes = buffered = 0
    for row, value in _counted(database.rows(b"E", b"F"), rows["entries"], on_progress):
        page_key_bytes += records.page_key_length(value, manifest.plan.bits // 8)
        buffered += row >= first_buffered
    for kind, start, stop in (("near-duplicates", b"N", b"O"), ("state", b"S", b"T")):
        for _ in _counted(database.rows(start, stop), rows[kind], on_progress):
            pass
    if manifest.plan.prefix_bits:
        tables = _tables_of_runs(opened_runs(directory, manifest, database), manifest, rows)
    else:
        tables = _tables_of_buckets(database, manifest, rows, on_progress)
    return IndexStatistics(
        manifest=manifest,
        entries=rows["entries"].rows,
        page_key_bytes=page_key_bytes,
        buffered=buffered,
        file_bytes=file_bytes(manifest.database_path(directory)),
        rows=rows,
        tables=tables,
    )


def _of_server(index: RedisIndex, on_progress: Callable[[], object]) -> IndexStatistics:
    """Return the statistics of an index in Redis."""
    layout = index.layout
    tables = _empty_tables(index.plan)
    tables_by_head = {layout.table_head(number): table for number, table in enumerate(tables)}
    rows = {}
    for kind, (letter, commands) in REDIS_KINDS.items():
        rows[kind] = totals = RowStatistics()
        for key, (memory_bytes, *lengths) in index.server.each(layout.pattern(letter), *commands):
            on_progress()
            totals.add(len(key), max((memory_bytes or 0) - len(key), 0))
            if kind == "buckets":
                table = tables_by_head[key[: key.index(b"}") + 1]]
                table.add_bucket(lengths[0] // layout.record_bytes)
    entries = page_key_bytes = 0
    for entry in index.entries():
        entries += 1
        page_key_bytes += len(records.encode_key(entry.key))
    return IndexStatistics(
        manifest=index.manifest,
        entries=entries,
        page_key_bytes=page_key_bytes,
        buffered=0,
        file_bytes=sum(kind.key_bytes + kind.value_bytes for kind in rows.values()),
        rows=rows,
        tables=tables,
    )


def _tables_of_runs(
    runs: Runs, manifest: Manifest, rows: dict[str, RowStatistics]
) -> list[TableStatistics]:
    """Return the tables of `scrapy_simhash.index.runs`, and add each record to `rows` as a row."""
    import numpy as np

    tables = [*_empty_tables(manifest.plan), TableStatistics("page keys", KEY_HASH_BITS)]
    for number, table in enumerate(tables):
        positions = [run.positions(number) for run in runs.runs]
        prefixes = runs.prefixes(number, np.concatenate([np.empty(0, np.uint32), *positions]))
        _, buckets = np.unique(prefixes, return_counts=True)
        table.used, table.records = len(buckets), len(prefixes)
        table.largest = int(buckets.max(initial=0))
        totals = rows["page keys" if table is tables[-1] else "buckets"]
        totals.rows += len(prefixes)
        totals.value_bytes += sum(run.table_bytes(number) for run in runs.runs)
    # The files with fingerprints and ids serve all tables.
    rows["buckets"].value_bytes += runs.page_count * runs.page_bytes
    return tables


def _tables_of_buckets(
    database: Database,
    manifest: Manifest,
    rows: dict[str, RowStatistics],
    on_progress: Callable[[], object],
) -> list[TableStatistics]:
    """Return the tables in rows of the database, and add the rows to `rows`."""
    tables = [*_empty_tables(manifest.plan), TableStatistics("page keys", records.KEY_PREFIX_BITS)]
    heads = records.bucket_heads(manifest.plan)
    for table, (head, prefix_bytes) in zip(tables, heads, strict=True):
        kind, check_bits = "buckets", manifest.check_bits
        if head == b"K":
            kind, check_bits = "page keys", records.KEY_CHECK_BITS
        stop = (int.from_bytes(head, "big") + 1).to_bytes(len(head), "big")
        table_rows = _counted(database.rows(head, stop), rows[kind], on_progress)
        name_bytes = len(head) + prefix_bytes
        sizes = ((row[:name_bytes], len(value)) for row, value in table_rows)
        # A bucket has one open row, which begins with a header, and any number of closed rows.
        for _, bucket in groupby(sizes, itemgetter(0)):
            packed_bytes = sum(size for _, size in bucket) - records.HEADER_BYTES
            table.add_bucket(packed_bytes // (4 + check_bits // 8))
    return tables


def _empty_tables(plan: TablePlan) -> list[TableStatistics]:
    """Return statistics of zero for each table of a plan, without page keys."""
    widths_bits = plan.prefix_widths_bits
    return [TableStatistics(f"table {number}", bits) for number, bits in enumerate(widths_bits)]


def _counted(
    rows: Iterable[tuple[bytes, bytes]], totals: RowStatistics, on_progress: Callable[[], object]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield rows, and add them to the totals of their kind."""
    for row, value in rows:
        totals.add(len(row), len(value))
        on_progress()
        yield row, value
