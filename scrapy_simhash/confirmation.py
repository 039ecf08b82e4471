"""Confirmation: are two pages with near fingerprints copies of each other?

Long texts in one language may have near fingerprints by chance, and pages of one template have
them by design. Two checks tell copies from such pages: the estimated resemblance of the texts
(`scrapy_simhash.sketch`) and, for two pages of one site, the names of the pages. Products,
timetables or job offers of one template have names of their own, while copies keep their name.

`scrapy_simhash.index.rules.classify` makes the verdict from these checks.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from scrapy_simhash.folding import normalize
from scrapy_simhash.links import MIN_SHARED, shared_targets
from scrapy_simhash.sketch import estimate_resemblance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.evidence import Evidence

DEFAULT_MIN_RESEMBLANCE = 0.6
# Lower limit of the resemblance of two pages whose names leave a doubt.
MIN_RESEMBLANCE_IN_DOUBT = 0.85
NAME_FIELDS = ("title", "name", "headline")
"""The fields that may contain the name of a record; the first one with a text is used."""
_MAX_NAME_TOKENS = 32
_IN_WORDS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
# Words with the signs that distinguish names: C++, A-, 3.11, 50%.
_NAME_TOKEN = re.compile(f"(?:[^\\W_]|[{_IN_WORDS}]|(?<=\\d)[.,:/](?=\\d))+(?:[+#%°]|-(?!\\w))*")
_HAS_DIGIT = 1  # the bit of a hash that is set if its word contains a digit


@dataclass(frozen=True)
class Confirmation:
    """The conditions that confirm a copy.

    :param min_resemblance: lower limit of the estimated resemblance, from 0 to 1.
    :param same_name: compare names, too. Pages with different names are no copies. If `names_agree`
        returns None, the lower limit of the resemblance is at least 0.85.

    Unless both conditions are off, pages whose links lead elsewhere are no copies, either.
    """

    min_resemblance: float = DEFAULT_MIN_RESEMBLANCE
    same_name: bool = True

    def compare(self, page: Evidence, other: Evidence) -> tuple[float | None, bool]:
        """Return (the estimated resemblance of two pages, True if they are copies).

        The resemblance is None if a sketch is missing, or the sketches have different sizes. The
        pages are then copies unless their names differ.
        """
        one, two = page.sketch, other.sketch
        estimate = estimate_resemblance(one, two) if one and len(one) == len(two) else None
        if (self.same_name or self.min_resemblance) and lead_elsewhere(page, other):
            return estimate, False
        agree = names_agree(page, other) if self.same_name else True
        if agree is False:
            return estimate, False
        in_doubt = MIN_RESEMBLANCE_IN_DOUBT if agree is None else 0.0
        return estimate, estimate is None or estimate >= max(self.min_resemblance, in_doubt)


UNCONFIRMED = Confirmation(min_resemblance=0.0, same_name=False)
"""Every page within k counts as a copy, as in Manku et al. (WWW 2007)."""


def names_agree(one: Evidence, other: Evidence) -> bool | None:
    """Return True if two pages have the same name, False if not, and None if in doubt.

    - Names of pages of different sites always agree, because sites change the headlines of news.
      A page whose site is unknown may be of any site, so its name counts.
    - If both pages have a heading, the headings decide: a site may give all pages one title.
    - If only one page has a heading, and it equals the title of the other page, the names agree.
    - Otherwise the titles decide. If a page has no title, the names agree.
    - Added words without digits, or swapped parts, leave a doubt: a print version adds words, but
      so does the next model of a product.
    - Equal headings under different titles leave a doubt: the heading may be that of a section.
    """
    if one.site and other.site and one.site != other.site:
        return True
    headings = _agree(one.heading, other.heading)
    titles = _agree(one.title, other.title) if one.title and other.title else True
    if not (one.heading and other.heading):
        # A print version may have the heading as its title.
        heading, title = (one.heading, other.title) if one.heading else (other.heading, one.title)
        return True if heading and heading == title else titles
    if headings and titles is False:
        return None
    return headings


def lead_elsewhere(one: Evidence, other: Evidence) -> bool:
    """Return True if the own links of two pages hardly share a target.

    A listing is what it leads to. On another site, all links may lead elsewhere, and a page with
    few links of its own has no sketch of them: then the result is False.
    """
    if not (one.links and other.links) or (one.site and other.site and one.site != other.site):
        return False
    return shared_targets(one.links, other.links) < MIN_SHARED


def _agree(one: bytes, other: bytes) -> bool | None:
    """Return True for equal names, None if one name may be a form of the other, else False.

    A form has added words without digits, or swapped parts (``Site - Page``, ``Page - Site``).
    """
    if one == other:
        return True
    if len(one) == len(other):
        doubled = _name_tokens(one) * 2  # contains each order of two swapped parts
        tokens = _name_tokens(other)
        starts = range(len(tokens))
        return None if any(doubled[at : at + len(tokens)] == tokens for at in starts) else False
    shorter, longer = sorted((_name_tokens(one), _name_tokens(other)), key=len)
    expected = iter(shorter)
    token = next(expected, None)
    for other_token in longer:
        if other_token == token:
            token = next(expected, None)
        elif other_token & _HAS_DIGIT:
            return False  # another page, part or model
    return None if token is None and shorter else False


def name_of_record(texts: Mapping[str, str]) -> str:
    """Return the name of a record: its first text in a field of `NAME_FIELDS`, or ``""``.

    :param texts: field → text, for the fields that the text of the record consists of.
    """
    return next((text for field in NAME_FIELDS if (text := texts.get(field, ""))), "")


def name_bytes(text: str) -> bytes:
    """Return the first 32 words of a name, in order, as 16-bit hashes.

    The lowest bit of a hash is set if the word contains a digit.
    """
    folded = normalize(text)
    tokens = _NAME_TOKEN.findall(folded) or folded.split()
    numbers = []
    for token in tokens[:_MAX_NAME_TOKENS]:
        number = xxh3_64_intdigest(token.encode("utf-8", "surrogatepass")) & 0xFFFF & ~_HAS_DIGIT
        numbers.append(number | (_HAS_DIGIT if any(map(str.isdigit, token)) else 0))
    return struct.pack(f">{len(numbers)}H", *numbers)


def site_number(site: str) -> int:
    """Return a 32-bit number for the name of a site, such as its registered domain; 0 for ``""``.

    About one pair of sites in four billion shares a number.
    """
    return xxh3_64_intdigest(site.encode("utf-8", "surrogatepass")) >> 32 if site else 0


def _name_tokens(name: bytes) -> tuple[int, ...]:
    return struct.unpack_from(f">{len(name) // 2}H", name)
