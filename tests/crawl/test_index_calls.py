"""IndexCalls with an index that answers when the test lets it: calls together, errors, order."""

from __future__ import annotations

import asyncio
import sys
import threading
from queue import Queue

from scrapy_simhash.crawl import call_thread
from scrapy_simhash.crawl.call_thread import CallThread
from scrapy_simhash.crawl.index_calls import IndexCalls
from scrapy_simhash.errors import IndexCorrupt, IndexUnreachable
from scrapy_simhash.index import Observation, PageToObserve

TIMEOUT_S = 30
DAMAGED = IndexCorrupt("fake", "damaged")
AWAY = IndexUnreachable("fake", "away")


class FakeIndex:
    """An index whose calls block until `gate` is opened.

    :param errors: key → what a call for a page with this key raises; a call for several pages
        raises that of its first such page.
    """

    location = "fake"

    def __init__(self, *, is_open: bool = False) -> None:
        self.errors: dict[str, BaseException] = {}
        self.slow: dict[str, threading.Event] = {}
        self.begun: Queue[tuple[str, list[str]]] = Queue()
        self.done: list[tuple[str, list[str]]] = []
        self.gate = threading.Semaphore(10**6 if is_open else 0)
        self.is_closed = False

    def observe_all(self, pages):
        self._call("observe", [page.key for page in pages])
        return [seen(page.key) for page in pages]

    def confirm_all(self, observations, *, gave_items=True):
        self._call("confirm", [observation.key for observation in observations])

    def discard_all(self, observations):
        self._call("discard", [observation.key for observation in observations])

    def acted_all(self, pairs):
        self._call("acted", [observation.key for observation, _ in pairs])

    def stop_waiting(self):
        pass

    def close(self):
        self.is_closed = True

    def next(self):
        """Wait until a call begins, and return its name and keys."""
        return self.begun.get(timeout=TIMEOUT_S)

    def names(self) -> list[str]:
        """Return the calls that did not fail, as text, but not those that keep the thread busy."""
        return [f"{name} {' '.join(keys)}" for name, keys in self.done if "busy" not in keys[0]]

    def _call(self, name: str, keys: list[str]) -> None:
        self.begun.put((name, keys))
        assert self.gate.acquire(timeout=TIMEOUT_S)
        for key in keys:
            if key in self.slow:
                assert self.slow[key].wait(TIMEOUT_S)
            if key in self.errors and name != "discard":
                raise self.errors[key]
        self.done.append((name, keys))


class Errors:
    """Stands for the ErrorLog of a crawl."""

    def __init__(self) -> None:
        self.counted: list[tuple[str, BaseException]] = []
        self.warnings: list[str] = []

    def count_error(self, step, error, key):
        assert step == "index"
        self.counted.append((key, error))

    def warn(self, message, *_):
        self.warnings.append(message)


def seen(key: str) -> Observation:
    return Observation("new", key, 7, None, None, 1)


def page(key: str) -> PageToObserve:
    return PageToObserve(key, 7)


def run(test, index, *, patience_s=0.0):
    """Run a coroutine function with calls to an index, and return their errors."""
    errors = Errors()

    async def main():
        calls = IndexCalls(index, errors, patience_s=patience_s)
        await asyncio.wait_for(test(calls), TIMEOUT_S)
        await calls.finish()
        calls.close()

    asyncio.run(main())
    assert index.is_closed
    return errors


async def begun(index):
    """Wait for the next call of an index without blocking the event loop."""
    return await asyncio.to_thread(index.next)


async def keep_busy(calls, index):
    """Occupy the thread until `gate` is opened. Return the task of the page that it observes."""
    task = asyncio.create_task(calls.observe(page("busy")))
    assert await begun(index) == ("observe", ["busy"])
    return task


class TestObserve:
    def observe(self, keys, errors=()):
        """Observe pages that wait at the same time. Return what each gets, the calls, and errors.

        Exceptions that `observe` raises are returned.
        """
        index = FakeIndex()
        index.errors.update(errors)
        answers = []

        async def test(calls):
            busy = await keep_busy(calls, index)
            tasks = [asyncio.create_task(calls.observe(page(key))) for key in keys]
            await asyncio.sleep(0)  # each task submits its page
            index.gate.release(10**6)
            answers.extend(await asyncio.gather(*tasks, return_exceptions=True))
            await busy

        counted = run(test, index)
        calls = [index.begun.get_nowait()[1] for _ in range(index.begun.qsize())]
        return answers, calls, counted

    def test_pages_that_wait_are_observed_together(self):
        answers, calls, errors = self.observe("abc")
        assert [observation.key for observation, _ in answers] == ["a", "b", "c"]
        assert calls == [["a", "b", "c"]]
        assert len({duration_ms for _, duration_ms in answers}) == 1
        assert answers[0][1] > 0
        assert not errors.counted

    def test_a_damaged_page_does_not_take_the_verdicts_of_others(self):
        answers, calls, errors = self.observe("abc", {"b": DAMAGED})
        assert [answer and answer[0].key for answer in answers] == ["a", None, "c"]
        assert calls == [["a", "b", "c"], ["a"], ["b"], ["c"]]
        assert errors.counted == [("b", DAMAGED)]

    def test_a_bug_is_raised_for_its_own_page(self):
        bug = ZeroDivisionError("of in_scope")
        answers, _, errors = self.observe("abc", {"c": bug})
        assert [answer[0].key for answer in answers[:2]] == ["a", "b"]
        assert answers[2] is bug
        assert not errors.counted

    def test_an_unreachable_index_is_the_answer_to_all(self):
        answers, calls, errors = self.observe("abc", {"b": AWAY})
        assert answers == [None] * 3
        assert calls == [["a", "b", "c"]]
        assert errors.counted == [(key, AWAY) for key in "abc"]
        assert sum("Pages pass without a verdict" in warning for warning in errors.warnings) == 1

    def test_after_an_outage_nothing_is_asked_for_a_while(self):
        index = FakeIndex(is_open=True)
        index.errors["a"] = AWAY

        async def test(calls):
            assert await calls.observe(page("a")) is None
            assert await calls.observe(page("b")) is None

        errors = run(test, index)
        assert errors.counted == [("a", AWAY), ("b", AWAY)]
        assert index.names() == []

    def test_an_index_that_answers_again_is_used_again(self, monkeypatch):
        monkeypatch.setattr(call_thread, "PAUSE_S", 0.0)
        index = FakeIndex(is_open=True)
        index.errors["a"] = AWAY

        async def test(calls):
            assert await calls.observe(page("a")) is None
            for key in "bc":
                assert await calls.observe(page(key))

        errors = run(test, index)
        assert index.names() == ["observe b", "observe c"]
        assert errors.warnings[1:] == ["simhash: index %s answers again"]


class TestTell:
    def tell(self, told, errors=()):
        """Call `told` with the calls while the thread is busy. Return the names of the calls that
        were made later and did not fail, and the errors.
        """
        index = FakeIndex()
        index.errors.update(errors)

        async def test(calls):
            await keep_busy(calls, index)
            told(calls)
            index.gate.release(10**6)
            await calls.finish()

        counted = run(test, index)
        return index.names(), counted

    def test_confirmations_that_wait_are_made_together(self):
        then = []

        def told(calls):
            for key in "abc":
                calls.confirm(seen(key), lambda answer, key=key: then.append((key, answer)))

        names, errors = self.tell(told)
        assert names == ["confirm a b c"]
        assert then == [("a", None), ("b", None), ("c", None)]
        assert not errors.counted

    def test_a_confirmation_does_not_overtake_calls_with_its_key(self):
        def told(calls):
            calls.acted(seen("a"), "dropped")
            calls.confirm(seen("b"))
            calls.confirm(seen("a"))
            calls.acted(seen("b"), "tagged")
            calls.acted(seen("c"), "tagged")

        names, _ = self.tell(told)
        assert names == ["acted a c", "confirm b a", "acted b"]

    def test_a_page_that_cannot_be_confirmed_is_discarded_alone(self):
        then = []

        def told(calls):
            for key in "abc":
                calls.confirm(seen(key), lambda _, key=key: then.append(key))

        names, errors = self.tell(told, {"b": DAMAGED})
        assert names == ["confirm a", "confirm c", "discard b"]
        assert errors.counted == [("b", DAMAGED)]
        assert then == ["a", "b", "c"]

    def test_confirmations_are_retried_together_while_the_index_is_away(self, monkeypatch):
        monkeypatch.setattr(call_thread, "PAUSE_S", 0.01)
        index = FakeIndex()
        index.errors["b"] = AWAY

        async def test(calls):
            await keep_busy(calls, index)
            confirmed = asyncio.get_running_loop().create_future()
            calls.confirm(seen("a"))
            calls.confirm(seen("b"), confirmed.set_result)
            index.gate.release(10**6)
            for _ in range(3):
                assert await begun(index) == ("confirm", ["a", "b"])
            index.errors.clear()
            await confirmed

        errors = run(test, index, patience_s=TIMEOUT_S)
        assert not errors.counted
        assert index.names() == ["confirm a b"]

    def test_an_idle_crawl_does_not_wait_for_the_end_of_a_long_outage(self, monkeypatch):
        monkeypatch.setattr(call_thread, "PAUSE_S", 0.05)
        index = FakeIndex(is_open=True)
        index.errors |= {"a": AWAY, "b": AWAY}

        async def test(calls):
            done = [asyncio.get_running_loop().create_future() for _ in "ab"]
            for key, future in zip("ab", done, strict=True):
                calls.confirm(seen(key), future.set_result)
            calls.hurry()
            await asyncio.gather(*done)  # `run` fails after 30 seconds

        assert len(run(test, index, patience_s=1000).counted) == 2

    def test_confirmations_of_an_index_that_stays_away_fail_together(self):
        then = []

        def told(calls):
            for key in "abc":
                calls.confirm(seen(key), lambda _, key=key: then.append(key))

        names, errors = self.tell(told, {"b": AWAY})
        assert names == ["discard a b c"]
        assert errors.counted == [(key, AWAY) for key in "abc"]
        assert any("were not stored" in warning for warning in errors.warnings)
        assert then == ["a", "b", "c"]


def test_an_embedded_index_confirms_at_once_and_discards_after_an_error():
    made = []

    class Embedded:
        def confirm_all(self, observations, *, gave_items=True):
            for observation in observations:
                made.append(("confirm", observation.key))
                if observation.key == "b":
                    raise DAMAGED

        def discard_all(self, observations):
            made.extend(("discard", observation.key) for observation in observations)

    errors, then = Errors(), []
    calls = IndexCalls(Embedded(), errors)
    for key in "ab":
        calls.confirm(seen(key), then.append)
    assert made == [("confirm", "a"), ("confirm", "b"), ("discard", "b")]
    assert errors.counted == [("b", DAMAGED)]
    assert then == [None, None]


def test_an_outage_may_last_for_any_number_of_attempts(monkeypatch):
    monkeypatch.setattr(call_thread, "PAUSE_S", 0)
    attempts = []

    def ask(_index, arguments):
        attempts.append(arguments)
        if len(attempts) <= sys.getrecursionlimit():
            raise AWAY
        return arguments

    thread = CallThread(None, 1000, lambda _error: None)
    try:
        assert thread.submit("a", ask, "answer").result(TIMEOUT_S) == "answer"
    finally:
        thread.close()
