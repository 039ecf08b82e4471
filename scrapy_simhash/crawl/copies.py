"""May the callback of a copy give something that its page did not give, and what of it passes?

The table in docs/trust.md ("What the callback of a copy may give") is this file: `Copies.may_give`
says which of its rows apply, `Copies.withholds_item` which items pass, and `Copies.rest` which
requests.

What a page gave is forgotten after 10,000 other pages. What the pages of other crawls in the index
gave was never known.
"""

from __future__ import annotations

from array import array
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.following import Following
from scrapy_simhash.crawl.given import Given, OfCallback, Remembered, Said, stable_hash
from scrapy_simhash.crawl.item_texts import ItemTexts, is_code
from scrapy_simhash.crawl.page_texts import PageTexts, count_of, lacks, missing
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.arguments import Arguments
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.policy import MayGive, Policy

_REMEMBERED_PAGES = 10_000
_REMEMBERED_CALLBACKS = 1000
_MAX_ITEMS = 3  # of a page whose words a copy may lack
_MAX_CHARACTERS = 500  # of these words
_MAX_NUMBERS = 10
_MAX_COMPARED_ITEMS = 250  # of a page; further ones of its copies pass
_MAX_KNOWN = 1000  # hashes of entries of a page and its copies, to which those of copies are added
_MAX_KNOWN_ITEMS = 100  # of a page and its copies; each is compared with an item of a further copy


class Copies:
    """What the pages of one crawl gave, and what copies of them may give besides.

    :param policy: what is done with copies.
    :param before_pause: what is remembered of the crawl before a pause; None if it begins.
    """

    def __init__(
        self, arguments: Arguments, policy: Policy, before_pause: Remembered | None = None
    ) -> None:
        self._arguments = arguments
        self._policy = policy
        # In an incremental crawl, pages of earlier crawls count as seen.
        self._passes_unknown = before_pause is not None or not policy.incremental
        self._following = Following(arguments)
        self._pages: LocalCache[str, Given] = LocalCache(_REMEMBERED_PAGES)
        self._callbacks: LocalCache[str, OfCallback] = LocalCache(_REMEMBERED_CALLBACKS)
        if before_pause is not None:
            self._pages.update(before_pause.pages)
            self._callbacks.update(before_pause.callbacks)

    def remembered(self) -> Remembered:
        """Return what the crawl is to know after a pause."""
        ended = {key: given for key, given in self._pages.items() if given.ended}
        return Remembered(ended, {**self._callbacks})

    def may_give(
        self, key: str, request: Request, response: Response | None, *, is_pending: bool = False
    ) -> Collection[MayGive]:
        """Return what the callback of a copy may give that its page did not give.

        :param key: of the page.
        :param request: of the copy, as `response`.
        :param response: None if it was not kept. So it may lack what the items of the page say.
        :param is_pending: the page may be at work, so that copies wait.
        """
        page, callback = self._page(key), self._callback(request)
        rows: tuple[tuple[MayGive, bool], ...] = (
            ("all", self._policy.follows_chains and page.items_lead_on),
            ("items", self._has_other_items(page, callback)),
            ("items", self._is_lacking(page.said, key, request, response)),
            ("requests", self._leads_on(page, callback, is_pending)),
        )
        return {what for what, applies in rows if applies}

    def _has_other_items(self, page: Given, callback: OfCallback) -> bool:
        """Return True if each copy of a page may have items of its own: its items have foreign
        words, or its callback gives lists.
        """
        return callback.gives_lists or page.said.has_foreign

    def _is_lacking(
        self, said: Said, key: str, request: Request, response: Response | None
    ) -> bool:
        """Return True if a copy on the same site lacks a word that the items of its page have from
        the page, or has a number less often, so that it may have another one in its place.
        """
        if not (said.words or said.numbers) or site_of((response or request).url) != site_of(key):
            return False
        return response is None or bool(
            missing(said.words.split(), response) or _has_less(response, said.numbers)
        )

    def _leads_on(self, page: Given, callback: OfCallback, is_pending: bool) -> bool:
        """Return True if a page led on, or if it is unknown whether it did."""
        if not self._policy.follows_chains:
            return False
        if page.ended:
            return page.leads_on
        is_at_work = page.ended is False and is_pending
        may_be_forgotten = len(self._pages) >= _REMEMBERED_PAGES
        leads_on = self._passes_unknown and (callback.leads_on or not may_be_forgotten)
        return leads_on and not is_at_work

    def _page(self, key: str) -> Given:
        """Return what a page gave. What was asked for last is forgotten last."""
        if key in self._pages:
            self._pages.move_to_end(key)
        return self._pages.get(key) or Given()

    def _remember(self, page: PageState) -> None:
        # For a key that is there, older releases of Scrapy forget another one.
        self._pages.pop(page.key, None)
        self._pages[page.key] = page.given

    def _callback(self, request: Request) -> OfCallback:
        return self._callbacks.setdefault(self._arguments.callback_name(request), OfCallback())

    def begins(self, page: PageState) -> None:
        """Record that the callback of a page runs."""
        page.given.ended = False
        self._pages.setdefault(page.key, page.given)

    def gave_request(self, page: PageState, request: Request, said: str = "") -> None:
        """Record a request that the callback of a page gave.

        :param said: what the page says.
        """
        self._following.record(page, request, said)

    def ended(self, page: PageState, *, failed: bool) -> None:
        """Record that the callback of a page gives no more.

        :param failed: so it is unknown what it would have given.
        """
        if failed and self._pages.get(page.key) is page.given:
            del self._pages[page.key]
        if failed or page.dropped:
            return
        page.given.ended = True
        page.given.pieces = array("i", page.given.pieces)
        self._remember(page)
        callback = self._callback(page.request)
        callback.leads_on = callback.leads_on or page.given.leads_on

    def withholds_item(self, page: PageState, response: Response, item: Any) -> bool:
        """Return True if an item of a callback is to be dropped. Record what other items say."""
        verdict = page.verdict
        if verdict is None or page.dropped:
            return False
        is_for_items, follows = page.reason == "values", page.action.follow
        if not is_for_items and not page.withholds_item():
            if self._policy.action == "drop":  # else the items of all copies pass
                self._gave_item(page, response, item)
            return False
        original, callback = self._page(page.original), self._callback(page.request)
        if not is_for_items and follows and not self._has_other_items(original, callback):
            return True
        is_pending = verdict.observation is not None and verdict.observation.provisional
        leads_on = not is_for_items or self._leads_on(original, callback, is_pending)
        return not self._has_own(page, response, item, leads_on=leads_on and not follows)

    def _gave_item(self, page: PageState, response: Response, item: Any) -> None:
        """Record an item of a page that is no copy, or takes the place of one."""
        said = page.given.said
        said.count += 1
        if said.count > _MAX_COMPARED_ITEMS:
            return
        self._remember(page)
        callback = self._callback(page.request)
        callback.gives_lists = callback.gives_lists or said.count > 1
        texts = ItemTexts(item, page.request.url, response.url)
        entry, hashes = texts.entry(), array("Q")
        said.entries.extend(entry)
        if said.count <= _MAX_ITEMS:
            hashes = said.add_item(texts.hashes())
            self._record(page, response, texts)
        page.recorded_items[id(item)] = item, entry, hashes

    def take_back(self, page: PageState, item: Any) -> None:
        """Forget an item that the pipelines did not keep, so that copies may give it.

        :param item: the object that the callback yielded. Pipelines may have changed it since.
        """
        _, entry, hashes = page.recorded_items.pop(id(item), (item, (), array("Q")))
        known = self._page(page.original).said
        for said in [known] if known is page.given.said else [known, page.given.said]:
            said.items = [array("Q") if one == hashes else one for one in said.items]
            for one in {*entry}.intersection(said.entries):
                said.entries.remove(one)

    def _record(self, page: PageState, response: Response, item: ItemTexts) -> None:
        """Record what of an item its page says, too."""
        said, url = page.given.said, page.request.url.casefold()
        request_says = self._request_says(page, response)
        said_alone = {*chain(*item.said)}
        # The first words of all texts come first, because not all are kept.
        in_turn = chain(*zip_longest(*item.words, *item.said))
        words = [*dict.fromkeys(word for word in in_turn if word is not None)]
        own = [word for word in words if word in said_alone or not (word in url or word.isdigit())]
        # To search the page for words of URLs, which it lacks, takes long.
        foreign = {word for word in words if lacks(request_says, word)}
        lacking = {*missing(foreign.union(own), response)}
        said.has_foreign = said.has_foreign or not foreign.isdisjoint(lacking)
        for word in own:
            if word not in lacking and len(said.words) < _MAX_CHARACTERS:
                said.words += f" {word}"
        for text in islice(item.numbers(), _MAX_NUMBERS - len(said.numbers)):
            if count := count_of(text, response):
                said.numbers[text] = count

    def _request_says(self, page: PageState, response: Response) -> str:
        """Return what the request of a page says, and our verdict."""
        verdict = {} if page.verdict is None else page.verdict.to_dict()
        urls = unquote(f"{page.request.url} {response.url}")
        return f"{urls} {verdict} {self._arguments.shown(page.request)}".casefold()

    def _has_own(self, page: PageState, response: Response, item: Any, *, leads_on: bool) -> bool:
        """Return True if an item of a copy says what no item of its page or of an earlier copy
        says: a text with foreign words, another entry of a list, or words where the copy lacks some
        of its page.

        :param leads_on: the callback runs for its requests, so any text with other words counts.
        """
        original = page.original
        known = self._pages.setdefault(original, self._page(original)).said
        said, callback = page.given.said, self._callback(page.request)
        said.count += 1
        if said.count == 1:
            page.known_items = len(known.items)
            is_same_site = site_of(response.url) == site_of(original)
            words = [word for word in known.words.split() if word.isalpha() or word.isdigit()]
            page.is_lacking = is_same_site and bool(missing(words, response))
            codes = {text: n for text, n in known.numbers.items() if is_code(text)}
            page.lacks_code = is_same_site and _has_less(response, codes)
        if said.count > _MAX_COMPARED_ITEMS and not callback.gives_lists:
            return True
        texts = ItemTexts(item, page.request.url, response.url)
        entry, is_known = texts.entry(), bool(known.entries)
        own, longer, others = set[int](), set[int](), known.items[: page.known_items]
        if callback.gives_lists:
            own, longer, others = {entry[0]}, set(entry[1:]), [known.entries]
        else:
            if is_known or self._passes_unknown:
                page.texts = page.texts or PageTexts(response, self._request_says(page, response))
                own |= page.texts.foreign(texts)
            if leads_on and is_known:
                own.update(map(stable_hash, texts.said))
            if page.is_lacking:
                own.update(map(stable_hash, chain(*texts.said)))
            if page.lacks_code:
                own.update(texts.codes())
        has_own = bool(own) and not any(
            own.issubset(one) and 2 * len(longer.intersection(one)) >= len(longer) for one in others
        )
        hashes = array("Q")
        if not callback.gives_lists:
            said.entries.extend(entry)
            if not has_own and not is_known:  # the page may have been a list
                page.kept_items.append(item)
                hashes = said.add_item(texts.hashes())
                if len(page.kept_items) <= _MAX_ITEMS:
                    self._record(page, response, texts)
            page.recorded_items[id(item)] = item, entry, hashes
        if has_own and len(known.entries) < _MAX_KNOWN and len(known.items) < _MAX_KNOWN_ITEMS:
            known.entries.extend(entry)
            page.recorded_items[id(item)] = item, entry, known.add_item(texts.hashes())
        return has_own

    def rest(self, page: PageState) -> tuple[Sequence[Any], Sequence[Request]]:
        """Return the kept items and requests of a copy that pass at the end of its output.

        Of items, those of a list pass if it is unknown what its page gave. The copy then stands for
        its page.
        """
        original, said = self._page(page.original), page.given.said
        items = page.kept_items if said.count > 1 else []
        if items:
            self._pages.setdefault(page.original, original).said = said
            self._callback(page.request).gives_lists = True
        follows = self._policy.follows_chains
        gives_own = bool(items) or said.count > page.withheld
        requests: Sequence[Request] = ()
        if follows and page.called_for_items and gives_own:
            requests = page.kept_requests
        elif follows or page.waited_for:
            requests = self._following.passing(page, original)
        page.withheld += len(page.kept_requests) - len(requests) - len(items)
        return items, requests


def _has_less(response: Response, numbers: dict[str, int]) -> bool:
    """Return True if a page has one of these texts less often."""
    return any(count_of(text, response) < n for text, n in numbers.items())
