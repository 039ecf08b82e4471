"""MemoryStore: a store for ``memory:`` indexes. Tests compare the other stores with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.index.base import Store
from scrapy_simhash.index.crowds import CROWD, nearest_copies, positions_in_crowd
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.pages import Near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.base import Entry, NearDuplicate, SideKind


_MIN_ROWS = 1024
_WORD_BITS = 64


class MemoryStore(Store):
    """A `Store` in memory. It compares all entries, so it misses none; tables may miss some.

    :param bits: width of a fingerprint.
    """

    next_sequence = 1

    def __init__(self, bits: int) -> None:
        self._words = -(-bits // _WORD_BITS)
        self._entries: list[Entry] = []
        self._places: dict[str, int] = {}
        # Of the entries: words of fingerprints, the least significant first; marks.
        self._columns = np.empty((self._words, _MIN_ROWS), np.uint64)
        self._marks = np.empty(_MIN_ROWS, np.uint64)
        self._log: dict[int, NearDuplicate] = {}
        self._side_rows: dict[tuple[SideKind, str], bytes] = {}

    def entry(self, key: str) -> Entry | None:
        place = self._places.get(key)
        return None if place is None else self._entries[place]

    def within(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",  # noqa: ARG002 - for probing; a scan needs none
        *,
        mark: int | None = None,
    ) -> list[tuple[int, Entry]]:
        count, words = len(self._entries), self._packed(fingerprint)
        distances = np.zeros(count, np.uint16)
        for column, word in zip(self._columns, words, strict=True):
            distances += np.bitwise_count(column[:count] ^ word)
        near = np.flatnonzero(distances <= max_distance)
        if mark is not None:
            if len(near) > CROWD:
                crowd = near.astype(np.uint32)
                chosen = positions_in_crowd(mark, [crowd], [crowd], self._marks.take)
                near = chosen.astype(np.int64)
            fingerprints, marks = self._columns.T.take(near, axis=0), self._marks.take(near)
            pages = Near(np.zeros_like(near), fingerprints, near.astype(np.uint64), marks)
            ids = nearest_copies(words, mark, pages, lambda few: np.ones(len(few), np.bool_))
            near = ids.astype(np.int64)
        return [(int(distances[at]), self._entries[at]) for at in near.tolist()]

    def _packed(self, fingerprint: int) -> NDArray[np.uint64]:
        return np.frombuffer(fingerprint.to_bytes(8 * self._words, "little"), "<u8")

    def _remove(self, key: str) -> None:
        """Remove an entry. The last one takes its place."""
        place, last = self._places.pop(key), self._entries.pop()
        stop = len(self._entries)
        if place < stop:
            self._entries[place], self._places[last.key] = last, place
            self._columns[:, place] = self._columns[:, stop]
            self._marks[place] = self._marks[stop]

    def _add(self, entry: Entry) -> None:
        place = len(self._entries)
        if place == len(self._marks):
            self._columns = np.concatenate([self._columns, self._columns], axis=1)
            self._marks = np.concatenate([self._marks, self._marks])
        self._columns[:, place] = self._packed(entry.fingerprint)
        self._marks[place] = mark_of(entry.evidence)
        self._entries.append(entry)
        self._places[entry.key] = place

    def prefetch(self, queries: Sequence[tuple[int, bytes, int]], max_distance: int) -> None:
        """Do nothing: several queries at once would not be faster."""

    def write(
        self, put: Entry, replaced: Entry | None, outdated: Iterable[Entry], next_sequence: int
    ) -> Entry:
        if replaced is not None:
            self._remove(replaced.key)
        for entry in outdated:
            self._remove(entry.key)
        self._add(put)
        self.next_sequence = next_sequence
        return put

    def log(self, near_duplicate: NearDuplicate, next_sequence: int) -> None:
        self._log[near_duplicate.sequence] = near_duplicate
        self.next_sequence = next_sequence

    def unlog(self, sequence: int) -> None:
        self._log.pop(sequence, None)

    def near_duplicates(self, since_sequence: int) -> Iterator[NearDuplicate]:
        return iter([line for line in self._log.values() if line.sequence >= since_sequence])

    def side_rows(self, kind: SideKind) -> Iterator[tuple[str, bytes]]:
        rows = self._side_rows.items()
        return iter([(name, row) for (other_kind, name), row in rows if other_kind == kind])

    def side_row(self, kind: SideKind, name: str) -> bytes | None:
        return self._side_rows.get((kind, name))

    def write_side_row(self, kind: SideKind, name: str, row: bytes | None) -> None:
        if row is None:
            self._side_rows.pop((kind, name), None)
        else:
            self._side_rows[kind, name] = row

    def sync(self) -> None:
        """Do nothing: there is no disk."""

    def close(self) -> None:
        """Do nothing."""

    def __len__(self) -> int:
        return len(self._entries)
