"""Write the report at the end of a crawl (SIMHASH_REPORT)."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import IndexLocked, SimhashError
from scrapy_simhash.index import index_url, open_index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from scrapy_simhash.crawl.settings import SimhashSettings

logger = logging.getLogger(__name__)

_SEEN = ("near_duplicate", "unchanged")
_SCRAPY_STATS = (
    "downloader/request_count",
    "downloader/response_count",
    "downloader/response_bytes",
    "response_received_count",
    "item_scraped_count",
    "item_dropped_count",
    "elapsed_time_seconds",
)


def write_crawl_report(crawler: Crawler, settings: SimhashSettings, reason: str) -> None:
    """Write the report if SIMHASH_REPORT is set; log any failure.

    :param reason: why the spider closed.
    """
    path = settings.report
    if path is None or crawler.stats is None:
        return
    from scrapy_simhash.report.writing import write_report

    spider = crawler.spider
    extra = {"spider": spider}
    directory = settings.directory if settings.pages else settings.item_directory
    redis = settings.redis
    where = redis.address("page" if settings.pages else "item") if redis else directory
    try:
        name = "" if spider is None else str(spider.name)
        judged = "simhash" if settings.pages else "simhash/item"
        crawl = crawl_facts(crawler.stats.get_stats(), name, reason, judged)
        write_report(path, where, crawl=crawl, cluster_limit=settings.cluster_limit)
    except IndexLocked:
        if _is_open_here(index_url(directory, settings.index_kind)):
            logger.info(
                "simhash: the report %s is not written yet, because another crawl of this process "
                "still uses the index; the crawl that ends last writes its report",
                path,
                extra=extra,
            )
            return
        crawler.stats.inc_value("simhash/errors/report")
        logger.warning(
            "simhash: the report %s was not written, because another process has the index open. "
            "When that process has ended, `scrapy simhash report --index %s %s` writes a report "
            "without the counts of this crawl",
            path,
            directory,
            path,
            extra=extra,
        )
    except (SimhashError, OSError) as error:
        crawler.stats.inc_value("simhash/errors/report")
        # A traceback would only bury the message.
        logger.error(  # noqa: TRY400
            "simhash: the report %s was not written: %s. `scrapy simhash report %s` writes a "
            "report of the index alone",
            path,
            error,
            f"--redis-key {where.name}" if redis else f"--index {where}",
            extra=extra,
        )
    else:
        logger.info("simhash: the report is in %s", path, extra=extra)


def _is_open_here(url: str) -> bool:
    """Return True if another crawl of this process has the index open.

    Crawls of one process share an index, so opening it succeeds only in that case.
    """
    try:
        open_index(url).close()
    except SimhashError:
        return False
    return True


def crawl_facts(
    stats: Mapping[str, Any], spider: str, reason: str, judged: str = "simhash"
) -> dict[str, Any]:
    """Return the facts about a crawl from its stats; see `scrapy_simhash.report.data`.

    Each page with seen content is either dropped, followed or tagged. Kept pages, by reason, are a
    subset of the tagged ones.

    :param judged: prefix of the stats of what was judged, pages or items.
    """

    def number(name: str) -> int:
        return int(stats.get(f"{judged}/{name}", 0))

    def names_below(family: str) -> list[str]:
        prefix = f"{judged}/{family}/"
        below = (name.removeprefix(prefix) for name in stats if name.startswith(prefix))
        return sorted(name for name in below if "/" not in name)

    def by_verdict(family: str) -> dict[str, int]:
        return {kind: number(f"{family}/{kind}") for kind in _SEEN}

    reasons = sorted(names_below("kept"), key=lambda reason: -number(f"kept/{reason}"))
    return {
        "spider": spider,
        "reason": reason,
        "started_at_s": _unix_s(stats.get("start_time")),
        "ended_at_s": _unix_s(stats.get("finish_time")),
        "judged": number("checked"),
        "similar": number("similar"),
        **{
            kind: number(kind)
            for kind in ("new", "near_duplicate", "unchanged", "changed", "error_page")
        },
        **{outcome: by_verdict(outcome) for outcome in ("dropped", "followed", "tagged")},
        "kept": {reason: by_verdict(f"kept/{reason}") for reason in reasons},
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
