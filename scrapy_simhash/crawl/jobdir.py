"""A crawl that was paused goes on: with JOBDIR, what it met before counts as met."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.job import job_dir

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_simhash.index import ObservingIndex

logger = logging.getLogger(__name__)

FILE_NAME = "simhash.json"


class Job:
    """What is remembered of a crawl in its JOBDIR: where in its indexes it began."""

    def __init__(self, settings: BaseSettings) -> None:
        directory = job_dir(settings)
        self._path = None if directory is None else Path(directory, FILE_NAME)
        self._began: dict[str, int] = {}
        if self._path is not None and self._path.exists():
            try:
                content = json.loads(self._path.read_text(encoding="utf-8"))
                began = {str(name): int(number) for name, number in content["began"].items()}
                if min(began.values(), default=0) < 0:  # all that was ever met would count
                    raise ValueError(f"{began} has negative numbers")
                self._began = began
            except (
                OSError,
                ValueError,
                TypeError,
                KeyError,
                AttributeError,
                OverflowError,
            ) as error:
                logger.warning(
                    "simhash: %s cannot be read (%s): what the crawl met before its pause "
                    "counts as met by an earlier crawl, and copies of it may pass",
                    self._path,
                    error,
                )

    def began(self, directory: Path) -> int | None:
        """Where this crawl began in an index; None if it did not use it before."""
        return self._began.get(str(directory))

    def opened(self, index: ObservingIndex) -> None:
        """Remember that this crawl uses an index."""
        if self._path is None:
            return
        self._began[index.location] = index.began
        temporary = self._path.with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps({"began": self._began}), encoding="utf-8")
            temporary.replace(self._path)
        except OSError as error:
            logger.warning(
                "simhash: %s cannot be written (%s): after a pause, copies of what was met before "
                "may pass",
                self._path,
                error,
            )

    def finished(self) -> None:
        """The crawl came to its end: the next one with this JOBDIR is another."""
        if self._path is None:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning(
                "simhash: %s cannot be deleted (%s): do it, or the next crawl with this JOBDIR "
                "drops copies of what this one met",
                self._path,
                error,
            )
