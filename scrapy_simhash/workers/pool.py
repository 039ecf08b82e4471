"""Run jobs, such as fingerprinting a page, in worker processes, with a time-out for each job.

A pool has no thread: its owner, such as an event loop, calls `step` when `fileno` can be read, and
every `STEP_INTERVAL_S`. Each worker has up to two jobs, so that it does not wait for the next one.
A worker whose job takes too long or too much memory exits, and a dead worker is replaced. One that
does not exit, because an extractor switched its alarm off or it was suspended, is killed.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import time
import weakref
from collections import deque
from io import BytesIO
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.child import OUT_OF_MEMORY
from scrapy_simhash.workers.need import Need, available_cores
from scrapy_simhash.workers.process import START_TIMEOUT_S, Job, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

STEP_INTERVAL_S = 0.1
_JOBS_PER_WORKER = 2
# Exit code of a worker → why its first job has no result.
LOST_REASONS = {-signal.SIGALRM: "timeout", OUT_OF_MEMORY: "memory"}
# A worker that has not answered after this many times its limit, and these seconds, is killed.
_PATIENCE, _PATIENCE_S = 2, 2.0
# Of the time between two steps, more does not count: the pool was busy or suspended.
_MAX_STEP_S = 1.0
# A job whose worker dies is retried once, because the job may not be the cause.
_MAX_DEATHS = 2
_PAUSE_S = 10.0  # after a worker failed to start


class WorkerPool:
    """A pool of worker processes that share a queue, and start with the pool.

    :param serve: a function of a module. A worker calls it with `spec`, and the function that it
        returns with the content of each job, to get its result.
    :param workers: number of processes, at least 1; None for as many as the jobs need, at most one
        for each core.
    :param result_classes: the classes that results contain, besides strings, numbers, tuples, …
    :param timeout_ms: wall-clock limit for one job.
    :param lost_result: returns the result of a job without an answer, from the reason: ``timeout``,
        ``memory`` or ``worker_died``.
    :param without_workers: advice for error messages, such as "use --workers 1".
    """

    def __init__(
        self,
        serve: Callable[[Any], Callable[[Any], object]],
        spec: object,
        workers: int | None,
        *,
        result_classes: Sequence[type],
        timeout_ms: int,
        lost_result: Callable[[str], object],
        without_workers: str,
    ) -> None:
        self._start = serve, spec, timeout_ms
        self._result_classes = result_classes
        self._lost_result = lost_result
        self._without_workers = without_workers
        self._need = Need(workers or 1, workers or available_cores())
        self._queue: deque[Job] = deque()
        self._workers: list[WorkerProcess] = []
        self._selector = DefaultSelector()
        self.replaced = 0
        """Number of workers that died, also by a time-out."""
        self._error = ""  # why no worker can be started now
        self._not_before_s = 0.0
        self._last_step_s = time.monotonic()
        # A crawl that is forced to stop does not call close().
        self._end_all = weakref.finalize(self, _end, self._workers, os.getpid())
        self._go_on()

    def submit(self, make_content: Callable[[], object]) -> Future[Any]:
        """Queue a job, and return a future of its result.

        The future raises WorkerError if the pool is closed, no worker can be started, or the job
        failed in the worker. It also raises errors of `make_content`.

        :param make_content: returns the content of the job. It is called when a worker takes the
            job, so that queued pages are not held in memory twice.
        """
        job = Job(make_content)
        self._queue.append(job)
        self._go_on()
        return job

    def fileno(self) -> int:
        """Return a file descriptor that can be read when there is something to do for `step`."""
        return self._selector.fileno()

    def step(self, timeout_s: float = 0.0) -> None:
        """Read answers, hand out jobs, and replace workers that died or take far too long.

        :param timeout_s: upper limit of the time to wait for an answer, at least 0.
        """
        selected = self._selector.select(timeout_s)
        self._count_time()
        for key, events in selected:
            if events & EVENT_WRITE:
                key.data.flush()
                self._watch(key.data)
            if events & EVENT_READ:
                self._read(key.data)
        for worker in list(self._workers):
            limit_s = self._start[2] / 1000 if worker.is_ready else START_TIMEOUT_S
            if worker.jobs and worker.silent_s > _PATIENCE * limit_s + _PATIENCE_S:
                self._lose(worker, "timeout")
        idle = [worker for worker in self._workers if not worker.jobs]
        are_ready = all(worker.is_ready for worker in self._workers)
        self._need.update(time.monotonic(), waits=bool(self._queue), ready=are_ready)
        for worker in idle[: max(0, len(self._workers) - self._need.workers)]:
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
        now_s = time.monotonic()
        try:
            while len(self._workers) < self._need.workers and now_s >= self._not_before_s:
                worker = WorkerProcess(self._start)
                self._workers.append(worker)
                self._selector.register(worker.socket, EVENT_READ, worker)
                self._watch(worker)
        except Exception as error:  # noqa: BLE001 - also if there is no memory
            self._failed_to_start(str(error) or type(error).__name__)
        while self._queue:
            free = [w for w in self._workers if w.is_ready and len(w.jobs) < _JOBS_PER_WORKER]
            if self._workers and not free:
                break
            job = self._queue.popleft()
            if not (job.running() or job.set_running_or_notify_cancel()):
                continue
            try:
                if not free:
                    raise WorkerError(self._error)
                worker = min(free, key=lambda worker: len(worker.jobs))
                worker.take(job)
                self._watch(worker)
            except BaseException as error:  # noqa: BLE001 - the future raises it
                job.set_exception(error)

    def _count_time(self) -> None:
        now_s = time.monotonic()
        passed_s, self._last_step_s = now_s - self._last_step_s, now_s
        for worker in self._workers:
            worker.silent_s += min(passed_s, _MAX_STEP_S)
            worker.was_unwatched |= passed_s > _MAX_STEP_S

    def _watch(self, worker: WorkerProcess) -> None:
        events = EVENT_READ | EVENT_WRITE if worker.unsent else EVENT_READ
        self._selector.modify(worker.socket, events, worker)

    def _read(self, worker: WorkerProcess) -> None:
        try:
            answers = worker.receive()
        except EOFError:
            self._lose(worker)
            return
        for answer in answers:
            if not worker.jobs:  # nobody asked for this answer, so none can be trusted
                self._lose(worker)
                return
            was_ready, job = worker.is_ready, worker.jobs.popleft()
            worker.was_unwatched = False
            try:
                job.set_result(result_in(answer, self._result_classes))
            except BaseException as error:  # noqa: BLE001 - the future raises it
                job.set_exception(error)
                if not was_ready:
                    self._remove(worker)
                    self._failed_to_start(str(error))
                    return

    def _remove(self, worker: WorkerProcess) -> None:
        self._selector.unregister(worker.socket)
        self._workers.remove(worker)
        worker.end()

    def _lose(self, worker: WorkerProcess, reason: str = "") -> None:
        """Replace a worker. Its first job is lost, or waits again; its other job waits again.

        :param reason: why its first job has no result, if its exit code does not say it.
        """
        self._remove(worker)
        exit_code = worker.process.returncode
        reason = reason or LOST_REASONS.get(exit_code, "worker_died")
        if not worker.is_ready:
            cause = "it took too long" if reason == "timeout" else f"exit code {exit_code}"
            self._failed_to_start(f"{cause}; see its output on standard error")
            return
        self.replaced += 1
        if worker.jobs:
            worker.jobs[0].deaths += 1
            # An alarm also counts the time in which all processes were suspended.
            is_cause = reason == "memory" or (reason == "timeout" and not worker.was_unwatched)
            if is_cause or worker.jobs[0].deaths == _MAX_DEATHS:
                worker.jobs.popleft().set_result(self._lost_result(reason))
        self._queue.extendleft(reversed(worker.jobs))

    def _failed_to_start(self, reason: str) -> None:
        # The advice comes first, because logs may cut the rest.
        self._error = (
            f"a worker did not start ({self._without_workers}; custom components must be in an "
            f"importable module, not in the script that runs): {reason}"
        )
        self._not_before_s = time.monotonic() + _PAUSE_S


class _AnswerReader(pickle.Unpickler):
    """Reads an answer, which a page that has taken over the worker may have forged."""

    def __init__(self, answer: bytes, classes: Sequence[type]) -> None:
        super().__init__(BytesIO(answer))
        self._classes = classes

    def find_class(self, module: str, name: str) -> Any:
        for one in self._classes:
            if (one.__module__, one.__qualname__) == (module, name):
                return one
        raise pickle.UnpicklingError(f"an answer of a worker contains {module}.{name}")


def result_in(answer: bytes, classes: Sequence[type]) -> Any:
    """Return the result in an answer.

    :param classes: the classes that it may contain.
    :raises WorkerError: the job failed.
    :raises Exception: it is no answer, or contains other classes.
    """
    result, error = _AnswerReader(answer, classes).load()
    if error:
        raise WorkerError(error)
    return result


def _end(workers: Sequence[WorkerProcess], owner: int) -> None:
    if os.getpid() == owner:  # a fork must not end the workers of its parent
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()
