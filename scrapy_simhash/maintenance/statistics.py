"""Measure the size of an index, and how evenly its buckets are filled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from scrapy_simhash.index import records
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.marks import KEY_BITS
from scrapy_simhash.index.offline import opened_database
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.run_files import KEY_HASH_BITS
from scrapy_simhash.maintenance.sources import EMPTY_STATE, Location, file_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.index.redis.manifest import RedisManifest

ROW_KINDS = ("entries", "buckets", "page keys", "near-duplicates", "state")

# By kind of keys in Redis: the letter in the keys.
_REDIS_LETTERS = {"entries": "e", "pending pages": "p", "near-duplicates": "l", "state": "n"}
REDIS_KINDS = ("journal", *_REDIS_LETTERS)


@dataclass
class RowStatistics:
    """The number and sizes of the rows of one kind. In runs, records count as rows; in Redis, keys
    and the rows of the journal.
    """

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
    """The buckets of one table in a directory, where page keys are a table, too.

    :param used: number of buckets with at least one record.
    :param records: number of records in all buckets.
    :param largest: number of records in the fullest bucket.
    """

    name: str
    prefix_bits: int
    used: int = 0
    records: int = 0
    largest: int = 0

    def add_bucket(self, records_in_bucket: int) -> None:
        """Count a bucket, which may have rows without records after removals."""
        self.used += records_in_bucket > 0
        self.records += records_in_bucket
        self.largest = max(self.largest, records_in_bucket)

    @property
    def skew(self) -> float:
        """Return the records in the fullest bucket, divided by their mean in all buckets.

        Empty buckets count for the mean. Evenly distributed fingerprints give a small number, and a
        table without records gives 0.
        """
        return self.largest * (1 << self.prefix_bits) / self.records if self.records else 0.0


@dataclass
class IndexStatistics:
    """The statistics of an index.

    :param page_key_bytes: size of all page keys, which are parts of the values of entries.
    :param buffered: number of entries whose records the next opening may add; 0 in Redis.
    :param file_bytes: size of the database's files; in Redis, memory of the rows.
    :param rows: statistics by kind: `ROW_KINDS` or `REDIS_KINDS`. Other rows are not counted.
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
    """Read an index, and return its statistics. For errors, see `opened_source`.

    :param on_progress: called for each row of the database, or for each key in Redis.
    """
    if isinstance(where, RedisAddress):
        with where.open() as index:
            return _redis_statistics(index, on_progress)
    with opened_database(where) as (manifest, database):
        try:
            return _directory_statistics(manifest, database, on_progress)
        except ValueError as error:
            raise corrupt(str(where), error) from error


def _directory_statistics(
    manifest: Manifest, database: Database, on_progress: Callable[[], object]
) -> IndexStatistics:
    state_value = database.get(records.STATE_KEY)
    state = records.decode_state(state_value) if state_value else EMPTY_STATE
    first_buffered = records.entry_row_key(state.first_buffered)
    rows = {kind: RowStatistics() for kind in ROW_KINDS}
    page_key_bytes = buffered = 0
    for row, value in _count_each(database.rows(b"E", b"F"), rows["entries"], on_progress):
        page_key_bytes += records.page_key_length(value, manifest.plan.bits // 8)
        buffered += row >= first_buffered
    for kind, start, stop in (("near-duplicates", b"N", b"O"), ("state", b"S", b"T")):
        for _ in _count_each(database.rows(start, stop), rows[kind], on_progress):
            pass
    if manifest.plan.prefix_bits:
        tables = _tables_of_runs(database, manifest, rows)
    else:
        tables = _tables_of_buckets(database, manifest, rows, on_progress)
    return IndexStatistics(
        manifest=manifest,
        entries=rows["entries"].rows,
        page_key_bytes=page_key_bytes,
        buffered=buffered,
        file_bytes=file_bytes(database.path),
        rows=rows,
        tables=tables,
    )


def _redis_statistics(index: RedisIndex, on_progress: Callable[[], object]) -> IndexStatistics:
    layout, server = index.layout, index.server
    journal = layout.order.journal
    rows = {
        "journal": RowStatistics(
            server.call("LLEN", journal), 0, server.call("MEMORY USAGE", journal) or 0
        )
    }
    for kind, letter in _REDIS_LETTERS.items():
        rows[kind] = totals = RowStatistics()
        for key, (memory_bytes,) in server.each_once(layout.pattern(letter), "MEMORY USAGE"):
            on_progress()
            totals.add(len(key), max((memory_bytes or 0) - len(key), 0))
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
        tables=[],
    )


def _tables_of_runs(
    database: Database, manifest: Manifest, rows: dict[str, RowStatistics]
) -> list[TableStatistics]:
    """Return the statistics of tables in runs, and count each record as a row in `rows`."""
    import numpy as np

    from scrapy_simhash.index.runs import Runs

    runs = Runs(database, manifest.plan)
    hashed = TableStatistics("page keys", KEY_HASH_BITS), TableStatistics("names", KEY_BITS)
    tables = [*_empty_tables(manifest.plan), *hashed]
    for number, table in enumerate(tables):
        positions = [run.positions(number) for run in runs.runs]
        field, words = runs.tables[number]
        prefixes = field.read(words(np.concatenate([np.empty(0, np.uint32), *positions])))
        _, buckets = np.unique(prefixes, return_counts=True)
        table.used, table.records = len(buckets), len(prefixes)
        table.largest = int(buckets.max(initial=0))
        totals = rows["page keys" if table is hashed[0] else "buckets"]
        totals.rows += len(prefixes)
        directories = [run.directory(number) for run in runs.runs]
        totals.value_bytes += sum(array.nbytes for array in positions + directories)
    # All tables share the files with fingerprints, ids and marks, so these are added once.
    rows["buckets"].value_bytes += runs.pages.stored * runs.pages.page_bytes
    return tables


def _tables_of_buckets(
    database: Database,
    manifest: Manifest,
    rows: dict[str, RowStatistics],
    on_progress: Callable[[], object],
) -> list[TableStatistics]:
    """Return the statistics of tables in rows of the database, and count these in `rows`."""
    tables = [*_empty_tables(manifest.plan), TableStatistics("page keys", records.KEY_PREFIX_BITS)]
    heads = records.bucket_heads(manifest.plan)
    for table, (head, prefix_bytes) in zip(tables, heads, strict=True):
        kind, check_bits = "buckets", manifest.check_bits
        if head == b"K":
            kind, check_bits = "page keys", records.KEY_CHECK_BITS
        stop = (int.from_bytes(head, "big") + 1).to_bytes(len(head), "big")
        table_rows = _count_each(database.rows(head, stop), rows[kind], on_progress)
        name_bytes = len(head) + prefix_bytes
        sizes = ((row[:name_bytes], len(value)) for row, value in table_rows)
        # A bucket has one open row, which begins with a header, and any number of closed rows.
        for _, bucket in groupby(sizes, itemgetter(0)):
            packed_bytes = sum(size for _, size in bucket) - records.HEADER_BYTES
            table.add_bucket(packed_bytes // (check_bits // 8 + 4))  # check, ordinal
    return tables


def _empty_tables(plan: TablePlan) -> list[TableStatistics]:
    """Return the statistics of an empty index for each table of a plan, without page keys."""
    widths_bits = plan.prefix_widths_bits
    return [TableStatistics(f"table {number}", bits) for number, bits in enumerate(widths_bits)]


def _count_each(
    rows: Iterable[tuple[bytes, bytes]], totals: RowStatistics, on_progress: Callable[[], object]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield rows unchanged; add each to the totals of its kind, and report progress."""
    for row, value in rows:
        totals.add(len(row), len(value))
        on_progress()
        yield row, value
