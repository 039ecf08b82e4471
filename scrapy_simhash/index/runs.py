"""Runs: the tables of a probed index, as sorted arrays in files that are mapped into memory.

A page asks hundreds of buckets, and most hold something. One numpy pass over arrays answers all of
them; a look-up in the database for each would cost ten times as much.

- `scrapy_simhash.index.pages` has the fingerprint, the hash of the key and the ordinal of each
  entry. Its place there is the entry's *position*.
- A *run* (`scrapy_simhash.index.run`) holds, for each table and for page keys, the positions sorted
  by their leading bits, and a directory that says where each bucket begins.

The newest pages are in memory. Queries compare the last few one by one; the others are a run. When
the memory is full, these pages are frozen and merged in small steps with the runs in files. There
are at most two such runs, a large and a small one. A file is complete and synced before the
database row that names it (`records.RUNS_KEY`) is written, so an interruption leaves the old runs.
Removed entries stay in runs until the next merge; a row for each marks it as removed.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.buckets import SPILL_EVERY
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.pages import Pages, ordinal_of
from scrapy_simhash.index.probing import Prober
from scrapy_simhash.index.run import Field, Lookup, Prefixes, Run, map_file, sorted_run
from scrapy_simhash.index.run_files import KEY_HASH_BITS, NAMES, NO_FILES, RunFile, RunFiles
from scrapy_simhash.index.run_merge import Merge, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.plan import TablePlan

# The newest pages, compared one by one until they are sorted into the run in memory.
YOUNG_PAGES = 2048
# Pages in memory, in each of two generations. Many are sorted again and again; few mean that the
# runs in files are merged more often.
MEMORY_PAGES = 1 << 16
# The small run is merged into the large one when it has an eighth of its pages.
_GROWTH = 8
_STEPS_AT_ONCE = 64
# Fingerprints that ask at once: each call of numpy serves all of them, and their arrays fit caches.
_ASKED_AT_ONCE = 32
_WORD_BITS = 64
# A directory knows the leading bits of prefixes. Those of texts in one language are alike, so that
# some buckets would be full and others empty. The product with an odd number (2**32 divided by the
# golden ratio: Knuth, The Art of Computer Programming, volume 3, section 6.4) spreads them, and no
# two prefixes have the same product.
_FACTOR = 0x9E3779B1


class _Merged(NamedTuple):
    """A merge that is done, but for the row that says so.

    :param replaced: runs that are in the new one.
    :param rows: number of pages that were in memory.
    :param removed: rows of removed entries that are in no run any more.
    """

    files: RunFiles
    replaced: list[RunFile]
    rows: int
    removed: list[bytes]


class Runs:
    """The probed tables and, as one table more, page keys; used as `Buckets` are.

    :param folder: for files; made when there is something to write.
    :param durable: files are on the disk before the database names them.
    :raises IndexCorrupt: a file is missing or damaged.
    :raises StorageError: the files cannot be read.
    """

    def __init__(
        self,
        database: Database,
        plan: TablePlan,
        folder: Path,
        location: str,
        *,
        durable: bool = True,
        memory_pages: int | None = None,
    ) -> None:
        self._database = database
        self._folder = folder
        self._location = location
        self._durable = durable
        self._plan = plan
        self._prober = Prober(plan)
        self._pages = Pages(folder, location, -(-plan.bits // _WORD_BITS), durable=durable)
        self._tables = [
            Table(
                Field(block.shift // _WORD_BITS, block.shift % _WORD_BITS, block.width, _FACTOR),
                self._pages.fingerprints,
            )
            for (block,) in plan.tables
        ]
        self._prefixes = Prefixes([field for field, _ in self._tables])
        self._tables.append(Table(Field(0, KEY_HASH_BITS, KEY_HASH_BITS), self._pages.ids))
        self._capacity = MEMORY_PAGES if memory_pages is None else memory_pages
        # Ordinals by the hash of the key, of the pages in memory.
        self._keys: dict[int, list[int]] = {}
        # Of the pages in memory, the first ones are frozen, and the last ones not yet sorted.
        self._frozen_pages = self._sorted_pages = 0
        self._frozen: Run | None = None
        self._sorted: Run | None = None
        self._lookup: Lookup | None = None  # until the runs change
        self._waiting = False
        self._skipped = False
        self.frozen_below = 0
        """Entries with lower ordinals are in files once `spilled` says so."""
        self._merge: Iterator[_Merged | None] | None = None
        self._merged: _Merged | None = None
        self._steps_left = 1
        self._calls_left = 1
        self._files, self._runs = self._opened()

    @property
    def frozen(self) -> bool:
        """True if pages wait to be spilled."""
        return self._waiting

    def find_near(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",
        *,
        flipped: bool = False,  # noqa: ARG002 - see `Buckets`; bits are flipped anyway
    ) -> set[int]:
        """Return the ordinals of the pages in the buckets that are probed, which may be within the
        distance.
        """
        return self.find_near_many([(fingerprint, certainty)], max_distance)[0]

    def find_near_many(
        self, asking: Sequence[tuple[int, bytes]], max_distance: int
    ) -> list[set[int]]:
        """Return what `find_near` returns for each fingerprint with its certainty, in less time."""
        if len({len(certainty) for _, certainty in asking}) > 1:
            return [self.find_near(one, max_distance, certainty) for one, certainty in asking]
        found: list[set[int]] = [set() for _ in asking]
        for start in range(0, len(asking), _ASKED_AT_ONCE):
            some = asking[start : start + _ASKED_AT_ONCE]
            rows = self._pages.packed([fingerprint for fingerprint, _ in some])
            (tables, asked), owners = self._prober.probes_of_many(some)
            if self._lookup is None:
                self._lookup = Lookup([*self._runs, *self._in_memory()], self._plan.prefix_bits)
            prefixes = asked * _FACTOR
            prefixes &= (1 << self._plan.prefix_bits) - 1
            positions, ends, counts = self._lookup.positions(tables, prefixes)
            near = self._pages.near(
                rows,
                positions,
                owners if len(some) == 1 else np.tile(owners, len(ends)).repeat(counts),
                max_distance,
                in_files=ends[len(self._runs) - 1] if self._runs else 0,
                newest=self._sorted_pages,
            )
            if near is None:
                continue
            # These include pages of other buckets: all of the newest, and neighbours where a
            # directory has fewer bits than the prefix. The result must not depend on how far pages
            # are sorted.
            has = self._prefixes.of(near.fingerprints)
            for owner in np.unique(near.owners).tolist():
                mine = near.owners == owner
                first, stop = owners.searchsorted((owner, owner + 1))
                some_tables = tables[first:stop]
                probed = has[mine].take(some_tables, axis=1) == asked[first:stop]
                ids = near.ids[mine][probed.any(axis=1)]
                found[start + owner].update(map(ordinal_of, ids.tolist()))
        return found

    def find_near_in_turn(self, fingerprint: int, max_distance: int) -> Iterator[set[int]]:
        """Yield the result of `find_near` in one step."""
        yield self.find_near(fingerprint, max_distance)

    def find_key(self, key: str) -> list[int]:
        """Return the ordinals of the entries that may have that page key."""
        hashed = _key_hash(key)
        ordinals = []
        for run in self._runs:
            for position in run.bucket_of(-1, hashed >> KEY_HASH_BITS - run.bits):
                number = self._pages.id(position)
                if number >> KEY_HASH_BITS == hashed:
                    ordinals.append(ordinal_of(number))
        return ordinals + self._keys.get(hashed, [])

    def was_removed(self, ordinal: int) -> bool:
        """Return whether an entry that is missing was removed."""
        row = records.removed_row(ordinal)
        if self._merged is not None and row in self._merged.removed:
            return True  # the write that ends a merge may have deleted the row, and failed
        return self._database.get(row) is not None

    def add(self, entry: Entry, ordinal: int) -> None:
        """Add a page, in memory."""
        if ordinal < self._files.stop:
            self._skipped = True  # read again, though it is in a run already
            return
        hashed = _key_hash(entry.key)
        self._keys.setdefault(hashed, []).append(ordinal)
        self._pages.add(entry.fingerprint, hashed, ordinal)
        if self._pages.waiting - self._sorted_pages >= YOUNG_PAGES:
            self._sort()
        if self._pages.waiting - self._frozen_pages >= self._capacity and not self._waiting:
            self.freeze(ordinal + 1)

    def freeze(self, next_ordinal: int) -> None:
        """Let all pages wait to be spilled, if there are any."""
        if self._waiting or not (self._pages.waiting or self._skipped):
            return
        self._sort()
        self._frozen, self._sorted = self._sorted, None
        self._lookup = None
        self._frozen_pages = self._pages.waiting
        self._waiting = True
        self.frozen_below = next_ordinal

    def spill(
        self, count: int | None = None
    ) -> tuple[_Merged | None, list[Row], list[bytes]] | None:
        """Go on with the merge: (the merge if it is done, rows to put, rows to delete); None if
        nothing is frozen.

        :param count: not None if there is time.
        :raises StorageError: the disk fails; the merge begins again.
        """
        if not self._frozen_pages:
            return None
        if self._merge is None:
            self._merge = self._merging()
        steps = max(-(-self._steps_left // self._calls_left), 1)
        if count is not None:
            steps = _STEPS_AT_ONCE
        self._calls_left = max(self._calls_left - 1, 1)
        try:
            for _ in range(steps):
                if self._merged is None:
                    self._merged = next(self._merge)
                    self._steps_left -= 1
        except OSError as error:
            self._merge = None
            raise StorageError(
                self._location, f"its tables cannot be written ({error}): check the disk"
            ) from error
        if self._merged is None:
            return None, [], []
        row = (records.RUNS_KEY, self._merged.files.encoded())
        return self._merged, [row], self._merged.removed

    def dropped(self, merged: _Merged | None) -> None:
        """Note that the rows of a merge were written."""
        if merged is None:
            return
        kept = [
            run
            for file, run in zip(self._files.runs, self._runs, strict=True)
            if file not in merged.replaced
        ]
        self._files = merged.files
        self._pages.moved(merged.rows, merged.files.pages)
        self._runs = [*kept, self._mapped(merged.files.runs[-1])]
        self._sorted_pages -= merged.rows
        self._keys = {}
        for number in self._pages.waiting_ids():
            self._keys.setdefault(number >> KEY_HASH_BITS, []).append(ordinal_of(number))
        self._frozen, self._frozen_pages = None, 0
        self._lookup = None
        self._merge = self._merged = None
        for file in merged.replaced:
            with suppress(OSError):  # deleted at the next opening
                (self._folder / file.name).unlink()

    def may_repeat(self, below: int) -> None:
        """Nothing is in runs twice, whatever was written: see `RunFiles.stop`."""

    def spilled(self) -> bool:
        """Return whether all that was frozen is in files now."""
        if self._frozen_pages:
            return False
        self._waiting = self._skipped = False
        return True

    def removal(self, entries: Sequence[Entry]) -> tuple[list[Row], list[bytes]]:
        """Return rows that say of these entries that they were removed."""
        return [(records.removed_row(entry.ordinal), b"") for entry in entries], []

    def removed(self, entries: Sequence[Entry]) -> None:
        """Note that the rows of their removal were written."""

    def prefixes(self, table: int, positions: NDArray[np.uint32]) -> NDArray[np.uint64]:
        """Return the prefixes of pages that are in files, spread as `_FACTOR` says."""
        field, rows = self._tables[table]
        return field.of(rows(positions))

    def in_order(self, run: Run, table: int) -> bool:
        """Return whether each page of a run is in its bucket of a table."""
        prefixes = self.prefixes(table, run.positions(table))
        slots = prefixes >> np.uint64(self._tables[table].field.width - run.bits)
        counts = np.bincount(slots.astype(np.int64), minlength=1 << run.bits)
        in_order = bool((slots[1:] >= slots[:-1]).all())
        return in_order and bool((counts == np.diff(run.directory(table))).all())

    @staticmethod
    def key_hash(key: str) -> int:
        """Return what runs keep of a page's key."""
        return _key_hash(key)

    @property
    def stop(self) -> int:
        """The first ordinal that is not in files."""
        return self._files.stop

    def page(self, position: int) -> tuple[int, int, int]:
        """Return (fingerprint, hash of the key, ordinal) of a page in files."""
        return self._pages.page(position)

    @property
    def runs(self) -> list[Run]:
        """The runs in files; page keys are the last table."""
        return self._runs

    @property
    def memory_bytes(self) -> int:
        """Bytes of the pages that wait in memory, without Python's objects."""
        sorted_bytes = sum(run.words.nbytes for run in self._in_memory())
        return self._pages.memory_bytes + sorted_bytes

    @property
    def page_bytes(self) -> int:
        """Bytes of a page in the files of pages."""
        return self._pages.page_bytes

    @property
    def page_count(self) -> int:
        """Number of pages in files, removed ones among them."""
        return self._pages.stored

    def _in_memory(self) -> list[Run]:
        return [run for run in (self._sorted, self._frozen) if run is not None]

    def _sort(self) -> None:
        """Make a run of all pages in memory that are not frozen."""
        self._lookup = None
        fingerprints, ids = self._pages.newest(self._frozen_pages)
        self._sorted_pages = self._pages.waiting
        if not len(ids):
            self._sorted = None
            return
        rows = [fingerprints] * len(self._plan.tables) + [ids]
        fields = [field for field, _ in self._tables]
        first = self._pages.stored + self._frozen_pages
        self._sorted = sorted_run(list(zip(fields, rows, strict=True)), self._bits(len(ids)), first)

    def _bits(self, pages: int) -> int:
        """Return the bits of a directory of `pages` pages, for one to two of them in a bucket."""
        return max(1, min(pages.bit_length() - 1, self._plan.prefix_bits))

    def _merging(self) -> Iterator[_Merged | None]:
        """Merge the frozen pages with the small run, and with the large one if these are many."""
        frozen = self._frozen
        if frozen is None:
            return
        replaced = list(self._files.runs)
        if len(replaced) > 1:
            large, small = sorted(replaced, key=lambda run: -run.pages)
            if (small.pages + frozen.pages) * _GROWTH < large.pages:
                replaced = [small]
        elif replaced and frozen.pages * _GROWTH < replaced[0].pages:
            replaced = []
        sources = [
            run for file, run in zip(self._files.runs, self._runs, strict=True) if file in replaced
        ]
        first = min((run.first for run in replaced), default=self._files.stop)
        sources.append(frozen)
        removed, dropped = self._dropped(first, self.frozen_below)
        bits = self._bits(sum(run.pages for run in sources))
        merge = Merge(sources, self._tables, bits, dropped)
        self._steps_left = merge.steps
        self._calls_left = max(self._capacity * 9 // 10 // SPILL_EVERY, 1)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / f"{self._files.next_name}.run"
        for file in merge.run(path, first, self.frozen_below, durable=self._durable):
            if file is None:
                yield None
                continue
            part = self._pages.write(self._frozen_pages)
            kept_runs = [run for run in self._files.runs if run not in replaced]
            yield _Merged(
                RunFiles(
                    [*kept_runs, file],
                    [*self._files.pages, part],
                    self.frozen_below,
                    self._files.next_name + 1,
                ),
                replaced,
                self._frozen_pages,
                removed,
            )

    def _dropped(self, first: int, stop: int) -> tuple[list[bytes], NDArray[np.uint32]]:
        """Return (rows, positions) of the removed entries with these ordinals."""
        rows = [
            row
            for row, _ in self._database.rows(records.removed_row(first), records.REMOVED_END)
            if int.from_bytes(row[1:], "big") < stop
        ]
        total = self._pages.stored + self._frozen_pages

        def ordinal_at(position: int) -> int:
            return ordinal_of(self._pages.id(position))

        positions = []
        for row in rows:
            ordinal = int.from_bytes(row[1:], "big")
            position = bisect_left(range(total), ordinal, key=ordinal_at)
            if position < total and ordinal_at(position) == ordinal:
                positions.append(position)
        return rows, np.array(positions, np.uint32)

    def _opened(self) -> tuple[RunFiles, list[Run]]:
        value = self._database.get(records.RUNS_KEY)
        try:
            files = NO_FILES if value is None else RunFiles.decoded(value)
        except ValueError as error:
            raise corrupt(self._location, error) from error
        try:
            named = NAMES.union(run.name for run in files.runs)
            for path in self._folder.iterdir() if self._folder.is_dir() else ():
                if path.name not in named:
                    path.unlink()  # left by an interruption
            self._pages.open(files.pages, check=True)
            return files, [self._mapped(run, check=True) for run in files.runs]
        except FileNotFoundError as error:
            raise corrupt(self._location, f"{error.filename} is missing") from error
        except OSError as error:
            raise StorageError(self._location, f"its tables cannot be read ({error})") from error

    def _mapped(self, file: RunFile, *, check: bool = False) -> Run:
        path = self._folder / file.name
        if path.stat().st_size != file.size_bytes:
            raise corrupt(self._location, f"{path} has not {file.size_bytes} bytes")
        words = map_file(path, "<u4", (file.size_bytes // 4,))
        if check and xxh3_64_hexdigest(words.data) != file.checksum:
            raise corrupt(self._location, f"{path} has not the bytes that were written")
        return Run(words, file.bits, file.starts, file.pages)


def _key_hash(key: str) -> int:
    return xxh3_64_intdigest(records.encode_key(key)) >> 64 - KEY_HASH_BITS
