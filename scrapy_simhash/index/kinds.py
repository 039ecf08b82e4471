"""The kinds of database that an index can lie in, by name; imported when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.errors import SchemeError

if TYPE_CHECKING:
    from scrapy_simhash.index.database import DatabaseKind


def database_kind(name: str) -> DatabaseKind:
    """The kind of that name, ``leveldb`` or ``rocksdb``.

    :raises SchemeError: there is no such kind, or its package is not installed.
    """
    try:
        if name == "leveldb":
            from scrapy_simhash.index.leveldb import LEVELDB

            return LEVELDB
        if name == "rocksdb":
            from scrapy_simhash.index.rocksdb import ROCKSDB

            return ROCKSDB
    except ImportError as error:
        package, other = {
            "leveldb": ("plyvel", "rocksdb"),
            "rocksdb": ("rocksdict", "leveldb"),
        }[name]
        raise SchemeError(
            f"an index in {name} needs the package {package}, which cannot be imported ({error}): "
            f"install it, or take {other}"
        ) from error
    raise SchemeError(f"{name!r} is no kind of database: leveldb or rocksdb")


def default_kind_name() -> str:
    """``leveldb``, or ``rocksdb`` where plyvel is not installed (it has no wheel for each Python).

    Also what a plain install of this package brings: see its dependencies.
    """
    from importlib.util import find_spec

    return "leveldb" if find_spec("plyvel") is not None else "rocksdb"
