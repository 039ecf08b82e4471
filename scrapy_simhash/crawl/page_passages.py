"""PagePassages: a passage index as one crawl fills it and asks it.

A text is checked when its first item comes to the pipeline, and added when its page was handled
without an error. Both happen in one thread, in that order, for they take milliseconds; and
whatever fails there is counted, and the items pass.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy_simhash.crawl.fingerprinting import result_of
from scrapy_simhash.passages.index import open_passages
from scrapy_simhash.passages.scheme import PassageScheme
from scrapy_simhash.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from scrapy_simhash.crawl.passage_settings import PassageSettings
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.passages.index import PassageIndex
    from scrapy_simhash.passages.result import PassageReport

logger = logging.getLogger(__name__)

# Texts that wait to be added; without a limit, a crawl that is faster would fill the memory.
_MAX_WAITING = 1000
_TAGGED_SOURCES = 5
# A text takes seconds that is longer, and those that come after it wait.
_MAX_CHARACTERS = 500_000


class PagePassages:
    """The passages of one crawl's pages.

    :param settings: None does nothing at all.
    :param failed: told of errors: (step, error, what it was about).
    """

    def __init__(
        self,
        settings: PassageSettings | None,
        stats: CrawlStats,
        failed: Callable[[str, BaseException, str], None],
    ) -> None:
        self._settings = settings
        self._stats = stats
        self._failed = failed
        self._index: PassageIndex | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._texts: WeakKeyDictionary[PageState, str] = WeakKeyDictionary()
        # Of pages that are not handled yet: name of a document → text, and what was found.
        self._documents: WeakKeyDictionary[PageState, dict[str, str]] = WeakKeyDictionary()
        self._reports: WeakKeyDictionary[PageState, dict[str, Future[PassageReport]]] = (
            WeakKeyDictionary()
        )
        self._adding: set[Future[int | None]] = set()

    @property
    def enabled(self) -> bool:
        """Whether the crawl asks for passages at all."""
        return self._settings is not None

    def open(self) -> None:
        """:raises SimhashError: the index cannot be opened."""
        settings = self._settings
        if settings is None:
            return
        scheme = None if settings.cutting is None else PassageScheme(cutting=settings.cutting)
        self._index = open_passages(
            settings.directory, scheme, keep_text=settings.keep_text, keep_text_of_new=True
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="simhash passages")

    def arrived(self, page: PageState, text: str) -> None:
        """A page that a callback is going to see, and its main text."""
        if self._index is not None and text:
            self._texts[page] = text
            if len(text) <= _MAX_CHARACTERS:
                self._documents[page] = {page.key: text}

    async def tags(self, page: PageState | None, ordinal: int, text: str | None) -> dict[str, Any]:
        """The fields to write into an item.

        :param page: where it came from; None for an item of ``start()``.
        :param ordinal: its place among the page's items.
        :param text: its own; None for that of its page.
        """
        settings, thread = self._settings, self._thread
        if settings is None or thread is None or page is None:
            return {}
        name = page.key
        if text is None:
            text = self._texts.get(page)
        else:
            name += f" item {ordinal}" if ordinal else ""
            documents = self._documents.setdefault(page, {})
            if not ordinal:
                documents.clear()  # the items' texts, in the place of the page's
            documents[name] = text
        if not text or not text.strip():
            self._stats.skip("no_text")
            return {}
        if len(text) > _MAX_CHARACTERS:
            self._documents.get(page, {}).pop(name, None)
            self._stats.skip("too_long")
            return {}
        reports = self._reports.setdefault(page, {})
        first = name not in reports
        if first:
            reports[name] = thread.submit(self._check, name, text)
        try:
            report = await result_of(reports[name])
        except Exception as error:  # noqa: BLE001 - no item may stop a crawl
            if first:
                self._failed("passages", error, name)
            return {}
        if first:
            self._stats.count("checked")
            if report.known_share:
                self._stats.count("known")
        values = {
            "known_share": round(report.known_share, 4),
            "similar_share": round(report.similar_share, 4),
            "common_share": round(report.common_share, 4),
            "sources": [
                {"document": source.document, "share": round(source.share, 4)}
                for source in report.sources[:_TAGGED_SOURCES]
            ],
        }
        return {item_field: values[field] for field, item_field in settings.tags.items()}

    def finished(self, page: PageState, kept: bool) -> None:
        """A page is done: add its documents, if it was handled without an error."""
        documents = self._documents.pop(page, {})
        self._texts.pop(page, None)
        self._reports.pop(page, None)
        if not kept or self._thread is None:
            return
        for name, text in documents.items():
            if len(self._adding) >= _MAX_WAITING:
                self._stats.skip("too_many_waiting")
                continue
            adding = self._thread.submit(self._add, name, text)
            self._adding.add(adding)
            adding.add_done_callback(self._adding.discard)

    def close(self) -> None:
        """Add what waits, sum up, and give the index back."""
        if self._thread is not None:
            self._thread.shutdown()
        if self._index is None:
            return
        logger.info(
            "simhash: passage index with %d documents and %d passages",
            self._index.documents,
            self._index.passages,
        )
        self._stats.index_size(self._index.documents)
        self._index.close()
        self._index = self._thread = None

    def _check(self, name: str, text: str) -> PassageReport:
        index, settings = self._index, self._settings
        if index is None or settings is None:  # pragma: no cover - closed after the thread
            raise RuntimeError("closed")
        return index.check(name, text, settings.question, but=name)

    def _add(self, name: str, text: str) -> int | None:
        if self._index is None:  # pragma: no cover - closed after the thread
            return None
        try:
            return self._index.add(name, text)
        except Exception as error:  # noqa: BLE001 - no page may stop a crawl
            self._failed("passages", error, printable(name))
            return None
