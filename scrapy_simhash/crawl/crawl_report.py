"""Write the report at the end of a crawl (SIMHASH_REPORT)."""

from __future__ import annotations

import logging
import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Any

from scrapy_simhash.crawl.advice import index_option
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.maintenance.sources import Location

logger = logging.getLogger(__name__)

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
        crawl = crawl_facts(crawler.stats.get_stats(), spider_name, reason, prefix)
        write_report(path, location, crawl=crawl)
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
