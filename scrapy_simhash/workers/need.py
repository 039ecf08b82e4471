"""Choose how many workers run: another one while jobs wait and a core is idle."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

_INTERVAL_S = 0.1
# Shorter queues, such as those of start URLs, end before another worker is ready.
_WAITING_S = 0.3
_MIN_IDLE_CORES = 0.2  # with less, another worker would only slow down the others
_UNNEEDED_S = 30.0
_CPU_TIMES = Path("/proc/stat")
_OWN_CGROUP = Path("/proc/self/cgroup")
_CGROUPS = Path("/sys/fs/cgroup")


class Need:
    """The number of workers that a pool needs, from `least` to `most`."""

    def __init__(self, least: int, most: int) -> None:
        self.workers = self._least = least
        self._most = most
        self._next_s = 0.0
        self._last_waited_s = 0.0
        # When jobs began to wait, and `idle_core_s` then; None if none wait.
        self._began: tuple[float, float] | None = None
        if most > least:
            logger.info(
                "simhash: workers: %d, up to %d while pages wait and a core is idle", least, most
            )

    def update(self, now_s: float, *, waits: bool, ready: bool) -> None:
        """Change `workers` by at most 1.

        :param now_s: the time on a clock of the caller.
        :param waits: jobs wait.
        :param ready: all workers have started.
        """
        if now_s < self._next_s:
            return
        self._next_s = now_s + _INTERVAL_S
        if waits:
            self._last_waited_s = now_s
        if not (waits and ready):
            self._began = None
        elif self._began is None:
            self._began = now_s, idle_core_s()
        elif now_s - self._began[0] >= _WAITING_S and self.workers < self._most:
            began_s, idle_before_s = self._began
            self._began = None
            if (idle_core_s() - idle_before_s) / (now_s - began_s) >= _MIN_IDLE_CORES:
                self._change(1, "pages wait, and a core is idle")
        if self.workers > self._least and now_s - self._last_waited_s >= _UNNEEDED_S:
            self._last_waited_s = now_s
            self._change(-1, "no page has waited for 30 s")

    def _change(self, by: int, reason: str) -> None:
        self.workers += by
        logger.info("simhash: workers: %d, because %s", self.workers, reason)


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    The CPU affinity of the process limits it, and on Linux the quota of its cgroup (version 2).
    """
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    count = getattr(os, "process_cpu_count", lambda: len(affinity(0)))  # since Python 3.13
    cores = count() or 1
    return max(1, int(min([cores, *_quotas()])))


def idle_core_s() -> float:
    """Return the seconds that all cores together were idle since some moment in the past.

    Where the system does not say it, one core counts as idle.
    """
    try:
        fields = _CPU_TIMES.read_bytes().partition(b"\n")[0].split()
        ticks = int(fields[4]) + int(fields[5])  # idle, and waiting for disks
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.monotonic()


def _quotas() -> list[float]:
    """Return the quotas of the cgroups that this process is in, in cores."""
    quotas = []
    with suppress(OSError):
        name = _OWN_CGROUP.read_text(encoding="utf-8").rpartition("0::/")[2].strip()
        for folder in (_CGROUPS / name, *(_CGROUPS / name).parents):
            with suppress(OSError, ValueError):  # the root has no quota; others may have "max"
                quota, period = map(int, (folder / "cpu.max").read_text(encoding="utf-8").split())
                quotas.append(quota / period)
    return quotas
