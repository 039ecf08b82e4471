"""Count the outcomes of a crawl in Scrapy's stats under ``simhash/``, and summarize them."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.policy import outcome_of
from scrapy_simhash.url_patterns import PatternCounts

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from scrapy_simhash.crawl.retries import DroppedCopy
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.policy import Action, KeptReason, PolicyAction
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)

_SHOWN_CLUSTERS = 3
# When twice as many clusters are counted, only this number of the largest is kept.
_KEPT_CLUSTERS = 10_000


class CrawlStats:
    """Counters for the verdicts, outcomes, skips and times of one crawl, in Scrapy's stats.

    :param prefix: ``simhash`` for pages, ``simhash/item``, or that of a slice.
    """

    def __init__(self, collector: StatsCollector, prefix: str) -> None:
        self._collector = collector
        # Recent releases of Scrapy look up and wrap the methods of a collector at each access.
        self._add, self._set = collector.inc_value, collector.set_value
        self._prefix = prefix
        self.patterns = PatternCounts()
        self.copies: Counter[str] = Counter()
        """Representative → number of the near-duplicates that had no reason to pass."""
        self.skipped = 0
        """Number of pages or items without a result."""
        self._times_ms: defaultdict[str, float] = defaultdict(float)

    def count(self, name: str, by: int = 1) -> None:
        """Add to ``<prefix>/<name>``."""
        self._add(f"{self._prefix}/{name}", by)

    def counted(self, name: str) -> int:
        """Return the value of ``<prefix>/<name>``."""
        return int(self._collector.get_value(f"{self._prefix}/{name}", 0))

    def skip(self, reason: str) -> None:
        """Count a page, item or text that gets no result, and the reason."""
        self.skipped += reason != "no_callback"  # such as robots.txt
        self.count(f"skipped/{reason}")

    def fingerprinted(self, page: PageFingerprint) -> None:
        """Add the times of fingerprinting a page or item, and count a skipped one by its reason."""
        self._add_ms("extraction", page.extraction_ms)
        self._add_ms("tokenization", page.tokenization_ms)
        self._add_ms("fingerprint", page.fingerprint_ms)
        if page.skipped is not None:
            self.skip(page.skipped)

    def judged(self, verdict: Verdict) -> bool:
        """Count a verdict. Return True if it is the first near-duplicate of the crawl."""
        self._add_ms("index", verdict.index_ms)
        self.count("checked")
        self.count(verdict.kind.replace("-", "_"))
        if verdict.similar_to is not None:
            self.count("similar")
        return verdict.kind == "near-duplicate" and self.counted("near_duplicate") == 1

    def acted(self, verdict: Verdict, action: Action, reason: KeptReason | None = None) -> None:
        """Count the outcome of a judged page or item, its URL pattern, and its copies.

        :param reason: why it passes, although its content was seen.
        """
        outcome, kind = outcome_of(verdict, action), verdict.kind.replace("-", "_")
        original = verdict.representative if verdict.kind == "near-duplicate" else None
        if original is not None and reason in (None, "flood"):
            self.copies[original] += 1
            if len(self.copies) > 2 * _KEPT_CLUSTERS:
                self.copies = Counter(dict(self.copies.most_common(_KEPT_CLUSTERS)))
        self.patterns.add(verdict.key, original, dropped=outcome == "dropped")
        if outcome not in (None, "passed"):  # `judged` counts it as similar
            self.count(f"{outcome}/{kind}")
        if outcome == "dropped":
            self.count("dropped")
        if reason is not None:
            self.count(f"kept/{reason}")
            self.count(f"kept/{reason}/{kind}")

    def take_back(self, copy: DroppedCopy) -> None:
        """Count a dropped page no more, because it is judged again."""
        representative = copy.seen.representative
        kind = "unchanged" if representative is None else "near_duplicate"
        for name in ("checked", kind, f"{copy.outcome}/{kind}"):
            self.count(name, -1)
        if copy.outcome == "dropped":
            self.count("dropped", -1)
            self.patterns.take_back(copy.seen.key)
        if representative is not None and representative in self.copies:
            self.copies[representative] -= 1

    def index_size(self, entries: int | None) -> None:
        """Set the stat of the number of entries in the index, unless it is unknown."""
        if entries is not None:
            self._set(f"{self._prefix}/index/size", entries)

    def summary(self, what: str, action: PolicyAction) -> str:
        """Return one line: counts of verdicts and of what was done, and the largest clusters."""
        count = self.counted
        judged, near = count("checked"), count("near_duplicate")
        kept = "copies kept (tag mode)" if action == "tag" else "copies kept"
        counts = [
            (count("dropped/near_duplicate"), "copies dropped"),
            (count("followed/near_duplicate"), "copies followed for their links"),
            (count("tagged/near_duplicate"), kept),
            (count("dropped/unchanged"), "unchanged dropped"),
            (count("followed/unchanged"), "unchanged followed for their links"),
            (count("similar"), "similar to another and kept"),
            (count("error_page"), "error pages"),
            (self.skipped, "skipped"),
        ]
        share = f" ({near / judged:.1%})" if judged else ""
        parts = [
            (
                f"simhash: {judged} {what} judged: {count('new')} new, "
                f"{count('unchanged')} unchanged, {count('changed')} changed, "
                f"{near} near-duplicates{share}"
            ),
            *(f"{number} {words}" for number, words in counts if number),
        ]
        if largest := (+self.copies).most_common(_SHOWN_CLUSTERS):
            shown = ", ".join(f"{number} of {loggable(key)}" for key, number in largest)
            parts.append(f"most copies: {shown}")
        return "; ".join(parts)

    def _add_ms(self, step: str, milliseconds: float) -> None:
        before_ms = self._times_ms[step]
        self._times_ms[step] = after_ms = before_ms + milliseconds
        if not before_ms or int(after_ms) > int(before_ms):
            self._set(f"{self._prefix}/time/{step}_ms", int(after_ms))


class ErrorLog:
    """The warnings of a crawl, and a counter of its errors: the first of each step is logged."""

    def __init__(self, crawler: Crawler, stats: CrawlStats) -> None:
        self._crawler = crawler
        self._stats = stats
        self._warned: set[str] = set()

    @property
    def spider(self) -> Spider | None:
        """Return the spider, for the argument ``extra`` of log calls."""
        return self._crawler.spider

    def count_error(self, step: str, error: BaseException | str, about: str) -> None:
        """Count an error of a step. Log the first one, with its subject `about`, such as a key."""
        self._stats.count(f"errors/{step}")
        self.warn_once(
            f"errors/{step}",
            "simhash: %s failed for %s: %s. The crawl goes on; further failures are counted "
            "as simhash/errors/%s.",
            step,
            loggable(about),
            loggable(str(error)),
            step,
        )

    def warn_once(self, topic: str, message: str, *arguments: object) -> None:
        """Log a warning, unless an earlier one had the same topic."""
        if topic not in self._warned:
            self._warned.add(topic)
            self.warn(message, *arguments)

    def warn(self, message: str, *arguments: object) -> None:
        """Log a warning."""
        logger.warning(message, *arguments, extra={"spider": self.spider})
