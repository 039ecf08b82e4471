"""Open the database of an index in a directory. Drivers are imported only when needed."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexCorrupt, IndexLocked, IndexMissing, SchemeError
from scrapy_simhash.index.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_simhash.index.database import Database

_PACKAGES = {"leveldb": "plyvel", "rocksdb": "rocksdict"}


def database_kind(name: str) -> type[Database]:
    """Return the class of a kind of database.

    :param name: ``leveldb`` or ``rocksdb``.
    :raises SchemeError: the name is unknown, or the driver cannot be imported.
    """
    if name not in _PACKAGES:
        raise SchemeError(f"{name!r} is not a kind of database: use leveldb or rocksdb")
    try:
        if name == "leveldb":
            from scrapy_simhash.index.leveldb import LevelDB

            return LevelDB
        from scrapy_simhash.index.rocksdb import RocksDB
    except ImportError as error:
        [other] = _PACKAGES.keys() - {name}
        raise SchemeError(
            f"an index in {name} needs the package {_PACKAGES[name]}, which cannot be imported "
            f"({error}): install it, or use {other}"
        ) from error
    return RocksDB


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
