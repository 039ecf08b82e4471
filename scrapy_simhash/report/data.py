"""Collect the data of a report as values for JSON, and write the report to a file.

The first page of a cluster that a crawl sees is the representative, whether it is the original or
not. So counts by pattern depend on the order of the crawl.
"""

from __future__ import annotations

import base64
import time
from collections import Counter
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.documents.files import replaced
from scrapy_simhash.documents.masking import masked
from scrapy_simhash.index.rows import Rows
from scrapy_simhash.index.texts import MAX_CHARACTERS
from scrapy_simhash.maintenance.duplication import IndexCluster
from scrapy_simhash.maintenance.duplication import duplication as find_duplication
from scrapy_simhash.maintenance.sources import Location, opened_store
from scrapy_simhash.report.page import render
from scrapy_simhash.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from scrapy_simhash.index.index import AnyStore
    from scrapy_simhash.maintenance.duplication import Duplication


MAX_PAGES = 200_000
MAX_TEXT_BYTES = 20_000_000
_MAX_SIMILAR = 200


def report_data(
    where: Location,
    *,
    crawl: Mapping[str, Any] | None = None,
    max_pages: int = MAX_PAGES,
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> dict[str, Any]:
    """Return the data of a report. Secrets in URLs are masked.

    :param crawl: facts about a crawl from `scrapy_simhash.crawl.crawl_report`, or None.
    :param max_pages: upper limit for listed pages. Large clusters come first.
    :param max_text_bytes: upper limit for the total size of the compressed texts.
    :raises SchemeError, StorageError: see `opened_store`; or a row is damaged (IndexCorrupt).
    """
    with opened_store(where) as store:
        return _data(store, crawl, max_pages, max_text_bytes)


def _data(
    source: AnyStore, crawl: Mapping[str, Any] | None, max_pages: int, max_text_bytes: int
) -> dict[str, Any]:
    from scrapy_simhash import __version__

    duplication = find_duplication(source)
    manifest = source.manifest
    clusters = _listed(duplication.clusters, max_pages)
    listed = sum(map(len, clusters)) - len(clusters)
    pages, patterns, pattern_count = _pages_and_patterns(source, duplication, clusters)
    page_numbers = {page.key: number for number, page in enumerate(pages)}
    encoded, text_numbers, omitted = _texts(source, clusters, max_text_bytes)
    titles = {title: number for number, title in enumerate(dict.fromkeys(p.title for p in pages))}
    pattern_numbers = {row["pattern"]: number for number, row in enumerate(patterns)}
    most = max(patterns, key=lambda row: int(row["near_duplicates"]), default={"like": None})
    return {
        "version": __version__,
        "made_at_s": int(time.time()),
        "index": {
            "directory": source.location,
            "scheme": manifest.scheme.id,
            "bits": manifest.scheme.bits,
            "max_distance": manifest.max_distance,
            "tables": str(manifest.plan),
            "file_bytes": source.size_bytes(),
            "representatives": duplication.representatives,
            "near_duplicates": duplication.near_duplicates,
            "clusters": len(duplication.clusters),
            "similar": len(duplication.similar),
            "log_lines": duplication.lines,
        },
        "crawl": crawl,
        # The pattern with the most near-duplicates, and the one that most of them are copies of.
        "most": most["like"] and {name: most[name] for name in ("pattern", "like")},
        "patterns": patterns,
        "pattern_count": pattern_count,
        "similar": [
            {
                "key": masked(line.key),
                "title": line.label,
                "like": masked(line.representative),
                "distance": line.distance,
                "similarity": _percent(line.similarity),
            }
            for line in nlargest(
                _MAX_SIMILAR, duplication.similar, key=lambda line: line.similarity or 0.0
            )
        ],
        "pages": {
            "key": [masked(page.key) for page in pages],
            "seen_at_s": [page.seen_at_s for page in pages],
            "representative": [page_numbers[page.representative] for page in pages],
            "distance": [page.distance for page in pages],
            "similarity": [_percent(page.similarity) for page in pages],
            "text": [text_numbers.get(page.key, -1) for page in pages],
            "title": [titles[page.title] for page in pages],
            # Positions in `patterns`; -1 for a pattern that is not listed.
            "pattern": [pattern_numbers.get(url_pattern(page.key), -1) for page in pages],
        },
        "texts": encoded,
        "titles": [*titles],
        "text_characters": MAX_CHARACTERS,
        # Full sizes of clusters that are listed only in part.
        "sizes": {
            page_numbers[whole.representative]: len(whole) - 1
            for whole, part in zip(duplication.clusters, clusters, strict=False)
            if len(part) < len(whole)
        },
        "left_out": {
            "near_duplicates": duplication.near_duplicates - listed,
            "texts": omitted,
        },
    }


def _percent(similarity: float | None) -> int:
    """Return whole per cent, rounded down so that only a similarity of 1 gives 100; -1 for None."""
    return -1 if similarity is None else int(100 * similarity + 1e-9)


def _texts(
    source: AnyStore, clusters: list[IndexCluster], max_bytes: int
) -> tuple[list[str], dict[str, int], int]:
    """Return the texts in Base64, key → the position of the page's text, and the number of pages
    whose text is left out because of the limit.

    Equal texts are listed once. Texts of large clusters come first.
    """
    text_numbers: dict[str, int] = {}
    positions: dict[bytes, int] = {}
    omitted = 0
    # An index in Redis has no texts.
    for cluster in clusters if isinstance(source, Rows) else ():
        for key in (cluster.representative, *(line.key for line in cluster.near_duplicates)):
            if (compressed := source.texts.compressed(key)) is None:
                continue
            if compressed in positions or len(compressed) <= max_bytes:
                max_bytes -= 0 if compressed in positions else len(compressed)
                text_numbers[key] = positions.setdefault(compressed, len(positions))
            else:
                omitted += 1
    return [base64.b64encode(text).decode("ascii") for text in positions], text_numbers, omitted


_MAX_ROWS = 100


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


def _pages_and_patterns(
    source: AnyStore, duplication: Duplication, clusters: Sequence[IndexCluster]
) -> tuple[list[ListedPage], list[dict[str, Any]], int]:
    """Return the pages of clusters in crawl order; rows for the 100 URL patterns with most copies
    and similar pages; and the number of patterns with any.

    A row has the numbers of near-duplicates, similar pages and representatives, an example, and the
    pattern of most pages that its near-duplicates are copies of (``like``).

    :raises StorageError: the index cannot be read, or an entry cannot be decoded (IndexCorrupt).
    """
    first_seen_s = duplication.first_seen_s
    pages = [
        ListedPage(
            *(line.sequence, line.key, first_seen_s[line.key], cluster.representative),
            *(line.distance, line.similarity, line.label),
        )
        for cluster in clusters
        for line in cluster.near_duplicates
    ]
    copies = {
        line.key: cluster.representative
        for cluster in duplication.clusters
        for line in cluster.near_duplicates
    }
    listed = {cluster.representative for cluster in clusters}
    representatives: Counter[str] = Counter()
    for entry in source.entries():
        if entry.key in listed:
            title = entry.evidence.label.decode("utf-8", "replace")
            pages.append(
                ListedPage(entry.number, entry.key, entry.first_seen_s, entry.key, title=title)
            )
        if entry.key not in copies:  # a near-duplicate may have an entry, too
            representatives[url_pattern(entry.key)] += 1
    similar = Counter(url_pattern(line.key) for line in duplication.similar)
    likes: dict[str, Counter[str]] = {}
    for key, original in copies.items():
        likes.setdefault(url_pattern(key), Counter())[url_pattern(original)] += 1
    near_duplicates = Counter({pattern: counts.total() for pattern, counts in likes.items()})
    counts = near_duplicates + similar
    keys = (*copies, *(line.key for line in duplication.similar))
    examples = {url_pattern(key): key for key in reversed(keys)}
    rows = [
        {
            "pattern": pattern,
            "near_duplicates": near_duplicates[pattern],
            "similar": similar[pattern],
            "representatives": representatives[pattern],
            "example": masked(examples[pattern]),
            "like": likes[pattern].most_common(1)[0][0] if pattern in likes else None,
        }
        for pattern, _ in counts.most_common(_MAX_ROWS)
    ]
    return sorted(pages), rows, len(counts)


def _listed(clusters: Sequence[IndexCluster], max_pages: int) -> list[IndexCluster]:
    """Return the largest clusters, up to a number of pages. The last one may lack its newest."""
    listed = []
    for cluster in clusters:
        if max_pages > 1:
            near_duplicates = cluster.near_duplicates[: max_pages - 1]
            listed.append(IndexCluster(cluster.representative, near_duplicates))
            max_pages -= len(listed[-1])
    return listed


def write_report(path: Path, where: Location, **options: Any) -> Mapping[str, Any]:
    """Write the report of an index to a file atomically, and return its data.

    :param options: those of `report_data`.
    :raises SchemeError, StorageError: see `opened_store`.
    :raises OSError: the file cannot be written; the error names `path`, not a temporary file.
    """
    data = report_data(where, **options)
    content = render(data).encode()
    try:
        with replaced(path) as temporary:
            temporary.write_bytes(content)
            # It has texts and URLs of pages, which may not be for everybody. The mode of an
            # existing file would be kept.
            for file in (temporary, path):
                if file.is_file():  # no pipe or device
                    file.chmod(0o600)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return data
