"""Cut the name of a page into tokens and parts.

In a name every symbol counts, for it may be all that tells two pages apart: ``operator<`` and
``operator>``, C♯ and C, ``.NET`` and NET, emoji. Only quotes and separators do not. Whether a sign
such as a dash separates depends on what is beside it: it does in "Anchor - Chain" and
"anchor-chain", not in "A-" or "-5".
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.tokens.folding import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Kind = Literal["word", "letter", "mark", "space", "nothing", "bracket", "joiner", "stop", "symbol"]
# Signs of the law are no part of a name, and the minus sign is written as a hyphen, too.
_FORMS = str.maketrans({"™": None, "℠": None, "®": None, "©": None, "\u2212": "-"})
# NFKC makes 105 of 10⁵.
_RAISED = re.compile("[⁰¹²³⁴-⁹]+")
# In a regular expression, \\D is the opposite of \\d.
_OPPOSITE = re.compile(r"\\(?=[A-Z](?![a-z]))")
_INSIDE_NUMBER = frozenset(".,:/")
# By character, by category, or by the first letter of the category.
_KINDS: Mapping[str, _Kind] = {
    # Tags after a black flag say whose flag it is.
    **dict.fromkeys(["M", *map(chr, range(0xE0020, 0xE0080))], "mark"),
    # What is invisible, or without a meaning for others, and quotes.
    **dict.fromkeys(("C", "Pi", "Pf", '"', "'", "`"), "nothing"),
    **dict.fromkeys(("Ps", "Pe"), "bracket"),
    # They separate words, or are symbols, by what is beside them.
    **dict.fromkeys(("Pd", "Pc", "/", "\\", "|", "~"), "joiner"),
}
_PAIRS = frozenset(("()", "[]", "{}"))
_RUN = re.compile(r"(.)\1*", re.DOTALL)
# Words in the Unicode names of punctuation that separates.
_SEPARATES = re.compile(
    r"COMMA|STOP|COLON|DANDA|MIDDLE DOT|BULLET|ELLIPSIS|LEADER|INVERTED|PARAGRAPH|WORD"
)
# A script without spaces between words has separators without spaces, too.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_DASHES = "\\-\u2010-\u2015"
_SPACES = re.compile(r"\s+")
_PART_ENDS = re.compile(
    rf"(\s+[{_DASHES}|\uff5c/\\~\u00b7\u2022\u00ab\u00bb\u2039\u203a<>:]+\s+|\s+[{_DASHES}|]+(?=[^\W\d])"
    rf"|(?<=[{_UNSPACED}])\s*[{_DASHES}_|\uff5c\u30fb]\s*(?=\w)"
    rf"|(?<=\w)\s*[{_DASHES}_|\uff5c\u30fb]\s*(?=[{_UNSPACED}])"
    r"|[:\uff1a]\s+|[()\[\]{}\uff08\uff09\u3010\u3011])"
)
# Marks that get lost: of Latin letters, of the Russian ё, and of Greek capitals.
_LOST_MARKS = re.compile("(?<=[a-z])[\u0300-\u036f]+|(?<=\u0435)\u0308|(?<=[\u03b1-\u03c9])\u0301")
# What names a view of a page: the beginnings of words for print, mobile and AMP, and of what stands
# beside them, such as version, view and page; without diacritics.
_VIEW_STEMS = (
    *"print imprim impres druck stampa utskrift udskrift tulost afdruk tisk druk wydruk".split(),
    *"nyomtat yazdir tlac tipari ispis εκτυπωσ печат друк הדפס طباع چاپ".split(),
    *"打印 印刷 列印 인쇄 พิมพ์".split(),
    *"mobil movil movel мобильн мобільн κινητ 手机 手機 モバイル 스마트폰 모바일".split(),
)
_VIEWS = frozenset(("amp", "smartphone", "smartphones"))
_BESIDE_STEMS = tuple(
    "vers verz wers верс εκδοσ גרס נוסח surum valtozat نسخ view ansicht vista visning "
    "nakyma pag strank seite friendly optimized".split()
)
_BESIDE_VIEWS = frozenset(
    "vue sivu side for pour para per pro pre pentru fur til do dla для to the de la le".split()
)


def name_tokens(text: str) -> list[str]:
    """Return the words and symbols of a name, in order; all its signs if it has neither.

    Each letter of a script without letter case is a token of its own.
    """
    return list(_tokens(text.strip()))


@lru_cache(maxsize=1024)  # the parts of a title, and the names of a site, are asked for repeatedly
def _tokens(text: str) -> tuple[str, ...]:
    folded = normalize(_RAISED.sub(r"^\g<0>", _OPPOSITE.sub(r"\\^", text.translate(_FORMS))))
    if folded.isascii() and folded.replace(" ", "").isalnum():
        return tuple(folded.split())
    tokens: list[str] = []
    word: list[str] = []
    kinds: list[_Kind] = ["space", *map(_kind, folded), "space"]
    run = (0, 0)  # the place of the last run of one sign: names may be nothing but signs
    for at, character in enumerate(folded):
        kind = kinds[at + 1]
        if kind == "word" or (kind == "mark" and word) or _is_in_number(folded, at):
            word.append(character)
            continue
        if kind == "mark":
            if tokens and at and kinds[at] != "space":
                tokens[-1] += character
            continue
        if kind == "nothing" and not _is_prime(folded, at):
            continue
        if word:
            tokens.append("".join(word))
            word.clear()
        if kind in ("joiner", "stop") and at >= run[1]:
            run = next(_RUN.finditer(folded, at)).span()
        if kind in ("letter", "symbol", "nothing") or (
            kind in ("bracket", "joiner", "stop") and _counts(folded, kinds, at, run)
        ):
            tokens.append(character)
    if word:
        tokens.append("".join(word))
    # A page may be about a sign that separates elsewhere, such as ``;`` or ``"``.
    return tuple(tokens) or tuple(filter(_is_sign, text))


def _is_sign(character: str) -> bool:
    return character.isprintable() and unicodedata.category(character) not in ("Zs", "Pi", "Pf")


def _is_in_number(folded: str, at: int) -> bool:
    """Return True for a sign in a number, and for the slash of an article number, such as AB/12 or
    12/AB. A hyphen is none: it is often written for a space.
    """
    sign, before, after = folded[at], folded[at - 1 : at], folded[at + 1 : at + 2]
    if before.isdigit() and after.isdigit():
        return sign in _INSIDE_NUMBER
    return sign == "/" and f"{before}{after}".isalnum() and before.isdigit() != after.isdigit()


def _is_prime(folded: str, at: int) -> bool:
    """Return True if a quote is written for a prime: 5'-AMP, 6'2, f'(x), or the only one in 5"."""
    quote, before, after = folded[at], folded[at - 1 : at], folded[at + 1 : at + 2]
    if quote not in "'\"" or not before.isalnum():
        return False
    if not before.isdigit():
        return after == "("
    return after == "-" or after.isdigit() or (folded.count(quote) == 1 and not after.isalpha())


def _counts(folded: str, kinds: list[_Kind], at: int, run: tuple[int, int]) -> bool:
    """Return True if a bracket, a joiner or a stop is a symbol, not a separator.

    :param run: where the run of a joiner or a stop begins and ends.
    """
    character, kind = folded[at], kinds[at + 1]
    if kind == "bracket":  # an empty pair says something, and one within a word: f(), f[x]
        is_inside_word = character in "([{" and kinds[at] == kinds[at + 2] == "word"
        is_around = folded[0] in "([{" and folded[-1] in ")]}"  # the whole name: (0, 1]
        is_in_pair = not _PAIRS.isdisjoint((folded[at : at + 2], folded[at - 1 : at + 1]))
        return is_inside_word or is_in_pair or (is_around and at in (0, len(folded) - 1))
    start, end = run
    before, after = _beside(kinds[start]), _beside(kinds[end + 1])
    if kind == "stop":  # .NET, :hover, a range "..", or what only signs surround: (,)
        if character in ".:" and before == "space":
            return after == "word" or end - start > 1
        return before == after == "symbol"
    if start and before == "space" and folded[end : end + 1].isalpha():
        return False  # a sign before a number counts, a dash before a word does not
    return before != after or before == "symbol"


def _beside(kind: _Kind) -> str:
    """Return what a sign stands beside: a ``space``, a ``word`` or a ``symbol``."""
    if kind in ("word", "letter", "mark"):
        return "word"
    return "space" if kind in ("space", "nothing", "stop") else "symbol"


@lru_cache(maxsize=4096)
def _kind(character: str) -> _Kind:
    category = unicodedata.category(character)
    if character.isalnum():
        return "letter" if category == "Lo" else "word"
    if character.isspace():
        return "space"
    if category in ("Ps", "Pe") and "\u2300" <= character < "\u3000":
        return "symbol"  # of mathematics: floor, ceiling
    if category == "Po" and _SEPARATES.search(unicodedata.name(character, "")):
        return "stop"
    return _KINDS.get(character) or _KINDS.get(category) or _KINDS.get(category[0], "symbol")


def without_diacritics(name: str) -> str:
    """Return a name without the marks that some writers and programs leave out: e for é."""
    plain = _LOST_MARKS.sub("", unicodedata.normalize("NFD", name))
    return unicodedata.normalize("NFC", plain)


def parts_of(name: str) -> list[str]:
    """Return the parts of a name: what dashes between spaces, bars, colons or brackets divide."""
    return list(filter(None, map(str.strip, _pieces(name)[::2])))


@lru_cache(maxsize=1024)
def _pieces(name: str) -> tuple[str, ...]:
    """Return the parts of a name, and between each two what divides them."""
    return tuple(_PART_ENDS.split(_SPACES.sub(" ", name)))  # long runs would take long


def without_parts(name: str, is_left_out: Callable[[str], bool]) -> str:
    """Return a name without some of its parts; the whole name if no other part is left."""
    pieces = list(_pieces(name))
    kept = [" " if part.strip() and is_left_out(part.strip()) else part for part in pieces[::2]]
    pieces[::2] = kept
    return "".join(pieces) if any(map(str.strip, kept)) else name


@lru_cache(maxsize=1024)
def is_view(part: str) -> bool:
    """Return True if a part of a name only names a view of a page: a print or mobile version."""
    words = without_diacritics(normalize(part)).split()
    are_known = all(
        word in _BESIDE_VIEWS or word.startswith(_BESIDE_STEMS) or _names_view(word)
        for word in words
    )
    return are_known and any(map(_names_view, words))


def without_view(heading: str) -> str:
    """Return a heading without the parts that name a view: "Print: Cow" and "Cow (print version)",
    but not those of a product: "Cow - prints".
    """
    first = parts_of(heading)[:1]

    def is_left_out(part: str) -> bool:
        words = without_diacritics(normalize(part))
        return is_view(part) and (part in first or any(stem in words for stem in _BESIDE_STEMS))

    return without_parts(heading, is_left_out)


def _names_view(word: str) -> bool:
    """Return True if a word begins with a stem, or contains one of a script without spaces."""
    return (
        word in _VIEWS
        or word.startswith(_VIEW_STEMS)
        or (not word.isascii() and any(stem in word for stem in _VIEW_STEMS if not stem.isascii()))
    )
