"""Read what an item says: its words, its numbers, and the names of files and things in its URLs.

Names of files and numbers in URLs count as words: pages with one text, such as a licence, may
differ in nothing but their picture or document. Of other numbers, those count that are a whole text
or floats, such as prices, but no others, because they may be counts, sizes or times.
"""

from __future__ import annotations

import re
from functools import cached_property
from heapq import nsmallest
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING, Any

from scrapy.linkextractors import IGNORED_EXTENSIONS

from scrapy_simhash.crawl.arguments import texts_in
from scrapy_simhash.crawl.given import stable_hash
from scrapy_simhash.documents.masking import masked
from scrapy_simhash.extraction.states import CURRENCY
from scrapy_simhash.extraction.targets import pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Longer texts are from the page.
_MAX_VALUE_CHARACTERS = 200
_MAX_CHARACTERS = 500
# Of the runs of three words of a longer text. In those of copies, half are the same.
_SKETCHED = 8
# Of the words of a text. Where it is more, the language writes no spaces.
_MAX_MEAN_CHARACTERS = 20
_MAX_VALUES = 50  # of an item
_MIN_WORD_CHARACTERS = 4
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[.,'\s]+(?=\d)")
# A number, perhaps with a currency. Shorter ones are on many pages, longer ones may be times.
_NUMBER = re.compile(rf"[^\d:/-]{{0,4}}(\d{{3,8}})(?:\D{{0,4}}|\D{{0,3}}{CURRENCY})")
# A number or a time, perhaps with a unit.
_ONE_NUMBER = re.compile(r"[\W_]*\d+(?:[.,'\s:]\d+)*\D*")
# A time, several counts, or a count in brackets at the end, which may be other at each visit.
_COUNTS = re.compile(r"\d:\d\d(?!\d)|(?<!\S)/(?!\S)|[(\[]\d[\d.,]*[)\]]\s*$")
# What tells a price from the number of views.
_PRICE = re.compile(rf"\d[.,]\d\d?(?!\d)|{CURRENCY}")
# Words joined by hyphens. One with a digit, such as a UUID, is no word, nor are its parts.
_JOINED_WORDS = re.compile(r"[\w-]+")
_ENDINGS = "|".join(
    (*IGNORED_EXTENSIONS, *"csv epub gpx ics json m3u8 mpd srt vcf vtt xml".split())
)
_URL_OF_FILE = re.compile(rf"[^\s?#]+\.({_ENDINGS})([?#]\S*)?", re.IGNORECASE)
_MAX_URL_CHARACTERS = 2083  # Scrapy's URLLENGTH_LIMIT; the search takes long
# A part of a URL that may be the number of something. Longer ones are session ids.
_NUMBER_OF = re.compile(r"\d{1,8}")
# A part of a path that may be the code of something. Longer ones in a query are session ids.
_CODE = re.compile(r"(?=.*\d)(?=.*[a-z_-])[\w-]{5,}")
_MAX_CODE_CHARACTERS = 16
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
        short = (text for text in self._with_numbers if len(text) <= _MAX_CHARACTERS)
        self._short = [*islice(short, _MAX_VALUES)]
        self._words_of: dict[str, tuple[str, ...]] = {}

    def _words(self, text: str) -> tuple[str, ...]:
        if text not in self._words_of:
            self._words_of[text] = _words(text)
        return self._words_of[text]

    @cached_property
    def _text_words(self) -> list[tuple[str, ...]]:
        return [self._words(text) for text in self._texts[:_MAX_VALUES]]

    @cached_property
    def words(self) -> list[tuple[str, ...]]:
        """The words in the first short texts, see `_words`."""
        lengths = (len(text) for text in self._texts)
        ends = accumulate(length * (length <= _MAX_VALUE_CHARACTERS) for length in lengths)
        first = sum(end <= _MAX_CHARACTERS for end in ends)
        return [*filter(None, self._text_words[:first])]

    @cached_property
    def said(self) -> list[tuple[str, ...]]:
        """The words in each short text, without what the URL of the page has. Of numbers, prices
        count only.
        """
        url = self._urls[0].casefold()
        said = (
            tuple(
                word
                for word in words
                if word not in url and (_PRICE.search(text) or not word.isdigit())
            )
            for text, words in zip(self._texts, self._text_words, strict=False)
            if not _is_url(text)
        )
        return [*filter(None, said)]

    def short(self) -> Iterator[tuple[str, int]]:
        """Yield the shorter texts with their hashes. A number counts for its place only, but a code
        does not.
        """
        for place, text in enumerate(self._short):
            has_place = not any(map(str.isalpha, text)) and not is_code(text)
            yield text, stable_hash((place, text) if has_place else text)

    def numbers(self) -> list[str]:
        """Return the shorter texts without words, such as numbers and sizes, but no times."""
        return [
            text
            for text in map(str.strip, self._short)
            if text and all(map(str.isdigit, self._words(text))) and not _NO_ENTRY.fullmatch(text)
        ]

    def codes(self) -> set[int]:
        """Return hashes of the shorter texts without words that are codes, see `is_code`."""
        wordless = {*self.numbers()}
        return {one for text, one in self.short() if text.strip() in wordless and is_code(text)}

    def hashes(self) -> set[int]:
        """Return hashes of all that the item says: of `words` and `said` by text, of the words of
        `said` one by one, and of the shorter texts.
        """
        said = chain(self.words, self.said, chain(*self.said))
        return {*map(stable_hash, said), *(one for _, one in self.short())}

    def entry(self) -> Sequence[int]:
        """Return hashes of what an entry of a list says, without URLs and times: first one of its
        short texts, then some of the words in longer ones, which differ a little in copies.
        """
        short: list[str] = []
        long: list[str] = []
        characters = 0
        for text in self._with_numbers:
            if _is_url(text):
                short.extend([] if text in self._urls else _names_in(text) or _last_part(text))
            elif len(text) <= _MAX_VALUE_CHARACTERS:
                short.extend([] if _NO_ENTRY.fullmatch(text) else [text])
            elif (characters := characters + len(text)) <= _MAX_SKETCHED_CHARACTERS:
                words = text.split()
                long.extend(words if len(text) < _MAX_MEAN_CHARACTERS * len(words) else text)
            else:
                short.append(text)
        of_three = map(" ".join, zip(long, long[1:], long[2:], strict=False))
        runs = set(map(stable_hash, of_three))  # texts are hashed faster than tuples
        try:
            said = (type(self._item), *short) if short or runs else repr(self._item)
            return [stable_hash(said), *nsmallest(_SKETCHED, runs)]
        except Exception:  # noqa: BLE001 - no item may stop a crawl
            return [0]


def is_code(text: str) -> bool:
    """Return True if a text without words is no whole number, time or list of counts, which may be
    other at each visit. It may be a date, an article number, a decimal or a short word.
    """
    if _COUNTS.search(text):
        return False
    return _ONE_NUMBER.fullmatch(text) is None or _PRICE.search(text) is not None


def _read(item: Any, *, all_numbers: bool = False) -> list[str]:
    """Return the texts of an item; none if it cannot be read."""
    try:
        return [*islice(texts_in(item, all_numbers=all_numbers), _MAX_TEXTS)]
    except Exception:  # noqa: BLE001 - no item may stop a crawl
        return []


def _is_url(text: str) -> bool:
    return text.startswith(URL_STARTS) and len(text.split(None, 1)) == 1


def _names_file(text: str) -> bool:
    return len(text) <= _MAX_URL_CHARACTERS and _URL_OF_FILE.fullmatch(text) is not None


def _names_in(url: str) -> list[str]:
    """Return the name of the file in a URL with its folder, or else the numbers and codes in it."""
    if _names_file(url):
        path = re.split("[?#]", url.casefold(), maxsplit=1)[0].split("/")
        return ["/".join(path[-2:])]
    found = []
    for piece in pieces_of(url):
        name, equals, value = piece.rpartition("=")
        if _NUMBER_OF.fullmatch(value):
            found.append(piece if equals else f"/{piece}")
        elif _CODE.fullmatch(value) and not (equals and _is_session(name, value)):
            found.append(value)
    return found


def _last_part(url: str) -> list[str]:
    """Return the last part of the path of a URL, as a list; an empty one if it has none."""
    return [piece for piece in pieces_of(url) if "=" not in piece][-1:]


def _is_session(name: str, value: str) -> bool:
    """Return True if a parameter may be other in each request."""
    return len(value) > _MAX_CODE_CHARACTERS or masked(f"?{name}={value}") != f"?{name}={value}"


def _words(text: str) -> tuple[str, ...]:
    """Return the words in a short text, the digits if it is a number, and the name of the file or
    the numbers if it is a URL.
    """
    is_file = _names_file(text)
    found = _names_in(text) if is_file or text.startswith(URL_STARTS) else []
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
