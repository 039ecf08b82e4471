"""Tables: rows by number, found by fingerprint or by key.

Rows go through three stages. The newest are *unsorted*, and compared with each query. When there
are `UNSORTED_ROWS`, they are sorted into a run in memory, together with runs that are not much
larger. If there is a folder, `MEMORY_ROWS` are *frozen*, and merged with runs in files, in small
steps, while new rows are kept apart. At most two runs are in files, a large and a small one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_simhash.index.plan import slot_bits
from scrapy_simhash.index.tables import format as files
from scrapy_simhash.index.tables.format import Footer, Writer
from scrapy_simhash.index.tables.merging import Merge
from scrapy_simhash.index.tables.prefixes import Prefixes
from scrapy_simhash.index.tables.rows import NUMBER_BITS, NUMBER_MASK, Rows, names_of
from scrapy_simhash.index.tables.runs import Lookup, Run, sorted_run
from scrapy_simhash.index.tables.search import Search, Sorted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import TablePlan

    Words = NDArray[np.uint64]

UNSORTED_ROWS = 2048
# When this many rows are in memory, they are frozen. As many new ones may collect beside them.
MEMORY_ROWS = 1 << 16
# A run in memory is sorted again together with new rows that are at least a sixteenth of it.
_GROWTH_IN_MEMORY = 16
# The large run is merged, too, once the other rows to merge are an eighth of it.
_GROWTH_IN_FILES = 8
# While rows are frozen, `step` is called after every so many new rows.
STEP_EVERY = 8
_LARGE_STEP = 64
# The leading bits that tell a bucket must be in the upper half of a hash, which has no number.
_MAX_SLOT_BITS = 31
# `close` leaves fewer rows than that to the next opening, which adds them from their entries.
FEW_ROWS = 512


class Tables:
    """The tables of a plan over rows: (number, fingerprint, hash of a key, mark).

    Numbers are 32 bits, and each new one is higher than all before. A number may be found that is
    of no use any more: callers look up what it stands for, and see that it is gone. Tables are not
    thread-safe.

    :param folder: the folder for the files, which is created when it is needed; None keeps all rows
        in memory.
    :param made_for: an identity, such as that of an index. Files with another one are not used.
    :param before_visible: called before files with new rows replace the old ones.
    :raises Unfit: the files are not used, and why. Delete them (`delete_tables`), and add all rows
        again.
    :raises OSError: the files cannot be read.
    """

    def __init__(
        self,
        plan: TablePlan,
        folder: Path | None = None,
        *,
        made_for: str = "",
        before_visible: Callable[[], object] = lambda: None,
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._made_for = f"{made_for} {plan!r}"
        self._before_visible = before_visible
        self._prefixes = Prefixes(plan)
        self._tables = len(plan.tables)
        self._widest = min(max(plan.prefix_widths_bits), _MAX_SLOT_BITS)
        self._rows = Rows(self._prefixes.words)
        self._search = Search(plan, self._prefixes, self._rows)
        words = self._prefixes.words
        if folder is None:
            self._stored = files.nothing_stored(words)
        else:
            self._stored = files.read(folder, self._made_for, words)
        self._rows.stored = self._stored.columns
        self.stop = self._stored.stop
        """Higher than all numbers so far. After opening: rows from this number on are not there."""
        # Runs in memory: those of frozen rows, and those of later ones. Behind them are the
        # unsorted rows, whose keys are in `_keys`.
        self._frozen_runs: list[Run] = []
        self._sorted_runs: list[Run] = []
        self._frozen_rows = self._sorted_rows = 0
        self._frozen_stop = 0
        self._keys: dict[int, list[int]] = {}
        self._sorted: Sorted | None = None  # None after the runs have changed
        self._merge: Iterator[None] | None = None
        # Steps until the merge ends, and calls of `step` until memory may be full again.
        self._steps_left = self._calls_left = 1

    def __len__(self) -> int:
        """Return the number of rows, with those that are gone."""
        return len(self._rows)

    @property
    def frozen(self) -> bool:
        """True while `step` has work to do."""
        return self._frozen_rows > 0

    def add(self, number: int, fingerprint: int, key: bytes, mark: int) -> None:
        """Append a row.

        :param number: at least `stop`.
        :param mark: see `scrapy_simhash.index.marks`; 0 if it is unknown.
        """
        hashed = key_hash(key)
        self._keys.setdefault(hashed, []).append(number)
        self._rows.append(
            self._prefixes.packed([fingerprint]), hashed << NUMBER_BITS | number, mark
        )
        self._added(number)

    def extend(
        self, first: int, fingerprints: Words, key_hashes: NDArray[np.uint64], marks: Words
    ) -> None:
        """Append rows with successive numbers; see `add`.

        :param fingerprints: in words, the least significant first; a row for each.
        :param key_hashes: of 32 bits.
        """
        count = len(marks)
        ids = key_hashes << np.uint64(NUMBER_BITS)
        ids |= np.arange(first, first + count, dtype=np.uint64)
        for number, hashed in enumerate(key_hashes.tolist(), first):
            self._keys.setdefault(hashed, []).append(number)
        self._rows.extend(fingerprints, ids, marks)
        self._added(first + count - 1)

    def forget(self, number: int) -> None:
        """Let no search find a row any more, if that is cheap: a row in a file stays."""
        self._rows.forget(number)

    def near(
        self,
        queries: Sequence[tuple[int, bytes]],
        max_distance: int,
        marks: Sequence[int] | None = None,
        *,
        extra: int = 0,
        after: int = 0,
    ) -> list[list[int]]:
        """Return, for each query, the numbers of the rows that are within the distance and in one
        of the buckets that the plan looks up, each once. Several queries take less time together.

        :param queries: (fingerprint, certainty); see `Evidence` for the certainty, b"" if unknown.
        :param marks: of the queries. With them, rows are left out as
            `scrapy_simhash.index.tables.crowds` says.
        :param extra: see `scrapy_simhash.index.tables.crowds.more_to_choose`.
        :param after: leave out rows before this position, of which `len` was the next. It has no
            effect for rows that are in files.
        """
        newest = after - self._rows.stored_count
        if newest > 0 and newest == self._rows.waiting_count:
            return [[] for _ in queries]
        if self._sorted is None:
            runs = [*self._stored.runs.values(), *self._frozen_runs, *self._sorted_runs]
            self._sorted = Sorted(Lookup(runs), len(self._stored.runs), self._sorted_rows)
        if newest > 0 or not self._sorted.lookup.runs:
            return self._search.near_newest(queries, max_distance, marks, extra, max(newest, 0))
        return self._search.near(self._sorted, queries, max_distance, marks, extra)

    def with_key(self, key: bytes) -> list[int]:
        """Return the numbers of the rows whose keys have the same hash, in any order."""
        hashed = key_hash(key)
        found = [*self._keys.get(hashed, ())]
        for run in (*self._stored.runs.values(), *self._frozen_runs, *self._sorted_runs):
            for position in run.bucket(self._tables, hashed << 64 - NUMBER_BITS):
                row_id = self._rows.id(position)
                if row_id >> NUMBER_BITS == hashed:
                    found.append(row_id & NUMBER_MASK)
        return found

    def freeze(self) -> None:
        """Begin to write all rows in memory to files. No effect if rows are frozen already."""
        if self._folder is None or self._frozen_rows or not self._rows.waiting_count:
            return
        self._sort()
        self._frozen_runs, self._sorted_runs = self._sorted_runs, []
        self._frozen_rows, self._frozen_stop = self._rows.waiting_count, self.stop

    def step(self, *, large: bool = False) -> bool:
        """Run some steps of writing frozen rows to files. Return False if none is frozen any more.

        :param large: run 64 steps, not as few as end before memory is full again.
        :raises OSError: the disk fails. The next call begins to write the files again.
        """
        if not self._frozen_rows:
            return False
        if self._merge is None:
            self._merge = self._new_merge()
        steps = _LARGE_STEP if large else max(-(-self._steps_left // self._calls_left), 1)
        self._calls_left = max(self._calls_left - 1, 1)
        try:
            for _ in range(steps):
                next(self._merge)
                self._steps_left -= 1
        except StopIteration:
            self._merge = None
        except BaseException:
            self._merge = None
            raise
        return self._frozen_rows > 0

    def write_all(self) -> None:
        """Write the rows in memory to files, unless they are few. :raises OSError: the disk fails.

        Without a folder, this has no effect.
        """
        while self.step(large=True):
            pass
        if self._rows.waiting_count >= FEW_ROWS:
            self.freeze()
            while self.step(large=True):
                pass

    def close(self) -> None:
        """Unmap the files, whose descriptors may stay open until a full garbage collection."""
        self._stored = files.nothing_stored(self._prefixes.words)
        self._rows.stored = self._stored.columns
        self._frozen_runs, self._sorted_runs, self._sorted, self._merge = [], [], None, None

    def _added(self, number: int) -> None:
        self.stop = number + 1
        waiting = self._rows.waiting_count
        if waiting - self._sorted_rows >= UNSORTED_ROWS:
            self._sort()
        if waiting - self._frozen_rows >= MEMORY_ROWS:
            self.freeze()

    def _sort(self) -> None:
        """Sort the unsorted rows into a run, together with runs that are not much larger."""
        count, first, runs = self._rows.waiting_count, self._sorted_rows, self._sorted_runs
        if first == count:
            return
        while runs and runs[-1].rows < _GROWTH_IN_MEMORY * (count - first):
            first -= runs.pop().rows
        fingerprints, ids, marks = self._rows.waiting(first)
        hashes = [self._prefixes.hashes_in(table, fingerprints) for table in range(self._tables)]
        bits = slot_bits(self._widest, count - first)
        first_position = self._rows.stored_count + first
        runs.append(sorted_run([*hashes, ids, names_of(marks, ids)], bits, first_position))
        self._sorted_rows, self._keys, self._sorted = count, {}, None

    def _hashes(self, table: int, positions: NDArray[np.uint32]) -> Words:
        """Return the hashes of rows in a table; see `Merge`."""
        if table < self._tables:
            return self._prefixes.hashes_in(table, self._rows.fingerprints(positions))
        return self._rows.ids(positions) if table == self._tables else self._rows.names(positions)

    def _new_merge(self) -> Iterator[None]:
        """Merge the frozen rows with the runs in files, but leave out a run with more than eight
        times as many rows as all others and the frozen ones. Yield after each step.
        """
        assert self._folder is not None
        stored = self._stored
        replaced = sorted(stored.runs, key=lambda name: stored.runs[name].rows)
        if replaced:
            *small, large = (stored.runs[name].rows for name in replaced)
            if (self._frozen_rows + sum(small)) * _GROWTH_IN_FILES < large:
                del replaced[-1]
        sources = [*(stored.runs[name] for name in replaced), *self._frozen_runs]
        bits = slot_bits(self._widest, sum(run.rows for run in sources))
        merge = Merge(sources, self._hashes, bits, self._rows.gone(self._frozen_rows))
        self._steps_left = merge.steps
        # The merge must end before as many new rows have collected.
        self._calls_left = max(MEMORY_ROWS * 9 // 10 // STEP_EVERY, 1)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with Writer(self._folder) as writer:
            yield from merge.write(writer)
            hashers = files.append(
                self._folder, stored, self._rows.waiting().part(0, self._frozen_rows)
            )
            beside = {name: stored.checksums[name] for name in stored.runs if name not in replaced}
            footer = Footer(
                self._made_for,
                bits,
                merge.starts,
                merge.rows,
                self._frozen_stop,
                self._rows.stored_count + self._frozen_rows,
                {name: hasher.intdigest() for name, hasher in hashers.items()},
                beside,
            )
            self._before_visible()
            name = files.run_name(files.next_number(stored))
            checksum = writer.finish(name, footer)
        columns = files.map_columns(self._folder, footer.stored, self._prefixes.words)
        runs = {name: stored.runs[name] for name in beside}
        runs[name] = files.map_run(self._folder / name, footer)
        self._stored = files.Stored(columns, runs, {**beside, name: checksum}, hashers, footer.stop)
        self._rows.moved(self._frozen_rows, columns)
        self._sorted_rows -= self._frozen_rows
        self._frozen_rows, self._frozen_runs, self._sorted = 0, [], None
        files.unlink(self._folder, replaced)


def key_hash(key: bytes) -> int:
    """Return the hash by which tables find a key: the upper 32 bits of its XXH3-64."""
    return xxh3_64_intdigest(key) >> 64 - NUMBER_BITS
