"""CrawlIndex: an index as one crawl uses it.

An index that fails is counted, and its pages pass: no page is lost, and no crawl stopped.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash.crawl.identity import comparable
from scrapy_simhash.documents.escaping import nearness, printable
from scrapy_simhash.errors import StorageError
from scrapy_simhash.policy import outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.page_texts import PageTexts
    from scrapy_simhash.crawl.second_chances import DroppedCopy
    from scrapy_simhash.crawl.stats import CrawlStats
    from scrapy_simhash.detector import Detector, PageFingerprint
    from scrapy_simhash.index import Observation, ObservingIndex
    from scrapy_simhash.policy import Action
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)

_REMEMBERED_CANONICALS = 100_000


class CrawlIndex:
    """Judges pages (or items), and settles what was found.

    :param what: ``page`` or ``item``, for the log.
    :param failed: told of errors of the index: (error, key).
    :param debug: log every near-duplicate and similar page.
    :param texts: told of verdicts, and of what becomes of them.
    """

    def __init__(
        self,
        index: ObservingIndex,
        detector: Detector,
        identity: Identity,
        stats: CrawlStats,
        *,
        what: str,
        failed: Callable[[StorageError, str], None],
        debug: bool,
        spider: Spider | None,
        texts: PageTexts | None = None,
    ) -> None:
        self.index = index
        self._texts = texts
        self.stats = stats
        self._detector = detector
        self._identity = identity
        self._what = what
        self._failed = failed
        self._debug = debug
        self._spider = spider
        # Of pages that name another as their canonical one.
        self._canonicals: OrderedDict[str, str] = OrderedDict()

    def judge(
        self, key: str, page: PageFingerprint, canonical: str | None = None
    ) -> Verdict | None:
        """The verdict; None if the index failed.

        :param canonical: the URL that the page names, see `comparable`.
        """
        try:
            verdict = self._detector.judge(self.index, key, page, among=self._identity.among(key))
        except StorageError as error:
            self._failed(error, key)
            return None
        if self._texts is not None:
            self._texts.judged(self.index, verdict, page)
        verdict = self._with_canonical(verdict, canonical)
        if self.stats.judge(verdict) or self._debug:
            self._log(verdict)
        return verdict

    def acted(self, verdict: Verdict, action: Action) -> None:
        """Count what is done with a page, and say it in the near-duplicate log."""
        self.stats.acted(verdict, action)
        outcome = outcome_of(verdict, action)
        if outcome is None or verdict.kind == "unchanged" or verdict.observation is None:
            return
        try:
            self.index.acted(verdict.observation, outcome)
        except StorageError as error:
            self._failed(error, verdict.key)

    def observe_again(self, copy: DroppedCopy) -> Observation | None:
        """What the index says now of what was a near-duplicate before; nothing becomes
        pending. None if the index failed.
        """
        try:
            observation = self.index.observe(
                copy.key, copy.fingerprint, copy.evidence, among=self._identity.among(copy.key)
            )
            self.index.discard(observation)
        except StorageError as error:
            self._failed(error, copy.key)
            return None
        return observation

    def supersede(self, verdict: Verdict) -> None:
        """The page of a near-duplicate takes the place of its representative, once confirmed."""
        if verdict.observation is None:
            return
        try:
            self.index.supersede(verdict.observation)
        except StorageError as error:
            self._failed(error, verdict.key)

    def settle(self, observation: Observation, *, confirmed: bool) -> None:
        """Confirm what was observed, or discard it."""
        if self._texts is not None:
            self._texts.settled(self.index, observation, confirmed=confirmed)
        try:
            if confirmed:
                self.index.confirm(observation)
            else:
                self.index.discard(observation)
        except StorageError as error:
            self._failed(error, observation.key)
            self.index.discard(observation)

    def _log(self, verdict: Verdict) -> None:
        like = verdict.representative or verdict.similar_to
        if like is None:
            return
        near_duplicate = verdict.kind == "near-duplicate"
        logger.info(
            "simhash: %s %s %s %s %s at %s%s",
            "near-duplicate" if near_duplicate else "similar",
            self._what,
            printable(verdict.key),
            "of" if near_duplicate else "to",
            printable(like),
            nearness(verdict.distance, verdict.similarity),
            "" if self._debug else " (others are counted; SIMHASH_DEBUG shows all)",
            extra={"spider": self._spider},
        )

    def _with_canonical(self, verdict: Verdict, canonical: str | None) -> Verdict:
        representative = verdict.representative
        if representative is None:
            self._canonicals.pop(verdict.key, None)  # what it named before
            if canonical is not None and canonical != comparable(verdict.key):
                self._canonicals[verdict.key] = canonical
                if len(self._canonicals) > _REMEMBERED_CANONICALS:
                    self._canonicals.popitem(last=False)
            return verdict
        if canonical is not None and canonical == comparable(representative):
            return replace(verdict, canonical="representative")
        named = self._canonicals.get(representative)
        if named is not None and named == comparable(verdict.key):
            return replace(verdict, canonical="page")
        return verdict
