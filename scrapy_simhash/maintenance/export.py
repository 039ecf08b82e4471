"""Export the entries of an index as records for other programs, and import them.

The record of an entry has these fields:

- `key`, `fingerprint` (hexadecimal) and `scheme` (the id of the scheme),
- `first_seen_s` and `last_seen_s` (Unix times),
- `near_duplicates`: number of log lines of pages that were confirmed to be copies of this one,
- `gave_items`: the page gave an item that the pipelines kept,
- `evidence`: what confirms a copy, as `encode_evidence` returns it (hexadecimal).

Records are sorted by age, because the oldest of equally near pages becomes the representative.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.documents.files import DamagedFile, standard_input, uncompressed
from scrapy_simhash.errors import SchemeError, SimhashError
from scrapy_simhash.evidence import decode_evidence, encode_evidence
from scrapy_simhash.fingerprint import from_hex, to_hex
from scrapy_simhash.index.base import Entry
from scrapy_simhash.maintenance.rewriting import making
from scrapy_simhash.maintenance.sources import Location, opened_store
from scrapy_simhash.sketch import SKETCH_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.scheme import Scheme


_MAX_TIME_S = (1 << 32) - 1


class PlacedRecord(NamedTuple):
    """A record to import, with its place in the file for error messages."""

    place: str
    record: Mapping[str, Any]


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
    `NearDuplicate`, for errors `opened_store`.
    """
    with opened_store(where) as store:
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


def import_entries(
    where: Location, manifest: Manifest, placed_records: Iterable[PlacedRecord]
) -> int:
    """Create an index from records of entries, and return their number. An error leaves no index.

    :param manifest: see `making`; also for StorageError.
    :param placed_records: oldest first; only `key` and `fingerprint` are required.
    :raises SimhashError: a record is invalid, or has the key of an earlier one.
    """
    now_s = int(time.time())
    with making(where, manifest) as store:
        for number, (place, record) in enumerate(placed_records, 1):
            try:
                entry = _entry(record, manifest.scheme, number, now_s)
            except (KeyError, TypeError, ValueError) as error:
                reason = f"it has no {error}" if isinstance(error, KeyError) else error
                raise SimhashError(f"{place}: {reason}; nothing was imported") from error
            if store.entry(entry.key) is not None:
                raise SimhashError(
                    f"{place}: the key {entry.key!r} came before; nothing was imported"
                )
            store.write(entry, None, ())
        return len(store)


def _is_time(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_TIME_S


# Name → a test of its value, and what the value must be. All but the key may be missing or None.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "key": (lambda value: isinstance(value, str) and value != "", "a non-empty string"),
    "first_seen_s": (_is_time, "a Unix time in whole seconds"),
    "last_seen_s": (_is_time, "a Unix time in whole seconds"),
    "gave_items": (lambda value: isinstance(value, bool), "true or false"),
    "evidence": (lambda value: isinstance(value, str), "hexadecimal digits"),
}


def _entry(record: Mapping[str, Any], scheme: Scheme, number: int, now_s: int) -> Entry:
    """Return the entry of a record. If one time is missing, both are equal; if both, `now_s`.

    :raises KeyError, TypeError, ValueError: a field is missing, or has a wrong type or value.
    """
    given = {"key": record["key"]}
    given |= {name: value for name, value in record.items() if value is not None}
    for name, (is_valid, what) in _FIELDS.items():
        if name in given and not is_valid(given[name]):
            raise ValueError(f"{name} must be {what}, not {given[name]!r}")
    if given.get("scheme", scheme.id) != scheme.id:
        raise SchemeError(
            f"its scheme is {given['scheme']!r}, but the index has {scheme.id!r}: their "
            "fingerprints cannot be compared"
        )
    last_seen_s = given.get("last_seen_s", given.get("first_seen_s", now_s))
    first_seen_s = given.get("first_seen_s", last_seen_s)
    if last_seen_s < first_seen_s:
        raise ValueError(f"last_seen_s {last_seen_s} is before first_seen_s {first_seen_s}")
    evidence = decode_evidence(bytes.fromhex(given.get("evidence", "")))
    if len(evidence.sketch) not in (0, SKETCH_BYTES):
        raise ValueError(f"the sketch of its evidence has {len(evidence.sketch)} bytes")
    return Entry(
        number,
        given["key"],
        from_hex(record["fingerprint"], scheme.bits),
        number,
        first_seen_s,
        last_seen_s,
        evidence=evidence,
        gave_items=given.get("gave_items", False),
    )


def read_records(name: str) -> Iterator[PlacedRecord]:
    """Yield the records of a file of JSON lines without checking their fields.

    :param name: name of a file, which may be gzipped; or ``-`` for standard input.
    :raises SimhashError: the file has another format or is damaged, or standard input is closed.
    :raises OSError: the file cannot be read.
    """
    number = 0
    try:
        with (
            nullcontext(standard_input()) if name == "-" else Path(name).open("rb") as file,
            uncompressed(file) as lines,
        ):
            for number, line in enumerate(lines, 1):
                if line.strip():
                    record = json.loads(line)
                    if not isinstance(record, dict):
                        raise ValueError("not a JSON object")
                    yield PlacedRecord(f"{name}, line {number}", record)
    except (ValueError, RecursionError) as error:
        raise SimhashError(f"{name}, line {number}: {error}; expected JSON lines") from error
    except DamagedFile as error:
        raise SimhashError(f"{name}: truncated or damaged ({error})") from error
