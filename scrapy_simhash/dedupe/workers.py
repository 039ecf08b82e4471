"""Fingerprint records in worker processes, or in this one."""

from __future__ import annotations

import json
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe.fingerprinting import Fingerprinted, Fingerprinter, Job, skipped
from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.evidence import evidence_from, plain_evidence
from scrapy_simhash.workers.pool import STEP_INTERVAL_S, WorkerPool
from scrapy_simhash.workers.process import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from concurrent.futures import Future

# Jobs that are queued or at work for each worker, so that none waits for the oldest job.
_JOBS_AHEAD = 6


def fingerprints_here(
    job_spec: dict[str, Any], jobs: Iterable[Job]
) -> Generator[list[Fingerprinted], None, None]:
    """Yield the fingerprints of each job, computed in this process."""
    fingerprinter = Fingerprinter(job_spec)
    for job in jobs:
        yield fingerprinter.fingerprint(job)


class Workers:
    """Worker processes that fingerprint the records of jobs.

    :param job_spec: see `make_job_spec`.
    """

    def __init__(self, job_spec: dict[str, Any], count: int) -> None:
        work: Work[Job, bytes | str] = Work(
            server="scrapy_simhash.dedupe.workers:serve_jobs",
            job_spec=job_spec,
            timeout_ms=job_spec["timeout_ms"],
            encode=encode_job,
            decode=bytes,  # `_result` decodes it, when the answers of all earlier jobs are known
            lost_result=str,
            without_workers="use --workers 1, which starts no process",
        )
        self.pool = WorkerPool(work, count)
        self._max_waiting = _JOBS_AHEAD * count

    def fingerprints(self, jobs: Iterable[Job]) -> Generator[list[Fingerprinted], None, None]:
        """Yield the fingerprints of each job, in the order of the jobs.

        :raises WorkerError: no worker can be started, or a job failed in a worker.
        """
        waiting: deque[tuple[Job, Future[bytes | str]]] = deque()
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

    def _submit(self, job: Job) -> Future[bytes | str]:
        return self.pool.submit(lambda: job)

    def _result(self, job: Job, future: Future[bytes | str]) -> list[Fingerprinted]:
        """Return the fingerprints of a job. If it was lost, try its records one by one."""
        while not future.done():
            self.pool.step(STEP_INTERVAL_S)
        result = future.result()
        if isinstance(result, bytes):
            return decode_answer(result)
        if len(job.contents) == 1:  # `result` is the reason
            return [skipped(job.default_key(0), result)]
        singles = (
            Job(job.name, number, [content])
            for number, content in enumerate(job.contents, job.first_number)
        )
        return list(chain.from_iterable(self.fingerprints(singles)))


def serve_jobs(job_spec: dict[str, Any]) -> Callable[[bytes], bytes]:
    """Return a function that answers the message of a job. Runs in a worker."""
    fingerprinter = Fingerprinter(job_spec)

    def answer(message: bytes) -> bytes:
        return encode_answer(fingerprinter.fingerprint(decode_job(message)))

    return answer


def encode_job(job: Job) -> list[bytes]:
    """Return the message for a job, in parts: a line of JSON, then the contents as they are."""
    parts = [part if isinstance(part, str) else len(part) for part in job.contents]
    head = json.dumps([job.name, job.first_number, parts]).encode("ascii")
    return [head, b"\n", *(part for part in job.contents if isinstance(part, bytes))]


def decode_job(message: bytes) -> Job:
    """Return the job that `encode_job` encoded."""
    start = message.index(b"\n") + 1
    name, number, parts = json.loads(message[: start - 1])
    contents: list[bytes | str] = []
    for part in parts:
        if isinstance(part, str):
            contents.append(part)
        else:
            contents.append(message[start : start + part])
            start += part
    return Job(name, number, contents)


def encode_answer(records: Sequence[Fingerprinted]) -> bytes:
    """Return the answer with the records of a job, as JSON: without texts and times."""
    values = [
        (key, page.fingerprint, page.skipped, plain_evidence(page.evidence))
        for key, page in records
    ]
    return json.dumps(values).encode("ascii")


def decode_answer(answer: bytes) -> list[Fingerprinted]:
    """Return the records that `encode_answer` encoded."""
    return [
        Fingerprinted(
            key,
            PageFingerprint(
                fingerprint=fingerprint, skipped=reason, evidence=evidence_from(evidence)
            ),
        )
        for key, fingerprint, reason, evidence in json.loads(answer)
    ]
