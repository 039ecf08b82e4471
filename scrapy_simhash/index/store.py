"""Store: the entries, the near-duplicate log and the notes of an embedded index, its tables,
and the pages that are pending.

The rows of the database are the only truth. An entry is one row, which is written when its page is
confirmed, so a crash leaves all of it or nothing. The tables are a cache: a page gets its *ordinal*
and its row in the tables when it is observed, and an ordinal without an entry and without a pending
page is of no use any more: the page was removed, discarded or never confirmed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import IndexLocked, StorageError
from scrapy_simhash.index import records
from scrapy_simhash.index.base import OPENING, Found, Pending
from scrapy_simhash.index.entry_tables import EntryTables
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.rows import Rows
from scrapy_simhash.index.tables.crowds import OTHERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import TypeAlias

    from scrapy_simhash.index.base import Entry, Observation, PageToObserve, Query, SyncPolicy
    from scrapy_simhash.index.database import Database, MemoryDatabase, Row
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.rules import CrawlRules

    Observed: TypeAlias = tuple[Observation, Pending | None]

logger = logging.getLogger(__name__)

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
        super().__init__(database, manifest, sync)
        self.users = 0
        """Number of open `Index` objects."""
        self.beside: dict[str, Any] = {}
        """What the users in this process share beside the data, by name."""
        # The pending pages of all users, by key and by ordinal, in the order in which they came. A
        # page shares its ordinal with the stored entry of its key if nothing differs.
        self._pending: dict[str | int, list[Pending]] = {}
        self._tables = EntryTables(self, manifest.plan)
        # Ordinals by (query, distance), until they are used, or a row near the query is added.
        self._prefetched: dict[tuple[Query, int], list[int]] = {}

    def entry(self, key: str) -> Entry | None:
        """Return the stored entry of a key, or None."""
        found = self._stored(self._tables.with_key(records.encode_key(key)))
        return next((entry for entry in found if entry is not None and entry.key == key), None)

    def last_seen(self, key: str) -> tuple[Entry | None, Entry | None]:
        """Return (the stored entry of a key or None; its last seen entry, stored or pending, or
        None).
        """
        if pending := self._pending.get(key):
            return pending[-1].stored, pending[-1].entry
        stored = self.entry(key)
        return stored, stored

    def within(self, query: Query, max_distance: int) -> list[Found]:
        """Return the entries that the tables find within the distance, the stored ones first."""
        for _ in range(_MAX_SEARCHES):
            ordinals = self._prefetched.pop((query, max_distance), None)
            if ordinals is None:
                [ordinals] = self._tables.near([query], max_distance)
            if not ordinals:
                return []
            stored, pending, has_gone = list[Found](), list[Found](), False
            for ordinal, entry in zip(ordinals, self._stored(ordinals), strict=True):
                pages = self._pending.get(ordinal, ())
                pending += [(page.entry, True) for page in pages]
                if entry is not None:
                    stored.append((entry, False))
                elif not pages:
                    has_gone = True
                    self._tables.forget(ordinal)
            if query.mark is None or not has_gone or len(ordinals) < OTHERS:
                break
            # Rows of pages that are gone may have taken the places of others: search again.
        return stored + pending

    def prefetch(self, queries: Sequence[Query], max_distance: int) -> None:
        """Search for several pages at once, which is faster than one by one. `within` then searches
        only if a row near the page was added later, or for another page with the same query.
        """
        found = self._tables.near(queries, max_distance)
        self._prefetched = {
            (query, max_distance): one for query, one in zip(queries, found, strict=True)
        }

    def observe_all(self, pages: Sequence[PageToObserve], rules: CrawlRules) -> list[Observed]:
        """Return for each page in turn what it is, and the pending page that it becomes, or None.
        Write the lines of near-duplicate and similar pages to the log. After an error, no page is
        pending.
        """
        if len(pages) > 1:
            self.prefetch([rules.query(page) for page in pages], rules.max_distance)
        observed: list[Observed] = []
        try:
            for page in pages:
                stored, last = self.last_seen(page.key)
                own, found = rules.last(page, last), list[Found]()
                if not rules.is_settled(own):
                    found = self.within(rules.query(page), rules.max_distance)
                observation, entry = rules.judge(page, stored, own, found, self.next_sequence)
                self.next_sequence += 1
                if observation.line is not None:
                    self.write_lines([observation.line])
                pending = None
                if entry is not None:
                    pending = Pending(
                        observation, entry, stored, observation.outdated, page.in_scope
                    )
                    self._make_pending(pending)
                observed.append((observation, pending))
        except BaseException:
            self.release([pending for _, pending in observed if pending is not None])
            self.unlog([one.sequence for one, _ in observed if one.similar_to is not None])
            raise
        return observed

    def hold(self, observed: Observation, rules: CrawlRules, supersedes: str | None) -> Pending:
        """Make a near-duplicate pending, and return it.

        :param supersedes: key of the representative that it replaces, or None.
        """
        stored, _ = self.last_seen(observed.key)
        entry = rules.new_entry(observed, observed.sequence)
        pending = Pending(observed, entry, stored, observed.outdated, supersedes=supersedes)
        self._make_pending(pending)
        return pending

    def release(self, pages: Iterable[Pending]) -> None:
        """Remove pages from the pending ones."""
        for page in pages:
            if not page.is_settled:
                page.is_settled = True
                for name in (page.entry.key, page.entry.ordinal):
                    self._pending[name].remove(page)
                    if not self._pending[name]:
                        del self._pending[name]
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
            replaced = [other for other in replaced if other.key not in self._pending]
            entry = self.write(entry, stored, replaced, held=page.entry)
            for other in self._pending[entry.key]:
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
        put = put._replace(ordinal=rows[0].ordinal if rows else self._add_row(put))
        self.next_sequence = max(self.next_sequence, put.number + 1, put.last_sequence + 1)
        removed, is_new = [*outdated], replaced is None
        if replaced is not None and replaced.ordinal != put.ordinal:
            removed.append(replaced)
            is_new = True
        row = (records.entry_row_key(put.ordinal), records.encode_entry(put, self._width_bytes))
        self.remove(removed, [row], added_entries=int(is_new))
        return put

    def remove(
        self, entries: Collection[Entry], puts: Sequence[Row] = (), *, added_entries: int = 0
    ) -> int:
        """Delete stored entries, and write rows: all or nothing. Return the number of the entries.

        :param added_entries: the number of new entries in `puts`.
        """
        keys = [records.entry_row_key(entry.ordinal) for entry in entries]
        self.write_rows(puts, keys, added_entries=added_entries - len(entries))
        for entry in entries:
            self._forget(entry.ordinal)
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

    def _make_pending(self, pending: Pending) -> None:
        """Add a pending page, which gets an ordinal and a row in the tables."""
        stored = pending.stored
        if stored is not None and _have_one_row(stored, pending.entry):
            ordinal = stored.ordinal
        else:
            ordinal = self._add_row(pending.entry)
        pending.entry = pending.entry._replace(ordinal=ordinal)
        for name in (pending.entry.key, ordinal):
            self._pending.setdefault(name, []).append(pending)

    def _add_row(self, entry: Entry) -> int:
        """Add a row to the tables for an entry that has none, and return its ordinal."""
        # Not `hamming_distance`: each row is compared with dozens of queries.
        value, queries = entry.fingerprint, [*self._prefetched]
        for one in queries:
            if (one[0].fingerprint ^ value).bit_count() <= one[1]:
                del self._prefetched[one]
        return self._tables.add_entry(entry)

    def _stored(self, ordinals: Sequence[int]) -> list[Entry | None]:
        """Return the stored entries with these ordinals; None for each that has none."""
        if not ordinals:
            return []
        rows = [records.entry_row_key(ordinal) for ordinal in ordinals]
        return [
            None if value is None else self._decoded(row, value, self._entry)
            for row, value in zip(rows, self.database.get_all(rows), strict=True)
        ]

    def _forget(self, ordinal: int) -> None:
        """Forget a row of the tables without a stored entry, unless a pending page has it: a search
        that finds it would search again.
        """
        if ordinal not in self._pending:
            self._tables.forget(ordinal)


def _have_one_row(one: Entry, other: Entry) -> bool:
    """Return True if two entries of a page have the same row in the tables."""
    if one.fingerprint != other.fingerprint:
        return False
    return one.evidence is other.evidence or mark_of(one.evidence) == mark_of(other.evidence)
