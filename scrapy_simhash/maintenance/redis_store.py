"""Write to an index in Redis through the methods of `Store`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy_simhash.index.base import Within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.redis import RedisAddress
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.index.redis.manifest import RedisManifest

_ENTRIES_AT_ONCE = 100


class RedisStore:
    """A store of an index in Redis, with the methods of `Store` that merge and import call.

    No crawl may use the index, because new entries wait in memory until `flush`.
    """

    def __init__(self, index: RedisIndex) -> None:
        self._index = index
        self._buffered: dict[str, Entry] = {}
        self.next_sequence = index.next_sequence

    def entry(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""
        return self._buffered.get(key) or self._index.entry(key)

    def within(self, fingerprint: int, max_distance: int) -> Within:
        """Return the stored entries within a distance, without buffered ones."""
        return Within(self._index.within(fingerprint, max_distance), [])

    def write(
        self, put: Entry, replaced: Entry | None, outdated: Iterable[Entry], next_sequence: int
    ) -> None:
        """Store an entry and remove others; see `Store.write`. A new entry may wait for `flush`.
        One that replaces others is stored soon after these are removed: a kill in between loses it.
        """
        removed = [*outdated] if replaced is None else [replaced, *outdated]
        for entry in removed:
            if self._buffered.pop(entry.key, None) is None:
                self._index.forget(entry.key)
        self._buffered[put.key] = put
        self.skip_to(next_sequence)
        if removed or len(self._buffered) >= _ENTRIES_AT_ONCE:
            self.flush()

    def log(self, near_duplicate: NearDuplicate, next_sequence: int) -> None:
        """Write a line of the near-duplicate log at once."""
        self._index.write_line(near_duplicate)
        self.skip_to(next_sequence)

    def near_duplicates(self, since_sequence: int) -> Iterator[NearDuplicate]:
        """Flush, and return the near-duplicate log from a sequence number on, oldest first."""
        self.flush()
        return self._index.lines(since_sequence)

    def skip_to(self, next_sequence: int) -> None:
        """Raise the next sequence number to at least this one; `flush` stores it."""
        self.next_sequence = max(self.next_sequence, next_sequence)

    def flush(self) -> None:
        """Write the buffered entries and the next sequence number."""
        self._index.load(self._buffered.values())
        self._index.skip_to(self.next_sequence)
        self._buffered.clear()

    def forget_history(self) -> None:
        """Delete the history of the index."""
        for name, _ in self._index.side_rows("history"):
            self._index.change_side_row("history", name, lambda _: None)  # deletes it

    def __len__(self) -> int:
        self.flush()
        return len(self._index)


@contextmanager
def making_in_redis(address: RedisAddress, manifest: RedisManifest) -> Iterator[RedisStore]:
    """Yield the store of a new index; delete the index after an error.

    :raises StorageError: the name is taken, or the server fails.
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
    """Yield a store that changes an index in place. Changes remain after an error.

    :raises IndexLocked: pages are pending, so a crawl uses the index.
    :raises StorageError: the index is missing or damaged, or the server fails.
    """
    with address.open() as index:
        index.require_no_crawl()
        store = RedisStore(index)
        try:
            yield store
        finally:
            # After an error, an entry may be removed whose successor is still buffered.
            store.flush()
