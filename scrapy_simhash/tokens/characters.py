"""Say of each character of a text what it is: a letter, a digit, a mark, a symbol, …

`characters_of` looks all characters of a text up at once, in an array that `unicodedata` filled, so
that whole texts can be cut without Python code for each character. The kinds follow the general
categories of Unicode. Only the scripts without spaces are ranges of blocks: `unicodedata` does not
say how a script separates words. What a block will contain one day counts already, so Han and kana
do not depend on Python's version of Unicode.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.lazy import np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# A kind is a byte. Its lowest bits are the group of the character: neighbours of one group make up
# one run. Characters that separate runs are in no group. The other bits are properties.
WORD = 1
HAN = 2
UNSPACED = 3
SYMBOL = 4
LINK = 5  # no character is in this group; callers put runs of their own into it
GROUPS = 7
DIGIT = 8
"""An ASCII digit. `fold_of` makes ASCII digits of all others."""
SIGN = 16
"""A character that belongs to a number if it is between two digits."""
PICTURE = 32
"""A symbol that may be an ornament, such as a bullet or an emoji (category So)."""
ACCENTED = 32
"""A letter that `plain_codes` replaces. The same bit as `PICTURE`, which is for symbols only."""
FOLDED = 64
"""A character that `fold_of` replaces or removes."""
MARK = 128
"""A combining mark. It belongs to the run of the character before it."""

_HAN = (
    (0x3005, 0x3005),
    (0x3007, 0x3007),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
# Kana, and the scripts of Unicode's line breaking class SA and their neighbours, which have no
# spaces between words: Thai, Lao, Burmese, Khmer, Tai Le, New Tai Lue, Tai Tham, Balinese, Yi,
# Javanese, Tai Viet and Ahom. Only their letters count here, not their marks and digits.
_UNSPACED = (
    (0x3041, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0x1B000, 0x1B16F),
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17D3), (0x1950, 0x19DF), (0x1A20, 0x1AAF),
    (0x1B00, 0x1B4C), (0xA000, 0xA48C), (0xA980, 0xA9FE), (0xAA60, 0xAADF), (0x11700, 0x1174F),
)  # fmt: skip
_HAN_PLANES = 0x20000
_TAGS_AND_SELECTORS = range(0xE0000, 0xE01F0)
_CHARACTERS = 0x110000
_BEYOND_BASIC_PLANE = 0x10000

# By character, by category, or by the first letter of the category.
_KIND_OF = {
    **dict.fromkeys(".,:/-", SIGN),
    # Separators, legal notices, blanks, and what stands for a lost character.
    **dict.fromkeys("|~\u00a6\u00a9\u00ae\u2800\ufffc\ufffd", 0),
    **dict.fromkeys("%\u2030", SYMBOL),
    "Sk": 0,
    "So": SYMBOL | PICTURE,
    "S": SYMBOL,
    "M": MARK,
}
# In these scripts, nonspacing marks are vowels and reading signs, which most texts omit.
_ABJADS = ("ARABIC ", "HEBREW ", "SYRIAC ", "SAMARITAN ")
_INVISIBLE_MARKS = ("VARIATION SELECTOR", "GRAPHEME JOINER")
# Characters without a property that says: tatweel, lajanyalan and nirugu make a word longer, and
# the fillers of Hangul are blank.
_FILLERS = "\u0640\u07fa\u180a\u115f\u1160"
# Characters that are written for each other; most of them are in every second word of a language.
_VARIANTS: Mapping[str, str] = {
    # Arabic, Persian, Urdu and Kurdish: yeh, kaf and heh; the signs of numbers.
    "\u0649": "\u06cc", "\u064a": "\u06cc", "\u0643": "\u06a9",
    "\u06be": "\u0647", "\u06c1": "\u0647", "\u06d5": "\u0647", "\u06c0": "\u0647",
    "\u06c2": "\u0647", "\u06c3": "\u0629",
    "\u066a": "%", "\u066b": ".", "\u066c": ",",
    # Romanian: the comma below and the cedilla, which older fonts have.
    "\u0219": "\u015f", "\u021b": "\u0163", "\u0326": "\u0327",
    # Turkish: the dotless i, because I is the capital letter of both.
    "\u0131": "i",
    # Uzbek, Hawaiian and Ukrainian: letters that look like an apostrophe.
    "\u02b9": "'", "\u02bb": "'", "\u02bc": "'", "\u02bd": "'", "\u02be": "'", "\u02bf": "'",
    # Malayalam and Bengali: letters that were written with a joiner before they were encoded.
    "\u0d7a": "\u0d23\u0d4d", "\u0d7b": "\u0d28\u0d4d", "\u0d7c": "\u0d30\u0d4d",
    "\u0d7d": "\u0d32\u0d4d", "\u0d7e": "\u0d33\u0d4d", "\u0d7f": "\u0d15\u0d4d",
    "\u09ce": "\u09a4\u09cd",
    # Yiddish: pairs of letters.
    "\u05f0": "\u05d5\u05d5", "\u05f1": "\u05d5\u05d9", "\u05f2": "\u05d9\u05d9",
    # The hyphen, the dash between numbers, and the slash of fractions.
    "\u2010": "-", "\u2013": "-", "\u2044": "/",
}  # fmt: skip


# Alphabets in which some sites and keyboards leave diacritics out.
_ACCENTED = ("LATIN SMALL LETTER ", "GREEK SMALL LETTER ", "CYRILLIC SMALL LETTER ")
_PLAIN: Mapping[str, str] = {"\u0451": "\u0435"}  # by no name: io


class Characters(NamedTuple):
    """The characters of a text, in two arrays of its length.

    :param codes: code points; uint8 for ASCII, else uint32.
    :param kinds: uint8.
    """

    codes: NDArray[Any]
    kinds: NDArray[np.uint8]

    def distinct(self, kind: int) -> list[str]:
        """Return the distinct characters with a property or in a group."""
        found = self.codes[(self.kinds & kind) != 0]
        return list(map(chr, np.unique(found).tolist())) if len(found) else []


def characters_of(text: str) -> Characters:
    """Return the code points and kinds of a text."""
    if text.isascii():
        data = text.encode("ascii")
        kinds = data.translate(_ascii_kinds())
        return Characters(np.frombuffer(data, np.uint8), np.frombuffer(kinds, np.uint8))
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    return Characters(codes, _kinds().take(codes))


def plain_codes(characters: Characters) -> NDArray[Any]:
    """Return the code points with those of plain letters instead of letters with diacritics."""
    codes, kinds = characters
    if codes.itemsize == 1 or not (kinds & ACCENTED).any():
        return codes
    plain: NDArray[Any] = _plain().take(codes)
    return plain


def text_of(codes: NDArray[Any]) -> str:
    """Return the text with these code points, of a type as in `Characters`."""
    encoding = "ascii" if codes.itemsize == 1 else "utf-32-le"
    return codes.tobytes().decode(encoding, "surrogatepass")


@lru_cache(maxsize=4096)
def fold_of(character: str) -> str:
    """Return what a character of the kind `FOLDED` is folded to, which may be nothing."""
    digit = unicodedata.decimal(character, None)
    return _VARIANTS.get(character, "") if digit is None else str(digit)


@lru_cache(maxsize=1)
def _ascii_kinds() -> bytes:
    """Return the kinds of all bytes; those beyond ASCII are in no ASCII text."""
    return bytes(_kind(code) if chr(code).isascii() else 0 for code in range(256))


@lru_cache(maxsize=1)
def _kinds() -> NDArray[np.uint8]:
    """Return the kinds of all characters, which takes about 20 ms."""
    kinds = np.zeros(_CHARACTERS, dtype=np.uint8)
    usual = {"Lo": WORD, "Cn": 0, "Co": 0, "Cs": 0}  # the categories of most characters
    categories = map(unicodedata.category, map(chr, range(_HAN_PLANES)))
    kinds[:_HAN_PLANES] = [
        usual[category] if category in usual else _kind(code)
        for code, category in enumerate(categories)
    ]
    for code in (*map(ord, (*_VARIANTS, *_FILLERS)), *_TAGS_AND_SELECTORS):
        kinds[code] = _kind(code)
    for first, last in _HAN:
        kinds[first : last + 1] = HAN
    for first, last in _UNSPACED:
        for code in range(first, last + 1):
            if kinds[code] & GROUPS == WORD or unicodedata.category(chr(code)) == "Cn":
                kinds[code] = UNSPACED
    return kinds


@lru_cache(maxsize=1)
def _plain() -> NDArray[np.uint32]:
    """Return the plain letter of each character, which is mostly the character itself."""
    plain = np.arange(_CHARACTERS, dtype="<u4")
    for code in np.flatnonzero(_kinds() == WORD | ACCENTED).tolist():
        plain[code] = ord(_plain_letter(chr(code)))
    return plain


def _plain_letter(letter: str) -> str:
    """Return a letter without diacritics, as its name says: ``L WITH STROKE`` is an ``L``."""
    name, diacritic, _ = unicodedata.name(letter, "").partition(" WITH ")
    if diacritic and name.startswith(_ACCENTED):
        try:
            return unicodedata.lookup(name)
        except KeyError:  # no letter of its own
            return letter
    return _PLAIN.get(letter, letter)


def _kind(code: int) -> int:
    character = chr(code)
    category = unicodedata.category(character)
    if category == "Cn":
        return 0
    if _is_folded(character, category):
        return FOLDED | MARK
    if character.isalnum():
        accented = category == "Ll" and _plain_letter(character) != character
        return WORD | (DIGIT if category == "Nd" else ACCENTED if accented else 0)
    if character in _KIND_OF:
        return _KIND_OF[character]
    # Modifier symbols are accents, but beyond the basic plane they are colours of emoji.
    is_emoji = category == "Sk" and code >= _BEYOND_BASIC_PLANE
    return SYMBOL if is_emoji else _KIND_OF.get(category, _KIND_OF.get(category[0], 0))


def _is_folded(character: str, category: str) -> bool:
    if category == "Mn":
        name = unicodedata.name(character)
        if name.startswith(_ABJADS) or any(part in name for part in _INVISIBLE_MARKS):
            return True
    return (
        category == "Cf"
        or (category == "Nd" and not character.isascii())
        or character in _VARIANTS
        or character in _FILLERS
    )
