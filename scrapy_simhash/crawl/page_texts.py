"""Does a page say what an item says? Words that neither page nor request says are *foreign*.

Pages may differ in nothing but an attribute of their markup, or in data of a script. So a text that
only the markup says is foreign, too.
"""

from __future__ import annotations

import re
from functools import cached_property
from html import unescape
from typing import TYPE_CHECKING

from scrapy.http import TextResponse

from scrapy_simhash.crawl.item_texts import URL_STARTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from scrapy.http import Response

    from scrapy_simhash.crawl.item_texts import ItemTexts

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


class PageTexts:
    """What a page and its request say.

    :param request_says: what the request says, and our verdict.
    """

    def __init__(self, response: Response, request_says: str) -> None:
        self._markup = unescape(_text_of(response))
        self._text = _MARKUP.sub(" ", self._markup).casefold()
        self._markup += repr(response.headers)
        self._request_says = request_says.casefold()

    @cached_property
    def _values(self) -> set[str]:
        """The numbers in the markup, which takes long to search."""
        return {*map(_number, _VALUE.findall(self._markup))}

    def foreign(self, item: ItemTexts) -> set[int]:
        """Return hashes of the texts with foreign words, of the names of files, and of what only
        the markup says.
        """
        said = self._request_says, self._text
        found = {
            hash(words)
            for words in item.words_by_text()
            if any(all(_lacks(text, word) for text in said) for word in words)
        }
        return found.union(one for text, one in item.short() if self._is_marked(text))

    def _is_marked(self, text: str) -> bool:
        """Return True if only attributes, scripts, comments or headers say a text, and it is no
        URL.
        """
        if text.startswith(URL_STARTS) or _says(self._text, text.casefold()):
            return False
        if not any(map(str.isalpha, text)):  # others may be the same by accident
            return _number(text) in self._values
        return _says(self._markup, text)


def missing(words: Collection[str], response: Response) -> Iterable[str]:
    """Return the words that the markup of a page lacks."""
    markup = _text_of(response)
    lacks = [word for word in words if not _is_written(word, markup)]
    if lacks:
        said = markup.casefold()  # a hundred times as slow
        lacks = [word for word in lacks if word not in said]
    if lacks:
        said = unescape(markup).casefold()  # ten times as slow again
        lacks = [word for word in lacks if word not in said]
    return lacks


def _is_written(word: str, markup: str) -> bool:
    """Return True if a page says a word in lower case, capitalized or in capitals."""
    if word in markup:
        return True
    forms = word.capitalize(), word.upper()
    return any(form in markup and form.casefold() == word for form in forms)


def _text_of(response: Response) -> str:
    return response.text if isinstance(response, TextResponse) else ""


def _lacks(said: str, word: str) -> bool:
    if word in said:
        return "." in word
    return not word.isdigit() or re.search(r"[.,'\s]*".join(word), said) is None


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
