"""Open, create and delete indexes on disk and in memory. Start with `open_index`.

`Index` says what an index is, `scrapy_simhash.index.redis` opens one in Redis.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexLocked,
    IndexMismatch,
    IndexMissing,
    SchemeError,
)
from scrapy_simhash.index.base import (
    OPENING,
    Match,
    NearDuplicate,
    Observation,
    PageToObserve,
    SyncPolicy,
)
from scrapy_simhash.index.database import MemoryDatabase, destroy_database, locking, unusable
from scrapy_simhash.index.index import Index, rules_of
from scrapy_simhash.index.manifest import (
    DATABASES,
    FILE_NAME,
    IndexSpec,
    Manifest,
    databases,
)
from scrapy_simhash.index.plan import DEFAULT_EXPECTED_PAGES, TablePlan, choose_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.index.database import Database
    from scrapy_simhash.index.store import Store
    from scrapy_simhash.scheme import Scheme

__all__ = [
    "Index",
    "IndexSpec",
    "Match",
    "NearDuplicate",
    "Observation",
    "PageToObserve",
    "SyncPolicy",
    "TablePlan",
    "choose_plan",
    "database_kind",
    "open_index",
    "opened_database",
    "read_manifest",
    "reset_index",
    "scheme_name",
    "set_aside",
]

logger = logging.getLogger(__name__)

# The beginning of a URL. A directory such as ``a:b`` can be given as ``./a:b``.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MAX_NAME = 100
_DRIVERS = {"leveldb": ("plyvel", "LevelDB"), "rocksdb": ("rocksdict", "RocksDB")}
# Stores by directory; those without users are closed. A database can be opened only once, so its
# users in a process share a store.
_open_stores: WeakValueDictionary[str, Store] = WeakValueDictionary()


def open_index(
    location: str | os.PathLike[str],
    scheme: Scheme | None = None,
    *,
    max_distance: int | None = None,
    plan: TablePlan | None = None,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
    incremental: bool = False,
    sync: SyncPolicy = "everysec",
    crawl_start: int | None = None,
    confirmation: Confirmation | None = None,
    create: bool = True,
) -> Index:
    """Open an index, or create it. All users of a directory in one process share a store.

    :param location: a directory; ``leveldb:/path/to/directory`` or ``rocksdb:/path/to/directory``,
        which also names the kind of database; or ``memory:``.
    :param scheme: scheme of the fingerprints; defaults to that of an existing index, or of the
        default preset.
    :param max_distance: k, inclusive; defaults to that of an existing index, or of the preset with
        this scheme.
    :param plan: defaults to that of an existing index, or to the result of `choose_plan`. A warning
        is logged if a plan for a new index finds less than 95 % of the pairs at `max_distance`.
    :param expected_pages: number of pages for which the tables of a new index are chosen.
    :param incremental: entries of earlier crawls count as seen; see `Index`.
    :param sync: when confirmed pages are synced to disk, see `SyncPolicy`; the first user of the
        directory decides.
    :param crawl_start: first sequence number of a resumed crawl, so that the pages it saw before
        the pause count as seen; defaults to the next sequence number.
    :param confirmation: conditions for a page within k to count as a copy; defaults to those of an
        existing index, else of the preset with this scheme, else `UNCONFIRMED`.
    :param create: create the index if it is missing.
    :raises SchemeError: the URL is not valid, the driver of the database cannot be imported, or
        `max_distance` is missing and no preset has the scheme.
    :raises PlanError: `max_distance` or the plan does not fit the scheme; no tables for a new index
        find 95 % of the pairs at `max_distance`; or the tables of an existing index, which was
        made with a lower `max_distance`, find less.
    :raises IndexMismatch: the index has another scheme, plan, kind of database or format version.
    :raises StorageError: the index is missing (IndexMissing), locked, foreign or corrupt, or cannot
        be read or written.
    """
    kind, directory = _parsed(location)
    spec = IndexSpec(kind, scheme, max_distance, plan, expected_pages, confirmation)
    with OPENING:
        if kind == "memory":
            from scrapy_simhash.index.store import Store  # loads numpy

            store = Store(MemoryDatabase(), spec.to_manifest())
        else:
            path = os.path.realpath(directory)
            if _is_open(directory):
                store = _open_stores[path]
                spec.check_existing(str(directory), store.manifest)
            else:
                store = _open_stores[path] = _open_store(directory, spec, sync, create=create)
        try:
            rules = rules_of(store, max_distance, confirmation, incremental, crawl_start)
            return Index(store, rules)
        except BaseException:
            if store.users == 0:  # Else it would stay open while something refers to the error.
                store.close()
            raise


def reset_index(location: str | os.PathLike[str]) -> bool:
    """Delete an index, damaged or not. Return False if there was none, else True.

    :raises SchemeError: the URL names no directory, or a driver cannot be imported.
    :raises IndexForeign: the directory, or the folder of a database, holds foreign files.
    :raises StorageError: the index is open (IndexLocked), or cannot be read or deleted.
    """
    kind, directory = _parsed(location)
    if kind == "memory":
        raise SchemeError("an index in memory cannot be reset: close it, and open a new one")
    with OPENING:
        if _is_open(directory):
            raise IndexLocked(str(directory), "this process has it open, so it was not deleted")
        try:
            with suppress(IndexCorrupt, IndexMismatch):  # Such an index is deleted, too.
                if Manifest.read(directory) is None:
                    return False
            for path in (*databases(directory), *directory.glob("*-damaged")):
                destroy_database(str(directory), path)
            (directory / FILE_NAME).unlink()
        except OSError as error:
            raise unusable(str(directory), str(error)) from error
    return True


def set_aside(directory: Path, folder: Path) -> Path:
    """Move an index, damaged or not, into a folder, under the name of its scheme. Return its path.

    :param folder: on the same file system; it need not exist.
    :raises IndexLocked: the index is open in this process or another.
    :raises StorageError: it cannot be moved, or the directory holds other files.
    """
    location = str(directory)
    try:
        name = scheme_name(read_manifest(directory).scheme.id)
    except (IndexMismatch, IndexCorrupt) as error:
        name = "damaged" if isinstance(error, IndexCorrupt) else "older-format"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    target = next(folder / name for name in names if not (folder / name).exists())
    with OPENING:
        if _is_open(directory):
            raise IndexLocked(location, "this process has it open, so it was not moved")
        try:
            with ExitStack() as stack:
                for path in databases(directory):
                    stack.enter_context(locking(location, path))
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                directory.rename(target)
        except OSError as error:
            raise unusable(location, str(error)) from error
    return target


def scheme_name(scheme_id: str) -> str:
    """Return a name for files and keys in which schemes with different ids differ."""
    name = re.sub(r"[^\w+.-]+", "-", scheme_id)
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[:_MAX_NAME]}-{blake2b(scheme_id.encode(), digest_size=4).hexdigest()}"


def _is_open(directory: Path) -> bool:
    """Return True if this process has the index in a directory open."""
    store = _open_stores.get(os.path.realpath(directory))
    return store is not None and store.users > 0


def _parsed(location: str | os.PathLike[str]) -> tuple[str | None, Path]:
    """Return (kind of database, directory) of a URL; the kind is None for a directory."""
    text = os.fspath(location)
    kind: str | None
    kind, _, path = text.partition(":")
    if not isinstance(location, str) or (text and not _SCHEME.match(text)):
        kind, path = None, text
    elif text == "memory:":
        return kind, Path()
    if kind not in (None, *DATABASES) or not path or "\0" in path:
        raise SchemeError(
            f"index URL {text!r} is not valid: use a directory, leveldb:/path/to/directory, "
            "rocksdb:/path/to/directory or memory:"
        )
    return kind, Path(path).absolute()


def _open_store(directory: Path, spec: IndexSpec, sync: SyncPolicy, *, create: bool) -> Store:
    from scrapy_simhash.index.store import Store

    if create and Manifest.read(directory) is None:
        new = spec.to_manifest()
        database_kind(new.database)  # raises SchemeError before anything is written
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):  # Another process has just created the index.
                new.write(directory)
        except OSError as error:
            raise unusable(str(directory), str(error)) from error
    manifest = read_manifest(directory)
    spec.check_existing(str(directory), manifest)
    database = open_database(directory, manifest)
    try:
        return Store(database, manifest, sync=sync)
    except BaseException:
        database.close()
        raise


def database_kind(name: str) -> type[Database]:
    """Return the class of a kind of database.

    :param name: ``leveldb`` or ``rocksdb``.
    :raises SchemeError: the name is unknown, or the driver cannot be imported.
    """
    if name not in _DRIVERS:
        raise SchemeError(f"{name!r} is not a kind of database: use leveldb or rocksdb")
    package, class_name = _DRIVERS[name]
    try:
        kind: type[Database] = resolve_name(f"scrapy_simhash.index.{name}:{class_name}")
    except ImportError as error:
        [other] = _DRIVERS.keys() - {name}
        raise SchemeError(
            f"an index in {name} needs the package {package}, which cannot be imported "
            f"({error}): install it, or use {other}"
        ) from error
    return kind


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of an index.

    :raises StorageError: there is no index (IndexMissing), or its manifest is not accepted.
    """
    manifest = Manifest.read(directory)
    if manifest is None:
        raise IndexMissing(str(directory), "there is no index: give the directory that holds one")
    return manifest


def open_database(directory: Path, manifest: Manifest) -> Database:
    """Return the open database of an index.

    :param manifest: the manifest of the index.
    :raises SchemeError: the driver of the database cannot be imported.
    :raises IndexCorrupt: the database is missing.
    :raises StorageError: the database is damaged, open elsewhere, or cannot be read.
    """
    location, path = str(directory), manifest.database_path(directory)
    kind = database_kind(manifest.database)
    # In generation 0, an interrupted creation may have left a manifest without a database.
    if manifest.generation and not path.is_dir():
        raise IndexCorrupt(
            location,
            f"{path} is missing",
            "restore it with its index from a backup; nothing was changed",
        )
    database = kind(location, path)
    try:
        if read_manifest(directory) != manifest:
            raise IndexLocked(location, "another process has just rewritten it: try again")
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def opened_database(directory: Path) -> Iterator[tuple[Manifest, Database]]:
    """Yield the manifest and the open database of an index; close the database at the end. For
    errors see `open_database` and `read_manifest`.
    """
    manifest = read_manifest(directory)
    with closing(open_database(directory, manifest)) as database:
        yield manifest, database
