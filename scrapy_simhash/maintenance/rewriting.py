"""Create an index, or rewrite one in a directory: the old one stays until the new one is complete.

The new database is written next to the old one, which stays locked. The manifest names the current
database and is replaced last, atomically. An interruption may leave an unused database; the next
rewrite deletes it.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.files import replaced
from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import database_kind, opened_database, read_manifest
from scrapy_simhash.index.database import destroy_database
from scrapy_simhash.index.manifest import databases
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.store import RedisStore
    from scrapy_simhash.index.store import Store
    from scrapy_simhash.maintenance.sources import Location


@dataclass
class RewriteResult:
    """The numbers of entries and lines of the near-duplicate log, in the new index and removed."""

    entries: int = 0
    near_duplicates: int = 0
    removed_entries: int = 0
    removed_near_duplicates: int = 0


@contextmanager
def rewriting(directory: Path, **changes: Any) -> Iterator[tuple[Rows, Store]]:
    """Yield the old index, and a store with its notes and texts; see `replacing`.

    The store goes on with the sequence numbers of the old index.
    """
    with replacing(directory, **changes) as (manifest, database, store):
        source = Rows(database, manifest)
        store.skip_to(source.next_sequence)
        for name, row in source.notes():
            store.replace_note(name, None, row)
        store.texts.copy(source.texts)
        yield source, store


@contextmanager
def replacing(
    directory: Path,
    *,
    opened: Callable[[Path], AbstractContextManager[tuple[Manifest, Database]]] = opened_database,
    keep: Callable[[], bool] = lambda: False,
    **changes: Any,
) -> Iterator[tuple[Manifest, Database, Store]]:
    """Yield the manifest and the database of an index, and an empty store, which replaces the index
    at the end. After an error, the old index is unchanged.

    :param opened: opens the database, or a copy of it.
    :param keep: called at the end; if True, the old database is kept, named ``…-damaged``.
    :param changes: changed fields of the manifest, such as `scheme`.
    :raises SchemeError: the driver of the database is not installed.
    :raises StorageError: the index is missing, open elsewhere or damaged, or the disk fails.
    """
    manifest = read_manifest(directory)
    new = replace(manifest, generation=manifest.generation + 1, **changes)
    try:
        with opened(directory) as (manifest, database):
            _delete_leftovers(directory, manifest, database.path)
            with _new_store(directory, new, str(directory)) as store:
                yield manifest, database, store
            new.replace(directory)
        if keep():
            old = manifest.database_path(directory)
            old.rename(old.with_name(f"{old.name}-damaged"))
        with suppress(StorageError, OSError):  # the next rewrite deletes them
            _delete_leftovers(directory, new)
    except OSError as error:
        raise StorageError(str(directory), f"it cannot be rewritten ({error})") from error


@contextmanager
def making(where: Location, manifest: Manifest) -> Iterator[Store | RedisStore]:
    """Yield the empty store of a new index. After an error, there is no new index.

    A new directory gets its name at the end. An interruption leaves one named ``.simhash-…`` beside
    it. One that exists gets its manifest at the end. An interruption leaves a database in it.

    :param manifest: manifest of the new index.
    :raises StorageError: the directory is not empty, the name is taken, or the storage fails.
    """
    if isinstance(where, RedisAddress):
        with where.opened_store(manifest) as in_redis:
            try:
                yield in_redis
            except BaseException:
                in_redis.delete()
                raise
        return
    location = str(where)
    try:
        if where.exists() and any(where.iterdir()):
            raise StorageError(location, "it is not empty: choose a new directory")
        where.parent.mkdir(parents=True, exist_ok=True)
        # A directory that exists may be a mount, which no other can replace.
        with nullcontext(where) if where.exists() else replaced(where) as directory:
            directory.mkdir(mode=0o700, exist_ok=True)
            with _new_store(directory, manifest, location) as store:
                yield store
            manifest.write(directory)
    except OSError as error:
        raise StorageError(location, f"it cannot be created or written ({error})") from error


@contextmanager
def _new_store(directory: Path, manifest: Manifest, location: str) -> Iterator[Store]:
    """Yield an empty store; sync and close it at the end, or delete it after an error."""
    from scrapy_simhash.index.store import Store  # loads numpy

    path = manifest.database_path(directory)
    kind = database_kind(manifest.database)
    database = kind(location, path)
    try:
        store = Store(database, manifest)
        yield store
        database.sync()
        store.close()
    except BaseException:
        database.close()
        destroy_database(location, path)
        raise


def _delete_leftovers(directory: Path, manifest: Manifest, *used: Path) -> None:
    """Delete databases that the manifest does not name, and that are not in use."""
    for path in databases(directory):
        if path not in (manifest.database_path(directory), *used):
            destroy_database(str(directory), path)
