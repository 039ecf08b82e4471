"""Fingerprint records in several processes, or in this one.

A worker is a fresh interpreter that talks over a socket: it receives a job spec, then jobs, each a
line of JSON and the bytes of its records. Nothing is unpickled. The workers take jobs in turn, each
several jobs ahead, so answers are read in the order of the jobs.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy_simhash.dedupe.fingerprinting import Fingerprinted, Fingerprinter, Job, skipped
from scrapy_simhash.errors import WorkerError
from scrapy_simhash.workers.channel import Channel
from scrapy_simhash.workers.child import PARENTS_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

# Jobs that a worker has in advance, so that it never waits for this process.
_JOBS_AHEAD = 6
_START_TIMEOUT_S = 60.0
# Threads of numpy would compete with the other processes.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_BOOTSTRAP = """
import sys, json
sys.path[:] = json.loads(sys.argv[2])
from scrapy_simhash.dedupe.workers import serve
serve(int(sys.argv[1]))
"""


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
    :raises WorkerError: they cannot be started.
    """

    def __init__(self, job_spec: dict[str, Any], count: int) -> None:
        self._job_spec = job_spec
        self._workers: list[_Worker] = []
        self.replaced = 0
        """Number of workers that died or took too long."""
        try:
            for _ in range(count):
                self._workers.append(_Worker(job_spec))
            for worker in self._workers:
                worker.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def fingerprints(self, jobs: Iterable[Job]) -> Generator[list[Fingerprinted], None, None]:
        """Yield the fingerprints of each job, in the order of the jobs."""
        turns: deque[int] = deque()
        for number, job in enumerate(jobs):
            if len(turns) == _JOBS_AHEAD * len(self._workers):
                yield self._receive(turns.popleft())
            turn = number % len(self._workers)
            self._workers[turn].send(job)
            turns.append(turn)
        while turns:
            yield self._receive(turns.popleft())

    def close(self) -> None:
        """Kill the workers at once."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _receive(self, turn: int) -> list[Fingerprinted]:
        worker = self._workers[turn]
        try:
            return worker.receive()
        except (EOFError, OSError):
            return self._receive_again(turn)

    def _receive_again(self, turn: int) -> list[Fingerprinted]:
        """Replace a worker that died, and skip the record that it died of."""
        first, *others = self._workers[turn].jobs
        self._replace(turn)
        found: list[Fingerprinted] = []
        for at in range(len(first.contents)):
            self._workers[turn].send(first.single(at))
            try:
                found += self._workers[turn].receive()
            except (EOFError, OSError):
                timed_out = self._replace(turn) == -signal.SIGALRM
                reason = "timeout" if timed_out else "worker_died"
                found.append(skipped(first.default_key(at), reason))
        for job in others:
            self._workers[turn].send(job)
        return found

    def _replace(self, turn: int) -> int:
        """Replace a worker, and return the exit code of the old one."""
        code = self._workers[turn].end()
        self.replaced += 1
        self._workers[turn] = _Worker(self._job_spec)
        self._workers[turn].wait_until_ready()
        return code


class _Worker:
    """A worker process, seen from its parent."""

    def __init__(self, job_spec: dict[str, Any]) -> None:
        if not sys.executable or getattr(sys, "frozen", False):
            raise WorkerError("there is no Python to start workers with: one worker needs none")
        self.jobs: deque[Job] = deque()
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
        with suppress(OSError):  # `wait_until_ready` reports a worker that died
            self._channel.send(json.dumps(job_spec).encode("ascii"))

    def wait_until_ready(self) -> None:
        """Wait until the worker can take jobs.

        :raises WorkerError: it died, or cannot use its job spec.
        """
        self._socket.settimeout(_START_TIMEOUT_S)
        try:
            answer = json.loads(self._channel.receive())
        except (EOFError, OSError) as error:
            raise WorkerError(
                f"a worker did not start (exit code {self.end()}): see its output on standard "
                "error; one worker (--workers 1) needs no process"
            ) from error
        self._socket.settimeout(None)
        if "error" in answer:
            raise WorkerError(f"a worker did not start: {answer['error']}")

    def send(self, job: Job) -> None:
        """Send a job. If the worker is dead, `receive` raises the error."""
        self.jobs.append(job)
        parts = [part if isinstance(part, str) else len(part) for part in job.contents]
        head = json.dumps([job.name, job.first_number, parts]).encode("ascii")
        with suppress(OSError):
            self._channel.send(
                head, b"\n", *(part for part in job.contents if isinstance(part, bytes))
            )

    def receive(self) -> list[Fingerprinted]:
        """Wait for the fingerprints of the first job.

        :raises EOFError, OSError: the worker is dead.
        """
        answer = json.loads(self._channel.receive())
        self.jobs.popleft()
        return [Fingerprinted.from_plain(plain) for plain in answer]

    def end(self) -> int:
        """Kill the worker, if it lives, and return its exit code."""
        self._channel.close()
        if self.jobs:  # it may be about to exit, and its exit code says why
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


def serve(descriptor: int) -> NoReturn:
    """Run in a worker process: answer jobs until the parent exits."""
    # A terminal sends these signals to all processes, but only the parent decides.
    for number in PARENTS_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PARENTS_SIGNALS)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    connected = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no name
    # Keep the output of extractors out of standard output.
    sys.stdout = sys.stderr
    with suppress(OSError):  # it may be closed
        os.dup2(2, 1)
    try:
        _serve(Channel(connected))
    except (EOFError, ConnectionError):
        pass  # the parent closed the socket or died
    except BaseException:  # noqa: BLE001 - the outermost handler
        traceback.print_exc()
    finally:
        os._exit(1)


def _serve(channel: Channel) -> None:
    job_spec = json.loads(channel.receive())
    try:
        fingerprinter = Fingerprinter(job_spec)
    except BaseException as error:  # noqa: BLE001 - an extractor may raise anything
        channel.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode("ascii"))
        return
    channel.send(b"{}")
    messages: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_receive, args=(channel, messages), daemon=True).start()
    timeout_s = job_spec["timeout_ms"] / 1000
    while True:
        job = _decoded(messages.get())
        found: list[Fingerprinted] = []
        for at in range(len(job.contents)):
            # The alarm kills this process; the parent starts another.
            signal.setitimer(signal.ITIMER_REAL, timeout_s)
            found += fingerprinter.fingerprint(job.single(at))
        signal.setitimer(signal.ITIMER_REAL, 0)
        channel.send(json.dumps([one.plain() for one in found]).encode("ascii"))


def _receive(channel: Channel, messages: queue.Queue[bytes]) -> None:
    """Receive jobs while another is done, so that the parent never waits to send."""
    try:
        while True:
            messages.put(channel.receive())
    except BaseException:  # noqa: BLE001 - without a parent there is nothing to do
        os._exit(1)


def _decoded(message: bytes) -> Job:
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
