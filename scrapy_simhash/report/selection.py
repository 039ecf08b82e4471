"""Select the pages that a report lists: those of the clusters, as crawls found them."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.maintenance.duplication import IndexCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simhash.maintenance.duplication import Duplication
    from scrapy_simhash.maintenance.sources import Source


class ListedPage(NamedTuple):
    """A page as a report lists it.

    :param sequence: sequence number, by which pages are sorted in crawl order.
    :param seen_at_s: Unix time when the page was first seen.
    :param representative: key of its representative; its own key if it is a representative.
    :param distance: distance to the representative; may exceed k if the crawl compared the page
        with a former representative.
    :param similarity: estimated resemblance to the representative, from 0 to 1; None if unknown.
    :param title: what the page is called, see `Evidence.label`.
    """

    sequence: int
    key: str
    seen_at_s: int
    representative: str
    distance: int = 0
    similarity: float | None = None
    title: str = ""


class Selection(NamedTuple):
    """The listed pages in crawl order.

    :param representatives: for each page, the position of its representative, or its own.
    :param sizes: key of the representative of each shortened cluster → number of all
        near-duplicates of the cluster, listed or not.
    :param left_out: counts of what is omitted to keep the report small: ``clusters`` without any
        listed page; ``shortened`` clusters, which are listed without their newest pages; and
        ``near_duplicates`` of both that are not listed.
    """

    pages: list[ListedPage]
    representatives: list[int]
    sizes: dict[str, int]
    left_out: dict[str, int]


def select(source: Source, duplication: Duplication, max_pages: int) -> Selection:
    """Return the pages of all clusters.

    :param max_pages: upper limit for listed pages. If the clusters have more, the largest ones are
        shortened.
    :raises StorageError: the index cannot be read, or an entry cannot be decoded (IndexCorrupt).
    """
    clusters, left_out = _shortened(duplication.clusters, max_pages)
    copies = {
        line.key: (line, part.representative) for part in clusters for line in part.near_duplicates
    }
    representatives = {part.representative for part in clusters}
    pages = [
        ListedPage(
            entry.number,
            entry.key,
            entry.first_seen_s,
            entry.key,
            title=entry.evidence.label.decode("utf-8", "replace"),
        )
        for entry in source.entries()
        if entry.key in representatives
    ]
    pages += [
        ListedPage(
            line.sequence,
            line.key,
            duplication.first_seen_s[line.key],
            representative,
            line.distance,
            line.similarity,
            line.label,
        )
        for line, representative in copies.values()
    ]
    pages.sort()
    return Selection(
        pages,
        _representative_positions(pages),
        {
            whole.representative: len(whole) - 1
            for whole, part in zip(duplication.clusters, clusters, strict=False)
            if len(part) < len(whole)
        },
        left_out,
    )


def _shortened(
    clusters: Sequence[IndexCluster], max_pages: int
) -> tuple[list[IndexCluster], dict[str, int]]:
    """Return the clusters to list, largest first, and the counts of what is omitted.

    If all clusters have more than `max_pages` pages together, the largest ones are shortened to the
    same number of pages. If two pages of each cluster are still too many, the smallest clusters are
    omitted.
    """
    sizes = [len(cluster) for cluster in clusters]
    if sum(sizes) <= max_pages:
        return list(clusters), {"clusters": 0, "shortened": 0, "near_duplicates": 0}
    lengths = range(2, max(sizes) + 1)
    fitting = bisect_right(
        lengths, max_pages, key=lambda length: sum(min(size, length) for size in sizes)
    )
    max_length = lengths[max(fitting - 1, 0)]
    shown = [
        IndexCluster(cluster.representative, cluster.near_duplicates[: max_length - 1])
        for cluster in clusters[: max_pages // 2]
    ]
    pages = sum(map(len, shown))
    return shown, {
        "clusters": len(clusters) - len(shown),
        "shortened": sum(size > max_length for size in sizes[: len(shown)]),
        "near_duplicates": sum(sizes) - len(clusters) - (pages - len(shown)),
    }


def _representative_positions(pages: Sequence[ListedPage]) -> list[int]:
    positions = {page.key: position for position, page in enumerate(pages)}
    return [positions[page.representative] for page in pages]
