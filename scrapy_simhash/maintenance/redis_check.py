"""Check the consistency of an index in Redis.

Every entry must be in the group of its key and have a record in one bucket of each table, and the
counts must match. Crawls may go on; while they do, counts are not compared.
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

_CHECKED_AT_ONCE = 1000


def check_in_redis(
    index: RedisIndex, report: CheckReport, on_progress: Callable[[], object]
) -> None:
    """Add what is found to a report."""
    layout, server = index.layout, index.server
    counts: Counter[bytes] = Counter()
    batch: list[Entry] = []
    pending = highest = 0
    for number, group in index.groups():
        pending += len(group.pending)
        for digest, value in group.entries.items():
            report.entries += 1
            counts[layout.group_keys(number)[2]] += 1
            on_progress()
            try:
                entry = decode_entry(-1, value, layout.width_bytes)
            except ValueError as error:
                report.problem(f"an entry in group {number} cannot be read: {error}")
                continue
            if digest != digest_of(entry.key) or layout.group_of(digest) != number:
                report.problem(f"the entry of {entry.key!r} is in the place of another")
            highest = max(highest, entry.number, entry.met)
            batch.append(entry)
        if len(batch) >= _CHECKED_AT_ONCE:
            _check_records(index, batch, report)
            batch = []
    _check_records(index, batch, report)
    if highest >= index.next_sequence:
        report.problem(
            f"sequence {highest} was given, but {index.next_sequence} is said to come next"
        )
    for name, number_of in zip(layout.count_keys, server.values(layout.count_keys), strict=True):
        counted = int(number_of or 0)
        if counted != counts[name] and not pending:
            report.problem(f"{name!r} counts {counted} entries, there were {counts[name]}")
    for key, (length,) in server.each(layout.pattern("t"), "STRLEN"):
        report.records += length // layout.record_bytes
        if length % layout.record_bytes:
            report.problem(f"the bucket {key!r} has {length} bytes, which are no whole records")
    try:
        for _ in index.lines():
            report.near_duplicates += 1
    except IndexCorrupt as error:
        report.problem(error.detail)


def _check_records(index: RedisIndex, entries: Sequence[Entry], report: CheckReport) -> None:
    """Look for the records of entries in all tables."""
    layout, size = index.layout, index.layout.record_bytes
    prefixes = [index.plan.prefixes(entry.fingerprint) for entry in entries]
    for table in range(len(index.plan.tables)) if entries else ():
        head = layout.table_head(table)
        names = [head + one[table].to_bytes(layout.prefix_bytes, "big") for one in prefixes]
        for entry, value in zip(entries, index.server.call("MGET", *names), strict=True):
            record, packed = layout.record(digest_of(entry.key), entry.fingerprint), value or b""
            if record not in (packed[at : at + size] for at in range(0, len(packed), size)):
                report.problem(f"the entry of {entry.key!r} has no record in table {table}")
