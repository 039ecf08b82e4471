"""Runs: the tables of a probed index, as sorted arrays in files that are mapped into memory.

A query looks up hundreds of buckets, and most are not empty. A few numpy passes over arrays read
all of them. `scrapy_simhash.index.pages` has the fingerprints of pages by *position*, and a *run*
(`scrapy_simhash.index.run`) has the sorted positions of each table.

The newest pages are in memory: the last few unsorted, the others as a run. Queries compare all
unsorted pages. When `MEMORY_PAGES` are in memory, they are *frozen*, and new pages are kept apart.
The frozen pages are *spilled*: merged with runs in files, in small steps. At most two runs are in
files, a large and a small one.

A file is complete (and, if `durable`, synced) before the database row that names it
(`records.RUNS_KEY`) is written, so an interruption leaves the old runs. A removed entry stays in
its run until that run is merged. Until then, a row (`records.removed_row_key`) marks it as removed.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.buckets import SPILL_EVERY
from scrapy_simhash.index.crowds import CROWD, SCANNED, nearest_copies, positions_in_crowd
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.marks import KEY_BITS, key_of, mark_of
from scrapy_simhash.index.pages import Near, Pages, key_hash_of, names_of, ordinal_of
from scrapy_simhash.index.plan import slot_bits
from scrapy_simhash.index.probing import Prober
from scrapy_simhash.index.run import Field, Lookup, Merge, Run, Table, map_file, sorted_run
from scrapy_simhash.index.run_files import FOLDER, KEY_HASH_BITS, NAMES, RunFile, RunFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.plan import TablePlan

# When this many pages are unsorted, they are sorted into the run in memory.
YOUNG_PAGES = 2048
# When this many pages are in memory, they are frozen. As many new ones may collect beside them.
# With more, each page is sorted more often before it is spilled; with fewer, files are merged more
# often.
MEMORY_PAGES = 1 << 16
# The large run is merged, too, once the other pages to merge are an eighth of its pages.
_GROWTH = 8
_LARGE_STEP = 64
# As many queries are answered at once as have arrays that fit in the caches of a processor.
_QUERIES_AT_ONCE = 32
_WORD_BITS = 64
# Texts in one language have similar prefixes. If slots were the leading bits of prefixes, some
# buckets would be full and others empty. So prefixes are multiplied by this odd number first. The
# products differ, too, and spread evenly: the number is 2**32 divided by the golden ratio (Knuth,
# The Art of Computer Programming, volume 3, section 6.4).
_FACTOR = 0x9E3779B1


class _Merged(NamedTuple):
    """A merge whose files are written, before the row `records.RUNS_KEY` is.

    :param files: all files after the merge; the last run is the new one.
    :param replaced: the files of the runs that were merged.
    :param removed: keys of the rows that mark removed entries which the merge left out.
    """

    files: RunFiles
    replaced: list[RunFile]
    removed: list[bytes]


class Runs:
    """The probed tables, then page keys and names as tables. It has the methods of `Buckets`.

    :param durable: sync files before the database names them.
    :raises IndexCorrupt: a file is missing or damaged, or the row that names the files is damaged.
    :raises StorageError: files cannot be read, or those of an interrupted merge cannot be deleted.
    """

    def __init__(self, database: Database, plan: TablePlan, *, durable: bool = True) -> None:
        self._database = database
        self._folder = database.path / FOLDER
        self._location = database.location
        self._durable = durable
        self._plan = plan
        self._prober = Prober(plan)
        words = -(-plan.bits // _WORD_BITS)
        self.pages = Pages(self._folder, self._location, words, durable=durable)
        fields = [
            Field(*divmod(block.shift, _WORD_BITS), block.width, _FACTOR)
            for (block,) in plan.tables
        ]
        first_words, shifts = np.array([(field.word, field.shift) for field in fields]).T
        self._all_prefixes = Field(first_words, shifts.astype(np.uint64), plan.prefix_bits)
        self.tables = [Table(field, self.pages.fingerprints) for field in fields]
        self._key_table = len(self.tables)
        self.tables.append(Table(Field(0, KEY_HASH_BITS, KEY_HASH_BITS), self.pages.ids))
        self.tables.append(Table(Field(0, KEY_BITS, KEY_BITS), self.pages.names))
        self._capacity = MEMORY_PAGES
        # The ordinals of the pages in memory, by the hash of the key.
        self._keys: dict[int, list[int]] = {}
        # The first `_frozen_pages` of the pages in memory are frozen. The next ones, up to
        # `_sorted_pages`, are in the run `_sorted`.
        self._frozen_pages = self._sorted_pages = 0
        self._frozen: Run | None = None
        self._sorted: Run | None = None
        self._lookup: Lookup | None = None  # None after the runs have changed
        self.frozen = False
        """True from `freeze` until `end_spill` returns True."""
        # True after `add` has ignored an entry, because it is in files.
        self._has_ignored = False
        self.frozen_below = 0
        """Entries with lower ordinals are in files once `end_spill` returns True."""
        self._merge: Iterator[_Merged | None] | None = None
        self._merged: _Merged | None = None
        # Steps until the merge ends; calls of `spill` until memory may be full again.
        self._steps_left = 1
        self._calls_left = 1
        self.files, self.runs = self._open()
        """The files that the database names, and their runs in the same order."""

    def find_near(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",
        *,
        mark: int | None = None,
        extra: int = 0,
    ) -> set[int]:
        """Return the ordinals of the entries that are within the distance and in a probed bucket,
        including removed entries that a run still holds.

        :param mark: of the page (`scrapy_simhash.index.marks`). With it, entries are left out as
            `scrapy_simhash.index.crowds` says.
        :param extra: see `scrapy_simhash.index.crowds.more_to_choose`.
        """
        marks = None if mark is None else [mark]
        return self.find_near_many([(fingerprint, certainty)], max_distance, marks, extra)[0]

    def find_near_many(
        self,
        queries: Sequence[tuple[int, bytes]],
        max_distance: int,
        marks: Sequence[int] | None = None,
        extra: int = 0,
    ) -> list[set[int]]:
        """Return the result of `find_near` for each (fingerprint, certainty), in less time."""
        # The prober uses the certainties of all queries or of none.
        if len({len(certainty) for _, certainty in queries}) > 1:
            return [
                self.find_near_many([query], max_distance, marks and [marks[number]], extra)[0]
                for number, query in enumerate(queries)
            ]
        found: list[set[int]] = []
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            stop = start + _QUERIES_AT_ONCE
            found += self._find_batch(
                queries[start:stop], max_distance, marks and marks[start:stop], extra
            )
        return found

    def _find_batch(
        self,
        queries: Sequence[tuple[int, bytes]],
        max_distance: int,
        marks: Sequence[int] | None,
        extra: int,
    ) -> list[set[int]]:
        pages = self.pages
        rows = pages.packed([fingerprint for fingerprint, _ in queries])
        (tables, prefixes), owners = self._prober.probes_of_many(queries)
        if self._lookup is None:
            self._lookup = Lookup([*self.runs, *self._in_memory()], self._plan.prefix_bits)
        spread = prefixes * _FACTOR
        spread &= (1 << self._plan.prefix_bits) - 1
        begins, counts = self._lookup.extents(tables, spread)
        crowds: dict[int, NDArray[np.uint32]] = {}
        if marks is not None and int(counts.sum()) > CROWD:
            totals = np.bincount(owners, counts.sum(axis=0), len(queries))
            for owner in np.flatnonzero(totals > CROWD).tolist():
                is_own = slice(*owners.searchsorted((owner, owner + 1)))
                own_prefixes = self._all_prefixes.read(rows[owner : owner + 1])[0]
                exact = prefixes[is_own] == own_prefixes.take(tables[is_own]).astype(np.int64)
                crowds[owner] = self._positions_in_crowd(
                    marks[owner], begins[:, is_own][:, exact], counts[:, is_own][:, exact], extra
                )
                counts[:, is_own] = 0
        positions, ends = self._lookup.read(begins, counts)
        near = pages.near(
            rows,
            positions,
            owners if len(queries) == 1 else np.tile(owners, len(ends)).repeat(counts.ravel()),
            max_distance,
            in_files=ends[len(self.runs) - 1] if self.runs else 0,
            newest=self._sorted_pages,
        )
        parts = [] if near is None else [near]
        for owner, crowd in crowds.items():
            in_files = int(crowd.searchsorted(pages.stored))
            near = pages.near(
                rows[owner : owner + 1],
                crowd,
                np.zeros(len(crowd), np.int64),
                max_distance,
                in_files=in_files,
                newest=pages.waiting,
            )
            if near is not None:
                parts.append(near._replace(owners=near.owners + owner))
        found: list[set[int]] = [set() for _ in queries]
        if not parts:
            return found
        near = parts[0] if len(parts) == 1 else Near(*map(np.concatenate, zip(*parts, strict=True)))
        for owner in {*near.owners.tolist()} if len(queries) > 1 else (0,):
            is_own = slice(*owners.searchsorted((owner, owner + 1)))
            # Some of these pages have no probed prefix: all unsorted pages were compared, and a
            # slot with fewer bits than a prefix has the pages of several prefixes. Leave them out,
            # because results must not depend on which pages are sorted.
            is_probed = partial(self._is_probed, tables[is_own], prefixes[is_own])
            own = near if len(queries) == 1 else near.of(owner)
            if marks is None:
                ids = own.ids[is_probed(own.fingerprints)]
            else:
                ids = nearest_copies(rows[owner], marks[owner], own, is_probed, extra)
            found[owner].update(map(ordinal_of, ids.tolist()))
        return found

    def _is_probed(
        self,
        tables: NDArray[np.int64],
        prefixes: NDArray[np.int64],
        fingerprints: NDArray[np.uint64],
    ) -> NDArray[np.bool_]:
        """Return True for each fingerprint that has one of the probed prefixes in its table."""
        own = self._all_prefixes.read(fingerprints).astype(np.int64)
        is_probed: NDArray[np.bool_] = (own.take(tables, axis=1) == prefixes).any(axis=1)
        return is_probed

    def _positions_in_crowd(
        self, mark: int, begins: NDArray[np.uint32], counts: NDArray[np.int64], extra: int
    ) -> NDArray[np.uint32]:
        """Return the positions of a crowd to compare, sorted; see `scrapy_simhash.index.crowds`.

        :param begins: of the buckets with the page's own prefixes, from `Lookup.extents`.
        :param counts: the numbers of their positions.
        """
        assert self._lookup is not None
        share = SCANNED // max(int(np.count_nonzero(counts)), 1) + extra
        scanned, ends = self._lookup.read(begins, np.minimum(counts, share))
        in_files = ends[len(self.runs) - 1] if self.runs else 0
        key, named = key_of(mark), []
        for run in (*self.runs, *self._in_memory()) if key else ():
            slot = key >> KEY_BITS - run.bits
            named.append(run.buckets(-1, slot, slot + 1)[: SCANNED + extra])
        parts = scanned[:in_files], scanned[in_files:]
        return positions_in_crowd(
            mark, parts, named, lambda part: self.pages.marks(part).ravel(), extra
        )

    def find_key(self, key: str) -> list[int]:
        """Return the ordinals of the entries whose page key has the same hash, including removed
        entries that a run still holds.
        """
        key_hash = self.key_hash(key)
        ordinals = []
        for run in self.runs:
            for position in run.bucket(self._key_table, key_hash >> KEY_HASH_BITS - run.bits):
                page_id = self.pages.id(position)
                if key_hash_of(page_id) == key_hash:
                    ordinals.append(ordinal_of(page_id))
        return ordinals + self._keys.get(key_hash, [])

    def close(self) -> None:
        """Unmap the files, whose descriptors may stay open until a full garbage collection."""
        self.runs, self._lookup, self._merge = [], None, None
        self.pages.close()

    def was_removed(self, ordinal: int) -> bool:
        """Return True if the entry with this ordinal was removed, and a run may still hold it."""
        row = records.removed_row_key(ordinal)
        if self._merged is not None and row in self._merged.removed:
            return True  # a failed write may have deleted the row before `end_step`
        return self._database.get(row) is not None

    def add(self, entry: Entry) -> None:
        """Add an entry to the pages in memory, unless it is in files. Freeze these pages when they
        are `MEMORY_PAGES`.
        """
        ordinal = entry.ordinal
        if ordinal < self.files.stop:
            self._has_ignored = True
            return
        key_hash = self.key_hash(entry.key)
        self._keys.setdefault(key_hash, []).append(ordinal)
        self.pages.add(entry.fingerprint, key_hash, ordinal, mark_of(entry.evidence))
        if self.pages.waiting - self._sorted_pages >= YOUNG_PAGES:
            self._sort()
        if self.pages.waiting - self._frozen_pages >= self._capacity and not self.frozen:
            self.freeze(ordinal + 1)

    def freeze(self, next_ordinal: int) -> None:
        """Begin to spill all pages in memory, whose ordinals are below `next_ordinal`. No effect
        during a spill, or if nothing was added.
        """
        # Even if `add` ignored all entries, a spill is needed: at its end, `TableStore` stores that
        # the next opening need not read these entries.
        if self.frozen or not (self.pages.waiting or self._has_ignored):
            return
        self._sort()
        self._frozen, self._sorted = self._sorted, None
        self._lookup = None
        self._frozen_pages = self.pages.waiting
        self.frozen = True
        self.frozen_below = next_ordinal

    def spill(self, *, large: bool = False) -> tuple[_Merged | None, list[Row], list[bytes]] | None:
        """Run some steps of the merge. Return None if no page is frozen; else (the merge if its
        files are written, or None; rows to put; keys of rows to delete).

        :param large: run 64 steps, not as few as end the merge before memory is full again.
        :raises StorageError: the disk fails. The next call begins the merge again.
        """
        if not self._frozen_pages:
            return None
        if self._merge is None:
            self._merge = self._new_merge()
        steps = _LARGE_STEP if large else max(-(-self._steps_left // self._calls_left), 1)
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

    def end_step(self, merged: _Merged | None) -> None:
        """Replace the merged runs and the frozen pages by the files of a merge, after its rows were
        written. No effect for None.
        """
        if merged is None:
            return
        kept = [
            run
            for file, run in zip(self.files.runs, self.runs, strict=True)
            if file not in merged.replaced
        ]
        self.files = merged.files
        self.pages.moved(self._frozen_pages, merged.files.pages)
        self.runs = [*kept, self._mapped(merged.files.runs[-1])]
        self._sorted_pages -= self._frozen_pages
        self._keys = {}
        for page_id in self.pages.newest(0)[1].ravel().tolist():
            self._keys.setdefault(key_hash_of(page_id), []).append(ordinal_of(page_id))
        self._frozen, self._frozen_pages = None, 0
        self._lookup = None
        self._merge = self._merged = None
        for file in merged.replaced:
            with suppress(OSError):  # the next opening deletes the file
                (self._folder / file.name).unlink()

    def may_repeat(self, below: int) -> None:
        """Do nothing, because `add` ignores entries that are in files."""

    def end_spill(self) -> bool:
        """Return True and end the spill if all frozen pages are in files; else return False."""
        if self._frozen_pages:
            return False
        self.frozen = self._has_ignored = False
        return True

    def removal(self, entries: Sequence[Entry]) -> tuple[list[Row], list[bytes]]:
        """Return (rows to put that mark these entries as removed, [])."""
        return [(records.removed_row_key(entry.ordinal), b"") for entry in entries], []

    def forget(self, entries: Sequence[Entry]) -> None:
        """Do nothing, because a removed entry stays in its run until that is merged."""

    def in_order(self, run: Run, table: int) -> bool:
        """Return True if a table has each page of a run in files in the right bucket."""
        field, rows = self.tables[table]
        slots = field.slots(rows(run.positions(table)), run.bits)
        counts = np.bincount(slots.astype(np.int64), minlength=1 << run.bits)
        in_order = bool((slots[1:] >= slots[:-1]).all())
        return in_order and bool((counts == np.diff(run.directory(table))).all())

    def _position_of(self, ordinal: int) -> int | None:
        """Return the position of a page that is in files or frozen; None for another page."""
        positions, ordinal_at = range(self.pages.stored + self._frozen_pages), self.pages.ordinal
        at = bisect_left(positions, ordinal, key=ordinal_at)
        return at if at in positions and ordinal_at(at) == ordinal else None

    @staticmethod
    def key_hash(key: str) -> int:
        """Return the hash by which runs find a page key: the upper bits of its XXH3-64."""
        return xxh3_64_intdigest(records.encode_key(key)) >> 64 - KEY_HASH_BITS

    def _in_memory(self) -> list[Run]:
        return [run for run in (self._sorted, self._frozen) if run is not None]

    def _sort(self) -> None:
        """Replace the run `_sorted` by a run of all pages in memory that are not frozen."""
        self._lookup = None
        fingerprints, ids, marks = self.pages.newest(self._frozen_pages)
        self._sorted_pages = self.pages.waiting
        if not len(ids):
            self._sorted = None
            return
        rows = [fingerprints] * len(self._plan.tables) + [ids, names_of(marks, ids)]
        bits = slot_bits(self._plan.prefix_bits, len(ids))
        slots = (
            table.field.slots(words, bits) for table, words in zip(self.tables, rows, strict=True)
        )
        self._sorted = sorted_run(slots, bits, self.pages.stored + self._frozen_pages)

    def _new_merge(self) -> Iterator[_Merged | None]:
        """Merge the frozen pages with the runs in files, but leave out a run with more than eight
        times as many pages as all others and the frozen ones. Yield None after each step, and the
        merge at the end.
        """
        frozen = self._frozen
        if frozen is None:
            return
        replaced = sorted(self.files.runs, key=lambda run: run.pages)
        if replaced:
            others = frozen.pages + sum(run.pages for run in replaced[:-1])
            if others * _GROWTH < replaced[-1].pages:
                del replaced[-1]
        sources = [
            run for file, run in zip(self.files.runs, self.runs, strict=True) if file in replaced
        ]
        first = min((run.first for run in replaced), default=self.files.stop)
        sources.append(frozen)
        removed, positions = self._removed_entries(first, self.frozen_below)
        bits = slot_bits(self._plan.prefix_bits, sum(run.pages for run in sources))
        merge = Merge(sources, self.tables, bits, positions)
        self._steps_left = merge.steps
        # The merge must end before `_capacity` new pages have collected.
        self._calls_left = max(self._capacity * 9 // 10 // SPILL_EVERY, 1)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / f"{self.files.next_name}.run"
        for file in merge.write(path, first, self.frozen_below, durable=self._durable):
            if file is None:
                yield None
                continue
            part = self.pages.write(self._frozen_pages)
            kept_runs = [run for run in self.files.runs if run not in replaced]
            pages, next_name = [*self.files.pages, part], self.files.next_name + 1
            files = RunFiles([*kept_runs, file], pages, self.frozen_below, next_name)
            yield _Merged(files, replaced, removed)

    def _removed_entries(self, first: int, stop: int) -> tuple[list[bytes], NDArray[np.uint32]]:
        """Return (keys of the rows that mark removed entries with ordinals from `first` to
        `stop` - 1; positions of these entries, without those in neither files nor frozen pages).
        """
        rows = [
            row
            for row, _ in self._database.rows(records.removed_row_key(first), records.REMOVED_END)
            if int.from_bytes(row[1:], "big") < stop
        ]
        positions = [self._position_of(int.from_bytes(row[1:], "big")) for row in rows]
        return rows, np.array([at for at in positions if at is not None], np.uint32)

    def _open(self) -> tuple[RunFiles, list[Run]]:
        """Return (the files that the database names, their runs). Delete other files."""
        value = self._database.get(records.RUNS_KEY)
        try:
            files = RunFiles([], [], 0, 0) if value is None else RunFiles.decoded(value)
        except ValueError as error:
            raise corrupt(self._location, error) from error
        try:
            named = NAMES.union(run.name for run in files.runs)
            for path in self._folder.iterdir() if self._folder.is_dir() else ():
                if path.name not in named:
                    path.unlink()  # an interrupted merge left it
            self.pages.open(files.pages, check=True)
            return files, [self._mapped(run, check=True) for run in files.runs]
        except FileNotFoundError as error:
            raise corrupt(self._location, f"{error.filename} is missing") from error
        except OSError as error:
            detail = (
                f"its tables cannot be read, or files that an interruption left in {self._folder} "
                f"cannot be deleted ({error}): check the disk and the permissions"
            )
            raise StorageError(self._location, detail) from error

    def _mapped(self, file: RunFile, *, check: bool = False) -> Run:
        path = self._folder / file.name
        size_bytes = path.stat().st_size
        if size_bytes != file.size_bytes:
            raise corrupt(self._location, f"{path} has {size_bytes} bytes, not {file.size_bytes}")
        words = map_file(path, "<u4", (size_bytes // 4,))
        if check and xxh3_64_hexdigest(words.data) != file.checksum:
            raise corrupt(self._location, f"the checksum of {path} is wrong")
        return Run(words, file.bits, file.starts, file.pages)
