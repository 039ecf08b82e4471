"""Read what an item says: its words, its numbers, and the names of files and things in its URLs.

Names of files and numbers in URLs count as words: pages with one text, such as a licence, may
differ in nothing but their picture or document. Of other numbers, those count that are a whole text
or floats, such as prices, but no others, because they may be counts, sizes or times.
"""

from __future__ import annotations

import re
from functools import cached_property
from heapq import nsmallest
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from scrapy.linkextractors import IGNORED_EXTENSIONS

from scrapy_simhash.crawl.arguments import texts_in
from scrapy_simhash.extraction.targets import pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Longer texts are from the page.
MAX_VALUE_CHARACTERS = 200
MAX_CHARACTERS = 500
# Of the runs of three words of a longer text. In those of copies, half are the same.
_SKETCHED = 8
# Of the words of a text. Where it is more, the language writes no spaces.
_MAX_MEAN_CHARACTERS = 20
_MAX_VALUES = 50  # of an item
_MIN_WORD_CHARACTERS = 4
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
URL_STARTS = ("/", "?", "http:", "https:")
# Texts that copies of an entry may have of their own: the time now, and random names.
_NO_ENTRY = re.compile(
    r"[\d\s./T+-]*\d\d:\d\d:\d\d[\d.Z+:\s-]*|1\d{9}(\d{3})?|(?=.*[a-f-])[0-9a-f-]{16,}"
)
_MAX_TEXTS = 10_000  # of an item that are read
# In an item. Further ones must be the same.
_MAX_SKETCHED_CHARACTERS = 100_000


class ItemTexts:
    """What an item of a page says.

    :param urls: the URL of the page's request, and that of its response.
    """

    def __init__(self, item: Any, *urls: str) -> None:
        self._item = item
        self._urls = urls
        self._texts = _read(item)
        self._with_numbers = _read(item, all_numbers=True)

    def words_by_text(self) -> Iterator[tuple[str, ...]]:
        """Yield the words of each text, see `_words`. Of longer ones, 500 characters are enough."""
        characters = 0
        for text in self._texts:
            characters += len(text) if len(text) <= MAX_VALUE_CHARACTERS else 0
            if characters > MAX_CHARACTERS:
                break
            yield _words(text)

    def short(self) -> Iterator[tuple[str, int]]:
        """Yield the shorter texts with their hashes. A number counts for its place only."""
        texts = (text for text in self._with_numbers if len(text) <= MAX_CHARACTERS)
        for place, text in enumerate(islice(texts, _MAX_VALUES)):
            yield text, hash(text if any(map(str.isalpha, text)) else (place, text))

    @cached_property
    def _text_words(self) -> list[tuple[str, ...]]:
        return [_words(text) for text in self._texts[:_MAX_VALUES]]

    @cached_property
    def said(self) -> list[tuple[str, ...]]:
        """The words of each short text that the URL of the page does not have."""
        url = self._urls[0].casefold()
        return [
            tuple(word for word in words if word not in url and not word.isdigit())
            for text, words in zip(self._texts, self._text_words, strict=False)
            if not _is_url(text)
        ]

    def hashes(self) -> set[int]:
        """Return hashes of all that the item says: of the words of each text, all and those of
        `said`, of the words of `said` one by one, and of the texts.
        """
        words = filter(None, (*self._text_words, *self.said))
        return {*map(hash, words), *map(hash_of_word, chain(*self.said))}.union(
            one for _, one in self.short()
        )

    def entry(self) -> Sequence[int]:
        """Return hashes of what an entry of a list says, without URLs and times: first one of its
        short texts, then some of the words in longer ones, which differ a little in copies.
        """
        short: list[str] = []
        long: list[str] = []
        characters = 0
        for text in self._with_numbers:
            if _is_url(text):
                short.extend([] if text in self._urls else _names_in(text))
            elif len(text) <= MAX_VALUE_CHARACTERS:
                short.extend([] if _NO_ENTRY.fullmatch(text) else [text])
            elif (characters := characters + len(text)) <= _MAX_SKETCHED_CHARACTERS:
                words = text.split()
                long.extend(words if len(text) < _MAX_MEAN_CHARACTERS * len(words) else text)
            else:
                short.append(text)
        runs = set(map(hash, zip(long, long[1:], long[2:], strict=False)))
        try:
            said = (type(self._item), *short) if short or runs else repr(self._item)
            return [hash(said), *nsmallest(_SKETCHED, runs)]
        except Exception:  # noqa: BLE001 - no item may stop a crawl
            return [0]


def hash_of_word(word: str) -> int:
    """Return a hash of a word that counts by itself, not as a text."""
    return hash(("", word))


def _read(item: Any, *, all_numbers: bool = False) -> list[str]:
    """Return the texts of an item; none if it cannot be read."""
    try:
        return [*islice(texts_in(item, all_numbers=all_numbers), _MAX_TEXTS)]
    except Exception:  # noqa: BLE001 - no item may stop a crawl
        return []


def _is_url(text: str) -> bool:
    return text.startswith(URL_STARTS) and len(text.split(None, 1)) == 1


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
    found = _names_in(text) if is_file or text.startswith(URL_STARTS) else []
    if is_file or len(text) > MAX_VALUE_CHARACTERS:
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
