"""Store in JOBDIR where a crawl began in its indexes, so that a resumed crawl knows its pages."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.job import job_dir

from scrapy_simhash.documents.files import replaced

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_simhash.index import Index

logger = logging.getLogger(__name__)

FILE_NAME = "simhash.json"


class CrawlStarts:
    """The sequence numbers at which a crawl began in its indexes, stored in its JOBDIR."""

    def __init__(self, settings: BaseSettings) -> None:
        directory = job_dir(settings)
        self._path = None if directory is None else Path(directory, FILE_NAME)
        self._starts = {} if self._path is None else _read_starts(self._path)

    @property
    def is_resumed(self) -> bool:
        """Return True if this crawl goes on after a pause."""
        return bool(self._starts)

    def crawl_start(self, location: str) -> int | None:
        """Return this crawl's first sequence number in an index; None if it is unknown."""
        return self._starts.get(location)

    def record(self, index: Index) -> None:
        """Store this crawl's first sequence number in an index."""
        if self._path is None:
            return
        self._starts[index.location] = index.crawl_start
        try:
            with replaced(self._path) as temporary:
                temporary.write_text(json.dumps({"began": self._starts}), encoding="utf-8")
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
