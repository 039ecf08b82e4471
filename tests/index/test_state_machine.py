"""Any sequence of calls on memory and LevelDB side by side, against a linear scan of our own."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scrapy_simhash.index import TablePlan

from .backends import LevelDBBackend, MemoryBackend, checked_entries, found, seen


@dataclass(frozen=True)
class Row:
    key: str
    fingerprint: int
    age: int
    met: int


class Oracle:
    """The contract of `Index` in lists and linear scans."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.stored: dict[str, Row] = {}
        self.log: list[tuple[str, str, int, int]] = []
        self.pending: dict[int, Row] = {}
        self.clock = 0
        self.open(incremental=False)

    def open(self, *, incremental: bool) -> None:
        self.incremental = incremental
        self.pending = {}
        self.began = self.clock + 1

    def near(self, a: int, b: int) -> bool:
        return (a ^ b).bit_count() <= self.k

    def counts(self, row: Row) -> bool:
        return self.incremental or row.met >= self.began

    def own(self, key: str) -> Row | None:
        in_flight = [row for row in self.pending.values() if row.key == key]
        return in_flight[-1] if in_flight else self.stored.get(key)

    def scan(self, fingerprint: int) -> list[tuple[int, int, Row]]:
        rows = {*self.stored.values(), *self.pending.values()}
        distances = [((row.fingerprint ^ fingerprint).bit_count(), row.age, row) for row in rows]
        return sorted((one for one in distances if one[0] <= self.k), key=lambda one: one[:2])

    def query(self, fingerprint: int) -> list[tuple[str, int, int]]:
        nearest: dict[str, tuple[str, int, int]] = {}
        for distance, _, row in self.scan(fingerprint):
            nearest.setdefault(row.key, (row.key, row.fingerprint, distance))
        return list(nearest.values())

    def observe(self, key: str, fingerprint: int) -> tuple[str, str | None, int | None]:
        self.clock += 1
        own = self.own(key)
        distance = None if own is None else (own.fingerprint ^ fingerprint).bit_count()
        same = own is not None and self.near(own.fingerprint, fingerprint)
        grounds = [
            one for one in self.scan(fingerprint) if one[2].key != key and self.counts(one[2])
        ]
        if grounds and not (same and self.counts(own)):
            self.log.append((key, grounds[0][2].key, grounds[0][0], fingerprint))
            return "near-duplicate", grounds[0][2].key, grounds[0][0]
        stored = self.stored.get(key)
        if not same or stored is None or not self.near(stored.fingerprint, fingerprint):
            self.pending[self.clock] = Row(key, fingerprint, self.clock, self.clock)
        elif stored.met < self.began:
            self.pending[self.clock] = replace(stored, met=self.clock)
        return ("unchanged" if same else "changed" if own else "new"), None, distance

    def confirm(self, sequence: int) -> None:
        row = self.pending.pop(sequence, None)
        if row is None:
            return
        stored = self.stored.get(row.key)
        if stored is not None and stored.met > row.met:
            return  # what was seen later was confirmed before
        if stored is not None and self.near(stored.fingerprint, row.fingerprint):
            row = replace(stored, met=row.met)
        self.stored[row.key] = row
        if not self.incremental:
            in_flight = {other.key for other in self.pending.values()}
            for other in list(self.stored.values()):
                if (
                    other.met < self.began
                    and other.key not in in_flight
                    and self.near(other.fingerprint, row.fingerprint)
                ):
                    del self.stored[other.key]


KEYS = st.sampled_from(["a", "b", "c", "d", "é", "\ud800"])
PLANS = [
    (TablePlan(16, 4), 3),
    (TablePlan(24, 5, 2), 3),
    (TablePlan(16, 3), 1),
    (TablePlan(16, 1), 0),
]


class SideBySide(RuleBasedStateMachine):
    @initialize(plan=st.sampled_from(PLANS))
    def start(self, plan: tuple[TablePlan, int]) -> None:
        self.plan, self.k = plan
        self.root = Path(tempfile.mkdtemp())
        self.directory = self.root / "0"
        self.backends = [MemoryBackend(self.plan), LevelDBBackend(self.directory, self.plan)]
        self.oracle = Oracle(self.k)
        self.indexes = []
        self.reopen(incremental=False)

    def reopen(self, *, incremental: bool) -> None:
        for index in self.indexes:
            index.close()
        if self.indexes:
            entries = checked_entries(self.directory, self.plan)
            assert {key: (e.fingerprint, e.met) for key, e in entries.items()} == {
                key: (row.fingerprint, row.met) for key, row in self.oracle.stored.items()
            }
        self.indexes = [
            backend.open(max_distance=self.k, incremental=incremental) for backend in self.backends
        ]
        # Numbers of observations that were never written are given again.
        assert self.indexes[0].began == self.indexes[1].began <= self.oracle.clock + 1
        self.oracle.clock = self.indexes[0].began - 1
        self.oracle.open(incremental=incremental)
        self.observations = []

    def fingerprint(self, cluster: int, low: int) -> int:
        return (0, (1 << self.plan.bits) - 1)[cluster] ^ low << (cluster * (self.plan.bits - 7))

    @rule(key=KEYS, cluster=st.integers(0, 1), low=st.integers(0, 127))
    def observe(self, key: str, cluster: int, low: int) -> None:
        fingerprint = self.fingerprint(cluster, low)
        stored = self.oracle.stored.get(key)
        if (
            stored is not None
            and not self.oracle.counts(stored)
            and self.oracle.near(stored.fingerprint, fingerprint)
        ):
            # With which of two fingerprints within k a page goes on is test_contract_crawls's.
            fingerprint = stored.fingerprint
        observed = [index.observe(key, fingerprint) for index in self.indexes]
        expected = self.oracle.observe(key, fingerprint)
        assert [seen(one) for one in observed] == [expected] * 2
        assert [one.sequence for one in observed] == [self.oracle.clock] * 2
        self.observations.append(observed)

    @precondition(lambda self: self.observations)
    @rule(data=st.data(), confirmed=st.sampled_from([True, True, False]))
    def settle(self, data: st.DataObject, confirmed: bool) -> None:
        position = data.draw(st.integers(0, len(self.observations) - 1))
        observed = self.observations[-1 - position]
        for index, one in zip(self.indexes, observed, strict=True):
            (index.confirm if confirmed else index.discard)(one)
        if confirmed:
            self.oracle.confirm(observed[0].sequence)
        else:
            self.oracle.pending.pop(observed[0].sequence, None)

    @rule(key=KEYS, confirmed=st.booleans())
    def settle_key(self, key: str, confirmed: bool) -> None:
        for index in self.indexes:
            (index.confirm if confirmed else index.discard)(key)
        for sequence in [n for n, row in self.oracle.pending.items() if row.key == key]:
            if confirmed:
                self.oracle.confirm(sequence)
            else:
                del self.oracle.pending[sequence]

    @rule(cluster=st.integers(0, 1), low=st.integers(0, 127))
    def query(self, cluster: int, low: int) -> None:
        fingerprint = self.fingerprint(cluster, low)
        expected = self.oracle.query(fingerprint)
        assert [found(index.query(fingerprint)) for index in self.indexes] == [expected] * 2

    @rule(incremental=st.booleans(), crashed=st.booleans())
    def end(self, incremental: bool, crashed: bool) -> None:
        """Close and reopen, or crash: a killed process leaves the files as they are while the
        index is open.
        """
        if crashed:
            left = self.root / f"{int(self.directory.name) + 1}"
            shutil.copytree(self.directory, left)
            for index in self.indexes:
                index.close()
            self.directory = left
            self.backends[1] = LevelDBBackend(left, self.plan)
        self.reopen(incremental=incremental)

    @invariant()
    def sizes_and_logs_agree(self) -> None:
        for index in getattr(self, "indexes", ()):
            assert len(index) == len(self.oracle.stored)
            lines = list(index.near_duplicates())
            assert [
                (x.key, x.representative, x.distance, x.fingerprint) for x in lines
            ] == self.oracle.log

    def teardown(self) -> None:
        if hasattr(self, "root"):
            for index in self.indexes:
                index.close()
            shutil.rmtree(self.root)


# Both stores and the scan of our own answer alike.
TestSideBySide = SideBySide.TestCase
# LevelDB syncs files whenever it is opened, which takes as long as the disk takes.
TestSideBySide.settings = settings(
    max_examples=settings.default.max_examples // 2, suppress_health_check=[HealthCheck.too_slow]
)
