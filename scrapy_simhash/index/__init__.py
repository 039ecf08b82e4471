"""Which content was seen before: an index of representatives, by Hamming distance.

`open_index` is the way in; a back end is imported when it is asked for.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexMismatch, PlanError, SchemeError, StorageError
from scrapy_simhash.index.base import Index, Match, NearDuplicate, Observation
from scrapy_simhash.index.manifest import Manifest, differences, environment
from scrapy_simhash.index.memory import MemoryStore
from scrapy_simhash.index.observing import ObservingIndex, SharedStore
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, preset

if TYPE_CHECKING:
    from scrapy_simhash.scheme import Scheme

__all__ = [
    "Index",
    "Match",
    "NearDuplicate",
    "Observation",
    "ObservingIndex",
    "TablePlan",
    "open_index",
    "reset_index",
]

logger = logging.getLogger(__name__)

# LevelDB opens a directory once: whoever else asks in this process shares the handle.
_shared_stores: dict[str, SharedStore] = {}
_lock = threading.Lock()


def open_index(
    url: str,
    scheme: Scheme | None = None,
    *,
    max_distance: int | None = None,
    plan: TablePlan | None = None,
    incremental: bool = False,
) -> ObservingIndex:
    """Open an index, or make it.

    :param url: ``leveldb:/path/to/directory`` or ``memory:``.
    :param scheme: of the fingerprints; that of the index where it exists, else the default.
    :param max_distance: k, inclusive; that which the index was made with, else the preset's.
    :param plan: the tables of a new index; chosen for the distance if absent.
    :param incremental: entries of earlier crawls count as seen; see `Index`.
    :raises IndexMismatch: the index was made with another scheme or plan.
    :raises PlanError: the tables find less than 95 % of the pairs at `max_distance`.
    :raises StorageError: it is locked, foreign, corrupt, or cannot be read or written.
    """
    if url == "memory:":
        made = _new_manifest(scheme, plan, max_distance, scans=True)
        shared = SharedStore(MemoryStore(), made, "memory")
        return _share(shared, max_distance, incremental=incremental)
    directory = _leveldb_directory(url)
    name = os.path.realpath(directory)
    with _lock:
        shared_or_none = _shared_stores.get(name)
        if shared_or_none is None:
            shared = _open_leveldb(directory, scheme, plan, max_distance)
        else:
            shared = shared_or_none
            _check_same(str(directory), shared.manifest, scheme, plan, max_distance)
        _shared_stores[name] = shared
        return _share(shared, max_distance, incremental=incremental)


def reset_index(url: str) -> bool:
    """Delete an index, and nothing that is not ours. True if there was one.

    :raises IndexForeign: the directory holds other things than an index.
    :raises IndexLocked: somebody has it open.
    """
    from scrapy_simhash.errors import IndexCorrupt, IndexLocked
    from scrapy_simhash.index import leveldb, manifest

    directory = _leveldb_directory(url)
    with _lock:
        if os.path.realpath(directory) in _shared_stores:
            raise IndexLocked(str(directory), "a crawl of this process has it open: not deleted")
        try:
            try:
                existed = Manifest.read(directory) is not None
            except (IndexCorrupt, IndexMismatch):
                existed = True
            if existed:
                leveldb.destroy(directory)
                (directory / manifest.FILE_NAME).unlink()
        except OSError as error:
            raise _unusable(directory, error) from error
    return existed


def _leveldb_directory(url: str) -> Path:
    backend, _, location = url.partition(":")
    if backend != "leveldb" or not location or "\0" in location:
        raise SchemeError(f"index URL {url!r}: leveldb:/path/to/directory or memory: is needed")
    return Path(location).absolute()


def _unusable(directory: Path, error: OSError) -> StorageError:
    return StorageError(
        str(directory),
        f"it cannot be made, read or written ({error}): check the path, its rights and the disk",
    )


def _new_manifest(
    scheme: Scheme | None,
    plan: TablePlan | None,
    max_distance: int | None,
    *,
    scans: bool = False,
) -> Manifest:
    default = preset(DEFAULT_PRESET)
    if scheme is None:
        scheme = default.scheme
    if max_distance is None:
        known = [p.max_distance for p in PRESETS.values() if p.scheme == scheme]
        if not known:
            raise SchemeError(f"max_distance is needed: no preset has the scheme {scheme.id}")
        max_distance = known[0]
    if plan is None:
        # A linear scan finds all there is, at distances that no tables could serve, too.
        plan = (
            TablePlan(scheme.bits, min(max_distance + 1, scheme.bits))
            if scans
            else TablePlan.for_distance(scheme.bits, max_distance)
        )
    elif plan.bits != scheme.bits:
        raise PlanError(f"a plan for {plan.bits} bits does not fit a scheme of {scheme.bits}")
    _check_distance(plan, max_distance)
    return Manifest(scheme, plan, max_distance, environment())


def _check_distance(plan: TablePlan, max_distance: int) -> None:
    if not 0 <= max_distance < plan.bits:
        raise PlanError(f"distance {max_distance} of {plan.bits} bits: from 0 to {plan.bits - 1}")
    recall = plan.expected_recall(max_distance)
    if recall < MIN_RECALL:
        raise PlanError(
            f"{plan} find {recall:.0%} of the pairs at distance {max_distance}, less than "
            f"{MIN_RECALL:.0%}: lower the distance, or start the index anew "
            "(SIMHASH_RESET = True), which chooses other tables"
        )


def _check_same(
    location: str,
    stored: Manifest,
    scheme: Scheme | None,
    plan: TablePlan | None,
    max_distance: int | None,
) -> None:
    for what, made_with, asked in (
        ("scheme", stored.scheme.id, scheme.id if scheme else None),
        ("tables", repr(stored.plan), repr(plan) if plan else None),
    ):
        if asked is not None and made_with != asked:
            raise IndexMismatch(
                location,
                f"it was made with the {what} {made_with}, not {asked}: take that one, choose "
                "another directory with SIMHASH_DIR, or start anew with SIMHASH_RESET = True; "
                "nothing was changed",
            )
    if max_distance is not None:
        _check_distance(stored.plan, max_distance)


def _open_leveldb(
    directory: Path, scheme: Scheme | None, plan: TablePlan | None, max_distance: int | None
) -> SharedStore:
    from scrapy_simhash.index.leveldb import LevelDBStore

    try:
        made = Manifest.read(directory)
        if made is None:
            made = _new_manifest(scheme, plan, max_distance)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                made.write(directory)
            except FileExistsError:  # another process was faster
                return _open_leveldb(directory, scheme, plan, max_distance)
        else:
            _check_same(str(directory), made, scheme, plan, max_distance)
            changed = differences(made.environment, environment())
            if changed:
                logger.warning(
                    "simhash: the index %s was made with other versions (%s): the same page may "
                    "get another fingerprint, and near-duplicates may be missed",
                    directory,
                    "; ".join(changed),
                )
        store = LevelDBStore(directory, made.plan)
    except OSError as error:
        raise _unusable(directory, error) from error
    return SharedStore(store, made, str(directory))


def _share(shared: SharedStore, max_distance: int | None, *, incremental: bool) -> ObservingIndex:
    shared.users += 1
    return ObservingIndex(
        shared,
        max_distance=shared.manifest.max_distance if max_distance is None else max_distance,
        incremental=incremental,
        on_close=_release,
    )


def _release(shared: SharedStore) -> None:
    with _lock:
        shared.users -= 1
        if shared.users:
            return
        for name in [name for name, known in _shared_stores.items() if known is shared]:
            del _shared_stores[name]
        shared.store.close()
