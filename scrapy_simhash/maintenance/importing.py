"""Make a new index from records of entries, as ``export`` or another program wrote them.

For the fields, see `maintenance.export`.
"""

from __future__ import annotations

import json
import time
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.documents.files import (
    DamagedFile,
    opened,
    replaced,
    standard_input,
    uncompressed,
)
from scrapy_simhash.errors import IndexMissing, SchemeError, SimhashError, StorageError
from scrapy_simhash.evidence import decode_evidence
from scrapy_simhash.fingerprint import from_hex
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.maintenance.rewriting import new_store
from scrapy_simhash.sketch import SKETCH_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.index.redis.store import RedisStore
    from scrapy_simhash.index.store import Store
    from scrapy_simhash.maintenance.sources import Location
    from scrapy_simhash.scheme import Scheme


_MAX_TIME_S = (1 << 32) - 1


class PlacedRecord(NamedTuple):
    """A record to import, with its place in the file for error messages."""

    place: str
    record: Mapping[str, Any]


def import_entries(
    where: Location, manifest: Manifest, placed_records: Iterable[PlacedRecord]
) -> int:
    """Create an index from records of entries, and return their number. An error leaves no index.

    :param manifest: that of the new index; also for StorageError.
    :param placed_records: oldest first; only `key` and `fingerprint` are required.
    :raises SimhashError: a record is invalid, or has the key of an earlier one.
    """
    now_s = int(time.time())
    with _making(where, manifest) as store:
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
        if not len(store):
            raise SimhashError("there is no record to import; nothing was imported")
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
        file = uncompressed(standard_input()) if name == "-" else opened(Path(name))
        with file as lines:
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


@contextmanager
def _making(where: Location, manifest: Manifest) -> Iterator[Store | RedisStore]:
    """Yield the empty store of a new index. After an error, there is no new index.

    A new directory gets its name at the end. An interruption leaves one named ``.simhash-…`` beside
    it. One that exists gets its manifest at the end. An interruption leaves a database in it.

    :param manifest: manifest of the new index.
    :raises StorageError: the directory is not empty, the name is taken, or the storage fails.
    """
    if isinstance(where, RedisAddress):
        with suppress(IndexMissing), where.opened_store():
            raise StorageError(str(where), "there is an index of that name: choose another")
        with closing(where.store(new=lambda: manifest)) as in_redis:
            try:
                yield in_redis
            except BaseException:
                in_redis.delete()
                raise
        return
    location = str(where)
    try:
        if where.exists() and any(where.iterdir()):
            raise StorageError(location, "it is not empty: choose a new directory")
        where.parent.mkdir(parents=True, exist_ok=True)
        # A directory that exists may be a mount, which no other can replace.
        with nullcontext(where) if where.exists() else replaced(where) as directory:
            directory.mkdir(mode=0o700, exist_ok=True)
            with new_store(directory, manifest, location) as store:
                yield store
            manifest.write(directory)
    except OSError as error:
        raise StorageError(location, f"it cannot be created or written ({error})") from error
