"""Open the index of a crawl, whatever settings it was made with.

A changed setting must not end in an empty feed. So an index that does not fit the settings is used
as it is if it can be; otherwise it is set aside, and a new one begins. Nothing is deleted.

Where a crawl began in its indexes is stored in its JOBDIR, so that a resumed crawl knows its pages.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.job import job_dir

from scrapy_simhash.documents.files import replaced
from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexLocked,
    IndexMismatch,
    PlanError,
    SchemeError,
    StorageError,
)
from scrapy_simhash.index import open_index, reset_index
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.offline import database_kind
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.setting_aside import bring_back, scheme_name, set_aside

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from scrapy.settings import BaseSettings

    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.index import Index
    from scrapy_simhash.maintenance.sources import Location
    from scrapy_simhash.scheme import Scheme

    Warn: TypeAlias = Callable[..., None]

logger = logging.getLogger(__name__)

_Opened = TypeVar("_Opened")
FILE_NAME = "simhash.json"  # in JOBDIR

# A folder beside indexes. No spider has such a directory, because `.` in its name is replaced.
SET_ASIDE = ".set-aside"
_UNUSABLE = (IndexMismatch, IndexCorrupt)


def open_for_crawl(
    location: Location, scheme: Scheme, settings: SimhashSettings, starts: CrawlStarts, warn: Warn
) -> tuple[Index, Location]:
    """Open or create the index of a crawl at a location. Return it with its location, which is
    another one for an index in Redis that does not fit.

    :param warn: called with a message and its arguments if the index does not fit the settings.
    :raises SimhashError: the index cannot be opened.
    """
    crawl_start = starts.get(str(location))
    options: dict[str, Any] = {
        "max_distance": settings.max_distance,
        "confirmation": settings.confirmation,
        "expected_pages": settings("SIMHASH_EXPECTED_PAGES"),
        "incremental": settings.policy.incremental,
        "crawl_start": crawl_start,
        "warn": warn,
    }
    if isinstance(location, RedisAddress):
        options["lease_s"] = settings("SIMHASH_REDIS_LEASE_S")
        options["crawl"] = settings("SIMHASH_REDIS_CRAWL")
        index, location = open_in_redis(location, scheme, **options)
    else:
        # A resumed crawl must not delete the pages that it saw before the pause.
        if settings("SIMHASH_RESET") and crawl_start is None and reset_index(location):
            logger.warning(
                "simhash: SIMHASH_RESET deleted the index in %s; it is empty now", location
            )
        index = open_in_directory(location, scheme, kind=settings("SIMHASH_INDEX"), **options)
    starts.record(index)
    return index, location


def open_in_directory(
    directory: Path, scheme: Scheme, *, kind: str | None, warn: Warn, **options: Any
) -> Index:
    """Open or create the index in a directory. If it is damaged or has another scheme, set it
    aside, and open the one that was set aside for the present scheme, or create one.

    :param kind: kind of database of a new index; None for the default.
    :param warn: called with a message and its arguments.
    :param options: of `open_index`.
    :raises SimhashError: the index cannot be used, and cannot be set aside.
    """

    def opened(**options: Any) -> Index:
        return open_index(_url(directory, kind, warn), scheme, **options)

    for _ in range(2):  # an index that is brought back may be damaged, too
        try:
            return _open_with_its_own(opened, warn, **options)
        except _UNUSABLE as error:  # noqa: PERF203 - a crawl opens one index
            _exchange(directory, scheme, error, warn)
            options["crawl_start"] = None  # a number of the other index
    return _open_with_its_own(opened, warn, **options)


def _exchange(
    directory: Path, scheme: Scheme, error: IndexMismatch | IndexCorrupt, warn: Warn
) -> None:
    """Set an index aside, and bring the one of the present scheme back, if there is one.

    :raises StorageError: `error`, or an IndexLocked for a damaged index, if it cannot be moved.
    """
    folder = directory.parent / SET_ASIDE / directory.name
    try:
        aside = set_aside(directory, folder)
    except IndexLocked as locked:
        raise (locked if isinstance(error, IndexCorrupt) else error) from locked
    except StorageError:
        raise error from None
    has_other_scheme = isinstance(error, IndexMismatch) and error.part == "scheme"
    restored = bring_back(scheme.id, folder, directory) if has_other_scheme else None
    if restored is not None:
        warn(
            "simhash: index %s: %s. It was moved to %s, and an earlier index with the present "
            "scheme was moved back from %s",
            directory,
            error.detail,
            aside,
            restored,
        )
        return
    way_back = "nothing was deleted"
    if isinstance(error, IndexCorrupt):
        way_back = (
            f"`scrapy simhash index check --repair --index {aside}` keeps what can still be read"
        )
    elif has_other_scheme:
        way_back = (
            "with the old settings, the next crawl uses it again; or `scrapy simhash index rebuild "
            f"--index {aside}` recomputes its fingerprints from stored texts, and `merge` adds them"
        )
    warn(
        "simhash: index %s: %s. This crawl begins a new index, so all of its pages count as new. "
        "The old index was moved to %s: %s",
        directory,
        error.detail,
        aside,
        way_back,
    )


def open_in_redis(
    address: RedisAddress, scheme: Scheme, *, warn: Warn, **options: Any
) -> tuple[Index, RedisAddress]:
    """Open or create the index of that name, and return it with its address. If it is damaged or
    has another scheme, leave it to the processes that may use it, and open or create one whose
    name ends in that of the scheme.

    :param options: of `open_redis_index`.
    :raises SimhashError: the index cannot be used.
    """

    def open_at(address: RedisAddress, **options: Any) -> Index:
        opened = partial(address.open, scheme=scheme, create=True)
        return _open_with_its_own(opened, warn, **options)

    try:
        return open_at(address, **options), address
    except _UNUSABLE as error:
        if isinstance(error, IndexMismatch) and error.part == "crawl":
            raise
        other = replace(address, name=f"{address.name}@{scheme_name(scheme.id)}")
        index = open_at(other, **options | {"crawl_start": None})
        warn(
            "simhash: index %s: %s. This crawl uses the index %s instead, and pages that only the "
            "other one knows count as new",
            address,
            error.detail,
            other.name,
        )
        return index, other


def _url(directory: Path, kind: str | None, warn: Warn) -> str | Path:
    """Return the location of the index in a directory, with the kind of database of a new one.

    :raises IndexMismatch: the driver of this kind is not installed.
    """
    try:
        manifest = Manifest.read(directory)
    except StorageError:
        manifest = None  # `open_index` raises the error
    if manifest is None:
        return directory if kind is None else f"{kind}:{directory}"
    try:
        database_kind(manifest.database)
    except SchemeError as error:
        raise IndexMismatch(str(directory), str(error), part="database") from error
    if kind not in (None, manifest.database):
        warn(
            "simhash: SIMHASH_INDEX = %r is for a new index, and the one in %s is in %s. The crawl "
            "uses it as it is",
            kind,
            directory,
            manifest.database,
        )
    return directory


def _open_with_its_own(opened: Callable[..., _Opened], warn: Warn, **options: Any) -> _Opened:
    """Call `opened` with options; if the tables of the index don't fit k, with its own k."""
    try:
        return opened(**options)
    except PlanError as error:
        if options["max_distance"] is None:
            raise
        warn("simhash: %s. This crawl uses the distance that the index was made for", error)
        return opened(**options | {"max_distance": None})


class CrawlStarts(dict[str, int]):
    """Location of an index → the sequence number at which this crawl began in it.

    It is stored in the JOBDIR of the crawl. At first, it is empty, unless the crawl goes on after a
    pause.
    """

    def __init__(self, settings: BaseSettings) -> None:
        directory = job_dir(settings)
        self._path = None if directory is None else Path(directory, FILE_NAME)
        super().__init__({} if self._path is None else _read_starts(self._path))

    def record(self, index: Index) -> None:
        """Store this crawl's first sequence number in an index."""
        if self._path is None:
            return
        self[index.location] = index.crawl_start
        try:
            with replaced(self._path) as temporary:
                temporary.write_text(json.dumps({"began": self}), encoding="utf-8")
        except OSError as error:
            logger.warning(
                "simhash: %s cannot be written (%s): after a pause, copies of earlier pages "
                "of this crawl may pass",
                self._path,
                error,
            )

    def delete(self) -> None:
        """Delete the file, so that the next crawl with this JOBDIR does not count as resumed."""
        if self._path is None:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning(
                "simhash: %s cannot be deleted (%s): delete it, or the next crawl with this JOBDIR "
                "drops copies of this crawl's pages",
                self._path,
                error,
            )


def _read_starts(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        starts = {str(name): int(number) for name, number in content["began"].items()}
        if min(starts.values(), default=0) < 0:  # pages of all earlier crawls would count as seen
            raise ValueError(f"{starts} has negative numbers")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        logger.warning(
            "simhash: %s cannot be read (%s): pages from before the pause count as pages of an "
            "earlier crawl, and copies of them may pass",
            path,
            error,
        )
        return {}
    return starts
