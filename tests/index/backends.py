"""The back ends that the contract's tests run over, and raw looks into an index on disk."""

from __future__ import annotations

import json
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

import pytest
import xxhash

from scrapy_simhash import Scheme
from scrapy_simhash.index import (
    ObservingIndex,
    TablePlan,
    buckets,
    buffer,
    open_index,
    records,
    tables,
)
from scrapy_simhash.index.cost import check_bits
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.memory import MemoryStore
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.index.shared import SharedStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.index.base import Entry, Match, Observation

# Small, so that distances collide, and exact at K.
BITS = 16
K = 3
SCHEME = Scheme(bits=BITS)
PLAN = TablePlan(BITS, 4)
FAR = (0x0000, 0x00FF, 0xFF00, 0xFFFF)  # at least 8 bits from each other

# Kinds of database, with the package that each needs.
PACKAGES = {"leveldb": "plyvel", "rocksdb": "rocksdict"}


def kind_parameter(kind: str, value: str | None = None) -> object:
    """A test's parameter for that kind of index, skipped where its package is not installed."""
    package = PACKAGES.get(kind)
    missing = package is not None and find_spec(package) is None
    reason = f"no index in {kind}: the package {package} is not installed"
    return pytest.param(value or kind, marks=pytest.mark.skipif(missing, reason=reason))


DATABASE_KINDS = [kind_parameter(kind) for kind in PACKAGES]
KINDS = [kind_parameter("memory"), *DATABASE_KINDS]
INSTALLED_KINDS = [kind for kind, package in PACKAGES.items() if find_spec(package) is not None]


@contextmanager
def small_buffers(
    capacity: int = 1,
    *,
    open_row_records: int = 2,
    closed_row_records: int = 3,
    max_list_bits: int = 17,
    max_bytes: int = 4096,
) -> Iterator[None]:
    """Stores that are made meanwhile spill after so few entries, bit by bit, to short rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffer, "_MAX_LIST_BITS", max_list_bits)
        patch.setattr(buffer, "_MAX_BYTES", max_bytes)
        patch.setattr(buckets, "_MIN_CAPACITY", capacity)
        patch.setattr(buckets, "OPEN_ROW_RECORDS", open_row_records)
        patch.setattr(buckets, "CLOSED_ROW_RECORDS", closed_row_records)
        patch.setattr(buckets, "SPILL_EVERY", 1)
        patch.setattr(tables, "SPILL_EVERY", 1)
        patch.setattr(buckets, "BUFFER_BYTES", 0)
        yield


def flip(fingerprint: int, *bits: int) -> int:
    for bit in bits:
        fingerprint ^= 1 << bit
    return fingerprint


def seen(observation: Observation) -> tuple[str, str | None, int | None]:
    return observation.kind, observation.representative, observation.distance


def found(matches: list[Match]) -> list[tuple[str, int, int]]:
    return [(match.key, match.fingerprint, match.distance) for match in matches]


class MemoryBackend:
    """A memory index that can be reopened: its store stays, as a directory would."""

    name = "memory"

    def __init__(self, plan: TablePlan = PLAN) -> None:
        self._store = MemoryStore(plan.bits)
        checks = check_bits(plan.bits, K)
        self._manifest = Manifest(Scheme(bits=plan.bits), plan, K, {}, checks, "memory")
        self._shared: SharedStore | None = None

    def open(
        self,
        *,
        max_distance: int = K,
        incremental: bool = False,
        confirmation: Confirmation | None = None,
    ) -> ObservingIndex:
        if self._shared is None:
            self._shared = SharedStore(self._store, self._manifest, "memory")
        self._shared.users += 1
        return ObservingIndex(
            self._shared,
            rules=Rules(max_distance, confirmation or self._manifest.confirmation),
            incremental=incremental,
            on_close=self._release,
        )

    def _release(self, shared: SharedStore) -> None:
        shared.users -= 1
        if not shared.users:
            self._shared = None


@dataclass
class DatabaseBackend:
    """An index in a directory."""

    directory: Path
    plan: TablePlan = PLAN

    name: ClassVar[str]

    @property
    def url(self) -> str:
        return f"{self.name}:{self.directory}"

    def open(
        self,
        *,
        max_distance: int = K,
        incremental: bool = False,
        confirmation: Confirmation | None = None,
    ) -> ObservingIndex:
        return open_index(
            self.url,
            Scheme(bits=self.plan.bits),
            max_distance=max_distance,
            plan=self.plan,
            incremental=incremental,
            confirmation=confirmation,
        )


class LevelDBBackend(DatabaseBackend):
    name = "leveldb"


class RocksDBBackend(DatabaseBackend):
    name = "rocksdb"


Backend = MemoryBackend | LevelDBBackend | RocksDBBackend


def make_backend(name: str, directory: Path, plan: TablePlan = PLAN) -> Backend:
    if name == "memory":
        return MemoryBackend(plan)
    return {"leveldb": LevelDBBackend, "rocksdb": RocksDBBackend}[name](directory, plan)


def rows(directory: Path) -> dict[bytes, bytes]:
    """All rows of a closed index, in their order, read without this package."""
    made = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    kind, generation = made["database"], made.get("generation", 0)
    path = directory / (f"{kind}-{generation}" if generation else kind)
    return {"leveldb": _rows_of_leveldb, "rocksdb": _rows_of_rocksdb}[kind](path)


def _rows_of_leveldb(path: Path) -> dict[bytes, bytes]:
    import plyvel

    database = plyvel.DB(str(path), create_if_missing=False, compression=None)
    try:
        return dict(database.iterator(verify_checksums=True))
    finally:
        database.close()


def _rows_of_rocksdb(path: Path) -> dict[bytes, bytes]:
    import rocksdict

    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(False)
    database = rocksdict.Rdict(str(path), options)
    try:
        return dict(database.items())
    finally:
        database.close()


@dataclass(frozen=True)
class CheckedRows:
    """What an index holds, after its rows were found to fit each other.

    :param entries: by page key.
    :param most_rows: of a bucket.
    :param lacking: entries that lack records in buckets.
    :param early: entries that have some, while the state row says that they may lack some.
    """

    entries: dict[str, Entry]
    most_rows: int
    lacking: int
    early: int


def check_rows(
    stored: dict[bytes, bytes], plan: TablePlan, check_bits: int, *, closed: bool = False
) -> CheckedRows:
    """Check that all rows of an index fit each other, by their description alone.

    Each record in a bucket belongs to an entry, and is in it once; each entry has its record in
    a bucket of each table and among the page keys, but entries that the state row says are not in
    the buckets yet may lack some: none may after a `closed` index has spilled them.
    """
    state = _State(*struct.unpack(">QQII", stored[b"S"]))
    entries = _entries(stored, plan, state, closed=closed)
    _check_log(stored, plan, state)
    expected = {
        record for entry in entries.values() for record in _records_of(entry, plan, check_bits)
    }
    by_bucket = _rows_by_bucket(stored, plan)
    kept = list(_kept_records(by_bucket, check_bits))
    assert len(kept) == len(set(kept)), "a record is in its bucket twice"
    assert set(kept) <= expected, "a record has no entry"
    lacking = {ordinal for _, _, ordinal in expected.difference(kept)}
    if closed:
        assert not lacking, "an entry has no record in a table"
    assert all(ordinal >= state.first_buffered for ordinal in lacking)
    other = {row for row in stored if row[:1] not in {b"E", b"N", b"T", b"K"}}
    assert other == {b"S"}, "rows of no known kind"
    by_key = {entry.key: entry for entry in entries.values()}
    assert len(by_key) == len(entries), "a page has two entries"
    return CheckedRows(
        by_key,
        max(map(len, by_bucket.values()), default=0),
        len(lacking),
        len({ordinal for _, _, ordinal in kept if ordinal >= state.first_buffered}),
    )


def checked_rows(directory: Path, plan: TablePlan, *, closed: bool = False) -> CheckedRows:
    """The rows of an index that nobody has open; see `check_rows`."""
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    return check_rows(rows(directory), plan, manifest["check_bits"], closed=closed)


def checked_entries(directory: Path, plan: TablePlan, *, closed: bool = False) -> dict[str, Entry]:
    """The entries of an index by page key; see `checked_rows`."""
    return checked_rows(directory, plan, closed=closed).entries


@dataclass(frozen=True)
class _State:
    next_sequence: int
    entries: int
    next_ordinal: int
    first_buffered: int


def _entries(
    stored: dict[bytes, bytes], plan: TablePlan, state: _State, *, closed: bool
) -> dict[int, Entry]:
    """The entries by ordinal, which agree with the state row."""
    entries = {}
    for row, value in stored.items():
        if row[:1] == b"E":
            (ordinal,) = struct.unpack(">I", row[1:])
            entries[ordinal] = records.decode_entry(ordinal, value, plan.bits // 8)
    counted = [entry for ordinal, entry in entries.items() if ordinal < state.next_ordinal]
    assert len(counted) == state.entries
    assert all(max(entry.number, entry.last_sequence) < state.next_sequence for entry in counted)
    assert state.first_buffered <= state.next_ordinal
    if closed:
        assert len(counted) == len(entries)
    numbers = [entry.number for entry in entries.values()]
    assert len(numbers) == len(set(numbers))
    return entries


def _check_log(stored: dict[bytes, bytes], plan: TablePlan, state: _State) -> None:
    for row, value in stored.items():
        if row[:1] == b"N":
            sequence = int.from_bytes(row[1:], "big")
            assert len(row) == 6
            records.decode_near_duplicate(sequence, value, plan.bits // 8)
            assert sequence < state.next_sequence


def _records_of(entry: Entry, plan: TablePlan, check_bits: int) -> Iterator[tuple[bytes, int, int]]:
    """(bucket, check, ordinal) of an entry, by the description of the rows."""
    digits = f"{entry.fingerprint:0{plan.bits}b}"
    # The exclusive or of its words, the last one of which may be short of high bits.
    folded = 0
    for end in range(plan.bits, 0, -check_bits):
        folded ^= int(digits[max(end - check_bits, 0) : end], 2)
    for number, table in enumerate(plan.tables):
        prefix = "".join(digits[plan.bits - b.shift - b.width :][: b.width] for b in table)
        row = struct.pack(">cH", b"T", number) + int(prefix, 2).to_bytes(
            -(-len(prefix) // 8), "big"
        )
        yield row, folded, entry.ordinal
    hashed = xxhash.xxh3_64_digest(entry.key.encode("utf-8", "surrogatepass"))
    yield b"K" + hashed[:2], int.from_bytes(hashed[2:6], "big"), entry.ordinal


def _kept_records(
    by_bucket: dict[bytes, list[bytes]], check_bits: int
) -> Iterator[tuple[bytes, int, int]]:
    """(bucket, check, ordinal) of the records in rows, which are in the order of ordinals."""
    for bucket, rows_of_bucket in by_bucket.items():
        opened, closed = rows_of_bucket[0], rows_of_bucket[1:]
        assert int.from_bytes(opened[:4], "little") == len(closed)
        assert len(opened) > 4 or closed, "the row of an empty bucket is left"
        check_bytes = 4 if bucket[:1] == b"K" else check_bits // 8
        last = -1
        for packed in (*closed, opened[4:]):
            assert len(packed) % (check_bytes + 4) == 0
            for start in range(0, len(packed), check_bytes + 4):
                check = int.from_bytes(packed[start : start + check_bytes], "little")
                (ordinal,) = struct.unpack_from("<I", packed, start + check_bytes)
                assert ordinal > last
                last = ordinal
                yield bucket, check, ordinal


def _rows_by_bucket(stored: dict[bytes, bytes], plan: TablePlan) -> dict[bytes, list[bytes]]:
    """The open row of each bucket, and its closed rows in their order."""
    by_bucket: dict[bytes, list[bytes]] = {}
    for row, value in sorted(stored.items()):
        if row[:1] not in {b"T", b"K"}:
            continue
        bucket_bytes = 3
        if row[:1] == b"T":
            (number,) = struct.unpack(">H", row[1:3])
            bucket_bytes += -(-sum(block.width for block in plan.tables[number]) // 8)
        bucket = row[:bucket_bytes]
        if row == bucket:
            by_bucket[bucket] = [value]
        else:
            assert row == bucket + struct.pack(">I", len(by_bucket[bucket]) - 1)
            by_bucket[bucket].append(value)
    return by_bucket


def files(directory: Path) -> dict[str, bytes | None]:
    """Every file below a directory with its bytes; None for directories."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }
