"""A `Database` that is a dictionary: it remembers what was written, and fails when it is to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexClosed, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from scrapy_simhash.index.database import Row

LOCATION = "/where/the/index/is"


class DictDatabase:
    """A database in memory.

    :param content: its rows, in any order; a copy of them.
    :param path: the folder that has the files of tables; None keeps tables in memory.
    """

    location = LOCATION

    def __init__(self, content: dict[bytes, bytes] | None = None, path: Path | None = None) -> None:
        self.path = path
        self.content = dict(content or {})
        self.history: list[dict[bytes, bytes]] = []
        """Its rows after each write."""
        self.writes: list[tuple[dict[bytes, bytes], list[bytes], bool]] = []
        """(puts, deletes, whether it was synced) of each write."""
        self.read: list[bytes] = []
        """The keys that values were asked of."""
        self.fails: Callable[[dict[bytes, bytes]], bool] = lambda _: False
        """Whether a write with these puts fails."""
        self.lands = False
        """Whether a write that fails is there afterwards all the same."""
        self.closed = False

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        self.read.append(key)
        return self.content.get(key)

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        self._check_open()
        for row in sorted(row for row in self.content.items() if start <= row[0] < stop):
            self._check_open()
            yield row

    def write(
        self, puts: Sequence[Row], deletes: Sequence[bytes] = (), *, sync: bool = False
    ) -> None:
        self._check_open()
        assert len({*deletes, *(key for key, _ in puts)}) == len(puts) + len(deletes)
        failed = self.fails(dict(puts))
        if not failed or self.lands:
            self.content.update(puts)
            for key in deletes:
                self.content.pop(key, None)
            self.history.append(dict(self.content))
            self.writes.append((dict(puts), list(deletes), sync))
        if failed:
            raise StorageError(LOCATION, "the disk is full")

    def sync(self) -> None:
        self._check_open()
        self.writes.append(({}, [], True))

    def compact(self) -> None:
        self._check_open()

    def close(self) -> None:
        self.closed = True

    def _check_open(self) -> None:
        if self.closed:
            raise IndexClosed(LOCATION, "used after close()")
