"""Remove entries from an index: expired ones, or those of given pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.index import index_url, reset_index
from scrapy_simhash.index.offline import opened_database, require_whole
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.tables import TableStore
from scrapy_simhash.index.texts import opened_texts
from scrapy_simhash.maintenance.rewriting import RewriteResult, copy_all, rewriting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy_simhash.maintenance.sources import Location


def expire(
    where: Location,
    before_s: int,
    *,
    log: bool = False,
    on_progress: Callable[[], object] = lambda: None,
) -> RewriteResult:
    """Remove the entries that no crawl has seen since, and return the counts.

    In Redis, records of pages that are gone are removed, too, and crawls may go on.

    :param before_s: Unix time; a page that was last seen at that second stays.
    :param log: remove older lines of the near-duplicate log, too.
    :param on_progress: called for each entry.
    :raises StorageError: the index is missing, open elsewhere or damaged, or the disk fails.
    """
    if isinstance(where, RedisAddress):
        kept = RewriteResult()
        with where.open() as index:
            kept.removed_entries = index.expire(before_s, on_progress)
            if log:
                kept.removed_near_duplicates = index.expire_log(before_s)
            index.compact()
            kept.entries = len(index)
            kept.near_duplicates = sum(1 for _ in index.lines())
        return kept
    directory = where
    with rewriting(directory) as (source, store):
        kept = copy_all(
            source,
            store,
            before_s=before_s,
            log_before_s=before_s if log else 0,
            on_progress=on_progress,
        )
        keys = {entry.key for entry in store.entries()}
        keys.update(line.key for line in store.near_duplicates(0))
        # Before anybody else can open the index.
        with opened_texts(directory, source.manifest.database) as texts:
            if texts is not None:
                texts.forget_all_but(keys)
    return kept


def delete(where: Location) -> None:
    """Delete an index, and nothing else.

    :raises IndexLocked: a crawl uses it.
    """
    if isinstance(where, RedisAddress):
        with where.open() as index:
            index.delete()
        return
    reset_index(index_url(where))


def remove(where: Location, keys: Iterable[str]) -> list[str]:
    """Remove the entries of pages, and return the keys that had one. In a directory, all or none.

    The near-duplicate log stays: it says what happened. In Redis, pages that a crawl handles stay,
    too.
    """
    if isinstance(where, RedisAddress):
        with where.open() as index:
            return [key for key in keys if index.forget(key)]
    directory = where
    require_whole(directory)
    with opened_database(directory) as (manifest, database):
        path = manifest.database_path(directory)
        store = TableStore(database, manifest.plan, manifest.check_bits, str(directory), path=path)
        found = {key: entry for key in keys if (entry := store.entry(key)) is not None}
        store.remove(list(found.values()), store.next_sequence)
        for key in found:
            store.write_side_row("validators", key, None)
        with opened_texts(directory, manifest.database) as texts:
            if texts is not None:
                for key in found:
                    texts.forget(key)
        store.close()
    return list(found)
