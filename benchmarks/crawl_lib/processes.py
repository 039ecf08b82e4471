"""What the system knows of processes: CPU time and memory, from /proc; 0 where there is none."""

from __future__ import annotations

import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_INTERVAL_S = 0.2
_LOOK_S, _IDLE_SHARE = 1.0, 0.05


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process."""
    started_by: dict[int, list[int]] = {}
    with suppress(OSError):
        for entry in _PROC.iterdir():
            if entry.name.isdigit() and (fields := _fields(int(entry.name))):
                started_by.setdefault(int(fields[1]), []).append(int(entry.name))
    found = list(started_by.get(pid, []))
    for child in found:  # which grows meanwhile
        found += started_by.get(child, [])
    return found


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process and of its ended children."""
    fields = _fields(pid)
    if not fields:
        return 0.0
    return float(sum(map(int, fields[11:15]))) / os.sysconf("SC_CLK_TCK")


def children_cpu_s() -> float:
    """Return the CPU time of all descendants of this process, ended or not."""
    return ended_children_cpu_s() + sum(map(cpu_s, descendants(os.getpid())))


def ended_children_cpu_s() -> float:
    """Return the CPU time of the ended children of this process."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def machine_cpu_s() -> float:
    """Return the CPU time that the machine was busy since its start."""
    with suppress(OSError), (_PROC / "stat").open(encoding="ascii") as file:
        user, nice, system, _idle, _io, irq, soft_irq, *_ = map(int, file.readline().split()[1:])
        return (user + nice + system + irq + soft_irq) / os.sysconf("SC_CLK_TCK")
    return 0.0


def wait_until_idle(deadline_s: float) -> None:
    """Wait until programs use at most 5 % of all processors, at most until a monotonic time."""
    while time.monotonic() < deadline_s:
        busy_s = machine_cpu_s()
        time.sleep(_LOOK_S)
        if machine_cpu_s() - busy_s <= _IDLE_SHARE * _LOOK_S * (os.cpu_count() or 1):
            return


def memory_bytes(pid: int, field: str = "VmRSS") -> int:
    """Return the resident set of a process, or with ``VmHWM`` its peak."""
    with suppress(OSError), (_PROC / str(pid) / "status").open(encoding="utf-8") as file:
        for line in file:
            if line.startswith(field + ":"):
                return 1024 * int(line.split()[1])
    return 0


def _fields(pid: int) -> list[str]:
    """Those of /proc/<pid>/stat behind the name, which may hold anything; empty if it ended."""
    with suppress(OSError):
        return (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return []


class MemorySampler(threading.Thread):
    """A thread that samples the resident set of a process and its descendants.

    What processes share counts in each of them. A peak between two looks is missed.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._ended = threading.Event()
        self.peak_bytes = 0

    def run(self) -> None:
        """Sample until `end`."""
        while True:
            pids = [self._pid, *descendants(self._pid)]
            self.peak_bytes = max(self.peak_bytes, sum(map(memory_bytes, pids)))
            if self._ended.wait(_INTERVAL_S):
                return

    def end(self) -> int:
        """Stop, and return the peak."""
        self._ended.set()
        self.join()
        return self.peak_bytes
