"""One fixture over every back end, and one over every kind of database."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from .backends import DATABASE_KINDS, KINDS, kind_parameter, make_backend, small_buffers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_simhash.index import ObservingIndex

    from .backends import Backend


@pytest.fixture(params=[*KINDS, kind_parameter("leveldb", "leveldb, spilling")])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """A place for one index, empty at first; one keeps nearly nothing in memory."""
    kind, _, spilling = request.param.partition(", ")
    with small_buffers() if spilling else nullcontext():
        yield make_backend(kind, tmp_path / "index")


@pytest.fixture(params=DATABASE_KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """A kind of database."""
    return request.param


@pytest.fixture
def index(backend: Backend) -> Iterator[ObservingIndex]:
    with backend.open() as opened:
        yield opened
