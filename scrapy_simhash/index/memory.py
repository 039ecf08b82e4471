"""MemoryStore: a store for ``memory:`` indexes. Tests compare the other stores with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.index.base import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_simhash.index.base import Entry, NearDuplicate, SideKind


class MemoryStore(Store):
    """A `Store` in memory. It compares all entries, so it misses none; tables may miss some."""

    next_sequence = 1

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._log: dict[int, NearDuplicate] = {}
        self._side_rows: dict[tuple[SideKind, str], bytes] = {}

    def entry(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def within(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",  # noqa: ARG002 - for probing; a scan needs none
        *,
        mark: int | None = None,  # noqa: ARG002 - for crowds; a scan is slow anyway
    ) -> list[tuple[int, Entry]]:
        return [
            (distance, entry)
            for entry in self._entries.values()
            if (distance := hamming_distance(fingerprint, entry.fingerprint)) <= max_distance
        ]

    def prefetch(self, queries: Sequence[tuple[int, bytes, int]], max_distance: int) -> None:
        """Do nothing: several queries at once would not be faster."""

    def write(
        self, put: Entry, replaced: Entry | None, outdated: Iterable[Entry], next_sequence: int
    ) -> Entry:
        if replaced is not None:
            del self._entries[replaced.key]
        for entry in outdated:
            del self._entries[entry.key]
        self._entries[put.key] = put
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
