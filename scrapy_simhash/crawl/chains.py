"""Follow chains of pages, in which each page leads to the next one, through copies.

A callback that gives one request, or one for itself, leads on: to the next page of a list, from a
page that asks for the visitor's age, or to the next number. If the callback of such a page's copy
did not run, the crawl would lose all that comes after it. So it runs, its items are dropped, and
its one request passes. Copies with many links, such as mirrors, are not followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_simhash.crawl.arguments import Arguments
    from scrapy_simhash.crawl.settlement import PageState

_REMEMBERED_PAGES = 100_000


class Chains:
    """The pages of one crawl that lead on to one further page."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        # Key of a page → hash of its one request, or None if that is for its own callback.
        self._leading: LocalCache[str, bytes | None] = LocalCache(_REMEMBERED_PAGES)

    def given(self, page: PageState, request: Request) -> None:
        """Record a request that the callback of a page gave."""
        page.requests += 1
        is_own = self._arguments.same_callback(request, page.request)
        page.own_requests += is_own
        if not page.leads_on:
            self._leading.pop(page.key, None)
        elif is_own or page.requests == 1:
            self._leading[page.key] = None if is_own else self._arguments.hash(request)

    def leads_on(self, key: str) -> bool:
        """Return True if the callback of a page has given one request, or one for itself."""
        return key in self._leading

    def lets_pass(self, page: PageState, request: Request) -> bool:
        """Return True if a request of a copy is for the next page of a chain. Keep it if this is
        not known yet.
        """
        if not page.in_chain:
            return False
        if page.own_requests == 1 and self._arguments.same_callback(request, page.request):
            return True
        page.kept_request = request if page.requests == 1 else None
        return False

    def kept(self, page: PageState) -> Request | None:
        """Return the one request of a copy whose output has ended, if it is to pass.

        With the state that the representative hands on, it would only bring the same again.
        """
        request = page.kept_request
        if request is None or page.requests > 1 or page.verdict is None:
            return None
        handed_on = self._leading.get(page.verdict.representative or page.key)
        has_state = any(self._arguments.names(request))
        if has_state and handed_on == self._arguments.hash(request):
            return None
        return request
