"""Advice: warnings about settings that match nothing, and about parts of a site that look like one
template. Each says what was found and what to do next.
"""

from __future__ import annotations

import logging
import shlex
from typing import TYPE_CHECKING

from scrapy_simhash.index.clusters import host_of
from scrapy_simhash.printable import printable

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.stats import CrawlStats

logger = logging.getLogger(__name__)

_MOST_TEMPLATES = 5


def warn_of_templates(crawler: Crawler, stats: CrawlStats, what: str, directory: Path) -> None:
    """Warn about each URL pattern with many pages that are like each other.

    :param what: ``pages`` or ``items``.
    :param directory: of the index that has them.
    """
    templates = stats.templates()
    for found in templates[:_MOST_TEMPLATES]:
        command = f"scrapy simhash clusters --index {shlex.quote(str(directory))}"
        host = host_of(found.example)
        if host:
            command += f" --host {shlex.quote(host)}"
        logger.warning(
            "simhash: %d of %d %s like %s are like each other (%d of them were dropped): one "
            "template? `%s` shows them. If they are different content, let "
            "SIMHASH_CONTENT_SELECT or SIMHASH_CONTENT_REMOVE leave out what the template says",
            found.alike,
            found.pages,
            what,
            printable(found.pattern),
            found.dropped,
            command,
            extra={"spider": crawler.spider},
        )
    further = len(templates) - _MOST_TEMPLATES
    if further > 0:
        logger.warning(
            "simhash: %d more URL patterns look like one template each; `scrapy simhash report "
            "--index %s` lists them",
            further,
            shlex.quote(str(directory)),
            extra={"spider": crawler.spider},
        )


def warn_of_selectors(crawler: Crawler, selectors: Collection[str], pages: int) -> None:
    """Warn that selectors found nothing, see `Unmatched`."""
    logger.warning(
        "simhash: %s found nothing on any of %d pages: correct or remove that in "
        "SIMHASH_CONTENT_SELECT or SIMHASH_CONTENT_REMOVE; `scrapy simhash extract URL` shows what "
        "a page yields",
        _named(selectors),
        pages,
        extra={"spider": crawler.spider},
    )


def warn_of_item_fields(crawler: Crawler, fields: Collection[str], items: int) -> None:
    """Warn that no item has a text in some fields, see `Unmatched`."""
    logger.warning(
        "simhash: none of %d items has a text in %s: name fields that they have in "
        "SIMHASH_ITEM_FIELDS",
        items,
        _named(fields),
        extra={"spider": crawler.spider},
    )


def _named(names: Collection[str]) -> str:
    return ", ".join(repr(printable(name)) for name in names)
