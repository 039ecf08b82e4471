"""IndexCalls with an index that answers when the test lets it: calls together, errors, order."""

import asyncio
import threading
from concurrent.futures import Future

import pytest

from scrapy_simhash.crawl import index_calls
from scrapy_simhash.crawl.index_calls import IndexCalls
from scrapy_simhash.errors import IndexCorrupt, IndexUnreachable
from scrapy_simhash.index import Observation, PageToObserve

TIMEOUT_S = 30
DAMAGED = IndexCorrupt("fake", "damaged")
AWAY = IndexUnreachable("fake", "away")


class FakeIndex:
    """An index whose calls block until `gate` is set.

    :param errors: key → what a call with this key raises, as often as its number says.
    """

    location = "fake"

    def __init__(self, errors):
        self.errors = errors
        self.busy, self.gate = threading.Event(), threading.Event()
        self.begun, self.done = [], []

    def observe_all(self, pages):
        self._call("observe", pages)
        return [seen(page.key) for page in pages]

    def confirm(self, *observations, gave_items=True):
        self._call("confirm", observations)

    def discard(self, *observations):
        self._call("discard", observations)

    def acted_all(self, *pairs):
        self._call("acted", [observation for observation, _ in pairs])

    def stop_waiting(self):
        pass

    close = stop_waiting

    def _call(self, name, pages):
        keys = [page.key for page in pages]
        call = f"{name} {' '.join(keys)}"
        self.begun.append(call)
        self.busy.set()
        assert self.gate.wait(TIMEOUT_S)
        for key in keys:
            error, times = self.errors.get(key, (None, 0))
            if times and name != "discard":
                self.errors[key] = error, times - 1
                raise error
        self.done.append(call)


class Errors:
    def __init__(self):
        self.counted, self.warnings = [], []

    def count_error(self, _step, error, key):
        self.counted.append((key, error))

    def warn(self, message, *_):
        self.warnings.append(message)


def seen(key):
    return Observation("new", key, 7, None, None, 1)


def made(orders, errors=None, patience_s=0.0):
    """Make calls while the thread of an index is busy, and return the index and the errors.

    :param orders: a function that makes them, and returns what to await.
    """
    index, counted = FakeIndex(errors or {}), Errors()

    async def main():
        calls = IndexCalls(index, counted, patience_s=patience_s)
        busy = calls.observe(PageToObserve("busy", 7))
        await asyncio.to_thread(index.busy.wait, TIMEOUT_S)
        tasks = orders(calls) or []
        index.gate.set()
        waiting = [asyncio.wrap_future(task) for task in (*tasks, busy)]
        answers = await asyncio.wait_for(asyncio.gather(*waiting), TIMEOUT_S)
        await calls.finish()
        calls.close()
        return answers[:-1]

    answers = asyncio.run(main())
    assert index.begun.pop(0) == index.done.pop(0) == "observe busy"
    return index, counted, answers


@pytest.mark.parametrize(
    ("error", "answered", "failed", "begun"),
    [
        # A damaged page does not take the verdicts of others.
        (DAMAGED, "ac", "b", ["observe a b c", "observe a", "observe b", "observe c"]),
        (AWAY, "", "abc", ["observe a b c"]),
    ],
)
def test_an_error_is_the_answer_to_a_page_or_to_all(error, answered, failed, begun):
    index, errors, answers = made(
        lambda calls: [calls.observe(PageToObserve(key, 7)) for key in "abc"], {"b": (error, 9)}
    )
    assert [answer[0].key for answer in answers if answer] == [*answered]
    assert index.begun == begun
    assert errors.counted == [(key, error) for key in failed]
    assert len(errors.warnings) == (error is AWAY)


def test_an_exception_of_what_follows_a_call_takes_no_answers_of_others():
    full = OSError("the disk of the scheduler is full")
    followed = []

    def fail(_):
        raise full

    def orders(calls):
        calls.confirm(seen("a"), fail)
        calls.confirm(seen("b"), followed.append)
        return [calls.observe(PageToObserve("c", 7))]

    _, errors, answers = made(orders)
    assert (errors.counted, followed) == ([("a", full)], [None])
    assert [answer[0].key for answer in answers] == ["c"]


def test_a_confirmation_does_not_overtake_calls_with_its_key():
    def orders(calls):
        calls.acted(seen("a"), "dropped")
        calls.confirm(seen("b"))
        calls.confirm(seen("a"))
        calls.acted(seen("b"), "tagged")
        calls.acted(seen("c"), "tagged")

    assert made(orders)[0].done == ["acted a c", "confirm b a", "acted b"]


@pytest.mark.parametrize(
    ("error", "times", "done", "failed"),
    [
        (DAMAGED, 9, ["confirm a", "confirm c", "discard b"], "b"),
        (AWAY, 3, ["confirm a b c"], ""),  # it comes back
    ],
)
def test_a_page_that_cannot_be_confirmed_is_discarded_alone(
    monkeypatch, error, times, done, failed
):
    monkeypatch.setattr(index_calls, "PAUSE_S", 0.01)

    def orders(calls):
        then = [Future() for _ in "abc"]
        for key, one in zip("abc", then, strict=True):
            calls.confirm(seen(key), one.set_result)
        return then

    index, errors, _ = made(orders, {"b": (error, times)}, patience_s=TIMEOUT_S)
    assert index.done == done
    assert errors.counted == [(key, error) for key in failed]
