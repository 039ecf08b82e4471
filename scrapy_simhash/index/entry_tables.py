"""EntryTables: the tables of an embedded index, as a cache of its entries.

They are made again, from the entries, if their files are missing or damaged, belong to another
index, or have too many rows of no use.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.tables import FOLDER
from scrapy_simhash.index.tables.tables import FEW_ROWS, Tables

if TYPE_CHECKING:
    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.index.rows import Rows

logger = logging.getLogger(__name__)

_PROGRESS_INTERVAL_S = 5.0
# After an error, it is tried again when it has so many more rows.
_ROWS_AFTER_AN_ERROR = 1000
# Tables are made again if more of their rows than these are of no use, and more than half.
_MAX_USELESS_ROWS = 1024


class EntryTables(Tables):
    """The tables over the entries of a database, in a folder beside it. Their numbers are the
    *ordinals* of the entries.

    :raises StorageError: the files cannot be read or deleted, or an entry cannot be read.
    :raises IndexCorrupt: an entry is damaged.
    """

    def __init__(self, rows: Rows, plan: TablePlan) -> None:
        path = rows.database.path
        folder = None if path is None else path / FOLDER
        self._location = rows.location
        self._steps_from = 0  # when it has so many rows, it writes the next ones to files
        try:
            super().__init__(
                plan,
                folder,
                made_for=f"{rows.state.identity:016x}",
                max_rows=2 * len(rows) + _MAX_USELESS_ROWS,
                before_visible=rows.database.sync,
            )
        except OSError as error:
            raise StorageError(
                self._location,
                f"its tables cannot be read or written ({error}): check the disk and the "
                f"permissions of {folder}, or delete this folder; it is made again",
            ) from error
        if folder is not None and not (self.unfit or self.stop) and len(rows) > FEW_ROWS:
            self.unfit = "they are missing"
        self._fill(rows)

    def add_entry(self, entry: Entry) -> int:
        """Add a row for an entry that has none, and return its ordinal."""
        ordinal = self.stop
        if ordinal > records.MAX_ORDINAL:
            raise StorageError(
                self._location,
                f"it has seen {ordinal} new pages, and cannot take more: start another index, or "
                "`merge` it into a new one, which numbers its entries again",
            )
        self._add(ordinal, entry)
        return ordinal

    def _add(self, ordinal: int, entry: Entry) -> None:
        """Add a row, and write a part of the tables to files, if rows wait for it."""
        key = records.encode_key(entry.key)
        self.add(ordinal, entry.fingerprint, key, mark_of(entry.evidence))
        if len(self) < self._steps_from:
            return
        try:
            self.step()
        except (OSError, StorageError) as error:  # Only logged, because all pages are stored.
            if not self._steps_from:
                logger.warning(
                    "simhash: index %s: its tables cannot be written (%s), and stay in memory for "
                    "now: check the disk",
                    self._location,
                    error,
                )
            self._steps_from = len(self) + _ROWS_AFTER_AN_ERROR

    def _fill(self, rows: Rows) -> None:
        """Add the entries that the files don't have."""
        if self.unfit:
            logger.info(
                "simhash: index %s: its tables are made again from its entries: %s",
                self._location,
                self.unfit,
            )
        added, logged_at_s = 0, time.monotonic()
        for entry in rows.entries(self.stop):
            self._add(entry.ordinal, entry)
            added += 1
            if added % 1000 == 0 and time.monotonic() - logged_at_s > _PROGRESS_INTERVAL_S:
                logged_at_s = time.monotonic()
                logger.info(
                    "simhash: index %s: %d of about %d entries are in its tables",
                    self._location,
                    added,
                    max(len(rows), added),
                )
        if added > FEW_ROWS and not self.unfit:
            logger.info(
                "simhash: index %s was not closed: %d entries were added to its tables again",
                self._location,
                added,
            )
