"""Check the consistency of an index in Redis.

Each entry must be in the group of its key, and have a record in a bucket of each table. The counter
of each shard must equal the number of its entries (`scrapy_simhash.index.redis.layout` defines the
terms). Crawls may use the index during the check. Then the counters change, and are not compared.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index.records import decode_entry
from scrapy_simhash.index.redis.layout import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.index.base import Entry
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.maintenance.check import CheckReport

_ENTRIES_AT_ONCE = 1000


def check_in_redis(
    index: RedisIndex, report: CheckReport, on_progress: Callable[[], object]
) -> None:
    """Add the counts and problems of an index to a report."""
    layout, server = index.layout, index.server
    entries_by_counter: Counter[bytes] = Counter()
    batch: list[Entry] = []
    has_pending, last_sequence = False, 0
    next_sequence_before = index.next_sequence
    for number, group in index.groups():
        has_pending = has_pending or bool(group.pending)
        _, _, counter_key = layout.group_keys(number)
        entries_by_counter[counter_key] += len(group.entries)
        for digest, value in group.entries.items():
            report.entries += 1
            on_progress()
            try:
                entry = decode_entry(-1, value, layout.width_bytes)  # Redis has no ordinals
            except ValueError:
                report.add(f"the entry with digest {digest.hex()} in group {number} cannot be read")
                continue
            if digest != digest_of(entry.key) or layout.group_of(digest) != number:
                report.add(f"the entry of {entry.key!r} is stored under another digest or group")
            last_sequence = max(last_sequence, entry.number, entry.met)
            batch.append(entry)
        if len(batch) >= _ENTRIES_AT_ONCE:
            _check_records(index, batch, report)
            batch = []
    _check_records(index, batch, report)
    next_sequence = index.next_sequence
    if last_sequence >= next_sequence:
        report.add(
            f"an entry has the sequence number {last_sequence}, but on the server the number "
            f"{next_sequence} comes next"
        )
    is_in_use = has_pending or next_sequence != next_sequence_before
    for key, stored in zip(layout.count_keys, server.values(layout.count_keys), strict=True):
        stored_count, count = int(stored or 0), entries_by_counter[key]
        if stored_count != count and not is_in_use:
            report.add(
                f"the shard counter {key!r} counts {stored_count} entries, but there are {count}"
            )
    for key, (length,) in server.each_once(layout.pattern("t"), "STRLEN"):  # buckets of tables
        report.records += length // layout.record_bytes
        if length % layout.record_bytes:
            report.add(
                f"the bucket {key!r} has {length} bytes, not a multiple of {layout.record_bytes}"
            )
    try:
        for _ in index.lines():
            report.near_duplicates += 1
    except IndexCorrupt as error:
        report.add(error.detail)


def _check_records(index: RedisIndex, entries: Sequence[Entry], report: CheckReport) -> None:
    """Report entries that have no record in a table."""
    if not entries:
        return
    layout, size = index.layout, index.layout.record_bytes
    prefixes = [index.plan.prefixes(entry.fingerprint) for entry in entries]
    for table in range(len(index.plan.tables)):
        head = layout.table_head(table)
        keys = [head + each[table].to_bytes(layout.prefix_bytes, "big") for each in prefixes]
        for entry, value in zip(entries, index.server.call("MGET", *keys), strict=True):
            record = layout.record(digest_of(entry.key), entry.fingerprint)
            bucket = value or b""
            if record not in (bucket[at : at + size] for at in range(0, len(bucket), size)):
                report.add(f"the entry of {entry.key!r} has no record in table {table}")
