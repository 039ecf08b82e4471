"""Agreement: may two pages have the same name?

`scrapy_simhash.names` says how the names are stored that are compared here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.names import (
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
    if heading:
        is_one = len(heading) <= KEY_BYTES + 1 and not _flags(heading) & IS_WEAK
        return int.from_bytes(heading[:BASE_BYTES], "big") | 1 if is_one else 0
    if title and title[:KEY_BYTES] == _whole(title):
        return int.from_bytes(title[:BASE_BYTES], "big") & ~1
    return 0


def _agree(one: Evidence, other: Evidence) -> bool | None:
    """Return whether names agree, if an unknown site is no other site and diacritics count."""
    headings, other_headings = _strong_headings(one, other)
    if (one.site and other.site and one.site != other.site) or _have_own_brands(one, other):
        return _agree_across(one, other)
    if headings and other_headings:
        if not (headings <= other_headings or other_headings <= headings):
            return False
        agree = _titles_agree(one, other)
        is_first = one.heading[:KEY_BYTES] == other.heading[:KEY_BYTES]
        return None if agree and not is_first else agree
    titles, other_titles = _title_forms(one), _title_forms(other)
    if not (headings or titles) or not (other_headings or other_titles):
        return True
    if titles and other_titles and not titles.isdisjoint(other_titles):
        return True
    return not headings.isdisjoint(other_titles) or not other_headings.isdisjoint(titles)


def _have_own_brands(one: Evidence, other: Evidence) -> bool:
    """Return True if two pages name different sites, and each text uses the name."""
    brands = _brand(one.title), _brand(other.title)
    is_used = _flags(one.title) & _flags(other.title) & BRAND_IS_USED
    return all(brands) and brands[0] != brands[1] and is_used > 0


def _may_be_syndicated(one: Evidence, other: Evidence) -> bool:
    """Return True if a page of an unknown site may be one of another site, and share a headline or
    a text with it: as far as their names tell, which are headlines.
    """
    flags, other_flags = _name_flags(one), _name_flags(other)
    if one.site and other.site:
        return False
    headings, other_headings = _strong_headings(one, other)
    if not headings.isdisjoint(other_headings):
        is_headline = _flags(one.heading) & _flags(other.heading) & IS_HEADLINE
        return bool(is_headline) and _brand(one.title) != _brand(other.title)
    # Pages of one site have their names in the same place.
    is_elsewhere = (_flags(one.heading) ^ _flags(other.heading)) & IS_WEAK
    is_known = one.site or other.site
    is_headline = (flags | other_flags) & IS_HEADLINE and not (flags | other_flags) & IS_USED
    return bool(is_known and is_headline and is_elsewhere)


def _agree_but_diacritics(one: Evidence, other: Evidence) -> bool:
    """Return True if names agree but for diacritics, which one page has lost: it has none, neither
    in its names nor in its text, and the other page has some in both.
    """
    are_in_text = tuple(_name_flags(page) & HAS_DIACRITICS > 0 for page in (one, other))
    if are_in_text[0] == are_in_text[1]:
        return False
    plain, other_plain = _without_diacritics(one), _without_diacritics(other)
    has_marks = plain != one, other_plain != other
    return has_marks == are_in_text and _agree(plain, other_plain) is not False


def _without_diacritics(evidence: Evidence) -> Evidence:
    """Return evidence with the names as if they had no diacritics."""

    def plain(name: bytes) -> bytes:
        end = len(name) - len(name) % KEY_BYTES
        keys = (name[at : at + BASE_BYTES] for at in range(0, end, KEY_BYTES))
        return b"".join(key + NO_DIACRITICS for key in keys) + name[end:]

    return evidence._replace(title=plain(evidence.title), heading=plain(evidence.heading))


def _agree_across(one: Evidence, other: Evidence) -> bool | None:
    headings, other_headings = _strong_headings(one, other)
    titles, other_titles = _title_forms(one), _title_forms(other)
    names, other_names = headings | titles, other_headings | other_titles
    flags, other_flags = _name_flags(one), _name_flags(other)
    if not names or not other_names:
        return True
    if names.isdisjoint(other_names):
        if flags & other_flags & IS_USED:
            return False
        is_used = (flags | other_flags) & IS_USED
        return True if flags & other_flags & IS_HEADLINE and not is_used else None
    is_headline = flags & other_flags & IS_HEADLINE
    if not titles or not other_titles:
        return True
    if _whole(one.title) == _whole(other.title):
        differ = _have_own_brands(one, other) and not is_headline
    else:
        differ = flags & other_flags & (BRAND_IS_USED | WORD_IS_USED) > 0
    if differ:  # each text names a firm, or a site that puts its name beside a shared headline
        return None if is_headline else False
    contradict = NO_KEY not in (_beyond(one.title), _beyond(other.title)) and (
        _beyond(one.title) != _beyond(other.title)
    )
    return None if contradict and not is_headline else True


def _titles_agree(page: Evidence, other_page: Evidence) -> bool | None:
    """Return whether titles of pages with the same headings agree, as `names_agree` does."""
    one, other = page.title, other_page.title
    if not one or not other:
        return True
    if one[:KEY_BYTES] == other[:KEY_BYTES] or _whole(one) == _whole(other):
        return True
    beyond, other_beyond = _beyond(one), _beyond(other)
    if beyond == other_beyond:
        return True
    if NO_KEY in (beyond, other_beyond):
        flags = _flags(one) | _flags(other)
        if flags & BEYOND_IS_USED:  # what only one title says is no name of the site
            return False
        # A title of heading and affix is that of a print version with the heading alone, unless the
        # name of the site is known.
        short = one if beyond == NO_KEY else other
        return True if flags & HAS_AFFIX and short[:KEY_BYTES] == _whole(short) else None
    return None if _flags(page.heading) & _flags(other_page.heading) & IS_LONG else False


def _whole(title: bytes) -> bytes:
    """Return the key of the whole title."""
    return title[KEY_BYTES : 2 * KEY_BYTES] if len(title) >= 3 * KEY_BYTES else title[:KEY_BYTES]


def _beyond(title: bytes) -> bytes:
    """Return the key of what a title says beyond the headings."""
    return title[2 * KEY_BYTES : 3 * KEY_BYTES] or NO_KEY


def _strong_headings(one: Evidence, other: Evidence) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Return the headings of two pages; none of a page that alone has weak ones which differ."""
    headings, other_headings = _headings(one), _headings(other)
    is_weak, other_is_weak = _flags(one.heading) & IS_WEAK, _flags(other.heading) & IS_WEAK
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


def _flags(name: bytes) -> int:
    rest = len(name) % KEY_BYTES
    return name[-rest] if rest else 0


def _name_flags(evidence: Evidence) -> int:
    return _flags(evidence.heading) | _flags(evidence.title)


def _brand(title: bytes) -> int:
    """Return the byte that stands for the name of the site in a title; 0 if it has none."""
    return title[-1] if len(title) % KEY_BYTES == 2 else 0  # noqa: PLR2004 - flags and brand
