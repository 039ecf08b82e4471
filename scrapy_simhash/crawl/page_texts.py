"""Does a page say what an item says? Atoms that neither page nor request says are *foreign*.

Pages may differ in nothing but an attribute of their markup, or in data of a script. So a text that
only the markup says is foreign, too.
"""

from __future__ import annotations

import re
from functools import cached_property
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING

from scrapy.http import TextResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from scrapy_simhash.crawl.atoms import Atom

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
# What is before or behind a text that is only a part of a word or of a number. In `is_sold` and
# `isSold`, "sold" is a word. Zeros at the end of a decimal change nothing.
_BEFORE = re.compile(r"(?<=[A-Za-z])[a-z]|(?<=[A-Z])[A-Z]|(?<=\d)\d")
_ZEROS = r"(?:[.,]|(?<=[.,]\d))0+(?!\d)"
_BEHIND = re.compile(rf"(?<=[A-Za-z])[a-z]|(?<=[A-Z])[A-Z]|(?<=\d)(?!{_ZEROS})[.,]?\d")
_MAX_OCCURRENCES = 1000  # of a text in a page that are looked at


class PageTexts:
    """What the markup of a page says, with its headers, and what of it a reader sees.

    :param request_says: what the request of the page says, casefolded.
    """

    def __init__(self, response: Response, request_says: str = "") -> None:
        self._request_says = request_says
        text = response.text if isinstance(response, TextResponse) else ""
        self._markup = f"{text}{_HEADERS}{response.headers!r}"

    @cached_property
    def _unescaped(self) -> str:
        return unescape(self._markup)  # it takes long if there are many references

    @cached_property
    def _folded(self) -> str:
        return self._unescaped.casefold()  # of another text than ASCII, it takes long

    @cached_property
    def _visible(self) -> str:
        text, _, _ = self._unescaped.rpartition(_HEADERS)
        return _MARKUP.sub(" ", text).casefold()

    @cached_property
    def _values(self) -> set[str]:
        """The numbers in the markup, which takes long to search."""
        return {*map(_number, _VALUE.findall(self._unescaped))}

    def count(self, text: str, most: int) -> int:
        """Return how often the markup says a text, in lower case, capitalized or in capitals, or if
        it does not, in another way: `most` times at most.
        """
        n = 0
        for one in dict.fromkeys((text, text.capitalize(), text.upper())):
            if one.casefold() == text.casefold() and n < most:
                n += _count(self._markup, one, most - n)
        if n:
            return n
        if len(text) == 1:  # an "A" is no "a"
            return _count(self._unescaped, text, most)
        return _count(self._folded, text.casefold(), most)

    def lacks(self, text: str) -> bool:
        """Return True if neither markup nor request say a word, or the digits of a number."""
        return (
            lacks(self._request_says, text)
            and lacks(self._markup, text)
            and not self.count(text, 1)
            and lacks(self._folded, text)
        )

    def is_from_request(self, text: str) -> bool:
        """Return True if the request says all words of a text that a reader does not see."""
        words = text.casefold().split()
        return all(says(self._request_says, one) and not says(self._visible, one) for one in words)

    def is_foreign(self, atom: Atom) -> bool:
        """Return True if a reader sees an atom neither in the page nor in its request. All of a
        text is foreign only if the markup says it, and the name of a file always is.
        """
        said = self._request_says, self._visible
        if atom.kind == "words":
            return any(all(lacks(one, word) for one in said) for word in atom.text.split())
        if atom.kind in ("name", "digits"):
            return all(lacks(one, atom.text) for one in said)
        return atom.kind == "file" or (
            atom.kind == "text"
            and not any(says(one, atom.text.casefold()) for one in said)
            and self._is_marked(atom.text)
        )

    def _is_marked(self, text: str) -> bool:
        """Return True if the markup says a text, and not by accident."""
        is_number = not any(map(str.isalpha, text))
        if is_number and _number(text) in self._values:
            return True
        is_short = is_number and sum(map(str.isdigit, text)) < _MIN_DIGITS
        return not is_short and says(self._unescaped, text)


def lacks(said: str, word: str) -> bool:
    """Return True if a text does not say a word. A number may have separators."""
    if word in said or not word.isdigit():
        return word not in said
    usual = f"{word[:-2]}.{word[-2:]}", f"{word[:-2]},{word[-2:]}"
    # To compile an expression takes longer than to search for the usual ones.
    return not (any(one in said for one in usual) or re.search(r"[.,'\s]*".join(word), said))


def says(said: str, text: str) -> bool:
    """Return True if a text says another one, and not only within a word or a number."""
    return next(_places(said, text), None) is not None


def _count(said: str, text: str, most: int) -> int:
    return sum(1 for _ in islice(_places(said, text), most))


def _places(said: str, text: str) -> Iterator[int]:
    """Yield where a text says another one, and not only within a word or a number."""
    end = 0
    for _ in range(_MAX_OCCURRENCES if text else 0):
        start = said.find(text, end)
        if start < 0:
            break
        end = start + len(text)
        if not (_BEFORE.match(said, start) or _BEHIND.match(said, end)):
            yield start


def _number(text: str) -> str:
    """Return a text that is the same for equal numbers, and for other equal texts."""
    try:
        return str(float(text))
    except ValueError:
        return text
