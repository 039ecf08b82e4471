"""Find seen content: an index of representatives by Hamming distance.

Start with `open_index`. Database drivers are imported only when needed.
"""

from __future__ import annotations

import logging
import os
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


_INSTEAD = {
    "database": "`scrapy simhash rebuild --database …` converts it to another kind",
    "scheme": "`scrapy simhash rebuild --preset …` recomputes its fingerprints if texts were "
    "stored (SIMHASH_KEEP_TEXT)",
    "tables": "`scrapy simhash rebuild --tables …` replaces its tables",
}


@dataclass(frozen=True)
class _Wanted:
    """What a caller wants of an index. None accepts what an existing index was created with."""

    kind: str
    scheme: Scheme | None
    max_distance: int | None
    plan: TablePlan | None = None
    expected_pages: int = DEFAULT_EXPECTED_PAGES
    confirmation: Confirmation | None = None
    probing: bool = True

    def new(self) -> Manifest:
        """Return the manifest of a new index. :raises PlanError: no tables find enough pairs."""
        scheme, max_distance = known_scheme(self.scheme, self.max_distance)
        plan, scans = self.plan, self.kind == "memory"
        if plan is not None:
            check_plan(plan, scheme, max_distance, exact=scans)
        elif scans:  # needs no tables, and works at any distance
            plan = TablePlan(scheme.bits, min(max_distance + 1, scheme.bits))
        else:
            plan = choose_plan(scheme.bits, max_distance, self.expected_pages, probing=self.probing)
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

    def require(self, directory: Path, made: Manifest) -> None:
        """Raise an error if an existing index does not fit.

        :raises IndexMismatch: it was created with another database, scheme or plan.
        :raises PlanError: its tables find too few pairs at `max_distance`.
        """
        for what, made_with, wanted in (
            ("database", made.database, self.kind),
            ("scheme", made.scheme.id, self.scheme.id if self.scheme else None),
            ("tables", repr(made.plan), repr(self.plan) if self.plan else None),
        ):
            if wanted is not None and made_with != wanted:
                raise IndexMismatch(
                    str(directory),
                    f"it was made with the {what} {made_with}, not {wanted}: {_INSTEAD[what]}; or "
                    "choose another directory with SIMHASH_DIR; or start over with "
                    "SIMHASH_RESET = True; nothing was changed",
                )
        distance = self.max_distance
        if distance is None:
            return
        _require_distance(distance, made.plan.bits)
        # The index may have been created with tables of lower recall on purpose.
        if distance > made.max_distance and (recall := made.plan.recall(distance)) < MIN_RECALL:
            raise PlanError(
                f"{made.plan} find {recall:.0%} of the pairs at distance {distance}, less than "
                f"{MIN_RECALL:.0%}: replace the tables with `scrapy simhash rebuild "
                f"--max-distance {distance}`, which keeps the pages; or lower the distance; or "
                "start over with SIMHASH_RESET = True"
            )


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
    kind, directory = ("memory", Path()) if url == "memory:" else _parsed(url)
    wanted = _Wanted(kind, scheme, max_distance, plan, expected_pages, confirmation)
    with _lock:
        if kind == "memory":
            shared = SharedStore(MemoryStore(), wanted.new(), "memory")
        else:
            name = os.path.realpath(directory)
            known = _shared_stores.get(name)
            if known is not None:
                shared = known
                wanted.require(directory, shared.manifest)
            else:
                store, made = _open_tables(directory, wanted, sync, buffer_bytes)
                shared = _shared_stores[name] = SharedStore(store, made, str(directory))
        made = shared.manifest
        rules = Rules(
            made.max_distance if max_distance is None else max_distance,
            made.confirmation if confirmation is None else confirmation,
        )
        shared.users += 1
        return ObservingIndex(
            shared,
            rules=rules,
            incremental=incremental,
            on_close=_release,
            crawl_start=crawl_start,
        )


def open_tables(
    directory: Path, kind: str, scheme: Scheme, max_distance: int, *, sync: SyncPolicy = "everysec"
) -> TableStore:
    """Open or create the tables of an index for exclusive use, without rules for observations.

    For the errors see `open_index`.
    """
    wanted = _Wanted(kind, scheme, max_distance, confirmation=UNCONFIRMED, probing=False)
    return _open_tables(directory, wanted, sync)[0]


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
    return _Wanted(kind, scheme, max_distance, None, expected_pages, confirmation).new()


def known_scheme(scheme: Scheme | None, max_distance: int | None) -> tuple[Scheme, int]:
    """Return the scheme and the distance of a new index; those of a preset replace None."""
    if scheme is None:
        scheme = preset(DEFAULT_PRESET).scheme
    if max_distance is None:
        max_distance = next((p.max_distance for p in PRESETS.values() if p.scheme == scheme), None)
        if max_distance is None:
            raise SchemeError(f"max_distance is needed: no preset has the scheme {scheme.id}")
    _require_distance(max_distance, scheme.bits)
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
    for known in PRESETS.values():
        if known.scheme == replace(scheme, extractor=known.scheme.extractor, select=(), remove=()):
            return known.confirmation
    return UNCONFIRMED


def reset_index(url: str) -> bool:
    """Delete an index and nothing else. Return True if there was one.

    :raises IndexForeign: the directory holds files that are not an index.
    :raises IndexLocked: the index is open.
    """
    _, directory = _parsed(url)
    with _lock:
        if os.path.realpath(directory) in _shared_stores:
            raise IndexLocked(str(directory), "a crawl of this process has it open: not deleted")
        try:
            with suppress(IndexCorrupt, IndexMismatch):  # those are deleted, too
                if Manifest.read(directory) is None:
                    return False
            texts = (texts_path(directory, kind) for kind in DATABASES)
            for path in (*databases(directory), *filter(Path.is_dir, texts)):
                kind = database_kind(path.name.partition("-")[0])
                kind.destroy(str(directory), path)
            (directory / REPAIRING).unlink(missing_ok=True)
            (directory / FILE_NAME).unlink()
        except OSError as error:
            raise _unusable(directory, error) from error
    return True


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


def _require_distance(max_distance: int, bits: int) -> None:
    if not 0 <= max_distance < bits:
        raise PlanError(f"distance {max_distance} of {bits} bits: 0 to {bits - 1}")


def _open_tables(
    directory: Path, wanted: _Wanted, sync: SyncPolicy, buffer_bytes: int | None = None
) -> tuple[TableStore, Manifest]:
    from scrapy_simhash.index.tables import TableStore

    opener = database_kind(wanted.kind)
    location = str(directory)
    try:
        made = Manifest.read(directory)
        if made is None:
            made = wanted.new()
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                made.write(directory)
            except FileExistsError:  # another process was faster
                return _open_tables(directory, wanted, sync, buffer_bytes)
        else:
            wanted.require(directory, made)
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
        path = made.database_path(directory)
        database = opener(location, path)
        try:
            if Manifest.read(directory) != made:  # another process has just rewritten it
                database.close()
                return _open_tables(directory, wanted, sync, buffer_bytes)
            store = TableStore(
                database,
                made.plan,
                made.check_bits,
                location,
                sync=sync,
                buffer_bytes=buffer_bytes,
                path=path,
            )
        except BaseException:
            database.close()
            raise
    except OSError as error:
        raise _unusable(directory, error) from error
    return store, made


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
