"""Open, create and delete indexes on disk and in memory. Start with `open_index`.

`scrapy_simhash.index.base` says what an index is, `scrapy_simhash.index.redis` opens one in Redis.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexLocked,
    IndexMismatch,
    PlanError,
    SchemeError,
    StorageError,
)
from scrapy_simhash.index.base import (
    Index,
    Match,
    NearDuplicate,
    Observation,
    PageToObserve,
    SyncPolicy,
)
from scrapy_simhash.index.cost import (
    DEFAULT_EXPECTED_PAGES,
    check_bits,
    choose_plan,
    require_distance,
)
from scrapy_simhash.index.database import unusable
from scrapy_simhash.index.kinds import database_kind, default_kind_name, destroy_database
from scrapy_simhash.index.manifest import (
    DATABASES,
    FILE_NAME,
    REPAIRING,
    Manifest,
    databases,
    differences,
    environment,
)
from scrapy_simhash.index.observing import ObservingIndex
from scrapy_simhash.index.offline import require_database, require_whole
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.index.shared import SharedStore
from scrapy_simhash.index.texts import texts_path
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, preset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.tables import TableStore
    from scrapy_simhash.scheme import Scheme

__all__ = [
    "Index",
    "Match",
    "NearDuplicate",
    "Observation",
    "ObservingIndex",
    "PageToObserve",
    "SyncPolicy",
    "TablePlan",
    "choose_plan",
    "index_url",
    "move_index",
    "new_manifest",
    "open_index",
    "reset_index",
]

logger = logging.getLogger(__name__)

_OTHERWISE = (
    "; or choose another directory with SIMHASH_DIR; or start over with SIMHASH_RESET = True"
)
# What to do if an existing index has another value than a caller asks for, by property.
_ADVICE = {
    "database": "`scrapy simhash index rebuild --database …` converts it to another kind"
    f"{_OTHERWISE}",
    "scheme": "`scrapy simhash index rebuild --preset …` recomputes its fingerprints if texts were "
    f"stored (SIMHASH_KEEP_TEXT){_OTHERWISE}",
    "tables": f"`scrapy simhash index rebuild --tables …` replaces its tables{_OTHERWISE}",
    "distance": "replace the tables with `scrapy simhash index rebuild --max-distance {distance}`, "
    "which keeps the entries; or lower the distance; or start over with SIMHASH_RESET = True",
}


@dataclass(frozen=True)
class IndexSpec:
    """The index that a caller asks for, by the parameters of `open_index`."""

    kind: str
    scheme: Scheme | None
    max_distance: int | None
    plan: TablePlan | None = None
    expected_pages: int = DEFAULT_EXPECTED_PAGES
    confirmation: Confirmation | None = None

    def to_manifest(self) -> Manifest:
        """Return the manifest of a new index. For errors, see `open_index`."""
        scheme, max_distance = known_scheme(self.scheme, self.max_distance)
        plan, scans = self.plan, self.kind == "memory"
        if plan is not None:
            check_plan(plan, scheme, max_distance, scans=scans)
        elif scans:  # A store in memory has no tables; any plan will do.
            plan = TablePlan(scheme.bits, min(max_distance + 1, scheme.bits))
        else:
            plan = choose_plan(scheme.bits, max_distance, self.expected_pages)
        confirmation = self.confirmation
        return Manifest(
            scheme,
            plan,
            max_distance,
            environment(),
            check_bits(scheme.bits, max_distance),
            self.kind,
            confirmation=preset_confirmation(scheme) if confirmation is None else confirmation,
        )

    def check_existing(
        self,
        location: str,
        manifest: Manifest | RedisManifest,
        advice: Mapping[str, str] = _ADVICE,
    ) -> None:
        """Raise IndexMismatch or PlanError if an existing index does not fit; see `open_index`.

        :param advice: by property, what to do if it does not fit.
        """
        for name, actual, requested in (
            ("database", manifest.database, self.kind),
            ("scheme", manifest.scheme.id, self.scheme.id if self.scheme else None),
            ("tables", repr(manifest.plan), repr(self.plan) if self.plan else None),
        ):
            if requested is not None and actual != requested:
                raise IndexMismatch(
                    location,
                    f"it was made with the {name} {actual}, not {requested}",
                    f"{advice[name]}; nothing was changed",
                    name,
                )
        distance, plan = self.max_distance, manifest.plan
        if distance is None:
            return
        require_distance(distance, plan.bits)
        # For the distance of the manifest, a low recall was accepted when the index was created.
        if distance > manifest.max_distance and (recall := plan.recall(distance)) < MIN_RECALL:
            raise PlanError(
                f"index {location}: its {plan} find {recall:.0%} of the pairs at distance "
                f"{distance}, less than {MIN_RECALL:.0%}: "
                + advice["distance"].format(distance=distance)
            )


# The beginning of a URL. A directory such as ``a:b`` can be given as ``./a:b``.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Open stores by directory. A database can be opened only once, so its users in a process share one.
_shared_stores: dict[str, SharedStore] = {}
_lock = threading.Lock()


def open_index(
    location: str | os.PathLike[str],
    scheme: Scheme | None = None,
    *,
    max_distance: int | None = None,
    plan: TablePlan | None = None,
    expected_pages: int = DEFAULT_EXPECTED_PAGES,
    incremental: bool = False,
    sync: SyncPolicy = "everysec",
    buffer_bytes: int | None = None,
    crawl_start: int | None = None,
    confirmation: Confirmation | None = None,
) -> ObservingIndex:
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
    :param buffer_bytes: limit for the records in memory, in each of two generations, see `Buckets`;
        defaults to 32 MiB; the first user decides. A higher limit speeds up an index with biased
        fingerprints or many tables, but slows down opening after a crash. No effect on probed
        tables.
    :param crawl_start: first sequence number of a resumed crawl, so that the pages it saw before
        the pause count as seen; defaults to the next sequence number.
    :param confirmation: conditions for a page within k to count as a copy; defaults to those of an
        existing index, else of the preset with this scheme, else `UNCONFIRMED`.
    :raises SchemeError: the URL is not valid, the driver of the database cannot be imported, or
        `max_distance` is missing and no preset has the scheme.
    :raises PlanError: `max_distance` or the plan does not fit the scheme; no tables for a new index
        find 95 % of the pairs at `max_distance`; or the tables of an existing index, which was
        made with a lower `max_distance`, find less.
    :raises IndexMismatch: the index has another scheme, plan, kind of database or format version.
    :raises StorageError: the index is locked, foreign, corrupt, or cannot be read or written.
    """
    url = _url_of(location)
    kind, directory = ("memory", Path()) if url == "memory:" else _parse_url(url)
    spec = IndexSpec(kind, scheme, max_distance, plan, expected_pages, confirmation)
    with _lock:
        if kind == "memory":
            from scrapy_simhash.index.memory import MemoryStore  # loads numpy

            manifest = spec.to_manifest()
            shared = SharedStore(MemoryStore(manifest.scheme.bits), manifest, "memory")
        else:
            path = os.path.realpath(directory)
            if path in _shared_stores:
                shared = _shared_stores[path]
                spec.check_existing(str(directory), shared.manifest)
            else:
                store, manifest = _open_tables(directory, spec, sync, buffer_bytes)
                shared = _shared_stores[path] = SharedStore(store, manifest, str(directory))
        rules = Rules(
            shared.manifest.max_distance if max_distance is None else max_distance,
            shared.manifest.confirmation if confirmation is None else confirmation,
        )
        shared.users += 1
        return ObservingIndex(
            shared, rules=rules, incremental=incremental, on_close=_release, crawl_start=crawl_start
        )


def new_manifest(
    scheme: Scheme,
    max_distance: int,
    expected_pages: int,
    kind: str | None = None,
    *,
    confirmation: Confirmation | None = None,
) -> Manifest:
    """Return the manifest of a new index. For other parameters and errors, see `open_index`.

    :param kind: kind of database; defaults to LevelDB, or to RocksDB if plyvel is not installed.
    """
    kind = default_kind_name() if kind is None else kind
    return IndexSpec(kind, scheme, max_distance, None, expected_pages, confirmation).to_manifest()


def known_scheme(scheme: Scheme | None, max_distance: int | None) -> tuple[Scheme, int]:
    """Return the scheme and k of a new index. Instead of None, they are the scheme of the default
    preset, and the k of the preset with the scheme.

    :raises SchemeError: `max_distance` is None, and no preset has the scheme.
    :raises PlanError: `max_distance` does not fit the scheme.
    """
    if scheme is None:
        scheme = preset(DEFAULT_PRESET).scheme
    if max_distance is None:
        max_distance = next((p.max_distance for p in PRESETS.values() if p.scheme == scheme), None)
        if max_distance is None:
            raise SchemeError(f"no preset has the scheme {scheme.id}: give its max_distance")
    require_distance(max_distance, scheme.bits)
    return scheme, max_distance


def check_plan(plan: TablePlan, scheme: Scheme, max_distance: int, *, scans: bool = False) -> None:
    """Raise PlanError if a plan is for another width; log a warning if its recall is below 95 %.

    :param scans: the store compares all entries, so the recall of the plan has no effect.
    """
    if plan.bits != scheme.bits:
        raise PlanError(f"a plan for {plan.bits} bits does not fit a scheme of {scheme.bits}")
    recall = plan.recall(max_distance)
    if recall < MIN_RECALL and not scans:
        logger.warning(
            "simhash: low recall: %s find %.0f %% of the pairs at distance %d",
            plan,
            100 * recall,
            max_distance,
        )


def preset_confirmation(scheme: Scheme) -> Confirmation:
    """Return the confirmation of the preset with this scheme, or `UNCONFIRMED` if there is none.
    The extractor and the selectors of the schemes may differ.
    """
    for known in PRESETS.values():
        extractor = known.scheme.extractor
        if known.scheme == replace(scheme, extractor=extractor, select=(), remove=()):
            return known.confirmation
    return UNCONFIRMED


def reset_index(location: str | os.PathLike[str]) -> bool:
    """Delete an index, damaged or not, and its texts. Return False if there was none, else True.

    :raises SchemeError: the URL names no directory, or a driver cannot be imported.
    :raises IndexForeign: the directory, or the folder of a database, holds foreign files.
    :raises StorageError: the index is open (IndexLocked), or cannot be read or deleted.
    """
    url = _url_of(location)
    if url == "memory:":
        raise SchemeError("an index in memory cannot be reset: close it, and open a new one")
    _, directory = _parse_url(url)
    with _lock:
        if os.path.realpath(directory) in _shared_stores:
            raise IndexLocked(str(directory), "this process has it open, so it was not deleted")
        try:
            with suppress(IndexCorrupt, IndexMismatch):  # Such an index is deleted, too.
                if Manifest.read(directory) is None:
                    return False
            texts = (texts_path(directory, kind) for kind in DATABASES)
            kept = directory.glob("*-damaged")  # old databases of repairs
            for path in (*databases(directory), *kept, *filter(Path.is_dir, texts)):
                destroy_database(str(directory), path)
            (directory / REPAIRING).unlink(missing_ok=True)
            (directory / FILE_NAME).unlink()
        except OSError as error:
            raise unusable(str(directory), str(error)) from error
    return True


def move_index(directory: Path, target: Path) -> None:
    """Move the directory of an index, damaged or not.

    :param target: a path on the same file system that does not exist.
    :raises IndexLocked: the index is open in this process or another.
    :raises StorageError: it cannot be moved.
    """
    location = str(directory)
    with _lock:
        if os.path.realpath(directory) in _shared_stores:
            raise IndexLocked(location, "this process has it open, so it was not moved")
        for path in databases(directory):
            try:  # to find out whether another process has it open
                database_kind(path.name.partition("-")[0])(location, path).close()
            except IndexLocked:  # noqa: PERF203 - one database
                raise
            except (SchemeError, StorageError):
                continue
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.rename(target)
        except OSError as error:
            raise unusable(location, str(error)) from error


def index_url(directory: Path, kind: str | None = None) -> str:
    """Return the URL of the index in a directory, which need not exist.

    :param kind: kind of database; defaults to that of the index. If there is no index, or its
        manifest cannot be read: LevelDB, or RocksDB if plyvel is not installed.
    """
    if kind is None:
        try:
            manifest = Manifest.read(directory)
        except (StorageError, OSError):
            manifest = None  # `open_index` raises the error.
        kind = default_kind_name() if manifest is None else manifest.database
    return f"{kind}:{directory}"


def _url_of(location: str | os.PathLike[str]) -> str:
    """Return the URL of an index from a URL or a directory, which need not exist."""
    path = os.fspath(location)
    if isinstance(location, str) and (not path or _SCHEME.match(path)):
        return path
    return index_url(Path(path))


def _parse_url(url: str) -> tuple[str, Path]:
    kind, _, location = url.partition(":")
    if kind not in DATABASES or not location or "\0" in location:
        raise SchemeError(
            f"index URL {url!r} is not valid: use a directory, leveldb:/path/to/directory, "
            "rocksdb:/path/to/directory or memory:"
        )
    return kind, Path(location).absolute()


def _open_tables(
    directory: Path, spec: IndexSpec, sync: SyncPolicy, buffer_bytes: int | None = None
) -> tuple[TableStore, Manifest]:
    from scrapy_simhash.index.tables import TableStore

    kind = database_kind(spec.kind)
    location = str(directory)
    try:
        manifest = Manifest.read(directory)
        if manifest is None:
            manifest = spec.to_manifest()
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                manifest.write(directory)
            except FileExistsError:  # Another process has just created the index.
                return _open_tables(directory, spec, sync, buffer_bytes)
        else:
            spec.check_existing(location, manifest)
            require_whole(directory)
            require_database(directory, manifest)
            changed = differences(manifest.environment, environment())
            if changed:
                logger.warning(
                    "simhash: the index %s was made with other versions (%s): the same page may "
                    "get another fingerprint now, and near-duplicates may be missed",
                    directory,
                    "; ".join(changed),
                )
        database = kind(location, manifest.database_path(directory))
        try:
            if Manifest.read(directory) != manifest:  # Another process has just rewritten it.
                database.close()
                return _open_tables(directory, spec, sync, buffer_bytes)
            store = TableStore(
                database, manifest.plan, manifest.check_bits, sync=sync, buffer_bytes=buffer_bytes
            )
        except BaseException:
            database.close()
            raise
    except OSError as error:
        raise unusable(location, str(error)) from error
    return store, manifest


def _release(shared: SharedStore) -> None:
    """Count one user less, and close the store if it was the last one."""
    with _lock:
        shared.users -= 1
        if shared.users:
            return
        for path in [path for path, store in _shared_stores.items() if store is shared]:
            del _shared_stores[path]
        try:
            shared.texts.close()
        finally:
            shared.store.close()
