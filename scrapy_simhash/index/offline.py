"""Open the database of an index that no crawl uses, to read its rows without a `Store`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexCorrupt, IndexLocked, IndexMissing, StorageError
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.index.manifest import REPAIRING, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_simhash.index.database import Database


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of an index.

    :raises StorageError: there is no index (IndexMissing), or its manifest is not accepted.
    """
    try:
        manifest = Manifest.read(directory)
    except OSError as error:
        raise StorageError(str(directory), f"it cannot be read ({error})") from error
    if manifest is None:
        raise missing(directory)
    return manifest


def missing(directory: Path) -> IndexMissing:
    """Return the error for a directory without an index."""
    return IndexMissing(str(directory), "there is no index: give the directory that holds one")


def require_whole(directory: Path) -> None:
    """Raise IndexCorrupt if a repair of the index was not finished."""
    if (directory / REPAIRING).exists():
        raise corrupt(str(directory), "its repair was not finished")


def require_database(directory: Path, manifest: Manifest) -> None:
    """Raise IndexCorrupt if the database of a rewritten index is missing."""
    path = manifest.database_path(directory)
    # In generation 0, an interrupted creation may have left a manifest without a database.
    if manifest.generation and not path.is_dir():
        raise IndexCorrupt(
            str(directory),
            f"{path} is missing",
            "restore it with its index from a backup; nothing was changed",
        )


@contextmanager
def opened_database(directory: Path) -> Iterator[tuple[Manifest, Database]]:
    """Yield the manifest and the open database of an index; close the database at the end.

    :raises SchemeError: the driver of the database cannot be imported.
    :raises StorageError: the index is missing, damaged, of another format, open or unreadable.
    """
    manifest = read_manifest(directory)
    kind = database_kind(manifest.database)
    require_database(directory, manifest)
    database = kind(str(directory), manifest.database_path(directory))
    try:
        if read_manifest(directory) != manifest:
            raise IndexLocked(str(directory), "another process has just rewritten it: try again")
        yield manifest, database
    finally:
        database.close()
