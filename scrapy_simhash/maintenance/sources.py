"""Open an index, in a directory or in Redis."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import IndexLocked, StorageError
from scrapy_simhash.index import open_index, read_manifest
from scrapy_simhash.index.redis import RedisAddress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.index import Index
    from scrapy_simhash.index.index import AnyStore
    from scrapy_simhash.index.manifest import Manifest

Location = Path | RedisAddress
"""The directory of an index, or its address in Redis."""


def opened_index(where: Location, **options: Any) -> Index:
    """Open an existing index.

    :param options: options of `open_index` or `open_redis_index`; see there for other errors.
    :raises IndexMissing: there is no index.
    """
    if isinstance(where, RedisAddress):
        return where.open(**options)
    return open_index(where, create=False, **options)


@contextmanager
def opened_store(where: Location) -> Iterator[AnyStore]:
    """Yield the rows of an index that no crawl of this process uses. A directory is locked; in
    Redis, crawls may go on: callers that write see `RedisStore.require_no_crawl`.

    :raises StorageError: the index is missing, open elsewhere (IndexLocked) or damaged, or cannot
        be read; for other errors see `open_index`.
    """
    with opened_index(where) as index:
        if index.store.users > 1:
            raise IndexLocked(index.location, "this process has it open: close it first")
        yield index.store


def manifest_of(where: Location) -> Manifest:
    """Return the manifest of an index.

    :raises StorageError: the index is missing or cannot be read.
    """
    if isinstance(where, RedisAddress):
        with where.opened_store() as store:
            return store.manifest
    return read_manifest(where)


def require_directory(where: Location, operation: str) -> Path:
    """Return the directory of an index.

    :raises StorageError: the index is in Redis; the message names the operation.
    """
    if isinstance(where, RedisAddress):
        raise StorageError(
            str(where), f"{operation} works on an index in a directory, not on one in Redis"
        )
    return where
