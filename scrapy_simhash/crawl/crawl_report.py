"""The report of a crawl that has ended (SIMHASH_REPORT)."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import IndexLocked, SimhashError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.settings import SimhashSettings

logger = logging.getLogger(__name__)

_OF_SCRAPY = (
    "downloader/request_count",
    "downloader/response_count",
    "downloader/response_bytes",
    "response_received_count",
    "item_scraped_count",
    "item_dropped_count",
    "elapsed_time_seconds",
)


def write_crawl_report(crawler: Crawler, settings: SimhashSettings, reason: str) -> None:
    """Write the report, if the settings ask for one; what fails is logged.

    :param reason: why the spider closed.
    """
    path = settings.report
    if path is None or crawler.stats is None:
        return
    from scrapy_simhash.report.writing import write_report

    spider = crawler.spider
    try:
        name = "" if spider is None else str(spider.name)
        crawl = crawl_facts(crawler.stats.get_stats(), name, reason)
        write_report(path, settings.directory, crawl=crawl, cluster_limit=settings.cluster_limit)
    except IndexLocked:
        logger.info(
            "simhash: another crawl uses the index still; the last one writes the report",
            extra={"spider": spider},
        )
    except (SimhashError, OSError) as error:
        crawler.stats.inc_value("simhash/errors/report")
        # The message says all there is to say; a traceback would bury it.
        logger.error(  # noqa: TRY400
            "simhash: the report %s was not written: %s. `scrapy simhash report --index %s` "
            "makes one of the index alone",
            path,
            error,
            settings.directory,
            extra={"spider": spider},
        )
    else:
        logger.info("simhash: the report is in %s", path, extra={"spider": spider})


def crawl_facts(stats: Mapping[str, Any], spider: str, reason: str) -> dict[str, Any]:
    """What a crawl's stats say of it; see `scrapy_simhash.report.data`."""

    def number(name: str) -> int:
        return int(stats.get(f"simhash/{name}", 0))

    def by_reason(family: str) -> dict[str, int]:
        prefix = f"simhash/{family}/"
        return {
            name.removeprefix(prefix): value
            for name, value in sorted(stats.items())
            if name.startswith(prefix)
        }

    kept = by_reason("kept")
    return {
        "spider": spider,
        "reason": reason,
        "started_at_s": _unix_s(stats.get("start_time")),
        "ended_at_s": _unix_s(stats.get("finish_time")),
        "judged": number("checked"),
        **{kind: number(kind) for kind in ("new", "near_duplicate", "unchanged", "changed")},
        "dropped": number("dropped"),
        "tagged": max(number("near_duplicate") - number("dropped"), 0),
        "skipped": by_reason("skipped"),
        "kept": kept,
        "floods": kept.get("flood", 0),
        "stats": {
            name: value
            for name, value in sorted(stats.items())
            if (name.startswith("simhash/") or name in _OF_SCRAPY)
            and isinstance(value, (int, float, str))
        },
    }


def _unix_s(moment: object) -> int | None:
    return int(moment.timestamp()) if isinstance(moment, datetime) else None
