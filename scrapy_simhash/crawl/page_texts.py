"""PageTexts: main texts of a crawl's pages, kept beside the index (SIMHASH_KEEP_TEXT)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.texts import KeptText

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Observation, ObservingIndex
    from scrapy_simhash.verdict import Verdict


class PageTexts:
    """Keeps the text of a near-duplicate at once, that of another page when it is confirmed.

    :param max_bytes: of all compressed texts of the index; 0 keeps none.
    :param failed: told of errors: (step, error, what it was about).
    """

    def __init__(
        self,
        max_bytes: int,
        stats: CrawlStats,
        failed: Callable[[str, BaseException, str], None],
    ) -> None:
        self._max_bytes = max_bytes
        self._stats = stats
        self._failed = failed
        # By the sequence of the observation; of pages that are under way.
        self._held: dict[int, KeptText] = {}

    def judged(self, index: ObservingIndex, verdict: Verdict, page: PageFingerprint) -> None:
        """A page has its verdict."""
        if not self._max_bytes or verdict.observation is None:
            return
        text = KeptText(page.title, page.text)
        if verdict.kind == "near-duplicate":
            self._keep(index, verdict.key, text)
        else:
            self._held[verdict.observation.sequence] = text

    def settled(self, index: ObservingIndex, observation: Observation, *, confirmed: bool) -> None:
        """A page is confirmed or discarded."""
        text = self._held.pop(observation.sequence, None)
        if text is not None and confirmed:
            self._keep(index, observation.key, text)

    def _keep(self, index: ObservingIndex, key: str, text: KeptText) -> None:
        try:
            texts = index.texts
            texts.max_bytes = self._max_bytes
            if not texts.keep(key, text):
                self._stats.count("texts_not_kept")
        except SimhashError as error:
            self._failed("texts", error, key)
