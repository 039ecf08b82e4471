"""Spare requests that are not needed: their pages are not downloaded.

A request is spared if rules make its URL equal to that of a handled page, or if it leads into a
trap. The package explains rules; `traps.py` explains traps,
chains and barren pages.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property, partial
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.datatypes import LocalCache

from scrapy_simhash import signals
from scrapy_simhash.crawl.arguments import CARRIED_META_KEY
from scrapy_simhash.crawl.extension import Component
from scrapy_simhash.crawl.identity import IDENTITY_META_KEY
from scrapy_simhash.crawl.retries import repeated
from scrapy_simhash.crawl.stats import CrawlStats
from scrapy_simhash.errors import StorageError
from scrapy_simhash.extras.url_rules.evidence import decode_rules, encode_rules, merged
from scrapy_simhash.extras.url_rules.exceptions import SparedRequest
from scrapy_simhash.extras.url_rules.learner import Equal, UrlRules
from scrapy_simhash.extras.url_rules.traps import Traps, chain_after
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.extension import SimhashExtension
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.extras.url_rules.evidence import Rules

# Marks scheduled requests. Only these may be spared: code that calls `engine.download` waits for
# the page.
SCHEDULED_META_KEY = "simhash_scheduled"
CHAIN_META_KEY = "simhash_chain"  # length of the chain of barren pages that led to a request
POSTPONED_META_KEY = "simhash_postponed"  # marks requests that must not be postponed again
# Meta of a request that is checked again, but does not postpone again.
_CHECK_AGAIN = {SCHEDULED_META_KEY: True, POSTPONED_META_KEY: True}
# Comparisons and spared requests between two saves of a site's rules.
_UNSAVED = 200
_REMEMBERED_URLS = 10_000
_WAITING_COPIES = 1_000
_KEPT_SPARED = 1_000
# More than the concurrent requests of most crawls. Not many more, because a failed request counts
# as under way until so many newer ones have replaced it.
_MAX_UNDER_WAY = 100


class RequestRules(Component):
    """The URL rules and traps of one crawl, whose index has the rules: a downloader middleware."""

    def __init__(self, crawl: SimhashExtension) -> None:
        self._crawl = crawl
        self._stats = CrawlStats(crawl.crawler.stats, "simhash/url_rules")
        self._applies = crawl.settings("SIMHASH_URL_RULES") == "apply"  # learning spares nothing
        self._rules = UrlRules(self._load)
        self._traps = Traps()
        self._is_open = False
        # Site → its encoded rules.
        self._stored: dict[str, bytes] = {}
        # Key of a page that is not done yet → URLs of its copies that are done.
        self._copies: LocalCache[str, list[str]] = LocalCache(_WAITING_COPIES)
        # Recent requests, by the forms of the URLs, and by the parameter values that they test
        # (`Equal.untested`).
        self._under_way: LocalCache[Hashable, None] = LocalCache(_MAX_UNDER_WAY)
        # (equal URL, or None for a trap; spared request)
        self._spared: deque[tuple[Equal | None, Request]] = deque(maxlen=_KEPT_SPARED)
        # URLs of requests that were spared because of a trap.
        self._trapped: LocalCache[str, None] = LocalCache(_REMEMBERED_URLS)
        # URL of a request → length of the chain of barren pages that led to it.
        self._chains: LocalCache[str, int] = LocalCache(_REMEMBERED_URLS)
        # Key of a page that is done → what identifies its content: the key of its representative. A
        # canonical page, or a copy of a page without items, may replace its representative in the
        # index, so that one content has several representatives: the first of them counts.
        self._contents: LocalCache[str, str] = LocalCache(_REMEMBERED_URLS)
        for handler, signal in (
            (self.open, scrapy_signals.spider_opened),
            (self.scheduled, scrapy_signals.request_scheduled),
            (self.finished, signals.page_settled),
            (self.close, signals.crawl_settled),
        ):
            crawl.crawler.signals.connect(handler, signal=signal)

    def open(self) -> None:
        """Start with the stored rules, or without rules if they cannot be read."""
        index = self._crawl.pages.index
        if index is not None:
            try:
                # Reading each site later would block the event loop if the index is remote.
                self._stored = dict(index.notes())
                self._is_open = True
            except StorageError as error:
                self._crawl.errors.count_error("url_rules", error, "the start of the crawl")

    def scheduled(self, request: Request) -> None:
        """Mark a request that goes through the scheduler and its duplicate filter."""
        if self._is_open and not request.dont_filter:
            request.meta[SCHEDULED_META_KEY] = True

    def process_request(self, request: Request) -> Request | None:
        """Return a request to make later instead; None if this request is made now.

        :raises SparedRequest: rules make its URL equal to a handled one, or it leads into a trap.
        """
        chain = request.meta.pop(CHAIN_META_KEY, 0)
        scheduled = request.meta.pop(SCHEDULED_META_KEY, False)
        postponed = request.meta.pop(POSTPONED_META_KEY, False)
        if postponed:
            request.dont_filter = False  # was set only to pass the duplicate filter
        if not (scheduled and self._is_open and _is_plain(request)) or request.dont_filter:
            return None
        if chain:
            self._chains[request.url] = chain
        equal = self._rules.equal(request.url)
        is_test = equal is not None and self._applies and (equal.explore or equal.untested)
        if self._traps.spares(request.url, chain) if equal is None else not is_test:
            self._spare(request, equal)
        elif self._applies:
            # Wait for the page of an equal URL, or for a request that tests the same values.
            form = self._rules.form_of(request.url)
            awaited = (form,) if equal is None else () if equal.explore else equal.untested
            new = [name for name in awaited if name not in self._under_way]
            self._under_way.update(dict.fromkeys(new))
            if awaited and not new and not postponed:
                self._stats.count("postponed")
                copy = _copy_to_check(request)
                copy.meta[CHAIN_META_KEY] = chain
                copy.priority -= 1
                return copy
            if is_test:
                self._stats.count("explored")
        return None

    def sees(self, response: Response, request: Request) -> None:
        """Note what leads to a request of a page, unless it repeats the page."""
        page = self._crawl.settlement.page(response)
        if page and not (page.dropped or self._crawl.identity.repeats(response, request)):
            self.found(page, request)

    def found(self, page: PageState, request: Request) -> None:
        """Note the chain that leads to a request found on a page.

        If there is none, the request is needed, even if it was spared as part of a trap before.
        """
        request.meta.pop(CHAIN_META_KEY, None)  # the spider may have copied it from another request
        if self._is_open and page.verdict is not None and _is_plain(page.request):
            chain = chain_after(page.verdict, self._chains.get(page.request.url, 0), request.url)
            if chain:
                request.meta[CHAIN_META_KEY] = chain
            elif request.url in self._trapped and not request.dont_filter:
                # The duplicate filter would drop the request, because it has seen the spared one.
                del self._trapped[request.url]
                request.meta.update(_CHECK_AGAIN)
                request.dont_filter = True

    def _spare(self, request: Request, equal: Equal | None) -> None:
        """Count a request that is not needed.

        :param equal: the equal URL; None if the request leads into a trap.
        :raises SparedRequest: always, unless rules are only learned.
        """
        if equal is None:
            self._stats.count("trapped")
        else:
            equal.spare()
        if not self._applies:
            self._stats.count("would_spare")
            return
        self._stats.count("spared")
        if equal is None:
            self._trapped[request.url] = None
        self._spared.append((equal, request))
        raise SparedRequest(request.url, "trap" if equal is None else "equal")

    def finished(self, page: PageState, confirmed: bool) -> None:
        """Learn from a page that is done, if it is `confirmed` (handled without an error)."""
        verdict, request = page.verdict, page.request
        if verdict is None or verdict.kind == "error-page" or not confirmed:
            return
        observation = verdict.observation
        got_other_arguments = observation is not None and not observation.earlier.same_request
        if got_other_arguments or not self._is_open or not _is_plain(request):
            return
        if self._traps.judged(verdict, self._chains.get(request.url, 0)):
            self._request_after_all()
        original = verdict.representative
        awaited = original or verdict.key
        if observation is None and awaited not in self._contents:
            # A copy of a page that is not done, and may fail: learn when that page is done.
            self._copies[awaited] = [*self._copies.get(awaited, ()), request.url]
            return
        has_new_text = verdict.kind in ("new", "changed")
        content = awaited if has_new_text else self._contents.get(awaited, awaited)
        self._contents[verdict.key] = content
        self._learn(request.url, content, original)
        for url in self._copies.pop(verdict.key, ()):
            self._learn(url, content, verdict.key)

    def _learn(self, url: str, content: str, original: str | None) -> None:
        contradicted = self._rules.handled(url, content, original)
        if contradicted:
            self._stats.count("contradicted", contradicted)
            self._request_after_all()
        self._save(site_of(url), _UNSAVED)

    def _request_after_all(self) -> None:
        """Schedule spared requests whose rules no longer apply, or whose trap has ended."""
        for equal, request in [self._spared.popleft() for _ in range(len(self._spared))]:
            if self._traps.has(request.url) if equal is None else equal.holds():
                self._spared.append((equal, request))
            elif equal is not None or request.url in self._trapped:  # else it was requested since
                self._trapped.pop(request.url, None)
                self._stats.count("requested_after_all")
                self._crawl.schedule(_copy_to_check(request))

    def close(self) -> None:
        """Store the rules of all sites that have changed, and count the rules in use."""
        if not self._is_open:
            return
        for name in self._rules.sites:
            self._save(name)
        sites = self._rules.sites.values()
        records = [record for site in sites for record in site.rules.values()]
        # "" is not the path pattern of any page, so it stands for those without own evidence.
        in_use = [record for record in records if any(map(record.applies, ("", *record.patterns)))]
        self._stats.count("rules", len(in_use))
        self._is_open = False

    def _load(self, site: str) -> Rules:
        try:
            return decode_rules(self._stored.get(site))
        except ValueError as error:
            self._crawl.errors.count_error("url_rules", error, site)
            return {}

    def _save(self, name: str, min_unsaved: int = 1) -> None:
        """Store the rules of a site that have changed, with those that other crawls have stored."""
        site = self._rules.sites.get(name)
        if site is None or site.unsaved < min_unsaved:
            return
        site.unsaved = 0
        site.sort()
        rules = self._stored[name] = encode_rules(site.rules)
        change = partial(merged, rules)
        self._crawl.pages.calls.tell(name, lambda index: index.change_note(name, change))


class RulesSpiderMiddleware(BaseSpiderMiddleware):
    """The spider middleware that notes on which page a request was found."""

    @cached_property
    def _rules(self) -> RequestRules | None:
        return self.crawler.get_downloader_middleware(RequestRules)

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        """Return the request."""
        if self._rules is not None and response is not None:
            self._rules.sees(response, request)
        return request


def _copy_to_check(request: Request) -> Request:
    """Return a copy of a request to check again, which Scrapy's duplicate filter lets pass."""
    return repeated(request, request.meta | _CHECK_AGAIN, dont_filter=True)


def _is_plain(request: Request) -> bool:
    """Return True if the URL alone identifies the page of a request, and says what its callback
    gives.
    """
    return (
        request.method == "GET"
        and not request.body
        and not request.meta.get("dont_simhash")
        and not request.meta.get(IDENTITY_META_KEY)
        and not any(request.meta.get(CARRIED_META_KEY, ()))
    )
