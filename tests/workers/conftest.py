"""Workers that end with their test."""

from contextlib import ExitStack, closing

import pytest

from tests.workers.driving import Driven, start_workers


@pytest.fixture
def start_pool():
    """Return a function that starts pools; for its arguments see `start_workers`."""
    with ExitStack() as pools:

        def start(*given, **how):
            return pools.enter_context(closing(Driven(start_workers(*given, **how))))

        yield start
