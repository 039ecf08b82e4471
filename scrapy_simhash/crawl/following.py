"""Decide which requests of a copy pass: those that say more than those of its page.

One or two requests of a copy pass, but not those that hand on what the page says, such as the name
of a product: they would bring the same again. Of more, those pass that the page has not given: with
a part of the URL, a callback or data of their own. Copies often have other URLs for the same links,
such as mirrors. So what most of their links have in common does not count, unless it is a number,
nor do parameters that the URL of the copy has, or by which most links differ from those of the
page, but not from each other, such as session ids.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_simhash.crawl.given import MAX_REQUESTS, stable_hash
from scrapy_simhash.extraction.targets import pieces_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request

    from scrapy_simhash.crawl.arguments import Arguments
    from scrapy_simhash.crawl.given import Given
    from scrapy_simhash.crawl.settlement import PageState

# Of the requests of a page; those with further ones count as new.
_MAX_PIECES = 1000
# A piece with the number of something. Longer ones are session ids.
_NUMBER = re.compile(r".*[/=]\d{1,8}")


class Following:
    """Compares the requests that the callback of a copy gave with those of its page."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments

    def record(self, page: PageState, request: Request, said: str) -> None:
        """Record a request that the callback of a page gave.

        :param said: what the page says.
        """
        given = page.given
        given.requests += 1
        if isinstance(given.pieces, set) and len(given.pieces) < _MAX_PIECES:
            given.pieces.update(map(_hash, self._pieces(request)))
        is_own = self._is_own(page, request)
        given.own_requests += is_own
        is_first = given.requests <= MAX_REQUESTS and not is_own
        if is_first and self._arguments.repeat(said, request):
            given.handed_on.add(self._arguments.hash(request).hex())

    def _is_own(self, page: PageState, request: Request) -> bool:
        name = self._arguments.callback_name
        return name(request) == name(page.request)

    def passing(self, copy: PageState, page: Given) -> Sequence[Request]:
        """Return the kept requests of a copy that pass, when its output has ended.

        :param page: what the page gave that this one is a copy of.
        """
        requests = copy.kept_requests
        if not page.ended:  # it is unknown what it gives
            own = [one for one in requests if self._is_own(copy, one)]
            return next((some for some in (requests, own) if len(some) <= MAX_REQUESTS), ())
        is_few = min(len(requests), page.requests) <= MAX_REQUESTS
        new = requests if is_few else self._new(copy, set(page.pieces))
        if not page.handed_on:
            return new
        hash_of = self._arguments.hash
        return [one for one in new if hash_of(one).hex() not in page.handed_on]

    def _new(self, copy: PageState, known: set[int]) -> list[Request]:
        """Return the requests of a copy that have pieces of their own.

        :param known: hashes of the pieces that the page gave.
        """
        requests = copy.kept_requests
        most = len(requests) / 2
        pieces = [self._pieces(one) for one in requests]
        new = [{piece for piece in of_one if _hash(piece) not in known} for of_one in pieces]
        counts = Counter(chain(*new))
        ignored = {one for one, n in counts.items() if n > most and not _NUMBER.fullmatch(one)}
        ignored.update(pieces_of(f"?{copy.request.url.partition('?')[2]}"))
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
    return stable_hash(piece) & 0x7FFF_FFFF


def _parameter(piece: str) -> str:
    """Return the name of the parameter that a piece of a URL is; empty for a segment."""
    return "" if piece[0] == " " else piece.rpartition("=")[0]
