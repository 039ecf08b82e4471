"""Select the pages that a report lists, and group them into components.

A *component* is a set of pages that are connected by distances of at most k. The clusters of any
smaller k lie within components.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.maintenance.duplication import IndexCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.index.base import NearDuplicate
    from scrapy_simhash.maintenance.duplication import Duplication
    from scrapy_simhash.maintenance.sources import Source


class ListedPage(NamedTuple):
    """A page as a report shows it; `came` is its position in crawl order.

    :param seen_at_s: Unix time when it was first seen.
    :param distance: distance to the representative; it may exceed k if this representative
        replaced an earlier one.
    :param similarity: estimated resemblance to the representative, from 0 to 1; None if unknown.
    """

    came: int
    key: str
    fingerprint: int
    seen_at_s: int
    representative: str
    distance: int = 0
    similarity: float | None = None


class LeftOut(NamedTuple):
    """The counts of what is omitted to keep the report small.

    :param clusters: clusters without any listed page.
    :param shortened: clusters with only their oldest pages listed.
    :param near_duplicates: omitted near-duplicates of both.
    """

    clusters: int
    shortened: int
    near_duplicates: int


class Selection(NamedTuple):
    """The listed pages in crawl order, and the component number of each.

    :param sizes: number of near-duplicates of each representative whose cluster is shortened.
    """

    pages: list[ListedPage]
    components: list[int]
    sizes: dict[str, int]
    left_out: LeftOut

    def representatives(self) -> list[int]:
        """Return the position of each page's representative; its own if it is one."""
        return _positions(self.pages)


def select(source: Source, doubled: Duplication, max_distance: int, max_pages: int) -> Selection:
    """Return the pages of all components with at least two pages.

    :param max_distance: k of the components.
    :param max_pages: upper limit for listed pages; beyond it, the largest clusters are shortened.
    """
    from scrapy_simhash.clustering import cluster

    shown, left_out = _shortened(doubled.clusters, max_pages)
    near = {
        line.key: (line, found.representative) for found in shown for line in found.near_duplicates
    }
    representatives = {found.representative for found in shown}
    # A representative without near-duplicates may still be within k of another near-duplicate.
    if doubled.representatives + doubled.near_duplicates <= max_pages:
        representatives.update(entry.key for entry in source.entries() if entry.key not in near)
        representatives.update(line.key for line in doubled.promoted)
    promoted = {line.key: line for line in doubled.promoted if line.key in representatives}
    pages = [
        ListedPage(entry.number, entry.key, entry.fingerprint, entry.first_seen_s, entry.key)
        for entry in source.entries()
        if entry.key in representatives and entry.key not in promoted
    ]
    pages += [_listed(line, line.key, doubled) for line in promoted.values()]
    pages += [_listed(line, representative, doubled) for line, representative in near.values()]
    pages.sort()
    components = cluster(
        [page.fingerprint for page in pages],
        bits=source.manifest.scheme.bits,
        max_distance=max_distance,
        method="connected",
    ).representative.tolist()
    # The tables may miss a pair that a crawl found. Also, a page may be farther than k from the
    # page that replaced its representative.
    components = _joined(components, _positions(pages))
    sizes = Counter(components)
    listed = [number for number, component in enumerate(components) if sizes[component] > 1]
    return Selection(
        [pages[number] for number in listed],
        [components[number] for number in listed],
        {
            found.representative: len(found) - 1
            for found, part in zip(doubled.clusters, shown, strict=False)
            if len(part) < len(found)
        },
        left_out,
    )


def _listed(line: NearDuplicate, representative: str, doubled: Duplication) -> ListedPage:
    page = ListedPage(
        line.sequence, line.key, line.fingerprint, doubled.first_seen_s(line), representative
    )
    if line.key == representative:  # it replaced a removed representative
        return page
    return page._replace(distance=line.distance, similarity=line.similarity)


def _shortened(
    clusters: Sequence[IndexCluster], max_pages: int
) -> tuple[list[IndexCluster], LeftOut]:
    """Shorten the largest clusters until all fit into `max_pages`; omit clusters as a last resort.

    Return the clusters, largest first, and the counts of what is omitted.
    """
    sizes = [len(found) for found in clusters]
    if sum(sizes) <= max_pages:
        return list(clusters), LeftOut(0, 0, 0)
    lengths = range(2, max(sizes) + 1)
    fitting = bisect_right(
        lengths, max_pages, key=lambda longest: sum(min(size, longest) for size in sizes)
    )
    longest = lengths[max(fitting - 1, 0)]
    shown = [
        IndexCluster(found.representative, found.near_duplicates[: longest - 1])
        for found in clusters[: max_pages // 2]
    ]
    listed = sum(map(len, shown))
    return shown, LeftOut(
        clusters=len(clusters) - len(shown),
        shortened=sum(size > longest for size in sizes[: len(shown)]),
        near_duplicates=sum(sizes) - len(clusters) - (listed - len(shown)),
    )


def _positions(pages: Sequence[ListedPage]) -> list[int]:
    numbers = {page.key: number for number, page in enumerate(pages)}
    return [numbers[page.representative] for page in pages]


def _joined(components: list[int], representatives: list[int]) -> list[int]:
    """Join the component of each page with that of its representative."""
    import numpy as np

    from scrapy_simhash.clustering.clusters import connect, earliest_members

    earlier = np.array(components, dtype=np.intp)
    everyone = np.arange(len(earlier))
    connect(earlier, everyone, np.array(representatives, dtype=np.intp))
    joined: list[int] = earliest_members(earlier, everyone).tolist()
    return joined
