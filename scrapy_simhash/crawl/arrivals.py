"""Record that a requested page arrived, or never will, and what this says of earlier pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http.request import NO_CALLBACK
from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.arguments import CARRIED_META_KEY
from scrapy_simhash.crawl.identity import OTHER_URL_META_KEY
from scrapy_simhash.detector import evidence_of
from scrapy_simhash.index import PageToObserve

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.judging import Judging
    from scrapy_simhash.crawl.settlement import PageState, Settlement
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Observation

_REMEMBERED_KEYS = 10_000
# Indexed pages with these statuses count as gone; other pages that cannot be judged do not.
_GONE_STATUSES = (404, 410)


class Arrivals:
    """The arrivals of one crawl, and the pages that they show to have been wrong ones."""

    def __init__(
        self, pages: Judging, items: Judging, settlement: Settlement, identity: Identity
    ) -> None:
        self._pages = pages
        self._items = items
        self._settlement = settlement
        self._identity = identity
        # Keys of pages whose callbacks gave only a request for the page under another query.
        self._replaced: LocalCache[str, None] = LocalCache(_REMEMBERED_KEYS)
        self.is_idle = False
        """No request was made since the crawl was idle."""

    def downloaded(
        self, request: Request, response: Response, page: PageFingerprint | None
    ) -> None:
        """Record that a page was downloaded.

        :param page: None if it has no fingerprint.
        """
        if 200 <= response.status < 300:  # noqa: PLR2004 - success
            self._compare_with_earlier(request, page)
        if (page is None or page.skipped) and response.status not in _GONE_STATUSES:
            self._pages.mark_not_judged(self._identity.key(request))
        if page is None:
            self.ended(request)

    def answer_to(self, request: Request) -> Response | None:
        """Return the response that was kept for a request by `Retries`, or None."""
        self.is_idle = False
        return self._pages.retries.answer_to(request)

    def lost(self, request: Request) -> None:
        """Record that the page of a failed or spared request will not arrive."""
        self._pages.mark_not_judged(self._identity.key(request))
        self.ended(request)

    def ended(self, request: Request, observation: Observation | None = None) -> bool:
        """Record that it is known what became of a request. Return True if the request was a retry,
        of the page or of one of its items.

        :param observation: None if the page was not judged.
        """
        for_item = self._items.retries.arrived(request, None)
        return self._pages.retries.arrived(request, observation) or for_item

    def settled(self, page: PageState) -> None:
        """Remember a page whose callback gave only a request for it under another query."""
        if page.other_url and page.outputs == 1:
            self._replaced[page.key] = None

    def _compare_with_earlier(self, request: Request, page: PageFingerprint | None) -> None:
        """Compare a page with an earlier one under its key, whose copies may have been dropped for
        a content that the spider did not want.
        """
        if self._pages.index is None or request.callback is NO_CALLBACK:
            return
        key = self._identity.key(request)
        text = None
        if page is not None and page.fingerprint is not None:
            text = PageToObserve(key, page.fingerprint, evidence_of(key, page))
        if CARRIED_META_KEY not in request.meta:  # no spider output: perhaps an inline download
            self._settlement.downloaded(key, text)
        self._pages.came_again(key, text)
        # A page is refused, too, if its callback gave nothing but a request for this one.
        other = request.meta.get(OTHER_URL_META_KEY)
        if other is not None and other in self._replaced:
            self._pages.came_again(other, text)
