"""Look up kinds of database by name. Drivers are imported only when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.errors import SchemeError

if TYPE_CHECKING:
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


def default_kind_name() -> str:
    """Return ``leveldb``, or ``rocksdb`` if plyvel is not installed."""
    from importlib.util import find_spec

    return "leveldb" if find_spec("plyvel") is not None else "rocksdb"
