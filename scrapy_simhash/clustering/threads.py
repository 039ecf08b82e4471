"""Jobs in several threads: numpy's passes over arrays hold no lock of Python's."""

from __future__ import annotations

import os
import threading
from queue import Queue
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from scrapy_simhash.errors import SchemeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Thing = TypeVar("Thing")
# More wait for memory and for each other.
_MOST_THREADS = 8
# With fewer fingerprints, to start them takes longer than it saves.
_WORTH_THREADS = 1 << 21
_WAITING = 2


def thread_count(threads: int | None, count: int) -> int:
    """How many are to work on so many fingerprints.

    :param threads: what the caller asks for; None is as many as the process may use.
    :raises SchemeError: it is not a whole number of at least 1.
    """
    if threads is None:
        if count < _WORTH_THREADS:
            return 1
        usable = getattr(os, "sched_getaffinity", None)
        return min(len(usable(0)) if usable else os.cpu_count() or 1, _MOST_THREADS)
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise SchemeError(f"threads = {threads!r}: a whole number of at least 1 is needed")
    return int(threads)


def in_threads(jobs: Iterable[Callable[[], Iterable[Thing]]], threads: int) -> Iterator[Thing]:
    """What the jobs give, in whatever order it comes; each job is iterated over in one thread.

    What one raises is raised here. Who stops iterating waits for the steps that are under way.

    :param threads: with 1 all is done here, in order.
    """
    if threads == 1:
        for job in jobs:
            yield from job()
        return
    crew = _Crew(jobs, threads)
    try:
        yield from crew.results()
    finally:
        crew.end()


class _Ended(NamedTuple):
    """Of a thread."""

    error: BaseException | None


class _Crew(Generic[Thing]):
    """Threads that take one job after the other, and wait where nobody takes what they give."""

    def __init__(self, jobs: Iterable[Callable[[], Iterable[Thing]]], threads: int) -> None:
        self._jobs = iter(jobs)
        self._taking = threading.Lock()
        self._results: Queue[Thing | _Ended] = Queue(_WAITING * threads)
        self._stopped = threading.Event()
        self._running = 0
        for number in range(threads):
            name = f"simhash clustering {number}"
            thread = threading.Thread(target=self._work, name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system gives no more: fewer do it, too
                if not self._running:
                    raise
                break
            self._running += 1

    def results(self) -> Iterator[Thing]:
        while self._running:
            result = self._results.get()
            if not isinstance(result, _Ended):
                yield result
                continue
            self._running -= 1
            if result.error is not None:
                raise result.error

    def end(self) -> None:
        self._stopped.set()
        while self._running:  # they may wait for room
            if isinstance(self._results.get(), _Ended):
                self._running -= 1

    def _work(self) -> None:
        error = None
        try:
            while not self._stopped.is_set() and (job := self._next()) is not None:
                for result in job():
                    self._results.put(result)
                    if self._stopped.is_set():
                        break
        except BaseException as raised:  # noqa: BLE001 - for whoever takes the results
            self._stopped.set()
            error = raised
        self._results.put(_Ended(error))

    def _next(self) -> Callable[[], Iterable[Thing]] | None:
        with self._taking:
            return next(self._jobs, None)
