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

from scrapy_simhash.crawl.given import stable_hash
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
_MIN_DIGITS = 5
_HEADERS = "\n<!-- headers -->\n"
# A reference to a character that may be a letter, or separate the digits of a number.
_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot|copy);)#?\w")
# What follows if a number is only the beginning of another one.
_GOES_ON = re.compile(r"(?!\.?0+(?!\d))[.,]?\d")
_MAX_OCCURRENCES = 1000  # of a text in a page that are looked at


class PageTexts:
    """What a page and its request say.

    :param request_says: what the request says, and our verdict, casefolded.
    """

    def __init__(self, response: Response, request_says: str) -> None:
        self._markup = unescape(_markup_of(response))
        text, _, _ = self._markup.rpartition(_HEADERS)
        self._text = _MARKUP.sub(" ", text).casefold()
        self._request_says = request_says

    @cached_property
    def _values(self) -> set[str]:
        """The numbers in the markup, which takes long to search."""
        return {*map(_number, _VALUE.findall(self._markup))}

    def foreign(self, item: ItemTexts) -> set[int]:
        """Return hashes of the texts of an item with foreign words, of the names of files, and of
        the texts that only the markup says.
        """
        said = self._request_says, self._text
        found = {
            stable_hash(words)
            for words in item.words
            if any(all("." in word or lacks(one, word) for one in said) for word in words)
        }
        return found.union(one for text, one in item.short() if self._is_marked(text))

    def _is_marked(self, text: str) -> bool:
        """Return True if only attributes, scripts, comments or headers say a text, and it is no
        URL.
        """
        folded = text.casefold()
        if any(_says(said, folded) for said in (self._text, self._request_says)):
            return False
        if text.startswith(URL_STARTS):
            return False
        is_number = not any(map(str.isalpha, text))
        if is_number and _number(text) in self._values:
            return True
        # A shorter number may be the same by accident.
        is_short = is_number and sum(map(str.isdigit, text)) < _MIN_DIGITS
        return not is_short and _says(self._markup, text)


def missing(words: Iterable[str], response: Response) -> Collection[str]:
    """Return the words that the markup of a page lacks."""
    missed = _missing_in(_text_of(response), [*words])
    return _missing_in(repr(response.headers), missed) if missed else missed


def _missing_in(markup: str, words: Collection[str]) -> Collection[str]:
    missed = words
    if not markup.isascii():  # else it is folded at once
        missed = [word for word in missed if word not in markup and not _is_written(word, markup)]
    if missed:
        said = markup.casefold()  # a hundred times as slow
        missed = [word for word in missed if lacks(said, word)]
    if missed and _REFERENCE.search(markup):
        said = unescape(markup).casefold()  # ten times as slow again
        missed = [word for word in missed if lacks(said, word)]
    return missed


def _is_written(word: str, markup: str) -> bool:
    """Return True if a page says a number, or a word in lower case, capitalized or in capitals."""
    if word.isdigit():
        return not lacks(markup, word)
    forms = (form for form in (word, word.capitalize(), word.upper()) if form.casefold() == word)
    return any(form in markup for form in forms)


def count_of(number: str, response: Response) -> int:
    """Return how often the markup of a page says a number, or another text."""
    markup = _markup_of(response)
    if number not in markup and "&" in markup:
        markup = unescape(markup)
    _, *after = markup.split(number, _MAX_OCCURRENCES)
    return sum(_GOES_ON.match(text) is None for text in after)


def lacks(said: str, word: str) -> bool:
    """Return True if a text does not say a word. A number may have separators."""
    if word in said or not word.isdigit():
        return word not in said
    usual = f"{word[:-2]}.{word[-2:]}", f"{word[:-2]},{word[-2:]}"
    # To compile an expression takes longer than to search for the usual ones.
    return not (any(one in said for one in usual) or re.search(r"[.,'\s]*".join(word), said))


def _markup_of(response: Response) -> str:
    """Return the markup of a page, and its headers."""
    return f"{_text_of(response)}{_HEADERS}{response.headers!r}"


def _text_of(response: Response) -> str:
    return response.text if isinstance(response, TextResponse) else ""


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
