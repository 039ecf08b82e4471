"""Remember in JOBDIR where a crawl began in its indexes, so that a resumed crawl still counts
pages from before the pause as its own.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.job import job_dir

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_simhash.index import ObservingIndex
    from scrapy_simhash.index.redis.index import RedisIndex

logger = logging.getLogger(__name__)

FILE_NAME = "simhash.json"


class Job:
    """The sequence numbers at which a crawl began in its indexes, kept in its JOBDIR."""

    def __init__(self, settings: BaseSettings) -> None:
        directory = job_dir(settings)
        self._path = None if directory is None else Path(directory, FILE_NAME)
        self._starts: dict[str, int] = {}
        if self._path is not None and self._path.exists():
            try:
                content = json.loads(self._path.read_text(encoding="utf-8"))
                starts = {str(name): int(number) for name, number in content["began"].items()}
                if min(starts.values(), default=0) < 0:  # earlier crawls would count as this one
                    raise ValueError(f"{starts} has negative numbers")
                self._starts = starts
            except (
                OSError,
                ValueError,
                TypeError,
                KeyError,
                AttributeError,
                OverflowError,
            ) as error:
                logger.warning(
                    "simhash: %s cannot be read (%s): pages from before the pause count as pages "
                    "of an earlier crawl, and copies of them may pass",
                    self._path,
                    error,
                )

    def crawl_start(self, location: str) -> int | None:
        """Return where this crawl began in an index; None if it has not used that index."""
        return self._starts.get(location)

    def opened(self, index: ObservingIndex | RedisIndex) -> None:
        """Record where this crawl began in an index."""
        if self._path is None:
            return
        self._starts[index.location] = index.crawl_start
        temporary = self._path.with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps({"began": self._starts}), encoding="utf-8")
            temporary.replace(self._path)
        except OSError as error:
            logger.warning(
                "simhash: %s cannot be written (%s): after a pause, copies of pages from before "
                "the pause may pass",
                self._path,
                error,
            )

    def finished(self) -> None:
        """Delete the state, so that the next crawl with this JOBDIR starts as a new one."""
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
