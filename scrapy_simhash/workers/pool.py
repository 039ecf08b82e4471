"""WorkerPool: pages → fingerprints in processes of their own, each page under a time-out.

A worker that hangs is killed, one that dies is replaced, and the others never notice: each has a
socket and a thread to itself. A pool of `concurrent.futures` breaks as a whole when one process
dies, and `multiprocessing` runs the main module again, so that scripts without a ``__main__``
guard would start themselves. Nothing is forked.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.process import WorkerProcess, WorkerTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.scheme import Scheme
    from scrapy_simhash.workers.child import Content

DEFAULT_TIMEOUT_MS = 10_000
_LONGEST_PAUSE_S = 60.0
# A page that takes a worker with it is given to a second one, for something else may have done it.
_ATTEMPTS = 2
# Answers are told together: an event loop that handles one page at a time, and sleeps in between,
# takes up to half as much CPU time again for each. Not more of them, for the loop does nothing else
# while it handles them, and not later than this.
_TOLD_TOGETHER = 8
_TOLD_AFTER_S = 0.05


@dataclass(eq=False)
class _Job:
    make: Callable[[], Content]
    future: Future[PageFingerprint]
    made: Content | None = None

    def page(self) -> Content:
        """Return the page, made once. :raises BaseException: what making it raised."""
        if self.made is None:
            self.made = self.make()
        return self.made


class WorkerPool:
    """Workers that share a queue. They start when the pool is made.

    :param workers: number of processes, at least 1.
    :param timeout_ms: for one page, by the wall clock.
    :param keep_text: see `Detector`, as for `sketches`.
    """

    def __init__(
        self,
        scheme: Scheme,
        *,
        min_tokens: int,
        workers: int,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        keep_text: bool = False,
        sketches: bool = True,
    ) -> None:
        self._order = {
            "scheme": scheme.to_dict(),
            "min_tokens": min_tokens,
            "keep_text": keep_text,
            "sketches": sketches,
            "timeout_ms": timeout_ms,
        }
        self._timeout_s = timeout_ms / 1000
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._replaced = 0
        self._processes: set[WorkerProcess] = set()
        self._threads = [
            # Daemons: an interpreter that is told to end at once does not wait for them.
            threading.Thread(target=self._work, name=f"simhash worker {number}", daemon=True)
            for number in range(workers)
        ]
        self._owner = os.getpid()
        # A crawl that is told to end at once closes nothing.
        atexit.register(self._at_exit)
        for thread in self._threads:
            thread.start()

    @property
    def replaced(self) -> int:
        """How many workers died, or were killed as they hung."""
        return self._replaced

    @property
    def process_ids(self) -> list[int]:
        """Of the workers that there are now."""
        with self._changed:
            return [process.pid for process in self._processes]

    def fingerprint_page(self, make: Callable[[], Content]) -> Future[PageFingerprint]:
        """Queue a page (or an item). It may come back skipped, as ``timeout`` or ``worker_died``.

        :param make: gives it as `WorkerProcess.ask` takes it. Called in a thread of the
            pool when its turn has come, so that pages that wait take no memory twice; what it
            raises, the future raises.
        :raises WorkerError: (the future) no worker can be started, or the fingerprint failed for
            a reason that is not the page's.
        """
        future: Future[PageFingerprint] = Future()
        with self._changed:
            if self._closed:
                future.set_exception(_closed())
                return future
            self._jobs.append(_Job(make, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        """End the workers at once, hanging ones too; what waits raises WorkerError."""
        self._stop()
        for thread in self._threads:
            thread.join()
        atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:  # not in a fork, which has none of the threads
            self._stop()

    def _stop(self) -> None:
        with self._changed:
            self._closed = True
            waiting = list(self._jobs)
            self._jobs.clear()
            for process in self._processes:
                process.kill()
            self._changed.notify_all()
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(_closed())

    def _work(self) -> None:
        """One thread, and the worker that it keeps."""
        seat = _Seat(self._start, self._end)
        answers = _Answers()
        try:
            job = self._next_job(seat)
            while job is not None:
                answers.add(self._answered(seat, job, answers.tell_late))
                # The worker first: telling waits for other threads, and it would wait, too.
                job = self._asked_ahead(seat)
                # It has enough to do while the pages that are told of are handled.
                if job is None or len(answers) >= min(_TOLD_TOGETHER, len(self._jobs)):
                    answers.tell()
                job = job or self._next_job(seat)
        finally:
            answers.tell()
            seat.leave()

    def _next_job(self, seat: _Seat) -> _Job | None:
        """Wait for a page. None: the pool was closed."""
        seat.prepare()  # before a page is taken that another worker could do
        return self._taken(wait=True)

    def _taken(self, *, wait: bool) -> _Job | None:
        """Take the first page that waits, or None."""
        with self._changed:
            while True:
                while wait and not self._jobs and not self._closed:
                    self._changed.wait()
                if self._closed or not self._jobs:
                    return None
                job = self._jobs.popleft()
                if job.future.set_running_or_notify_cancel():
                    return job

    def _asked_ahead(self, seat: _Seat) -> _Job | None:
        """Take a page if one waits, and send it to the worker if that is well."""
        process = seat.process
        if process is None or (job := self._taken(wait=False)) is None:
            return None
        with suppress(BaseException):  # the page's own turn follows, and says so
            page = job.page()
            try:
                process.ask(page)
                seat.asked = job
            except BaseException:
                self._lost(seat)
                raise
        return job

    def _answered(
        self, seat: _Seat, job: _Job, meanwhile: Callable[[], object]
    ) -> Callable[[], None]:
        """Return what tells the page's future the answer, or the error."""
        try:
            return partial(job.future.set_result, self._fingerprint(seat, job, meanwhile))
        except BaseException as error:  # noqa: BLE001 - for whoever waits for it
            return partial(job.future.set_exception, error)

    def _fingerprint(
        self, seat: _Seat, job: _Job, meanwhile: Callable[[], object]
    ) -> PageFingerprint:
        page = job.page()
        for _ in range(_ATTEMPTS):
            process = seat.worker()
            try:
                if seat.asked is not job:
                    process.ask(page)
                return process.answer(self._timeout_s, meanwhile)
            except WorkerTimeout:
                self._lost(seat)
                return PageFingerprint(skipped="timeout")
            except (EOFError, OSError):
                self._lost(seat)
            except WorkerError:
                raise  # it is well
            except BaseException:  # memory, for one: the answer would be taken for the next page's
                self._lost(seat)
                raise
        return PageFingerprint(skipped="worker_died")

    def _lost(self, seat: _Seat) -> None:
        seat.leave()
        with self._changed:
            if self._closed:
                raise _closed()
            self._replaced += 1

    def _start(self) -> WorkerProcess:
        with self._changed:
            if self._closed:
                raise _closed()
            process = WorkerProcess(self._order)
            self._processes.add(process)
        try:
            return process.wait_until_ready()
        except BaseException:
            self._end(process)
            raise

    def _end(self, process: WorkerProcess) -> None:
        process.end()
        with self._changed:
            self._processes.discard(process)


def _closed() -> WorkerError:
    return WorkerError("the workers were closed")


class _Answers:
    """Answers that were not told yet."""

    def __init__(self) -> None:
        self._untold: list[Callable[[], None]] = []
        self._since_s = 0.0

    def __len__(self) -> int:
        return len(self._untold)

    def add(self, tell: Callable[[], None]) -> None:
        """Add an answer; those that are late are told with it."""
        if not self._untold:
            self._since_s = time.monotonic()
        self._untold.append(tell)
        self.tell_late()

    def tell_late(self) -> None:
        """Tell all if the first waits for too long."""
        if self._untold and time.monotonic() - self._since_s >= _TOLD_AFTER_S:
            self.tell()

    def tell(self) -> None:
        """Tell all."""
        untold, self._untold = self._untold, []
        for tell in untold:
            tell()


class _Seat:
    """The place of a worker: it is filled again when it gets empty, not too often in a row."""

    def __init__(
        self, start: Callable[[], WorkerProcess], end: Callable[[WorkerProcess], None]
    ) -> None:
        self._start = start
        self._end = end
        self.process: WorkerProcess | None = None
        self.asked: _Job | None = None
        """The last page that was sent to the worker before its turn."""
        # Its text alone: an exception that is raised again and again keeps all pages it met.
        self._error: str | None = None
        self._failures = 0
        self._not_before_s = 0.0

    def prepare(self) -> None:
        """Start a worker before it is needed."""
        with suppress(Exception):  # the first page that needs it will say so
            self.worker()

    def worker(self) -> WorkerProcess:
        """:raises WorkerError: none could be started, now or a moment ago."""
        if self.process is None:
            if self._error is not None and time.monotonic() < self._not_before_s:
                raise WorkerError(self._error)
            try:
                self.process = self._start()
            except Exception as error:
                self._failures += 1
                pause_s = min(2.0**self._failures, _LONGEST_PAUSE_S)
                self._error, self._not_before_s = str(error), time.monotonic() + pause_s
                raise
            self._error, self._failures = None, 0
        return self.process

    def leave(self) -> None:
        """End the worker, if there is one."""
        self.asked = None
        if self.process is not None:
            self._end(self.process)
            self.process = None
