"""SimhashExtension: what the middlewares and the pipeline of one crawl share, and its life.

It opens the index when the spider opens, says so in a line, and closes it with a summary. An
index that cannot be used closes the spider, for a crawl without it would drop nothing; an index
that fails later is counted and its pages pass.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.crawl.settings import SimhashSettings, is_enabled, unknown_settings
from scrapy_simhash.crawl.settlement import Settlement
from scrapy_simhash.crawl.stats import CrawlStats, printable
from scrapy_simhash.detector import Detector
from scrapy_simhash.errors import SettingsError, SimhashError, StorageError
from scrapy_simhash.index import index_url, open_index, reset_index

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Observation, ObservingIndex
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)

CLOSE_REASON = "simhash_index_error"


class SimhashExtension:
    """The state of one crawl.

    :raises SettingsError: a setting is wrong; the crawl does not start.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        spider = crawler.spider or crawler.spidercls
        self.settings = SimhashSettings.from_settings(crawler.settings, str(spider.name))
        self.detector = Detector(self.settings.scheme, min_tokens=self.settings.min_tokens)
        stats = crawler.stats
        if stats is None:  # pragma: no cover - Scrapy makes it before extensions
            raise NotConfigured("a crawler without stats")
        self.stats = CrawlStats(stats, "simhash")
        self.item_stats = CrawlStats(stats, "simhash/item")
        self.index: ObservingIndex | None = None
        self.item_index: ObservingIndex | None = None
        # From the downloader middleware to the spider middleware. Not by meta, which spiders
        # copy to other requests; a response that no callback gets takes its entry with it.
        self.pages: WeakKeyDictionary[Response, PageFingerprint] = WeakKeyDictionary()
        self.settlement = Settlement(self._settle_page, self._settle_item)
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make an extension."""
        if not is_enabled(crawler.settings):
            raise NotConfigured
        extension = cls(crawler)
        for handler, signal in (
            (extension.spider_opened, signals.spider_opened),
            (extension.spider_closed, signals.spider_closed),
            (extension.item_scraped, signals.item_scraped),
            (extension.item_dropped, signals.item_dropped),
            (extension.item_error, signals.item_error),
        ):
            crawler.signals.connect(handler, signal=signal)
        return extension

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """The extension of a crawl, for its middlewares and pipeline.

        :raises NotConfigured: the plugin is off.
        :raises SettingsError: the extension is missing from EXTENSIONS.
        """
        if not is_enabled(crawler.settings):
            raise NotConfigured
        extension = crawler.get_extension(cls)
        if extension is None:
            raise SettingsError(
                "EXTENSIONS",
                dict(crawler.settings.getdict("EXTENSIONS")),
                "scrapy_simhash.crawl.extension.SimhashExtension is needed in it; "
                'ADDONS = {"scrapy_simhash.Addon": 500} puts it there',
            )
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Open the index, or close the spider."""
        for name in unknown_settings(self.crawler.settings):
            logger.warning("simhash: there is no setting %s", name, extra={"spider": spider})
        try:
            self.index = self._open(self.settings.directory)
            if self.settings.item_fields:
                self.item_index = self._open(self.settings.item_directory)
        except SimhashError as error:
            self.stats.count("errors/index")
            # The message says all there is to say; a traceback would bury it.
            logger.error(  # noqa: TRY400
                "simhash: %s. The spider is closed.", error, extra={"spider": spider}
            )
            self._close_indexes()
            # Not now: what other extensions start with the engine would not be stopped again.
            self.crawler.signals.connect(self._close_spider, signal=signals.engine_started)
            return
        index = self.index
        logger.info(
            "simhash: scheme %s (preset %s), k = %d, %s, action %s; index %s with %d fingerprints",
            index.scheme.id,
            self.settings.preset,
            index.max_distance,
            index.plan,
            self.settings.policy.action,
            index.location,
            len(index),
            extra={"spider": spider},
        )

    def _close_spider(self) -> None:
        deferred_from_coro(self.crawler.engine.close_spider_async(reason=CLOSE_REASON))

    def spider_closed(self, spider: Spider) -> None:
        """Settle what is open, sum up, and give the index back."""
        self.settlement.close()
        for index, stats, what in (
            (self.index, self.stats, "pages"),
            (self.item_index, self.item_stats, "items"),
        ):
            if index is None:
                continue
            stats.index_size(len(index))
            if stats.anything:
                logger.info("%s", stats.summary(what), extra={"spider": spider})
        self._close_indexes()

    def judge(self, key: str, page: PageFingerprint) -> Verdict | None:
        """The verdict on a page; None if the index failed, and the page passes."""
        return self._judge(self.index, self.stats, "page", key, page)

    def judge_item(self, key: str, item: PageFingerprint) -> Verdict | None:
        """The verdict on an item's content; None if the index failed."""
        return self._judge(self.item_index, self.item_stats, "item", key, item)

    def item_scraped(self, item: Any, response: Response | None) -> None:
        """Scrapy's signal."""
        self.settlement.item_settled(response, item, kept=True, failed=False)

    def item_dropped(self, item: Any, response: Response | None) -> None:
        """Scrapy's signal: dropped on purpose, which is no failure of its page."""
        self.settlement.item_settled(response, item, kept=False, failed=False)

    def item_error(self, item: Any, response: Response | None) -> None:
        """Scrapy's signal: a pipeline raised."""
        self.settlement.item_settled(response, item, kept=False, failed=True)

    def failed(self, step: str, error: BaseException, about: str) -> None:
        """Count an error of a step, and log the first."""
        self.stats.count(f"errors/{step}")
        self.warn_once(
            f"errors/{step}",
            "simhash: %s failed for %s: %s. The page passes; further failures are counted "
            "as simhash/errors/%s.",
            step,
            printable(about),
            printable(str(error)),
            step,
        )

    def warn_once(self, topic: str, message: str, *arguments: object) -> None:
        """A warning, the first time a topic comes up."""
        if topic not in self._warned:
            self._warned.add(topic)
            logger.warning(message, *arguments, extra={"spider": self.crawler.spider})

    def _open(self, directory: Path) -> ObservingIndex:
        settings = self.settings
        if settings.reset and reset_index(index_url(directory, settings.index_kind)):
            logger.warning(
                "simhash: SIMHASH_RESET deleted the index in %s; it starts anew",
                directory,
                extra={"spider": self.crawler.spider},
            )
        return open_index(
            index_url(directory, settings.index_kind),
            settings.scheme,
            max_distance=settings.max_distance,
            plan=settings.plan,
            expected_pages=settings.expected_pages,
            incremental=settings.policy.incremental,
            sync=settings.sync,
        )

    def _close_indexes(self) -> None:
        for index in (self.index, self.item_index):
            if index is not None:
                index.close()
        self.index = self.item_index = None

    def _judge(
        self,
        index: ObservingIndex | None,
        stats: CrawlStats,
        what: str,
        key: str,
        page: PageFingerprint,
    ) -> Verdict | None:
        if index is None:
            return None
        try:
            verdict = self.detector.judge(index, key, page)
        except StorageError as error:
            self.failed("index", error, key)
            return None
        if stats.judge(verdict) or (self.settings.debug and verdict.kind == "near-duplicate"):
            logger.info(
                "simhash: near-duplicate %s %s of %s at distance %s%s",
                what,
                printable(verdict.key),
                printable(verdict.representative or ""),
                verdict.distance,
                "" if self.settings.debug else " (others are counted; SIMHASH_DEBUG shows all)",
                extra={"spider": self.crawler.spider},
            )
        return verdict

    def _settle_page(self, observation: Observation, confirmed: bool) -> None:
        self._settle(self.index, observation, confirmed=confirmed)

    def _settle_item(self, observation: Observation, confirmed: bool) -> None:
        self._settle(self.item_index, observation, confirmed=confirmed)

    def _settle(
        self, index: ObservingIndex | None, observation: Observation, *, confirmed: bool
    ) -> None:
        if index is None:
            return
        try:
            if confirmed:
                index.confirm(observation)
            else:
                index.discard(observation)
        except StorageError as error:
            self.failed("index", error, observation.key)
            index.discard(observation)
