"""Write to an index in Redis through the methods of `TableStore`."""

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
    """A store of an index in Redis that no crawl uses. It writes entries without comparing them.

    Has the methods of `TableStore` that `merge` and `import` call. Changes of entries are buffered
    until `flush`.
    """

    def __init__(self, index: RedisIndex) -> None:
        self._index = index
        self._new: dict[str, Entry] = {}
        # Keys of stored entries that are replaced or removed.
        self._gone: set[str] = set()
        self.next_sequence = index.next_sequence

    def entry(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""
        if key in self._new or key in self._gone:
            return self._new.get(key)
        return self._index.entry(key)

    def within(self, fingerprint: int, max_distance: int) -> list[tuple[int, Entry]]:
        """Return the entries within a distance; buffered ones are missing."""
        found = self._index.within(fingerprint, max_distance)
        return [(distance, entry) for distance, entry in found if entry.key not in self._gone]

    def write(
        self, put: Entry, replaced: Entry | None, outdated: Iterable[Entry], next_sequence: int
    ) -> None:
        """Store an entry; remove the one that it replaces, and those that yield to it."""
        for entry in [*outdated] if replaced is None else [replaced, *outdated]:
            if self._new.pop(entry.key, None) is None:
                self._gone.add(entry.key)
        self._new[put.key] = put
        self.skip_to(next_sequence)
        if len(self._new) >= _WRITTEN_AT_ONCE:
            self.flush()

    def log(self, near_duplicate: NearDuplicate, next_sequence: int) -> None:
        """Write a line of the near-duplicate log."""
        self._index.write_line(near_duplicate)
        self.skip_to(next_sequence)

    def near_duplicates(self, since_sequence: int) -> Iterator[NearDuplicate]:
        """Return the near-duplicate log from a sequence number on."""
        self.flush()
        return self._index.lines(since_sequence)

    def skip_to(self, next_sequence: int) -> None:
        """Make the next sequence number at least this."""
        self.next_sequence = max(self.next_sequence, next_sequence)

    def flush(self) -> None:
        """Write the buffered changes."""
        for key in self._gone:
            self._index.forget(key)
        self._gone.clear()
        self._index.load(self._new.values())
        self._index.skip_to(self.next_sequence)
        self._new.clear()

    def forget_history(self) -> None:
        """Delete the history of the index."""
        for name, _ in self._index.side_rows("history"):
            self._index.change_side_row("history", name, lambda _: None)  # deletes it

    def __len__(self) -> int:
        self.flush()
        return len(self._index)


@contextmanager
def making_in_redis(address: RedisAddress, manifest: RedisManifest) -> Iterator[RedisStore]:
    """Yield the store of a new index; delete the index on error.

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
    """Yield a store that changes an index in place.

    :raises IndexLocked: crawls use it.
    """
    with address.open() as index:
        index.require_no_crawl()
        store = RedisStore(index)
        try:
            yield store
        finally:  # after an error, too: what was replaced is removed already in `entry`
            store.flush()
