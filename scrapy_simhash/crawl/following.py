"""Decide which requests of copies pass: those that say more than the page that they are copies of.

A page that gave nothing at all, such as an AMP page that the callback does not use, speaks for no
links. So the requests of its copies pass, and so do those of a copy that gives items in place of a
page that gave none.

A callback that gives one or two requests, or one or two for itself, leads on: to the next and the
previous page of a list, from a page that asks for the visitor's age, or to the next number. If the
callback of such a page's copy did not run, the crawl would lose all that comes after it. So it
runs, and its items are dropped. If a pipeline turned an item of the page into a request, the copy
passes with its items.

One or two requests of a copy pass, but not those that hand on what the page says, such as the name
of a product: they would bring the same again. Of more, those pass that the page has not given: with
a part of the URL, a callback or data of their own. Copies often have other URLs for the same links,
such as mirrors. So what most of their links have in common does not count, unless it is a number,
nor do parameters that the URL of the copy has, or by which most links differ from those of the
page, but not from each other, such as session ids.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.settlement import MAX_REQUESTS
from scrapy_simhash.extraction.targets import pieces_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from scrapy import Request

    from scrapy_simhash.crawl.arguments import Arguments
    from scrapy_simhash.crawl.settlement import PageState

_REMEMBERED_PAGES = 10_000
# For pages that are forgotten. After a million pages, one of 17 unknown ones counts as one of them.
_BITS = 1 << 24
# Of the requests of a page; those with further ones count as new.
_MAX_PIECES = 1000
# A piece with the number of something. Longer ones are session ids.
_NUMBER = re.compile(r".*[/=]\d{1,8}")


class _Given(NamedTuple):
    """The requests that the callback of a page gave.

    :param pieces: hashes of what they consist of.
    :param handed_on: hashes of those that hand on what the page says.
    """

    requests: int
    leads_on: bool
    is_barren: bool
    pieces: Collection[int]
    handed_on: Collection[bytes]


class Following:
    """The requests that the callbacks of the last 10,000 pages of one crawl gave, and which earlier
    pages did not lead on.

    What the pages of other crawls in the index gave is unknown, so they are taken to lead on.

    :param resumed: the crawl goes on after a pause. It has forgotten what earlier pages gave, so
        they speak for no links.
    :param incremental: pages of earlier crawls count as seen, so they are not taken to lead on.
    """

    def __init__(
        self, arguments: Arguments, *, resumed: bool = False, incremental: bool = False
    ) -> None:
        self._arguments = arguments
        leads_on = resumed or not incremental
        self._unknown = _Given(0, leads_on=leads_on, is_barren=resumed, pieces=(), handed_on=())
        self._given: LocalCache[str, _Given] = LocalCache(_REMEMBERED_PAGES)
        # A bit for each hash of a key.
        self._led_nowhere = bytearray(_BITS // 8)
        # Keys of pages whose items were turned into requests.
        self._by_items: LocalCache[str, None] = LocalCache(_REMEMBERED_PAGES)

    def given(self, page: PageState, request: Request, said: str = "") -> None:
        """Record a request that the callback of a page gave.

        :param said: what the page says.
        """
        page.requests += 1
        is_own = self._is_own(page, request)
        page.own_requests += is_own
        if len(page.pieces) < _MAX_PIECES:
            page.pieces.update(map(_hash, self._pieces(request)))
        if page.requests <= MAX_REQUESTS and not is_own and self._arguments.repeat(said, request):
            page.handed_on.add(self._arguments.hash(request))

    def _is_own(self, page: PageState, request: Request) -> bool:
        name = self._arguments.callback_name
        return name(request) == name(page.request)

    def leads_on(self, key: str, *, at_work: bool = False) -> bool:
        """Return True if the callback of a page has led on, see `PageState.leads_on`.

        :param at_work: the callback has not ended, so copies wait.
        """
        given = self._given.get(key)
        if given is not None:
            return given.leads_on
        place, bit = _place_of(key)
        return self._unknown.leads_on and not at_work and not self._led_nowhere[place] & bit

    def items_lead_on(self, key: str) -> None:
        """Record that an item of a page was turned into a request."""
        self._by_items[key] = None

    def leads_on_by_items(self, key: str) -> bool:
        """Return True if an item of a page was turned into a request."""
        return key in self._by_items

    def is_barren(self, key: str) -> bool:
        """Return True if the callback of a page has given nothing."""
        return self._given.get(key, self._unknown).is_barren

    def ended(self, page: PageState) -> None:
        """Record that the callback of a page gives no more."""
        if not page.leads_on:
            place, bit = _place_of(page.key)
            self._led_nowhere[place] |= bit
        self._given[page.key] = _Given(
            page.requests,
            page.leads_on,
            page.outputs == 0 and not page.dropped,
            array("i", page.pieces),
            page.handed_on,
        )

    def passing(self, page: PageState) -> Sequence[Request]:
        """Return the kept requests of a copy that pass, when its output has ended; count the others
        as withheld.
        """
        requests = page.kept_requests
        if page.may_follow or not requests:
            return requests
        representative = page.original
        given = self._given.get(representative, self._unknown._replace(requests=page.requests))
        passing: Sequence[Request] = ()
        if page.may_lead_on and min(page.requests, given.requests) <= MAX_REQUESTS:
            passing = requests
        elif page.may_lead_on and given.pieces:
            passing = self._new(requests, set(given.pieces), page)
        elif page.may_lead_on and page.own_requests <= MAX_REQUESTS:
            passing = [one for one in requests if self._is_own(page, one)]
        if given.handed_on:
            hash_of = self._arguments.hash
            passing = [one for one in passing if hash_of(one) not in given.handed_on]
        page.withheld += len(requests) - len(passing)
        return passing

    def _new(self, requests: Sequence[Request], known: set[int], page: PageState) -> list[Request]:
        """Return the requests of a copy that have pieces of their own.

        :param known: hashes of the pieces that the representative gave.
        """
        most = len(requests) / 2
        pieces = [self._pieces(one) for one in requests]
        new = [{piece for piece in of_one if _hash(piece) not in known} for of_one in pieces]
        counts = Counter(chain(*new))
        ignored = {one for one, n in counts.items() if n > most and not _NUMBER.fullmatch(one)}
        ignored.update(pieces_of(f"?{page.request.url.partition('?')[2]}"))
        values: dict[str, set[str]] = {}
        for piece in counts:
            values.setdefault(_parameter(piece), set()).add(piece)
        for name, found in values.items():
            if name and len(found) > most:
                # Without a session id, links still lead to different pages.
                others = {tuple(one for one in row if _parameter(one) != name) for row in pieces}
                if len(others) > most:
                    ignored |= found
        return [
            one
            for one, of_one in zip(requests, new, strict=True)
            if any(piece[0] == " " or piece not in ignored for piece in of_one)
        ]

    def _pieces(self, request: Request) -> list[str]:
        """Return what tells a request from others: pieces of its URL, its callback, and if it is no
        simple request, all that it carries.
        """
        pieces = [f" {self._arguments.callback_name(request)}"]
        before = ""
        for piece in pieces_of(request.url):
            pieces.append(f"{before}/{piece}" if piece.isdigit() else piece)  # `/list/3`, `/item/3`
            before = piece
        if request.method != "GET" or request.dont_filter:
            pieces.append(f" {request.body!r} {self._arguments.hash(request)!r}")
        return pieces


def _hash(piece: str) -> int:
    """Return 31 bits: 1,000 of them for each of 10,000 pages take 40 MB."""
    return hash(piece) & 0x7FFF_FFFF


def _place_of(key: str) -> tuple[int, int]:
    """Return the byte and the bit of a page."""
    byte, bit = divmod(hash(key) % _BITS, 8)
    return byte, 1 << bit


def _parameter(piece: str) -> str:
    """Return the name of the parameter that a piece of a URL is; empty for a segment."""
    return "" if piece[0] == " " else piece.rpartition("=")[0]
