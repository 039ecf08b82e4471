"""What is installed by the extra `files`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scrapy_simhash.errors import SimhashError


def needed(module: str) -> Any:
    """A module. :raises SimhashError: it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SimhashError(
            f"{module.partition('.')[0]} is needed for these files, and cannot be imported "
            f'({error}): pip install "scrapy-simhash[files]"'
        ) from error
