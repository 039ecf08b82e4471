"""Check the consistency of an index, and repair one in a directory.

Each row must be readable, the counts in the state row must match, and no page may have two entries.
Tables are not checked: opening an index makes them again if they don't fit. In Redis, each entry
must be readable and have a row in the journal.
"""

from __future__ import annotations

import shutil
from array import array
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.files import discard
from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index import database_kind, opened_database, read_manifest, records
from scrapy_simhash.index.database import locking
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.texts import decode_text
from scrapy_simhash.maintenance.rewriting import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.records import State
    from scrapy_simhash.index.store import Store
    from scrapy_simhash.maintenance.sources import Location

MAX_PROBLEMS = 100
# The kinds of rows, by the first byte of their keys.
_ENTRY, _LINE, _STATE, _NOTE, _TEXT, _PROBLEM = b"E", b"N", b"S", b"U", b"X", b""


@dataclass
class CheckReport:
    """The result of a check: numbers of readable rows, and the first 100 problems, in sentences."""

    entries: int
    near_duplicates: int
    problems: list[str]


@dataclass
class RepairReport:
    """The result of a repair.

    :param salvaged: some files could not be read, so the database repaired a copy of them.
    :param near_duplicates: number of lines of the near-duplicate log.
    :param dropped: number of rows that were left out: damaged ones, those of no known kind, and
        entries of pages that have a later one.
    """

    salvaged: bool = False
    entries: int = 0
    near_duplicates: int = 0
    dropped: int = 0


def check(where: Location) -> CheckReport:
    """Compare all rows of an index with each other, and return the counts and problems.

    :raises IndexCorrupt: the manifest or files cannot be read; for files, `repair` may help.
    :raises StorageError: the index is missing, open elsewhere, of another format, or unreachable.
    """
    if isinstance(where, RedisAddress):
        with where.opened_store() as store:
            problems, lines = [*store.problems()], 0
            try:
                lines = sum(1 for _ in store.near_duplicates())
            except IndexCorrupt as error:
                problems.append(error.detail)
            return CheckReport(len(store), lines, problems[:MAX_PROBLEMS])
    kinds: Counter[bytes] = Counter()
    with opened_database(where) as (manifest, database):
        problems = [*_problems(database, manifest.plan.bits // 8, kinds)]
    return CheckReport(kinds[_ENTRY], kinds[_LINE], problems[:MAX_PROBLEMS])


def _problems(database: Database, width_bytes: int, kinds: Counter[bytes]) -> Iterator[str]:
    """Yield what is wrong with the rows of a database, and count them by kind."""
    last_sequence = text_bytes = 0
    hashes = array("q")
    state: State | None = None
    for kind, content in _rows(database, width_bytes):
        kinds[kind] += 1
        if kind == _PROBLEM:
            yield content
        elif kind == _STATE:
            state = content
        elif kind == _ENTRY:
            hashes.append(hash(content.key))
            last_sequence = max(last_sequence, content.number, content.last_sequence)
        elif kind == _LINE:
            last_sequence = max(last_sequence, content.sequence)
        elif kind == _TEXT:
            key, text = content
            text_bytes += len(records.text_row_key(key)) + len(text)
    yield from _repeated(database, width_bytes, hashes)
    if state is None:
        if kinds and database.get(records.STATE_KEY) is None:  # else it was yielded as damaged
            yield "the state row is missing"
        return
    if state.entries != kinds[_ENTRY]:
        yield f"the state row counts {state.entries} entries, but there are {kinds[_ENTRY]}"
    if state.text_bytes != text_bytes:
        yield f"the state row counts {state.text_bytes} bytes of texts, but there are {text_bytes}"
    if last_sequence >= state.next_sequence:
        yield (
            f"sequence {last_sequence} is in use, but the state row says that "
            f"{state.next_sequence} comes next"
        )


def _repeated(database: Database, width_bytes: int, hashes: array[int]) -> Iterator[str]:
    """Yield which pages have several entries. :param hashes: of the page keys of all entries."""
    import numpy as np

    distinct, counts = np.unique(np.array(hashes, np.int64), return_counts=True)
    if not (repeated := {*distinct[counts > 1].tolist()}):  # also hashes that are equal by chance
        return
    entries = (entry for kind, entry in _rows(database, width_bytes) if kind == _ENTRY)
    keys = Counter(entry.key for entry in entries if hash(entry.key) in repeated)
    yield from (f"{key!r} has {count} entries" for key, count in keys.items() if count > 1)


def repair(directory: Path) -> RepairReport:
    """Rewrite an index with all entries, log lines, notes and texts that can be read.

    If files cannot be read, the database repairs a copy of them (`Database.salvage`). If anything
    was lost, the old database stays in the directory, under a name that ends with ``-damaged``.
    Pages whose entries are lost count as new in the next crawl.

    :raises StorageError: the manifest cannot be read, the index is in use, or the disk fails.
    """
    try:
        return _repaired(directory, RepairReport(), opened_database)
    except IndexCorrupt:
        return _repaired(directory, RepairReport(salvaged=True), _salvaged)


def _repaired(
    directory: Path,
    report: RepairReport,
    opened: Callable[[Path], AbstractContextManager[tuple[Manifest, Database]]],
) -> RepairReport:
    def is_damaged() -> bool:
        return report.salvaged or report.dropped > 0

    with replacing(directory, opened=opened, keep=is_damaged) as (manifest, database, store):
        kinds = _copy_readable(database, manifest.plan.bits // 8, store)
        report.entries, report.near_duplicates = len(store), kinds[_LINE]
        report.dropped = kinds[_PROBLEM]
    return report


@contextmanager
def _salvaged(directory: Path) -> Iterator[tuple[Manifest, Database]]:
    """Yield a copy of an unreadable database, which its driver has repaired."""
    manifest = read_manifest(directory)
    location, path = str(directory), manifest.database_path(directory)
    kind = database_kind(manifest.database)
    copy = replace(manifest, generation=manifest.generation + 2).database_path(directory)
    discard(copy)  # a leftover
    with locking(location, path):
        shutil.copytree(path, copy)
    kind.salvage(location, copy)
    with closing(kind(location, copy)) as database:
        yield manifest, database


def _copy_readable(database: Database, width_bytes: int, store: Store) -> Counter[bytes]:
    """Copy the readable rows, and return the numbers of rows by kind. Of several entries of a page,
    the latest one stays, and the others count as problems: the repair of a database may bring back
    rows that were deleted.
    """
    kinds: Counter[bytes] = Counter()
    for kind, content in _rows(database, width_bytes):
        kinds[kind] += 1
        if kind == _ENTRY:
            other = store.entry(content.key)
            kinds[_PROBLEM] += other is not None
            if other is None or content.last_sequence >= other.last_sequence:
                store.write(content._replace(ordinal=-1), other, ())
        elif kind == _LINE:
            store.write_lines([content])
        elif kind == _STATE:
            store.skip_to(content.next_sequence)
        elif kind == _TEXT:
            store.texts.put(*content)
        elif kind == _NOTE:
            name, note = content
            store.replace_note(name, None, note)
    return kinds


def _rows(database: Database, width_bytes: int) -> Iterator[tuple[bytes, Any]]:
    """Yield (kind, content) of all rows. The content of a note or a text is its name or key and its
    value; that of a problem says what is wrong.

    :param width_bytes: bytes of a fingerprint.
    """
    for row, value in database.rows(b"", records.END):
        kind, number = row[:1], int.from_bytes(row[1:], "big")
        try:
            if (kind, len(row)) == (_ENTRY, 5):
                yield kind, records.decode_entry(number, value, width_bytes)
            elif (kind, len(row)) == (_LINE, 6):
                yield kind, records.decode_near_duplicate(number, value)
            elif kind in (_NOTE, _TEXT):
                if kind == _TEXT:
                    decode_text(value)
                yield kind, (records.decode_key(row[1:]), value)
            elif row == records.STATE_KEY:
                yield kind, records.decode_state(value)
            else:
                yield _PROBLEM, f"the row {row!r}: a row of no known kind"
        except ValueError as error:
            yield _PROBLEM, f"the row {row!r}: {error}"
