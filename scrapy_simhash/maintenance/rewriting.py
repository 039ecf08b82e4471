"""Rewrite an index in a directory: the old one stays until the new one is complete.

The new database is written next to the old one, which stays locked. The manifest names the current
database and is replaced last, atomically. An interruption may leave an unused database; the next
rewrite deletes it.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import database_kind, opened_database, read_manifest
from scrapy_simhash.index.database import destroy_database
from scrapy_simhash.index.manifest import databases
from scrapy_simhash.index.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.store import Store


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
            with new_store(directory, new, str(directory)) as store:
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
def new_store(directory: Path, manifest: Manifest, location: str) -> Iterator[Store]:
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
