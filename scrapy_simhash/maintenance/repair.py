"""Repair a damaged index in a directory."""

from __future__ import annotations

from array import array
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexCorrupt, IndexLocked, StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.index.manifest import REPAIRING
from scrapy_simhash.index.offline import opened_database, read_manifest
from scrapy_simhash.index.records import State
from scrapy_simhash.index.run_files import destroy_runs
from scrapy_simhash.index.tables import TableStore
from scrapy_simhash.maintenance.rows import entries_of_repeated_pages, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest

_BATCH_ROWS = 4096


@dataclass(frozen=True)
class RepairReport:
    """The result of a repair.

    :param salvaged: some files could not be read, so the database repaired them first.
    :param near_duplicates: number of lines of the near-duplicate log.
    :param dropped: number of deleted rows: damaged and unknown rows, and superseded entries. An
        entry is superseded if its page has a later one.
    """

    salvaged: bool
    entries: int
    near_duplicates: int
    dropped: int


def repair(directory: Path, *, on_progress: Callable[[], object] = lambda: None) -> RepairReport:
    """Rebuild the tables and the state row of an index from its entries, and return the counts.

    If files cannot be read, the database repairs them first (`Database.salvage`). Pages whose
    entries are lost count as new in the next crawl. An interrupted repair must be started again.

    :param on_progress: called for each entry.
    :raises StorageError: the manifest cannot be read, the index is in use, or the disk fails.
    """
    location, marker = str(directory), directory / REPAIRING
    manifest = read_manifest(directory)
    path = manifest.database_path(directory)
    salvaged = False
    try:
        with opened_database(directory) as (_, database):
            for _ in database.rows(b"", records.END):
                pass
    except IndexCorrupt:
        salvaged = True
    try:
        is_restarted = marker.exists()
        marker.touch()
        if salvaged:
            try:
                database_kind(manifest.database).salvage(location, path)
            except IndexLocked:
                if not is_restarted:  # No file has changed yet.
                    marker.unlink()
                raise
        with opened_database(directory) as (_, database):
            state, lines, dropped = _read_entries_and_log(database, manifest, on_progress)
            # Buckets, page keys, the files of runs, and removed entries.
            heads = (b"T", b"U"), (b"K", b"L"), (b"R", b"S"), (b"X", b"Y")
            of_tables = (row for head in heads for row, _ in database.rows(*head))
            _delete(database, chain(of_tables, dropped))
            database.write([(records.STATE_KEY, records.encode_state(state))], sync=True)
            # Opening the store rebuilds all tables from the entries.
            destroy_runs(path)
            TableStore(database, manifest.plan, manifest.check_bits).close()
        marker.unlink()
    except OSError as error:
        raise StorageError(location, f"it cannot be repaired ({error})") from error
    return RepairReport(salvaged, state.entries, lines, len(dropped))


def _read_entries_and_log(
    database: Database, manifest: Manifest, on_progress: Callable[[], object]
) -> tuple[State, int, list[bytes]]:
    """Return (state that matches the kept entries, number of log lines, keys of rows to delete)."""
    width_bytes = manifest.plan.bits // 8
    dropped = []
    ordinals, hashes = array("Q"), array("q")
    highest_sequence = lines = 0
    for row in read_rows(database, width_bytes):
        if row.problem:
            dropped.append(row.key)
        elif isinstance(row.content, Entry):
            entry = row.content
            on_progress()
            highest_sequence = max(highest_sequence, entry.number, entry.last_sequence)
            ordinals.append(entry.ordinal)
            hashes.append(hash(entry.key))
        elif row.content is not None:
            highest_sequence = max(highest_sequence, row.content.sequence)
            lines += 1
    superseded = _superseded_ordinals(database, ordinals, hashes, width_bytes)
    dropped += map(records.entry_row_key, superseded)
    stored_state = database.get(records.STATE_KEY)
    with suppress(ValueError):
        last_sequence = records.decode_state(stored_state or b"").next_sequence - 1
        highest_sequence = max(highest_sequence, last_sequence)
    state = State(
        next_sequence=highest_sequence + 1,
        entries=len(ordinals) - len(superseded),
        next_ordinal=max(ordinals, default=-1) + 1,
        first_buffered=0,
    )
    return state, lines, dropped


def _superseded_ordinals(
    database: Database, ordinals: array[int], hashes: array[int], width_bytes: int
) -> list[int]:
    """Return the ordinals of superseded entries, which exist because salvage may restore old rows.

    :param hashes: for each ordinal, the hash of the page's key.
    """
    latest: dict[str, Entry] = {}
    superseded = []
    for entry in entries_of_repeated_pages(database, ordinals, hashes, width_bytes):
        other = latest.setdefault(entry.key, entry)
        if other is entry:
            continue
        earlier, later = sorted((other, entry), key=lambda each: (each.last_sequence, each.ordinal))
        latest[entry.key] = later
        superseded.append(earlier.ordinal)
    return superseded


def _delete(database: Database, rows: Iterator[bytes]) -> None:
    while batch := list(islice(rows, _BATCH_ROWS)):
        database.write([], batch)
