"""One thread that calls an index on the network, so that the event loop never waits for it."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import IndexUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    # Calls the index with some arguments, and returns an answer for each; None for no answers.
    Together = Callable[[Any, Sequence[Any]], Sequence[Any] | None]

MAX_TOGETHER = 32
# How many waiting calls are searched for some that can be made together. After an outage, thousands
# may wait.
_SEARCHED = 8 * MAX_TOGETHER
# Pause before the next attempt to reach an index.
PAUSE_S = 5.0


@dataclass(eq=False)
class _Call:
    key: str
    together: Together
    argument: Any
    is_patient: bool
    future: Future[Any] = field(default_factory=Future)


class CallThread:
    """A thread that makes calls in turn. All waiting calls of the kind that is next are made
    together, in one call of the index, as databases commit the transactions of many clients.

    Calls with the same key are made in their order. After the index could not be reached, *patient*
    calls are repeated every five seconds, and others fail at once until it answers.

    :param index: what the functions of calls get.
    :param patience_s: for how much of an outage patient calls are repeated.
    :param warn: called in the thread when an outage begins, with the error, and with None when it
        ends.
    """

    def __init__(
        self, index: Any, patience_s: float, warn: Callable[[IndexUnreachable | None], object]
    ) -> None:
        self._index = index
        self._patience_s = patience_s
        self._warn = warn
        self._changed = Condition()
        self._waiting: deque[_Call] = deque()
        self._away: IndexUnreachable | None = None  # the last error
        self._away_since_s = self._next_attempt_s = 0.0
        self._is_urgent = self._is_ending = self._is_closed = False
        self._thread = Thread(target=self._run, name="simhash-index", daemon=True)
        self._thread.start()

    def submit(
        self, key: str, together: Together, argument: Any, *, is_patient: bool = True
    ) -> Future[Any]:
        """Return a future of the answer to a call.

        :param together: calls with the same function may be made together. If a call for several
            fails, the function is called for each alone, unless the index cannot be reached.
        """
        call = _Call(key, together, argument, is_patient)
        with self._changed:
            away = self._away
            if away is not None and not is_patient and time.monotonic() < self._next_attempt_s:
                call.future.set_exception(away)
            else:
                self._waiting.append(call)
                self._changed.notify_all()
        return call.future

    def set_urgent(self, is_urgent: bool) -> None:
        """Repeat calls only for a few seconds, because the crawl waits, or again longer."""
        self._is_urgent = is_urgent

    def end(self) -> None:
        """Repeat no call from now on."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()

    def close(self) -> None:
        """Stop the thread after all waiting calls."""
        with self._changed:
            self._is_ending = self._is_closed = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while calls := self._take():
            calls = [call for call in calls if call.future.set_running_or_notify_cancel()]
            if calls:
                self._make(calls)

    def _take(self) -> list[_Call]:
        """Wait for calls, and return those that are made together next; none after `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            taken, left = list[_Call](), list[_Call]()
            held_back: set[str] = set()
            for _ in range(min(len(self._waiting), _SEARCHED)):
                call = self._waiting.popleft()
                fits = not taken or (
                    call.together == taken[0].together and len(taken) < MAX_TOGETHER
                )
                if fits and call.key not in held_back:
                    taken.append(call)
                else:
                    left.append(call)
                    held_back.add(call.key)  # later calls with this key must not overtake it
            self._waiting.extendleft(reversed(left))
        return taken

    def _make(self, calls: Sequence[_Call]) -> None:
        together = calls[0].together
        while True:
            try:
                answers = together(self._index, [call.argument for call in calls])
                break
            except IndexUnreachable as error:
                if not self._is_repeated(calls, error):
                    _fail(calls, error)
                    return
            except BaseException as error:  # noqa: BLE001 - the callers wait, and get any error
                if len(calls) == 1:
                    _fail(calls, error)
                else:  # a damaged page must not take the answers of others
                    for call in calls:
                        self._make([call])
                return
        for call, answer in zip(calls, answers or [None] * len(calls), strict=True):
            call.future.set_result(answer)
        # A patient call may have had nothing to do, and then the index was not reached.
        if self._away is not None and not calls[0].is_patient:
            self._away = None
            self._warn(None)

    def _is_repeated(self, calls: Sequence[_Call], error: IndexUnreachable) -> bool:
        """Wait after an error, and return True if the calls are to be made again."""
        now_s = time.monotonic()
        with self._changed:
            if self._away is None:
                self._away_since_s = now_s
            is_first, self._away = self._away is None, error
            self._next_attempt_s = now_s + PAUSE_S
            impatient = [call for call in self._waiting if not call.is_patient]
            self._waiting = deque(call for call in self._waiting if call.is_patient)
        _fail(impatient, error)
        if is_first:
            self._warn(error)
        patience_s = min(self._patience_s, PAUSE_S) if self._is_urgent else self._patience_s
        if not calls[0].is_patient or now_s - self._away_since_s > patience_s:
            return False
        with self._changed:
            return not self._changed.wait_for(lambda: self._is_ending, PAUSE_S)


def _fail(calls: Sequence[_Call], error: BaseException) -> None:
    for call in calls:
        with suppress(Exception):  # it was cancelled
            call.future.set_exception(error)
