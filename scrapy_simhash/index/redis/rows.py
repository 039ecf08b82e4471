"""RedisRows: read, write, expire, compact and delete the content of an index in Redis.

Crawls may use the index at the same time, except during `write` and `delete`. `compact` must not
run during `write`. docs/decisions/redis.md says why `compact` is safe.
"""

from __future__ import annotations

import os
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simhash.errors import IndexLocked, StorageError
from scrapy_simhash.index.database import REDIS_REMEDY, corrupt
from scrapy_simhash.index.marks import mark_of
from scrapy_simhash.index.records import (
    SEQUENCE_BYTES,
    decode_entry,
    decode_key,
    decode_near_duplicate,
    encode_entry,
    encode_key,
    encode_near_duplicate,
)
from scrapy_simhash.index.redis import scripts
from scrapy_simhash.index.redis.layout import (
    ATTEMPT_BYTES,
    DIGEST_BYTES,
    FINGERPRINT_AT,
    KEYS,
    MARK_AT,
    MARK_BYTES,
    State,
    digest_of,
    row_id,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy_simhash.index.base import Entry, Found, NearDuplicate
    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.server import Server

_ENTRIES_AT_ONCE = 100
_ROWS_AT_ONCE = 1000
_SAMPLES = 1000
Value = TypeVar("Value")


class RedisRows:
    """The part of a `RedisStore` that observes no pages. For its keys and values see
    `scrapy_simhash.index.redis.layout`.
    """

    def __init__(self, server: Server, manifest: Manifest) -> None:
        self.server = server
        self.location = server.location
        self.manifest = manifest
        self.width_bytes = manifest.plan.bits // 8
        self._padding = bytes(-self.width_bytes % 4)
        self.row_bytes = FINGERPRINT_AT + self.width_bytes + len(self._padding)

    @property
    def next_sequence(self) -> int:
        """The number of the next observation."""
        last = self.server.call("GET", "sequence")
        return self._read("a number", int, last or 0) + 1

    def entry(self, key: str) -> Entry | None:
        """Return the stored entry of a page key, or None."""
        value = self.server.call("HGET", "entries", digest_of(key))
        return self._own(value or b"", key)

    def entries(self) -> Iterator[Entry]:
        """Yield all stored entries, in any order, perhaps without those that crawls just add."""
        for _, value in self._values():
            yield self._decoded(value)

    def entries_by_age(self) -> Iterator[Entry]:
        """Yield all stored entries, oldest first, except those that are gone by then."""
        ages = sorted(value[:SEQUENCE_BYTES] + digest for digest, value in self._values())
        for _, state in self.states(age[-DIGEST_BYTES:] for age in ages):
            if state.stored:
                yield self._decoded(state.stored)

    def _values(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (digest, value) of all stored entries."""
        seen = set[bytes]()  # the server may give one twice
        for digest, value in self.server.scan("entries"):
            if digest not in seen:
                seen.add(digest)
                yield digest, value

    def states(self, digests: Iterable[bytes]) -> Iterator[tuple[bytes, State]]:
        """Yield the states of digests."""
        remaining = iter(digests)
        while batch := list(islice(remaining, _ENTRIES_AT_ONCE)):
            for digest, state in zip(batch, self.server.run(scripts.LOOK, *batch), strict=True):
                yield digest, State(*state)

    def size_bytes(self) -> int:
        """Return the bytes that all keys of the index take in the server, by samples of them."""
        call = self.server.call
        return sum(call("MEMORY USAGE", key, "SAMPLES", _SAMPLES) or 0 for key in KEYS)

    def require_no_crawl(self) -> None:
        """Raise IndexLocked if pages are pending whose leases have not ended."""
        digests = self.server.call("HKEYS", "pending")
        pending = sum(len(state.pending) for _, state in self.states(digests))
        if pending:
            raise IndexLocked(
                self.location,
                f"crawls use it ({pending} pending pages): wait for their end; nothing was changed",
            )

    def write(self, put: Entry, replaced: Entry | None, outdated: Iterable[Entry]) -> None:
        """Store an entry and remove others, all or none; see `Store.write`. No crawl may use the
        index.
        """
        del replaced  # it has the key of `put`
        values: list[bytes | int] = [max(put.number, put.last_sequence), digest_of(put.key)]
        values += self.row(put), encode_entry(put, self.width_bytes)
        values += map(digest_of, (entry.key for entry in outdated))
        self.server.run(scripts.WRITE, *values)

    def skip_to(self, next_sequence: int) -> None:
        """Make the next sequence number at least this."""
        missing = next_sequence - self.next_sequence
        if missing > 0:
            self.server.call("INCRBY", "sequence", missing)

    def remove_pages(self, keys: Iterable[str]) -> list[str]:
        """Remove the entries of pages one by one, and return the keys whose entries were removed;
        not if a page is pending, or a crawl has just changed its entry.

        The pages' rows stay in the journal until `compact` removes them, but lead to no entry.
        """
        entries = ((key, self.entry(key)) for key in keys)
        return [key for key, entry in entries if entry is not None and self.remove([entry])]

    def remove(self, entries: Iterable[Entry]) -> int:
        """Remove stored entries one by one, but not those that have changed, or whose pages are
        pending. Return the number of removed ones, also of those that another process has removed
        or an earlier attempt whose answer was lost.
        """
        removed = 0
        for entry in entries:
            value = encode_entry(entry, self.width_bytes)
            removed += self.server.run(scripts.REMOVE, digest_of(entry.key), value)
        return removed

    def compact(self) -> int:
        """Remove from the journal repeated rows, and those of pages that are neither stored nor
        pending; return their number. Processes that use the index then read the journal again.

        Pages are read after their rows, each as it is stored and pending at one moment: a page that
        is confirmed in between must keep its row. Rows that are added later are kept.
        """
        rows, kept = self.journal(), dict[bytes, bytes]()
        # Its attempt is new, so that no replica ends with such a row after it was removed.
        blank = bytes(DIGEST_BYTES) + os.urandom(ATTEMPT_BYTES) + bytes(self.row_bytes - MARK_AT)
        while batch := list(islice(rows, _ENTRIES_AT_ONCE)):
            pages = self.states({row[:DIGEST_BYTES] for _, row in batch})
            found = (entry for _, state in pages for entry, _ in self.found_in(state))
            alive, gone = {self.row_id(entry) for entry in found}, list[Any]()
            for number, row in batch:
                # The last of equal rows stays: another process that compacts keeps it, too.
                if (one := row_id(row)) not in alive or kept.setdefault(one, row) != row:
                    gone += number, row
            if gone:
                self.server.run(scripts.BLANK, blank, *gone)
        return int(self.server.call("LREM", "journal", 0, blank))

    def delete(self) -> None:
        """Delete all keys of the index, and no others. :raises IndexLocked: pages are pending."""
        self.require_no_crawl()
        # The manifest is deleted last, so that an interrupted deletion can be repeated.
        for key in reversed(KEYS):
            self.server.call("UNLINK", key)

    def near_duplicates(self) -> Iterator[NearDuplicate]:
        """Yield the near-duplicate log, oldest first."""
        stop = self.next_sequence
        for first in range(0, stop, _ROWS_AT_ONCE):
            sequences = range(first, min(first + _ROWS_AT_ONCE, stop))
            values = self.server.call("HMGET", "log", *sequences)
            for sequence, value in zip(sequences, values, strict=True):
                if value is not None:
                    yield self._read("its log", decode_near_duplicate, sequence, value)

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """See `Index.notes`."""
        for name, note in self.server.call("HGETALL", "notes").items():
            yield self._read("the name of a note", decode_key, name), note

    def note(self, name: str) -> bytes | None:
        """Return the note of this name, or None."""
        note: bytes | None = self.server.call("HGET", "notes", encode_key(name))
        return note

    def replace_note(self, name: str, before: bytes | None, after: bytes | None) -> bool:
        """See `Store.replace_note`."""
        values = (encode_key(name), before or b"", after or b"")
        return bool(self.server.run(scripts.REPLACE_NOTE, *values))

    def write_lines(self, lines: Iterable[NearDuplicate]) -> None:
        """Write lines of the near-duplicate log whose numbers the server gave."""
        pairs = [(line.sequence, encode_near_duplicate(line)) for line in lines]
        if pairs:
            self.server.call("HSET", "log", *chain.from_iterable(pairs))

    def unlog(self, sequences: Iterable[int]) -> None:
        """Remove the lines with these sequence numbers, as far as there are any."""
        if numbers := [*sequences]:
            self.server.call("HDEL", "log", *numbers)

    def __len__(self) -> int:
        return int(self.server.call("HLEN", "entries"))

    def journal(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number, row) of the journal, the newest first. While another process compacts it,
        rows may come twice, but none is left out: they only move towards its begin.
        """
        stop = self.server.call("LLEN", "journal")
        while stop:
            start = max(stop - _ROWS_AT_ONCE, 0)
            rows = self.server.call("LRANGE", "journal", start, stop - 1)
            yield from reversed([*enumerate(rows, start)])
            stop = start

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the content, in sentences: each stored entry must be readable,
        and have a row in the journal. This takes about 250 MB for a million entries.
        """
        last_sequence = 0
        entries: dict[bytes, str] = {}
        for digest, value in self._values():
            try:
                entry = decode_entry(-1, value, self.width_bytes)
            except ValueError:
                yield f"the entry with digest {digest.hex()} cannot be read"
                continue
            if digest != digest_of(entry.key):
                yield f"the entry of {entry.key!r} is stored under another digest"
            last_sequence = max(last_sequence, entry.number, entry.last_sequence)
            entries[self.row_id(entry)] = entry.key
        for _, row in self.journal():
            entries.pop(row_id(row), None)
        for page_key in entries.values():
            yield f"the entry of {page_key!r} has no row in the journal"
        next_sequence = self.next_sequence
        if last_sequence >= next_sequence:
            yield (
                f"an entry has the sequence number {last_sequence}, but on the server the number "
                f"{next_sequence} comes next"
            )

    def row(self, page: Entry, attempt: bytes = b"") -> bytes:
        """Return a row of the journal, without an `attempt` with a new one."""
        mark = mark_of(page.evidence).to_bytes(MARK_BYTES, "little")
        fingerprint = page.fingerprint.to_bytes(self.width_bytes, "big")
        attempt = attempt or os.urandom(ATTEMPT_BYTES)
        return digest_of(page.key) + attempt + mark + fingerprint + self._padding

    def row_id(self, page: Entry) -> bytes:
        """Return the parts of a row that are equal for equal pages."""
        return row_id(self.row(page))

    def found_in(self, state: State) -> Iterator[Found]:
        """Yield the stored entry of a digest and those of its pending pages."""
        if state.stored:
            yield self._decoded(state.stored), False
        for _, value in state.pending:
            yield self._decoded(value), True

    def _own(self, value: bytes, key: str) -> Entry | None:
        """Return the entry of a page key from its value; None if that is b"".

        :raises StorageError: the entry has another page key with the same digest.
        """
        entry = self._decoded(value) if value else None
        if entry is not None and entry.key != key:
            raise StorageError(
                self.location,
                f"the page keys {key!r} and {entry.key!r} have the same digest: give one of the "
                "pages another key",
            )
        return entry

    def _decoded(self, value: bytes) -> Entry:
        return self._read("an entry", decode_entry, -1, value, self.width_bytes)

    def _read(self, what: str, decode: Callable[..., Value], *values: Any) -> Value:
        """Return a decoded value. :raises IndexCorrupt: `decode` raises ValueError."""
        try:
            return decode(*values)
        except ValueError as error:
            raise corrupt(self.location, f"{what}: {error}", REDIS_REMEDY) from error
