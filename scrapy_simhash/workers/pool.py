"""Run jobs, such as fingerprinting a page, in worker processes, with a time-out for each job.

A pool has no thread: its owner, such as an event loop, calls `step` when `fileno` can be read, and
every `STEP_INTERVAL_S`. Each worker has up to two jobs, so that it does not wait for the next one.
A worker that hangs or takes too much memory is killed, and a dead worker is replaced.
"""

from __future__ import annotations

import math
import os
import time
import weakref
from collections import deque
from concurrent.futures import Future
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import TYPE_CHECKING, Generic

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.child import ERROR, MEMORY, RESULT
from scrapy_simhash.workers.need import Need, available_cores
from scrapy_simhash.workers.process import Content, Job, Result, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.workers.process import Work

STEP_INTERVAL_S = 0.1
_JOBS_PER_WORKER = 2
# A job whose worker dies is retried once, because the job may not be the cause.
_MAX_DEATHS = 2
_PAUSE_S = 10.0  # after a worker failed to start
# Upper limit of the time that counts between two steps. In a longer time, this process was
# suspended or busy, and did not wait for workers.
_LONGEST_STEP_S = 1.0


class WorkerPool(Generic[Content, Result]):
    """A pool of worker processes that share a queue, and start with the pool.

    :param workers: number of processes, at least 1; None for as many as the jobs need, at most one
        for each core.
    """

    def __init__(self, work: Work[Content, Result], workers: int | None) -> None:
        self._work = work
        self._need = Need(available_cores()) if workers is None else None
        self._count = workers or 1
        self._queue: deque[Job[Content, Result]] = deque()
        self._workers: list[WorkerProcess[Content, Result]] = []
        self._selector = DefaultSelector()
        self.replaced = 0
        """Number of workers that died, or were killed after a time-out or an error."""
        self._now_s = 0.0
        self._stepped_s = time.monotonic()
        self._error = ""  # why no worker can be started now
        self._not_before_s = 0.0
        # A crawl that is forced to stop does not call close().
        self._end_all = weakref.finalize(self, _end, self._workers, os.getpid())
        self._go_on()

    def submit(self, make_content: Callable[[], Content]) -> Future[Result]:
        """Queue a job, and return a future of its result.

        The future raises WorkerError if the pool is closed, no worker can be started, or the job
        failed in the worker. It also raises errors of `make_content` and of `Work`'s functions.

        :param make_content: returns the content of the job. It is called when a worker takes the
            job, so that queued pages are not held in memory twice.
        """
        job = Job(make_content, Future[Result]())
        self._queue.append(job)
        self._go_on()
        return job.future

    def fileno(self) -> int:
        """Return a file descriptor that can be read when there is something to do for `step`."""
        return self._selector.fileno()

    def step(self, timeout_s: float = 0.0) -> None:
        """Read answers, hand out jobs, and replace workers that died or took too long.

        :param timeout_s: upper limit of the time to wait for an answer, at least 0.
        """
        for key, events in self._selector.select(timeout_s):
            if events & EVENT_WRITE:
                key.data.flush()
            if events & EVENT_READ:
                self._read(key.data)
        stepped_s = time.monotonic()
        self._now_s += min(stepped_s - self._stepped_s, _LONGEST_STEP_S)
        self._stepped_s = stepped_s
        for worker in [worker for worker in self._workers if worker.is_late(self._now_s)]:
            self._lose(worker, "timeout")
        if self._need is not None:
            ready = all(worker.is_ready for worker in self._workers)
            self._need.update(self._now_s, waits=bool(self._queue), ready=ready)
            self._count = self._need.workers
            idle = [worker for worker in self._workers if not worker.jobs]
            for worker in idle[: max(0, len(self._workers) - self._count)]:
                self._remove(worker)
        self._go_on()

    def close(self) -> None:
        """Kill all workers at once. The futures of unfinished jobs raise WorkerError."""
        self._error, self._not_before_s = "the workers were closed", math.inf
        self._end_all()
        for worker in self._workers:
            self._queue += worker.jobs
        self._workers.clear()
        self._selector.close()
        self._go_on()

    def _go_on(self) -> None:
        """Start missing workers. Give jobs that wait to workers, or fail them if there are none."""
        while len(self._workers) < self._count and self._now_s >= self._not_before_s:
            self._start()
        while self._queue:
            free = [w for w in self._workers if w.is_ready and len(w.jobs) < _JOBS_PER_WORKER]
            if self._workers and not free:
                break
            job = self._queue.popleft()
            if not (job.future.running() or job.future.set_running_or_notify_cancel()):
                continue
            try:
                if not free:
                    raise WorkerError(self._error)
                min(free, key=lambda worker: len(worker.jobs)).take(job, self._now_s)
            except BaseException as error:  # noqa: BLE001 - the future raises it
                job.future.set_exception(error)
        for worker in self._workers:
            events = EVENT_READ | EVENT_WRITE if worker.unsent else EVENT_READ
            self._selector.modify(worker, events, worker)

    def _remove(self, worker: WorkerProcess[Content, Result]) -> None:
        self._selector.unregister(worker)
        self._workers.remove(worker)
        worker.end()

    def _start(self) -> None:
        try:
            worker = WorkerProcess(self._work, self._now_s)
        except Exception as error:  # noqa: BLE001 - also if there is no memory
            self._failed_to_start(str(error) or type(error).__name__)
        else:
            self._workers.append(worker)
            self._selector.register(worker, EVENT_READ, worker)

    def _failed_to_start(self, message: str) -> None:
        self._error = message
        self._not_before_s = self._now_s + _PAUSE_S

    def _read(self, worker: WorkerProcess[Content, Result]) -> None:
        try:
            answers = worker.receive()
        except EOFError:
            self._lose(worker, "worker_died")
        else:
            for answer in answers:
                if worker in self._workers:
                    self._accept(worker, answer[:1], answer[1:])

    def _accept(self, worker: WorkerProcess[Content, Result], kind: bytes, content: bytes) -> None:
        if kind == RESULT and not worker.is_ready:
            worker.is_ready = True
        elif kind == ERROR and not worker.is_ready:
            self._lose(worker, content.decode("utf-8", "surrogatepass"))
        elif kind in (RESULT, ERROR) and worker.jobs:
            self._finish(worker.answered(self._now_s), kind, content)
        elif kind == MEMORY:
            self._lose(worker, "memory")
        else:  # no job asked for this answer, so none can be trusted
            self._lose(worker, "worker_died")

    def _finish(self, future: Future[Result], kind: bytes, content: bytes) -> None:
        try:
            if kind == ERROR:
                raise WorkerError(content.decode("utf-8", "surrogatepass"))
            future.set_result(self._work.result(content))
        except BaseException as error:  # noqa: BLE001 - the future raises it
            future.set_exception(error)

    def _lose(self, worker: WorkerProcess[Content, Result], reason: str) -> None:
        """End a worker. End its first job, or the attempt to start it; its other job waits again.

        :param reason: ``timeout``, ``memory``, ``worker_died``, or the error of its start.
        """
        self._remove(worker)
        if not worker.is_ready:
            if reason in ("timeout", "worker_died"):
                exit_code = worker.process.returncode
                cause = "it took too long" if reason == "timeout" else f"exit code {exit_code}"
                reason = f"{cause}; see its output on standard error"
            # The advice comes first, because logs may cut the rest.
            self._failed_to_start(
                f"a worker did not start ({self._work.without_workers}; custom components must be "
                f"in an importable module, not in the script that runs): {reason}"
            )
            return
        self.replaced += 1
        if worker.jobs:
            first = worker.jobs[0]
            first.deaths += 1
            if reason != "worker_died" or first.deaths == _MAX_DEATHS:
                worker.jobs.popleft().future.set_result(self._work.lost_result(reason))
        self._queue.extendleft(reversed(worker.jobs))


def _end(workers: Sequence[WorkerProcess[Content, Result]], owner: int) -> None:
    if os.getpid() == owner:  # a fork must not end the workers of its parent
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()
