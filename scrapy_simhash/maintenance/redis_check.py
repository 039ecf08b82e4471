"""Check the consistency of an index in Redis: each stored entry must have a row in the journal.

Crawls may use the index during the check. It holds the rows of all entries in memory, about 250 MB
for a million.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index.records import decode_entry
from scrapy_simhash.index.redis.layout import digest_of, new_attempt, row_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.maintenance.check import CheckReport


def check_in_redis(
    index: RedisIndex, report: CheckReport, on_progress: Callable[[], object]
) -> None:
    """Add the counts and problems of an index to a report."""
    layout = index.layout
    last_sequence = 0
    entries: dict[bytes, str] = {}
    size = len(index)
    for digest, state in index.states():
        if not state.stored:
            continue
        report.entries += 1
        on_progress()
        try:
            entry = decode_entry(-1, state.stored, layout.width_bytes)  # Redis has no ordinals
        except ValueError:
            report.add(f"the entry with digest {digest.hex()} cannot be read")
            continue
        if digest != digest_of(entry.key):
            report.add(f"the entry of {entry.key!r} is stored under another digest")
        last_sequence = max(last_sequence, entry.number, entry.last_sequence)
        entries[row_id(layout.row(digest, new_attempt(), entry))] = entry.key
    for rows in index.journal():
        for row in rows:
            entries.pop(row_id(row), None)
    for page_key in entries.values():
        report.add(f"the entry of {page_key!r} has no row in the journal")
    if report.entries < min(size, len(index)):
        report.add(f"{size - report.entries} of {size} entries have no row in the journal")
    next_sequence = index.next_sequence
    if last_sequence >= next_sequence:
        report.add(
            f"an entry has the sequence number {last_sequence}, but on the server the number "
            f"{next_sequence} comes next"
        )
    try:
        for _ in index.lines():
            report.near_duplicates += 1
    except IndexCorrupt as error:
        report.add(error.detail)
