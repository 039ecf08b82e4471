"""Disks that are full, for the child process."""

from __future__ import annotations

import resource
from itertools import count
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import StorageError
from tests.crawl.spiders import PagesSpider

if TYPE_CHECKING:
    from collections.abc import Callable

WRITES_BEFORE = 8
FILE_LIMIT_BYTES = 200_000


def _fail(fails: Callable[[int], bool]) -> None:
    """Make the writes fail whose numbers, from 0, are chosen."""
    from scrapy_simhash.index.leveldb import LevelDB

    write, numbers = LevelDB.write, count()

    def failing(database: Any, *args: Any, **kwargs: Any) -> None:
        if fails(next(numbers)):
            raise StorageError("/index", "it cannot be written (no space left on device)")
        write(database, *args, **kwargs)

    LevelDB.write = failing


def always() -> None:
    _fail(lambda number: number >= 1)  # but for the first, of a new index


def after_a_while() -> None:
    _fail(lambda number: number >= WRITES_BEFORE)


def now_and_then() -> None:
    _fail(lambda number: number % 3 == 2)


def for_a_while() -> None:
    _fail(lambda number: WRITES_BEFORE <= number < 3 * WRITES_BEFORE)


class FileLimitSpider(PagesSpider):
    """Limits the size of all files of its process until the spider is closed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT_BYTES, self.limits[1]))

    def closed(self, reason: str) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.limits)
