"""Agreement: may two pages have the same name?

`scrapy_simhash.names.names` says how the names are stored that are compared here.
"""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_simhash.names.names import (
    BASE_BYTES,
    BEYOND_IS_USED,
    BRAND_IS_USED,
    HAS_AFFIX,
    HAS_DIACRITICS,
    IS_HEADLINE,
    IS_LONG,
    IS_USED,
    IS_WEAK,
    KEY_BYTES,
    NO_DIACRITICS,
    NO_KEY,
    WORD_IS_USED,
)

if TYPE_CHECKING:
    from scrapy_simhash.evidence import Evidence


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
    - There is a doubt instead of a difference if only one page has diacritics, in its names and in
      its text, and the names agree without them; and if the site of one page is unknown, the names
      are headlines that no text uses, and one page has no heading of its own, or only one title has
      the name of a site.

    Sites give the news that they share headlines of their own. So pages of different sites may have
    different names if both are headlines: at least five words that the text does not use as they
    are. If none is a headline, or if each text uses the name of its page, as that of a hotel or a
    firm does, the names differ. Otherwise there is a doubt. The heading of a page is its name, if
    it has its own. Names with the same short heading differ if the titles do,
    and each text uses a word that only its title has, such as the name of a firm; there is a doubt
    if only the titles say different things beyond the heading.
    Pages whose titles contain different names of a site, which their texts use, count as pages of
    different sites.
    """
    first, second = _named_both(one, other)
    agree = _agree(first, second)
    in_doubt = agree is False and (
        _may_be_syndicated(first, second) or _agree_but_diacritics(one, other)
    )
    return None if in_doubt else agree


def is_renamed(page: Evidence, earlier: Evidence) -> bool:
    """Return True if a page has another title or other headings than in an earlier crawl."""
    one, other = (_named(0, each.title, each.heading) for each in (page, earlier))
    has_titles = one.titles and other.titles
    return bool(has_titles and one.own != other.own) or one.headings != other.headings


def decisive_key(evidence: Evidence) -> int:
    """Return a number by which pages of one site can be told apart without comparing all keys.

    Two pages of one site with numbers that are not 0, have the same lowest bit, and are different,
    have different names. It is 0 for a page about which it tells nothing.
    """
    headings, flags, _ = _read(evidence.heading)
    if headings:
        is_one = len(headings) == 1 and not flags & IS_WEAK
        return int.from_bytes(headings[0][:BASE_BYTES], "big") | 1 if is_one else 0
    own = (_read(evidence.title)[0] * 2)[:2]  # the title without the site, and with it
    return int.from_bytes(own[0][:BASE_BYTES], "big") & ~1 if own and own[0] == own[1] else 0


class _Named:
    """The names of a page as its evidence has them, or as if they had no diacritics (`is_plain`).

    :ivar first: the first heading.
    :ivar own: the title without what names the site or a view; `whole`: the whole title.
    :ivar beyond: what the title says beyond the headings.
    :ivar brand: stands for the name of the site in the title; 0 if it has none.
    """

    def __init__(self, site: int, title: bytes, heading: bytes, *, is_plain: bool = False) -> None:
        self.site = site
        headings, self.heading_flags, _ = _read(heading, is_plain=is_plain)
        titles, self.title_flags, self.brand = _read(title, is_plain=is_plain)
        self.flags = self.heading_flags | self.title_flags
        self.is_weak = self.heading_flags & IS_WEAK > 0
        self.first, self.headings = next(iter(headings), b""), frozenset(headings)
        self.own, self.whole, self.beyond = (
            titles[:3] if titles[1:] else (*(titles or [b""]) * 2, NO_KEY)
        )
        self.titles = frozenset(titles[:2])

    @property
    def names(self) -> frozenset[bytes]:
        return self.headings | self.titles

    def known_as(self) -> tuple[frozenset[bytes], bool]:
        """Return the headings, as a title may be general ("Welcome"), or without them all names;
        and whether one of these is a headline.
        """
        if self.headings and not self.is_weak:
            return self.headings, self.heading_flags & IS_HEADLINE > 0
        return self.names, self.flags & IS_HEADLINE > 0


# A page of a template is compared with dozens of others at once.
_named = lru_cache(maxsize=4096)(_Named)


def _read(name: bytes, *, is_plain: bool = False) -> tuple[list[bytes], int, int]:
    """Return the keys of a stored name, its flags, and the byte for the name of the site."""
    end = len(name) - len(name) % KEY_BYTES
    flags, brand, *_ = *name[end:], 0, 0
    keys = [name[at : at + KEY_BYTES] for at in range(0, end, KEY_BYTES)]
    return [key[:BASE_BYTES] + NO_DIACRITICS for key in keys] if is_plain else keys, flags, brand


def _named_both(
    page: Evidence, other_page: Evidence, *, is_plain: bool = False
) -> tuple[_Named, _Named]:
    """Return the names of two pages; no headings of one that alone has weak ones which differ."""
    both = (page, other_page)
    one, other = (_named(x.site, x.title, x.heading, is_plain=is_plain) for x in both)
    if one.is_weak != other.is_weak and one.headings.isdisjoint(other.headings):
        one, other = (copy(named) if named.is_weak else named for named in (one, other))
        (one if one.is_weak else other).headings = frozenset()
    return one, other


def _agree(one: _Named, other: _Named) -> bool | None:
    """Return whether names agree, if an unknown site is no other site and diacritics count."""
    if (one.site and other.site and one.site != other.site) or _have_own_brands(one, other):
        return _agree_across(one, other)
    if one.headings and other.headings:
        if not (one.headings <= other.headings or other.headings <= one.headings):
            return False
        agree = _titles_agree(one, other)
        return None if agree and one.first != other.first else agree
    if not one.names or not other.names:
        return True
    pairs = ((one.titles, other.titles), (one.headings, other.titles), (other.headings, one.titles))
    return not all(names.isdisjoint(other_names) for names, other_names in pairs)


def _have_own_brands(one: _Named, other: _Named) -> bool:
    """Return True if two pages name different sites, and each text uses the name."""
    is_used = one.title_flags & other.title_flags & BRAND_IS_USED > 0
    return bool(one.brand and other.brand and one.brand != other.brand and is_used)


def _may_be_syndicated(one: _Named, other: _Named) -> bool:
    """Return True if a page of an unknown site may be one of another site, and share a headline or
    a text with it: as far as their names tell, which are headlines.
    """
    if one.site and other.site:
        return False
    if not one.headings.isdisjoint(other.headings):
        is_headline = one.heading_flags & other.heading_flags & IS_HEADLINE
        return bool(is_headline) and one.brand != other.brand
    flags = one.flags | other.flags
    # Pages of one site have their names in the same place.
    is_elsewhere = one.is_weak != other.is_weak
    is_headline = flags & IS_HEADLINE and not flags & IS_USED
    return bool((one.site or other.site) and is_headline and is_elsewhere)


def _agree_but_diacritics(page: Evidence, other_page: Evidence) -> bool:
    """Return True if names agree but for diacritics, which one page has lost: it has none, neither
    in its names nor in its text, and the other page has some in both.
    """
    both = [_named(each.site, each.title, each.heading) for each in (page, other_page)]
    are_in_text = [named.flags & HAS_DIACRITICS > 0 for named in both]
    return (
        are_in_text[0] != are_in_text[1]
        and are_in_text == [any(map(_has_marks, (*each.names, each.beyond))) for each in both]
        and _agree(*_named_both(page, other_page, is_plain=True)) is not False
    )


def _has_marks(key: bytes) -> bool:
    return any(key[BASE_BYTES:])


def _agree_across(one: _Named, other: _Named) -> bool | None:
    if not one.names or not other.names:
        return True
    both = one.flags & other.flags
    (names, is_long), (other_names, other_is_long) = one.known_as(), other.known_as()
    is_headline = is_long and other_is_long
    if names.isdisjoint(other.names) and other_names.isdisjoint(one.names):
        if both & IS_USED or not (is_long or other_is_long):
            return False
        return True if is_headline and not (one.flags | other.flags) & IS_USED else None
    if not one.titles or not other.titles:
        return True
    if one.whole == other.whole:
        differ = _have_own_brands(one, other) and not is_headline
    else:
        differ = both & (BRAND_IS_USED | WORD_IS_USED) > 0
    if differ:  # each text names a firm, or a site that puts its name beside a shared headline
        return None if is_headline else False
    contradict = one.beyond != other.beyond and NO_KEY not in (one.beyond, other.beyond)
    return None if contradict and not is_headline else True


def _titles_agree(one: _Named, other: _Named) -> bool | None:
    """Return whether titles of pages with the same headings agree, as `names_agree` does."""
    if not one.titles or not other.titles or one.beyond == other.beyond:
        return True
    if one.own == other.own or one.whole == other.whole:
        return True
    if NO_KEY in (one.beyond, other.beyond):
        flags = one.title_flags | other.title_flags
        if flags & BEYOND_IS_USED:  # what only one title says is no name of the site
            return False
        # A title of heading and affix is that of a print version with the heading alone, unless the
        # name of the site is known.
        short = one if one.beyond == NO_KEY else other
        return True if flags & HAS_AFFIX and short.own == short.whole else None
    return None if one.heading_flags & other.heading_flags & IS_LONG else False
