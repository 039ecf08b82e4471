"""Call the index of a crawl: in the event loop if it is embedded, in threads if it is on the
network, so that the event loop never waits for it.

On a network, calls are made in turn. All waiting calls of the kind that is next are made together,
in one call of the index, as databases commit the transactions of many clients. Calls with the same
key are made in their order. After the index could not be reached, calls that settle pages are
repeated every five seconds, and observations fail at once until it answers.

Embedded indexes are synced to disk in a thread, because an fsync would block the event loop.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.crawl.fingerprinting import result_of
from scrapy_simhash.errors import IndexUnreachable, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.crawl.stats import ErrorLog
    from scrapy_simhash.index import Index, Observation, PageToObserve
    from scrapy_simhash.index.base import Action

    # Calls the index with some arguments, and returns an answer for each; None for no answers.
    Together: TypeAlias = Callable[[Any, Sequence[Any]], Sequence[Any] | None]

_Result = TypeVar("_Result")
Then: TypeAlias = "Callable[[Any], None]"

MAX_TOGETHER = 32
# How many waiting calls are searched for some that can be made together. After an outage, thousands
# may wait.
_SEARCHED = 8 * MAX_TOGETHER
# Pause before the next attempt to reach an index.
PAUSE_S = 5.0
_SYNC_INTERVAL_S = 0.5


class _Call(NamedTuple):
    key: str
    together: Together
    argument: Any
    then: Then | None

    @property
    def is_patient(self) -> bool:
        return self.together is not _observe_all


class IndexCalls:
    """The calls of a crawl to its index.

    Methods take a key, which errors name, and a function that gets the index and returns an answer.
    The answer is None if there is no index, or if the call raises StorageError, which is counted.

    :param patience_s: for an index on the network, for how much of an outage calls are repeated
        that settle pages; None for an embedded index.
    """

    def __init__(
        self, index: Index | None, errors: ErrorLog, *, patience_s: float | None = None
    ) -> None:
        self.index = index
        self.in_threads = patience_s is not None
        """The index is on the network, and the crawl does not end yet."""
        self._errors = errors
        self._patience_s = patience_s or 0.0
        self._waiting: deque[_Call] = deque()
        self._working: Future[None] | None = None  # done when no call waits
        self._ending = Event()  # from now on, no call is repeated
        self._away: IndexUnreachable | None = None  # the last error
        self._away_since_s = self._next_attempt_s = 0.0
        self.is_urgent = False
        """Calls are repeated only for a few seconds, because the crawl waits for them."""
        self._not_stored = 0

    @property
    def is_busy(self) -> bool:
        """Return True if calls on the network have not ended."""
        return self._working is not None

    def observe(self, page: PageToObserve) -> Future[tuple[Observation, float] | None]:
        """Observe a page. Return a future of its observation, and the duration of the call in
        milliseconds. With an embedded index, it is done. On a network, one call may observe several
        pages.
        """
        self.is_urgent = False  # the crawl is not idle
        answer: Future[tuple[Observation, float] | None] = Future()
        self._tell(page.key, _observe_all, page, answer.set_result)
        return answer

    def tell(
        self,
        key: str,
        ask: Callable[[Any], _Result],
        then: Callable[[_Result | None], None] | None = None,
    ) -> None:
        """Call the index after all earlier calls with this key; call `then` with the answer."""
        self._tell(key, lambda index, _: [ask(index)], None, then)

    def confirm(
        self, observation: Observation, then: Then | None = None, *, gave_items: bool = True
    ) -> None:
        """Confirm an observation as by `tell`. If this fails, discard it, so that it does not stay
        pending. For `gave_items` see `Index.confirm`.
        """
        self._tell(observation.key, _CONFIRM[gave_items], observation, then)

    def discard(self, observation: Observation, then: Then | None = None) -> None:
        """Discard an observation as by `tell`."""
        self._tell(observation.key, _DISCARD, observation, then)

    def acted(self, observation: Observation, action: Action) -> None:
        """Record what was done with a page as by `tell`; see `Index.acted`."""
        self._tell(observation.key, _ACTED, (observation, action))

    async def finish(self) -> None:
        """Wait until all calls have ended. From now on, none is repeated."""
        self._ending.set()
        while self._working is not None:
            await result_of(self._working)

    def close(self) -> None:
        """Close the index, if it is open. An error is counted."""
        self.call_in_loop()
        if self.index is not None:
            try:
                self.index.close()
            except StorageError as error:
                self._errors.count_error("index", error, "the end of the crawl")
            self.index = None

    def call_in_loop(self) -> None:
        """Call an index on the network in the event loop from now on, because the crawl has ended.
        If it cannot be reached, calls fail at once.
        """
        if self.index is None or not self.in_threads:
            return
        self.in_threads = False
        self.index.stop_waiting()
        while self._waiting:
            self._make_now(self._waiting.popleft())
        if self._not_stored:
            self._errors.warn(
                "simhash: %d handled pages or items were not stored, because index %s could not be "
                "reached: the next crawl counts them as new",
                self._not_stored,
                self.index.location,
            )

    def _tell(self, key: str, together: Together, argument: Any, then: Then | None = None) -> None:
        call = _Call(key, together, argument, then)
        if not self.in_threads:
            self._make_now(call)
        elif self._away and not call.is_patient and time.monotonic() < self._next_attempt_s:
            self._end(call, error=self._away)
        else:
            self._waiting.append(call)
            if self._working is None:
                self._working = Future()
                deferred_from_coro(self._work(self._working))

    def _make_now(self, call: _Call) -> None:
        answers, error = self._answers([call])
        self._end(call, answers[0], error)

    def _answers(self, calls: Sequence[_Call]) -> tuple[Sequence[Any], Exception | None]:
        """Make calls together. Return an answer for each, and the error that was raised."""
        answers = None
        try:
            if self.index is not None:
                answers = calls[0].together(self.index, [call.argument for call in calls])
        except Exception as error:
            if not (self.in_threads or isinstance(error, StorageError)):
                raise
            return [None] * len(calls), error  # the callers wait
        return answers or [None] * len(calls), None

    async def _work(self, working: Future[None]) -> None:
        try:
            while self._waiting:
                await self._make(self._take())
        finally:
            self._working = None
            working.set_result(None)

    def _take(self) -> list[_Call]:
        """Return the waiting calls that are made together next."""
        taken, left = [self._waiting.popleft()], list[_Call]()
        held_back: set[str] = set()
        for _ in range(min(len(self._waiting), _SEARCHED)):
            call = self._waiting.popleft()
            fits = call.together == taken[0].together and len(taken) < MAX_TOGETHER
            if fits and call.key not in held_back:
                taken.append(call)
            else:
                left.append(call)
                held_back.add(call.key)  # later calls with this key must not overtake it
        self._waiting.extendleft(reversed(left))
        return taken

    async def _make(self, calls: Sequence[_Call]) -> None:
        answers, error = await run_in_thread(self._answers, calls)
        while isinstance(error, IndexUnreachable) and await self._is_repeated(calls, error):
            answers, error = await run_in_thread(self._answers, calls)
        # A damaged page must not take the answers of others.
        if error is not None and len(calls) > 1 and not isinstance(error, IndexUnreachable):
            for call in calls:
                await self._make([call])
            return
        # A patient call may have had nothing to do, and then the index was not reached.
        if error is None and self._away is not None and not calls[0].is_patient:
            self._away = None
            self._errors.warn("simhash: index %s answers again", self.index and self.index.location)
        for call, answer in zip(calls, answers, strict=True):
            self._end(call, answer, error)

    async def _is_repeated(self, calls: Sequence[_Call], error: IndexUnreachable) -> bool:
        """Wait after an error, and return True if the calls are to be made again."""
        now_s = time.monotonic()
        if self._away is None:
            self._away_since_s = now_s
            self._errors.warn(
                "simhash: %s. Pages pass without a verdict until it answers; it is asked again "
                "every %g s",
                error,
                PAUSE_S,
            )
        self._away, self._next_attempt_s = error, now_s + PAUSE_S
        impatient = [call for call in self._waiting if not call.is_patient]
        self._waiting = deque(call for call in self._waiting if call.is_patient)
        for call in impatient:
            self._end(call, error=error)
        patience_s = min(self._patience_s, PAUSE_S) if self.is_urgent else self._patience_s
        if not calls[0].is_patient or now_s - self._away_since_s > patience_s:
            return False
        return not await run_in_thread(self._ending.wait, PAUSE_S)

    def _end(self, call: _Call, answer: Any = None, error: Exception | None = None) -> None:
        if error is not None:
            if call.together is not _FORGET:  # else leases end
                self._errors.count_error("index", error, call.key)
            if call.together in _CONFIRM:
                self._not_stored += isinstance(error, IndexUnreachable)
                self._tell(call.key, _FORGET, call.argument)
        if call.then is not None:
            try:
                call.then(answer)
            except Exception as failure:
                if not self.in_threads:
                    raise
                # Such as of a scheduler. Other calls wait, and get their answers.
                self._errors.count_error("retry", failure, call.key)


def _observe_all(index: Any, pages: Sequence[PageToObserve]) -> list[tuple[Observation, float]]:
    """Return the observations of pages, each with the duration of the one call."""
    started = time.perf_counter()
    observations = index.observe_all(pages)
    duration_ms = (time.perf_counter() - started) * 1000
    return [(observation, duration_ms) for observation in observations]


def _call(method: str, index: Any, arguments: Sequence[Any], **options: Any) -> None:
    getattr(index, method)(*arguments, **options)


_CONFIRM = [partial(_call, "confirm", gave_items=gave_items) for gave_items in (False, True)]
_DISCARD = partial(_call, "discard")
_FORGET = partial(_call, "discard")  # after an error that was counted
_ACTED = partial(_call, "acted_all")


class Syncer:
    """A thread that syncs the indexes of a crawl twice a second."""

    def __init__(self) -> None:
        self._ended = Event()
        self._thread: Thread | None = None

    def start(self, *indexes: Any) -> None:
        """Start the thread for some indexes. Call this once."""
        # A daemon thread, so that a forced exit of the interpreter does not wait for it.
        self._thread = Thread(target=self._run, args=indexes, name="simhash sync", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread. Call this before the indexes are closed."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, *indexes: Any) -> None:
        while not self._ended.wait(_SYNC_INTERVAL_S):
            for index in indexes:
                # If the error persists, the next write reports it.
                with suppress(StorageError):
                    index.sync()
