"""One fixture over every back end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .backends import make_backend

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_simhash.index import ObservingIndex

    from .backends import Backend


@pytest.fixture(params=["memory", "leveldb"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """A place for one index, empty at first."""
    return make_backend(request.param, tmp_path / "index")


@pytest.fixture
def index(backend: Backend) -> Iterator[ObservingIndex]:
    with backend.open() as opened:
        yield opened
