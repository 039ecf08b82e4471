"""The contract of `Index` where several threads, handles or processes use it."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier

import pytest

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.errors import IndexClosed, IndexLocked
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.index import TablePlan, open_index, reset_index

from .backends import BITS, DATABASE_KINDS, FAR, KINDS, K, files, flip, found, make_backend, seen
from .processes import children
from .redis_servers import RedisBackend

A, B, C, D = FAR


@pytest.fixture
def eager_threads():
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize(
    ("max_distance", "families"),
    [
        (K, [[flip(centre, bit) for bit in range(BITS)] for centre in FAR]),
        (0, [[n] for n in range(20)]),
    ],
    ids=["within k", "equal"],
)
def test_of_many_threads_that_meet_one_family_exactly_one_is_first(backend, max_distance, families):
    threads = 32
    barrier = Barrier(threads)

    def observe(number):
        barrier.wait(timeout=60)
        observations = []
        for family, members in enumerate(families):
            member = members[number % len(members)]
            observations.append(index.observe(f"{family} {number}", member))
            index.confirm(observations[-1])
        return observations

    with backend.open(max_distance=max_distance) as index:
        with ThreadPoolExecutor(threads) as pool:
            observed = list(zip(*pool.map(observe, range(threads)), strict=True))
        for observations in observed:
            (first,) = [o for o in observations if o.kind == "new"]
            assert {o.representative for o in observations if o is not first} == {first.key}
        assert len({o.sequence for family in observed for o in family}) == threads * len(families)
        assert len(index) == len(families)
        assert len(list(index.near_duplicates())) == (threads - 1) * len(families)


def test_a_closed_index_says_so_and_closing_twice_is_harmless(backend):
    with backend.open() as index:
        observation = index.observe("a", A)
        index.confirm(observation)
    index.close()
    for use in (
        lambda: index.observe("b", B),
        lambda: index.confirm(observation),
        lambda: index.discard("a"),
        lambda: index.query(A),
        lambda: len(index),
        index.near_duplicates,
    ):
        with pytest.raises(IndexClosed, match="close"):
            use()


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_looked_up_before_counts_no_more_when_another_handle_writes(tmp_path, kind):
    plan = TablePlan(128, 6, prefix_bits=12, probes=40)
    fingerprint, evidence = 1 << 100, Evidence(certainty=bytes(128))
    backend = make_backend(kind, tmp_path / "index", plan)
    options = {"max_distance": 20, "confirmation": UNCONFIRMED}
    with backend.open(**options) as index, backend.open(**options) as other:
        index.prefetch([(fingerprint, evidence)])
        other.confirm(other.observe("page", fingerprint ^ 1))
        assert index.observe("copy", fingerprint, evidence).representative == "page"
        index.prefetch([(fingerprint, evidence)])
        other.confirm(other.observe("page", fingerprint ^ (1 << 64) - 1))
        assert index.observe("copy", fingerprint, evidence).kind == "new"


def test_what_another_handle_meets_counts_for_handles_that_were_open_then(backend):
    with backend.open() as one, backend.open() as other:
        one.observe("a", A)
        with backend.open() as later, backend.open(incremental=True) as incremental:
            assert seen(other.observe("copy", A)) == ("near-duplicate", "a", 0)
            assert seen(incremental.observe("copy", A)) == ("near-duplicate", "a", 0)
            assert seen(later.observe("copy", A)) == ("new", None, None)


def test_closing_one_handle_forgets_its_own_pending_pages_alone(backend):
    one, other = backend.open(), backend.open()
    one.observe("a", A)
    other.observe("b", B)
    stored = other.observe("c", C)
    one.close()
    one.close()
    assert other.query(A) == []
    assert found(other.query(B)) == [("b", B, 0)]
    other.confirm(stored)
    with pytest.raises(IndexClosed):
        one.query(A)
    other.close()
    with backend.open() as again:
        assert len(again) == 1


def test_an_observation_of_an_earlier_opening_settles_nothing_now(backend):
    with backend.open() as index:
        stale = index.observe("a", A)
    with backend.open() as index:
        pending = index.observe("b", B)
        if not isinstance(backend, RedisBackend):  # others may know its numbers
            assert pending.sequence == stale.sequence  # nothing was written under it
        index.confirm(stale)
        index.discard(stale)
        assert len(index) == 0
        index.confirm(pending)
        assert len(index) == 1


@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_an_index_that_another_process_has_open_is_locked_and_left_alone(tmp_path, kind):
    directory = tmp_path / "index"
    with children() as other:
        holder = other.begin("hold", kind=kind, directory=str(directory))
        assert holder.line() == "open"
        before = files(directory)
        for attempt in (
            lambda: open_index(f"{kind}:{directory}"),
            lambda: reset_index(f"{kind}:{directory}"),
        ):
            with pytest.raises(IndexLocked) as caught:
                attempt()
            assert caught.value.location == str(directory)
            assert str(directory) in str(caught.value)
            assert "SIMHASH_DIR" in str(caught.value)
        after = files(directory)
        for name, data in before.items():
            # They may begin a new LOG of their own messages; rocksdict makes its file again.
            if "LOG" not in name and not name.endswith("rocksdict-config.json"):
                assert after[name] == data, name
        holder.send("")
        assert holder.rest() == ["closed"]
    with open_index(f"{kind}:{directory}", incremental=True) as index:
        assert len(index) == 50


@pytest.mark.parametrize("other_kind", DATABASE_KINDS)
@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_of_two_processes_that_make_an_index_at_once_one_opens_what_its_manifest_says(
    tmp_path, kind, other_kind
):
    with ExitStack() as stack:
        both = {
            (kind, 64): stack.enter_context(children()),
            (other_kind, 128): stack.enter_context(children()),
        }
        for attempt in range(12):
            directory = tmp_path / str(attempt)
            racing = {
                (kind_, bits): one.begin("race", kind=kind_, directory=str(directory), bits=bits)
                for (kind_, bits), one in both.items()
            }
            results = {asked: process.line() for asked, process in racing.items()}
            manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
            for process in racing.values():
                process.send("close")
                assert process.rest() == []
                assert process.status == 0
            opened = [asked for asked, result in results.items() if result == "opened"]
            made = (manifest["database"], manifest["scheme"]["bits"])
            assert set(opened) <= {made}, results
            assert set(results.values()) <= {"opened", "IndexMismatch", "IndexLocked"}
            assert made in racing
