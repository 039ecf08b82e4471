"""Workers that end with their test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workers.driving import LONG_MS, SCHEME, Driven, start_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_simhash import Scheme


@pytest.fixture
def start_pool() -> Iterator[Callable[..., Driven]]:
    """Return a function that starts pools."""
    pools = []

    def start(
        workers: int | None = 1,
        *,
        scheme: Scheme = SCHEME,
        timeout_ms: int = LONG_MS,
        keep_text: bool = False,
    ) -> Driven:
        pools.append(Driven(start_workers(workers, scheme, timeout_ms, keep_text=keep_text)))
        return pools[-1]

    yield start
    for pool in pools:
        pool.close()
