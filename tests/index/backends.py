"""The back ends that the contract's tests run over, and raw looks into a LevelDB index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plyvel

from scrapy_simhash import Scheme
from scrapy_simhash.index import ObservingIndex, TablePlan, open_index, records
from scrapy_simhash.index.manifest import Manifest
from scrapy_simhash.index.memory import MemoryStore
from scrapy_simhash.index.observing import SharedStore

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_simhash.index.base import Entry, Match, Observation

# Small, so that distances collide, and exact at K.
BITS = 16
K = 3
SCHEME = Scheme(bits=BITS)
PLAN = TablePlan(BITS, 4)
FAR = (0x0000, 0x00FF, 0xFF00, 0xFFFF)  # at least 8 bits from each other


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
        self._store = MemoryStore()
        self._manifest = Manifest(Scheme(bits=plan.bits), plan, K, {})
        self._shared: SharedStore | None = None

    def open(self, *, max_distance: int = K, incremental: bool = False) -> ObservingIndex:
        if self._shared is None:
            self._shared = SharedStore(self._store, self._manifest, "memory")
        self._shared.users += 1
        return ObservingIndex(
            self._shared, max_distance=max_distance, incremental=incremental, on_close=self._release
        )

    def _release(self, shared: SharedStore) -> None:
        shared.users -= 1
        if not shared.users:
            self._shared = None


@dataclass
class LevelDBBackend:
    directory: Path
    plan: TablePlan = PLAN

    name = "leveldb"

    def open(self, *, max_distance: int = K, incremental: bool = False) -> ObservingIndex:
        return open_index(
            f"leveldb:{self.directory}",
            Scheme(bits=self.plan.bits),
            max_distance=max_distance,
            plan=self.plan,
            incremental=incremental,
        )


Backend = MemoryBackend | LevelDBBackend


def make_backend(name: str, directory: Path, plan: TablePlan = PLAN) -> Backend:
    return MemoryBackend(plan) if name == "memory" else LevelDBBackend(directory, plan)


def rows(directory: Path) -> dict[bytes, bytes]:
    """All rows of a closed index."""
    database = plyvel.DB(str(directory / "leveldb"), create_if_missing=False, compression=None)
    try:
        return dict(database.iterator(verify_checksums=True))
    finally:
        database.close()


def checked_entries(directory: Path, plan: TablePlan) -> dict[str, Entry]:
    """The entries of a closed index by key, after checking that its rows fit each other: each
    entry has its key row and one row per table, and no other rows of these kinds are left.
    """
    stored = rows(directory)
    width_bytes = plan.bits // 8
    entries: dict[str, Entry] = {}
    expected: dict[bytes, bytes] = {}
    highest = 0
    for row, value in stored.items():
        if row[:1] == b"E":
            entry = records.decode_entry(int.from_bytes(row[1:], "big"), value, width_bytes)
            assert entry.key not in entries
            entries[entry.key] = entry
            expected[row] = value
            number = row[1:]
            expected[records.key_row(entry.key)] = number
            for prefix in records.table_prefixes(plan, entry.fingerprint):
                expected[prefix + number] = entry.fingerprint.to_bytes(width_bytes, "big")
            highest = max(highest, entry.number, entry.met)
        elif row[:1] == b"N":
            records.decode_near_duplicate(int.from_bytes(row[1:], "big"), value, width_bytes)
            expected[row] = value
            highest = max(highest, int.from_bytes(row[1:], "big"))
    if stored:
        next_sequence, count = records.decode_state(stored[records.STATE_KEY])
        assert count == len(entries)
        assert next_sequence > highest
        expected[records.STATE_KEY] = stored[records.STATE_KEY]
    assert stored == expected
    return entries


def files(directory: Path) -> dict[str, bytes | None]:
    """Every file below a directory with its bytes; None for directories."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }
