"""Log an invalid setting as one message.

Scrapy raises the error in a task or a Deferred that nobody awaits, so asyncio or Twisted would log
it with a traceback.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy_simhash.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)


@contextmanager
def logged_settings_errors() -> Iterator[None]:
    """Log a SettingsError in the block, and raise it. Then no traceback of it is logged."""
    try:
        yield
    except SettingsError as error:
        for name in ("asyncio", "twisted"):
            logging.getLogger(name).addFilter(_is_no_settings_error)
        # A traceback would bury the message.
        logger.error("simhash: %s. Nothing was crawled", error)  # noqa: TRY400
        raise


def _is_no_settings_error(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], SettingsError))
