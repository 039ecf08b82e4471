"""Write to an index in Redis as to the tables of an index in a directory."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.redis import RedisAddress
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.index.redis.manifest import RedisManifest

_WRITTEN_AT_ONCE = 100


class RedisStore:
    """Writes entries and log lines as they are. No crawl may use the index meanwhile.

    Methods are those of `TableStore`. New entries are written together, the last by `flush`.
    """

    def __init__(self, index: RedisIndex) -> None:
        self._index = index
        self._new: dict[str, Entry] = {}
        self.next_sequence = index.next_sequence

    def entry(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""
        return self._new.get(key) or self._index.entry(key)

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """Return the entries within a distance; those that were just written may be missing."""
        return self._index.within(fingerprint, max_distance)

    def write(
        self, put: Entry, replaced: Entry | None, yielding: Iterable[Entry], next_sequence: int
    ) -> None:
        """Put an entry in the place of another, and remove others."""
        for entry in (*filter(None, (replaced,)), *yielding):
            if self._new.pop(entry.key, None) is None:
                self._index.forget(entry.key)
        self._new[put.key] = put
        if len(self._new) >= _WRITTEN_AT_ONCE:
            self.flush()
        self.skip_to(next_sequence)

    def log(self, near_duplicate: NearDuplicate, next_sequence: int) -> None:
        """Write a line of the near-duplicate log."""
        self._index.write_line(near_duplicate)
        self.skip_to(next_sequence)

    def near_duplicates(self, since_sequence: int) -> Iterator[NearDuplicate]:
        """Yield the near-duplicate log from a number on."""
        self.flush()
        return self._index.lines(since_sequence)

    def skip_to(self, next_sequence: int) -> None:
        """Give no lower number to an observation any more."""
        self.next_sequence = max(self.next_sequence, next_sequence)

    def flush(self) -> None:
        """Write what is not written yet."""
        self._index.load(self._new.values())
        self._index.skip_to(self.next_sequence)
        self._new.clear()

    def forget_history(self) -> None:
        """Delete the history of the index."""
        for name, _ in self._index.side_rows("history"):
            self._index.change_side_row("history", name, lambda _: None)

    def __len__(self) -> int:
        self.flush()
        return len(self._index)


@contextmanager
def making_in_redis(address: RedisAddress, manifest: RedisManifest) -> Iterator[RedisStore]:
    """Yield the store of a new index, which is deleted again after an error.

    :raises StorageError: there is an index of that name, or the server fails.
    """
    with address.make(manifest) as index:
        store = RedisStore(index)
        try:
            yield store
            store.flush()
        except BaseException:
            index.delete()
            raise


@contextmanager
def changing_in_redis(address: RedisAddress) -> Iterator[RedisStore]:
    """Yield the store of an index, which is changed in place.

    :raises IndexLocked: crawls use it.
    """
    with address.open() as index:
        index.require_no_crawl()
        store = RedisStore(index)
        yield store
        store.flush()
