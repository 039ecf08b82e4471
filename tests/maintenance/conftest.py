"""The fixtures of tests/index, over every back end and every kind of database."""

from tests.index.conftest import backend, kind

__all__ = ["backend", "kind"]
