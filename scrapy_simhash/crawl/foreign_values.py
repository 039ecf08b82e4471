"""Recognize items that say what neither their page nor their request says.

A spider may keep a half-filled item in an attribute until the last page about it arrives, such as
the page of its reviews. Where many products have no reviews, these pages are copies. But a page
cannot speak for its copies if the item has the name of a product that is not on it. So the
callbacks of copies run, and items pass that have such words of their own.

Names of files count as foreign words: pages with one text, such as a licence, may differ in nothing
but their picture or document. Of numbers, those count that are a whole text or floats, such as
prices, but no others, because they may be counts, sizes or times. If the first items of a callback
have no foreign words, or those of three copies have the same, the callback is trusted: its items
come from its pages.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy.http import TextResponse
from scrapy.linkextractors import IGNORED_EXTENSIONS
from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.crawl.arguments import texts_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.arguments import Arguments
    from scrapy_simhash.crawl.settlement import PageState

# A callback is trusted with 20 points: an item without foreign words gives one, a copy whose items
# have no foreign words of its own seven. One that has some rules trust out.
_TRUSTED = 20
_COPY_POINTS = 7
_NEVER = -1_000_000
_REMEMBERED_PAGES = 10_000
_MAX_ITEMS = 3  # of a page
# Longer texts are from the page.
_MAX_VALUE_CHARACTERS = 200
_MAX_CHARACTERS = 500
_MIN_WORD_CHARACTERS = 4
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[.,'\s]+(?=\d)")
# A number, perhaps with a currency. Shorter ones are on many pages, longer ones may be times.
_NUMBER = re.compile(r"[^\d:/-]{0,4}(\d{3,8})\D{0,4}")
# Words joined by hyphens. One with a digit, such as a UUID, is no word, nor are its parts.
_JOINED_WORDS = re.compile(r"[\w-]+")
_URL_OF_FILE = re.compile(rf"[^\s?#]+\.({'|'.join(IGNORED_EXTENSIONS)})([?#]\S*)?", re.IGNORECASE)


class ForeignValues:
    """The pages of one crawl whose items have foreign words, and the callbacks that are trusted.

    :param resumed: the crawl goes on after a pause. It has forgotten which earlier pages these are.
    """

    def __init__(self, arguments: Arguments, *, resumed: bool = False) -> None:
        self._arguments = arguments
        self._resumed = resumed
        # Key of a page whose items have foreign words → all words of its items.
        self._words: LocalCache[str, set[str]] = LocalCache(_REMEMBERED_PAGES)
        # Callback → its points.
        self._points: Counter[str] = Counter()
        self._suspected: set[str] = set()

    def gave(self, page: PageState, response: Response, item: Any) -> None:
        """Record an item of a page that is no copy, or takes the place of one."""
        callback = self._arguments.callback_name(page.request)
        if self._points[callback] >= _TRUSTED or page.items_looked_at >= _MAX_ITEMS:
            return
        page.items_looked_at += 1
        words = _words(item)
        if any(self._foreign(words, page, response)):
            page.has_foreign = True
            self._suspected.add(callback)
            self._words.setdefault(page.key, set()).update(words)
        elif callback not in self._suspected:
            self._points[callback] += 1

    def has_foreign(self, key: str, request: Request) -> bool:
        """Return True if items of a page have foreign words, so that those of copies may differ.

        :param request: of the page, or of a copy with the same callback.
        """
        callback = self._arguments.callback_name(request)
        return (self._resumed or key in self._words) and self._points[callback] < _TRUSTED

    def differs(self, page: PageState, response: Response, item: Any) -> bool:
        """Return True if an item of a copy has foreign words that the representative's lack."""
        representative = page.verdict and page.verdict.representative
        known = self._words.get(representative or page.key, set())
        differs = any(self._foreign(_words(item) - known, page, response))
        callback = self._arguments.callback_name(page.request)
        self._points[callback] += _NEVER if differs else _COPY_POINTS
        return differs

    def _foreign(self, words: set[str], page: PageState, response: Response) -> Iterator[str]:
        """Yield the words that neither a page nor its request says, and the names of files."""
        if not words:
            return
        if not page.said:
            text = response.text if isinstance(response, TextResponse) else ""
            urls = unquote(f"{page.request.url} {response.url}")
            page.said = f"{text} {urls} {self._arguments.shown(page.request)}".casefold()
        has_numbers = any(map(str.isdigit, words))
        numbers = _BETWEEN_DIGITS.sub("", page.said) if has_numbers else ""
        for word in words:
            if "." in word or word not in (numbers if word.isdigit() else page.said):
                yield word


def _words(item: Any) -> set[str]:
    """Return the words in the short texts of an item, the digits of its numbers, and the names of
    files with their folders; none if it cannot be read.
    """
    found: set[str] = set()
    characters = 0
    try:
        for text in texts_in(item):
            if _URL_OF_FILE.fullmatch(text):
                found.add("/".join(urlsplit(text).path.casefold().split("/")[-2:]))
                continue
            if len(text) > _MAX_VALUE_CHARACTERS:
                continue
            characters += len(text)
            if characters > _MAX_CHARACTERS:
                break
            if number := _NUMBER.fullmatch(_BETWEEN_DIGITS.sub("", text.strip())):
                found.add(number[1])
            joined = _JOINED_WORDS.findall(text.casefold())
            found.update(
                word
                for words in joined
                if words.replace("-", "").isalpha()
                for word in words.split("-")
                if len(word) >= _MIN_WORD_CHARACTERS
            )
    except Exception:  # noqa: BLE001 - no item may stop a crawl
        return set()
    return found
