"""MemoryDatabase: the rows of a ``memory:`` index, as a dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_simhash.index.database import Row


class MemoryDatabase:
    """A database without a disk. See `Database` for the methods."""

    location = "memory"
    path = None

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a row, or None."""
        return self._rows.get(key)

    def get_all(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of rows, None for missing ones."""
        return [self._rows.get(key) for key in keys]

    def rows(self, start: bytes, stop: bytes) -> Iterator[Row]:
        """Yield the rows with start <= key < stop, sorted."""
        found = sorted(key for key in self._rows if start <= key < stop)
        yield from [(key, self._rows[key]) for key in found]

    def write(
        self,
        puts: Sequence[Row],
        deletes: Sequence[bytes] = (),
        *,
        sync: bool = False,  # noqa: ARG002 - there is no disk
    ) -> None:
        """Carry out all puts and then all deletes."""
        self._rows.update(puts)
        for key in deletes:
            self._rows.pop(key, None)

    def sync(self) -> None:
        """Do nothing: there is no disk."""

    def close(self) -> None:
        """Do nothing: all rows are lost with the object."""
