"""Hosts whose pages take the workers too long."""

from __future__ import annotations

from collections import Counter

MAX_TIMEOUTS = 3
PAGES = 100
"""How many pages of a slow host pass, and how many judged ones end its time-outs."""


class SlowHosts:
    """The hosts of a crawl with recent time-outs.

    Each time-out keeps a worker for SIMHASH_TIMEOUT_MS, and other pages wait. After the third
    time-out of a host, its next 100 pages pass unjudged, and after each further one 100 more. 100
    judged pages without a time-out end this.
    """

    def __init__(self) -> None:
        self._timeouts: Counter[str] = Counter()
        self._judged: Counter[str] = Counter()  # since the last time-out
        self._to_pass: Counter[str] = Counter()

    def is_slow(self, host: str) -> bool:
        """Return True if the pages of a host pass unjudged now."""
        return self._to_pass[host] > 0

    def passes(self, host: str) -> bool:
        """Return True if the next page of a host is to pass unjudged, and count that page."""
        if not self.is_slow(host):
            return False
        self._to_pass[host] -= 1
        return True

    def add(self, host: str, *, timed_out: bool) -> None:
        """Count a page of a host that a worker got."""
        if timed_out:
            self._timeouts[host] += 1
            self._judged[host] = 0
            if self._timeouts[host] >= MAX_TIMEOUTS:
                self._to_pass[host] = PAGES
        elif host in self._timeouts:
            self._judged[host] += 1
            if self._judged[host] >= PAGES:
                del self._timeouts[host]
