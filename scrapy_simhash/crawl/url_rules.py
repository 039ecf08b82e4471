"""Spare requests by learned rules of URLs, and requests into traps (`scrapy_simhash.url_rules`)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.exceptions import SparedRequest
from scrapy_simhash.crawl.identity import IDENTITY_META_KEY
from scrapy_simhash.errors import StorageError
from scrapy_simhash.url_rules.learner import Equal, UrlRules
from scrapy_simhash.url_rules.rows import combined, decode_rules, encode_rules
from scrapy_simhash.url_rules.traps import Traps, chain_after

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from scrapy import Request

    from scrapy_simhash.crawl.lane import Lane
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.url_rules.rows import Rules

# Only scheduled requests may be spared: an inline download waits for its page.
SCHEDULED_META_KEY = "simhash_scheduled"
CHAIN_META_KEY = "simhash_chain"
POSTPONED_META_KEY = "simhash_postponed"
# For a request that `check` gets, but does not postpone again.
_CHECKED_AGAIN = {SCHEDULED_META_KEY: True, POSTPONED_META_KEY: True}
_COMPARISONS_BETWEEN_SAVES = 200
_REMEMBERED_SUCCESSORS = 10_000
_WAITING_COPIES = 1_000
_KEPT_SPARED = 1_000
# More than a crawl has requests under way, but few: failed ones are forgotten only by this limit.
_UNDER_WAY = 100


class RequestRules:
    """The rules of URLs and traps of one crawl. Without SIMHASH_URL_RULES, methods do nothing."""

    def __init__(
        self,
        settings: SimhashSettings,
        lane: Lane,
        stats: CrawlStats,
        errors: ErrorLog,
        schedule: Callable[[Request], None],
    ) -> None:
        self._mode = settings.url_rules
        self._explore = settings.url_explore
        self._lane = lane
        self._stats = stats
        self._errors = errors
        self._schedule = schedule
        self._rules: UrlRules | None = None
        self._stored: dict[str, bytes] = {}
        self._saving: set[str] = set()
        # Key of a page that is not done yet → URLs of its copies.
        self._copies: LocalCache[str, list[str]] = LocalCache(_WAITING_COPIES)
        self._done: LocalCache[str, None] = LocalCache(_WAITING_COPIES)
        # URLs of recent requests as rules rewrite them, and the values that requests test.
        self._under_way: LocalCache[Hashable, None] = LocalCache(_UNDER_WAY)
        # (the equal URL, or None for a trap; the spared request)
        self._spared: deque[tuple[Equal | None, Request]] = deque(maxlen=_KEPT_SPARED)
        self._traps = Traps()
        # URLs of requests that were spared because of a trap.
        self._trapped: LocalCache[str, None] = LocalCache(_REMEMBERED_SUCCESSORS)
        # Request → length of the chain of barren pages that led to it.
        self._chains: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        # Key of a page that took the place of its representative → key of the first representative.
        self._contents: LocalCache[str, str] = LocalCache(_REMEMBERED_SUCCESSORS)

    def open(self) -> None:
        """Start with the stored rules. :raises StorageError: they cannot be read."""
        if self._mode is not None and self._lane.index is not None:
            if self._lane.asks_in_threads:  # to read each site later would block the event loop
                self._stored = dict(self._lane.index.side_rows("url-rules"))
            self._rules = UrlRules(self._load, explore=self._explore)

    def scheduled(self, request: Request) -> None:
        """Mark a request that goes through the scheduler."""
        if self._rules is not None and not request.dont_filter:
            request.meta[SCHEDULED_META_KEY] = True

    def check(self, request: Request) -> Request | None:
        """Return a request that takes the place of this one later; None if it is made now.

        :raises SparedRequest: rules make its URL equal to a handled one, or it leads into a trap.
        """
        chain = request.meta.pop(CHAIN_META_KEY, 0)
        scheduled = request.meta.pop(SCHEDULED_META_KEY, False)
        postponed = request.meta.pop(POSTPONED_META_KEY, False)
        if postponed:
            request.dont_filter = False
        if not scheduled or self._rules is None or request.dont_filter or not _is_plain(request):
            return None
        if chain:
            self._chains[request] = chain
        equal = self._rules.equal(request.url)
        if equal is None:
            if self._traps.spares(request.url, chain):
                self._trapped[request.url] = None
                self._spare(request, None)
            elif self._mode == "apply" and self._is_under_way(request.url) and not postponed:
                return self._postponed(request, chain)
        elif self._mode == "apply" and (equal.explore or equal.untested):
            if not equal.explore and self._are_tested_now(equal) and not postponed:
                return self._postponed(request, chain)
            self._stats.count("url_rules/explored")
        else:
            self._rules.spared(equal)
            self._spare(request, equal)
        return None

    def _postponed(self, request: Request, chain: int) -> Request:
        """Return a copy of a request with a lower priority, which is checked again."""
        self._stats.count("url_rules/postponed")
        copy = _checked_again(request)
        copy.meta[CHAIN_META_KEY] = chain
        copy.priority -= 1
        return copy

    def _are_tested_now(self, equal: Equal) -> bool:
        """Return True if other requests test all new values of a URL; else this one will."""
        are_under_way = all(value in self._under_way for value in equal.untested)
        for value in equal.untested:
            self._under_way[value] = None
        return are_under_way

    def _is_under_way(self, url: str) -> bool:
        """Return True if rules make a URL equal to that of a recent request; else note the URL."""
        form = None if self._rules is None else self._rules.rewritten(url)
        if form is None or form in self._under_way:
            return form is not None
        self._under_way[form] = None
        return False

    def found(self, page: PageState, request: Request) -> None:
        """Mark a request that was found on a page: with its chain, or to leave a trap."""
        request.meta.pop(CHAIN_META_KEY, None)  # of another request, whose meta the spider copied
        if self._rules is not None and page.verdict is not None and _is_plain(page.request):
            chain = chain_after(page.verdict, self._chains.get(page.request, 0), request.url)
            if chain:
                request.meta[CHAIN_META_KEY] = chain
            elif request.url in self._trapped and not request.dont_filter:
                # Scrapy's duplicate filter has seen it.
                del self._trapped[request.url]
                request.meta.update(_CHECKED_AGAIN)
                request.dont_filter = True

    def _spare(self, request: Request, equal: Equal | None) -> None:
        """Count a request that is not needed.

        :param equal: the equal URL; None if the request leads into a trap.
        :raises SparedRequest: unless rules are only learned.
        """
        if equal is None:
            self._stats.count("url_rules/trapped")
        if self._mode == "learn":
            self._stats.count("url_rules/would_spare")
            return
        self._stats.count("url_rules/spared")
        self._spared.append((equal, request))
        raise SparedRequest(request.url, "trap" if equal is None else "equal")

    def finished(self, page: PageState, confirmed: bool) -> None:
        """Learn from a page that is done. `confirmed`: it was handled without an error."""
        verdict, request = page.verdict, page.request
        if self._rules is None or verdict is None or not confirmed or not _is_plain(request):
            return
        if verdict.kind == "error-page":
            return
        if self._traps.judged(verdict, self._chains.get(request, 0)):
            self._request_after_all(self._rules)
        original = verdict.representative
        awaited = original or verdict.key
        if verdict.observation is None and awaited not in self._done:
            # A copy of a page that may still fail: learn when that page is done.
            self._copies[awaited] = [*self._copies.get(awaited, ()), request.url]
            return
        content = self._content(awaited)
        if verdict.canonical == "page":
            self._contents[verdict.key] = content
        self._done[verdict.key] = None
        self._learn(request.url, content, original)
        for url in self._copies.pop(verdict.key, ()):
            self._learn(url, content, verdict.key)

    def _learn(self, url: str, content: str, original: str | None) -> None:
        if self._rules is None:
            return
        contradicted = self._rules.handled(url, content, original)
        if contradicted:
            self._stats.count("url_rules/contradicted", contradicted)
            self._request_after_all(self._rules)
        site = self._rules.site_of(url)
        if site is not None and self._rules.site(site).unsaved >= _COMPARISONS_BETWEEN_SAVES:
            self._save(site)

    def _request_after_all(self, rules: UrlRules) -> None:
        """Make the requests that rules which no longer hold, or an ended trap, have spared."""
        spared = [*self._spared]
        self._spared.clear()
        for equal, request in spared:
            if self._traps.has(request.url) if equal is None else rules.holds(equal):
                self._spared.append((equal, request))
            elif equal is not None or request.url in self._trapped:  # else it was requested since
                self._trapped.pop(request.url, None)
                self._stats.count("url_rules/requested_after_all")
                self._schedule(_checked_again(request))

    def save(self) -> None:
        """Store the rules of all sites that have changed."""
        if self._rules is not None:
            for name, site in [*self._rules.sites()]:
                if site.unsaved:
                    self._save(name)

    def close(self) -> None:
        """Store what changed since `save`, if the index is embedded, and count the rules."""
        if self._rules is None or self._lane.index is None:
            return
        if not self._lane.asks_in_threads:
            self.save()
        records = [record for _, site in self._rules.sites() for record in site.rules.values()]
        self._stats.count("url_rules/rules", sum(record.total.holds for record in records))
        self._rules = None

    def _content(self, key: str) -> str:
        """Return the key of the first page with the content of a representative."""
        return self._contents.get(key) or key

    def _load(self, site: str) -> Rules:
        index: Any = self._lane.index
        try:
            if index is None or self._lane.asks_in_threads:
                return decode_rules(self._stored.get(site))
            return decode_rules(index.side_row("url-rules", site))
        except (ValueError, StorageError) as error:
            self._errors.failed("url_rules", error, site)
            return {}

    def _save(self, name: str) -> None:
        """Store the rules of a site, combined with those that other crawls have stored."""
        if self._rules is None or name in self._saving:
            return
        site = self._rules.site(name)
        now, before = site.to_store()
        self._saving.add(name)

        def save(index: Any) -> Rules:
            stored: Rules = {}

            def change(row: bytes | None) -> bytes:
                nonlocal stored
                try:
                    theirs = decode_rules(row)
                except ValueError:  # damaged; counted when it was loaded
                    theirs = before
                stored = combined(now, before, theirs)
                encoded = encode_rules(stored)
                if self._lane.asks_in_threads:
                    self._stored[name] = encoded
                return encoded

            index.change_side_row("url-rules", name, change)
            return stored

        def saved(stored: Rules | None) -> None:
            self._saving.discard(name)
            if stored is not None:
                site.stored(stored, now)

        self._lane.tell(name, save, saved)


def _checked_again(request: Request) -> Request:
    """Return a copy of a request that Scrapy's duplicate filter lets pass, and `check` checks."""
    return request.replace(dont_filter=True, meta=request.meta | _CHECKED_AGAIN)


def _is_plain(request: Request) -> bool:
    """Return True if the URL alone identifies the page of a request."""
    return (
        request.method == "GET"
        and not request.body
        and not request.meta.get("dont_simhash")
        and not request.meta.get(IDENTITY_META_KEY)
    )
