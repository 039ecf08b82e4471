"""RedisContent: read, load, expire, compact and delete the content of an index in Redis.

Crawls may use the index at the same time, except during `load` and `delete`. `compact` must not run
during `load`.
docs/decisions/redis.md says why `compact` is safe.
"""

from __future__ import annotations

import os
import struct
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexClosed, IndexLocked, StorageError
from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.records import (
    decode_entry,
    decode_key,
    decode_near_duplicate,
    encode_entry,
    encode_key,
    encode_near_duplicate,
)
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.layout import (
    KINDS,
    LOG_CHUNK,
    STATES,
    Group,
    digest_of,
    parsed_group,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy_simhash.index.base import Entry, NearDuplicate, SideKind
    from scrapy_simhash.index.redis.manifest import RedisManifest
    from scrapy_simhash.index.redis.server import Server

_LOADED_AT_ONCE = 100
_GROUPS_AT_ONCE = 64
_MEMORY_USAGE = "MEMORY USAGE"
# The list that `compact` writes is deleted by the server if it is not written to for so long.
_COMPACTION_TIMEOUT_S = 3600


class RedisContent:
    """The part of a `RedisIndex` that observes no pages. For its keys and values see `Layout`.

    :param name: name of the index.
    """

    def __init__(self, server: Server, manifest: RedisManifest, name: str) -> None:
        self.server = server
        self.location = server.location
        self.manifest = manifest
        self.scheme = manifest.scheme
        self.plan = manifest.plan
        self.layout = manifest.layout(name)
        self._closing = Event()

    @property
    def next_sequence(self) -> int:
        """The number of the next observation."""
        return self.server.numbers([self.layout.order.sequence])[0] + 1

    def entry(self, key: str) -> Entry | None:
        """Return the stored entry of a page key, or None."""
        self._require_open()
        return self._read(key)[0]

    def entries(self) -> Iterator[Entry]:
        """Yield all stored entries in arbitrary order."""
        for _, group in self.groups():
            yield from map(self._decoded, group.entries.values())

    def groups(self) -> Iterator[tuple[int, Group]]:
        """Yield all groups of pages with their numbers."""
        for first in range(0, 1 << self.layout.group_bits, _GROUPS_AT_ONCE):
            self._require_open()
            yield from self._groups(range(first, first + _GROUPS_AT_ONCE)).items()

    def pending_pages(self) -> int:
        """Return the number of pending pages, without those whose lease has ended."""
        return sum(len(group.pending) for _, group in self.groups())

    def memory_bytes(self) -> int:
        """Return the bytes that all keys of the index take in the server."""
        found = self.server.each_once(self.layout.pattern(KINDS), _MEMORY_USAGE)
        sizes = [size for _, (size,) in found]
        sizes += [self.server.call(_MEMORY_USAGE, self.layout.state(state)) for state in STATES]
        return sum(size or 0 for size in sizes)

    def require_no_crawl(self) -> None:
        """Raise IndexLocked if pages are pending."""
        pending = self.pending_pages()
        if pending:
            raise IndexLocked(
                self.location,
                f"crawls use it ({pending} pending pages): wait for their end; nothing was changed",
            )

    def load(self, entries: Iterable[Entry]) -> int:
        """Store entries of another index unchanged, except those whose page key is stored. Return
        the number of stored entries. No crawl may use this index, as entries are not compared. Nor
        may `compact` run, because it would remove rows whose entries are not stored yet.

        The number may be too low if an answer of the server was lost.
        """
        self._require_open()
        loaded = last = 0
        remaining = iter(entries)
        # In a cluster, entries are in several slots.
        at_once = 1 if self.server.cluster else _LOADED_AT_ONCE
        while batch := list(islice(remaining, _LOADED_AT_ONCE)):
            # The rows come first, because an entry without a row would not be found.
            self._append_rows(batch)
            for first in range(0, len(batch), at_once):
                loaded += self._load(batch[first : first + at_once])
            last = max(last, *(max(entry.number, entry.last_sequence) for entry in batch))
        self.skip_to(last + 1)
        return loaded

    def skip_to(self, next_sequence: int) -> None:
        """Make the next sequence number at least this."""
        missing = next_sequence - self.next_sequence
        if missing > 0:
            self.server.call("INCRBY", self.layout.order.sequence, missing)

    def forget(self, key: str) -> bool:
        """Remove the stored entry of a page. Return False if there is none, the page is pending, or
        a crawl has just changed the entry.

        The page's rows stay in the journal until `compact` removes them, but lead to no entry.
        """
        self._require_open()
        entry, value = self._read(key)
        return entry is not None and self._remove(entry, value)

    def expire(self, before_s: int, on_progress: Callable[[], object] = lambda: None) -> int:
        """Remove the entries of pages that were last seen before a Unix time, except pending pages.
        Return the number of removed entries.

        :param on_progress: called for each entry.
        """
        removed = 0
        for _, group in self.groups():
            for value in group.entries.values():
                entry = self._decoded(value)
                if entry.last_seen_s < before_s:
                    removed += self._remove(entry, value)
                on_progress()
        return removed

    def expire_log(self, before_s: int) -> int:
        """Remove the lines of the near-duplicate log before a Unix time; return their number."""
        removed = 0
        for line in self.lines():
            if line.seen_at_s < before_s:
                key = self.layout.log_key(line.sequence)
                removed += self.server.call("HDEL", key, line.sequence)
        return removed

    def compact(self) -> int:
        """Remove from the journal repeated rows, and those of pages that are neither stored nor
        pending; return their number. Processes that use the index then read the journal again.

        First the rows are copied, then all pages are read. Rows that are added later are kept. This
        takes about 200 MB for a million pages.
        """
        rows = [row for batch in self.journal() for row in batch]
        alive = set(self._row_ids())
        kept = []
        for row in rows:
            if (row_id := self.layout.row_id(row)) in alive:
                alive.remove(row_id)  # so a repeated row is not kept
                kept.append(row)
        if len(kept) == len(rows):
            return 0
        journal = self.layout.order.journal
        # Another process may compact at the same time.
        new = self.layout.state("journal-" + os.urandom(8).hex())
        written, remaining = 0, iter([b"", *kept])
        while batch := list(islice(remaining, scripts.ROWS_AT_ONCE)):
            self.server.run(scripts.APPEND_ROWS, (new,), (written, _COMPACTION_TIMEOUT_S, *batch))
            written += len(batch)
        if self.server.run(scripts.REPLACE_ROWS, (journal, new), (len(rows), rows[-1])):
            return len(rows) - len(kept)
        self.server.call("UNLINK", new)
        return 0

    def delete(self) -> None:
        """Delete all keys of the index, and no others.

        :raises IndexLocked: pages are pending.
        """
        self.require_no_crawl()
        for _ in self.server.each(self.layout.pattern(KINDS), "UNLINK"):
            pass
        # The manifest is deleted last, so that an interrupted deletion can be repeated.
        for state in reversed(STATES):
            self.server.call("UNLINK", self.layout.state(state))

    def lines(self, since: int = 0) -> Iterator[NearDuplicate]:
        """Yield the near-duplicate log from a sequence number on, oldest first."""
        self._require_open()
        for first in range(since - since % LOG_CHUNK, self.next_sequence, LOG_CHUNK):
            self._require_open()
            chunk = self.server.call("HGETALL", self.layout.log_key(first))
            for sequence, value in sorted((int(field), value) for field, value in chunk.items()):
                if sequence >= since:
                    self._require_open()
                    yield self._decoded_line(sequence, value)

    def side_rows(self, kind: SideKind) -> list[tuple[str, bytes]]:
        """See `ObservingIndex.side_rows`."""
        self._require_open()
        rows = self.server.call("HGETALL", self.layout.state(kind))
        try:
            return [(decode_key(name), row) for name, row in rows.items()]
        except ValueError as error:
            raise corrupt(
                self.location, f"the name of a side row: {error}", REDIS_REMEDY
            ) from error

    def side_row(self, kind: SideKind, name: str) -> bytes | None:
        """See `ObservingIndex.side_row`."""
        self._require_open()
        row: bytes | None = self.server.call("HGET", self.layout.state(kind), encode_key(name))
        return row

    def change_side_row(
        self, kind: SideKind, name: str, change: Callable[[bytes | None], bytes | None]
    ) -> None:
        """See `ObservingIndex.change_side_row`."""
        while True:
            before = self.side_row(kind, name)
            if self.replace_side_row(kind, name, before, change(before)):
                return

    def replace_side_row(
        self, kind: SideKind, name: str, before: bytes | None, after: bytes | None
    ) -> bool:
        """See `ObservingIndex.replace_side_row`."""
        self._require_open()
        values = (encode_key(name), before or b"", after or b"")
        return bool(self.server.run(scripts.REPLACE_FIELD, (self.layout.state(kind),), values))

    def write_line(self, line: NearDuplicate) -> None:
        """Write a line of the near-duplicate log, or replace the line with its sequence number."""
        self.write_lines([line])

    def write_lines(self, lines: Iterable[NearDuplicate]) -> None:
        """Do what `write_line` does for each line."""
        values: dict[bytes, list[bytes | int]] = {}
        for line in lines:
            value = encode_near_duplicate(line, self.layout.width_bytes)
            values.setdefault(self.layout.log_key(line.sequence), []).extend((line.sequence, value))
        for key, fields in values.items():
            self.server.call("HSET", key, *fields)

    def __len__(self) -> int:
        self._require_open()
        return sum(self.server.numbers(self.layout.count_keys))

    def _require_open(self) -> None:
        if self._closing.is_set():
            raise IndexClosed(self.location, "used after close()")

    def _groups(self, numbers: Sequence[int]) -> dict[int, Group]:
        """Return groups by number."""
        layout = self.layout
        # The groups that one script can read. In a cluster, each shard is in another slot.
        together: dict[int, list[int]] = {}
        for number in numbers:
            shard = layout.shard_of(number) if self.server.cluster else 0
            together.setdefault(shard, []).append(number)
        groups = {}
        for slot in together.values():
            for first in range(0, len(slot), scripts.MAX_GROUPS):
                batch = slot[first : first + scripts.MAX_GROUPS]
                keys = [key for number in batch for key in layout.group_keys(number)[:2]]
                answers = self.server.run(scripts.LOOK, keys)
                for number, answer in zip(batch, answers, strict=True):
                    groups[number] = self._parsed(*answer)
        return groups

    def _parsed(self, packed: bytes, *pending: bytes) -> Group:
        """Return a group from the values of its two keys. :raises IndexCorrupt: one is damaged."""
        try:
            return parsed_group(packed, *pending)
        except (ValueError, struct.error) as error:
            raise corrupt(self.location, f"a group of pages: {error}", REDIS_REMEDY) from error

    def _group(self, digest: bytes) -> Group:
        number = self.layout.group_of(digest)
        return self._groups([number])[number]

    def _read(self, key: str) -> tuple[Entry | None, bytes]:
        """Return (stored entry of a page key, its value); (None, b"") if there is none."""
        digest = digest_of(key)
        value = self._group(digest).entries.get(digest, b"")
        return self._own(value, key), value

    def _remove(self, entry: Entry, value: bytes) -> bool:
        """Remove an entry. Return False if its value has changed, or its page is pending; True also
        if another process, or an earlier attempt whose answer was lost, has removed it.
        """
        digest = digest_of(entry.key)
        keys = self.layout.group_keys(self.layout.group_of(digest))
        return bool(self.server.run(scripts.REMOVE, keys, (digest, value)))

    def journal(self) -> Iterator[list[bytes]]:
        """Yield all rows of the journal, many at once.

        :raises StorageError: another process has compacted the journal at the same time.
        """
        start, last = 0, b""
        while True:
            self._require_open()
            at, rows = self.server.run(scripts.FOLLOW, (self.layout.order.journal,), (start, last))
            if at != start:
                raise StorageError(self.location, "it was compacted at the same time: try again")
            if not rows:
                return
            yield rows
            start, last = start + len(rows), rows[-1]

    def _append_rows(self, entries: Iterable[Entry]) -> None:
        """Append rows for entries to the journal."""
        rows = [self.layout.journal_row(digest_of(entry.key), entry) for entry in entries]
        self.server.call("RPUSH", self.layout.order.journal, *rows)

    def _row_ids(self) -> Iterator[bytes]:
        """Yield `Layout.row_id` of all stored and pending pages."""
        for _, group in self.groups():
            for digest, value in group.entries.items():
                yield self._row_id(digest, value)
            for page in group.pending:
                yield self._row_id(page.digest, page.entry)

    def _row_id(self, digest: bytes, value: bytes) -> bytes:
        return self.layout.row_id(self.layout.journal_row(digest, self._decoded(value)))

    def _load(self, entries: Sequence[Entry]) -> int:
        """Store entries whose page key is not stored; return their number. In a cluster, this takes
        one entry.
        """
        layout, keys, arguments = self.layout, list[bytes](), list[bytes]()
        for entry in entries:
            digest = digest_of(entry.key)
            entries_key, _, count_key = layout.group_keys(layout.group_of(digest))
            keys += (entries_key, count_key)
            arguments += (digest, encode_entry(entry, layout.width_bytes))
        return int(self.server.run(scripts.LOAD, keys, arguments))

    def _own(self, value: bytes, key: str) -> Entry | None:
        """Return the entry of a page key from its value; None if that is b"".

        :raises StorageError: the entry has another page key with the same digest.
        """
        if not value:
            return None
        entry = self._decoded(value)
        if entry.key != key:
            raise StorageError(
                self.location,
                f"the page keys {key!r} and {entry.key!r} have the same digest: give one of the "
                "pages another key",
            )
        return entry

    def _decoded(self, value: bytes) -> Entry:
        try:
            return decode_entry(-1, value, self.layout.width_bytes)
        except ValueError as error:
            raise corrupt(self.location, f"an entry: {error}", REDIS_REMEDY) from error

    def _decoded_line(self, sequence: int, value: bytes) -> NearDuplicate:
        try:
            return decode_near_duplicate(sequence, value, self.layout.width_bytes)
        except ValueError as error:
            raise corrupt(self.location, f"its log: {error}", REDIS_REMEDY) from error
