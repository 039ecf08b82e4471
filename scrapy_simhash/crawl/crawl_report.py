"""Say what a user may act on: warnings of a crawl, and its report (SIMHASH_REPORT)."""

from __future__ import annotations

import logging
import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.redis import RedisAddress
from scrapy_simhash.maintenance.duplication import host_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Mapping

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.maintenance.sources import Location

logger = logging.getLogger(__name__)

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

_SEEN_KINDS = ("near_duplicate", "unchanged")
_SCRAPY_STATS = (
    "downloader/request_count",
    "downloader/response_count",
    "downloader/response_bytes",
    "response_received_count",
    "item_scraped_count",
    "item_dropped_count",
    "elapsed_time_seconds",
)


def write_crawl_report(
    crawler: Crawler, settings: SimhashSettings, location: Location, reason: str
) -> None:
    """Write the report if SIMHASH_REPORT is set, and log the result.

    :param location: place of the index of pages, or of items if no pages are judged.
    :param reason: Scrapy's finish reason.
    """
    path = settings.report
    if path is None or crawler.stats is None:
        return
    from scrapy_simhash.report.data import write_report

    extra = {"spider": crawler.spider}
    command = f"scrapy simhash report {index_option(location)} {shlex.quote(str(path))}"
    try:
        spider_name = "" if crawler.spider is None else str(crawler.spider.name)
        prefix = "simhash" if settings.pages else "simhash/item"
        stats = crawler.stats.get_stats()
        write_report(path, location, crawl=crawl_facts(stats, spider_name, reason, prefix))
    except (SimhashError, OSError) as error:
        crawler.stats.inc_value("simhash/errors/report")
        # A traceback would only bury the message.
        logger.error(  # noqa: TRY400
            "simhash: the report %s was not written: %s. Afterwards, `%s` writes a report without "
            "the counts of this crawl",
            path,
            error,
            command,
            extra=extra,
        )
    else:
        logger.info("simhash: the report is in %s", path, extra=extra)


def crawl_facts(
    stats: Mapping[str, Any], spider_name: str, close_reason: str, prefix: str = "simhash"
) -> dict[str, Any]:
    """Return the facts about a crawl for its report, from Scrapy's stats.

    Each near-duplicate and each unchanged page is either dropped, followed or tagged. ``kept``
    counts the tagged pages that pass because of an exception to the action (`KeptReason`).

    :param prefix: prefix of the stats of pages (``simhash``) or items (``simhash/item``).
    """

    def number(name: str) -> int:
        return int(stats.get(f"{prefix}/{name}", 0))

    def names_below(family: str) -> list[str]:
        start = f"{prefix}/{family}/"
        below = (name.removeprefix(start) for name in stats if name.startswith(start))
        return sorted(name for name in below if "/" not in name)

    def by_verdict(family: str) -> dict[str, int]:
        return {kind: number(f"{family}/{kind}") for kind in _SEEN_KINDS}

    kept_reasons = sorted(names_below("kept"), key=lambda reason: -number(f"kept/{reason}"))
    return {
        "spider": spider_name,
        "reason": close_reason,
        "started_at_s": _unix_s(stats.get("start_time")),
        "ended_at_s": _unix_s(stats.get("finish_time")),
        "judged": number("checked"),
        "similar": number("similar"),
        **{
            kind: number(kind)
            for kind in ("new", "near_duplicate", "unchanged", "changed", "error_page")
        },
        **{outcome: by_verdict(outcome) for outcome in ("dropped", "followed", "tagged")},
        "kept": {reason: by_verdict(f"kept/{reason}") for reason in kept_reasons},
        "skipped": {reason: number(f"skipped/{reason}") for reason in names_below("skipped")},
        "stats": {
            name: value
            for name, value in sorted(stats.items())
            if (name.startswith("simhash/") or name in _SCRAPY_STATS)
            and isinstance(value, (int, float, str))
        },
    }


def _unix_s(moment: object) -> int | None:
    return int(moment.timestamp()) if isinstance(moment, datetime) else None


def index_option(location: Location) -> str:
    """Return the option that names an index for `scrapy simhash` commands."""
    if isinstance(location, RedisAddress):  # without the URL, which may hold a password
        return f"--redis-key {shlex.quote(location.name)}"
    return f"--index {shlex.quote(str(location))}"


def warn_of_passed(errors: ErrorLog, stats: CrawlStats, names: Counter[str]) -> None:
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


def warn_of_dropped(
    errors: ErrorLog, stats: CrawlStats, what: str, location: Location, gives_items: bool
) -> None:
    """Warn about up to five URL patterns of which many pages are copies. Warn that a crawl without
    items dropped pages: callbacks may store what they find.

    :param what: ``pages`` or ``items``.
    :param location: place of the index of these pages or items.
    """
    dropped = stats.counted("dropped")
    if dropped >= _MIN_PASSED and not gives_items:
        errors.warn(
            "simhash: no callback yielded an item, and %d pages were dropped. If callbacks store "
            "what they find in another way, set SIMHASH_FOLLOW = True: then all callbacks run",
            dropped,
        )
    option = index_option(location)
    for count in stats.patterns.with_copies()[:_MAX_SHOWN_PATTERNS]:
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
