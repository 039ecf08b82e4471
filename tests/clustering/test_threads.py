"""Threads change how long it takes, and nothing else."""

from __future__ import annotations

import os
import threading
from functools import partial

import numpy as np
import pytest

from scrapy_simhash import cluster, near_pairs
from scrapy_simhash.clustering import threads
from scrapy_simhash.clustering.threads import in_threads, thread_count
from scrapy_simhash.errors import SchemeError

TIMEOUT_S = 60
MANY = 300_000


def counting(name, count):
    for number in range(count):
        yield name, number


def own_threads():
    return [one for one in threading.enumerate() if one.name.startswith("simhash clustering")]


def no_thread_is_left():
    for one in own_threads():
        one.join(TIMEOUT_S)
    return not own_threads()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_all_that_the_jobs_give_comes_once(count):
    jobs = [partial(counting, name, name) for name in range(60)]
    found = list(in_threads(jobs, count))
    assert sorted(found) == [pair for name in range(60) for pair in counting(name, name)]
    assert no_thread_is_left()


def test_one_thread_is_this_one():
    def job():
        yield threading.current_thread()

    assert set(in_threads([job, job], 1)) == {threading.current_thread()}


def test_two_threads_are_at_work_at_once():
    meeting = threading.Barrier(2, timeout=TIMEOUT_S)

    def job():
        meeting.wait()
        yield threading.current_thread()

    assert len(set(in_threads([job, job], 2))) == 2


@pytest.mark.parametrize("count", [1, 3])
def test_nothing_and_none_are_results_too(count):
    assert list(in_threads([], count)) == []
    assert list(in_threads([lambda: [None, None]], count)) == [None, None]


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_job_raises_is_raised_here(count):
    def failing():
        yield 1
        raise KeyError("of a job")

    jobs = [partial(counting, 1, 5), failing, partial(counting, 2, 100_000)]
    with pytest.raises(KeyError, match="of a job"):
        list(in_threads(jobs, count))
    assert no_thread_is_left()


def test_who_stops_early_leaves_no_thread():
    begun = []

    def job(name):
        begun.append(name)
        yield from counting(name, 1000)

    results = in_threads([partial(job, name) for name in range(100)], 3)
    next(results)
    results.close()
    assert no_thread_is_left()
    assert len(begun) < 100


def test_fewer_threads_than_asked_for(monkeypatch):
    start = threading.Thread.start
    started = []

    def limited(self):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", limited)
    assert list(in_threads([partial(counting, 1, 3)], 4)) == list(counting(1, 3))
    with pytest.raises(RuntimeError, match="new thread"):
        list(in_threads([partial(counting, 1, 3)], 4))


def test_how_many(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(100)), raising=False)
    many = threads._WORTH_THREADS
    assert thread_count(None, many) == 8
    assert thread_count(None, many - 1) == 1
    assert thread_count(np.int64(3), 1000) == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert thread_count(None, many) == 2
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert thread_count(None, many) == 1


@pytest.mark.parametrize("bad", [0, -1, 1.0, True, "2"])
def test_bad_numbers_of_threads(bad):
    for function in (cluster, near_pairs):
        with pytest.raises(SchemeError, match=r"threads = .*: a whole number of at least 1"):
            function([1, 2], bits=64, max_distance=3, threads=bad)


def test_many_fingerprints_get_the_same_answers():
    words = np.random.default_rng(5).integers(0, 2**64, MANY, dtype=np.uint64)
    words[: MANY // 10] = words[MANY // 2 : MANY // 2 + MANY // 10] ^ np.uint64(0b1001)
    words[MANY // 5 : MANY // 5 + 50] = words[0]
    one, two = (near_pairs(words, bits=64, max_distance=3, threads=n).arrays() for n in (1, 2))
    assert len(one.first) >= MANY // 10
    for part, other in zip(one, two, strict=True):
        assert np.array_equal(part, other)
    for method in ("leader", "connected"):
        found = [
            cluster(words, bits=64, max_distance=3, method=method, threads=n).representative
            for n in (1, 2)
        ]
        assert np.array_equal(*found)
