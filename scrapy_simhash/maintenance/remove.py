"""Remove entries from an index, expired ones or those of given pages, or delete the index."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simhash.index import index_url, reset_index
from scrapy_simhash.index.observing import ObservingIndex
from scrapy_simhash.index.offline import opened_database, require_whole
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.texts import opened_texts
from scrapy_simhash.maintenance.rewriting import RewriteResult
from scrapy_simhash.maintenance.sources import opened_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy_simhash.maintenance.sources import Location

_REMOVED_AT_ONCE = 10_000


def expire(
    where: Location,
    before_s: int,
    *,
    log: bool = False,
    on_progress: Callable[[], object] = lambda: None,
) -> RewriteResult:
    """Remove the entries of pages that were last seen before a time, and return the counts.

    Then texts of pages without an entry or log line are deleted. If this is interrupted, some
    entries are removed: repeat it. In Redis, crawls may go on, and the entries of pages that they
    are handling stay.

    :param before_s: Unix time; a page that was last seen at that second stays.
    :param log: also remove lines of the near-duplicate log from before that time.
    :param on_progress: called for each entry that is removed.
    :raises StorageError: the index is missing, open elsewhere or damaged, or the storage fails.
    """
    from scrapy_simhash.index.store import Store  # loads numpy

    result = RewriteResult()
    if isinstance(where, RedisAddress):
        with where.open() as index:
            result.removed_entries = index.expire(before_s, on_progress)
            if log:
                result.removed_near_duplicates = index.expire_log(before_s)
            index.compact()
            result.entries = len(index)
            result.near_duplicates = sum(1 for _ in index.lines())
        return result
    require_whole(where)
    with (
        opened_database(where) as (manifest, database),
        closing(Store(database, manifest.plan)) as store,
        opened_texts(where, manifest.database) as texts,
    ):
        expired = (entry for entry in store.entries() if entry.last_seen_s < before_s)
        while batch := list(islice(expired, _REMOVED_AT_ONCE)):
            store.remove(batch, store.next_sequence)
            result.removed_entries += len(batch)
            for _ in batch:
                on_progress()
        for line in store.near_duplicates():
            if log and line.seen_at_s < before_s:
                store.unlog(line.sequence)
                result.removed_near_duplicates += 1
            else:
                result.near_duplicates += 1
        result.entries = len(store)
        if texts is not None:
            used = {entry.key for entry in store.entries()}
            used.update(line.key for line in store.near_duplicates())
            texts.forget({*texts.keys()} - used)
    return result


def delete(where: Location) -> None:
    """Delete an index, and no other files or keys. An empty or missing directory is no error.

    :raises IndexLocked: a crawl uses the index.
    :raises StorageError: the directory holds other files, no index in Redis has the name, or the
        storage fails.
    """
    if isinstance(where, RedisAddress):
        with where.open() as index:
            index.delete()
        return
    reset_index(index_url(where))


def remove(where: Location, keys: Iterable[str]) -> list[str]:
    """Remove the entries of pages, and return the keys whose entries were removed.

    In a directory, all entries are removed in one write. In Redis, they are removed one by one, and
    those of pages that a crawl is handling stay. The near-duplicate log, which is a history, stays.

    :raises StorageError: the index is missing, open elsewhere or damaged, or the storage fails.
    """
    with opened_index(where) as index:
        if isinstance(index, ObservingIndex):
            return index.remove(keys)
        return [key for key in keys if index.forget(key)]
