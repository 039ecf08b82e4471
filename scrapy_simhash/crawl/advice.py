"""Warn about selectors and item fields without matches, and pages that may share a template."""

from __future__ import annotations

import logging
import shlex
from typing import TYPE_CHECKING

from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.maintenance.duplication import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.maintenance.sources import Location

logger = logging.getLogger(__name__)

_MAX_SHOWN_TEMPLATES = 5


def index_option(location: Location) -> str:
    """Return the option that names an index for `scrapy simhash` commands."""
    if isinstance(location, RedisAddress):  # without the URL, which may hold a password
        return f"--redis-key {shlex.quote(location.name)}"
    return f"--index {shlex.quote(str(location))}"


def warn_of_templates(crawler: Crawler, stats: CrawlStats, what: str, location: Location) -> None:
    """Warn about up to five URL patterns whose pages may share a template; count the others.

    :param what: ``pages`` or ``items``.
    :param location: place of the index of these pages or items.
    """
    templates, option = stats.templates(), index_option(location)
    for template in templates[:_MAX_SHOWN_TEMPLATES]:
        host = host_of(template.example)
        host_option = f" --host {shlex.quote(host)}" if host else ""
        logger.warning(
            "simhash: %d of %d %s that match %s are near-duplicates of, or similar to, another one "
            "that matches (%d were dropped): perhaps they share a template. `%s` lists the "
            "near-duplicates. If their content differs, exclude the template's text with "
            "SIMHASH_CONTENT_SELECT or SIMHASH_CONTENT_REMOVE",
            template.alike,
            template.pages,
            what,
            printable(template.pattern),
            template.dropped,
            f"scrapy simhash clusters {option}{host_option}",
            extra={"spider": crawler.spider},
        )
    further = len(templates) - _MAX_SHOWN_TEMPLATES
    if further > 0:
        logger.warning(
            "simhash: %d more URL patterns have pages that may share a template; `scrapy simhash "
            "report %s` lists them",
            further,
            option,
            extra={"spider": crawler.spider},
        )


def warn_of_selectors(crawler: Crawler, selectors: Collection[str], pages: int) -> None:
    """Warn that none of the selectors matched on any of so many pages."""
    logger.warning(
        "simhash: %s matched nothing on any of %d pages: correct or remove these selectors in "
        "SIMHASH_CONTENT_SELECT or SIMHASH_CONTENT_REMOVE; `scrapy simhash extract URL` shows the "
        "text that is extracted from a page",
        _quoted(selectors),
        pages,
        extra={"spider": crawler.spider},
    )


def warn_of_item_fields(crawler: Crawler, fields: Collection[str], items: int) -> None:
    """Warn that none of the fields held text in any of so many items."""
    logger.warning(
        "simhash: none of %d items has text in %s: set SIMHASH_ITEM_FIELDS to fields that the "
        "items have",
        items,
        _quoted(fields),
        extra={"spider": crawler.spider},
    )


def _quoted(names: Collection[str]) -> str:
    return ", ".join(repr(printable(name)) for name in names)


class UnmatchedNames:
    """The selectors (or item fields) that have matched nothing so far.

    :param names: all selectors (or item fields) in the settings.
    :param warn: called with (unmatched names, number of pages or items) after `early` pages or
        items, and again at the end, if names are still unmatched.
    """

    def __init__(
        self,
        names: Iterable[str],
        warn: Callable[[Collection[str], int], None],
        *,
        early: int = 100,
    ) -> None:
        self._unmatched = dict.fromkeys(names)
        self._warn = warn
        self._early = early
        self._pages = 0

    def seen(self, missing: Collection[str]) -> None:
        """Count a page (or item).

        :param missing: the names that matched nothing on the page (or in the item).
        """
        if not self._unmatched:
            return
        self._pages += 1
        self._unmatched = {name: None for name in self._unmatched if name in missing}
        if self._unmatched and self._pages == self._early:
            self._warn(self._unmatched, self._pages)

    def close(self) -> None:
        """Warn about the names that matched nothing in the whole crawl."""
        if self._unmatched and self._pages:
            self._warn(self._unmatched, self._pages)
