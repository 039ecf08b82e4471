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
    """The result of a crawl, by URLs. Pairs are (page, its representative); see `score`.

    :param planted: crawled pages that should be reported.
    :param found: reported pairs of a planted page and a page of its family.
    :param missed: planted pages that were not reported.
    :param wrong: reported pairs whose pages are not of one family.
    """

    planted: list[str]
    found: list[Pair]
    missed: list[str]
    wrong: list[Pair]

    @property
    def recall(self) -> float:
        """The share of the planted pages that were found; 1.0 if no page was planted."""
        return len(self.found) / len(self.planted) if self.planted else 1.0


def score(
    reported: Iterable[Pair], crawled: Iterable[str], site: Site, *, calendar_limit: int = 4
) -> Score:
    """Compare the reported near-duplicates of a crawl with the planted ones.

    In each family, all crawled members except one, the *kept page*, count as planted. The kept page
    is the first member that was not reported. It may follow reported members, because concurrent
    responses may come in another order. If all members were reported, it is the first that was
    reported wrongly, or else the first. A planted page is found if it was reported with a
    representative of its family, and missed if it was not reported. A report is wrong if its two
    pages are not of one family, planted or not. Pages outside the site have no family.

    If a URL was reported several times, the last report counts. A page that is reported as a
    near-duplicate of itself was fetched twice: such reports are ignored.

    :param reported: pairs (URL of the reported page, URL of its representative).
    :param crawled: all fetched URLs, in the order of the crawl.
    :param calendar_limit: the calendar is endless, so only so many months count, the earliest
        first. Reports of later months count only if they are wrong.
    """
    reports = {url: representative for url, representative in reported if url != representative}
    family_of = {url: _family(site, url) for url in (*reports, *reports.values())}
    right = {
        url
        for url, representative in reports.items()
        if family_of[url] is not None and family_of[url] == family_of[representative]
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
    planted = [url for members in families.values() for url in _planted_in(members, reports, right)]
    return Score(
        planted=planted,
        found=[(url, reports[url]) for url in planted if url in right],
        missed=[url for url in planted if url not in reports],
        wrong=[pair for pair in reports.items() if pair[0] not in right],
    )


def families_of(site: Site, urls: Iterable[str]) -> set[str]:
    """Return the families of the pages at some URLs."""
    return {family for url in urls if (family := _family(site, url)) is not None}


def _planted_in(members: list[str], reports: dict[str, str], right: set[str]) -> list[str]:
    kept = min(members, key=lambda url: (url in reports, url in right), default=None)
    return [url for url in members if url != kept]


def _family(site: Site, url: str) -> str | None:
    page = site.page_at(url)
    return page.family if page else None
