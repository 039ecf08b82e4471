"""Names of pages, and how they are stored. `scrapy_simhash.names.agreement` compares them.

Products, timetables or job offers of one template have names of their own, while copies keep
theirs. So two pages of one site can be copies only if they have the same name, word by word and
symbol by symbol (`scrapy_simhash.names.name_tokens`): "Alto Jacket, red" is not "Alto Jacket". Not
part of a name are a part of a title that only repeats what the page itself declares as the name of
its site, a part that only names a view of the page, such as "(print version)", and a counter of
messages before a title.

A name is stored as a *key*: the hash of all its tokens in order, however long it is. 64 bits are of
the tokens without diacritics, 16 of the diacritics (zeros if there are none). The title of a page
becomes three keys: without those parts, of the whole title, and of what the title says beyond the
headings (zeros if nothing); one key if the first two are equal and the third is zeros. Each heading
becomes a key. A byte of flags follows if one is set, and in a title a byte that stands for the name
of the site, as the title has it or the page declares it. Empty bytes stand for no name.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import filterfalse
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_digest

from scrapy_simhash.names.name_tokens import (
    is_view,
    name_tokens,
    parts_of,
    without_diacritics,
    without_parts,
    without_view,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


KEY_BYTES = 10
NAME_FIELDS = ("title", "name", "headline")
"""The fields that may contain names of a record, the most usual one first."""
_MAX_HEADINGS = 4
NO_KEY = bytes(KEY_BYTES)
# Flags, the last byte of a title and of headings.
IS_WEAK = 1  # the headings are not the page's own h1, but what stands for it
IS_USED = 2  # the text of the page uses the name
BEYOND_IS_USED = 4  # the text uses what the title says beyond the headings
IS_HEADLINE = 8  # the name is as long as a sentence
HAS_DIACRITICS = 16  # the text has diacritics in other words than those of the names
BRAND_IS_USED = 32  # the text uses the name of the site
IS_LONG = 32  # of headings: the page has a long text
WORD_IS_USED = 64  # the text uses a word that the title has beyond the headings, of any part
HAS_AFFIX = 128  # the title consists of a heading and of further parts
# Bytes of a key that do not depend on diacritics.
BASE_BYTES = 8
NO_DIACRITICS = bytes(KEY_BYTES - BASE_BYTES)
_MIN_USED_CHARACTERS = 3
_MIN_LONG_TEXT_TOKENS = 1000
_MIN_HEADLINE_TOKENS = 5
_WORD = re.compile(r"[^\W\d_]+")
# Letters with diacritics, and marks: Latin, Greek and Cyrillic.
_MAYBE_DIACRITIC = re.compile("[\u00c0-\u024f\u0300-\u03ff\u0450-\u0452\u1e00-\u1fff]")
_COUNTER = re.compile(r"\(\d+\+?\)\s+(?=\S)")


class Names(NamedTuple):
    """What a page is called.

    :param title: the title, or empty.
    :param headings: the page's own headings, the most important one first.
    :param is_weak: the headings are no ``h1``, and no name that the page declares.
    :param sites: what the page declares as the name of its site, and its host.
    :param brand: the name of its site that it declares in its markup, or empty.
    """

    title: str = ""
    headings: Sequence[str] = ()
    is_weak: bool = False
    sites: Sequence[str] = ()
    brand: str = ""


def page_names(names: Names, text: str = "", text_tokens: int = 0) -> tuple[bytes, bytes]:
    """Return the names of a page as (title, heading) of `Evidence`.

    :param text: the text of the page, which may use the names.
    :param text_tokens: number of tokens of the text.
    """
    if not names.title and not any(names.headings):
        return b"", b""
    is_of_site = _site_filter(names)
    headings: dict[bytes, list[str]] = {}
    for heading in names.headings:
        # A heading that only names the site is its logo.
        if heading and not is_of_site(heading) and len(headings) < _MAX_HEADINGS:
            tokens = name_tokens(without_view(heading))
            headings.setdefault(_key(tokens), tokens)
    whole_title = _turned(_without_counter(names))
    title = without_parts(whole_title, lambda part: is_view(part) or is_of_site(part))
    own, whole = name_tokens(title), name_tokens(whole_title)
    known = {token for tokens in headings.values() for token in tokens}
    # "Harbour News Mobile" is the name of a site, and of a view.
    beyond = [one for one in own if one not in known and not is_view(one)] if headings else []
    rest = _without_lines(text, (names.title, *parts_of(names.title), *names.headings))
    has_marks = _has_diacritics(rest, (names.title, *names.headings))
    heading_flags = {
        IS_HEADLINE: any(map(_is_headline, names.headings)),
        IS_USED: any(_is_used(heading, rest) for heading in names.headings),
        HAS_DIACRITICS: has_marks,
        IS_WEAK: names.is_weak,
        IS_LONG: text_tokens >= _MIN_LONG_TEXT_TOKENS,
    }
    brands = [part for part in parts_of(names.title) if own != whole and is_of_site(part)]
    brands = brands or ([names.brand] if names.brand else [])
    said = [token for token in whole if token not in known and len(token) > _MIN_USED_CHARACTERS]
    title_flags = {
        IS_HEADLINE: _is_headline(title),
        IS_USED: _is_used(title, rest),
        HAS_DIACRITICS: has_marks,
        BEYOND_IS_USED: beyond and all(_occurs(token, rest) for token in beyond),
        BRAND_IS_USED: any(_occurs(part, rest) for part in brands),
        WORD_IS_USED: any(_occurs(token, rest) for token in said),
        HAS_AFFIX: beyond
        and any(name_tokens(part) in headings.values() for part in parts_of(title)),
    }
    title_keys = [_key(own)] if own == whole and not beyond else [*map(_key, (own, whole, beyond))]
    return (
        _stored(title_keys, title_flags, _brand_byte(brands)) if whole else b"",
        _stored(headings, heading_flags) if headings else b"",
    )


def names_of_record(texts: Iterable[str]) -> tuple[str, str]:
    """Return the title of a record and, if it has another name, a heading; else empty texts.

    :param texts: those of its fields in the order of `NAME_FIELDS`.
    """
    title, heading, *_ = *dict.fromkeys(filter(None, texts)), "", ""
    return title, heading


def _stored(keys: Iterable[bytes], flags: Mapping[int, object], brand: int = 0) -> bytes:
    """Return keys with the flags that are true, and with the byte for the name of the site."""
    trailer = bytes((sum(flag for flag, is_set in flags.items() if is_set), brand))
    return b"".join(keys) + trailer.rstrip(b"\0")


def _brand_byte(parts: Sequence[str]) -> int:
    """Return a number from 1 to 255 for the parts of a title that name the site; 0 for none."""
    tokens = sorted({token for part in parts for token in name_tokens(part)})
    return _key(tokens)[0] % 255 + 1 if tokens else 0


def _site_filter(names: Names) -> Callable[[str], bool]:
    """Return a function that returns True for a part of a name that only names the site.

    A page may declare its own name as that of its site. So a name of the site that would leave the
    page without headings is a name of the page.
    """
    sites = [(name_tokens(site), frozenset(name_tokens(site))) for site in names.sites]

    def covers(site: tuple[list[str], frozenset[str]], part: str) -> bool:
        tokens = name_tokens(part)
        return site[1].issuperset(tokens) or "".join(site[0]) == "".join(tokens)

    own = [heading for heading in names.headings if heading]
    if all(any(covers(site, heading) for site in sites) for heading in own):
        sites = [site for site in sites if not any(covers(site, heading) for heading in own)]
    return lambda part: any(covers(site, part) for site in sites)


def _without_lines(text: str, names: Iterable[str]) -> str:
    """Return a text, case-folded, without the lines that consist of one of the names."""
    known = {" ".join(name.casefold().split()) for name in names}
    return "\n".join(line for line in text.casefold().split("\n") if line.strip() not in known)


def _has_diacritics(text: str, names: Iterable[str]) -> bool:
    """Return True if a case-folded text has diacritics in a word that is in none of the names."""
    if not _MAYBE_DIACRITIC.search(text):  # most texts have other characters alone
        return False
    known = unicodedata.normalize("NFC", " ".join(names).casefold())
    pieces = " ".join(filterfalse(str.isascii, text.split()))
    words = set(_WORD.findall(unicodedata.normalize("NFC", pieces)))
    others = " ".join(word for word in words if word not in known)
    return without_diacritics(others) != others


def _is_headline(name: str) -> bool:
    return len(name_tokens(name)) >= _MIN_HEADLINE_TOKENS


def _is_used(name: str, text: str) -> bool:
    """Return True if a text uses a name, or a part of it: two words, or half of the name."""
    half = len(name_tokens(name)) / 2
    return _occurs(name, text) or any(
        (" " in part or len(name_tokens(part)) >= half) and _occurs(part, text)
        for part in parts_of(name)
    )


def _occurs(part: str, text: str) -> bool:
    """Return True if a case-folded text contains a part of a name, as whole words."""
    wanted = " ".join(part.casefold().split())
    if len(wanted) < _MIN_USED_CHARACTERS:
        return False
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            return True
        at = text.find(wanted, end)
    return False


def _without_counter(names: Names) -> str:
    """Return the title without a number in parentheses before it, which counts messages. If the
    headings have the number, too, or if there are none, it belongs to the name.
    """
    counter = _COUNTER.match(names.title)
    own = "" if names.is_weak else " ".join(names.headings).strip()
    is_of_site = counter and own and counter[0].strip() not in own
    return names.title[counter.end() :] if counter and is_of_site else names.title


def _turned(title: str) -> str:
    """Return a title with its only long part first, as if the parts stood in a circle.

    Sites move their name from one end to the other.
    """
    parts = parts_of(title)
    long = [at for at, part in enumerate(parts) if _is_headline(part)]
    is_turned = len(long) == 1 and long[0]
    return " | ".join(parts[long[0] :] + parts[: long[0]]) if is_turned else title


def _key(tokens: Sequence[str]) -> bytes:
    """Return the hash of tokens; zeros for none."""
    if not tokens:
        return NO_KEY
    name = "\0".join(tokens)
    plain = name if name.isascii() else without_diacritics(name)
    marks = NO_DIACRITICS if plain == name else _digest(name)[: KEY_BYTES - BASE_BYTES]
    return _digest(plain) + marks


def _digest(text: str) -> bytes:
    return xxh3_64_digest(text.encode("utf-8", "surrogatepass"))
