"""Export the entries of an index as records for other programs.

The record of an entry has these fields:

- `key`, `fingerprint` (hexadecimal) and `scheme` (the id of the scheme),
- `first_seen_s` and `last_seen_s` (Unix times),
- `near_duplicates`: number of log lines of pages that were confirmed to be copies of this one,
- `gave_items`: the page gave an item that the pipelines kept,
- `evidence`: what confirms a copy, as `encode_evidence` returns it (hexadecimal).

Records are sorted by age, because the oldest of equally near pages becomes the representative.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy_simhash.evidence import encode_evidence
from scrapy_simhash.fingerprint import to_hex
from scrapy_simhash.index import opened_database
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.index.rows import Rows
from scrapy_simhash.maintenance.sources import opened_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.index.redis.store import RedisStore
    from scrapy_simhash.maintenance.sources import Location


def entry_records(where: Location) -> Iterator[dict[str, Any]]:
    """Yield the entries of an index as records, oldest first. For errors, see `opened_store`."""
    with opened_store(where) as store:
        scheme = store.manifest.scheme
        copies = Counter(line.representative for line in store.near_duplicates() if line.confirmed)
        for entry in store.entries_by_age():
            yield {
                "key": entry.key,
                "fingerprint": to_hex(entry.fingerprint, scheme.bits),
                "scheme": scheme.id,
                "first_seen_s": entry.first_seen_s,
                "last_seen_s": entry.last_seen_s,
                "near_duplicates": copies[entry.key],
                "gave_items": entry.gave_items,
                "evidence": encode_evidence(entry.evidence).hex(),
            }


def near_duplicate_records(where: Location) -> Iterator[dict[str, Any]]:
    """Yield the log lines of near-duplicates as records, oldest first; for the fields, see
    `NearDuplicate`, for errors `opened_store`. Damaged entries are no error.
    """
    with _opened_rows(where) as store:
        scheme = store.manifest.scheme
        for line in store.near_duplicates():
            if not line.confirmed:
                continue
            similarity = line.similarity
            yield {
                "key": line.key,
                "representative": line.representative,
                "distance": line.distance,
                "fingerprint": to_hex(line.fingerprint, scheme.bits),
                "scheme": scheme.id,
                "seen_at_s": line.seen_at_s,
                "similarity_percent": None if similarity is None else round(100 * similarity),
                "action": line.action,
            }


@contextmanager
def _opened_rows(where: Location) -> Iterator[Rows | RedisStore]:
    """Yield the rows of an index without tables, which need that each entry can be read."""
    if isinstance(where, RedisAddress):
        with where.opened_store() as store:
            yield store
        return
    with opened_database(where) as (manifest, database):
        yield Rows(database, manifest)
