"""Decide which requests of copies pass: a page speaks for the links of its copies if it has led on.

A page that gave nothing at all, such as an AMP page that the callback does not use, has not led
anywhere. So the requests of its copies pass, and so do those of a copy that gives items in place of
a page that gave none.

A callback that gives one request, or one for itself, leads on: to the next page of a list, from a
page that asks for the visitor's age, or to the next number. If the callback of such a page's copy
did not run, the crawl would lose all that comes after it. So it runs, its items are dropped, and
its one request passes. Copies with many links, such as mirrors, are not followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request

    from scrapy_simhash.crawl.arguments import Arguments
    from scrapy_simhash.crawl.settlement import PageState

_REMEMBERED_PAGES = 100_000


class Following:
    """The pages of one crawl that lead on to one further page."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        # Keys of pages whose callbacks gave nothing.
        self._barren: LocalCache[str, None] = LocalCache(_REMEMBERED_PAGES)
        # Key of a page → number of its requests, and hash of the only one (None if that is for its
        # own callback).
        self._leading: LocalCache[str, tuple[int, bytes | None]] = LocalCache(_REMEMBERED_PAGES)

    def given(self, page: PageState, request: Request) -> None:
        """Record a request that the callback of a page gave."""
        page.requests += 1
        is_own = self._arguments.same_callback(request, page.request)
        page.own_requests += is_own
        if not page.leads_on:
            self._leading.pop(page.key, None)
        else:
            one = None if page.own_requests else self._arguments.hash(request)
            self._leading[page.key] = page.requests, one

    def leads_on(self, key: str) -> bool:
        """Return True if the callback of a page has given one request, or one for itself."""
        return key in self._leading

    def is_barren(self, key: str) -> bool:
        """Return True if the callback of a page has given nothing."""
        return key in self._barren

    def ended(self, page: PageState) -> None:
        """Record that the callback of a page gives no more."""
        if page.outputs == 0 and not page.dropped:
            self._barren[page.key] = None
        else:
            self._barren.pop(page.key, None)

    def passing(self, page: PageState) -> Sequence[Request]:
        """Return the kept requests of a copy that pass, when its output has ended; count the others
        as withheld.

        The first for its own callback passes, or the only one, or all if the representative has
        given a single one, so that those of the copy say more. With the values that the
        representative hands on, the only one would bring the same again.
        """
        requests = page.kept_requests
        if page.may_follow:
            return requests
        representative = (page.verdict and page.verdict.representative) or page.key
        number, handed_on = self._leading.get(representative, (0, None))
        if not page.in_chain:
            passing = []
        elif page.requests > number == 1:
            passing = requests
        else:
            is_own = self._arguments.same_callback
            passing = [one for one in requests if is_own(one, page.request)][:1]
            if not passing and page.requests == 1:
                passing = [one for one in requests if not self._hands_on(one, handed_on)]
        page.withheld += len(requests) - len(passing)
        return passing

    def _hands_on(self, request: Request, handed_on: bytes | None) -> bool:
        """Return True if a request carries values, and those that the representative hands on."""
        return any(self._arguments.names(request)) and handed_on == self._arguments.hash(request)
