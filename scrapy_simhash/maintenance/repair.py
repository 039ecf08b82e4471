"""Repair a damaged index in a directory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from scrapy_simhash.errors import IndexCorrupt, IndexLocked, StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.index.manifest import REPAIRING
from scrapy_simhash.index.offline import opened_database, read_manifest
from scrapy_simhash.index.records import State
from scrapy_simhash.index.run_files import destroy_runs
from scrapy_simhash.index.tables import TableStore
from scrapy_simhash.maintenance.rows import read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest

_BATCH_ROWS = 4096


@dataclass(frozen=True)
class RepairReport:
    """The result of a repair.

    :param salvaged: the database had to repair its files.
    :param near_duplicates: number of lines of the near-duplicate log.
    :param dropped: number of deleted rows: damaged or unknown ones, and superseded entries.
    """

    salvaged: bool
    entries: int
    near_duplicates: int
    dropped: int


def repair(directory: Path, *, on_progress: Callable[[], object] = lambda: None) -> RepairReport:
    """Rebuild the tables and the state row of an index from its entries, and return the counts.

    If files cannot be read, the database repairs them first (`Database.salvage`). Pages whose
    entries are lost count as new in the next crawl. An interrupted repair can be started again.

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
                if not is_restarted:  # nothing has changed
                    marker.unlink()
                raise
        with opened_database(directory) as (_, database):
            state, lines, dropped = _read_entries_and_log(database, manifest, on_progress)
            for head, stop in ((b"T", b"U"), (b"K", b"L"), (b"R", b"S"), (b"X", b"Y")):
                _delete(database, (row for row, _ in database.rows(head, stop)))
            _delete(database, dropped)
            database.write([(records.STATE_KEY, records.encode_state(state))], sync=True)
            # Opening the store rebuilds all tables from the entries.
            destroy_runs(path)
            TableStore(database, manifest.plan, manifest.check_bits, location, path=path).close()
        marker.unlink()
    except OSError as error:
        raise StorageError(location, f"it cannot be repaired ({error})") from error
    return RepairReport(salvaged, state.entries, lines, len(dropped))


def _read_entries_and_log(
    database: Database, manifest: Manifest, on_progress: Callable[[], object]
) -> tuple[State, int, list[bytes]]:
    """Return (state that matches the entries, number of log lines, keys of rows to delete)."""
    width_bytes = manifest.plan.bits // 8
    ordinals, hashes, dropped = [], [], []
    highest_sequence = lines = 0
    for row in read_rows(database, width_bytes):
        if row.problem:
            dropped.append(row.key)
        elif isinstance(row.content, Entry):
            entry = row.content
            on_progress()
            highest_sequence = max(highest_sequence, entry.number, entry.met)
            ordinals.append(entry.ordinal)
            hashes.append(xxh3_64_intdigest(records.encode_key(entry.key)))
        elif row.content is not None:
            highest_sequence = max(highest_sequence, row.content.sequence)
            lines += 1
    superseded = _superseded(database, ordinals, hashes, width_bytes)
    dropped += map(records.entry_row, superseded)
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


def _superseded(
    database: Database, ordinals: Sequence[int], hashes: Sequence[int], width_bytes: int
) -> list[int]:
    """Return the ordinals of entries whose page has a younger entry, as salvaged files may have.

    :param hashes: for each ordinal, the hash of the page's key.
    """
    import numpy as np

    values, counts = np.unique(np.array(hashes, np.uint64), return_counts=True)
    is_repeated = np.isin(np.array(hashes, np.uint64), values[counts > 1])
    youngest: dict[str, Entry] = {}
    superseded = []
    for position in np.flatnonzero(is_repeated).tolist():
        ordinal = ordinals[position]
        value = database.get(records.entry_row(ordinal)) or b""
        entry = records.decode_entry(ordinal, value, width_bytes)
        other = youngest.setdefault(entry.key, entry)
        if other is entry:
            continue
        older, younger = sorted((other, entry), key=lambda each: (each.met, each.ordinal))
        youngest[entry.key] = younger
        superseded.append(older.ordinal)
    return superseded


def _delete(database: Database, rows: Iterable[bytes]) -> None:
    """Delete rows in batches."""
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH_ROWS)):
        database.write([], batch)
