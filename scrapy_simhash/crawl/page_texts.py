"""Store the main texts of a crawl's pages next to the index (SIMHASH_KEEP_TEXT)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.texts import KeptText

if TYPE_CHECKING:
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Observation, ObservingIndex
    from scrapy_simhash.verdict import Verdict


class PageTexts:
    """A store for main texts of pages. Near-duplicates are rarely confirmed, so their texts are
    stored at once; other texts are stored when their pages are confirmed.

    :param max_bytes: upper limit for all compressed texts of the index; 0 stores none.
    """

    def __init__(self, max_bytes: int, stats: CrawlStats, errors: ErrorLog) -> None:
        self._max_bytes = max_bytes
        self._stats = stats
        self._errors = errors
        # Sequence number of an observation → text of its page, which is not settled yet.
        self._held: dict[int, KeptText] = {}

    def store_or_hold(self, index: ObservingIndex, verdict: Verdict, page: PageFingerprint) -> None:
        """Store the text of a near-duplicate; hold other texts until their pages are settled."""
        if not self._max_bytes or verdict.observation is None:
            return
        text = KeptText(page.title, page.text)
        if verdict.kind == "near-duplicate":
            self._store(index, verdict.key, text)
        else:
            self._held[verdict.observation.sequence] = text

    def release(self, index: ObservingIndex, observation: Observation, *, confirmed: bool) -> None:
        """Store the held text of a page, if there is one; discard it if the page failed."""
        text = self._held.pop(observation.sequence, None)
        if text is not None and confirmed:
            self._store(index, observation.key, text)

    def _store(self, index: ObservingIndex, key: str, text: KeptText) -> None:
        try:
            texts = index.texts
            texts.max_bytes = self._max_bytes
            if not texts.keep(key, text):
                self._stats.count("texts_not_kept")
        except SimhashError as error:
            self._errors.count_error("texts", error, key)
