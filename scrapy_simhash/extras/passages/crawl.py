"""Check and store the passages of a crawl's pages.

The text of a page is checked when its first item reaches the pipeline. With SIMHASH_ITEM_FIELDS,
the text of each item is checked instead. After the page was handled without an error, the text of
the page or of its items is added to the passage index. One thread does both; errors are counted.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import signals as scrapy_signals
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_simhash import signals
from scrapy_simhash.crawl.extension import Component
from scrapy_simhash.crawl.index_calls import Syncer
from scrapy_simhash.crawl.pipeline import tag_item
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.errors import SimhashError, StorageError
from scrapy_simhash.extras.passages.index import open_passages

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from scrapy_simhash.crawl.extension import SimhashExtension
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.extras.passages.index import PassageIndex

logger = logging.getLogger(__name__)

# With more text in the queue, further texts are not added, or a fast crawl would fill the memory.
_MAX_WAITING_CHARACTERS = 20_000_000
_TAGGED_SOURCES = 5
# Longer texts are skipped, because they take seconds and block the queue.
_MAX_CHARACTERS = 500_000


class PassagesPipeline(Component):
    """The item pipeline that tags items with what is known of their texts (SIMHASH_PASSAGES)."""

    def __init__(self, crawl: SimhashExtension) -> None:
        self._errors = crawl.errors
        self._directory = crawl.settings.path("SIMHASH_PASSAGES")
        self._fields: Mapping[str, str] = crawl.settings("SIMHASH_PASSAGES_TAGS")
        self._stats = CrawlStats(crawl.crawler.stats, "simhash/passages")
        self._index: PassageIndex | None = None
        self._syncer = Syncer()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash passages")
        # Page → texts of its items by position. Page → the check of its own text.
        self._items: WeakKeyDictionary[PageState, dict[int, str]] = WeakKeyDictionary()
        self._checks: WeakKeyDictionary[PageState, Future[dict[str, Any]]] = WeakKeyDictionary()
        # Id of an item that comes next → the check of its text.
        self._judged: dict[int, Future[dict[str, Any]]] = {}
        # The event loop writes one counter, the thread the other. Their difference is in the queue.
        self._queued_characters = 0
        self._processed_characters = 0
        for handler, signal in (
            (self.open, scrapy_signals.spider_opened),
            (self.close, scrapy_signals.spider_closed),
            (self.item_judged, signals.item_judged),
            (self.page_settled, signals.page_settled),
        ):
            crawl.crawler.signals.connect(handler, signal=signal)

    def open(self) -> None:
        """Open the passage index. If it cannot be opened, items get no tags."""
        try:
            self._index = open_passages(self._directory)
        except SimhashError as error:
            self._errors.count_error("passages", error, "the start of the crawl")
        else:
            self._syncer.start(self._index)

    def item_judged(
        self, item: Any, page: PageState | None, ordinal: int, text: str | None
    ) -> None:
        """Check the text of an item that `process_item` gets next: its own, or else its page's."""
        if self._index is None or page is None:
            return
        text_to_check = page.text if text is None else text
        if not text_to_check.strip():
            self._stats.skip("no_text")
        elif len(text_to_check) > _MAX_CHARACTERS:
            self._stats.skip("too_long")
        else:
            check = self._checks.get(page) if text is None else None
            check = check or self._thread.submit(self._check, self._index, page.key, text_to_check)
            self._judged[id(item)] = check
            if text is None:
                self._checks[page] = check
            else:
                self._items.setdefault(page, {})[ordinal] = text

    async def process_item(self, item: Any) -> Any:
        """Tag an item, and return it."""
        check = self._judged.pop(id(item), None)
        if check is not None:
            await _done(check)
            values = check.result()
            tag_item(item, values, "SIMHASH_PASSAGES_TAGS", self._stats, self._errors)
        return item

    def page_settled(self, page: PageState, confirmed: bool) -> None:
        """Add the joined texts of a page's items, or else the page's main text, to the index.

        :param confirmed: the page was handled without an error. If not, the texts are discarded.
        """
        items = sorted(self._items.pop(page, {}).items())
        text = "\n\n".join(text for _, text in items) or page.text
        if self._index is None or not confirmed or page.dropped:
            return
        if not text.strip() or len(text) > _MAX_CHARACTERS:
            return
        if self._queued_characters - self._processed_characters > _MAX_WAITING_CHARACTERS:
            self._stats.skip("too_many_waiting")
            return
        self._queued_characters += len(text)
        self._thread.submit(self._add, self._index, page.key, text)

    def close(self) -> None:
        """Wait for the queued texts, log the size of the index, and close it."""
        self._syncer.close()
        self._thread.shutdown()
        if (index := self._index) is not None:
            try:
                logger.info(
                    "simhash: passage index with %d documents and %d passages",
                    index.documents,
                    index.passages,
                )
                self._stats.index_size(index.documents)
                index.close()
            except StorageError as error:
                self._errors.count_error("passages", error, "the end of the crawl")
        self._index = None

    def _add(self, index: PassageIndex, name: str, text: str) -> None:
        try:
            index.add(name, text)
        except Exception as error:  # noqa: BLE001 - no page may stop a crawl
            self._errors.count_error("passages", error, name)
        finally:
            self._processed_characters += len(text)

    def _check(self, index: PassageIndex, name: str, text: str) -> dict[str, Any]:
        """Return the fields of an item with this text: item field → value."""
        try:
            report = index.check(name, text, exclude=name)
        except Exception as error:  # noqa: BLE001 - no item may stop a crawl
            self._errors.count_error("passages", error, name)
            return {}
        self._stats.count("checked")
        if report.known_share:
            self._stats.count("known")
        shown = report.sources[:_TAGGED_SOURCES]
        sources = [{"document": source.document, "share": source.share} for source in shown]
        values = vars(report) | {"sources": sources}
        return {item_field: values[field] for field, item_field in self._fields.items()}


async def _done(future: Future[Any]) -> None:
    """Wait until another thread completes a future, without a thread of a pool that waits."""
    done: Deferred[None] = Deferred()
    if is_asyncio_available():
        call_in_loop: Any = asyncio.get_running_loop().call_soon_threadsafe
    else:
        from twisted.internet import reactor  # importing it installs one

        call_in_loop = reactor.callFromThread
    future.add_done_callback(lambda _: call_in_loop(done.callback, None))
    await maybe_deferred_to_future(done)
