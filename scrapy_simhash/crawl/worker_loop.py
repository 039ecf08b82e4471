"""Call a pool of workers in the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import create_looping_call, is_asyncio_available

from scrapy_simhash.workers.pool import STEP_INTERVAL_S

if TYPE_CHECKING:
    from scrapy_simhash.workers.pool import WorkerPool

# Without asyncio, nobody tells that a worker has answered.
_POLLING_INTERVAL_S = 0.005


class WorkerLoop:
    """Calls a pool's `step` in the event loop: at each answer, and at intervals."""

    def __init__(self, pool: WorkerPool[Any, Any]) -> None:
        self._pool = pool
        self._loop = asyncio.get_running_loop() if is_asyncio_available() else None
        self._intervals = create_looping_call(pool.step)
        interval_s = STEP_INTERVAL_S if self._loop is not None else _POLLING_INTERVAL_S
        self._intervals.start(interval_s, now=False)
        if self._loop is not None:
            self._loop.add_reader(pool.fileno(), pool.step)

    def close(self) -> None:
        """Call `step` no more. The pool must be open."""
        if self._intervals.running:
            self._intervals.stop()
        if self._loop is not None:
            self._loop.remove_reader(self._pool.fileno())
