"""Recognize items that say what the text of their page, or the items of its original, do not say.

A spider may keep a half-filled item in an attribute until the last page about it arrives, such as
the page of its reviews. Where many products have no reviews, these pages are copies. Other pages
differ in nothing but an attribute of their markup, or in data of a script. But a page cannot speak
for its copies if its items say what its text does not. So the callbacks of copies run, and items
pass that have such texts of their own.

Neither can a list: others may share most of its entries. So if a callback has given several items
of a page, the callbacks of copies run, and items pass that neither the page nor an earlier copy has
given.

Names of files and numbers in URLs count as foreign words: pages with one text, such as a licence,
may differ in nothing but their picture or document. Of other numbers, those count that are a whole
text or floats, such as prices, but no others, because they may be counts, sizes or times.

A list may have one entry only, and pages of a template may have no names. So if a copy on the same
site lacks a word that the items of the page have from it, the callback of the copy runs, too, and
items pass that have words in short texts which no single item of the page or of a copy has. If
three such copies had none, further ones are not looked at.

If the first items of a callback have no foreign words, or those of three copies have the same, the
callback is trusted: its items come from the texts of its pages, which may still lack words. Once an
item had some, no page of this callback can speak for its copies, and only items of copies are
compared with their pages.

A crawl that goes on after a pause has forgotten all that. So the first copy of an earlier page then
stands for it.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from heapq import nsmallest
from html import unescape
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy.http import TextResponse
from scrapy.linkextractors import IGNORED_EXTENSIONS
from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.arguments import texts_in
from scrapy_simhash.extraction.targets import pieces_of
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.arguments import Arguments
    from scrapy_simhash.crawl.settlement import PageState

# A callback is trusted with 20 points: an item without foreign words gives one, a copy whose items
# have no foreign words of its own seven. One that has some rules trust out.
_TRUSTED = 20
_COPY_POINTS = 7
_NEVER = -1_000_000
_ALIKE = 3
_REMEMBERED_PAGES = 10_000
_MAX_ITEMS = 3  # of a page that are looked at for foreign words
_MAX_COMPARED_ITEMS = 250  # of a page; further ones of its copies pass
_MAX_KNOWN = 1000  # hashes of entries of a page and its copies, to which those of copies are added
_MAX_KNOWN_ITEMS = 100  # of a page and its copies; each is compared with an item of a further copy
# Longer texts are from the page.
_MAX_VALUE_CHARACTERS = 200
# Of the runs of three words of a longer text. In those of copies, half are the same.
_SKETCHED = 8
# Of the words of a text. Where it is more, the language writes no spaces.
_MAX_MEAN_CHARACTERS = 20
_MAX_CHARACTERS = 500
_MAX_VALUES = 50  # of an item
_MIN_WORD_CHARACTERS = 4
# No alternative looks further than the next one begins, so it takes linear time.
_MARKUP = re.compile(
    r"<script\b.*?(?:</script|\Z)|<style\b.*?(?:</style|\Z)|<select\b.*?(?:</select|\Z)|<[^<>]*>?",
    re.DOTALL | re.IGNORECASE,
)
# A value of an attribute without letters, or a number in the data of a script.
_VALUE = re.compile(
    r"""(?<=["'])[^"'<>A-Za-z:,=\s][^"'<>A-Za-z]{0,40}(?=["'])|(?<==)[^"'<>A-Za-z\s]{1,40}(?=[\s>])"""
    r"""|(?<=[:\s])-?\d[\d.]{0,20}(?=\s?[,}\]])"""
)
_MAX_OCCURRENCES = 1000  # of a text in a page that are looked at
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[.,'\s]+(?=\d)")
# A number, perhaps with a currency. Shorter ones are on many pages, longer ones may be times.
_NUMBER = re.compile(r"[^\d:/-]{0,4}(\d{3,8})\D{0,4}")
# Words joined by hyphens. One with a digit, such as a UUID, is no word, nor are its parts.
_JOINED_WORDS = re.compile(r"[\w-]+")
_ENDINGS = "|".join(
    (*IGNORED_EXTENSIONS, *"csv epub gpx ics json m3u8 mpd srt vcf vtt xml".split())
)
_URL_OF_FILE = re.compile(rf"[^\s?#]+\.({_ENDINGS})([?#]\S*)?", re.IGNORECASE)
# A piece of a URL with the number of something. Longer ones are session ids.
_NUMBERED = re.compile(r"(.*=)?\d{1,8}")
# A part of a path that may be the code of something.
_CODE = re.compile(r"(?=.*\d)(?=.*[a-z_-])[\w-]{5,}")
_URL_STARTS = ("/", "?", "http:", "https:")
# Texts that copies of an entry may have of their own: the time now, and random names.
_NO_ENTRY = re.compile(
    r"[\d\s./T+-]*\d\d:\d\d:\d\d[\d.Z+:\s-]*|1\d{9}(\d{3})?|(?=.*[a-f-])[0-9a-f-]{16,}"
)
_MAX_TEXTS = 10_000  # of an item that are read
# In an item. Further ones must be the same.
_MAX_SKETCHED_CHARACTERS = 100_000


@dataclass
class Given:
    """What a page and its copies have given.

    :param entries: hashes of the items as entries of a list, see `_entry`.
    :param items: hashes of the texts of each item that was looked at, see `_texts`.
    :param words: of short texts of the page's items, which the page has, too.
    """

    entries: array[int] = field(default_factory=lambda: array("q"))
    items: list[array[int]] = field(default_factory=list)
    words: str = ""

    def is_lacking(self, response: Response | None, url: str, key: str) -> bool:
        """Return True if a copy on the same site lacks a word that the items of the page have from
        it, or may lack one.

        :param response: of the copy; None if it was not kept.
        :param url: of the copy.
        :param key: of the page.
        """
        if not self.words or site_of(url) != site_of(key):
            return False
        return response is None or bool(_missing(self.words.split(), response))


class ForeignValues:
    """The pages of one crawl that cannot speak for the items of their copies, and the callbacks
    that are trusted.

    What the pages of other crawls in the index gave is unknown, so items of their copies pass if
    they are foreign, or several of one page.

    :param resumed: the crawl goes on after a pause. It has forgotten what earlier pages gave, so
        items of their copies pass if these lead on, too.
    :param incremental: pages of earlier crawls count as seen, so items of their copies do not pass
        for being foreign.
    """

    def __init__(
        self, arguments: Arguments, *, resumed: bool = False, incremental: bool = False
    ) -> None:
        self._arguments = arguments
        self._resumed = resumed
        self._passes_unknown = resumed or not incremental
        self._given: LocalCache[str, Given] = LocalCache(_REMEMBERED_PAGES)
        # Callbacks that gave several items of a page.
        self._lists: set[str] = set()
        # Callbacks that gave an item with foreign words.
        self._suspected: set[str] = set()
        # Callback → number of copies that lacked something, but gave the items of their pages.
        self._alike: Counter[str] = Counter()
        # Callback → its points.
        self._points: Counter[str] = Counter()

    def gave(self, page: PageState, response: Response, item: Any) -> None:
        """Record an item of a page that is no copy, or takes the place of one."""
        page.items_looked_at += 1
        if page.items_looked_at > _MAX_COMPARED_ITEMS:
            return
        self._given[page.key] = page.given
        page.given.entries.extend(_entry(page, response, item))
        callback = self._arguments.callback_name(page.request)
        if page.items_looked_at <= _MAX_ITEMS and self._points[callback] < _TRUSTED:
            if callback not in self._suspected and self._foreign(page, response, item):
                self._suspected.add(callback)
            self._points[callback] += callback not in self._suspected
        if page.items_looked_at <= _MAX_ITEMS:
            _record(page, response, item)
        if page.items_looked_at > 1:
            self._lists.add(callback)

    def has_foreign(self, key: str, request: Request) -> bool:
        """Return True if items of a page may have foreign words, or if its callback gives lists, so
        that the callbacks of copies are to run.

        :param request: of the page, or of a copy with the same callback.
        """
        callback = self._arguments.callback_name(request)
        is_known = self._recalled(key) is not None
        is_suspected = self._resumed or (callback in self._suspected and is_known)
        return callback in self._lists or (is_suspected and self._points[callback] < _TRUSTED)

    def is_lacking(self, key: str, request: Request, response: Response | None) -> bool:
        """Return True if a copy lacks what the items of its page say, so that its callback is to
        run.

        :param key: of the page.
        :param request: of the copy, as `response`.
        :param response: None if it was not kept. It may lack something, so the page is to be
            downloaded again.
        """
        given, callback = self._recalled(key), self._arguments.callback_name(request)
        if given is None or self._alike[callback] >= _ALIKE:
            return False
        return given.is_lacking(response, (response or request).url, key)

    def calls_copy(self, key: str, request: Request, response: Response | None) -> bool:
        """Return True if a page cannot speak for the items of a copy, see `has_foreign` and
        `is_lacking`.
        """
        return self.has_foreign(key, request) or self.is_lacking(key, request, response)

    def differs(
        self, page: PageState, response: Response, item: Any, *, leads_on: bool = False
    ) -> bool:
        """Return True if an item of a copy says what neither its text nor an item of its
        representative or of an earlier copy says.

        :param leads_on: the callback runs anyway, so what the text says counts, too.
        """
        original = page.original
        known = self._recalled(original) or self._given.setdefault(original, Given())
        page.items_looked_at += 1
        if page.items_looked_at == 1:
            page.known_items = len(known.items)
            page.is_lacking = known.is_lacking(response, response.url, original)
        callback = self._arguments.callback_name(page.request)
        entry = _entry(page, response, item)
        if callback in self._lists:
            short, *long = entry
            same = set(long).intersection(known.entries)
            differs = short not in known.entries or 2 * len(same) < len(long)
        else:
            is_unknown = not known.entries  # what the representative gave
            new = set[int]()
            if self._passes_unknown or not is_unknown:
                new |= self._foreign(page, response, item)
            if leads_on and not is_unknown:
                new |= _said(page, item)
            if page.is_lacking:
                new |= {hash(("", word)) for word in _single_words(page, item)}
            differs = bool(new) and not any(map(new.issubset, known.items[: page.known_items]))
            if differs or page.items_looked_at == 1:
                self._points[callback] += _NEVER if differs else _COPY_POINTS
                self._alike[callback] += _NEVER if differs else page.is_lacking
            page.given.entries.extend(entry)
            if not differs and (is_unknown or self._resumed):  # the page may have been a list
                page.kept_items.append(item)
                _record(page, response, item)
        if differs and len(known.entries) < _MAX_KNOWN and len(known.items) < _MAX_KNOWN_ITEMS:
            known.entries.extend(entry)
            known.items.append(array("q", _texts(page, item)))
        return differs

    def rest(self, page: PageState) -> Sequence[Any]:
        """Return the kept items of a copy that pass at the end of its output, if it is unknown what
        the representative gave: those of a list, and after a pause, of a page that leads on.
        Other copies then stand for their representatives.
        """
        if not page.kept_items:
            return ()
        original = page.original
        is_list, known = page.items_looked_at > 1, self._given.get(original)
        if not is_list and not (self._resumed and page.leads_on):
            if self._resumed and (known is None or not known.entries):
                self._given[original] = page.given
            return ()
        self._given[original] = page.given
        if is_list:
            self._lists.add(self._arguments.callback_name(page.request))
        return page.kept_items

    def _recalled(self, key: str) -> Given | None:
        """Return what a page gave. What was asked for last is forgotten last."""
        if key in self._given:
            self._given.move_to_end(key)
        return self._given.get(key)

    def _foreign(self, page: PageState, response: Response, item: Any) -> set[int]:
        """Return hashes of the texts with words that neither the text of a page nor its request
        says, of the names of files, and of what only the markup says.
        """
        if not page.markup and isinstance(response, TextResponse):
            page.markup = unescape(response.text)
            page.said = _MARKUP.sub(" ", page.markup).casefold()
            page.markup += repr(response.headers)
            page.values = {*map(_number, _VALUE.findall(page.markup))}
        verdict = {} if page.verdict is None else page.verdict.to_dict()
        urls = unquote(f"{page.request.url} {response.url}")
        shown = f"{urls} {verdict} {self._arguments.shown(page.request)}".casefold()
        found = set()
        characters = 0
        for text in _read(item):
            characters += len(text) if len(text) <= _MAX_VALUE_CHARACTERS else 0
            if characters > _MAX_CHARACTERS:
                break
            words = _words(text)
            if any(_is_foreign(word, page.said) and _is_foreign(word, shown) for word in words):
                found.add(hash(words))
        return found.union(one for text, one in _short(item) if _is_marked(text, page))


def _record(page: PageState, response: Response, item: Any) -> None:
    """Record what an item says, and which of its words its page has."""
    page.given.items.append(array("q", _texts(page, item)))
    if len(page.given.items) <= _MAX_ITEMS:
        words = _single_words(page, item)
        for word in words.difference(_missing(words, response)):
            if len(page.given.words) < _MAX_CHARACTERS:
                page.given.words += f" {word}"


def _missing(words: Iterable[str], response: Response) -> Iterable[str]:
    """Return the words that the markup of a page lacks."""
    markup = response.text if isinstance(response, TextResponse) else ""
    said = markup.casefold()
    if missing := [word for word in words if word not in said]:
        said = unescape(markup).casefold()  # ten times as slow
    return [word for word in missing if word not in said]


def _entry(page: PageState, response: Response, item: Any) -> Sequence[int]:
    """Return hashes of what an entry of a list says, without URLs and times: first one of its short
    texts, then some of the words in longer ones, which differ a little in copies.
    """
    short: list[str] = []
    long: list[str] = []
    characters = 0
    for text in _read(item, all_numbers=True):
        if _is_url(text):
            short.extend([] if text in (page.request.url, response.url) else _names_in(text))
        elif len(text) <= _MAX_VALUE_CHARACTERS:
            short.extend([] if _NO_ENTRY.fullmatch(text) else [text])
        elif (characters := characters + len(text)) <= _MAX_SKETCHED_CHARACTERS:
            words = text.split()
            long.extend(words if len(text) < _MAX_MEAN_CHARACTERS * len(words) else text)
        else:
            short.append(text)
    runs = set(map(hash, zip(long, long[1:], long[2:], strict=False)))
    try:
        said = (type(item), *short) if short or runs else repr(item)
        return [hash(said), *nsmallest(_SKETCHED, runs)]
    except Exception:  # noqa: BLE001 - no item may stop a crawl
        return [0]


def _read(item: Any, *, all_numbers: bool = False) -> list[str]:
    """Return the texts of an item; none if it cannot be read."""
    try:
        return [*islice(texts_in(item, all_numbers=all_numbers), _MAX_TEXTS)]
    except Exception:  # noqa: BLE001 - no item may stop a crawl
        return []


def _short(item: Any) -> Iterator[tuple[str, int]]:
    """Yield the shorter texts of an item with their hashes. A number counts for its place only."""
    texts = (text for text in _read(item, all_numbers=True) if len(text) <= _MAX_CHARACTERS)
    for place, text in enumerate(islice(texts, _MAX_VALUES)):
        yield text, hash(text if any(map(str.isalpha, text)) else (place, text))


def _texts(page: PageState, item: Any) -> set[int]:
    """Return hashes of all that an item says, by words and by texts."""
    words = map(_words, islice(_read(item), _MAX_VALUES))
    said = [*_words_said(page, item)]
    short = (one for _, one in _short(item))
    single = (hash(("", word)) for word in chain(*said))
    return {*map(hash, filter(None, chain(words, said))), *short, *single}


def _said(page: PageState, item: Any) -> set[int]:
    """Return hashes of the words in the short texts of an item that its URL does not have."""
    return {hash(words) for words in _words_said(page, item) if words}


def _single_words(page: PageState, item: Any) -> set[str]:
    """Return the words of `_said`, one by one."""
    return {*chain(*_words_said(page, item))}


def _words_said(page: PageState, item: Any) -> Iterator[tuple[str, ...]]:
    url = page.request.url.casefold()
    for text in islice(_read(item), _MAX_VALUES):
        if not _is_url(text):
            yield tuple(word for word in _words(text) if word not in url and not word.isdigit())


def _is_foreign(word: str, said: str) -> bool:
    if word in said:
        return "." in word
    return not word.isdigit() or re.search(r"[.,'\s]*".join(word), said) is None


def _is_marked(text: str, page: PageState) -> bool:
    """Return True if only attributes, scripts, comments or headers of a page say a text, and it is
    no URL.
    """
    if text.startswith(_URL_STARTS) or _says(page.said, text.casefold()):
        return False
    if not any(map(str.isalpha, text)):  # others may be the same by accident
        return _number(text) in page.values
    return _says(page.markup, text)


def _number(text: str) -> str:
    """Return a text that is the same for equal numbers, and for other equal texts."""
    try:
        return str(float(text))
    except ValueError:
        return text


def _says(within: str, text: str) -> bool:
    """Return True if a text says another one, and not only within a word."""
    end = 0
    for _ in range(_MAX_OCCURRENCES if text else 0):
        start = within.find(text, end)
        if start < 0:
            break
        end = start + len(text)
        around = within[max(0, start - 1) : start] + within[end : end + 1]
        if not any(one.isalnum() or one == "_" for one in around):
            return True
    return False


def _is_url(text: str) -> bool:
    return text.startswith(_URL_STARTS) and len(text.split(None, 1)) == 1


def _names_in(url: str) -> list[str]:
    """Return the name of the file in a URL with its folder, or else the numbers in it and the code
    at the end of its path.
    """
    path = re.split("[?#]", url.casefold(), maxsplit=1)[0].split("/")
    if _URL_OF_FILE.fullmatch(url):
        return ["/".join(path[-2:])]
    numbered = filter(_NUMBERED.fullmatch, pieces_of(url))
    code = filter(_CODE.fullmatch, [path[-1].partition(";")[0]])
    return [*code, *(piece if "=" in piece else f"/{piece}" for piece in numbered)]


def _words(text: str) -> tuple[str, ...]:
    """Return the words in a short text, the digits if it is a number, and the name of the file or
    the numbers if it is a URL.
    """
    is_file = _URL_OF_FILE.fullmatch(text)
    found = _names_in(text) if is_file or text.startswith(_URL_STARTS) else []
    if is_file or len(text) > _MAX_VALUE_CHARACTERS:
        return tuple(found)
    if number := _NUMBER.fullmatch(_BETWEEN_DIGITS.sub("", text.strip())):
        found.append(number[1])
    found.extend(
        word
        for words in _JOINED_WORDS.findall(text.casefold())
        if words.replace("-", "").isalpha()
        for word in words.split("-")
        if len(word) >= _MIN_WORD_CHARACTERS
    )
    return tuple(found)
