"""Fingerprint records in worker processes."""

from __future__ import annotations

from collections import deque
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from scrapy_simhash.dedupe.fingerprinting import Fingerprinted, Fingerprinter, Job
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.workers.pool import STEP_INTERVAL_S, WorkerPool
from scrapy_simhash.workers.process import Work

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from concurrent.futures import Future

# Jobs that are queued or at work for each worker, so that none waits for the oldest job.
_JOBS_AHEAD = 6


class Workers:
    """Worker processes that fingerprint the records of jobs."""

    def __init__(self, fingerprinter: Fingerprinter, count: int) -> None:
        work: Work[Job, list[Fingerprinted] | str] = Work(
            serve=attrgetter("fingerprint"),
            spec=fingerprinter,
            result_classes=(Fingerprinted, Evidence),
            timeout_ms=fingerprinter.timeout_ms,
            lost_result=str,
            without_workers="use --workers 1, which starts no process",
        )
        self.pool = WorkerPool(work, count)
        self._max_waiting = _JOBS_AHEAD * count

    def fingerprints(self, jobs: Iterable[Job]) -> Generator[list[Fingerprinted], None, None]:
        """Yield the fingerprints of each job, in the order of the jobs.

        :raises WorkerError: no worker can be started, or a job failed in a worker.
        """
        waiting: deque[tuple[Job, Future[list[Fingerprinted] | str]]] = deque()
        for job in jobs:
            if len(waiting) == self._max_waiting:
                yield self._result(*waiting.popleft())
            waiting.append((job, self._submit(job)))
            self.pool.step()
        while waiting:
            yield self._result(*waiting.popleft())

    def close(self) -> None:
        """Kill the workers at once."""
        self.pool.close()

    def _submit(self, job: Job) -> Future[list[Fingerprinted] | str]:
        return self.pool.submit(lambda: job)

    def _result(self, job: Job, future: Future[list[Fingerprinted] | str]) -> list[Fingerprinted]:
        """Return the fingerprints of a job. If it was lost, try its records one by one."""
        while not future.done():
            self.pool.step(STEP_INTERVAL_S)
        result = future.result()
        if not isinstance(result, str):
            return result
        if len(job.contents) == 1:  # `result` is the reason
            return [Fingerprinted(job.default_key(0), skipped=result)]
        singles = (
            Job(job.name, number, [content])
            for number, content in enumerate(job.contents, job.first_number)
        )
        return list(chain.from_iterable(self.fingerprints(singles)))
