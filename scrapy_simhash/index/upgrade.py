"""Copy an index of an older format to one of this release's."""

from __future__ import annotations

import fcntl
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexLocked,
    IndexMismatch,
    SimhashError,
    StorageError,
)
from scrapy_simhash.index import records
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.cost import check_bits
from scrapy_simhash.index.kinds import database_kind
from scrapy_simhash.index.manifest import FILE_NAME, FORMAT_VERSION, Manifest
from scrapy_simhash.index.plan import TablePlan
from scrapy_simhash.index.tables import TableStore
from scrapy_simhash.scheme import Scheme

if TYPE_CHECKING:
    from scrapy_simhash.index.base import NearDuplicate


def upgrade(directory: Path, new_directory: Path) -> int:
    """Copy an index of format version 1 to a new one of this version; returns its entries.

    The old one stays as it is.

    :raises IndexMismatch: it has another format version.
    :raises StorageError: there is no index, the new directory is not empty, or the disk fails.
    """
    made = _manifest_of_version_1(directory)
    location = str(new_directory)
    try:
        if new_directory.exists() and any(new_directory.iterdir()):
            raise StorageError(location, "it is not empty: choose a new directory")
        new_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="scrapy-simhash-") as temporary:
            # Opening a database changes its files.
            copy = Path(temporary) / "leveldb"
            _copy_unlocked(directory, copy)
            entries = _copy_entries(directory, copy, made, new_directory)
        # Last: until then there is no index in the new directory.
        made.write(new_directory)
    except OSError as error:
        raise StorageError(location, f"it cannot be made or written to ({error})") from error
    return entries


def _copy_unlocked(directory: Path, copy: Path) -> None:
    """Copy the database, if nobody has it open."""
    try:
        with (directory / "leveldb" / "LOCK").open("r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.copytree(directory / "leveldb", copy)
    except BlockingIOError as error:
        raise IndexLocked(str(directory), "another process has it open: wait for it") from error
    except OSError as error:
        raise IndexCorrupt(str(directory), f"its database cannot be read ({error})") from error


def _copy_entries(directory: Path, copy: Path, made: Manifest, new_directory: Path) -> int:
    kind, location = database_kind(made.database), str(new_directory)
    width_bytes = made.plan.bits // 8
    try:
        old = kind(str(directory), copy)
    except IndexCorrupt as error:
        raise _unreadable(directory, error.__cause__ or error) from error
    database = kind(location, new_directory / made.database)
    store = TableStore(database, made.plan, made.check_bits, location)
    try:
        state = old.get(b"S")
        if state is None and next(old.rows(b"", records.END), None) is not None:
            raise ValueError("its state row is missing")
        next_sequence = int.from_bytes(state[:8], "big") if state else 1
        for row, value in old.rows(b"E", b"F"):
            entry = _entry_of_version_1(int.from_bytes(row[1:], "big"), value, width_bytes)
            store.write(entry, None, (), next_sequence)
        for row, value in old.rows(b"N", b"O"):
            number = int.from_bytes(row[1:], "big")
            store.log(_near_duplicate_of_version_1(number, value, width_bytes), next_sequence)
        entries = len(store)
    except BaseException as error:
        store.close()
        kind.destroy(location, new_directory / made.database)
        if isinstance(error, (ValueError, IndexCorrupt)):
            raise _unreadable(directory, error.__cause__ or error) from error
        raise
    finally:
        old.close()
    store.close()
    return entries


def _unreadable(directory: Path, error: BaseException) -> IndexCorrupt:
    return IndexCorrupt(
        str(directory),
        f"it is damaged ({error}): restore a backup, or use the release that made it; nothing was "
        "changed",
    )


def _manifest_of_version_1(directory: Path) -> Manifest:
    try:
        content = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(str(directory), f"its {FILE_NAME} cannot be read ({error})") from error
    try:
        version = content["format_version"]
        if version != 1:
            raise IndexMismatch(
                str(directory),
                f"format version {version!r}: only version 1 can be upgraded to {FORMAT_VERSION}",
            )
        scheme = Scheme.from_dict(content["scheme"])
        plan = TablePlan(**content["plan"])
        distance = int(content["max_distance"])
        recorded = {**content["environment"]}
    except (KeyError, TypeError, ValueError, SimhashError) as error:
        if isinstance(error, StorageError):
            raise
        raise IndexCorrupt(str(directory), f"its {FILE_NAME} makes no sense ({error})") from error
    checks = check_bits(scheme.bits, distance)
    return Manifest(scheme, plan, distance, recorded, checks, "leveldb")


def _entry_of_version_1(number: int, value: bytes, width_bytes: int) -> Entry:
    """Rows were ``E`` number:8 → met:8 first:5 last:5 fingerprint:f/8 key."""
    key_at = 18 + width_bytes
    if len(value) <= key_at:
        raise ValueError(f"entry {number} has {len(value)} bytes, more than {key_at} are needed")
    met, first_seen_s, last_seen_s, fingerprint = (
        int.from_bytes(value[start:stop], "big")
        for start, stop in ((0, 8), (8, 13), (13, 18), (18, key_at))
    )
    key = records.decode_key(value[key_at:])
    return Entry(number, key, fingerprint, met, first_seen_s, last_seen_s)


def _near_duplicate_of_version_1(number: int, value: bytes, width_bytes: int) -> NearDuplicate:
    """Rows were ``N`` sequence:8 → seen:5 distance:2 fingerprint:f/8 length:4 two keys."""
    return records.decode_near_duplicate(number, value[1:], width_bytes)
