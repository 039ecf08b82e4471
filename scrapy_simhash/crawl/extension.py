"""SimhashExtension: what the middlewares and the pipeline of one crawl share, and its life.

It opens the index when the spider opens, says so in a line, and closes it with a summary. An
index that cannot be used closes the spider, for a crawl without it would drop nothing; an index
that fails later is counted and its pages pass.
"""

from __future__ import annotations

import gc
import logging
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.utils.defer import deferred_from_coro

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.crawl.advice import warn_of_item_fields, warn_of_selectors, warn_of_templates
from scrapy_simhash.crawl.clusters import Clusters
from scrapy_simhash.crawl.crawl_index import CrawlIndex
from scrapy_simhash.crawl.crawl_report import write_crawl_report
from scrapy_simhash.crawl.fingerprinting import Fingerprinter
from scrapy_simhash.crawl.identity import Identity
from scrapy_simhash.crawl.jobdir import Job
from scrapy_simhash.crawl.page_passages import PagePassages
from scrapy_simhash.crawl.page_texts import PageTexts
from scrapy_simhash.crawl.second_chances import ITEM_META_KEY, SecondChances
from scrapy_simhash.crawl.settings import SimhashSettings, is_on, unknown_settings
from scrapy_simhash.crawl.settlement import Settlement
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.crawl.syncing import Syncer
from scrapy_simhash.crawl.unmatched import Unmatched
from scrapy_simhash.detector import Detector
from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.errors import IndexLocked, SettingsError, SimhashError
from scrapy_simhash.index import index_url, open_index, reset_index
from scrapy_simhash.index.rules import Rules

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_simhash.crawl.second_chances import DroppedCopy
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Observation

logger = logging.getLogger(__name__)

CLOSE_REASON = "simhash_index_error"
LOCKED_CLOSE_REASON = "simhash_index_locked"


class SimhashExtension:
    """The state of one crawl.

    :raises SettingsError: a setting is wrong; the crawl does not start.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        spider = crawler.spider or crawler.spidercls
        self.settings = SimhashSettings.from_settings(crawler.settings, str(spider.name))
        self.detector = Detector(
            self.settings.scheme,
            min_tokens=self.settings.min_tokens,
            keep_text=bool(self.settings.keep_text_bytes)
            or (self.settings.passages is not None and not self.settings.item_fields),
            sketches=self.settings.confirmation != UNCONFIRMED,
        )
        self.item_detector = Detector(
            self.settings.item_scheme,
            min_tokens=self.settings.min_tokens,
            sketches=self.settings.confirmation != UNCONFIRMED,
        )
        stats = crawler.stats
        if stats is None:  # pragma: no cover - Scrapy makes it before extensions
            raise NotConfigured("a crawler without stats")
        self.stats = CrawlStats(stats, "simhash")
        self.item_stats = CrawlStats(stats, "simhash/item")
        self.identity = Identity(self._request_fingerprint, self.settings.scope)
        self.fingerprinter = Fingerprinter(
            self.detector,
            self.item_detector,
            workers=self.settings.workers,
            timeout_ms=self.settings.timeout_ms,
        )
        self.clusters = Clusters(self.settings.cluster_limit)
        rules = Rules(self.settings.max_distance, self.settings.confirmation)
        self.second_chances = SecondChances(self._observe_again, self._schedule, rules)
        self.item_second_chances = SecondChances(
            self._observe_item_again, self._schedule, rules, meta_key=ITEM_META_KEY
        )
        self.close_reason: str | None = None
        """Why the spider closes, if an index could not be opened."""
        self.index: CrawlIndex | None = None
        self.item_index: CrawlIndex | None = None
        # From the downloader middleware to the spider middleware. Not by meta, which spiders
        # copy to other requests; a response that no callback gets takes its entry with it.
        self.pages: WeakKeyDictionary[Response, PageFingerprint] = WeakKeyDictionary()
        self.page_texts = PageTexts(self.settings.keep_text_bytes, self.stats, self.failed)
        self.page_passages = PagePassages(
            self.settings.passages, CrawlStats(stats, "simhash/passages"), self.failed
        )
        self.settlement = Settlement(
            self._settle_page,
            self._settle_item,
            self.page_passages.finished,
            self.settings.max_distance,
        )
        self.follows_output = False
        scheme = self.settings.scheme
        self.unmatched_selectors = Unmatched(
            (*scheme.select, *scheme.remove), partial(warn_of_selectors, crawler)
        )
        self.unmatched_fields = Unmatched(
            self.settings.item_fields, partial(warn_of_item_fields, crawler)
        )
        self._job = Job(crawler.settings)
        self._syncer = Syncer()
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make an extension."""
        if not is_on(crawler):
            raise NotConfigured
        extension = cls(crawler)
        for handler, signal in (
            (extension.spider_opened, signals.spider_opened),
            (extension.spider_idle, signals.spider_idle),
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
        if not is_on(crawler):
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
        for message in unknown_settings(self.crawler.settings):
            logger.warning("simhash: %s", message, extra={"spider": spider})
        settings = self.settings
        if settings.pages:  # first: workers take longer to start than an index takes to open
            self.fingerprinter.start()
        try:
            if settings.pages:
                self.index = self._open(settings.directory, self.stats, "page")
            if settings.item_fields:
                self.item_index = self._open(settings.item_directory, self.item_stats, "item")
            self.page_passages.open()
        except SimhashError as error:
            self._go_without_index(error)
            return
        opened = [used.index for used in (self.index, self.item_index) if used is not None]
        self._syncer.start(*opened, self.page_passages.index)
        # Modules and tables live as long as the crawl: full collections, each of which stops the
        # event loop for a twentieth of a second and more, need not visit them.
        gc.freeze()
        index = opened[0]
        logger.info(
            "simhash: scheme %s (preset %s), k = %d, least resemblance %g, same title %s, %s, "
            "action %s; index %s with %d fingerprints",
            index.scheme.id,
            settings.preset,
            index.max_distance,
            index.confirmation.min_resemblance,
            index.confirmation.same_name,
            index.plan,
            settings.policy.action if settings.pages else settings.item_action,
            index.location,
            len(index),
            extra={"spider": spider},
        )

    def _go_without_index(self, error: SimhashError) -> None:
        """Close the spider, or with SIMHASH_ON_LOCKED = "off" let it crawl without the plugin."""
        extra = {"spider": self.crawler.spider}
        self._close_indexes()
        self.fingerprinter.close()
        locked = isinstance(error, IndexLocked)
        if locked:
            self.stats.count("locked")
        if locked and self.settings.on_locked == "off":
            logger.warning(
                "simhash: %s. SIMHASH_ON_LOCKED = 'off': this crawl runs without the plugin, and "
                "near-duplicates pass.",
                error,
                extra=extra,
            )
            return
        self.stats.count("errors/index")
        self.close_reason = LOCKED_CLOSE_REASON if locked else CLOSE_REASON
        remedy = (
            " SIMHASH_ON_LOCKED = 'off' would crawl without the plugin instead." if locked else ""
        )
        # The message says all there is to say; a traceback would bury it.
        logger.error(
            "simhash: %s. The spider is closed: it sends no request and gives no item.%s",
            error,
            remedy,
            extra=extra,
        )
        # Not now: what other extensions start with the engine would not be stopped again.
        self.crawler.signals.connect(self._close_spider, signal=signals.engine_started)

    def _close_spider(self) -> None:
        reason = self.close_reason or CLOSE_REASON
        deferred_from_coro(self.crawler.engine.close_spider_async(reason=reason))

    def spider_idle(self) -> None:
        """Nothing is under way. :raises DontCloseSpider: pages were asked for again."""
        self.settlement.close()  # pages whose output nobody reads any more
        pages, items = self.second_chances.idle(), self.item_second_chances.idle()
        if pages or items:
            raise DontCloseSpider

    def settle_all(self) -> None:
        """No page comes any more, and the scheduler still takes requests: leave nothing open."""
        self.settlement.close()
        self.second_chances.close()
        self.item_second_chances.close()

    def arrived(self, request: Request, page: Observation | None = None) -> bool:
        """A page has come. True if it was asked for again, for its own sake or an item's.

        :param page: None if the page was not judged.
        """
        for_an_item = self.item_second_chances.arrived(request, None)
        return self.second_chances.arrived(request, page) or for_an_item

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Settle what is open, sum up, and give the index back."""
        self.settlement.close()
        self.fingerprinter.close()
        if self.fingerprinter.pool is not None and self.fingerprinter.pool.replaced:
            self.stats.count("workers_replaced", self.fingerprinter.pool.replaced)
        for index, what in ((self.index, "pages"), (self.item_index, "items")):
            if index is None:
                continue
            index.stats.index_size(len(index.index))
            if index.stats.anything:
                logger.info("%s", index.stats.summary(what), extra={"spider": spider})
            directory = self.settings.directory if what == "pages" else self.settings.item_directory
            warn_of_templates(self.crawler, index.stats, what, directory)
        self.unmatched_selectors.close()
        self.unmatched_fields.close()
        opened = self.index is not None or self.item_index is not None
        if opened:
            gc.unfreeze()
        elif self.close_reason is None:
            logger.warning(
                "simhash: this crawl ran without the plugin, for another process had the index: "
                "its output may hold near-duplicates; `scrapy simhash dedupe` removes them",
                extra={"spider": spider},
            )
        self._close_indexes()
        if reason == "finished":
            self._job.finished()
        if opened:
            write_crawl_report(self.crawler, self.settings, reason)

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

    def _open(self, directory: Path, stats: CrawlStats, what: str) -> CrawlIndex:
        settings = self.settings
        url = index_url(directory, settings.index_kind)
        began = self._job.began(directory)
        # A crawl that goes on after a pause would delete what it began with.
        if settings.reset and began is None and reset_index(url):
            logger.warning(
                "simhash: SIMHASH_RESET deleted the index in %s; it starts anew",
                directory,
                extra={"spider": self.crawler.spider},
            )
        detector = self.detector if what == "page" else self.item_detector
        index = open_index(
            index_url(directory, settings.index_kind),
            detector.scheme,
            max_distance=settings.max_distance,
            confirmation=settings.confirmation,
            plan=settings.plan,
            expected_pages=settings.expected_pages,
            incremental=settings.policy.incremental,
            sync=settings.sync,
            began=began,
        )
        self._job.opened(index)
        return CrawlIndex(
            index,
            detector,
            self.identity,
            stats,
            what=what,
            failed=lambda error, key: self.failed("index", error, key),
            debug=settings.debug,
            spider=self.crawler.spider,
            texts=self.page_texts if what == "page" else None,
        )

    def _close_indexes(self) -> None:
        self._syncer.close()
        self.page_passages.close()
        for index in (self.index, self.item_index):
            if index is not None:
                index.index.close()
        self.index = self.item_index = None

    def _settle_page(self, observation: Observation, confirmed: bool) -> None:
        if self.index is None:
            return
        self.index.settle(observation, confirmed=confirmed)
        if confirmed:
            self.second_chances.confirmed(observation.key, observation)
        else:
            self.stats.count("discarded")
            self.second_chances.discarded(observation.key)

    def _settle_item(self, observation: Observation, confirmed: bool) -> None:
        if self.item_index is None:
            return
        self.item_index.settle(observation, confirmed=confirmed)
        if confirmed:
            self.item_second_chances.confirmed(observation.key, observation)
        else:
            self.item_stats.count("discarded")
            self.item_second_chances.discarded(observation.key)

    def _observe_again(self, copy: DroppedCopy) -> Observation | None:
        return None if self.index is None else self.index.observe_again(copy)

    def _observe_item_again(self, copy: DroppedCopy) -> Observation | None:
        return None if self.item_index is None else self.item_index.observe_again(copy)

    def _schedule(self, request: Request) -> None:
        engine = self.crawler.engine
        if engine is None or engine.spider is None:
            self.stats.count("not_rescheduled")
            return
        self.stats.count("rescheduled")
        engine.crawl(request)

    def _request_fingerprint(self, request: Request) -> bytes:
        fingerprint: bytes = self.crawler.request_fingerprinter.fingerprint(request)
        return fingerprint
