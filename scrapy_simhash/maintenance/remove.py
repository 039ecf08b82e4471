"""Remove entries from an index, expired ones or those of given pages, or delete the index."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexMissing
from scrapy_simhash.index import reset_index
from scrapy_simhash.index.history import crawl_of
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.rows import Rows
from scrapy_simhash.maintenance.rewriting import RewriteResult
from scrapy_simhash.maintenance.sources import opened_index, opened_store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simhash.maintenance.sources import Location

_REMOVED_AT_ONCE = 10_000


def expire(where: Location, before_s: int) -> RewriteResult:
    """Remove the entries of pages that were last seen before a time, and older lines of the
    near-duplicate log and crawls of the history. Return the counts.

    Then texts of pages without an entry or log line are deleted. If this is interrupted, some
    entries are removed: repeat it. In Redis, crawls may go on, and the entries of pages that they
    are handling stay.

    :param before_s: Unix time; a page that was last seen at that second stays.
    :raises StorageError: the index is missing, open elsewhere or damaged, or the storage fails.
    """
    result = RewriteResult()
    with opened_store(where) as store:
        expired = (entry for entry in store.entries() if entry.last_seen_s < before_s)
        while batch := list(islice(expired, _REMOVED_AT_ONCE)):
            result.removed_entries += store.remove(batch)
        for line in store.near_duplicates():
            if line.seen_at_s < before_s:
                store.unlog([line.sequence])
                result.removed_near_duplicates += 1
            else:
                result.near_duplicates += 1
        for name, note in [*store.notes()]:
            crawl = crawl_of(name, note)
            if crawl is not None and crawl.ended_s < before_s:
                store.replace_note(name, note, None)
        result.entries = len(store)
        if not isinstance(store, Rows):
            store.compact()
        elif kept := {*store.texts.keys()}:
            kept.difference_update(entry.key for entry in store.entries())
            kept.difference_update(line.key for line in store.near_duplicates())
            store.texts.forget(kept)
    return result


def delete(where: Location) -> None:
    """Delete an index, and no other files or keys.

    :raises IndexLocked: a crawl uses the index.
    :raises IndexMissing: there is no index.
    :raises StorageError: the directory holds other files, or the storage fails.
    """
    if isinstance(where, RedisAddress):
        with where.opened_store() as store:
            store.delete()
        return
    if not reset_index(where):
        raise IndexMissing(str(where), "there is no index: give the directory that holds one")


def remove(where: Location, keys: Iterable[str]) -> list[str]:
    """Remove the entries of pages, and return the keys whose entries were removed.

    In a directory, all entries are removed in one write. In Redis, they are removed one by one, and
    those of pages that a crawl is handling stay. The near-duplicate log, which is a history, stays.

    :raises StorageError: the index is missing, open elsewhere or damaged, or the storage fails.
    """
    with opened_index(where) as index:
        return index.remove(keys)
