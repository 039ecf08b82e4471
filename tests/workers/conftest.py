"""Workers that end with their test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_simhash.workers.pages import PageWorkers
from scrapy_simhash.workers.process import WorkerProcess
from tests.workers.orders import LONG_MS, SCHEME, order_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_simhash import Scheme


@pytest.fixture
def start_pool() -> Iterator[Callable[..., PageWorkers]]:
    """Return a function that starts pools."""
    pools = []

    def start(
        workers: int = 1, *, scheme: Scheme = SCHEME, timeout_ms: int = LONG_MS
    ) -> PageWorkers:
        pools.append(PageWorkers(scheme, min_tokens=30, workers=workers, timeout_ms=timeout_ms))
        return pools[-1]

    yield start
    for pool in pools:
        pool.close()


@pytest.fixture
def start_process() -> Iterator[Callable[..., WorkerProcess]]:
    """Return a function that starts worker processes, which are not ready yet."""
    processes = []

    def start(scheme: Scheme = SCHEME, timeout_ms: int = LONG_MS) -> WorkerProcess:
        processes.append(WorkerProcess(order_for(scheme, timeout_ms)))
        return processes[-1]

    yield start
    for process in processes:
        process.end()
