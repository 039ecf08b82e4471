"""May the callback of a copy give something that its page did not give, and what of it passes?

The table in docs/trust.md ("What the callback of a copy may give") says the same in words: its
columns are `Copies.may_give`, `Copies.withholds_item` and `Copies.rest`. Only its row of pages that
gave no items is decided by `scrapy_simhash.policy`.

What a page gave is forgotten after 10,000 other pages. What the pages of other crawls in the index
gave is known only of crawls in the same process, see `Copies.share`.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.atoms import Atom, Kind, atoms_of, entry_of, names_another, read
from scrapy_simhash.crawl.following import Following
from scrapy_simhash.crawl.given import Given, OfCallback, Remembered
from scrapy_simhash.crawl.page_texts import PageTexts, says
from scrapy_simhash.extraction.targets import pieces_of
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.arguments import Arguments
    from scrapy_simhash.crawl.given import Said
    from scrapy_simhash.crawl.settlement import PageState
    from scrapy_simhash.index import Index
    from scrapy_simhash.policy import MayGive, Policy

_REMEMBERED_PAGES = 10_000
_REMEMBERED_CALLBACKS = 1000
_MAX_ITEMS = 3  # of a page whose atoms a copy may lack
_MAX_CHARACTERS = 500  # of these atoms
_MAX_COUNT = 100  # of an atom in a page
_MAX_WORD_COUNT = 2  # to count further takes long on large pages
_MAX_CODE_LETTERS = 3  # more are a word
_MAX_COMPARED_ITEMS = 250  # of a page; further ones of its copies pass
_KEPT: Collection[Kind] = ("word", "name", "file")
_LOOKED_FOR: Collection[Kind] = (*_KEPT, "digits")  # in a page and its request


@dataclass
class Compared:
    """What the items of a copy are compared with.

    :param texts: what the copy says.
    :param others: hashes of the atoms of each item of the page and of its earlier copies.
    :param is_known: it is known what the page gave.
    :param counts_foreign: foreign atoms count.
    :param counted: kinds of atoms that count, too, unless they are from the request alone.
    :param is_lacking: the copy lacks an atom of the page. So codes of its markup count, whatever
        the request says, such as an article number in an attribute.
    """

    texts: PageTexts
    others: list[array[int]]
    is_known: bool
    counts_foreign: bool
    counted: set[Kind]
    is_lacking: bool

    def has_own(self, atoms: Iterable[Atom]) -> bool:
        """Return True if an item says what no other item says."""
        own = {atom.hash for atom in atoms if self._counts(atom)}
        return bool(own) and not any(own.issubset(one) for one in self.others)

    def _counts(self, atom: Atom) -> bool:
        if atom.kind in self.counted:
            is_marked = self.is_lacking and atom.kind == "code" and self.texts.count(atom.text, 1)
            return bool(is_marked) or not self.texts.is_from_request(atom.text)
        return self.counts_foreign and self.texts.is_foreign(atom)


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
        # One URL may have other content in another crawl, so each knows its own pages first.
        self._of_all_crawls: LocalCache[str, Given] = LocalCache(_REMEMBERED_PAGES)
        self._callbacks: LocalCache[str, OfCallback] = LocalCache(_REMEMBERED_CALLBACKS)
        if before_pause is not None:
            self._pages.update(before_pause.pages)
            self._callbacks.update(before_pause.callbacks)

    def share(self, index: Index) -> None:
        """Share what pages gave with the other crawls in this process that use the index."""
        self._of_all_crawls = index.store.beside.setdefault("gave", self._of_all_crawls)

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
        texts = None if response is None else PageTexts(response)
        rows: tuple[tuple[MayGive, bool], ...] = (
            ("all", self._policy.follows_chains and page.items_lead_on),
            ("items", self._has_other_items(page, callback)),
            ("items", self._is_lacking(page.said, key, (response or request).url, texts)),
            ("requests", self._leads_on(page, callback, is_pending)),
        )
        return {what for what, applies in rows if applies}

    def _has_other_items(self, page: Given, callback: OfCallback) -> bool:
        """Return True if each copy of a page may have items of its own: its items have foreign
        atoms, or its callback gives lists.
        """
        return callback.gives_lists or page.said.has_foreign

    def _is_lacking(self, said: Said, key: str, url: str, texts: PageTexts | None) -> bool:
        """Return True if a copy on the same site has an atom of the items of its page less often,
        so that it may have another one in its place.

        :param texts: what the copy says; None if it was not kept.
        """
        if not said.texts or site_of(url) != site_of(key):
            return False
        most = _MAX_COUNT if names_another(url, key) else 1
        return texts is None or any(
            texts.count(one, n) + (_is_in(key, one) and _is_in(url, one))
            < (min(n, most) if len(one) > _MAX_CODE_LETTERS and one.isalpha() else n)
            for one, n in said.texts.items()
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
        found = [pages[key] for pages in (self._pages, self._of_all_crawls) if key in pages]
        # The page of this crawl may be at work while copies of that of another one arrive.
        return next((one for one in found if one.said.count or one.ended), (*found, Given())[0])

    def _remember(self, page: PageState) -> None:
        for pages in (self._pages, self._of_all_crawls):
            # For a key that is there, older releases of Scrapy forget another one.
            pages.pop(page.key, None)
            pages[page.key] = page.given

    def _callback(self, request: Request) -> OfCallback:
        return self._callbacks.setdefault(self._arguments.callback_name(request), OfCallback())

    def begins(self, page: PageState) -> None:
        """Record that the callback of a page runs."""
        page.given.ended = False
        self._pages.setdefault(page.key, page.given)
        self._of_all_crawls.setdefault(page.key, page.given)

    def gave_request(self, page: PageState, request: Request, said: str = "") -> None:
        """Record a request that the callback of a page gave.

        :param said: what the page says.
        """
        self._following.record(page, request, said)

    def ended(self, page: PageState, *, failed: bool) -> None:
        """Record that the callback of a page gives no more.

        :param failed: so it is unknown what it would have given.
        """
        for pages in (self._pages, self._of_all_crawls):
            if failed and pages.get(page.key) is page.given:
                del pages[page.key]
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
        values = read(item)
        atoms = atoms_of(values) if said.count <= _MAX_ITEMS else []
        entry = entry_of(item, values, (page.request.url, response.url))
        self._add(page, item, entry, atoms, said)
        if atoms:
            self._record(page, response, atoms)

    def _add(
        self, page: PageState, item: Any, entry: Sequence[int], atoms: Iterable[Atom], *to: Said
    ) -> None:
        """Add an item of a page to what the items of the page, or of its original, say."""
        hashes = array("Q", sorted({atom.hash for atom in atoms}))
        for said in to:
            said.add(entry, hashes)
        page.recorded_items[id(item)] = item, to, entry, hashes

    def take_back(self, page: PageState, item: Any) -> None:
        """Forget an item that the pipelines did not keep, so that copies may give it.

        :param item: the object that the callback yielded. Pipelines may have changed it since.
        """
        _, to, entry, hashes = page.recorded_items.pop(id(item), (item, (), (), array("Q")))
        for said in to:
            said.take_back(entry, hashes)

    def _record(self, page: PageState, response: Response, atoms: Iterable[Atom]) -> None:
        """Record which atoms of an item its page says, too, and if there are foreign ones."""
        said, url = page.given.said, page.request.url.casefold()
        texts = self._texts(page, response)
        left = _MAX_CHARACTERS - sum(map(len, said.texts))
        for kind, text, _ in atoms:
            is_part, n = kind in ("code", "number"), 0
            if left > 0 and (is_part or (kind in _KEPT and not says(url, text))):
                most = _MAX_COUNT if is_part else _MAX_WORD_COUNT
                n = texts.count(text, most) + (is_part and _is_in(page.key, text))
            if n:
                said.texts[text] = n
                left -= len(text)
            elif kind in _LOOKED_FOR and texts.lacks(text):
                said.has_foreign = True

    def _texts(self, page: PageState, response: Response) -> PageTexts:
        """Return what a page says, and its request and our verdict."""
        said = () if page.verdict is None else page.verdict.to_dict().values()
        verdict = [one for one in said if isinstance(one, (str, float))]  # "none", 4: on many pages
        urls = unquote(f"{page.request.url} {response.url}")
        request_says = f"{urls} {verdict} {self._arguments.shown(page.request)}".casefold()
        return PageTexts(response, request_says)

    def _has_own(self, page: PageState, response: Response, item: Any, *, leads_on: bool) -> bool:
        """Return True if an item of a copy is another entry of a list, or says what no item of its
        page or of an earlier copy says.

        :param leads_on: the callback runs for its requests, so all words and codes count.
        """
        original = self._page(page.original)
        self._pages.setdefault(page.original, original)
        known = original.said
        said, is_list = page.given.said, self._callback(page.request).gives_lists
        said.count += 1
        if said.count > _MAX_COMPARED_ITEMS and not is_list:
            return True
        values = read(item)
        entry = entry_of(item, values, (page.request.url, response.url))
        if is_list:
            has_own = not known.has_entry(entry)
            self._add(page, item, entry, (), *([known] if has_own else []))
            return has_own
        page.compared = page.compared or self._compared(page, response, known, leads_on=leads_on)
        atoms = atoms_of(values)
        is_entry = page.compared.is_lacking and names_another(page.key, page.original)
        has_own = not known.has_entry(entry) if is_entry else page.compared.has_own(atoms)
        self._add(page, item, entry, atoms, said, *([known] if has_own else []))
        if not has_own and not page.compared.is_known:  # the page may have been a list
            page.kept_items.append(item)
            if len(page.kept_items) <= _MAX_ITEMS:
                self._record(page, response, atoms)
        return has_own

    def _compared(
        self, page: PageState, response: Response, known: Said, *, leads_on: bool
    ) -> Compared:
        """Return what the items of a copy are compared with. For `leads_on` see `_has_own`."""
        texts, is_known = self._texts(page, response), bool(known.entries)
        counted = set[Kind](("words", "code") if leads_on and is_known else ())
        is_lacking = self._is_lacking(known, page.original, response.url, texts)
        if is_lacking:
            counted.update(("word", "code"))
        counts_foreign = is_known or self._passes_unknown
        return Compared(texts, [*known.items], is_known, counts_foreign, counted, is_lacking)

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


def _is_in(url: str, text: str) -> bool:
    """Return True if a URL says a number or code, such as that of an article."""
    return "/" not in text and says("/".join(pieces_of(url)), text.casefold())
