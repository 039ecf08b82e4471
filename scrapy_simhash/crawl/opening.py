"""Open the index of a crawl, whatever settings it was made with.

A changed setting must not end in an empty feed. So an index that does not fit the settings is used
as it is if it can be; otherwise it is set aside, and a new one begins. Nothing is deleted.

Where a crawl began in its indexes is stored in its JOBDIR, so that a resumed crawl knows its pages;
and when it is paused, what they gave.
"""

from __future__ import annotations

import json
import logging
from array import array
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.job import job_dir

from scrapy_simhash.crawl.given import Remembered
from scrapy_simhash.documents.files import replaced
from scrapy_simhash.errors import (
    IndexCorrupt,
    IndexLocked,
    IndexMismatch,
    PlanError,
    SchemeError,
    SimhashError,
    StorageError,
)
from scrapy_simhash.index import open_index, reset_index, scheme_name, set_aside
from scrapy_simhash.index.manifest import FILE_NAME as MANIFEST
from scrapy_simhash.index.redis import RedisAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from scrapy.settings import BaseSettings

    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.index import Index
    from scrapy_simhash.maintenance.sources import Location
    from scrapy_simhash.scheme import Scheme

    Warn: TypeAlias = Callable[..., None]

logger = logging.getLogger(__name__)

FILE_NAME = "simhash.json"  # in JOBDIR

# A folder beside indexes. No spider has such a directory, because `.` in its name is replaced.
SET_ASIDE = ".set-aside"


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
        "max_distance": settings.preset.max_distance,
        "confirmation": settings.preset.confirmation,
        "expected_pages": settings("SIMHASH_EXPECTED_PAGES"),
        "incremental": settings.policy.incremental,
        "crawl_start": crawl_start,
    }
    if isinstance(location, RedisAddress):
        options["lease_s"] = settings("SIMHASH_REDIS_LEASE_S")
        options["crawl"] = settings("SIMHASH_REDIS_CRAWL")
    # A resumed crawl must not delete the pages that it saw before the pause.
    elif settings("SIMHASH_RESET") and crawl_start is None and reset_index(location):
        logger.warning("simhash: SIMHASH_RESET deleted the index in %s; it is empty now", location)
    found = open_fitting(location, scheme, warn, kind=settings("SIMHASH_INDEX"), **options)
    starts.record(found[0])
    return found


def open_fitting(
    location: Location, scheme: Scheme, warn: Warn, *, kind: str | None = None, **options: Any
) -> tuple[Index, Location]:
    """Open or create an index, and return it with its location. If the one at this location is
    damaged or has another scheme, make way for a new one, once.

    :param warn: called with a message and its arguments.
    :param kind: kind of database of a new index in a directory; None for the default.
    :param options: of `open_index` or `open_redis_index`.
    :raises SimhashError: the index cannot be used, and there is no way around it.
    """
    try:
        return _opened(location, scheme, warn, kind, options), location
    except (IndexMismatch, IndexCorrupt, SchemeError) as error:
        location = _make_way(location, scheme, error, warn)
        options["crawl_start"] = None  # a number of the other index
        return _opened(location, scheme, warn, kind, options), location


def _opened(
    location: Location, scheme: Scheme, warn: Warn, kind: str | None, options: dict[str, Any]
) -> Index:
    """Open or create an index, with its own k if its tables don't fit the given one."""
    try:
        if isinstance(location, RedisAddress):
            return location.open(scheme=scheme, create=True, **options)
        is_default = kind is None or (location / MANIFEST).exists()
        return open_index(location if is_default else f"{kind}:{location}", scheme, **options)
    except PlanError as error:
        if options["max_distance"] is None:
            raise
        warn("simhash: %s. This crawl uses the distance that the index was made for", error)
        return _opened(location, scheme, warn, kind, options | {"max_distance": None})


def _make_way(location: Location, scheme: Scheme, error: SimhashError, warn: Warn) -> Location:
    """Make way for a new index, and return its location: move the one in a directory aside, but
    leave one in Redis to the processes that may use it, and choose a name that ends in the scheme.

    :raises SimhashError: `error`, or an IndexLocked for a damaged index, if there is no way.
    :raises SchemeError: a file of the scheme cannot be read, which is no fault of the index.
    """
    name = scheme_name(scheme.id)
    detail, part = getattr(error, "detail", error), getattr(error, "part", "")
    if isinstance(location, RedisAddress):
        if isinstance(error, SchemeError) or part == "crawl":
            raise error
        other = replace(location, name=f"{location.name}@{name}")
        warn(
            "simhash: index %s: %s. This crawl uses the index %s instead, and pages that only the "
            "other one knows count as new",
            location,
            detail,
            other.name,
        )
        return other
    try:
        aside = set_aside(location, location.parent / SET_ASIDE / location.name)
    except StorageError as failed:
        is_busy = isinstance(failed, IndexLocked) and isinstance(error, IndexCorrupt)
        raise (failed if is_busy else error) from failed
    way_back = "nothing was deleted"
    if isinstance(error, IndexCorrupt):
        way_back = (
            f"`scrapy simhash index check --repair --index {aside}` keeps what can still be read"
        )
    elif part == "scheme":
        way_back = (
            "move it back to use it with old settings; or `scrapy simhash index rebuild --index "
            f"{aside}` recomputes its fingerprints from stored texts, and `merge` adds them"
        )
    warn(
        "simhash: index %s: %s. This crawl begins a new index, so all of its pages count as new. "
        "The old index was moved to %s: %s",
        location,
        detail,
        aside,
        way_back,
    )
    return location


class CrawlStarts(dict[str, int]):
    """Location of an index → the sequence number at which this crawl began in it.

    It is stored in the JOBDIR of the crawl. At first, it is empty, unless the crawl goes on after a
    pause.
    """

    def __init__(self, settings: BaseSettings) -> None:
        super().__init__()
        directory = job_dir(settings)
        self._path = None if directory is None else Path(directory, FILE_NAME)
        self.gave: Remembered | None = None
        """What pages gave before a pause; None if the crawl is not resumed."""
        if self._path is not None:
            lost = "copies of pages from before the pause may pass"
            with _warning(self._path, "read", lost):
                if self._path.exists():
                    self._read(json.loads(self._path.read_text(encoding="utf-8")))

    def _read(self, content: dict[str, Any]) -> None:
        starts = {str(name): int(number) for name, number in content["began"].items()}
        if min(starts.values(), default=0) < 0:  # pages of all earlier crawls would be seen
            raise ValueError(f"{starts} has negative numbers")
        self.update(starts)
        self.gave = Remembered()
        if "gave" in content:
            self.gave = Remembered.restored(content["gave"])

    def record(self, index: Index) -> None:
        """Store this crawl's first sequence number in an index."""
        self[index.location] = index.crawl_start
        self.pause(self.gave)  # a crawl that is killed knows it again

    def pause(self, gave: Remembered | None) -> None:
        """Store what the pages of the crawl gave."""
        if self._path is None:
            return
        content = {"began": self} if gave is None else {"began": self, "gave": gave}
        lost = "after a pause, copies of earlier pages of this crawl may pass"
        with _warning(self._path, "written", lost), replaced(self._path) as temporary:
            temporary.write_text(json.dumps(content, default=_plain), encoding="utf-8")

    def delete(self) -> None:
        """Delete the file, so that the next crawl with this JOBDIR does not count as resumed."""
        if self._path is not None:
            advice = (
                "delete it, or the next crawl with this JOBDIR drops copies of this crawl's pages"
            )
            with _warning(self._path, "deleted", advice):
                self._path.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """Return an object, or a container that JSON lacks, as JSON has it."""
    if isinstance(value, array):
        return b64encode(value).decode()  # half as long as its numbers
    return vars(value) if is_dataclass(value) else [*value]


@contextmanager
def _warning(path: Path, done: str, consequence: str) -> Iterator[None]:
    """Log a warning if something cannot be done with the file of a crawl's starts."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever a damaged file contains
        logger.warning("simhash: %s cannot be %s (%s): %s", path, done, error, consequence)
