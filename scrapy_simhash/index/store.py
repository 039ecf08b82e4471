"""Store: the entries, the near-duplicate log and the notes of an embedded index, its tables,
and the pages that are pending.

The rows of the database are the only truth. An entry is one row, which is written when its page is
confirmed, so a crash leaves all of it or nothing. The tables are a cache: a page gets its *ordinal*
and its row in the tables when it is observed, and an ordinal without an entry and without a pending
page is of no use any more: the page was removed, discarded or never confirmed.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexLocked, StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.base import OPENING, Found, Pending
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.rows import Rows
from scrapy_simhash.index.tables import FOLDER
from scrapy_simhash.index.tables.crowds import OTHERS
from scrapy_simhash.index.tables.tables import FEW_ROWS, STEP_EVERY, Tables
from scrapy_simhash.index.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import TypeAlias

    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index.base import Entry, Observation, PageToObserve, SyncPolicy
    from scrapy_simhash.index.database import Database, Row
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.memory import MemoryDatabase
    from scrapy_simhash.index.rules import CrawlRules

    Observed: TypeAlias = tuple[Observation, Pending | None]

logger = logging.getLogger(__name__)

_PROGRESS_INTERVAL_S = 5.0
# Tables are made again if more of their rows than these are of no use, and more than half.
_MAX_USELESS_ROWS = 1024
# How often a search is repeated that finds pages that are gone.
_MAX_SEARCHES = 64


class Store(Rows):
    """The data of an index, for all indexes of a process that use it. Their rules decide what to
    write.

    Methods raise StorageError if the database fails, and IndexCorrupt if a row is damaged. Only
    `sync` may be called while another call is running: callers hold the lock.

    :param database: an open database, which `close` closes. Without a path, all is in memory.
    :param sync: when writes are synced to disk.
    """

    def __init__(
        self,
        database: Database | MemoryDatabase,
        manifest: Manifest,
        *,
        sync: SyncPolicy = "everysec",
    ) -> None:
        super().__init__(database, manifest.plan.bits // 8, sync)
        self.manifest = manifest
        self.users = 0
        """Number of open `Index` objects."""
        self.texts = Texts(self)
        self._pending = PendingPages()
        # Results of `prefetch` by (fingerprint, certainty, mark, distance). Those are deleted that
        # were used, and those that a row belongs to which was added later.
        self._prefetched: dict[tuple[int, bytes, int | None, int], list[int]] = {}
        self._has_warned = False
        self._folder = None if database.path is None else database.path / FOLDER
        self._tables = self._opened_tables()
        self._fill()

    def entry(self, key: str) -> Entry | None:
        """Return the stored entry of a key, or None."""
        found = self._stored(self._tables.with_key(records.encode_key(key)))
        return next((entry for entry in found if entry is not None and entry.key == key), None)

    def within(
        self,
        fingerprint: int,
        max_distance: int,
        certainty: bytes = b"",
        *,
        mark: int | None = None,
    ) -> list[Found]:
        """Return the entries that the tables find within the distance, the stored ones first.

        :param certainty: see `Evidence`.
        :param mark: of the page (`scrapy_simhash.index.marks`). With it, most entries that cannot
            be copies of the page are left out, see `scrapy_simhash.index.tables.crowds`.
        """
        query = fingerprint, certainty, mark, max_distance
        ordinals = self._prefetched.pop(query, None)
        for _ in range(_MAX_SEARCHES):
            if ordinals is None:
                marks = None if mark is None else [mark]
                [ordinals] = self._tables.near([query[:2]], max_distance, marks)
            if not ordinals:
                return []
            stored, pending, has_gone = list[Found](), list[Found](), False
            for ordinal, entry in zip(ordinals, self._stored(ordinals), strict=True):
                pages = self._pending.of(ordinal)
                pending += [(page.entry, True) for page in pages]
                if entry is not None:
                    stored.append((entry, False))
                elif not pages:
                    has_gone = True
                    self._tables.forget(ordinal)
            if mark is None or not has_gone or len(ordinals) < OTHERS:
                break
            ordinals = None  # rows of pages that are gone may have taken places of others
        return stored + pending

    def prefetch(self, pages: Iterable[tuple[int, Evidence]], rules: CrawlRules) -> None:
        """Search for several (fingerprint, evidence) at once, which is faster than one by one.
        `within` then searches only if a row near the fingerprint was added later, or for another
        page with the same fingerprint.
        """
        k = rules.max_distance
        queries = [(value, page.certainty, rules.mark(page), k) for value, page in pages]
        pairs, marks = [query[:2] for query in queries], [query[2] for query in queries]
        self._prefetched = dict(zip(queries, self._tables.near(pairs, k, marks), strict=True))

    def _observe(self, page: PageToObserve, rules: CrawlRules) -> Observed:
        """Return what a page is, and the pending page that it becomes, or None. Write the line of a
        near-duplicate or similar page to the log.
        """
        stored, last = self._last_seen(page.key)
        own, found, evidence = rules.last(page, last), list[Found](), page.evidence
        if not rules.is_settled(own):
            mark = rules.mark(evidence)
            found = self.within(page.fingerprint, rules.max_distance, evidence.certainty, mark=mark)
        sequence = self.next_sequence
        observation, entry = rules.judge(page, stored, own, found, sequence)
        self.next_sequence = sequence + 1
        if observation.line is not None:
            self.write_lines([observation.line])
        if entry is None:
            return observation, None
        pending = Pending(observation, entry, stored, observation.outdated, page.in_scope)
        return observation, self._made_pending(pending)

    def observe_all(self, pages: Sequence[PageToObserve], rules: CrawlRules) -> list[Observed]:
        """Observe pages in turn. After an error, none is pending."""
        if len(pages) > 1:
            self.prefetch([(one.fingerprint, one.evidence) for one in pages], rules)
        observed: list[Observed] = []
        try:
            for page in pages:
                observed.append(self._observe(page, rules))  # noqa: PERF401 - needed on errors
        except BaseException:
            self.release([pending for _, pending in observed if pending is not None])
            self.unlog([one.sequence for one, _ in observed if one.similar_to is not None])
            raise
        return observed

    def hold(self, observed: Observation, rules: CrawlRules, supersedes: str | None) -> Pending:
        """Make a near-duplicate pending, and return it.

        :param supersedes: key of the representative that it replaces, or None.
        """
        stored, _ = self._last_seen(observed.key)
        entry = rules.new_entry(observed, observed.sequence)
        return self._made_pending(
            Pending(observed, entry, stored, observed.outdated, supersedes=supersedes)
        )

    def release(self, pages: Iterable[Pending]) -> None:
        """Remove pages from the pending ones."""
        for page in pages:
            if not page.is_settled:
                page.is_settled = True
                self._pending.remove(page)
                if page.stored is None or page.stored.ordinal != page.entry.ordinal:
                    self._forget(page.entry.ordinal)

    def confirm(self, pages: Iterable[Pending], rules: CrawlRules) -> None:
        """Store pending pages in turn, and remove the entries that they replace."""
        for page in pages:
            stored = page.stored
            if page.is_settled:
                continue
            if stored is not None and stored.last_sequence > page.entry.last_sequence:
                self.release([page])  # a later observation of this key is already stored
                continue
            entry = rules.merged(page.entry._replace(gave_items=page.gave_items), stored)
            replaced = page.replaced(entry, rules, self.entry)
            replaced = [other for other in replaced if not self._pending.of(other.key)]
            entry = self.write(entry, stored, replaced, held=page.entry)
            for other in self._pending.of(entry.key):
                other.stored = entry
            self.release([page])
            if page.supersedes is not None:
                self.write_lines(
                    rules.log_line(pair.entry, self.next_sequence, entry.key, pair)
                    for pair in rules.neighbours(entry, [(other, False) for other in replaced])
                )

    def write(
        self,
        put: Entry,
        replaced: Entry | None,
        outdated: Iterable[Entry],
        *,
        held: Entry | None = None,
    ) -> Entry:
        """Store an entry and remove others: all or none. Return the entry with its ordinal.

        :param replaced: the stored entry with the same key, or None.
        :param outdated: stored entries with other keys, which are removed.
        :param held: the entry of the pending page that is stored, or None.
        """
        rows = [one for one in (replaced, held) if one is not None and _have_one_row(one, put)]
        put = put._replace(ordinal=rows[0].ordinal if rows else self._add(put))
        self.next_sequence = max(self.next_sequence, put.number + 1, put.last_sequence + 1)
        removed, is_new = [*outdated], replaced is None
        if replaced is not None and replaced.ordinal != put.ordinal:
            removed.append(replaced)
            is_new = True
        row = (records.entry_row_key(put.ordinal), records.encode_entry(put, self._width_bytes))
        self._delete(removed, [row], added_entries=int(is_new))
        return put

    def compact(self) -> None:
        """Do nothing: rows that are of no use go with a merge of the tables."""

    def remove(self, entries: Collection[Entry]) -> int:
        """Delete stored entries, all or none, and return their number."""
        self._delete(entries)
        return len(entries)

    def remove_pages(self, keys: Iterable[str]) -> list[str]:
        """Remove the entries of pages in one write, and their texts; return the keys that had an
        entry.

        :raises IndexLocked: the store has other users.
        """
        if self.users > 1:
            raise IndexLocked(self.location, "this process has it open, so nothing was removed")
        found = {key: entry for key in keys if (entry := self.entry(key)) is not None}
        self.remove(found.values())
        self.texts.forget(found)
        return list(found)

    def stop_waiting(self) -> None:
        """Do nothing: there is no server."""

    def close(self, pages: Iterable[Pending] = ()) -> None:
        """Discard the pending pages of a user. If it was the last one, write the tables to files,
        and close the database. If that fails, the next opening makes the tables again.
        """
        with self.lock:
            self.release(pages)
        with OPENING:
            self.users -= 1
            if self.users <= 0:
                self._close()

    def _close(self) -> None:
        try:
            self.sync()
            self._tables.write_all()
        except (OSError, StorageError) as error:
            logger.warning(
                "simhash: index %s: its tables cannot be written (%s); no page is lost, but the "
                "next opening takes longer",
                self.location,
                error,
            )
        finally:
            self._tables.close()
            self.database.close()

    def _last_seen(self, key: str) -> tuple[Entry | None, Entry | None]:
        """Return (the stored entry of a key or None; its last seen entry, stored or pending, or
        None).
        """
        pending = self._pending.of(key)
        if pending:
            return pending[-1].stored, pending[-1].entry
        stored = self.entry(key)
        return stored, stored

    def _made_pending(self, pending: Pending) -> Pending:
        """Add a pending page, which gets an ordinal and a row in the tables, and return it."""
        stored = pending.stored
        if stored is not None and _have_one_row(stored, pending.entry):
            ordinal = stored.ordinal
        else:
            ordinal = self._add(pending.entry)
        pending.entry = pending.entry._replace(ordinal=ordinal)
        self._pending.add(pending)
        return pending

    def _stored(self, ordinals: Sequence[int]) -> list[Entry | None]:
        """Return the stored entries with these ordinals; None for each that has none."""
        if not ordinals:
            return []
        rows = [records.entry_row_key(ordinal) for ordinal in ordinals]
        return [
            None if value is None else self._decoded(row, value, self._entry)
            for row, value in zip(rows, self.database.get_all(rows), strict=True)
        ]

    def _add(self, entry: Entry) -> int:
        """Add a row to the tables, and return its ordinal."""
        ordinal = self._tables.stop
        if ordinal > records.MAX_ORDINAL:
            raise StorageError(
                self.location,
                f"it has seen {ordinal} new pages, and cannot take more: start another index, or "
                "`export` its entries and `import` them, which numbers them again",
            )
        key, mark = records.encode_key(entry.key), mark_of(entry.evidence)
        self._tables.add(ordinal, entry.fingerprint, key, mark)
        for query in [*self._prefetched]:
            if (query[0] ^ entry.fingerprint).bit_count() <= query[3]:
                del self._prefetched[query]
        if ordinal % STEP_EVERY == 0:
            self._step()
        return ordinal

    def _forget(self, ordinal: int) -> None:
        """Forget a row of the tables without a stored entry, unless a pending page has it: a search
        that finds it would search again.
        """
        if not self._pending.of(ordinal):
            self._tables.forget(ordinal)

    def _delete(
        self, removed: Collection[Entry], puts: Sequence[Row] = (), *, added_entries: int = 0
    ) -> None:
        """Delete entries, and write rows."""
        keys = [records.entry_row_key(entry.ordinal) for entry in removed]
        self.write_rows(puts, keys, added_entries=added_entries - len(removed))
        for entry in removed:
            self._forget(entry.ordinal)

    def _step(self, *, is_filling: bool = False) -> None:
        """Write a part of the tables to files, if rows wait for it.

        :param is_filling: no page waits.
        """
        if not self._tables.frozen:
            return
        try:
            self._tables.step(large=is_filling)
        except (OSError, StorageError) as error:  # Only logged, because all pages are stored.
            if not self._has_warned:
                logger.warning(
                    "simhash: index %s: its tables cannot be written (%s), and stay in memory for "
                    "now: check the disk",
                    self.location,
                    error,
                )
            self._has_warned = True

    def _opened_tables(self) -> Tables:
        """Return the tables, as their files have them. Files that don't fit are deleted."""
        try:
            return Tables(
                self.manifest.plan,
                self._folder,
                made_for=f"{self.state.identity:016x}",
                max_rows=2 * len(self) + _MAX_USELESS_ROWS,
                before_visible=self.database.sync,
            )
        except OSError as error:
            raise StorageError(
                self.location,
                f"its tables cannot be read or written ({error}): check the disk and the "
                f"permissions of {self._folder}, or delete this folder; it is made again",
            ) from error

    def _fill(self) -> None:
        """Add the entries to the tables that these don't have."""
        tables, added = self._tables, 0
        why = tables.unfit
        if self._folder is not None and not (why or tables.stop) and len(self) > FEW_ROWS:
            why = "they are missing"
        if why:
            logger.info(
                "simhash: index %s: its tables are made again from its entries: %s",
                self.location,
                why,
            )
        logged_at_s = time.monotonic()
        for entry in self.entries(tables.stop):
            key, mark = records.encode_key(entry.key), mark_of(entry.evidence)
            tables.add(entry.ordinal, entry.fingerprint, key, mark)
            added += 1
            while tables.frozen and not self._has_warned:
                self._step(is_filling=True)
            if added % 1000 == 0 and time.monotonic() - logged_at_s > _PROGRESS_INTERVAL_S:
                logged_at_s = time.monotonic()
                logger.info(
                    "simhash: index %s: %d of about %d entries are in its tables",
                    self.location,
                    added,
                    max(len(self), added),
                )
        if added > FEW_ROWS and not why:
            logger.info(
                "simhash: index %s was not closed: %d entries were added to its tables again",
                self.location,
                added,
            )


class PendingPages:
    """The pending pages of all users of a store, by key and by ordinal.

    A page shares its ordinal with the stored entry of its key if nothing differs.
    """

    def __init__(self) -> None:
        self._pages: dict[str | int, list[Pending]] = {}

    def add(self, pending: Pending) -> None:
        """Add a page."""
        for name in (pending.entry.key, pending.entry.ordinal):
            self._pages.setdefault(name, []).append(pending)

    def remove(self, pending: Pending) -> None:
        """Remove a page."""
        for name in (pending.entry.key, pending.entry.ordinal):
            pages = self._pages[name]
            pages.remove(pending)
            if not pages:
                del self._pages[name]

    def of(self, name: str | int) -> Sequence[Pending]:
        """Return the pages with a key or an ordinal, in the order in which they were added."""
        return self._pages.get(name, ())


def _have_one_row(one: Entry, other: Entry) -> bool:
    """Return True if two entries of a page have the same row in the tables."""
    if one.fingerprint != other.fingerprint:
        return False
    return one.evidence is other.evidence or mark_of(one.evidence) == mark_of(other.evidence)
