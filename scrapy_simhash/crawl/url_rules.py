"""Learn rules of URLs from handled pages, and spare requests by them (SIMHASH_URL_RULES)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.exceptions import EqualUrl
from scrapy_simhash.crawl.identity import IDENTITY_META_KEY
from scrapy_simhash.url_rules.learner import UrlRules
from scrapy_simhash.url_rules.rows import combined, decode_rules, encode_rules

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_simhash.crawl.lane import Lane
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.url_rules.rows import Rules

# Only scheduled requests may be spared: an inline download waits for its page.
SCHEDULED_META_KEY = "simhash_scheduled"
_COMPARISONS_BETWEEN_SAVES = 200
_REMEMBERED_SUCCESSORS = 10_000


class RequestRules:
    """The rules of URLs in one crawl. Off, its methods have no effect."""

    def __init__(
        self, settings: SimhashSettings, lane: Lane, stats: CrawlStats, errors: ErrorLog
    ) -> None:
        self._mode = settings.url_rules
        self._explore = settings.url_explore
        self._lane = lane
        self._stats = stats
        self._errors = errors
        self._rules: UrlRules | None = None
        self._stored: dict[str, bytes] = {}
        self._saving: set[str] = set()
        # Page that took the place of its representative → what identifies their content.
        self._contents: LocalCache[str, str] = LocalCache(_REMEMBERED_SUCCESSORS)

    def open(self) -> None:
        """Read the stored rules. :raises StorageError: they cannot be read."""
        if self._mode is not None and self._lane.index is not None:
            self._stored = dict(self._lane.index.rule_rows())
            self._rules = UrlRules(self._load, explore=self._explore)

    def scheduled(self, request: Request) -> None:
        """Mark a request that goes through the scheduler."""
        if self._rules is not None and not request.dont_filter:
            request.meta[SCHEDULED_META_KEY] = True

    def check(self, request: Request) -> None:
        """Find out whether a request is needed.

        :raises EqualUrl: rules make it equal to one that was handled.
        """
        if not request.meta.pop(SCHEDULED_META_KEY, False) or self._rules is None:
            return
        if request.dont_filter or not _is_plain(request):
            return
        equal = self._rules.equal(request.url)
        if equal is None:
            return
        if self._mode == "learn":
            self._rules.spared(equal)
            self._stats.count("url_rules/would_spare")
        elif equal.explore:
            self._stats.count("url_rules/explored")
        else:
            self._rules.spared(equal)
            self._stats.count("url_rules/spared")
            raise EqualUrl(str(equal.form))

    def finished(self, page: PageState, confirmed: bool) -> None:
        """Learn from a page whose callback and items are done."""
        verdict, request = page.verdict, page.request
        if self._rules is None or verdict is None or not confirmed or not _is_plain(request):
            return
        if verdict.observation is None:
            return  # a copy of a page that may still fail
        original = verdict.representative
        content = self._content(original or verdict.key)
        if verdict.canonical == "page":
            self._contents[verdict.key] = content
        contradicted = self._rules.handled(request.url, content, original)
        if contradicted:
            self._stats.count("url_rules/contradicted", contradicted)
        site = self._rules.site_of(request.url)
        if site is not None and self._rules.site(site).unsaved >= _COMPARISONS_BETWEEN_SAVES:
            self._save(site)

    def save(self) -> None:
        """Store what was learned."""
        if self._rules is not None:
            for name, site in [*self._rules.sites()]:
                if site.unsaved:
                    self._save(name)

    def close(self) -> None:
        """Store what was learned since `save`, and count the rules."""
        if self._rules is None or self._lane.index is None:
            return
        if not self._lane.asks_in_threads:
            self.save()
        known = [record for _, site in self._rules.sites() for record in site.rules.values()]
        self._stats.count("url_rules/rules", sum(record.total.holds for record in known))
        self._rules = None

    def _content(self, key: str) -> str:
        return self._contents.get(key) or key

    def _load(self, site: str) -> Rules:
        try:
            return decode_rules(self._stored.get(site))
        except ValueError as error:
            self._errors.failed("url_rules", error, site)
            return {}

    def _save(self, name: str) -> None:
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
                self._stored[name] = encode_rules(stored)
                return self._stored[name]

            index.change_rules(name, change)
            return stored

        def saved(stored: Rules | None) -> None:
            self._saving.discard(name)
            if stored is not None:
                site.stored(stored, now)

        self._lane.tell(name, save, saved)


def _is_plain(request: Request) -> bool:
    """Return True if the URL alone identifies the page of a request."""
    return (
        request.method == "GET"
        and not request.body
        and not request.meta.get("dont_simhash")
        and not request.meta.get(IDENTITY_META_KEY)
    )
