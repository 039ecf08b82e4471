"""Read what an item says, as atoms: its words, numbers and codes, and the names in its URLs.

Pages with one text, such as a licence, may differ in nothing but their picture or document, so the
names of files and the numbers in URLs are atoms, too. Of other numbers, prices and decimals tell
items apart. Whole numbers and times do not, because they may be counts or other at each visit; but
under URLs that name different things, they do.
"""

from __future__ import annotations

import re
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scrapy.linkextractors import IGNORED_EXTENSIONS
from xxhash import xxh3_64_intdigest

from scrapy_simhash.crawl.arguments import values_in
from scrapy_simhash.crawl.given import stable_hash
from scrapy_simhash.documents.masking import masked
from scrapy_simhash.extraction.states import CURRENCY
from scrapy_simhash.extraction.targets import pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Longer texts are from the page.
_MAX_CHARACTERS_FOR_WORDS = 200
_MAX_CHARACTERS = 500
_MAX_TEXTS = 50  # of an item with atoms, and as many whole numbers
_MAX_READ_TEXTS = 10_000  # of an item
_MIN_WORD_CHARACTERS = 4
# Of the runs of three words of longer texts. In those of copies, half are the same.
_SKETCHED = 8
# In an item. Further ones must be the same.
_MAX_SKETCHED_CHARACTERS = 100_000
# Of the words of a text. Where it is more, the language writes no spaces.
_MAX_MEAN_CHARACTERS = 20
# Words joined by hyphens. One with a digit, such as a UUID, is no word, nor are its parts.
_JOINED_WORDS = re.compile(r"[\w-]+")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[.,'\s]+(?=\d)")
# A number, perhaps with a currency. Shorter ones are on many pages, longer ones may be times.
_NUMBER = re.compile(rf"[^\d:/-]{{0,4}}(\d{{3,8}})(?:\D{{0,4}}|\D{{0,3}}{CURRENCY})")
_IN_DATE = re.compile(r"(?<=\d\.)\s(?=\d)")
_PUNCTUATION = " \t.,:;!?()[]{}<>|/*+-\u2013\"'"
# What may be a count, a size, a share or a time, unless it has one or two decimals.
_COUNT = re.compile(r"[\W_]*(?:0\.\d{3,}|\d+(?:[,':]\d+|\.\d{3}(?!\d))*)\D*")
# A count in brackets, a time, or of how many.
_BESIDE = re.compile(r"[(\[]\d[\d.,]*\w?[)\]]|\d+(?::\d\d)+(?!\d)|(?<!\S)/\s+\S+")
_DECIMAL = re.compile(r"\d[.,]\d\d?(?!\d)")
_CURRENCY = re.compile(CURRENCY)
_ENDINGS = "|".join(
    (*IGNORED_EXTENSIONS, *"csv epub gpx ics json m3u8 mpd srt txt vcf vtt xml".split())
)
_URL_OF_FILE = re.compile(rf"[^\s?#]+\.({_ENDINGS})([?#]\S*)?", re.IGNORECASE)
_MAX_URL_CHARACTERS = 2083  # Scrapy's URLLENGTH_LIMIT; the search takes long
# A part of a URL that may be the number of something. Longer ones are session ids.
_NUMBER_OF = re.compile(r"\d{1,8}")
# A part of a path that may be the code of something. Longer ones in a query are session ids.
_CODE = re.compile(r"(?=.*\d)(?=.*[a-z_-])[\w-]{5,}")
_MAX_CODE_CHARACTERS = 16
_HAS_DIGIT = re.compile(r"\d").search
_URL_STARTS = ("/", "?", "http:", "https:")
# Texts that copies of an item may have of their own: the time now, and random names.
_RANDOM = re.compile(
    r"[\d\s./T+-]*\d\d:\d\d:\d\d[\d.Z+:\s-]*|1\d{9}(\d{3})?(\.\d+)?|(?=.*[a-f-])[0-9a-f-]{16,}"
)

Kind = Literal["word", "words", "name", "file", "digits", "code", "number", "text"]


class Atom(NamedTuple):
    """A part of what an item says.

    :param kind: a word of four letters or more, and all words of a text; a word, number or code in
        a URL (``"name"``); the name of a file with its folder; the digits of a text that is nothing
        but a number. Of a text without words, a part that tells items apart (``"code"``), such as a
        date, a decimal, an article number or a short word, and one that does not (``"number"``).
        All of a text that is no URL.
    :param text: words, names and files are casefolded.
    :param hash: 64 bits, the same in any process.
    """

    kind: Kind
    text: str
    hash: int


def read(item: Any) -> list[str | float]:
    """Return the texts and numbers of an item; none if it cannot be read."""
    try:
        values = [*islice(values_in(item), _MAX_READ_TEXTS)]
        for value in values:
            _written(value)  # raises ValueError for an integer of more than 4,300 digits
    except Exception:  # noqa: BLE001 - no item may stop a crawl
        return []
    return values


def atoms_of(values: Sequence[str | float]) -> list[Atom]:
    """Return the atoms of an item: the first ones of all its texts first, because not all are kept.

    :param values: texts and numbers of the item, see `read`.
    """
    short = [value for value in values if _is_short(_written(value))]
    texts = islice((value for value in short if not isinstance(value, int)), _MAX_TEXTS)
    numbers = islice((value for value in short if isinstance(value, int)), _MAX_TEXTS)
    of_each = (_atoms(place, value) for place, value in enumerate(chain(texts, numbers)))
    in_turn = chain.from_iterable(zip_longest(*of_each))
    return [*dict.fromkeys(atom for atom in in_turn if atom is not None)]


def _atoms(place: int, value: str | float) -> Iterator[Atom]:
    """Yield the atoms of one text or number.

    :param place: of the text in its item. A number counts for this place only.
    """
    text = _written(value)
    is_file, is_url = _names_file(text), _is_url(text)
    if is_file or text.startswith(_URL_STARTS):
        yield from (_atom("file" if is_file else "name", name) for name in _names_in(text))
    if not is_file and len(text) <= _MAX_CHARACTERS_FOR_WORDS:
        words = _words(text) if isinstance(value, str) else []
        yield from (_atom("name" if is_url else "word", word) for word in words)
        if words and not is_url:
            yield _atom("words", " ".join(words))
            yield from (_atom("number", part) for part in _parts(text) if _HAS_DIGIT(part))
        elif not words and not _RANDOM.fullmatch(text):
            yield from _codes(text)
    number = _NUMBER.fullmatch(_BETWEEN_DIGITS.sub("", text.strip()))
    if number and (isinstance(value, str) or _is_price(value)):
        yield _atom("digits", number[1])
    if not text.startswith(_URL_STARTS):
        has_place = not any(map(str.isalpha, text)) and not _is_code(text, text)
        yield Atom("text", text, stable_hash(f"{place} {text}" if has_place else text))


def _codes(text: str) -> Iterator[Atom]:
    """Yield the codes and numbers in a text without words, and all of it, without counts and times,
    if it tells items apart, such as "28 Nov 2026" and "30 x 40".
    """
    whole = _IN_DATE.sub("", " ".join(_BESIDE.sub(" ", text).split()))
    # Several numbers with points are no counts, but coordinates.
    is_count = _COUNT.fullmatch(whole) or all(
        _COUNT.fullmatch(part) and "." not in part for part in whole.split()
    )
    is_code = not is_count or bool(_DECIMAL.search(whole))
    for part in _parts(text):
        is_unit = not is_code and part.islower()
        yield _atom("code" if _is_code(part, text) and not is_unit else "number", part)
    if is_code:
        yield _atom("code", whole)


def _parts(text: str) -> Iterator[str]:
    return filter(None, (part.strip(_PUNCTUATION) for part in text.split()))


def entry_of(item: Any, values: Sequence[str | float], urls: Sequence[str]) -> list[int]:
    """Return hashes of what an entry of a list says, without URLs and times: first one of its short
    texts, then some of the words in longer ones, which differ a little in copies.

    :param values: texts and numbers of the item, see `read`.
    :param urls: those of its page, which do not count.
    """
    short: list[str] = []
    long: list[str] = []
    characters = 0
    for text in map(_written, values):
        if _is_url(text):
            short.extend([] if text in urls else _names_in(text) or _last_part(text))
        elif len(text) <= _MAX_CHARACTERS_FOR_WORDS:
            short.extend([] if _RANDOM.fullmatch(text) else [text])
        elif (characters := characters + len(text)) <= _MAX_SKETCHED_CHARACTERS:
            parts = text.split()
            long.extend(parts if len(text) < _MAX_MEAN_CHARACTERS * len(parts) else text)
        else:
            short.append(text)
    words = [word.encode(errors="backslashreplace") for word in long]
    of_three = map(b" ".join, zip(words, words[1:], words[2:], strict=False))
    runs = {*map(xxh3_64_intdigest, of_three)}  # each word is encoded once
    try:
        said = repr((type(item), *short) if short or runs else item)
    except Exception:  # noqa: BLE001 - no item may stop a crawl
        said = ""
    return [stable_hash(said), *sorted(runs)[:_SKETCHED]]


def _atom(kind: Kind, text: str) -> Atom:
    return Atom(kind, text, stable_hash(f"{kind} {text}"))


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else str(value).removesuffix(".0")


def _is_price(number: float) -> bool:
    """Return True if a number may be a price, and is no count, time or share."""
    return isinstance(number, float) and round(number, 2) == number >= 1


def _is_code(part: str, text: str) -> bool:
    """Return True if a part of a text without words is neither a whole number nor a time."""
    is_count = _COUNT.fullmatch(part) is not None
    return not is_count or bool(_DECIMAL.search(part) or _CURRENCY.search(text))


def _is_url(text: str) -> bool:
    return text.startswith(_URL_STARTS) and len(text.split(None, 1)) == 1


def _is_short(text: str) -> bool:
    return len(text) <= (_MAX_URL_CHARACTERS if _is_url(text) else _MAX_CHARACTERS)


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


def names_another(url: str, other: str) -> bool:
    """Return True if two URLs name different things of one kind, such as `/mill/3` and `/mill/4`,
    `/mill/tide` and `/mill/wind`, or `?id=3` and `?id=4`: another number or code in one place, or
    another last part of the path in one folder.
    """
    one, two = _places(url), _places(other)
    unequal = [place for place in one.keys() & two if one[place] != two[place]]
    numbered = any(_HAS_DIGIT(one[place]) and _HAS_DIGIT(two[place]) for place in unequal)
    return numbered or unequal == [0]


def _places(url: str) -> dict[str | int, str]:
    """Return the parts of the path of a URL, counted from its end, and its parameters without
    session ids, by name.
    """
    pieces = pieces_of(url)
    places: dict[str | int, str]
    places = dict(enumerate(piece for piece in reversed(pieces) if "=" not in piece))
    for name, equals, value in (piece.rpartition("=") for piece in pieces):
        if equals and not _is_session(name, value):
            places[name] = value
    return places


def _is_session(name: str, value: str) -> bool:
    """Return True if a parameter may be other in each request."""
    return len(value) > _MAX_CODE_CHARACTERS or masked(f"?{name}={value}") != f"?{name}={value}"


def _words(text: str) -> list[str]:
    """Return the words in a short text."""
    return [
        word
        for words in _JOINED_WORDS.findall(text.casefold())
        if words.replace("-", "").isalpha()
        for word in words.split("-")
        if len(word) >= _MIN_WORD_CHARACTERS
    ]
