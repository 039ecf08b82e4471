"""Workers: jobs → answers in their order, from several processes or from this one."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
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
        waiting: deque[_Asked] = deque()
        for job in jobs:
            self._take(0)
            while (worker := self._free(len(waiting))) is None:
                if (answered := _first(waiting)) is None:
                    self._take(None)
                else:
                    yield answered
                    self._take(0)
            waiting.append(worker.ask(job))
        while waiting:
            while (answered := _first(waiting)) is None:
                self._take(None)
            yield answered

    def _free(self, waiting: int) -> _Worker | None:
        """Who is to get the next job, if so many wait for others before them or for a worker."""
        worker = min(self._workers, key=lambda worker: len(worker.asked))
        if len(worker.asked) < _JOBS_AHEAD and waiting < 2 * _JOBS_AHEAD * len(self._workers):
            return worker
        return None

    def close(self) -> None:
        """End them at once."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _take(self, timeout_s: float | None) -> None:
        """Take in the answers that are there, of whichever worker; None waits for one."""
        with selectors.DefaultSelector() as selector:
            for at, worker in enumerate(self._workers):
                if worker.asked:
                    selector.register(worker, selectors.EVENT_READ, at)
            ready = selector.select(timeout_s) if selector.get_map() else []
        for key, _ in ready:
            self._receive(key.data)

    def _receive(self, at: int) -> None:
        try:
            self._workers[at].receive()
        except (EOFError, OSError):
            self._do_again(at)

    def _do_again(self, at: int) -> None:
        """What a worker was to do that died: the record that it was at is left out."""
        first, *others = self._workers[at].asked
        answers: list[Answer] = []
        self._replace(at)
        for number, content in enumerate(first.job.contents):
            job = Job(first.job.name, first.job.number + number, [content])
            asked = self._workers[at].ask(job)
            try:
                while asked.answers is None:
                    self._workers[at].receive()
                answers += asked.answers
            except (EOFError, OSError):
                code = self._replace(at)
                reason = "timeout" if code == -signal.SIGALRM else "worker_died"
                answers.append(Answer(first.job.key(number), reason=reason))
        first.answers = answers
        for asked in others:
            self._workers[at].ask_for(asked)

    def _replace(self, at: int) -> int:
        code = self._workers[at].end()
        self.replaced += 1
        self._workers[at] = _Worker(self._order)
        self._workers[at].wait_until_ready()
        return code


@dataclass(eq=False)
class _Asked:
    """A job that a worker has, or had."""

    job: Job
    answers: list[Answer] | None = None


def _first(waiting: deque[_Asked]) -> Answered | None:
    """Take away the first job, if it has been answered."""
    job, answers = waiting[0].job, waiting[0].answers
    if answers is None:
        return None
    waiting.popleft()
    return job, answers


class _Worker:
    """One process, seen from here."""

    def __init__(self, order: dict[str, Any]) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError("there is no Python to start workers with: one worker needs none")
        self.asked: deque[_Asked] = deque()
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

    def fileno(self) -> int:
        """Of its socket."""
        return self._channel.fileno()

    def ask(self, job: Job) -> _Asked:
        """Give it a job."""
        asked = _Asked(job)
        self.ask_for(asked)
        return asked

    def ask_for(self, asked: _Asked) -> None:
        """Give it a job. If it is dead, receiving says so."""
        self.asked.append(asked)
        with suppress(OSError):
            self._channel.send(asked.job.encoded())

    def receive(self) -> None:
        """Take in the answers that are there, or wait for those of its first job.

        :raises EOFError, OSError: it is dead.
        """
        while True:
            answers = [Answer.from_plain(plain) for plain in json.loads(self._channel.receive())]
            self.asked.popleft().answers = answers
            if not self._channel.has_message:
                return

    def end(self) -> int:
        """Kill it, if it lives, and return its exit code."""
        self._channel.close()
        if self._process.poll() is None and self.asked:
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
