"""Workers: jobs → answers in their order, from several processes or from this one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy_simhash.dedupe.records import Answer
from scrapy_simhash.dedupe.worker import Job, answer_all, make_parser
from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.channel import Channel
from scrapy_simhash.workers.child import PARENTS_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

# Jobs that a worker has before it: it never waits while others are asked about.
_JOBS_AHEAD = 6
_START_TIMEOUT_S = 60.0
# Of numpy: there are as many processes as are to work at once, and its threads spin.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_BOOTSTRAP = """
import sys, json
sys.path[:] = json.loads(sys.argv[2])
from scrapy_simhash.dedupe.worker import serve
serve(int(sys.argv[1]))
"""

Answered = tuple[Job, list[Answer]]


def answers_here(order: dict[str, Any], jobs: Iterable[Job]) -> Generator[Answered, None, None]:
    """Each job with its answers; all is done in this process."""
    parser = make_parser(order)
    for job in jobs:
        yield job, answer_all(parser, job)


class Workers:
    """Processes that answer jobs. To be closed.

    :param order: what they are to do, see `make_order`.
    :raises WorkerError: they cannot be started.
    """

    def __init__(self, order: dict[str, Any], count: int) -> None:
        self._order = order
        self._workers: list[_Worker] = []
        self.replaced = 0
        """How many died, or took too long."""
        try:
            for _ in range(count):
                self._workers.append(_Worker(order))
            for worker in self._workers:
                worker.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def answers(self, jobs: Iterable[Job]) -> Generator[Answered, None, None]:
        """Each job with its answers, in the order of the jobs."""
        waiting: deque[tuple[Job, int]] = deque()
        for job in jobs:
            while True:
                at = min(range(len(self._workers)), key=lambda n: self._workers[n].jobs)
                if self._workers[at].jobs < _JOBS_AHEAD:
                    break
                yield self._next(waiting)
            self._workers[at].send(job)
            waiting.append((job, at))
        while waiting:
            yield self._next(waiting)

    def close(self) -> None:
        """End them at once."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _next(self, waiting: deque[tuple[Job, int]]) -> Answered:
        job, at = waiting.popleft()
        try:
            return job, self._workers[at].receive()
        except (EOFError, OSError):
            answers = self._one_by_one(job, at)
        for other, its in waiting:
            if its == at:
                self._workers[at].send(other)
        return job, answers

    def _one_by_one(self, job: Job, at: int) -> list[Answer]:
        """The answers of a job that a worker died of: the record that it was is left out."""
        self._replace(at)
        answers: list[Answer] = []
        for number, content in enumerate(job.contents):
            self._workers[at].send(Job(job.name, job.number + number, [content]))
            try:
                answers += self._workers[at].receive()
            except (EOFError, OSError):
                code = self._replace(at)
                reason = "timeout" if code == -signal.SIGALRM else "worker_died"
                answers.append(Answer(job.key(number), reason=reason))
        return answers

    def _replace(self, at: int) -> int:
        code = self._workers[at].end()
        self.replaced += 1
        self._workers[at] = _Worker(self._order)
        self._workers[at].wait_until_ready()
        return code


class _Worker:
    """One process, seen from here."""

    def __init__(self, order: dict[str, Any]) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError("there is no Python to start workers with: one worker needs none")
        self.jobs = 0
        ours, theirs = socket.socketpair()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, PARENTS_SIGNALS)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [
                    *(sys.executable, "-I", "-c", _BOOTSTRAP),
                    *(str(theirs.fileno()), json.dumps(_import_path())),
                ],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={**_ONE_THREAD, **os.environ},
            )
        except OSError as error:
            ours.close()
            raise WorkerError(f"a worker cannot be started ({error})") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            theirs.close()
        self._socket = ours
        self._channel = Channel(ours)
        with suppress(OSError):  # it is gone already: receiving says so
            self._channel.send(json.dumps(order).encode("ascii"))

    def wait_until_ready(self) -> None:
        """:raises WorkerError: it died, or cannot do what it is to do."""
        self._socket.settimeout(_START_TIMEOUT_S)
        try:
            told = json.loads(self._channel.receive())
        except (EOFError, OSError) as error:
            raise WorkerError(
                f"a worker did not start (exit code {self.end()}): what it said is on standard "
                "error; one worker (--workers 1) needs no process"
            ) from error
        self._socket.settimeout(None)
        if "error" in told:
            raise WorkerError(f"a worker did not start: {told['error']}")

    def send(self, job: Job) -> None:
        """Give it a job. If it is dead, receiving says so."""
        self.jobs += 1
        with suppress(OSError):
            self._channel.send(job.encoded())

    def receive(self) -> list[Answer]:
        """The answers of the first job that it has. :raises EOFError, OSError: it is dead."""
        answers = [Answer(*answer) for answer in json.loads(self._channel.receive())]
        self.jobs -= 1
        return answers

    def end(self) -> int:
        """Kill it, if it lives, and return its exit code."""
        self._channel.close()
        if self._process.poll() is None and self.jobs:
            # Its end may be under way: why it ended is worth knowing.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.1)
        self._process.kill()
        return self._process.wait()


def _import_path() -> list[str]:
    path = [entry for entry in sys.path if isinstance(entry, str)]
    try:
        return [entry or os.getcwd() for entry in path]  # noqa: PTH109
    except FileNotFoundError:  # the working directory was deleted
        return [entry for entry in path if entry]
