"""Decide which requests of copies pass: a page speaks for the links of its copies if it has led on.

A page that gave nothing at all, such as an AMP page that the callback does not use, has not led
anywhere. So the requests of its copies pass, and so do those of a copy that gives items in place of
a page that gave none.

A callback that gives one or two requests, or one or two for itself, leads on: to the next and the
previous page of a list, from a page that asks for the visitor's age, or to the next number. If the
callback of such a page's copy did not run, the crawl would lose all that comes after it. So it
runs, its items are dropped, and these requests pass, but not those that hand on what the page says,
such as the name of a product: they would bring the same again. Copies with many links, such as
mirrors, are not followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.settlement import MAX_REQUESTS

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
        # Key of a page that leads on → number of its requests, their callbacks, and the hashes of
        # those that hand on what the page says.
        self._leading: LocalCache[str, tuple[int, set[str], set[bytes]]] = LocalCache(
            _REMEMBERED_PAGES
        )

    def given(self, page: PageState, request: Request, said: str = "") -> None:
        """Record a request that the callback of a page gave.

        :param said: what the page says.
        """
        page.requests += 1
        if page.own_requests > MAX_REQUESTS:
            return  # it will not lead on any more
        name = self._arguments.callback_name(request)
        is_own = name == self._arguments.callback_name(page.request)
        page.own_requests += is_own
        page.callbacks.add(name)
        if not page.leads_on:
            self._leading.pop(page.key, None)
            return
        self._leading[page.key] = page.requests, page.callbacks, page.handed_on
        if page.requests <= MAX_REQUESTS and not is_own and self._arguments.repeat(said, request):
            page.handed_on.add(self._arguments.hash(request))

    def leads_on(self, key: str) -> bool:
        """Return True if the callback of a page has led on, see `PageState.leads_on`."""
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

        All pass if they are one or two, or if the representative has given no more than that, so
        that those of the copy say more; else the first ones for its own callback, and those for
        callbacks for which the representative has given none. But none passes that hands on what
        one of the representative does.
        """
        requests = page.kept_requests
        if page.may_follow:
            return requests
        representative = (page.verdict and page.verdict.representative) or page.key
        number, callbacks, handed_on = self._leading.get(
            representative, (page.requests, page.callbacks, set())
        )
        name = self._arguments.callback_name
        own = [one for one in requests if name(one) == name(page.request)]
        passing: Sequence[Request] = ()
        if page.in_chain and min(page.requests, number) <= MAX_REQUESTS:
            passing = requests
        elif page.in_chain:
            first = own[:MAX_REQUESTS]
            passing = [one for one in requests if one in first or name(one) not in callbacks]
        if handed_on:
            hash_of = self._arguments.hash
            passing = [one for one in passing if one in own or hash_of(one) not in handed_on]
        page.withheld += len(requests) - len(passing)
        return passing
