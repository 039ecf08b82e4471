"""Check and store the passages of a crawl's pages.

The text of a page is checked when its first item reaches the pipeline. With SIMHASH_ITEM_FIELDS,
the text of each item is checked instead. After the page was handled without an error, the text of
the page or of its items is added to the passage index. One thread does both; errors are counted.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy_simhash.crawl.fingerprinting import result_of
from scrapy_simhash.errors import StorageError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.extras.passages.index import PassageIndex
    from scrapy_simhash.extras.passages.result import PassageReport
    from scrapy_simhash.extras.passages.settings import PassageSettings

logger = logging.getLogger(__name__)

# With more text in the queue, further texts are not added, or a fast crawl would fill the memory.
_MAX_WAITING_CHARACTERS = 20_000_000
_TAGGED_SOURCES = 5
# Longer texts are skipped, because they take seconds and block the queue.
_MAX_CHARACTERS = 500_000


@dataclass
class _Texts:
    """The texts of a page in progress.

    :param page: main text of the page; empty if unknown.
    :param items: position of an item → its text.
    :param reports: position of an item, or -1 for the page → the report on the text.
    """

    page: str = ""
    items: dict[int, str] = field(default_factory=dict)
    reports: dict[int, Future[PassageReport]] = field(default_factory=dict)


class PagePassages:
    """The passage index of one crawl, with the texts of pages that are in progress.

    :param settings: None disables all methods.
    """

    def __init__(
        self, settings: PassageSettings | None, stats: CrawlStats, errors: ErrorLog
    ) -> None:
        self._settings = settings
        self._stats = stats
        self._errors = errors
        self.index: PassageIndex | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash passages")
        self._pages: WeakKeyDictionary[PageState, _Texts] = WeakKeyDictionary()
        # The event loop writes one counter, the thread the other. Their difference is in the queue.
        self._queued_characters = 0
        self._processed_characters = 0

    def open(self) -> None:
        """Open the passage index. :raises SimhashError: it cannot be opened."""
        settings = self._settings
        if settings is None:
            return
        from scrapy_simhash.extras.passages.index import open_passages
        from scrapy_simhash.extras.passages.scheme import PassageScheme

        scheme = None if settings.cutting is None else PassageScheme(cutting=settings.cutting)
        self.index = open_passages(settings.directory, scheme, keep_text=settings.keep_text)

    def arrived(self, page: PageState, text: str) -> None:
        """Hold the main text of a page that is about to reach its callback."""
        if self.index is not None and text:
            self._pages[page] = _Texts(text)

    async def tags(self, page: PageState, ordinal: int, text: str | None) -> dict[str, Any]:
        """Return item field → value; an empty dict if the text of the item cannot be checked.

        :param ordinal: position of the item among the items of its page.
        :param text: text of the item; None to use the text of its page.
        """
        settings, index = self._settings, self.index
        if settings is None or index is None:
            return {}
        texts = self._pages.setdefault(page, _Texts())
        if text is None:
            text, ordinal = texts.page, -1
        if not text.strip():
            self._stats.skip("no_text")
            return {}
        if len(text) > _MAX_CHARACTERS:
            self._stats.skip("too_long")
            return {}
        if ordinal >= 0:
            texts.items[ordinal] = text
        is_first = ordinal not in texts.reports
        if is_first:
            texts.reports[ordinal] = self._thread.submit(
                index.check, page.key, text, settings.check_options, exclude=page.key
            )
        try:
            report = await result_of(texts.reports[ordinal])
        except Exception as error:  # noqa: BLE001 - no item may stop a crawl
            if is_first:
                self._errors.count_error("passages", error, page.key)
            return {}
        if is_first:
            self._stats.count("checked")
            if report.known_share:
                self._stats.count("known")
        values = {
            "known_share": report.known_share,
            "similar_share": report.similar_share,
            "common_share": report.common_share,
            "sources": [
                {"document": source.document, "share": source.share}
                for source in report.sources[:_TAGGED_SOURCES]
            ],
        }
        return {item_field: values[field] for field, item_field in settings.tags.items()}

    def finished(self, page: PageState, confirmed: bool) -> None:
        """Add the joined texts of a page's items, or else the page's main text, to the index.

        :param confirmed: the page was handled without an error. If not, the texts are discarded.
        """
        texts = self._pages.pop(page, _Texts())
        text = "\n\n".join(text for _, text in sorted(texts.items.items())) or texts.page
        if self.index is None or not confirmed:
            return
        if not text.strip() or len(text) > _MAX_CHARACTERS:
            return
        if self._queued_characters - self._processed_characters > _MAX_WAITING_CHARACTERS:
            self._stats.skip("too_many_waiting")
            return
        self._queued_characters += len(text)
        self._thread.submit(self._add, self.index, page.key, text)

    def close(self) -> None:
        """Wait for the queued texts, log the size of the index, and close it."""
        self._thread.shutdown()
        if (index := self.index) is not None:
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
        self.index = None

    def _add(self, index: PassageIndex, name: str, text: str) -> None:
        try:
            index.add(name, text)
        except Exception as error:  # noqa: BLE001 - no page may stop a crawl
            self._errors.count_error("passages", error, name)
        finally:
            self._processed_characters += len(text)
