"""Check the consistency of an index in Redis.

Each entry must be in the group of its key, and have a row in the journal. The counter of each shard
must equal the number of its entries (`scrapy_simhash.index.redis.layout` defines the terms). Crawls
may use the index during the check. Then the counters change, and are not compared.

The check holds the keys of all entries in memory, about 250 MB for a million.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index.records import decode_entry
from scrapy_simhash.index.redis.layout import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.maintenance.check import CheckReport


def check_in_redis(
    index: RedisIndex, report: CheckReport, on_progress: Callable[[], object]
) -> None:
    """Add the counts and problems of an index to a report."""
    layout, server = index.layout, index.server
    entries_by_counter: Counter[bytes] = Counter()
    entries: dict[bytes, str] = {}
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
            last_sequence = max(last_sequence, entry.number, entry.last_sequence)
            row = layout.journal_row(digest, entry)
            entries[layout.row_id(row)] = entry.key
    for row in chain.from_iterable(index.journal()):
        entries.pop(layout.row_id(row), None)
    for page_key in entries.values():
        report.add(f"the entry of {page_key!r} has no row in the journal")
    next_sequence = index.next_sequence
    if last_sequence >= next_sequence:
        report.add(
            f"an entry has the sequence number {last_sequence}, but on the server the number "
            f"{next_sequence} comes next"
        )
    is_in_use = has_pending or next_sequence != next_sequence_before
    stored_counts = server.numbers(layout.count_keys)
    for key, stored_count in zip(layout.count_keys, stored_counts, strict=True):
        count = entries_by_counter[key]
        if stored_count != count and not is_in_use:
            report.add(
                f"the shard counter {key!r} counts {stored_count} entries, but there are {count}"
            )
    try:
        for _ in index.lines():
            report.near_duplicates += 1
    except IndexCorrupt as error:
        report.add(error.detail)
