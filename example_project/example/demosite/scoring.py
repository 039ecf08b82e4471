"""Count the planted near-duplicates that a crawl found."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .endless import CALENDAR_FAMILY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model import Site

Pair = tuple[str, str]


@dataclass(frozen=True)
class Score:
    """The outcome of a crawl, in URLs, each list in order of the crawl or of the report.

    planted: the crawled pages that were there to be found
    found:   the pairs (URL, representative) that name two pages of one family
    missed:  the planted pages that nobody reported
    wrong:   the pairs that name two pages of different families
    """

    planted: list[str]
    found: list[Pair]
    missed: list[str]
    wrong: list[Pair]

    @property
    def recall(self) -> float:
        """The share of the planted pages that were found; 1.0 where there was nothing to find."""
        return len(self.found) / len(self.planted) if self.planted else 1.0


def score(
    found: Iterable[Pair], crawled: Iterable[str], site: Site, *, calendar_limit: int = 4
) -> Score:
    """Compare what a crawl reported with what was planted.

    `found` has the pairs (URL of the reported page, URL of its representative), `crawled` all
    URLs that were fetched, the reported ones included, in the order of the crawl.

    In each family with n >= 2 crawled members, n - 1 count as planted: all but the one that
    was kept. This is the first member that was not reported, for with concurrent requests the
    order of the responses is not known for certain; failing that the first that was reported
    wrongly, failing that the first. A planted page is found if it was reported with a
    representative of its own family, and missed if it was not reported at all. A report that
    names a page of another family, or of no family, is wrong, whether or not its page was
    planted; a report of a page outside the site is wrong, too.

    Of the calendar, which has no end, only the first `calendar_limit` pages by month count, so
    that a long crawl of it cannot drown the rest; reports of later months are passed over unless
    they are wrong. Repeated URLs and repeated reports count once; the last report of a URL holds.
    A page reported as a near-duplicate of itself was fetched twice, which says nothing.
    """
    reports = {url: kept for url, kept in found if url != kept}
    family_of = {url: _family(site, url) for url in (*reports, *reports.values())}
    right = {
        url
        for url, kept in reports.items()
        if family_of[url] is not None and family_of[url] == family_of[kept]
    }
    families: dict[str, list[str]] = defaultdict(list)
    for url in dict.fromkeys((*crawled, *reports)):
        family = _family(site, url)
        if family is not None:
            families[family].append(url)
    if CALENDAR_FAMILY in families:
        months = families[CALENDAR_FAMILY]
        counted = set(sorted(months)[:calendar_limit])
        families[CALENDAR_FAMILY] = [url for url in months if url in counted]
    planted = [
        url for members in families.values() for url in _to_be_found(members, reports, right)
    ]
    return Score(
        planted=planted,
        found=[(url, reports[url]) for url in planted if url in right],
        missed=[url for url in planted if url not in reports],
        wrong=[pair for pair in reports.items() if pair[0] not in right],
    )


def families_of(site: Site, urls: Iterable[str]) -> set[str]:
    """Return the families that the URLs belong to."""
    return {family for url in urls if (family := _family(site, url)) is not None}


def _to_be_found(members: list[str], reports: dict[str, str], right: set[str]) -> list[str]:
    kept = min(members, key=lambda url: (url in reports, url in right), default=None)
    return [url for url in members if url != kept]


def _family(site: Site, url: str) -> str | None:
    page = site.page_at(url)
    return page.family if page else None
