"""Open an index, in a directory or in Redis, and read all of its entries and log lines."""

from __future__ import annotations

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import IndexCorrupt, StorageError
from scrapy_simhash.index import open_index, records
from scrapy_simhash.index.offline import opened_database, read_manifest
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.rows import Rows
from scrapy_simhash.index.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from scrapy_simhash.index import Index
    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.store import RedisStore
    from scrapy_simhash.index.store import Store

Location = Path | RedisAddress
"""The directory of an index, or its address in Redis."""


@contextmanager
def opened_source(where: Location) -> Iterator[Source]:
    """Yield the content of an index. A directory is locked; in Redis, crawls may go on.

    :raises SchemeError: the driver is not installed, or the name in Redis is not valid.
    :raises StorageError: the index is missing, open elsewhere, damaged, or cannot be read.
    """
    if isinstance(where, RedisAddress):
        with where.opened_store() as store:
            yield store
        return
    with opened_database(where) as (manifest, database):
        yield DatabaseSource(database, manifest)


@contextmanager
def opened_store(where: Location) -> Iterator[Store | RedisStore]:
    """Yield the store of an index that no crawl uses, to change it; for errors see `opened_source`.

    A directory is locked. In Redis, callers that write see `RedisStore.require_no_crawl`.
    """
    if isinstance(where, RedisAddress):
        with where.opened_store() as store:
            yield store
        return
    from scrapy_simhash.index.store import Store  # loads numpy

    with (
        opened_database(where) as (manifest, database),
        closing(Store(database, manifest)) as embedded,
    ):
        yield embedded


def opened_index(where: Location, **options: Any) -> Index:
    """Open an existing index.

    :param options: options of `open_index` or `open_redis_index`; see there for other errors.
    :raises IndexMissing: there is no index.
    """
    if isinstance(where, RedisAddress):
        return where.open(**options)
    return open_index(where, create=False, **options)


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


class DatabaseSource(Rows):
    """The content of an open database.

    :param damaged: accept a damaged state row.
    :raises IndexCorrupt: the state row is missing or damaged.
    """

    database: Database
    keep = False
    """`rewriting` keeps the old database under another name."""

    def __init__(self, database: Database, manifest: Manifest, *, damaged: bool = False) -> None:
        self.manifest = manifest
        self.texts = Texts(self)
        try:
            super().__init__(database, manifest.plan.bits // 8)
        except IndexCorrupt:
            if not damaged:
                raise

    def size_bytes(self) -> int:
        """Return the size of the database on disk."""
        files = self.database.path.rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file())

    def entries_by_age(self) -> Iterator[Entry]:
        """Yield all entries, oldest first."""
        import numpy as np

        ages = np.fromiter(((entry.number, entry.ordinal) for entry in self.entries()), "u8, u8")
        for ordinal in ages["f1"][ages["f0"].argsort(kind="stable")]:
            row = records.entry_row_key(int(ordinal))
            yield self._decoded(row, self.database.get(row) or b"", self._entry)


Source: TypeAlias = "DatabaseSource | RedisStore"
"""The content of an index. Methods raise StorageError; IndexCorrupt for a row that is damaged."""
