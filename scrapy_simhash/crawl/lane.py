"""Judge the pages (or the items) of one crawl, decide what to do with them, and settle them.

An index that fails is counted, and its pages pass: no page is lost, and no crawl stops.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.floods import Floods
from scrapy_simhash.crawl.identity import comparable
from scrapy_simhash.crawl.retries import ITEM_META_KEY, META_KEY, DroppedCopy, Retries
from scrapy_simhash.documents.escaping import nearness, printable
from scrapy_simhash.errors import StorageError
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.policy import PASS, Context, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.page_texts import PageTexts
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.detector import Detector, PageFingerprint
    from scrapy_simhash.index import Observation, ObservingIndex
    from scrapy_simhash.policy import Action, NoRetry, Policy
    from scrapy_simhash.verdict import Verdict

logger = logging.getLogger(__name__)

_REMEMBERED_CANONICALS = 100_000
_Result = TypeVar("_Result")


class Lane:
    """The index, policy, stats and retries of one crawl's pages, or of its items.

    :param policy: decides what happens to seen content.
    :param schedule: schedules a request for a page once more.
    :param cluster_limit: near-duplicates of one page that are dropped; 0 means no limit.
    :param texts: stores the main texts of pages.
    """

    def __init__(
        self,
        what: Literal["page", "item"],
        settings: SimhashSettings,
        detector: Detector,
        policy: Policy,
        *,
        identity: Identity,
        stats: CrawlStats,
        errors: ErrorLog,
        schedule: Callable[[Request], None],
        cluster_limit: int = 0,
        texts: PageTexts | None = None,
    ) -> None:
        self.what = what
        self.detector = detector
        self.policy = policy
        self.stats = stats
        self.index: ObservingIndex | None = None
        """The open index; None before the crawl opens it, and after it is closed."""
        self.retries = Retries(
            self._observe_again,
            schedule,
            Rules(settings.max_distance, settings.confirmation),
            meta_key=META_KEY if what == "page" else ITEM_META_KEY,
        )
        self._prefer_canonical = settings.prefer_canonical
        self._debug = settings.debug
        self._identity = identity
        self._errors = errors
        self._floods = Floods(cluster_limit)
        self._texts = texts
        # Page → the page that it names as its canonical one.
        self._canonicals: LocalCache[str, str] = LocalCache(_REMEMBERED_CANONICALS)

    def close(self) -> None:
        """Close the index, if it is open."""
        if self.index is not None:
            self.index.close()
            self.index = None

    def judge(
        self, key: str, page: PageFingerprint, canonical: str | None = None
    ) -> Verdict | None:
        """Return the verdict; None if the index is closed or fails.

        :param canonical: the URL that the page names, see `comparable`.
        """
        in_scope = self._identity.scope_filter(key)
        verdict = self._attempt(
            key, lambda index: self.detector.judge(index, key, page, in_scope=in_scope)
        )
        if verdict is None or self.index is None:
            return None
        if self._texts is not None:
            self._texts.judged(self.index, verdict, page)
        verdict = self._with_canonical(verdict, canonical)
        if self.stats.judge(verdict) or self._debug:
            self._log(verdict)
        return verdict

    def decide(
        self,
        verdict: Verdict,
        request: Request | None,
        *,
        method: str = "GET",
        requested_again: bool = False,
        excerpt: str = "",
    ) -> Action:
        """Return what to do with a page or item; count it, and write it to the near-duplicate log.

        A dropped copy of a pending page is held, to be requested again if that page fails.

        :param request: to repeat; None if there is none.
        :param excerpt: the beginning of the text, for the warning about a flood.
        """
        preferred = verdict.canonical == "page" and self._prefer_canonical
        if preferred:
            self._supersede(verdict)
        no_retry: NoRetry | None = "held_too_many" if self.retries.full else None
        context = Context(
            preferred=preferred,
            flood=self._is_flood(verdict, excerpt),
            method=method,
            requested_again=requested_again,
            no_retry="no_page" if request is None else no_retry,
        )
        action, reason = self.policy.decide(verdict, context)
        if reason is not None:
            self.stats.kept(verdict, reason)
        self._count(verdict, action)
        observation = verdict.observation
        if action != PASS and request is not None and observation and observation.provisional:
            awaited = verdict.representative or verdict.key  # or an earlier response of its key
            self.retries.hold(awaited, DroppedCopy.of(observation, request))
            self._settle_index(observation, confirmed=False)
        return action

    def settle(self, observation: Observation, confirmed: bool) -> None:
        """Confirm or discard what was observed, and release or repeat the copies of it."""
        if self.index is None:
            return
        self._settle_index(observation, confirmed)
        if confirmed:
            self.retries.confirmed(observation.key, observation)
        else:
            self.stats.count("discarded")
            self.retries.discarded(observation.key)

    def _settle_index(self, observation: Observation, confirmed: bool) -> None:
        def settle(index: ObservingIndex) -> None:
            if self._texts is not None:
                self._texts.settled(index, observation, confirmed=confirmed)
            try:
                if confirmed:
                    index.confirm(observation)
            finally:  # nothing stays pending if the index fails
                index.discard(observation)

        self._attempt(observation.key, settle)

    def _count(self, verdict: Verdict, action: Action) -> None:
        self.stats.acted(verdict, action)
        outcome, observation = outcome_of(verdict, action), verdict.observation
        if outcome is not None and verdict.kind != "unchanged" and observation is not None:
            self._attempt(verdict.key, lambda index: index.acted(observation, outcome))

    def _supersede(self, verdict: Verdict) -> None:
        """Let the page replace its representative once it is confirmed."""
        observation = verdict.observation
        if observation is not None:
            self._attempt(verdict.key, lambda index: index.supersede(observation))

    def _observe_again(self, copy: DroppedCopy) -> Observation | None:
        """Return what the index says of a dropped copy now, without holding it as pending."""
        in_scope = self._identity.scope_filter(copy.key)

        def observe(index: ObservingIndex) -> Observation:
            found = index.observe(copy.key, copy.fingerprint, copy.evidence, in_scope=in_scope)
            index.discard(found)
            return found

        return self._attempt(copy.key, observe)

    def _attempt(self, key: str, ask: Callable[[ObservingIndex], _Result]) -> _Result | None:
        """Return the answer of the index; None if it is closed or fails, which is counted."""
        if self.index is None:
            return None
        try:
            return ask(self.index)
        except StorageError as error:
            self._errors.failed("index", error, key)
            return None

    def _is_flood(self, verdict: Verdict, excerpt: str) -> bool:
        representative = verdict.representative
        if representative is None or not self._floods.add(representative, verdict.key):
            return False
        self._errors.warn_once(
            f"flood of {representative}",
            "simhash: more than %d pages are near-duplicates of %s. A ban page, a soft 404 or "
            "a broken extraction? Its further copies are tagged, not dropped "
            "(SIMHASH_CLUSTER_LIMIT). The last one, %s, begins: %s",
            self._floods.limit,
            printable(representative),
            printable(verdict.key),
            printable(excerpt),
        )
        return True

    def _log(self, verdict: Verdict) -> None:
        like = verdict.representative or verdict.similar_to
        if like is None:
            return
        near_duplicate = verdict.kind == "near-duplicate"
        logger.info(
            "simhash: %s %s %s %s %s at %s%s",
            "near-duplicate" if near_duplicate else "similar",
            self.what,
            printable(verdict.key),
            "of" if near_duplicate else "to",
            printable(like),
            nearness(verdict.distance, verdict.similarity),
            "" if self._debug else " (others are counted; SIMHASH_DEBUG shows all)",
            extra={"spider": self._errors.spider},
        )

    def _with_canonical(self, verdict: Verdict, canonical: str | None) -> Verdict:
        representative = verdict.representative
        if representative is None:
            self._canonicals.pop(verdict.key, None)
            if canonical is not None and canonical != comparable(verdict.key):
                self._canonicals[verdict.key] = canonical
            return verdict
        if canonical is not None and canonical == comparable(representative):
            return replace(verdict, canonical="representative")
        named = self._canonicals.get(representative)
        if named is not None and named == comparable(verdict.key):
            return replace(verdict, canonical="page")
        return verdict
