"""Run jobs, such as fingerprinting a page, in worker processes, with a time-out for each job.

A worker that hangs is killed, and a dead worker is replaced. Other workers are not affected: each
has its own socket and its own thread in the parent. The pools of the standard library do not fit.
One dead process breaks a `concurrent.futures` pool, and `multiprocessing` imports the main module
again, so scripts without a ``__main__`` guard would start themselves.
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
from typing import TYPE_CHECKING, Generic

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.process import Content, Result, WorkerProcess, WorkerTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.workers.process import Work

# Upper limit of the pause after a worker failed to start.
_LONGEST_PAUSE_S = 60.0
# A job whose worker dies is retried once, because the job may not be the cause.
_ATTEMPTS = 2
# Answers are delivered in batches, because waking an event loop for each page costs up to 50 % more
# CPU time. Batches are small, because the loop can do nothing else while it handles a batch.
_BATCH_ANSWERS = 8
_MAX_DELAY_S = 0.05


@dataclass(eq=False)
class _Job(Generic[Content, Result]):
    """A queued job, and its future."""

    make_content: Callable[[], Content]
    future: Future[Result]
    _content: Content | None = None

    def content(self) -> Content:
        """Return the content, and make it on the first call; raise the error of `make_content`."""
        if self._content is None:
            self._content = self.make_content()
        return self._content


class WorkerPool(Generic[Content, Result]):
    """A pool of worker processes that share a queue, and start with the pool.

    :param workers: number of processes, at least 1.
    :param batch_answers: upper limit of answers that the thread of a worker delivers together.
    """

    def __init__(
        self,
        work: Work[Content, Result],
        workers: int,
        *,
        batch_answers: int = _BATCH_ANSWERS,
    ) -> None:
        self._work = work
        self._timeout_s = work.timeout_ms / 1000
        self._batch_answers = batch_answers
        self._jobs: deque[_Job[Content, Result]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.replaced = 0
        """Number of workers that died, or were killed after a time-out or an error."""
        self._processes: set[WorkerProcess[Content, Result]] = set()
        self._threads = [
            # Daemon threads, so that a forced exit of the interpreter does not wait for them.
            threading.Thread(target=self._run, name=f"simhash worker {number}", daemon=True)
            for number in range(workers)
        ]
        self._owner = os.getpid()
        # A crawl that is forced to stop does not call close().
        atexit.register(self._at_exit)
        for thread in self._threads:
            thread.start()

    @property
    def process_ids(self) -> list[int]:
        """Return the process ids of the running workers."""
        with self._changed:
            return [process.pid for process in self._processes]

    def submit(self, make_content: Callable[[], Content]) -> Future[Result]:
        """Queue a job, and return a future of its result.

        The future raises WorkerError if the pool is closed, no worker can be started, or the job
        failed in the worker. It also raises errors of `make_content` and of `Work`'s functions.

        :param make_content: returns the content of the job. A thread of the pool calls it when it
            takes the job, so that queued pages are not held in memory twice.
        """
        future: Future[Result] = Future()
        with self._changed:
            if self._closed:
                future.set_exception(_closed_error())
                return future
            self._jobs.append(_Job(make_content, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        """Kill all workers at once. The futures of unfinished jobs raise WorkerError."""
        self._stop()
        for thread in self._threads:
            thread.join()
        atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:  # a fork must not kill the workers of its parent
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
                job.future.set_exception(_closed_error())

    def _run(self) -> None:
        """Run jobs with one worker, in a thread of its own, until the pool is closed."""
        slot: _Slot[Content, Result] = _Slot(self._start, self._end)
        answers = _Answers()
        try:
            job = self._next_job(slot)
            while job is not None:
                answers.add(self._run_job(slot, job, answers.deliver_if_late))
                # Give the worker its next job first, because delivering waits for other threads.
                job = self._ask_ahead(slot)
                # Deliver if the batch is full, the queue is short, or the worker is idle.
                if job is None or len(answers) >= min(self._batch_answers, len(self._jobs)):
                    answers.deliver()
                job = job or self._next_job(slot)
        finally:
            answers.deliver()
            slot.end_worker()

    def _next_job(self, slot: _Slot[Content, Result]) -> _Job[Content, Result] | None:
        """Start the worker, wait for a job and return it; None if the pool was closed."""
        slot.prepare()  # before this thread takes a job that another worker could do
        return self._take_job(wait=True)

    def _take_job(self, *, wait: bool) -> _Job[Content, Result] | None:
        """Return the first job; None if the pool is closed or, without `wait`, no job is queued."""
        with self._changed:
            while True:
                while wait and not self._jobs and not self._closed:
                    self._changed.wait()
                if self._closed or not self._jobs:
                    return None
                job = self._jobs.popleft()
                if job.future.set_running_or_notify_cancel():
                    return job

    def _ask_ahead(self, slot: _Slot[Content, Result]) -> _Job[Content, Result] | None:
        """Take a job, send it to the worker in advance, and return it; None without a job."""
        process = slot.process
        if process is None or (job := self._take_job(wait=False)) is None:
            return None
        with suppress(BaseException):  # `_result` tries again, and raises the error
            content = job.content()
            try:
                process.ask(content)
                slot.asked_job = job
            except BaseException:
                self._discard_worker(slot)
                raise
        return job

    def _run_job(
        self,
        slot: _Slot[Content, Result],
        job: _Job[Content, Result],
        on_wait: Callable[[], object],
    ) -> Callable[[], None]:
        """Run a job. Return a function that sets the result or the error of its future."""
        try:
            return partial(job.future.set_result, self._result(slot, job, on_wait))
        except BaseException as error:  # noqa: BLE001 - the future raises it
            return partial(job.future.set_exception, error)

    def _result(
        self,
        slot: _Slot[Content, Result],
        job: _Job[Content, Result],
        on_wait: Callable[[], object],
    ) -> Result:
        content = job.content()
        for _ in range(_ATTEMPTS):
            process = slot.worker()
            try:
                if slot.asked_job is not job:
                    process.ask(content)
                return process.answer(self._timeout_s, on_wait)
            except WorkerTimeout:
                self._discard_worker(slot)
                return self._work.lost_result("timeout")
            except (EOFError, OSError):
                self._discard_worker(slot)
            except WorkerError:
                raise  # the worker can take the next job
            except BaseException:  # a late answer would be taken for the next job's answer
                self._discard_worker(slot)
                raise
        return self._work.lost_result("worker_died")

    def _discard_worker(self, slot: _Slot[Content, Result]) -> None:
        """Kill the worker and count it as replaced; raise WorkerError if the pool is closed."""
        slot.end_worker()
        with self._changed:
            if self._closed:
                raise _closed_error()
            self.replaced += 1

    def _start(self) -> WorkerProcess[Content, Result]:
        with self._changed:
            if self._closed:
                raise _closed_error()
            process = WorkerProcess(self._work)
            self._processes.add(process)
        try:
            return process.wait_until_ready()
        except BaseException:
            self._end(process)
            raise

    def _end(self, process: WorkerProcess[Content, Result]) -> None:
        process.end()
        with self._changed:
            self._processes.discard(process)


def _closed_error() -> WorkerError:
    return WorkerError("the workers were closed")


class _Answers:
    """A batch of answers that are not delivered yet."""

    def __init__(self) -> None:
        self._pending: list[Callable[[], None]] = []
        self._since_s = 0.0

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, set_result: Callable[[], None]) -> None:
        """Add an answer, and deliver the batch if its first answer has waited too long."""
        if not self._pending:
            self._since_s = time.monotonic()
        self._pending.append(set_result)
        self.deliver_if_late()

    def deliver_if_late(self) -> None:
        """Deliver the batch if its first answer has waited too long."""
        if self._pending and time.monotonic() - self._since_s >= _MAX_DELAY_S:
            self.deliver()

    def deliver(self) -> None:
        """Deliver all answers."""
        pending, self._pending = self._pending, []
        for set_result in pending:
            set_result()


class _Slot(Generic[Content, Result]):
    """A place for one worker. The pause after a failed start doubles with each failure in a row."""

    def __init__(
        self,
        start: Callable[[], WorkerProcess[Content, Result]],
        end: Callable[[WorkerProcess[Content, Result]], None],
    ) -> None:
        self._start = start
        self._end = end
        self.process: WorkerProcess[Content, Result] | None = None
        self.asked_job: _Job[Content, Result] | None = None
        """The last job that was sent to the worker in advance."""
        # Only the message, because the traceback of an exception would keep pages in memory.
        self._error: str | None = None
        self._failures = 0
        self._not_before_s = 0.0

    def prepare(self) -> None:
        """Start the worker before a job needs it. Ignore errors."""
        with suppress(Exception):  # the job raises the error
            self.worker()

    def worker(self) -> WorkerProcess[Content, Result]:
        """Return the worker, and start it if necessary.

        :raises WorkerError: it cannot be started, or the pause after a failed start is not over.
        """
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

    def end_worker(self) -> None:
        """Kill the worker, if there is one."""
        self.asked_job = None
        if self.process is not None:
            self._end(self.process)
            self.process = None
