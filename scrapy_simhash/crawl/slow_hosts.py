"""Hosts whose pages take the workers too long."""

from __future__ import annotations

from dataclasses import dataclass

MAX_TIMEOUTS = 3
PAGES = 100
"""How many pages of a slow host pass, and how many judged ones end its time-outs."""


@dataclass
class _Host:
    timeouts: int = 0
    judged: int = 0  # since the last time-out
    to_pass: int = 0


class SlowHosts:
    """The hosts of a crawl with recent time-outs.

    Each time-out keeps a worker for SIMHASH_TIMEOUT_MS, and other pages wait. After the third
    time-out of a host, its next 100 pages pass unjudged, and after each further one 100 more. 100
    judged pages without a time-out end this.
    """

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def is_slow(self, name: str) -> bool:
        """Return True if the pages of a host pass unjudged now."""
        host = self._hosts.get(name)
        return host is not None and host.to_pass > 0

    def passes(self, name: str) -> bool:
        """Return True if the next page of a host is to pass unjudged, and count that page."""
        if not self.is_slow(name):
            return False
        self._hosts[name].to_pass -= 1
        return True

    def add(self, name: str, *, timed_out: bool) -> None:
        """Count a page of a host that a worker got."""
        if timed_out:
            host = self._hosts.setdefault(name, _Host())
            host.timeouts += 1
            host.judged = 0
            if host.timeouts >= MAX_TIMEOUTS:
                host.to_pass = PAGES
        elif (known := self._hosts.get(name)) is not None:
            known.judged += 1
            if known.judged >= PAGES:
                del self._hosts[name]
