"""GroupCommit: requests that wait are answered together, each gets its own answer or error."""

from __future__ import annotations

import random
from concurrent.futures import CancelledError, wait
from queue import Queue
from threading import Barrier, Lock

import pytest

from scrapy_simhash.crawl.group_commit import MAX_GROUP, GroupCommit
from scrapy_simhash.errors import IndexCorrupt, IndexUnreachable

TIMEOUT_S = 30


class Calls:
    """A function that answers requests when the test lets it, and records its calls."""

    def __init__(self) -> None:
        self.begun: Queue[list[str]] = Queue()
        self._results: Queue[object] = Queue()

    def __call__(self, requests):
        self.begun.put(list(requests))
        result = self._results.get(timeout=TIMEOUT_S)
        if isinstance(result, BaseException):
            raise result
        return [request.upper() for request in requests] if result is None else result

    def next(self) -> list[str]:
        """Wait for the next call, and return its requests."""
        return self.begun.get(timeout=TIMEOUT_S)

    def end(self, result=None) -> None:
        """Let one call return: upper-case answers, or the given ones, or an error."""
        self._results.put(result)


@pytest.fixture
def calls():
    return Calls()


@pytest.fixture
def group():
    """One thread, so the test knows what waits."""
    group = GroupCommit(1, "test")
    yield group
    group.close()


@pytest.fixture
def busy(group, calls):
    """The same with a busy thread: what is submitted now waits, until `calls.end`."""
    group.submit("busy", calls, "busy")
    assert calls.next() == ["busy"]
    return group


def results(futures):
    return [future.result(TIMEOUT_S) for future in futures]


def test_a_request_does_not_wait_for_others(group, calls):
    for request in "ab":
        future = group.submit(request, calls, request)
        assert calls.next() == [request]
        calls.end()
        assert future.result(TIMEOUT_S) == request.upper()


def test_a_free_thread_takes_a_request_while_another_thread_is_busy(calls):
    group = GroupCommit(2, "test")
    futures = []
    for request in "ab":
        futures.append(group.submit(request, calls, request))
        assert calls.next() == [request]
    calls.end()
    calls.end()
    assert results(futures) == ["A", "B"]
    group.close()


def test_what_waits_is_answered_together(busy, calls):
    futures = [busy.submit(request, calls, request) for request in "abc"]
    calls.end()
    assert calls.next() == ["a", "b", "c"]
    calls.end()
    assert results(futures) == ["A", "B", "C"]


def test_a_group_has_an_upper_limit(busy, calls):
    requests = [f"r{number}" for number in range(2 * MAX_GROUP + 1)]
    futures = [busy.submit(request, calls, request) for request in requests]
    for _ in range(4):
        calls.end()
    assert results(futures) == [request.upper() for request in requests]
    assert [len(calls.next()) for _ in range(3)] == [MAX_GROUP, MAX_GROUP, 1]


def test_after_an_error_each_is_answered_alone(busy, calls):
    futures = [busy.submit(request, calls, request) for request in "abc"]
    damaged = IndexCorrupt("here", "damaged")
    for result in (None, IndexCorrupt("here", "somewhere"), None, damaged, None):
        calls.end(result)
    assert futures[0].result(TIMEOUT_S) == "A"
    assert futures[1].exception(TIMEOUT_S) is damaged
    assert futures[2].result(TIMEOUT_S) == "C"
    assert [calls.next() for _ in range(4)] == [["a", "b", "c"], ["a"], ["b"], ["c"]]


@pytest.mark.parametrize("error", [ValueError("a bug"), SystemExit(3), KeyboardInterrupt()])
def test_a_request_gets_the_error_of_its_own_call(busy, calls, error):
    futures = [busy.submit(request, calls, request) for request in "ab"]
    for result in (None, TypeError("of the group"), error, None):
        calls.end(result)
    assert futures[0].exception(TIMEOUT_S) is error
    assert futures[1].result(TIMEOUT_S) == "B"


def test_an_unreachable_index_is_the_answer_to_all(busy, calls):
    futures = [busy.submit(request, calls, request) for request in "abc"]
    away = IndexUnreachable("here", "away")
    calls.end()
    calls.end(away)
    assert [future.exception(TIMEOUT_S) for future in futures] == [away] * 3
    assert calls.next() == ["a", "b", "c"]
    assert calls.begun.empty()


def test_too_few_answers_are_an_error(busy, calls):
    futures = [busy.submit(request, calls, request) for request in "ab"]
    for result in (None, ["A"], [], None):
        calls.end(result)
    assert isinstance(futures[0].exception(TIMEOUT_S), ValueError)
    assert futures[1].result(TIMEOUT_S) == "B"


def test_only_requests_with_the_same_function_are_in_a_group(busy, calls):
    other = Calls()
    futures = [
        busy.submit(request, other if request in "bd" else calls, request) for request in "abcde"
    ]
    for each in (calls, calls, other):
        each.end()
    assert results(futures) == ["A", "B", "C", "D", "E"]
    assert calls.next() == ["a", "c", "e"]
    assert other.next() == ["b", "d"]


def test_a_request_does_not_overtake_an_earlier_one_with_its_key(busy, calls):
    other = Calls()
    first = busy.submit("x", calls, "first")
    second = busy.submit("x", other, "second")
    third = busy.submit("x", calls, "third")
    fourth = busy.submit("y", calls, "fourth")
    calls.end()
    assert calls.next() == ["first", "fourth"]
    assert other.begun.empty()
    calls.end()
    assert other.next() == ["second"]
    assert calls.begun.empty()
    other.end()
    assert calls.next() == ["third"]
    calls.end()
    assert results((first, second, third, fourth)) == ["FIRST", "SECOND", "THIRD", "FOURTH"]


def test_requests_with_one_key_stay_in_order_in_a_group(busy, calls):
    futures = [busy.submit("x", calls, request) for request in "abc"]
    calls.end()
    assert calls.next() == ["a", "b", "c"]
    calls.end()
    assert results(futures) == ["A", "B", "C"]


def test_a_free_thread_leaves_requests_with_the_key_of_a_busy_thread(calls):
    group = GroupCommit(2, "test")
    other = Calls()
    first = group.submit("x", calls, "first")
    assert calls.next() == ["first"]
    second = group.submit("x", calls, "second")
    third = group.submit("y", other, "third")
    assert other.next() == ["third"]
    assert calls.begun.empty()
    calls.end()
    assert calls.next() == ["second"]
    calls.end()
    other.end()
    assert results((first, second, third)) == ["FIRST", "SECOND", "THIRD"]
    group.close()


def test_a_cancelled_request_is_not_answered(busy, calls):
    futures = [busy.submit(request, calls, request) for request in "abc"]
    assert futures[1].cancel()
    calls.end()
    assert calls.next() == ["a", "c"]
    calls.end()
    assert results((futures[0], futures[2])) == ["A", "C"]
    with pytest.raises(CancelledError):
        futures[1].result(TIMEOUT_S)
    last = busy.submit("b", calls, "after")  # the key is free again
    calls.end()
    assert last.result(TIMEOUT_S) == "AFTER"


def test_close_waits_for_the_answers(calls):
    group = GroupCommit(1, "test")
    futures = [group.submit(request, calls, request) for request in "abc"]
    for _ in range(3):
        calls.end()
    group.close()
    assert [future.done() for future in futures] == [True] * 3
    with pytest.raises(RuntimeError, match="after shutdown"):
        group.submit("d", calls, "d")


@pytest.mark.parametrize("seed", range(3))
def test_all_are_answered_in_the_order_of_their_keys(seed):
    """Many requests, few keys and errors at random: nothing is lost, and no key is overtaken."""
    chosen = random.Random(seed)
    group = GroupCommit(4, "test")
    lock = Lock()
    answered: dict[str, list[int]] = {}
    in_progress: set[str] = set()
    at_the_same_time = []

    def function():
        def answer_all(requests):
            keys = {key for key, _, _ in requests}
            with lock:
                at_the_same_time.extend(in_progress & keys)
                in_progress.update(keys)
            try:
                if any(is_bad for _, _, is_bad in requests):
                    raise LookupError(len(requests))
                with lock:
                    for key, number, _ in requests:
                        answered.setdefault(key, []).append(number)
                return [number for _, number, _ in requests]
            finally:
                with lock:
                    in_progress.difference_update(keys)

        return answer_all

    shared = function()
    submitted = []
    for number in range(3000):
        key = "often" if chosen.random() < 0.5 else f"key {chosen.randrange(40)}"
        request = (key, number, chosen.random() < 0.05)
        call = shared if chosen.random() < 0.7 else function()
        submitted.append((request, group.submit(key, call, request)))
    assert not wait([future for _, future in submitted], TIMEOUT_S).not_done
    group.close()
    for (_, number, is_bad), future in submitted:
        if is_bad:
            assert future.exception().args == (1,)
        else:
            assert future.result() == number
    assert all(numbers == sorted(numbers) for numbers in answered.values())
    assert not at_the_same_time


def test_requests_that_a_group_held_back_are_shared_by_all_threads():
    group, busy, calls, together = GroupCommit(3, "test"), Calls(), Calls(), Barrier(3)
    for request in "xyz":
        group.submit(request, busy, request)
        assert busy.next() == [request]
    for key in "abc":
        group.submit(key, calls, key)
    held_back = [
        group.submit(key, lambda requests: [together.wait(TIMEOUT_S), requests][1:], key)
        for key in "abc"
    ]
    for _ in "xyz":
        busy.end()
    assert calls.next() == ["a", "b", "c"]
    calls.end()
    assert results(held_back) == [["a"], ["b"], ["c"]]
    group.close()
