"""Tables: rows by number, found by fingerprint or by key.

Rows go through three stages. The newest are *unsorted*, and compared with each query. When there
are `UNSORTED_ROWS`, they are sorted into a run in memory, together with runs that are not much
larger. If there is a folder, `MEMORY_ROWS` are *frozen*, and merged with runs in files, in small
steps, while new rows are kept apart. At most two runs are in files, a large and a small one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from xxhash import xxh3_64_intdigest

from scrapy_simhash.index.plan import slot_bits
from scrapy_simhash.index.tables import format as files
from scrapy_simhash.index.tables.buckets import Prefixes
from scrapy_simhash.index.tables.rows import (
    FINGERPRINTS,
    IDS,
    MARKS,
    NUMBER_BITS,
    NUMBER_MASK,
    names_of,
)
from scrapy_simhash.index.tables.runs import Run, merge, sorted_run
from scrapy_simhash.index.tables.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import TablePlan

    Words = NDArray[np.uint64]

UNSORTED_ROWS = 2048
# When this many rows are in memory, they are frozen. New ones collect beside them.
MEMORY_ROWS = 1 << 16
# A run in memory is sorted again together with new rows that are at least a sixteenth of it.
_GROWTH_IN_MEMORY = 16
# The large run is merged, too, once the other rows to merge are an eighth of it.
_GROWTH_IN_FILES = 8
# The leading bits that tell a bucket must be in the upper half of a hash, which has no number.
_MAX_SLOT_BITS = 31
# `close` leaves fewer rows than that to the next opening, which adds them from their entries.
FEW_ROWS = 512


class Tables(Search):
    """The tables of a plan over rows: (number, fingerprint, hash of a key, mark).

    Numbers are 32 bits, and each new one is higher than all before. A number may be found that is
    of no use any more: callers look up what it stands for, and see that it is gone. Tables are not
    thread-safe.

    :param folder: the folder for the files, which is created when it is needed; None keeps all rows
        in memory.
    :param made_for: an identity, such as that of an index. Files with another one are deleted.
    :param max_rows: files with more rows are deleted.
    :param before_visible: called before files with new rows replace the old ones.
    :raises OSError: the files cannot be read or deleted.
    """

    def __init__(
        self,
        plan: TablePlan,
        folder: Path | None = None,
        *,
        made_for: str = "",
        max_rows: int = 1 << NUMBER_BITS,
        before_visible: Callable[[], object] = lambda: None,
    ) -> None:
        self._folder = folder
        self._made_for = f"7 {made_for} {plan!r}"
        self._before_visible = before_visible
        prefixes = Prefixes(plan)
        self._widest = min(max(plan.prefix_widths_bits), _MAX_SLOT_BITS)
        self._stored = files.read(folder, self._made_for, prefixes.words, max_rows)
        super().__init__(prefixes, self._stored.columns)
        self.unfit = self._stored.unfit
        """Why files were deleted, so that all rows must be added again; or empty."""
        self.stop = self._stored.stop
        """Higher than all numbers so far. After opening: rows from this number on are not there."""
        # Runs in memory: those of frozen rows, which end at a position, and those of later ones.
        # Behind them are the unsorted rows, whose keys are in `_keys`.
        self._frozen_runs: list[Run] = []
        self._sorted_runs: list[Run] = []
        self._frozen_to = self._sorted_to = len(self._rows)
        self._frozen_stop = 0
        self._keys: dict[int, list[int]] = {}
        self._merge: Iterator[None] | None = None
        self._show_runs()

    def __len__(self) -> int:
        """Return the number of rows, with those that are gone."""
        return len(self._rows)

    def add(self, number: int, fingerprint: int, key: bytes, mark: int) -> None:
        """Append a row.

        :param number: at least `stop`.
        :param mark: see `scrapy_simhash.index.marks`; 0 if it is unknown.
        """
        hashed = key_hash(key)
        self._keys.setdefault(hashed, []).append(number)
        fingerprints = self._prefixes.packed([fingerprint])
        self._rows.extend(1, fingerprints, hashed << NUMBER_BITS | number, mark)
        self._added(number)

    def extend(self, first: int, fingerprints: Words, key_hashes: Words, marks: Words) -> None:
        """Append rows with successive numbers; see `add`.

        :param fingerprints: in words, the least significant first; a row for each.
        :param key_hashes: of 32 bits.
        """
        count = len(marks)
        for number, hashed in enumerate(key_hashes.tolist(), first):
            self._keys.setdefault(hashed, []).append(number)
        ids = key_hashes << np.uint64(NUMBER_BITS)
        ids |= np.arange(first, first + count, dtype=np.uint64)
        self._rows.extend(count, fingerprints, ids, marks)
        self._added(first + count - 1)

    def forget(self, number: int) -> None:
        """Let `near` find a row no more, until the tables are opened again."""
        self._rows.forget(number)

    def fingerprints(self, numbers: Sequence[int] | NDArray[np.intp]) -> Words:
        """Return the fingerprints of rows, in words, if numbers began with 0 and left none out."""
        return self._rows.take(FINGERPRINTS, np.array(numbers, np.uint32))

    def with_key(self, key: bytes) -> list[int]:
        """Return the numbers of the rows whose keys have the same hash, in any order."""
        hashed = key_hash(key)
        found = [*self._keys.get(hashed, ())]
        for run in self._runs:
            for position in run.bucket(self._prefixes.tables, hashed << NUMBER_BITS).tolist():
                row_id = self._rows.id(position)
                if row_id >> NUMBER_BITS == hashed:
                    found.append(row_id & NUMBER_MASK)
        return found

    def step(self) -> bool:
        """Write a part of the frozen rows to files; callers do so after each new row. Return False
        if no rows are frozen any more.

        :raises OSError: the disk fails. The next call begins to write the files again.
        """
        if not self._is_frozen:
            return False
        merging, self._merge = self._merge or self._written(), None
        with suppress(StopIteration):
            next(merging)
            self._merge = merging  # after an error, it begins again
        return self._is_frozen

    def write_all(self) -> None:
        """Write the rows in memory to files, unless they are few. :raises OSError: the disk fails.

        Without a folder, this has no effect.
        """
        while self.step():
            pass
        if len(self._rows) - self._rows.in_files >= FEW_ROWS:
            self._freeze()
        while self.step():
            pass

    def close(self) -> None:
        """Unmap the files, whose descriptors may stay open until a full garbage collection. Nothing
        but this may be called afterwards.
        """
        vars(self).clear()

    @property
    def _is_frozen(self) -> bool:
        return self._frozen_to > self._rows.in_files

    def _added(self, number: int) -> None:
        self.stop = number + 1
        if len(self._rows) - self._sorted_to >= UNSORTED_ROWS:
            self._sort()
        if len(self._rows) - self._frozen_to >= MEMORY_ROWS:
            self._freeze()

    def _freeze(self) -> None:
        """Begin to write all rows in memory to files. No effect if rows are frozen already."""
        if self._folder is None or self._is_frozen:
            return
        self._sort()
        self._frozen_runs, self._sorted_runs = self._sorted_runs, []
        self._frozen_to, self._frozen_stop = len(self._rows), self.stop

    def _sort(self) -> None:
        """Sort the unsorted rows into a run, together with runs that are not much larger."""
        stop, first, runs = len(self._rows), self._sorted_to, self._sorted_runs
        if first == stop:
            return
        while runs and runs[-1].rows < _GROWTH_IN_MEMORY * (stop - first):
            first -= runs.pop().rows
        bits, positions = slot_bits(self._widest, stop - first), np.arange(first, stop, dtype="u4")
        runs.append(sorted_run(self._hashes, self._prefixes.tables + 2, bits, positions))
        self._sorted_to, self._keys = stop, {}
        self._show_runs()

    def _show_runs(self) -> None:
        runs = [*self._stored.runs.values(), *self._frozen_runs, *self._sorted_runs]
        self._show(runs, self._sorted_to)

    def _hashes(self, table: int, positions: NDArray[np.uint32]) -> Words:
        """Return the hashes of rows in a table of the plan, or in that of keys or of names."""
        if table < self._prefixes.tables:
            return self._prefixes.hashes_in(table, self._rows.take(FINGERPRINTS, positions))
        ids = self._rows.take(IDS, positions)
        is_of_keys = table == self._prefixes.tables
        return ids if is_of_keys else names_of(self._rows.take(MARKS, positions), ids)

    def _written(self) -> Iterator[None]:
        """Merge the frozen rows with the runs in files, but leave out a run with more than eight
        times as many rows as all others and the frozen ones. Yield after each step.
        """
        folder, old = self._folder, self._stored
        assert folder is not None
        replaced = sorted(old.runs, key=lambda name: old.runs[name].rows)
        first, stop = self._rows.in_files, self._frozen_to
        sizes = [old.runs[name].rows for name in replaced]
        if replaced and (stop - first + sum(sizes[:-1])) * _GROWTH_IN_FILES < sizes[-1]:
            del replaced[-1]
        sources = [*(old.runs[name] for name in replaced), *self._frozen_runs]
        rows = sum(run.rows for run in sources)
        bits, starts = slot_bits(self._widest, rows), list[int]()
        folder.mkdir(mode=0o700, exist_ok=True)
        number = max((int(name.partition(".")[0]) for name in old.runs), default=0) + 1
        path = folder / f"{number}.run"
        with files.File(path) as file:
            yield from merge(sources, bits, self._hashes, file.write, starts)
        # Not before the merge: a part would keep arrays that have grown since.
        new = files.appended(folder, old, self._rows.in_memory(first, stop))
        new.runs = {name: run for name, run in old.runs.items() if name not in replaced}
        new.sums |= {name: old.sums[name] for name in new.runs}
        new.runs[path.name] = files.mapped_run(path, bits, starts, rows)
        new.sums[path.name], new.stop = file.sum, self._frozen_stop
        self._before_visible()
        files.commit(folder, self._made_for, new)
        self._stored = new
        self._rows.moved(new.columns)
        self._frozen_runs = []
        self._show_runs()
        for one in replaced:
            with suppress(OSError):  # the next opening deletes it
                (folder / one).unlink()


def key_hash(key: bytes) -> int:
    """Return the hash by which tables find a key: the upper 32 bits of its XXH3-64."""
    return xxh3_64_intdigest(key) >> 64 - NUMBER_BITS
