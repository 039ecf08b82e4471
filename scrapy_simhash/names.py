"""Names of pages: how they are stored, and whether two pages have the same one.

Products, timetables or job offers of one template have names of their own, while copies keep
theirs. So two pages of one site can be copies only if they have the same name, word by word and
symbol by symbol (`scrapy_simhash.name_tokens`): "Alto Jacket, red" is not "Alto Jacket". Not part
of a name are a part of a title that only repeats what the page itself declares as the name of its
site, and a part that only names a view of the page, such as "(print version)".

A name is stored as a *key*: the hash of all its tokens in order, however long it is. 48 bits are of
the tokens without diacritics, 16 of the diacritics (zeros if there are none). The title of a page
becomes three keys: without those parts, of the whole title, and of what the title says beyond the
headings (zeros if nothing); one key if the first two are equal and the third is zeros. Each heading
becomes a key. A byte of flags follows if one is set, and in a title a byte that stands for the name
of the site in it. Empty bytes stand for no name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_digest

from scrapy_simhash.name_tokens import (
    is_view,
    name_tokens,
    parts_of,
    without_diacritics,
    without_parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scrapy_simhash.evidence import Evidence

KEY_BYTES = 8
NAME_FIELDS = ("title", "name", "headline")
"""The fields that may contain the name of a record; the first one with a text is used."""
_MAX_HEADINGS = 4
_NO_KEY = bytes(KEY_BYTES)
# Flags, the last byte of a title and of headings.
_IS_WEAK = 1  # the headings are not the page's own h1, but what stands for it
_IS_USED = 2  # the text of the page uses the name
_BEYOND_IS_USED = 4  # the text uses what the title says beyond the headings
_IS_HEADLINE = 8  # the name is as long as a sentence
_IS_LONG = 16  # the page has a long text
_BRAND_IS_USED = 32  # the text uses the name of the site in the title
_WORD_IS_USED = 64  # the text uses a word that the title has beyond the headings, of any part
_HAS_AFFIX = 128  # the title consists of a heading and of further parts
# Bytes of a key that do not depend on diacritics.
_BASE_BYTES = 6
_NO_DIACRITICS = bytes(KEY_BYTES - _BASE_BYTES)
_MIN_USED_CHARACTERS = 3
_MIN_LONG_TEXT_TOKENS = 1000
_MIN_HEADLINE_TOKENS = 5


class Names(NamedTuple):
    """What a page is called.

    :param title: the title, or empty.
    :param headings: the page's own headings, the most important one first.
    :param is_weak: the headings are no ``h1``, and no name that the page declares.
    :param sites: what the page declares as the name of its site, and its host.
    """

    title: str = ""
    headings: Sequence[str] = ()
    is_weak: bool = False
    sites: Sequence[str] = ()


def name_bytes(text: str) -> bytes:
    """Return the key of a name, 8 bytes; empty if the text has no words and no symbols."""
    tokens = name_tokens(text)
    return _key(tokens) if tokens else b""


def page_names(names: Names, text: str = "", text_tokens: int = 0) -> tuple[bytes, bytes]:
    """Return the names of a page as (title, heading) of `Evidence`.

    :param text: the text of the page, which may use the names.
    :param text_tokens: number of tokens of the text.
    """
    is_of_site = _site_filter(names)
    headings: dict[bytes, list[str]] = {}
    for heading in names.headings:
        # A heading that only names the site is its logo.
        if heading and not is_of_site(heading) and len(headings) < _MAX_HEADINGS:
            tokens = name_tokens(without_parts(heading, is_view))
            headings.setdefault(_key(tokens), tokens)
    whole_title = _turned(names.title)
    title = without_parts(whole_title, lambda part: is_view(part) or is_of_site(part))
    own, whole = name_tokens(title), name_tokens(whole_title)
    known = {token for tokens in headings.values() for token in tokens}
    beyond = [token for token in own if token not in known] if headings else []
    rest = _without_lines(text, (names.title, *parts_of(names.title), *names.headings))
    heading_flags = _use(names.headings, rest) | (_IS_WEAK if names.is_weak else 0)
    title_flags = _use([title], rest)
    if beyond and all(_occurs(token, rest) for token in beyond):
        title_flags |= _BEYOND_IS_USED
    brands = [part for part in parts_of(names.title) if own != whole and is_of_site(part)]
    said = [token for token in whole if token not in known and len(token) > _MIN_USED_CHARACTERS]
    if any(_occurs(part, rest) for part in brands):
        title_flags |= _BRAND_IS_USED
    if any(_occurs(token, rest) for token in said):
        title_flags |= _WORD_IS_USED
    if text_tokens >= _MIN_LONG_TEXT_TOKENS:
        title_flags |= _IS_LONG
    if beyond and any(name_tokens(part) in headings.values() for part in parts_of(title)):
        title_flags |= _HAS_AFFIX
    title_keys = [_key(own)] if own == whole and not beyond else [*map(_key, (own, whole, beyond))]
    return (
        _stored(title_keys, title_flags, _brand_byte(brands)) if whole else b"",
        _stored(headings, heading_flags) if headings else b"",
    )


def names_agree(one: Evidence, other: Evidence) -> bool | None:
    """Return True if two pages may have the same name, False if not, and None if in doubt.

    On one site (an unknown site is no other site):

    - If both pages have headings, these must be the same, and what the titles say beyond them must
      not contradict: "Opening hours" of Acme Bonn and of Acme Kiel are two pages. There is a doubt
      if only one title says more, if both texts are long (editions of a document may have titles of
      their own), or if one page has a further heading before the others.
    - If one page has headings, one of them must be the title of the other page, or the titles must
      be the same.
    - Otherwise the titles must be the same. A page without a name agrees with any page.
    - Weak headings count only if both pages have weak ones, or if they are the same.
    - There is a doubt instead of a difference if only one page has diacritics, and the names agree
      without them; and if the site of one page is unknown, the names are headlines that no text
      uses, and one page has no heading of its own, or only one title has the name of a site.

    Sites give the news that they share headlines of their own. So pages of different sites may have
    different names if both are headlines: at least five words that the text does not use as they
    are. If each text uses the name of its page, as that of a hotel or a firm does, the names
    differ. Otherwise there is a doubt. Names with the same short heading differ if the titles do,
    and each text uses a word that only its title has, such as the name of a firm; there is a doubt
    if only the titles say different things beyond the heading.
    Pages whose titles contain different names of a site, which their texts use, count as pages of
    different sites.
    """
    agree = _agree(one, other)
    if agree is False and (_may_be_syndicated(one, other) or _agree_but_diacritics(one, other)):
        return None
    return agree


def is_renamed(page: Evidence, earlier: Evidence) -> bool:
    """Return True if a page has another title or other headings than in an earlier crawl."""
    titles = page.title[:KEY_BYTES], earlier.title[:KEY_BYTES]
    return (all(titles) and titles[0] != titles[1]) or _headings(page) != _headings(earlier)


def decisive_key(evidence: Evidence) -> int:
    """Return a number by which pages of one site can be told apart without comparing all keys.

    Two pages of one site with numbers that are not 0, have the same lowest bit, and are different,
    have different names. It is 0 for a page about which it tells nothing.
    """
    heading, title = evidence.heading, evidence.title
    unused_bits = 8 * (KEY_BYTES - _BASE_BYTES)
    if heading:
        is_one = len(heading) <= KEY_BYTES + 1 and not _flags(heading) & _IS_WEAK
        return int.from_bytes(heading[:_BASE_BYTES], "big") << unused_bits | 1 if is_one else 0
    if title and title[:KEY_BYTES] == _whole(title):
        return int.from_bytes(title[:_BASE_BYTES], "big") << unused_bits
    return 0


def name_of_record(texts: Mapping[str, str]) -> str:
    """Return the name of a record: its first text in a field of `NAME_FIELDS`, or ``""``.

    :param texts: field → text, for the fields that the text of the record consists of.
    """
    return next((text for field in NAME_FIELDS if (text := texts.get(field, ""))), "")


def _agree(one: Evidence, other: Evidence) -> bool | None:
    """Return whether names agree, if an unknown site is no other site and diacritics count."""
    headings, other_headings = _strong_headings(one, other)
    brand, other_brand = _brand(one.title), _brand(other.title)
    if (one.site and other.site and one.site != other.site) or (
        brand
        and other_brand
        and brand != other_brand
        and _flags(one.title) & _flags(other.title) & _BRAND_IS_USED
    ):
        return _agree_across(one, other)
    if headings and other_headings:
        if not (headings <= other_headings or other_headings <= headings):
            return False
        agree = _titles_agree(one.title, other.title)
        is_first = one.heading[:KEY_BYTES] == other.heading[:KEY_BYTES]
        return None if agree and not is_first else agree
    titles, other_titles = _title_forms(one), _title_forms(other)
    if not (headings or titles) or not (other_headings or other_titles):
        return True
    if titles and other_titles and not titles.isdisjoint(other_titles):
        return True
    return not headings.isdisjoint(other_titles) or not other_headings.isdisjoint(titles)


def _may_be_syndicated(one: Evidence, other: Evidence) -> bool:
    """Return True if a page of an unknown site may be one of another site, and share a headline or
    a text with it: as far as their names tell, which are headlines.
    """
    flags, other_flags = _name_flags(one), _name_flags(other)
    if one.site and other.site:
        return False
    headings, other_headings = _strong_headings(one, other)
    if not headings.isdisjoint(other_headings):
        is_headline = _flags(one.heading) & _flags(other.heading) & _IS_HEADLINE
        return bool(is_headline) and _brand(one.title) != _brand(other.title)
    # Pages of one site with headings of their own are the rule where no site is known.
    is_certain = decisive_key(one) and decisive_key(other)
    is_known = bool(one.site or other.site)
    is_headline = (flags | other_flags) & _IS_HEADLINE and not (flags | other_flags) & _IS_USED
    return bool(is_known and is_headline and not is_certain)


def _agree_but_diacritics(one: Evidence, other: Evidence) -> bool:
    """Return True if names agree but for diacritics, of which one page has none in its names."""
    plain, other_plain = _without_diacritics(one), _without_diacritics(other)
    has_lost = (plain == one) != (other_plain == other)
    return has_lost and _agree(plain, other_plain) is not False


def _without_diacritics(evidence: Evidence) -> Evidence:
    """Return evidence with the names as if they had no diacritics."""

    def plain(name: bytes) -> bytes:
        end = len(name) - len(name) % KEY_BYTES
        keys = (name[at : at + _BASE_BYTES] for at in range(0, end, KEY_BYTES))
        return b"".join(key + _NO_DIACRITICS for key in keys) + name[end:]

    return evidence._replace(title=plain(evidence.title), heading=plain(evidence.heading))


def _agree_across(one: Evidence, other: Evidence) -> bool | None:
    headings, other_headings = _strong_headings(one, other)
    titles, other_titles = _title_forms(one), _title_forms(other)
    names, other_names = headings | titles, other_headings | other_titles
    flags, other_flags = _name_flags(one), _name_flags(other)
    if not names or not other_names:
        return True
    if names.isdisjoint(other_names):
        if flags & other_flags & _IS_USED:
            return False
        is_used = (flags | other_flags) & _IS_USED
        return True if flags & other_flags & _IS_HEADLINE and not is_used else None
    if not titles or not other_titles or _whole(one.title) == _whole(other.title):
        return True
    # The headings are the same, and the titles are not, at least in the names of the sites.
    is_headline = flags & other_flags & _IS_HEADLINE
    if flags & other_flags & (_BRAND_IS_USED | _WORD_IS_USED):
        return None if is_headline else False
    beyond, other_beyond = _beyond(one.title), _beyond(other.title)
    contradict = _NO_KEY not in (beyond, other_beyond) and beyond != other_beyond
    return None if contradict and not is_headline else True


def _titles_agree(one: bytes, other: bytes) -> bool | None:
    """Return whether titles of pages with the same headings agree, as `names_agree` does."""
    if not one or not other:
        return True
    if one[:KEY_BYTES] == other[:KEY_BYTES] or _whole(one) == _whole(other):
        return True
    beyond, other_beyond = _beyond(one), _beyond(other)
    if beyond == other_beyond:
        return True
    if _NO_KEY in (beyond, other_beyond):
        flags = _flags(one) | _flags(other)
        if flags & _BEYOND_IS_USED:  # what only one title says is no name of the site
            return False
        # A title of heading and affix is that of a print version with the heading alone.
        return True if flags & _HAS_AFFIX else None
    return None if _flags(one) & _flags(other) & _IS_LONG else False


def _whole(title: bytes) -> bytes:
    """Return the key of the whole title."""
    return title[KEY_BYTES : 2 * KEY_BYTES] if len(title) >= 3 * KEY_BYTES else title[:KEY_BYTES]


def _beyond(title: bytes) -> bytes:
    """Return the key of what a title says beyond the headings."""
    return title[2 * KEY_BYTES : 3 * KEY_BYTES] or _NO_KEY


def _strong_headings(one: Evidence, other: Evidence) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Return the headings of two pages; none of a page that alone has weak ones which differ."""
    headings, other_headings = _headings(one), _headings(other)
    is_weak, other_is_weak = _flags(one.heading) & _IS_WEAK, _flags(other.heading) & _IS_WEAK
    if is_weak != other_is_weak and headings.isdisjoint(other_headings):
        if is_weak:
            return frozenset(), other_headings
        return headings, frozenset()
    return headings, other_headings


def _headings(evidence: Evidence) -> frozenset[bytes]:
    heading = evidence.heading
    return frozenset(heading[at : at + KEY_BYTES] for at in range(0, len(heading) - 1, KEY_BYTES))


def _title_forms(evidence: Evidence) -> frozenset[bytes]:
    title = evidence.title
    return frozenset((title[:KEY_BYTES], _whole(title))) if title else frozenset()


def _stored(keys: Iterable[bytes], flags: int, brand: int = 0) -> bytes:
    trailer = bytes((flags, brand)) if brand else bytes((flags,)) if flags else b""
    return b"".join(keys) + trailer


def _flags(name: bytes) -> int:
    rest = len(name) % KEY_BYTES
    return name[-rest] if rest else 0


def _name_flags(evidence: Evidence) -> int:
    return _flags(evidence.heading) | _flags(evidence.title)


def _brand(title: bytes) -> int:
    """Return the byte that stands for the name of the site in a title; 0 if it has none."""
    return title[-1] if len(title) % KEY_BYTES == 2 else 0  # noqa: PLR2004 - flags and brand


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


def _use(names: Sequence[str], text: str) -> int:
    """Return the flags that tell whether a text uses one of the names, and if one is long."""
    longest = max((len(name_tokens(name)) for name in names), default=0)
    return (_IS_HEADLINE if longest >= _MIN_HEADLINE_TOKENS else 0) | (
        _IS_USED if any(_is_used(name, text) for name in names) else 0
    )


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


def _turned(title: str) -> str:
    """Return a title with its only long part first, as if the parts stood in a circle.

    Sites move their name from one end to the other.
    """
    parts = parts_of(title)
    long = [at for at, part in enumerate(parts) if len(name_tokens(part)) >= _MIN_HEADLINE_TOKENS]
    if len(long) != 1 or not long[0]:
        return title
    return " | ".join(parts[long[0] :] + parts[: long[0]])


def _key(tokens: Sequence[str]) -> bytes:
    """Return the hash of tokens; zeros for none."""
    if not tokens:
        return _NO_KEY
    name = "\0".join(tokens)
    plain = name if name.isascii() else without_diacritics(name)
    marks = _NO_DIACRITICS if plain == name else _digest(name)[_BASE_BYTES:]
    return _digest(plain)[:_BASE_BYTES] + marks


def _digest(text: str) -> bytes:
    return xxh3_64_digest(text.encode("utf-8", "surrogatepass"))
