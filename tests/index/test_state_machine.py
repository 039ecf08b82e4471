"""Any sequence of calls on all back ends side by side, against a linear scan of our own, with one
site or with two, whose pages are no copies of each other's.

The tables keep a few rows in memory, so that files are written all the time, and crashes come in the
middle of a merge. A longer run:

    python -m pytest -m "" tests/index/test_state_machine.py --hypothesis-profile=thorough
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from scrapy_simhash.index import TablePlan
from scrapy_simhash.index.tables import FOLDER
from scrapy_simhash.index.tables.format import STATE

from .backends import (
    INSTALLED_KINDS,
    MemoryBackend,
    checked_entries,
    flip,
    found,
    make_backend,
    seen,
    small_tables,
)
from .oracle import Oracle
from .raw import crashed

pytestmark = pytest.mark.thorough


KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h", "é", "\ud800"])
# With a distance that the tables find all pairs at.
PLANS = [
    (TablePlan(16, 4), 3),
    (TablePlan(16, 3), 1),
    (TablePlan(16, 1), 0),
    (TablePlan(24, 5, 2), 3),
    (TablePlan(40, 4, 2), 2),
    (TablePlan(64, 4), 3),
    (TablePlan(256, 16), 15),
]
MIN_STEPS = 2000


class SideBySide(RuleBasedStateMachine):
    # What happened in all runs.
    happened: ClassVar[Counter[str]] = Counter()

    @initialize(
        plan=st.sampled_from(PLANS),
        unsorted=st.integers(1, 4),
        memory=st.integers(1, 20),
        sites=st.integers(1, 2),
    )
    def start(self, plan, unsorted, memory, sites):
        self.plan, self.k = plan
        # Seven bits of a number each flip some bits, so that distances fall around k.
        bits = random.Random(self.plan.bits).sample(range(self.plan.bits), self.plan.bits)
        spread = max(self.k // 3, 1)
        self.flipped = [bits[spread * bit : spread * (bit + 1)] for bit in range(7)]
        self.stack = ExitStack()
        self.stack.enter_context(small_tables(unsorted=unsorted, memory=memory))
        self.root = Path(tempfile.mkdtemp())
        self.stack.callback(shutil.rmtree, self.root)
        self.backends = [
            MemoryBackend(self.plan),
            *(make_backend(kind, self.root / f"{kind} 0", self.plan) for kind in INSTALLED_KINDS),
        ]
        self.oracle = Oracle(self.k, sites)
        self.indexes = []
        # For each back end its sequence by that of the oracle.
        self.sequences = [{} for _ in self.backends]
        self.crashes = 0
        self.reopen(incremental=False)

    def reopen(self, *, incremental, crashed=False):
        if not crashed:
            for index in self.indexes:
                index.close()
        if self.indexes:
            self.check_rows()
        before = [index.crawl_start for index in self.indexes]
        self.indexes = [
            backend.open(max_distance=self.k, incremental=incremental) for backend in self.backends
        ]
        began = [index.crawl_start for index in self.indexes]
        # Numbers of observations that were never written are given again.
        assert began[0] <= self.oracle.clock + 1
        if before:
            taken = [now - then for now, then in zip(began, before, strict=True)]
            assert all(0 <= one <= taken[0] for one in taken)
            # After a crash, those that were taken by pages that failed may be, too.
            assert crashed or taken == [taken[0]] * len(taken)
        self.oracle.clock = began[0] - 1
        self.oracle.open(incremental=incremental)
        self.observations = []

    def check_rows(self):
        for backend, sequences in zip(self.backends[1:], self.sequences[1:], strict=True):
            entries = checked_entries(backend.directory, self.plan)
            assert {
                key: (entry.fingerprint, entry.number, entry.last_sequence)
                for key, entry in entries.items()
            } == {
                key: (row.fingerprint, sequences[row.age], sequences[row.last_sequence])
                for key, row in self.oracle.stored.items()
            }
            folder = backend.directory / backend.name / FOLDER
            self.happened["run in a file"] += any(folder.glob("*.run"))
            state = (folder / STATE).read_text() if (folder / STATE).exists() else ""
            is_new = any(path.name not in state for path in folder.glob("*.run"))
            self.happened["crash in the middle of a merge"] += is_new

    def fingerprint(self, cluster, low):
        bits = [position for bit in range(7) if low >> bit & 1 for position in self.flipped[bit]]
        return flip((0, (1 << self.plan.bits) - 1)[cluster], *bits)

    @rule(key=KEYS, cluster=st.integers(0, 1), low=st.integers(0, 127))
    def observe_one(self, key, cluster, low):
        self.happened["step"] += 1
        self.observe(key, self.fingerprint(cluster, low))

    def observe(self, key, fingerprint):
        site_of = self.oracle.site_of
        scope = {"in_scope": lambda other: site_of(other) == site_of(key)}
        if self.oracle.sites == 1:
            scope = {}
        observed = [index.observe(key, fingerprint, **scope) for index in self.indexes]
        *expected, is_provisional = self.oracle.observe(key, fingerprint)
        assert [seen(one) for one in observed] == [tuple(expected)] * len(observed)
        if is_provisional is not None:
            self.happened["near-duplicate"] += 1
            assert [one.provisional for one in observed] == [is_provisional] * len(observed)
        offset = self.oracle.clock - self.indexes[0].crawl_start
        assert [one.sequence for one in observed] == [i.crawl_start + offset for i in self.indexes]
        for sequences, one in zip(self.sequences, observed, strict=True):
            sequences[self.oracle.clock] = one.sequence
        self.observations.append(observed)

    @precondition(lambda self: self.observations)
    @rule(data=st.data(), confirmed=st.sampled_from([True, True, False]))
    def settle(self, data, confirmed):
        self.happened["step"] += 1
        position = data.draw(st.integers(0, len(self.observations) - 1))
        observed = self.observations[-1 - position]
        for index, one in zip(self.indexes, observed, strict=True):
            (index.confirm if confirmed else index.discard)(one)
        if confirmed:
            self.happened["superseded"] += self.oracle.confirm(observed[0].sequence)
        else:
            self.oracle.discard(observed[0].sequence)

    @rule(key=KEYS, confirmed=st.booleans())
    def settle_all_of_a_key(self, key, confirmed):
        self.happened["step"] += 1
        self.settle_key(key, confirmed=confirmed)

    def settle_key(self, key, *, confirmed):
        for index in self.indexes:
            (index.confirm if confirmed else index.discard)(key)
        for sequence in [n for n, row in self.oracle.pending.items() if row.key == key]:
            if confirmed:
                self.happened["superseded"] += self.oracle.confirm(sequence)
            else:
                del self.oracle.pending[sequence]

    @rule(
        key=KEYS,
        cluster=st.integers(0, 1),
        low=st.integers(0, 127),
        confirmed=st.sampled_from([True, False, None]),
    )
    def observe_one_that_supersedes(self, key, cluster, low, confirmed):
        self.happened["step"] += 1
        self.observe(key, self.fingerprint(cluster, low))
        observed = self.observations[-1]
        if observed[0].kind == "near-duplicate":
            self.happened["supersedes"] += 1
            for index, one in zip(self.indexes, observed, strict=True):
                index.supersede(one)
            self.oracle.supersede(observed[0].sequence, observed[0])
            if confirmed is not None:
                self.settle_key(key, confirmed=confirmed)

    @rule(first=st.integers(0, 9), cluster=st.integers(0, 1), low=st.integers(0, 127))
    def crawl(self, first, cluster, low):
        """Many pages at once, all of them confirmed: enough for several spills."""
        self.happened["step"] += 1
        for number in range(12):
            key = f"page {first + number}"
            self.observe(key, self.fingerprint(cluster, low + 37 * number & 127))
            self.settle_key(key, confirmed=True)

    @rule(cluster=st.integers(0, 1), low=st.integers(0, 127))
    def query(self, cluster, low):
        self.happened["step"] += 1
        fingerprint = self.fingerprint(cluster, low)
        expected = self.oracle.query(fingerprint)
        answers = [found(index.query(fingerprint)) for index in self.indexes]
        assert answers == [expected] * len(answers)

    @precondition(lambda self: len(self.observations) > 2)
    @rule(incremental=st.booleans())
    def close_and_reopen(self, incremental):
        self.happened["step"] += 1
        self.reopen(incremental=incremental)

    @precondition(lambda self: len(self.observations) > 2)
    @rule(incremental=st.booleans())
    def pause_and_go_on(self, incremental):
        self.happened["step"] += 1
        began = [index.rules.crawl_start for index in self.indexes]
        of_oracle = self.oracle.began
        self.reopen(incremental=incremental)
        for index, one in zip(self.indexes, began, strict=True):
            index.rules = replace(index.rules, crawl_start=one)
        self.oracle.began = of_oracle

    @precondition(lambda self: len(self.observations) > 2)
    @rule(incremental=st.booleans())
    def crash(self, incremental):
        """A killed process leaves the files as they are while the index is open."""
        self.happened["step"] += 1
        self.crashes += 1
        for position, backend in enumerate(self.backends[1:], 1):
            left = self.root / f"{backend.name} {self.crashes}"
            crashed(self.indexes[position], left)
            self.backends[position] = make_backend(backend.name, left, self.plan)
        for index in self.indexes:
            index.close()
        self.reopen(incremental=incremental, crashed=True)

    @invariant()
    def sizes_and_logs_agree(self):
        for index in getattr(self, "indexes", ()):
            assert len(index) == len(self.oracle.stored)
            lines = list(index.near_duplicates())
            assert [
                (x.key, x.representative, x.distance, x.fingerprint) for x in lines
            ] == self.oracle.log

    def teardown(self):
        if hasattr(self, "stack"):
            for index in self.indexes:
                index.close()
            self.stack.close()


def test_all_back_ends_and_a_linear_scan_of_our_own_answer_alike():
    SideBySide.happened.clear()
    run_state_machine_as_test(
        SideBySide,
        settings=settings(
            max_examples=settings.default.max_examples, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
    happened = SideBySide.happened
    print(dict(happened))
    assert happened["step"] >= MIN_STEPS
    assert happened["near-duplicate"] > 100
    assert happened["supersedes"] > 10
    assert happened["superseded"] > 0
    if INSTALLED_KINDS:
        assert happened["run in a file"] > 10
        assert happened["crash in the middle of a merge"] > 10
