"""Confirmation: are two pages with near fingerprints copies of each other?

Long texts in one language may have near fingerprints by chance, and pages of one template have
them by design. Three checks tell copies from such pages: the estimated resemblance of the texts
(`scrapy_simhash.sketch`), the names of the pages (`scrapy_simhash.names.agreement`), and the
identities that they declare (`scrapy_simhash.names.identities`).

`scrapy_simhash.index.rules.CrawlRules.judge` makes the verdict from these checks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from xxhash import xxh3_64_intdigest

from scrapy_simhash.content import content_differs
from scrapy_simhash.names.agreement import is_renamed, names_agree
from scrapy_simhash.names.identities import chosen_values_differ, identities_differ
from scrapy_simhash.sketch import MIN_SHARED, estimate_resemblance, shared_targets

if TYPE_CHECKING:
    from scrapy_simhash.evidence import Evidence

DEFAULT_MIN_RESEMBLANCE = 0.6
# Lower limit of the resemblance of two pages whose names leave a doubt.
MIN_RESEMBLANCE_IN_DOUBT = 0.85


Against = Literal[
    "", "distinct_by", "links", "identity", "name", "doubt", "resemblance", "content", "distance"
]
"""The rule that says that two pages are no copies; empty if they are.

``doubt``: their names leave a doubt, and they resemble each other too little for that.
``content``: of one page at two times, more than a typing error has changed. ``distance``: they are
not within k.
"""


class Comparison(NamedTuple):
    """The result of comparing two pages.

    :param similarity: their estimated resemblance, from 0 to 1; None if unknown.
    """

    similarity: float | None
    against: Against = ""

    @property
    def is_copy(self) -> bool:
        """Return True if nothing says that the pages are no copies."""
        return not self.against


@dataclass(frozen=True)
class Confirmation:
    """The conditions that confirm a copy.

    :param min_resemblance: lower limit of the estimated resemblance, from 0 to 1.
    :param same_name: compare names and identities, too. Pages with different names are no copies,
        and neither are pages that declare different identities. If `names_agree` returns None, the
        lower limit of the resemblance is at least 0.85.

    Unless both conditions are off, pages whose links lead elsewhere are no copies, either.
    """

    min_resemblance: float = DEFAULT_MIN_RESEMBLANCE
    same_name: bool = True

    def compare(self, page: Evidence, other: Evidence) -> Comparison:
        """Compare two pages.

        The resemblance is None if a sketch is missing, or the sketches have different sizes. The
        pages are then copies unless another rule says that they are not.
        """
        one, two = page.sketch, other.sketch
        estimate = estimate_resemblance(one, two) if one and len(one) == len(two) else None
        # Long texts that differ in one word may have equal sketches, too.
        against = self._tells_apart(page, other, is_same_text=estimate == 1)
        if estimate is None or against not in ("", "doubt"):
            return Comparison(estimate, "" if against == "doubt" else against)
        if estimate < self.min_resemblance:
            against = "resemblance"
        elif estimate >= MIN_RESEMBLANCE_IN_DOUBT:
            against = ""
        return Comparison(estimate, against)

    def _tells_apart(self, page: Evidence, other: Evidence, *, is_same_text: bool) -> Against:
        """Return the first rule that tells two pages apart, whatever their texts; or a doubt."""
        if (page.identity or other.identity) and chosen_values_differ(page, other):
            return "distinct_by"
        if (self.same_name or self.min_resemblance) and lead_elsewhere(page, other):
            return "links"
        if not self.same_name:
            return ""
        if identities_differ(page, other, is_same_text=is_same_text):
            return "identity"
        agree = names_agree(page, other)
        return "doubt" if agree is None else "" if agree else "name"

    def compare_versions(self, page: Evidence, earlier: Evidence) -> Comparison:
        """Compare a page with itself in an earlier crawl. It is a copy if nothing but a typing
        error is different. If an entry does not say what decides this, resemblance decides. After a
        change of SIMHASH_DISTINCT_BY, its values do not count.
        """
        without_names = replace(self, same_name=False)
        found = without_names.compare(page, earlier)
        if found.against == "distinct_by" and not identities_differ(page, earlier):
            bare = (one._replace(identity=b"") for one in (page, earlier))
            found = without_names.compare(*bare)
        if found.against or self == UNCONFIRMED:
            return found
        if content_differs(page.content, earlier.content):
            return found._replace(against="content")
        if self.same_name and page.content and earlier.content:
            if is_renamed(page, earlier):
                return found._replace(against="name")
            if identities_differ(page, earlier, is_same_text=True):
                return found._replace(against="identity")
        return found


UNCONFIRMED = Confirmation(min_resemblance=0.0, same_name=False)
"""Every page within k counts as a copy, as in Manku et al. (WWW 2007)."""


def lead_elsewhere(one: Evidence, other: Evidence) -> bool:
    """Return True if the own links of two pages hardly share a target.

    A listing is what it leads to. On another site, all links may lead elsewhere, and a page with
    few links of its own has no sketch of them: then the result is False.
    """
    if not (one.links and other.links) or (one.site and other.site and one.site != other.site):
        return False
    return shared_targets(one.links, other.links) < MIN_SHARED


def site_number(site: str) -> int:
    """Return a 32-bit number for the name of a site, such as its registered domain; 0 for ``""``.

    About one pair of sites in four billion shares a number.
    """
    return xxh3_64_intdigest(site.encode("utf-8", "surrogatepass")) >> 32 if site else 0
