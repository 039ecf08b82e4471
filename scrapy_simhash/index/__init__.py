"""Find seen content: an index of representatives by Hamming distance.

Start with `open_index`. Database drivers are imported only when needed.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.errors import IndexMismatch, PlanError, SchemeError, StorageError
from scrapy_simhash.index.base import Index, Match, NearDuplicate, Observation, SyncPolicy
from scrapy_simhash.index.cost import DEFAULT_EXPECTED_PAGES, check_bits, choose_plan
from scrapy_simhash.index.kinds import database_kind, default_kind_name
from scrapy_simhash.index.manifest import (
    DATABASES,
    FILE_NAME,
    REPAIRING,
    Manifest,
    databases,
    differences,
    environment,
)
from scrapy_simhash.index.memory import MemoryStore
from scrapy_simhash.index.observing import ObservingIndex
from scrapy_simhash.index.offline import require_database, require_whole
from scrapy_simhash.index.plan import MIN_RECALL, TablePlan
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.index.shared import SharedStore
from scrapy_simhash.index.texts import texts_path
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, preset

if TYPE_CHECKING:
    from scrapy_simhash.index.tables import TableStore
    from scrapy_simhash.scheme import Scheme

__all__ = [
    "Index",
    "Match",
    "NearDuplicate",
    "Observation",
    "ObservingIndex",
    "SyncPolicy",
    "TablePlan",
    "choose_plan",
    "index_url",
    "new_manifest",
    "open_index",
    "open_tables",
    "reset_index",
]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Options:
    """The arguments of `open_index`."""

    kind: str
    scheme: Scheme | None
    plan: TablePlan | None
    max_distance: int | None
    expected_pages: int
    confirmation: Confirmation | None = None
    sync: SyncPolicy = "everysec"
    buffer_bytes: int | None = None
    probing: bool = True


# A database can be opened only once, so all its users in this process share one handle.
_shared_stores: dict[str, SharedStore] = {}
_lock = threading.Lock()


def open_index(
    url: str,
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
    """Open an index, or create it.

    :param url: ``leveldb:/path/to/directory``, ``rocksdb:/path/to/directory`` or ``memory:``.
    :param scheme: scheme of the fingerprints; defaults to that of an existing index, or of the
        default preset.
    :param max_distance: k, inclusive; defaults to that of an existing index, or of the preset.
    :param plan: tables of a new index; defaults to the result of `choose_plan`. A plan that finds
        less than 95 % of the pairs at `max_distance` is allowed, with a warning.
    :param expected_pages: number of pages for which the tables of a new index are chosen.
    :param incremental: entries of earlier crawls count as seen; see `Index`.
    :param sync: when confirmed pages are synced to disk; see `SyncPolicy`. The first user in a
        process decides.
    :param buffer_bytes: size of the buffer for table records, allocated twice; the first user
        decides. A larger buffer speeds up an index with biased fingerprints or many tables, but
        slows down opening after a crash. No effect on probed tables.
    :param crawl_start: `crawl_start` of a resumed crawl's earlier index: its pages count as seen.
    :param confirmation: conditions for a page within k to count as a copy; defaults to those of an
        existing index, or of the preset with this scheme, or none.
    :raises IndexMismatch: the index was created with another scheme, plan or kind of database.
    :raises PlanError: no tables find 95 % of the pairs at `max_distance`, or the tables of the
        index do not.
    :raises StorageError: the index is locked, foreign, corrupt, or cannot be read or written.
    """
    if url == "memory:":
        options = _Options("memory", scheme, plan, max_distance, expected_pages, confirmation)
        shared = SharedStore(MemoryStore(), _new_manifest(options), "memory")
        return _share(shared, options, incremental=incremental, crawl_start=crawl_start)
    kind, directory = _parsed(url)
    options = _Options(
        kind, scheme, plan, max_distance, expected_pages, confirmation, sync, buffer_bytes
    )
    name = os.path.realpath(directory)
    with _lock:
        known = _shared_stores.get(name)
        if known is None:
            shared = _open(directory, options)
        else:
            shared = known
            _check_same(directory, shared.manifest, options)
        _shared_stores[name] = shared
        return _share(shared, options, incremental=incremental, crawl_start=crawl_start)


def open_tables(
    directory: Path, kind: str, scheme: Scheme, max_distance: int, *, sync: SyncPolicy = "everysec"
) -> TableStore:
    """Open or create the tables of an index for exclusive use, without rules for observations.

    For the errors see `open_index`.
    """
    options = _Options(
        kind,
        scheme,
        None,
        max_distance,
        DEFAULT_EXPECTED_PAGES,
        confirmation=UNCONFIRMED,
        sync=sync,
        probing=False,
    )
    return _open_tables(directory, options)[0]


def new_manifest(
    scheme: Scheme,
    max_distance: int,
    expected_pages: int,
    kind: str | None = None,
    *,
    confirmation: Confirmation | None = None,
) -> Manifest:
    """Return the manifest of a new index for `expected_pages` pages.

    :param kind: kind of database; defaults to the installed one.

    :raises PlanError: no tables find 95 % of the pairs at `max_distance`.
    """
    kind = default_kind_name() if kind is None else kind
    return _new_manifest(
        _Options(kind, scheme, None, max_distance, expected_pages, confirmation=confirmation)
    )


def known_scheme(scheme: Scheme | None, max_distance: int | None) -> tuple[Scheme, int]:
    """Return the scheme and the distance of an index, those of a preset where there is none."""
    if scheme is None:
        scheme = preset(DEFAULT_PRESET).scheme
    if max_distance is None:
        known = [p.max_distance for p in PRESETS.values() if p.scheme == scheme]
        if not known:
            raise SchemeError(f"max_distance is needed: no preset has the scheme {scheme.id}")
        max_distance = known[0]
    if not 0 <= max_distance < scheme.bits:
        raise PlanError(f"distance {max_distance} of {scheme.bits} bits: 0 to {scheme.bits - 1}")
    return scheme, max_distance


def check_plan(plan: TablePlan, scheme: Scheme, max_distance: int, *, exact: bool = False) -> None:
    """Raise PlanError if a plan does not fit a scheme; log a warning if it finds few pairs.

    :param exact: all pairs are found anyway.
    """
    if plan.bits != scheme.bits:
        raise PlanError(f"a plan for {plan.bits} bits does not fit a scheme of {scheme.bits}")
    recall = plan.recall(max_distance)
    if recall < MIN_RECALL and not exact:
        logger.warning(
            "simhash: low recall: %s find %.0f %% of the pairs at distance %d",
            plan,
            100 * recall,
            max_distance,
        )


def preset_confirmation(scheme: Scheme) -> Confirmation:
    """Return the confirmation of the preset with that scheme, ignoring extraction, or none."""
    known = [
        p.confirmation
        for p in PRESETS.values()
        if p.scheme == replace(scheme, extractor=p.scheme.extractor, select=(), remove=())
    ]
    return known[0] if known else UNCONFIRMED


def reset_index(url: str) -> bool:
    """Delete an index and nothing else. Return True if there was one.

    :raises IndexForeign: the directory holds files that are not an index.
    :raises IndexLocked: the index is open.
    """
    from scrapy_simhash.errors import IndexCorrupt, IndexLocked

    _, directory = _parsed(url)
    with _lock:
        if os.path.realpath(directory) in _shared_stores:
            raise IndexLocked(str(directory), "a crawl of this process has it open: not deleted")
        try:
            try:
                existed = Manifest.read(directory) is not None
            except (IndexCorrupt, IndexMismatch):
                existed = True
            if existed:
                texts = (texts_path(directory, kind) for kind in DATABASES)
                for path in (*databases(directory), *filter(Path.is_dir, texts)):
                    kind = database_kind(path.name.partition("-")[0])
                    kind.destroy(str(directory), path)
                (directory / REPAIRING).unlink(missing_ok=True)
                (directory / FILE_NAME).unlink()
        except OSError as error:
            raise _unusable(directory, error) from error
    return existed


def index_url(directory: Path, kind: str | None = None) -> str:
    """Return the URL of an index in a directory.

    :param kind: kind of database; defaults to that of an existing index, or the installed one.
    """
    if kind is None:
        try:
            made = Manifest.read(directory)
        except (StorageError, OSError):
            made = None  # `open_index` raises the error
        kind = default_kind_name() if made is None else made.database
    return f"{kind}:{directory}"


def _parsed(url: str) -> tuple[str, Path]:
    kind, _, location = url.partition(":")
    if kind not in DATABASES or not location or "\0" in location:
        raise SchemeError(
            f"index URL {url!r}: leveldb:/path/to/directory, rocksdb:/path/to/directory or "
            "memory: is needed"
        )
    return kind, Path(location).absolute()


def _unusable(directory: Path, error: OSError) -> StorageError:
    return StorageError(
        str(directory),
        f"it cannot be created, read or written ({error}): check the path, its rights and the disk",
    )


def _new_manifest(options: _Options) -> Manifest:
    plan = options.plan
    scheme, max_distance = known_scheme(options.scheme, options.max_distance)
    if plan is None:
        # A linear scan needs no tables and works at any distance.
        plan = (
            TablePlan(scheme.bits, min(max_distance + 1, scheme.bits))
            if options.kind == "memory"
            else choose_plan(
                scheme.bits, max_distance, options.expected_pages, probing=options.probing
            )
        )
    else:
        check_plan(plan, scheme, max_distance, exact=options.kind == "memory")
    checks = check_bits(scheme.bits, max_distance)
    confirmation = options.confirmation
    if confirmation is None:
        confirmation = preset_confirmation(scheme)
    return Manifest(
        scheme,
        plan,
        max_distance,
        environment(),
        checks,
        options.kind,
        confirmation=confirmation,
    )


def _check_distance(made: Manifest, max_distance: int) -> None:
    if not 0 <= max_distance < made.plan.bits:
        raise PlanError(
            f"distance {max_distance} of {made.plan.bits} bits: 0 to {made.plan.bits - 1}"
        )
    # The index may have been created with tables of lower recall on purpose.
    if max_distance > made.max_distance and (recall := made.plan.recall(max_distance)) < MIN_RECALL:
        raise PlanError(
            f"{made.plan} find {recall:.0%} of the pairs at distance {max_distance}, less than "
            f"{MIN_RECALL:.0%}: replace the tables with `scrapy simhash rebuild --max-distance "
            f"{max_distance}`, which keeps the pages; or lower the distance; or start over with "
            "SIMHASH_RESET = True"
        )


_INSTEAD = {
    "database": "`scrapy simhash rebuild --database …` converts it to another kind",
    "scheme": "`scrapy simhash rebuild --preset …` recomputes its fingerprints if texts were "
    "stored (SIMHASH_KEEP_TEXT)",
    "tables": "`scrapy simhash rebuild --tables …` replaces its tables",
}


def _check_same(directory: Path, made: Manifest, options: _Options) -> None:
    for what, made_with, wanted in (
        ("database", made.database, options.kind),
        ("scheme", made.scheme.id, options.scheme.id if options.scheme else None),
        ("tables", repr(made.plan), repr(options.plan) if options.plan else None),
    ):
        if wanted is not None and made_with != wanted:
            raise IndexMismatch(
                str(directory),
                f"it was made with the {what} {made_with}, not {wanted}: {_INSTEAD[what]}; or "
                "choose another directory with SIMHASH_DIR; or start over with "
                "SIMHASH_RESET = True; nothing was changed",
            )
    if options.max_distance is not None:
        _check_distance(made, options.max_distance)


def _open(directory: Path, options: _Options) -> SharedStore:
    store, made = _open_tables(directory, options)
    return SharedStore(store, made, str(directory))


def _open_tables(directory: Path, options: _Options) -> tuple[TableStore, Manifest]:
    from scrapy_simhash.index.tables import TableStore

    opener = database_kind(options.kind)
    try:
        made = Manifest.read(directory)
        if made is None:
            made = _new_manifest(options)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                made.write(directory)
            except FileExistsError:  # another process was faster
                return _open_tables(directory, options)
        else:
            _check_same(directory, made, options)
            require_whole(directory)
            require_database(directory, made)
            changed = differences(made.environment, environment())
            if changed:
                logger.warning(
                    "simhash: the index %s was made with other versions (%s): the same page may "
                    "get another fingerprint, and near-duplicates may be missed",
                    directory,
                    "; ".join(changed),
                )
        location = str(directory)
        database = opener(location, made.database_path(directory))
        try:
            if Manifest.read(directory) != made:  # another process has just rewritten it
                database.close()
                return _open_tables(directory, options)
            store = TableStore(
                database,
                made.plan,
                made.check_bits,
                location,
                sync=options.sync,
                buffer_bytes=options.buffer_bytes,
                path=made.database_path(directory),
            )
        except BaseException:
            database.close()
            raise
    except OSError as error:
        raise _unusable(directory, error) from error
    return store, made


def _share(
    shared: SharedStore, options: _Options, *, incremental: bool, crawl_start: int | None
) -> ObservingIndex:
    made = shared.manifest
    rules = Rules(
        made.max_distance if options.max_distance is None else options.max_distance,
        made.confirmation if options.confirmation is None else options.confirmation,
    )
    shared.users += 1
    return ObservingIndex(
        shared,
        rules=rules,
        incremental=incremental,
        on_close=_release,
        crawl_start=crawl_start,
    )


def _release(shared: SharedStore) -> None:
    with _lock:
        shared.users -= 1
        if shared.users:
            return
        for name in [name for name, known in _shared_stores.items() if known is shared]:
            del _shared_stores[name]
        try:
            shared.texts.close()
        finally:
            shared.store.close()
