"""Count the outcomes of a crawl in Scrapy's stats under ``simhash/``, and summarize them."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.policy import outcome_of
from scrapy_simhash.url_patterns import PatternCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.policy import Action, Outcome
    from scrapy_simhash.verdict import Verdict, VerdictKind

logger = logging.getLogger(__name__)

_SHOWN_CLUSTERS = 5
# When twice as many clusters are counted, only this number of the largest is kept.
_KEPT_CLUSTERS = 10_000
_OUTCOMES: Mapping[Outcome, str] = {
    "dropped": "dropped",
    "followed": "followed",
    "tagged": "tagged",
    "passed": "similar to another and passed",
}


class CrawlStats:
    """Counters for the verdicts, outcomes, skips and times of one crawl.

    :param prefix: ``simhash`` (for pages), ``simhash/item`` or ``simhash/passages``.
    """

    def __init__(self, collector: StatsCollector, prefix: str) -> None:
        self._collector = collector
        self._prefix = prefix
        self._verdicts: Counter[VerdictKind] = Counter()
        self._outcomes: Counter[Outcome] = Counter()
        self.patterns = PatternCounts()
        self._clusters: Counter[str] = Counter()
        self._skipped = 0
        self._times_ms: dict[str, float] = {}

    def count(self, name: str, by: int = 1) -> None:
        """Add to ``<prefix>/<name>``."""
        self._collector.inc_value(f"{self._prefix}/{name}", by)

    def skip(self, reason: str) -> None:
        """Count a page, item or text that gets no result, and the reason."""
        self._skipped += 1
        self.count(f"skipped/{reason}")

    def fingerprinted(self, page: PageFingerprint) -> None:
        """Add the times of fingerprinting a page or item, and count a skipped one by its reason."""
        self._add_ms("extraction", page.extraction_ms)
        self._add_ms("tokenization", page.tokenization_ms)
        self._add_ms("fingerprint", page.fingerprint_ms)
        if page.skipped is not None:
            self.skip(page.skipped)

    def count_verdict(self, verdict: Verdict) -> bool:
        """Count a verdict. Return True if it is the first near-duplicate of the crawl."""
        self._verdicts[verdict.kind] += 1
        self._add_ms("index", verdict.index_ms)
        self.count("checked")
        self.count(verdict.kind.replace("-", "_"))
        if verdict.similar_to is not None:
            self.count("similar")
        if verdict.kind != "near-duplicate" or verdict.representative is None:
            return False
        self._clusters[verdict.representative] += 1
        if len(self._clusters) > 2 * _KEPT_CLUSTERS:
            self._clusters = Counter(dict(self._clusters.most_common(_KEPT_CLUSTERS)))
        self.count(f"distance/{verdict.distance}")
        return self._verdicts["near-duplicate"] == 1

    def count_outcome(self, verdict: Verdict, action: Action) -> None:
        """Count the outcome of a judged page or item, and count the URL pattern of its key."""
        outcome = outcome_of(verdict, action)
        nearest = verdict.representative or verdict.similar_to
        self.patterns.add(verdict.key, nearest, dropped=outcome == "dropped")
        if outcome is None:
            return
        self._outcomes[outcome] += 1
        if outcome == "passed":  # `count_verdict` counts it as similar
            return
        if outcome == "dropped":
            self.count("dropped")
        self.count(f"{outcome}/{verdict.kind.replace('-', '_')}")

    def count_kept(self, verdict: Verdict, reason: str) -> None:
        """Count a page that passes although its content was seen, and the reason (`KeptReason`)."""
        self.count(f"kept/{reason}")
        self.count(f"kept/{reason}/{verdict.kind.replace('-', '_')}")

    def kept(self, reason: str) -> int:
        """Return the number of pages that `count_kept` has counted for a reason."""
        return int(self._collector.get_value(f"{self._prefix}/kept/{reason}", 0))

    @property
    def near_duplicates(self) -> int:
        """Return the number of near-duplicates."""
        return self._verdicts["near-duplicate"]

    def index_size(self, entries: int) -> None:
        """Set the stat of the number of entries in the index."""
        self._collector.set_value(f"{self._prefix}/index/size", entries)

    @property
    def has_counts(self) -> bool:
        """Return True if any page or item was judged or skipped."""
        return bool(self._verdicts or self._skipped)

    def summary(self, what: str) -> str:
        """Return lines of text: counts of verdicts and outcomes, and the largest clusters."""
        judged = sum(self._verdicts.values())
        near = self._verdicts["near-duplicate"]
        share = f" ({near / judged:.1%})" if judged else ""
        outcomes = ", ".join(
            f"{self._outcomes[outcome]} {label}" for outcome, label in _OUTCOMES.items()
        )
        lines = [
            (
                f"simhash: {judged} {what} judged: {self._verdicts['new']} new, "
                f"{self._verdicts['unchanged']} unchanged, {self._verdicts['changed']} changed, "
                f"{near} near-duplicates{share}; {self._skipped} skipped; {outcomes}"
            )
        ]
        if self._verdicts["error-page"]:
            lines[0] += f"; {self._verdicts['error-page']} error pages"
        largest = self._clusters.most_common(_SHOWN_CLUSTERS)
        if largest:
            lines.append(f"largest clusters (number of near-duplicates of these {what}):")
            lines += [f"{count:8d}  {loggable(key)}" for key, count in largest]
        return "\n".join(lines)

    def _add_ms(self, step: str, milliseconds: float) -> None:
        # Stats are whole numbers, but a step takes less than a millisecond: round the sums.
        before_ms = self._times_ms.get(step)
        after_ms = (before_ms or 0.0) + milliseconds
        self._times_ms[step] = after_ms
        if before_ms is None or round(before_ms) != round(after_ms):
            self._collector.set_value(f"{self._prefix}/time/{step}_ms", round(after_ms))


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
