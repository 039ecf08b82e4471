"""Warn about settings that match nothing, and about URL patterns whose pages share a template."""

from __future__ import annotations

import logging
import shlex
from typing import TYPE_CHECKING

from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.maintenance.duplication import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.stats import CrawlStats

logger = logging.getLogger(__name__)

_MOST_TEMPLATES = 5
EARLY = 100


def warn_of_templates(crawler: Crawler, stats: CrawlStats, what: str, directory: str) -> None:
    """Warn about each URL pattern with many similar pages.

    :param what: ``pages`` or ``items``.
    :param directory: directory of the index that holds them.
    """
    templates = stats.templates()
    for template in templates[:_MOST_TEMPLATES]:
        command = f"scrapy simhash clusters --index {shlex.quote(directory)}"
        host = host_of(template.example)
        if host:
            command += f" --host {shlex.quote(host)}"
        logger.warning(
            "simhash: %d of %d %s that match %s are near-duplicates of each other (%d of them were "
            "dropped): perhaps they share a template. `%s` lists them. If their content differs, "
            "exclude the template's text with SIMHASH_CONTENT_SELECT or SIMHASH_CONTENT_REMOVE",
            template.alike,
            template.pages,
            what,
            printable(template.pattern),
            template.dropped,
            command,
            extra={"spider": crawler.spider},
        )
    further = len(templates) - _MOST_TEMPLATES
    if further > 0:
        logger.warning(
            "simhash: %d more URL patterns may share a template each; `scrapy simhash report "
            "--index %s` lists them",
            further,
            shlex.quote(directory),
            extra={"spider": crawler.spider},
        )


def warn_of_selectors(crawler: Crawler, selectors: Collection[str], pages: int) -> None:
    """Warn that selectors matched nothing; see `Unmatched`."""
    logger.warning(
        "simhash: %s matched nothing on any of %d pages: correct or remove it in "
        "SIMHASH_CONTENT_SELECT or SIMHASH_CONTENT_REMOVE; `scrapy simhash extract URL` shows the "
        "text that is extracted from a page",
        _named(selectors),
        pages,
        extra={"spider": crawler.spider},
    )


def warn_of_item_fields(crawler: Crawler, fields: Collection[str], items: int) -> None:
    """Warn about item fields that never hold text; see `Unmatched`."""
    logger.warning(
        "simhash: none of %d items has text in %s: set SIMHASH_ITEM_FIELDS to fields that the "
        "items have",
        items,
        _named(fields),
        extra={"spider": crawler.spider},
    )


def _named(names: Collection[str]) -> str:
    return ", ".join(repr(printable(name)) for name in names)


class Unmatched:
    """The names that have matched nothing so far.

    :param names: names as in the settings.
    :param warn: called with the unmatched names and the number of pages (or items) checked, once
        after `early` of them and once at the end.
    """

    def __init__(
        self,
        names: Iterable[str],
        warn: Callable[[Collection[str], int], None],
        *,
        early: int = EARLY,
    ) -> None:
        self._left = dict.fromkeys(names)
        self._warn = warn
        self._early = early
        self._seen = 0

    def seen(self, missing: Collection[str]) -> None:
        """Count a page (or item).

        :param missing: the names that matched nothing on it.
        """
        if not self._left:
            return
        self._seen += 1
        self._left = {name: None for name in self._left if name in missing}
        if self._left and self._seen == self._early:
            self._warn(self._left, self._seen)

    def close(self) -> None:
        """Warn about names that matched nothing in the whole crawl."""
        if self._left and self._seen:
            self._warn(self._left, self._seen)
