"""Processes that check cases, and a parent that watches them.

Each process says which case it begins and what became of it. One that says nothing for too long,
or ends, is replaced, and the next begins after the case that it was at.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from fuzz_lib.bases import read_pages, written_pages
from fuzz_lib.cases import make_case
from fuzz_lib.checking import Checker, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from fuzz_lib.cases import Case

_START_UP_S = 120.0


@dataclass(frozen=True)
class Plan:
    """What a run does.

    :param folders: where pages come from; none writes its own.
    :param directory: for the indexes, one of each process.
    """

    folders: tuple[Path, ...]
    seed: int
    max_bytes: int
    preset: str
    extractor: str | None
    index: str
    directory: Path

    def pages(self) -> list[tuple[str, bytes]]:
        """What is mutated."""
        return read_pages(self.folders) if self.folders else written_pages(self.seed)

    def case(self, number: int, pages: list[tuple[str, bytes]]) -> Case:
        """The case of a number."""
        return make_case(self.seed, number, pages, self.max_bytes)

    def checker(self, process: int) -> Checker:
        """For one process."""
        where = "" if self.index == "memory" else self.directory / f"index-{process}"
        return Checker(f"{self.index}:{where}", self.preset, self.extractor)


@dataclass(frozen=True)
class Lost:
    """A case that its process did not survive.

    :param how: ``hung``, or how the process ended.
    """

    number: int
    how: str


@dataclass(frozen=True)
class Ended:
    """A process is done. :param peak_rss_bytes: the most memory that it had."""

    peak_rss_bytes: int


def run(
    plan: Plan, numbers: range, processes: int, timeout_ms: float
) -> Iterator[Outcome | Lost | Ended]:
    """What became of each case, as it becomes known."""
    children = [_Child(plan, process, numbers[process::processes]) for process in range(processes)]
    try:
        while children:
            ready = wait([child.pipe for child in children], timeout=0.2)
            for child in list(children):
                found = child.heard() if child.pipe in ready else child.overdue(timeout_ms / 1000)
                if found is not None:
                    yield found
                if child.finished:
                    children.remove(child)
    finally:
        for child in children:
            child.stop()


class _Child:
    """A process, and the one that replaces it."""

    def __init__(self, plan: Plan, process: int, numbers: range) -> None:
        self._plan = plan
        self._process = process
        self._numbers = numbers
        self.finished = False
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, end = context.Pipe(duplex=False)
        arguments = (self._plan, self._process, self._numbers, end)
        self._child = context.Process(target=_work, args=arguments, daemon=True)
        self._child.start()
        end.close()
        self._at: int | None = None
        self._since = time.monotonic()

    def heard(self) -> Outcome | Lost | Ended | None:
        """What the process said; a `Lost` if it is no more."""
        try:
            said: Any = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self._child.join()
            return self._lost(f"ended with {self._child.exitcode}")
        self._since = time.monotonic()
        if isinstance(said, int):
            self._at = said
            return None
        if isinstance(said, Ended):
            self.stop()
            self.finished = True
        found: Outcome | Ended = said
        return found

    def overdue(self, timeout_s: float) -> Lost | None:
        """End a process that takes too long for a case."""
        limit_s = _START_UP_S if self._at is None else timeout_s
        if time.monotonic() - self._since <= limit_s:
            return None
        return self._lost("hung")

    def _lost(self, how: str) -> Lost:
        self.stop()
        if self._at is None:
            raise RuntimeError(f"a process {how} before its first case")
        at = self._at
        self._numbers = self._numbers[self._numbers.index(at) + 1 :]
        if self._numbers:
            self._start()
        else:
            self.finished = True
        return Lost(at, how)

    def stop(self) -> None:
        """End it."""
        self._child.kill()
        self._child.join()
        self.pipe.close()


def _work(plan: Plan, process: int, numbers: range, pipe: Connection) -> None:
    pages = plan.pages()
    checker = plan.checker(process)
    for number in numbers:
        case = plan.case(number, pages)
        pipe.send(number)
        pipe.send(checker.check(case))
    checker.close()
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pipe.send(Ended(kibibytes * 1024))
