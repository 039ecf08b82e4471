"""Look up kinds of database by name. Drivers are imported only when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.errors import SchemeError

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_simhash.index.database import Database


def database_kind(name: str) -> type[Database]:
    """Return the class of a kind of database.

    :param name: ``leveldb`` or ``rocksdb``.
    :raises SchemeError: the name is unknown, or the driver cannot be imported.
    """
    try:
        if name == "leveldb":
            from scrapy_simhash.index.leveldb import LevelDB

            return LevelDB
        if name == "rocksdb":
            from scrapy_simhash.index.rocksdb import RocksDB

            return RocksDB
    except ImportError as error:
        package, alternative = (
            ("plyvel", "rocksdb") if name == "leveldb" else ("rocksdict", "leveldb")
        )
        raise SchemeError(
            f"an index in {name} needs the package {package}, which cannot be imported ({error}): "
            f"install it, or use {alternative}"
        ) from error
    raise SchemeError(f"{name!r} is not a kind of database: use leveldb or rocksdb")


def destroy_database(location: str, path: Path) -> None:
    """Delete a closed database, of an index or of texts. For errors, see `Database.destroy`."""
    database_kind(path.name.partition("-")[0]).destroy(location, path)


def default_kind_name() -> str:
    """Return ``leveldb``, or ``rocksdb`` if plyvel is not installed."""
    from importlib.util import find_spec

    return "leveldb" if find_spec("plyvel") is not None else "rocksdb"
