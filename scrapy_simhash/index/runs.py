"""Runs: the tables of a probed index, as sorted arrays in files that are mapped into memory.

A page asks hundreds of buckets, and most hold something. One numpy pass over arrays answers all of
them; a look-up in the database for each would cost ten times as much.

- ``pages`` has a row for each entry: its fingerprint, the hash of its key and its ordinal. The
  number of the row is the entry's *position*.
- A *run* holds, for each table and for page keys, the positions sorted by their leading bits, and
  a directory that says where each bucket begins.

The newest pages are in memory. Queries compare the last few one by one; the others are a run. When
the memory is full, these pages are frozen and merged in small steps with the runs in files. There
are at most two such runs, a large and a small one. A file is complete and synced before the
database row that names it (`records.RUNS_KEY`) is written, so an interruption leaves the old runs.
Removed entries stay in runs until the next merge; a row for each marks it as removed.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64, xxh3_64_hexdigest, xxh3_64_intdigest

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.buckets import SPILL_EVERY
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.probing import Prober, Probes
from scrapy_simhash.index.run_files import NO_FILES, PAGES, RunFile, RunFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from typing_extensions import Self

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
# Records that a step of a merge moves, at about 40 ns each.
_STEP_RECORDS = 1 << 14
_STEPS_AT_ONCE = 64
_MAX_STEP_BITS = 16
_MAX_SYNC_BYTES = 32 << 20
_WORD_BITS = 64
_HALF_BITS = 32
_ORDINAL = (1 << _HALF_BITS) - 1
# A directory knows the leading bits of prefixes. Those of texts in one language are alike, so that
# some buckets would be full and others empty. The product with an odd number (2**32 divided by the
# golden ratio: Knuth, The Art of Computer Programming, volume 3, section 6.4) spreads them, and no
# two prefixes have the same product.
_FACTOR = 0x9E3779B1
# So many have 256 bits, which a byte cannot count.
_WORDS_OF_A_BYTE = 4


class _Field(NamedTuple):
    """The place of a table's prefix in the row of a page: in one word of 64 bits, or in two.

    :param factor: the prefix is multiplied by it, modulo 2**width: see `_FACTOR`.
    """

    word: int
    shift: int
    width: int
    factor: int = 1

    def of(self, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the prefixes of some pages, each multiplied by the factor."""
        found: NDArray[np.uint64] = rows[:, self.word] >> np.uint64(self.shift)
        if self.shift + self.width > _WORD_BITS:
            found |= rows[:, self.word + 1] << np.uint64(_WORD_BITS - self.shift)
        found *= np.uint64(self.factor)
        found &= np.uint64((1 << self.width) - 1)
        return found


class Run:
    """Positions by table and prefix.

    :param words: all directories and positions. A directory has one entry for each setting of the
        leading bits, and one more: where in `words` the positions of that bucket begin.
    """

    def __init__(
        self, words: NDArray[np.uint32], bits: int, starts: Sequence[int], pages: int
    ) -> None:
        self.words = words
        self.bits = bits
        self.starts = np.array(starts, np.int64)
        self.pages = pages

    def found(self, tables: NDArray[np.int64], slots: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the positions in some buckets, each of a table."""
        words = self.words
        at = self.starts.take(tables)
        at += slots
        begin = words.take(at)
        at += 1
        end = words.take(at)
        ends = (end - begin).cumsum()
        # Position i is that of bucket b if i is in ends[b - 1] … ends[b].
        begin[1:] -= ends[:-1].astype(np.uint32)
        counts = np.empty_like(ends)
        counts[0] = ends[0]
        np.subtract(ends[1:], ends[:-1], out=counts[1:])
        indexes = begin.repeat(counts.view(np.int64))
        indexes += np.arange(len(indexes), dtype=np.uint32)
        return words.take(indexes)

    def bucket(self, table: int, slot: int, stop: int) -> NDArray[np.uint32]:
        """Return the positions in the buckets from one slot to another."""
        start = int(self.starts[table])
        return self.words[int(self.words[start + slot]) : int(self.words[start + stop])]

    def directory(self, table: int) -> NDArray[np.uint32]:
        """Return where the buckets of a table begin, and where the last one ends."""
        start = int(self.starts[table])
        return self.words[start : start + (1 << self.bits) + 1]

    def positions(self, table: int) -> NDArray[np.uint32]:
        """Return all positions of a table, in the order of its buckets."""
        return self.bucket(table, 0, 1 << self.bits)

    def table_bytes(self, table: int) -> int:
        """Return the bytes of a table, with its directory."""
        return self.positions(table).nbytes + self.directory(table).nbytes


class _Merged(NamedTuple):
    """A merge that is done, but for the row that says so.

    :param replaced: runs that are in the new one.
    :param rows: of the pages' file that were in memory.
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
        self._width = -(-plan.bits // _WORD_BITS)
        self._fields = [
            _Field(block.shift // _WORD_BITS, block.shift % _WORD_BITS, block.width, _FACTOR)
            for (block,) in plan.tables
        ]
        # A page's last word: the hash of its key, and its ordinal.
        self._fields.append(_Field(self._width, _HALF_BITS, _HALF_BITS))
        self._capacity = MEMORY_PAGES if memory_pages is None else memory_pages
        self._memory = np.empty((4 * YOUNG_PAGES, self._width + 1), np.uint64)
        # Ordinals by the hash of the key, of the pages in memory.
        self._keys: dict[int, list[int]] = {}
        # In memory: frozen pages, those in the run, and the last ones.
        self._frozen_pages = self._sorted_pages = self._memory_pages = 0
        self._frozen: Run | None = None
        self._sorted: Run | None = None
        self._waiting = False
        self._skipped = False
        self.frozen_below = 0
        """Entries with lower ordinals are in files once `spilled` says so."""
        self._merge: Iterator[_Merged | None] | None = None
        self._merged: _Merged | None = None
        self._steps_left = 1
        self._calls_left = 1
        self._files, self._runs, self._pages = self._opened()

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
        """Return the ordinals of the pages in the buckets that are probed, within the distance."""
        tables, asked = self._prober.probes(fingerprint, certainty)
        prefixes = asked * _FACTOR & (1 << self._plan.prefix_bits) - 1
        probes = Probes(tables, prefixes)
        memory = self._memory
        rows = [memory[self._sorted_pages : self._memory_pages]]
        for runs, pages, base in (
            (self._runs, self._pages, 0),
            (self._in_memory(), memory, len(self._pages)),
        ):
            for run in runs:
                positions = run.found(tables, prefixes >> self._plan.prefix_bits - run.bits)
                positions -= np.uint32(base)
                rows.append(pages.take(positions, axis=0))
        packed = fingerprint.to_bytes(8 * self._width, "little")
        return self._near(np.concatenate(rows), packed, max_distance, probes)

    def find_near_in_turn(self, fingerprint: int, max_distance: int) -> Iterator[set[int]]:
        """Yield the result of `find_near` in one step."""
        yield self.find_near(fingerprint, max_distance)

    def find_key(self, key: str) -> list[int]:
        """Return the ordinals of the entries that may have that page key."""
        hashed = _key_hash(key)
        found = []
        for run in self._runs:
            slot = hashed >> _HALF_BITS - run.bits
            for position in run.bucket(-1, slot, slot + 1).tolist():
                last = self._pages.item(position, self._width)
                if last >> _HALF_BITS == hashed:
                    found.append(last & _ORDINAL)
        return found + self._keys.get(hashed, [])

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
        if self._memory_pages == len(self._memory):
            size = len(self._memory) * 3 // 2 + YOUNG_PAGES
            more = np.empty((size, self._width + 1), np.uint64)
            more[: self._memory_pages] = self._memory
            self._memory = more
        row = entry.fingerprint.to_bytes(8 * self._width, "little")
        hashed = _key_hash(entry.key)
        self._keys.setdefault(hashed, []).append(ordinal)
        last = hashed << _HALF_BITS | ordinal
        self._memory[self._memory_pages] = np.frombuffer(row + last.to_bytes(8, "little"), "<u8")
        self._memory_pages += 1
        if self._memory_pages - self._sorted_pages >= YOUNG_PAGES:
            self._sort()
        if self._memory_pages - self._frozen_pages >= self._capacity and not self._waiting:
            self.freeze(ordinal + 1)

    def freeze(self, next_ordinal: int) -> None:
        """Let all pages wait to be spilled, if there are any."""
        if self._waiting or not (self._memory_pages or self._skipped):
            return
        self._sort()
        self._frozen, self._sorted = self._sorted, None
        self._frozen_pages = self._memory_pages
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
        self._pages = self._mapped_pages()
        self._runs = [*kept, self._mapped(merged.files.runs[-1])]
        self._memory_pages -= merged.rows
        self._sorted_pages -= merged.rows
        self._memory = self._memory[merged.rows :].copy()
        self._keys = {}
        for last in self._memory[: self._memory_pages, self._width].tolist():
            self._keys.setdefault(last >> _HALF_BITS, []).append(last & _ORDINAL)
        self._frozen, self._frozen_pages = None, 0
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
        return self._fields[table].of(self._pages.take(positions, axis=0))

    def in_order(self, run: Run, table: int) -> bool:
        """Return whether each page of a run is in its bucket of a table."""
        field = self._fields[table]
        slots = self.prefixes(table, run.positions(table)) >> np.uint64(field.width - run.bits)
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
        row = self._pages[position]
        last = int(row[self._width])
        fingerprint = int.from_bytes(row[: self._width].tobytes(), "little")
        return fingerprint, last >> _HALF_BITS, last & _ORDINAL

    @property
    def runs(self) -> list[Run]:
        """The runs in files; page keys are the last table."""
        return self._runs

    @property
    def memory_bytes(self) -> int:
        """Bytes of the pages that wait in memory, without Python's objects."""
        sorted_bytes = sum(run.words.nbytes for run in self._in_memory())
        return self._memory.nbytes + sorted_bytes

    @property
    def page_bytes(self) -> int:
        """Bytes of a row of the pages' file."""
        return 8 * (self._width + 1)

    @property
    def page_count(self) -> int:
        """Number of rows in the pages' file, removed ones among them."""
        return len(self._pages)

    def _in_memory(self) -> list[Run]:
        return [run for run in (self._sorted, self._frozen) if run is not None]

    def _near(
        self,
        rows: NDArray[np.uint64],
        packed: bytes,
        max_distance: int,
        probes: Probes,
    ) -> set[int]:
        """Return the ordinals of the pages within the distance that are in a bucket that is probed.

        The rows include pages of other buckets: all recent ones in memory, and neighbours where a
        directory has fewer bits than the prefix. The result must not depend
        on how far pages are sorted.
        """
        # Column by column: numpy is slow at rows of a few words. Half of the bits are enough to
        # tell that most are too far.
        words = np.frombuffer(packed, "<u8")
        half = (self._width + 1) // 2
        close = _differing(rows, words[:half]) <= max_distance
        if not np.count_nonzero(close):
            return set()
        rows = rows[close]
        near = rows[_differing(rows, words) <= max_distance]
        if not len(near):
            return set()
        has = np.stack([field.of(near) for field in self._fields[:-1]], axis=1).astype(np.int64)
        probed = (has.take(probes.tables, axis=1) == probes.prefixes).any(axis=1)
        return {last & _ORDINAL for last in near[probed, self._width].tolist()}

    def _sort(self) -> None:
        """Make a run of all pages in memory that are not frozen."""
        rows = self._memory[self._frozen_pages : self._memory_pages]
        self._sorted_pages = self._memory_pages
        if not len(rows):
            self._sorted = None
            return
        bits = self._bits(len(rows))
        base = len(self._pages) + self._frozen_pages
        parts: list[NDArray[np.uint32]] = []
        starts = []
        at = 0
        for field in self._fields:
            slots = (field.of(rows) >> np.uint64(field.width - bits)).astype(
                np.uint16 if bits <= _MAX_STEP_BITS else np.uint32
            )
            order = slots.argsort(kind="stable").astype(np.uint32)
            order += np.uint32(base)
            directory = np.empty((1 << bits) + 1, np.uint32)
            directory[0] = at
            directory[1:] = np.bincount(slots, minlength=1 << bits).cumsum() + at
            parts += [order, directory]
            starts.append(at + len(order))
            at += len(order) + len(directory)
        self._sorted = Run(np.concatenate(parts), bits, starts, len(rows))

    def _bits(self, pages: int) -> int:
        """Return the bits of a directory of `pages` pages, for one or two pages in a bucket."""
        return max(1, min(pages.bit_length() - 1, self._plan.prefix_bits))

    def _rows(self, positions: NDArray[np.uint32]) -> NDArray[np.uint64]:
        in_files = len(self._pages)
        rows, base = self._pages, 0
        if len(positions) and positions[0] >= in_files:
            rows, base = self._memory, in_files
        found: NDArray[np.uint64] = rows.take(positions - np.uint32(base), axis=0)
        return found

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
        pages = sum(run.pages for run in sources)
        bits = self._bits(pages)
        step_bits = self._step_bits(bits, pages, min(run.bits for run in sources))
        self._steps_left = len(self._fields) << bits - step_bits
        self._calls_left = max(self._capacity * 9 // 10 // SPILL_EVERY, 1)
        name = f"{self._files.next_name}.run"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with _Writer(self._folder / name, durable=self._durable) as writer:
            starts = []
            for table in range(len(self._fields)):
                directory = np.zeros((1 << bits) + 1, np.uint32)
                for slot in range(0, 1 << bits, 1 << step_bits):
                    positions, slots = self._slice(sources, table, bits, slot, step_bits)
                    if len(dropped):
                        kept = ~np.isin(positions, dropped)
                        positions, slots = positions[kept], slots[kept]
                    directory[slot + 1 : slot + (1 << step_bits) + 1] = np.bincount(
                        slots, minlength=1 << step_bits
                    )
                    writer.write(positions[slots.argsort(kind="stable")])
                    yield None
                kept_pages = int(directory.sum())
                directory[0] = writer.words - kept_pages
                starts.append(writer.words)
                # Bucket by bucket: where it begins.
                writer.write(directory.cumsum(dtype=np.uint32))
            checksum = writer.close()
            file = RunFile(
                name, bits, starts, kept_pages, first, self.frozen_below, 4 * writer.words, checksum
            )
            part = self._append_pages()
        kept_runs = [run for run in self._files.runs if run not in replaced]
        parts = [*self._files.pages, part]
        files = RunFiles([*kept_runs, file], parts, self.frozen_below, self._files.next_name + 1)
        yield _Merged(files, replaced, self._frozen_pages, removed)

    def _slice(
        self, sources: Sequence[Run], table: int, bits: int, slot: int, step_bits: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Return (positions, buckets counted from `slot` on) of some buckets of all sources."""
        positions, slots = [], []
        field = self._fields[table]
        stop = slot + (1 << step_bits)
        for run in sources:
            finer = run.bits - bits
            if finer >= 0:
                found = run.bucket(table, slot << finer, stop << finer)
                begins = run.directory(table)[slot << finer : (stop << finer) + 1 : 1 << finer]
                counts = np.diff(begins)
                known = np.arange(1 << step_bits, dtype=np.uint16).repeat(counts)
            else:
                found = run.bucket(table, slot >> -finer, stop >> -finer)
                prefixes = field.of(self._rows(found)) >> np.uint64(field.width - bits)
                known = (prefixes - np.uint64(slot)).astype(np.uint16)
            positions.append(found)
            slots.append(known)
        return np.concatenate(positions), np.concatenate(slots)

    @staticmethod
    def _step_bits(bits: int, pages: int, coarsest: int) -> int:
        """Return how many buckets a step moves, as a power of two."""
        wanted = bits - (pages // _STEP_RECORDS).bit_length()
        return min(max(wanted, bits - coarsest, 0), bits, _MAX_STEP_BITS)

    def _dropped(self, first: int, stop: int) -> tuple[list[bytes], NDArray[np.uint32]]:
        """Return (rows, positions) of the removed entries with these ordinals."""
        rows = [
            row
            for row, _ in self._database.rows(records.removed_row(first), records.REMOVED_END)
            if int.from_bytes(row[1:], "big") < stop
        ]
        in_files = len(self._pages)
        total = in_files + self._frozen_pages

        def ordinal_at(position: int) -> int:
            rows = self._pages if position < in_files else self._memory
            last = rows[position - (0 if position < in_files else in_files), self._width]
            return int(last) & _ORDINAL

        positions = []
        for row in rows:
            ordinal = int.from_bytes(row[1:], "big")
            position = bisect_left(range(total), ordinal, key=ordinal_at)
            if position < total and ordinal_at(position) == ordinal:
                positions.append(position)
        return rows, np.array(positions, np.uint32)

    def _append_pages(self) -> tuple[int, str]:
        """Write the frozen pages behind those in the pages' file."""
        rows = self._memory[: self._frozen_pages].astype("<u8").tobytes()
        descriptor = os.open(self._folder / PAGES, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            at = len(self._pages) * 8 * (self._width + 1)
            os.ftruncate(descriptor, at)
            view = memoryview(rows)
            while view:
                written = os.pwrite(descriptor, view, at)
                at, view = at + written, view[written:]
            if self._durable:
                os.fsync(descriptor)
                _sync_folder(self._folder)
        finally:
            os.close(descriptor)
        return self._frozen_pages, xxh3_64_hexdigest(rows)

    def _opened(self) -> tuple[RunFiles, list[Run], NDArray[np.uint64]]:
        value = self._database.get(records.RUNS_KEY)
        try:
            files = NO_FILES if value is None else RunFiles.decoded(value)
        except ValueError as error:
            raise corrupt(self._location, error) from error
        self._files = files
        try:
            named = {run.name for run in files.runs} | {PAGES}
            for path in self._folder.iterdir() if self._folder.is_dir() else ():
                if path.name not in named:
                    path.unlink()  # left by an interruption
            runs = [self._mapped(run, check=True) for run in files.runs]
            return files, runs, self._mapped_pages(check=True)
        except FileNotFoundError as error:
            raise corrupt(self._location, f"{error.filename} is missing") from error
        except OSError as error:
            raise StorageError(self._location, f"its tables cannot be read ({error})") from error

    def _mapped(self, file: RunFile, *, check: bool = False) -> Run:
        path = self._folder / file.name
        if path.stat().st_size != file.size_bytes:
            raise corrupt(self._location, f"{path} has not {file.size_bytes} bytes")
        words = _map(path, "<u4", (file.size_bytes // 4,))
        if check and xxh3_64_hexdigest(words.data) != file.checksum:
            raise corrupt(self._location, f"{path} has not the bytes that were written")
        return Run(words, file.bits, file.starts, file.pages)

    def _mapped_pages(self, *, check: bool = False) -> NDArray[np.uint64]:
        count = sum(rows for rows, _ in self._files.pages)
        shape = count, self._width + 1
        if not count:
            return np.empty(shape, np.uint64)
        path = self._folder / PAGES
        if path.stat().st_size < 8 * count * (self._width + 1):
            raise corrupt(self._location, f"{path} is too short")
        pages = _map(path, "<u8", shape)
        first = 0
        for rows, checksum in self._files.pages if check else ():
            if xxh3_64_hexdigest(pages[first : first + rows].data) != checksum:
                raise corrupt(self._location, f"{path} has not the bytes that were written")
            first += rows
        return pages


class _Writer:
    """A file of 32-bit words that is whole and on the disk once it is closed, or deleted."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path = path
        self._durable = durable
        self._file = path.open("wb", buffering=1 << 18)
        self._hash = xxh3_64()
        self._unsynced_bytes = 0
        self._whole = False
        self.words = 0
        """Number of words written."""

    def write(self, words: NDArray[np.uint32]) -> None:
        """Write some words."""
        packed = words.astype("<u4", copy=False).tobytes()
        self._hash.update(packed)
        self._file.write(packed)
        self.words += len(words)
        self._unsynced_bytes += len(packed)
        if self._durable and self._unsynced_bytes > _MAX_SYNC_BYTES:
            # Bit by bit, so that the end waits for little.
            self._unsynced_bytes = 0
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> str:
        """Return the checksum of the file."""
        self._file.flush()
        if self._durable:
            os.fsync(self._file.fileno())
        self._file.close()
        self._whole = True
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._whole:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._path.unlink()


def _key_hash(key: str) -> int:
    return xxh3_64_intdigest(records.encode_key(key)) >> _HALF_BITS


def _differing(
    rows: NDArray[np.uint64], words: NDArray[np.uint64]
) -> NDArray[np.unsignedinteger[Any]]:
    """Return by how many bits some words of each row differ."""
    found: NDArray[np.unsignedinteger[Any]] = np.bitwise_count(rows[:, 0] ^ words[0])
    if len(words) >= _WORDS_OF_A_BYTE:
        found = found.astype(np.uint16)
    for word in range(1, len(words)):
        found += np.bitwise_count(rows[:, word] ^ words[word])
    return found


def _map(path: Path, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    # As a plain array: numpy is slow at others.
    return np.asarray(np.memmap(path, kind, "r", shape=shape))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
