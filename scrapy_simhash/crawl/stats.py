"""Count the outcomes of a crawl in Scrapy's stats under ``simhash/``, and summarize them."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from scrapy_simhash.documents.masking import loggable
from scrapy_simhash.policy import outcome_of
from scrapy_simhash.url_patterns import PatternCounts

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.policy import Action, Outcome, PolicyAction
    from scrapy_simhash.verdict import Verdict, VerdictKind

logger = logging.getLogger(__name__)

_SHOWN_CLUSTERS = 3
# When twice as many clusters are counted, only this number of the largest is kept.
_KEPT_CLUSTERS = 10_000


class CrawlStats:
    """Counters for the verdicts, outcomes, skips and times of one crawl.

    :param prefix: ``simhash`` for pages, ``simhash/item``, or that of a slice.
    """

    def __init__(self, collector: StatsCollector, prefix: str) -> None:
        self._collector = collector
        self._prefix = prefix
        self._verdicts: Counter[VerdictKind] = Counter()
        self._outcomes: Counter[tuple[Outcome, VerdictKind]] = Counter()
        self.patterns = PatternCounts()
        self.copies: Counter[str] = Counter()
        """Representative → number of its copies, see `count_copy`."""
        self._skipped = 0
        self._times_ms: dict[str, float] = {}

    def count(self, name: str, by: int = 1) -> None:
        """Add to ``<prefix>/<name>``."""
        self._collector.inc_value(f"{self._prefix}/{name}", by)

    def skip(self, reason: str) -> None:
        """Count a page, item or text that gets no result, and the reason."""
        self._skipped += reason != "no_callback"  # such as robots.txt
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
        return verdict.kind == "near-duplicate" and self._verdicts["near-duplicate"] == 1

    def count_copy(self, representative: str) -> None:
        """Count a near-duplicate that is treated as one: there is no reason for it to pass."""
        self.copies[representative] += 1
        if len(self.copies) > 2 * _KEPT_CLUSTERS:
            self.copies = Counter(dict(self.copies.most_common(_KEPT_CLUSTERS)))

    def count_outcome(self, verdict: Verdict, action: Action) -> None:
        """Count the outcome of a judged page or item, and count the URL pattern of its key."""
        outcome = outcome_of(verdict, action)
        original = verdict.representative if verdict.kind == "near-duplicate" else None
        self.patterns.add(verdict.key, original, dropped=outcome == "dropped")
        if outcome is None:
            return
        self._outcomes[outcome, verdict.kind] += 1
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
    def judged(self) -> int:
        """Return the number of judged pages or items."""
        return sum(self._verdicts.values())

    @property
    def dropped(self) -> int:
        """Return the number of dropped pages or items."""
        return sum(count for (outcome, _), count in self._outcomes.items() if outcome == "dropped")

    @property
    def skipped(self) -> int:
        """Return the number of pages or items without a verdict, except those like robots.txt."""
        return self._skipped

    @property
    def has_counts(self) -> bool:
        """Return True if any page or item was judged or skipped."""
        return bool(self._verdicts or self._skipped)

    def summary(self, what: str, action: PolicyAction) -> str:
        """Return one line: counts of verdicts and of what was done, and the largest clusters."""
        verdicts, done = self._verdicts, self._outcomes
        judged, near = self.judged, self.near_duplicates
        counts = [
            (done["dropped", "near-duplicate"], "copies dropped"),
            (done["followed", "near-duplicate"], "copies followed for their links"),
            (
                done["tagged", "near-duplicate"],
                "copies kept (tag mode)" if action == "tag" else "copies kept",
            ),
            (done["dropped", "unchanged"], "unchanged dropped"),
            (done["followed", "unchanged"], "unchanged followed for their links"),
            (
                sum(done["passed", kind] for kind in ("new", "changed", "unchanged")),
                "similar to another and kept",
            ),
            (verdicts["error-page"], "error pages"),
            (self._skipped, "skipped"),
        ]
        share = f" ({near / judged:.1%})" if judged else ""
        parts = [
            (
                f"simhash: {judged} {what} judged: {verdicts['new']} new, "
                f"{verdicts['unchanged']} unchanged, {verdicts['changed']} changed, "
                f"{near} near-duplicates{share}"
            ),
            *(f"{count} {words}" for count, words in counts if count),
        ]
        largest = self.copies.most_common(_SHOWN_CLUSTERS)
        if largest:
            shown = ", ".join(f"{count} of {loggable(key)}" for key, count in largest)
            parts.append(f"most copies: {shown}")
        return "; ".join(parts)

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
