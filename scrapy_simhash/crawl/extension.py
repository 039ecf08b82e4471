"""SimhashExtension: connects the parts of one crawl, opens its indexes, and closes them.

If an index cannot be opened, the crawl runs without the plugin.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals as scrapy_signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.extensions.closespider import CloseSpider

from scrapy_simhash import signals
from scrapy_simhash.crawl.arguments import Arguments
from scrapy_simhash.crawl.asking_again import AskingAgain
from scrapy_simhash.crawl.browser_pages import close_browser_pages
from scrapy_simhash.crawl.copies import Copies
from scrapy_simhash.crawl.crawl_report import write_crawl_report
from scrapy_simhash.crawl.exceptions import NearDuplicateItem
from scrapy_simhash.crawl.fingerprinting import Fingerprinter
from scrapy_simhash.crawl.identity import Identity
from scrapy_simhash.crawl.index_calls import Syncer
from scrapy_simhash.crawl.judging import Judging
from scrapy_simhash.crawl.opening import CrawlStarts
from scrapy_simhash.crawl.retries import META_KEY
from scrapy_simhash.crawl.settings import SimhashSettings, is_on, logged_settings_errors
from scrapy_simhash.crawl.settlement import Settlement
from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
from scrapy_simhash.crawl.waiting import WaitingSpiders
from scrapy_simhash.errors import SettingsError, SimhashError

if TYPE_CHECKING:
    from typing import Any

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Observation
    from scrapy_simhash.policy import Action
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)


class Component:
    """A middleware or pipeline of a crawl, which takes its parts when it is made."""

    def __init__(self, crawl: SimhashExtension) -> None:
        """Take the parts. Do not keep `crawl`."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the component of a crawl. Called by Scrapy; see `SimhashExtension.of`."""
        return cls(SimhashExtension.of(crawler))


class SimhashExtension:
    """The parts of the plugin for one crawl, which its components take when they are made.

    :raises SettingsError: a setting is invalid.
    """

    def __init__(self, crawler: Crawler) -> None:
        stats: Any = crawler.stats  # Scrapy makes it before extensions
        self.crawler = crawler
        spider = crawler.spider or crawler.spidercls
        self.settings = settings = SimhashSettings(crawler.settings, str(spider.name))
        self.stats = CrawlStats(stats, "simhash")
        self.errors = ErrorLog(crawler, self.stats)
        has_jar = crawler.settings.getbool("COOKIES_ENABLED")
        ignored = settings("SIMHASH_IGNORE_ARGUMENTS")
        self.arguments = Arguments(ignored, crawler, has_jar=has_jar)
        self.identity = Identity(
            crawler.request_fingerprinter.fingerprint, settings("SIMHASH_SCOPE")
        )
        self._starts = CrawlStarts(crawler.settings)
        self.copies = Copies(self.arguments, settings.policy, self._starts.gave)
        self.asking_again = AskingAgain(crawler.signals, self.identity, self.copies)
        self.fingerprinter = fingerprinter = Fingerprinter(settings)
        parts: dict[str, Any] = {
            "identity": self.identity,
            "errors": self.errors,
            "schedule": self.schedule,
        }
        self.pages = Judging(
            "page",
            settings,
            fingerprinter.detector,
            stats=self.stats,
            may_give=self.copies.may_give,
            **parts,
        )
        self.items = Judging(
            "item",
            settings,
            fingerprinter.item_detector,
            stats=CrawlStats(stats, "simhash/item"),
            **parts,
        )
        judges = (self.pages, settings.pages), (self.items, settings.item_fields)
        self._judges = [one for one, is_used in judges if is_used]
        self.settlement = Settlement(self.items.settle, self._finished, self.pages.contents)
        self.waiting = WaitingSpiders(crawler, self.pages.retries)
        # Handed from the downloader middleware to the spider middleware. Not in meta, which spiders
        # copy to other requests. Weak, because a response may never reach a callback.
        self.fingerprinted: WeakKeyDictionary[
            Response, tuple[PageFingerprint, tuple[Verdict, Action] | None]
        ] = WeakKeyDictionary()
        """Page → its fingerprint, and what a handler of `signals.page_fingerprinted` gave."""
        self._waits = False  # we keep an idle crawl open
        self.has_output_middleware = False
        self._syncer = Syncer()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension. :raises NotConfigured: the plugin is off, or this is no crawl."""
        if not is_on(crawler):
            raise NotConfigured
        with logged_settings_errors():
            extension = cls(crawler)
        if extension.settings.pages:  # now: workers take longer to start than all else
            extension.fingerprinter.start()
        connect = crawler.signals.connect
        for signal in ("spider_opened", "spider_idle", "spider_closed"):
            connect(getattr(extension, signal), signal=getattr(scrapy_signals, signal))
        for signal in ("item_scraped", "item_dropped", "item_error"):
            connect(extension.item_done, signal=getattr(scrapy_signals, signal))
        return extension

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawl, for its middlewares and pipeline.

        :raises NotConfigured: the plugin is off, or this is no crawl.
        :raises SettingsError: the extension is missing from EXTENSIONS.
        """
        if not is_on(crawler):
            raise NotConfigured
        extension = crawler.get_extension(cls)
        if extension is None:
            raise SettingsError(
                "EXTENSIONS",
                dict(crawler.settings.getdict("EXTENSIONS")),
                "must contain scrapy_simhash.crawl.extension.SimhashExtension; "
                'ADDONS = {"scrapy_simhash.Addon": 500} puts it there',
            )
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Open the indexes. If one cannot be opened, crawl without them."""
        self.fingerprinter.attach()
        try:
            for judging in self._judges:
                judging.open(self._starts)
        except SimhashError as error:
            # An empty feed would cost more than copies.
            self._close_indexes()
            self.fingerprinter.close()
            self.stats.count("errors/index")
            logger.error(  # noqa: TRY400 - the message is complete; a traceback would bury it
                "simhash: %s. This crawl runs without the plugin, so near-duplicates pass",
                error,
                extra={"spider": spider},
            )
            return
        opened = [judging.index for judging in self._judges if judging.index is not None]
        index = opened[0]
        self.copies.share(index)
        if not self._judges[0].calls.in_threads:
            self._syncer.start(*opened)
        logger.info(
            "simhash: scheme %s (preset %s), k = %d, least resemblance %g, same title %s, %s, "
            "action %s; index %s with %d fingerprints",
            index.scheme.id,
            self.settings("SIMHASH_PRESET")[0],
            index.max_distance,
            index.confirmation.min_resemblance,
            index.confirmation.same_name,
            index.plan,
            self._judges[0].policy.action,
            index.location,
            len(index),
            extra={"spider": spider},
        )

    def spider_idle(self) -> None:
        """Settle all pages. :raises DontCloseSpider: dropped copies wait, or are requested."""
        is_kept_open = self.waiting.is_idle and not self._waits
        self.waiting.is_idle = True
        self.settlement.close()  # in an idle crawl, unfinished output is never read
        self._waits = True in [judging.idle() for judging in self._judges]
        if self._waits or (is_kept_open and self.waiting.run()):
            raise DontCloseSpider

    async def settle_all(self) -> None:
        """Settle all pages and items, before the scheduler closes."""
        self.settlement.close()
        self.crawler.signals.send_catch_log(signals.crawl_settled)
        for judging in self._judges:
            await judging.finish(pausing=not self.waiting.is_idle)

    def spider_closed(self, reason: str) -> None:
        """Settle the rest, log the summary, close the indexes, and write the report."""
        self.settlement.close()
        self.fingerprinter.close()
        if replaced := self.fingerprinter.pool and self.fingerprinter.pool.replaced:
            self.stats.count("workers_replaced", replaced)
        first = self._judges[0]
        opened = first.index is not None
        for judging in self._judges:
            judging.end(finished=reason == "finished")
        if not opened:
            self.errors.warn(
                "simhash: this crawl ran without the plugin, because it could not open the index: "
                "its output may hold near-duplicates; `scrapy simhash dedupe` removes them"
            )
        self._close_indexes()
        if reason == "finished":
            self._starts.delete()
        elif opened:
            self._starts.pause(self.copies.remembered())
        if opened:
            write_crawl_report(self.crawler, self.settings, first.location, reason)

    def item_done(
        self,
        item: Any,
        response: Response | None,
        signal: object,
        exception: BaseException | None = None,
    ) -> None:
        """Settle an item that the pipelines kept or dropped, or in which a pipeline failed.

        An item that we drop as a copy of another item counts as kept.
        """
        kept = signal is scrapy_signals.item_scraped or isinstance(exception, NearDuplicateItem)
        failed = signal is scrapy_signals.item_error
        page = self.settlement.page(response)
        if page is not None and not kept:
            self.copies.take_back(page, item)
        self.settlement.item_settled(response, item, kept=kept, failed=failed)

    def spared_item(self) -> None:
        """Let the limits for pages without items (CLOSESPIDER_PAGECOUNT_NO_ITEM and
        CLOSESPIDER_TIMEOUT_NO_ITEM) take a dropped item of a copy for one that was given.
        """
        limits = self.crawler.get_extension(CloseSpider)
        if limits is not None:
            limits.counter["pagecount_since_last_item"] = 0
            limits.items_in_period = 1

    def _finished(self, page: PageState, confirmed: bool) -> None:
        self.pages.settle_page(page, confirmed)
        if page.dropped:  # not earlier, because an errback may use the browser page
            close_browser_pages(page.request, self.errors)
        self.crawler.signals.send_catch_log(signals.page_settled, page=page, confirmed=confirmed)

    def request_ended(self, request: Request, observation: Observation | None = None) -> bool:
        """Record that it is known what became of a request. Return True if the request was a retry,
        of the page or of one of its items, even one that was scheduled before a pause.

        :param observation: None if the page was not judged.
        """
        token = request.meta.pop(META_KEY, None)
        if token is not None:
            self.items.retries.arrived(token, None)
            self.pages.retries.arrived(token, observation)
        return token is not None

    def _close_indexes(self) -> None:
        self._syncer.close()
        for judging in self._judges:
            judging.calls.close()

    def schedule(self, request: Request) -> None:
        """Schedule a request past the spider and its middlewares, and count it."""
        engine = self.crawler.engine
        if engine is None or engine.spider is None:
            self.stats.count("not_rescheduled")
            return
        self.stats.count("rescheduled")
        engine.crawl(request)
