"""Check the consistency of an index in a directory. `redis_check` checks an index in Redis.

A table finds an entry by a *record*, in a *bucket* (`scrapy_simhash.index.records`) or, if tables
are probed, in a *run* (`scrapy_simhash.index.runs`). Page keys are a table, too. Each entry must
have one record in each table, and each record an entry. Runs may also have records of removed
entries. The records of *buffered* entries were in the memory of a killed crawl, and may be missing
until the next opening. No page may have two entries, and the numbers in the state row must match.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import TYPE_CHECKING

from scrapy_simhash.index import records
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.manifest import REPAIRING
from scrapy_simhash.index.offline import opened_database
from scrapy_simhash.index.records import (
    HEADER_BYTES,
    KEY_CHECK_BITS,
    MAX_ORDINAL,
    NO_CLOSED_ROWS,
    State,
)
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.maintenance.rows import entries_of_repeated_pages, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.runs import Runs
    from scrapy_simhash.maintenance.sources import Location

MAX_PROBLEMS = 100


@dataclass
class CheckReport:
    """The result of a check.

    :param buffered: number of entries whose records the next opening adds; 0 in Redis.
    :param near_duplicates: number of readable log lines; in Redis, before the first damaged one.
    :param records: number of records in all tables; in Redis, page keys are no table.
    :param problems: the first 100 problems, each a sentence.
    """

    entries: int = 0
    buffered: int = 0
    near_duplicates: int = 0
    records: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, problem: str) -> None:
        """Add a problem, unless the report has 100."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


def check(where: Location, *, on_progress: Callable[[], object] = lambda: None) -> CheckReport:
    """Compare all rows of an index with each other, and return the counts and problems.

    :param on_progress: called for each entry.
    :raises IndexCorrupt: the manifest or files cannot be read; for files, `repair` may help.
    :raises StorageError: the index is missing, open elsewhere, of another format, or unreachable.
    """
    if isinstance(where, RedisAddress):
        from scrapy_simhash.maintenance.redis_check import check_in_redis

        report = CheckReport()
        with where.open() as index:
            check_in_redis(index, report, on_progress)
        return report
    with opened_database(where) as (manifest, database):
        report = _Check(database, manifest, on_progress).run()
    if (where / REPAIRING).exists():
        report.add("a repair was not finished")
    return report


@dataclass
class _Check:
    """One run of a check over an open database."""

    _database: Database
    _manifest: Manifest
    _on_progress: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self._plan = self._manifest.plan
        self._width_bytes = self._plan.bits // 8
        self._heads = records.bucket_heads(self._plan)
        self._runs: Runs | None = None
        if self._plan.prefix_bits:
            from scrapy_simhash.index.runs import Runs

            self._runs = Runs(self._database, self._plan)
        # By position of a page in the files of runs: 1 if a sound entry has the page.
        self._has_entry = bytearray(self._runs.pages.stored if self._runs else 0)
        # The page of the next entry is at this position or later.
        self._next_position = 0
        self._report = CheckReport()
        self._state = State(next_sequence=1, entries=0, next_ordinal=0, first_buffered=0)

    def run(self) -> CheckReport:
        report = self._report
        value = self._database.get(records.STATE_KEY)
        if value is None and next(self._database.rows(b"", records.END), None) is None:
            return report  # a new database without any write
        try:
            self._state = state = records.decode_state(value or b"")
            if state.first_buffered > state.next_ordinal:
                report.add(
                    f"the state row says that entries below {state.first_buffered} are in buckets, "
                    f"but also that the next entry gets the ordinal {state.next_ordinal}"
                )
        except ValueError as error:
            report.add(f"the state row is missing or damaged ({error})")
        owned = self._check_rows()
        if self._runs is not None:
            self._check_runs(self._runs)
        else:
            self._check_buckets()
            if report.records != owned:
                report.add(
                    f"{report.records} records are in buckets, {owned} of them belong to entries"
                )
        return report

    def _check_rows(self) -> int:
        """Check all rows but those of tables; return how many records in buckets have an entry."""
        report, state = self._report, self._state
        ordinals, hashes = array("Q"), array("q")
        owned_records = newer_entries = last_sequence = 0
        for row in read_rows(self._database, self._width_bytes):
            if row.problem:
                report.add(row.problem)
            elif isinstance(row.content, Entry):
                entry = row.content
                report.entries += 1
                ordinals.append(entry.ordinal)
                hashes.append(hash(entry.key))
                self._on_progress()
                if entry.ordinal < state.next_ordinal:
                    last_sequence = max(last_sequence, entry.number, entry.last_sequence)
                else:
                    newer_entries += 1  # the state row may be older than these
                owned_records += self._check_records(entry)
            elif row.content is not None:
                report.near_duplicates += 1
                last_sequence = max(last_sequence, row.content.sequence)
        first: dict[str, int] = {}
        for entry in entries_of_repeated_pages(self._database, ordinals, hashes, self._width_bytes):
            key, ordinal = entry.key, entry.ordinal
            if first.setdefault(key, ordinal) != ordinal:
                report.add(f"{key!r} has two entries, {first[key]} and {ordinal}")
        entries = report.entries - newer_entries
        if entries != state.entries:
            report.add(f"the state row counts {state.entries} entries, but there are {entries}")
        if last_sequence >= state.next_sequence:
            report.add(
                f"sequence {last_sequence} is in use, but the state row says that "
                f"{state.next_sequence} comes next"
            )
        return owned_records

    def _check_records(self, entry: Entry) -> int:
        """Check that tables find an entry; return the number of its records in buckets."""
        if self._runs is not None:
            if entry.ordinal < self._runs.files.stop:
                self._check_page(self._runs, entry)
            else:
                self._report.buffered += 1
            return 0
        found = sum(self._has_record(*place) for place in self._records_of(entry))
        if found < len(self._heads):
            if entry.ordinal >= self._state.first_buffered:
                self._report.buffered += 1
            else:
                self._report.add(f"entry {entry.ordinal} ({entry.key!r}) has no record in a table")
        return found

    def _records_of(self, entry: Entry) -> list[tuple[bytes, bytes]]:
        """Return (key of the bucket's open row, record) for each table, page keys last."""
        ordinal = entry.ordinal
        check = records.fold(entry.fingerprint, self._manifest.check_bits)
        record = records.record(check, self._manifest.check_bits, ordinal)
        key_prefix, key_check = records.key_hash(records.encode_key(entry.key))
        key_record = records.record(key_check, KEY_CHECK_BITS, ordinal)
        prefixes = [*self._plan.prefixes(entry.fingerprint), key_prefix]
        return [
            (head + prefix.to_bytes(prefix_bytes, "big"), key_record if head == b"K" else record)
            for (head, prefix_bytes), prefix in zip(self._heads, prefixes, strict=True)
        ]

    def _has_record(self, bucket: bytes, record: bytes) -> bool:
        """Return True if a record is in a bucket, given the key of the bucket's open row."""
        open_row = self._database.get(bucket) or b""
        closed_count, *packed_rows = open_row[:HEADER_BYTES], open_row[HEADER_BYTES:]
        if any(closed_count):
            first, stop = (records.closed_row_key(bucket, number) for number in (0, MAX_ORDINAL))
            packed_rows += [value for _, value in self._database.rows(first, stop)]
        for packed in packed_rows:
            at = packed.find(record)
            while at > 0 and at % len(record):  # these bytes belong to two records
                at = packed.find(record, at + 1)
            if at >= 0:
                return True
        return False

    def _check_page(self, runs: Runs, entry: Entry) -> None:
        """Check that the files of runs have the page of an entry."""
        # Entries and pages have the same order; only pages that were removed have no entry.
        pages, position = runs.pages, self._next_position
        while position < pages.stored and pages.ordinal(position) < entry.ordinal:
            position += 1
        self._next_position = position
        if position == pages.stored or pages.ordinal(position) != entry.ordinal:
            self._report.add(f"entry {entry.ordinal} has no page in runs")
            return
        if (entry.fingerprint, runs.key_hash(entry.key)) != pages.page(position):
            self._report.add(f"entry {entry.ordinal} has another fingerprint or key in runs")
        self._has_entry[position] = True

    def _check_buckets(self) -> None:
        """Check that the rows of each bucket fit each other, and count their records."""
        report = self._report
        lengths = {head: len(head) + prefix_bytes for head, prefix_bytes in self._heads}

        def open_row_of(row: tuple[bytes, bytes]) -> bytes:
            """Return the key of the open row of a row's bucket; empty if no table has the row."""
            key = row[0]
            length = lengths.get(key[: 1 if key.startswith(b"K") else 3], 0)
            return key[:length] if len(key) >= length else b""

        all_rows = chain(self._database.rows(b"K", b"L"), self._database.rows(b"T", b"U"))
        for open_row, rows_of_bucket in groupby(all_rows, open_row_of):
            rows = dict(rows_of_bucket)
            check_bits = KEY_CHECK_BITS if open_row.startswith(b"K") else self._manifest.check_bits
            record_bytes = check_bits // 8 + 4  # check, ordinal
            packed = _packed(open_row, rows, record_bytes)
            if packed is None:
                names = ", ".join(map(repr, rows))
                report.add(f"the rows of a bucket don't fit each other: {names}")
                continue
            ordinals = records.ordinals(packed, record_bytes)
            report.records += len(ordinals)
            if ordinals != sorted(set(ordinals)):
                report.add(f"the records of the bucket {open_row!r} are not in order, or repeated")

    def _check_runs(self, runs: Runs) -> None:
        """Check that each table has the pages of all entries, and no others but removed ones."""
        import numpy as np

        report, has_entry = self._report, np.frombuffer(self._has_entry, np.uint8)
        for table in range(len(self._plan.tables) + 1):
            counts = np.zeros(runs.pages.stored, np.int64)
            for run in runs.runs:
                positions = run.positions(table)
                report.records += len(positions)
                if len(positions) and positions.max() >= runs.pages.stored:
                    report.add(f"a run has a record of a missing page in table {table}")
                    return
                if not runs.in_order(run, table):
                    report.add(f"the records of a run are not in order in table {table}")
                np.add.at(counts, positions, 1)
            for position in np.flatnonzero(counts != has_entry).tolist():
                ordinal = runs.pages.ordinal(position)
                if counts[position] == 1 and runs.was_removed(ordinal):
                    continue
                report.add(
                    f"entry {ordinal} has {counts[position]} records in table {table}, not "
                    f"{has_entry[position]}"
                )


def _packed(open_row: bytes, rows: dict[bytes, bytes], record_bytes: int) -> bytes | None:
    """Return all records of a bucket, closed rows first; None if the rows are inconsistent."""
    value = rows.get(open_row, b"")
    closed = [rows[row] for row in rows if row != open_row]
    expected = [open_row, *(records.closed_row_key(open_row, n) for n in range(len(closed)))]
    packed = [*closed, value[HEADER_BYTES:]]
    if (
        list(rows) != expected
        or int.from_bytes(value[:HEADER_BYTES], "little") != len(closed)
        or len(value) < HEADER_BYTES
        # A bucket without closed rows and records must have no row.
        or value == NO_CLOSED_ROWS
        or any(len(part) % record_bytes for part in packed)
    ):
        return None
    return b"".join(packed)
