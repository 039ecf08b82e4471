"""Warn about selectors and item fields without matches, about copies that pass because of the
arguments of their callbacks, and about URL patterns with many copies.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.maintenance.duplication import host_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable

    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.maintenance.sources import Location

UNMATCHED_SELECTORS = (
    "simhash: %(names)s matched nothing on any of %(pages)d pages: correct or remove these "
    "selectors in SIMHASH_CONTENT_SELECT, SIMHASH_CONTENT_REMOVE or SIMHASH_DISTINCT_BY; "
    "`scrapy simhash extract URL` shows the text that is extracted from a page"
)
EMPTY_FIELDS = (
    "simhash: none of %(pages)d items has text in %(names)s: set SIMHASH_ITEM_FIELDS to fields "
    "that the items have"
)
_EARLY_PAGES = 100
_MAX_SHOWN_PATTERNS = 5
_SHOWN_ARGUMENTS = 3
# Fewer copies, or a smaller share of all copies, are not worth a warning.
_MIN_PASSED = 20
_MIN_PASSED_SHARE = 0.1


def index_option(location: Location) -> str:
    """Return the option that names an index for `scrapy simhash` commands."""
    if isinstance(location, RedisAddress):  # without the URL, which may hold a password
        return f"--redis-key {shlex.quote(location.name)}"
    return f"--index {shlex.quote(str(location))}"


def warn_of_arguments(errors: ErrorLog, stats: CrawlStats, names: Counter[str]) -> None:
    """Warn if many copies passed because their callbacks were called with other arguments.

    :param names: how many of these copies carried each argument.
    """
    passed = stats.counted("kept/request")
    if passed < _MIN_PASSED or passed < _MIN_PASSED_SHARE * stats.counted("near_duplicate"):
        return
    shown = ", ".join(loggable(str(name)) for name, _ in names.most_common(_SHOWN_ARGUMENTS))
    errors.warn(
        "simhash: %d copies passed, because their callbacks got other arguments than those of the "
        "pages that they are copies of (simhash/kept/request). %s. If the items do not depend on "
        "an argument, name it in SIMHASH_IGNORE_ARGUMENTS, and such copies are dropped",
        passed,
        f"Their requests carry {shown}" if shown else "They have other callbacks, or cookies",
    )


def warn_of_no_items(errors: ErrorLog, stats: CrawlStats) -> None:
    """Warn that a crawl without items dropped pages: callbacks may store what they find."""
    dropped = stats.counted("dropped")
    if dropped >= _MIN_PASSED:
        errors.warn(
            "simhash: no callback yielded an item, and %d pages were dropped. If callbacks store "
            "what they find in another way, set SIMHASH_FOLLOW = True: then all callbacks run",
            dropped,
        )


def warn_of_copies(errors: ErrorLog, stats: CrawlStats, what: str, location: Location) -> None:
    """Warn about up to five URL patterns of which many pages are copies; count the others.

    :param what: ``pages`` or ``items``.
    :param location: place of the index of these pages or items.
    """
    patterns, option = stats.patterns.with_copies(), index_option(location)
    for count in patterns[:_MAX_SHOWN_PATTERNS]:
        host = host_of(count.example)
        host_option = f" --host {shlex.quote(host)}" if host else ""
        of = "each other" if count.original == count.pattern else f"{what} like {count.original}"
        errors.warn(
            "simhash: %d of %d %s like %s %s copies of %s: `%s` shows them; if they are different "
            "%s, name in SIMHASH_DISTINCT_BY what tells them apart",
            count.dropped or count.copies,
            count.pages,
            what,
            loggable(count.pattern),
            "were dropped as" if count.dropped else "are",
            loggable(of),
            f"scrapy simhash index clusters {option}{host_option}",
            what,
        )
    further = len(patterns) - _MAX_SHOWN_PATTERNS
    if further > 0:
        errors.warn(
            "simhash: %d more URL patterns have many copies; `scrapy simhash report %s` lists them",
            further,
            option,
        )


class UnmatchedNames:
    """The selectors (or item fields) that have matched nothing so far.

    :param names: all selectors (or item fields) in the settings.
    :param message: a text with ``%(names)s`` and ``%(pages)d``.
    """

    def __init__(self, names: Iterable[str], message: str, errors: ErrorLog) -> None:
        self._unmatched = list(dict.fromkeys(names))
        self._message = message
        self._errors = errors
        self._pages = 0

    def count(self, missing: Collection[str]) -> None:
        """Count a page (or item), on which the `missing` names matched nothing. Warn after 100, as
        nobody wants to wait for the end of a long crawl.
        """
        self._pages += 1
        self._unmatched = [name for name in self._unmatched if name in missing]
        if self._pages == _EARLY_PAGES:
            self.warn()

    def warn(self) -> None:
        """Warn about the names that have matched nothing so far, unless this was done."""
        if self._unmatched and self._pages:
            names = ", ".join(repr(loggable(name)) for name in self._unmatched)
            values = {"names": names, "pages": self._pages}
            self._errors.warn_once(self._message, self._message, values)
