"""Collect the data of a report as values for JSON."""

from __future__ import annotations

import base64
import time
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.masking import masked
from scrapy_simhash.index.texts import MAX_CHARACTERS
from scrapy_simhash.maintenance.duplication import duplication as find_duplication
from scrapy_simhash.report.patterns import patterns_of
from scrapy_simhash.report.selection import select
from scrapy_simhash.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.index.texts import Texts
    from scrapy_simhash.maintenance.duplication import IndexCluster
    from scrapy_simhash.maintenance.sources import Source

MAX_PAGES = 200_000
MAX_TEXT_BYTES = 20_000_000
_MAX_SIMILAR = 200


def build(
    source: Source,
    texts: Texts | None,
    *,
    crawl: Mapping[str, Any] | None = None,
    max_pages: int = MAX_PAGES,
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> dict[str, Any]:
    """Return the data of a report.

    :param texts: stored texts of the index, or None.
    :param crawl: facts about a crawl from `scrapy_simhash.crawl.crawl_report`, or None.
    :param max_pages: upper limit for listed pages, see `select`.
    :param max_text_bytes: upper limit for the total size of the compressed texts.
    Secrets in URLs are masked.

    :raises StorageError: the index or a text cannot be read, or a row is damaged (IndexCorrupt).
    """
    from scrapy_simhash import __version__

    duplication = find_duplication(source)
    manifest = source.manifest
    clusters = duplication.clusters
    selection = select(source, duplication, max_pages)
    pages = selection.pages
    page_numbers = {page.key: number for number, page in enumerate(pages)}
    encoded, text_numbers, omitted = _texts(texts, page_numbers, clusters, max_text_bytes)
    titles = {title: number for number, title in enumerate(dict.fromkeys(p.title for p in pages))}
    patterns, pattern_count = patterns_of(source, duplication)
    pattern_numbers = {row["pattern"]: number for number, row in enumerate(patterns)}
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
            "clusters": len(clusters),
            "similar": len(duplication.similar),
            "log_lines": duplication.lines,
        },
        "crawl": crawl,
        "most": _most(patterns),
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
            "representative": selection.representatives,
            "distance": [page.distance for page in pages],
            "similarity": [_percent(page.similarity) for page in pages],
            "text": text_numbers,
            "title": [titles[page.title] for page in pages],
            # Positions in `patterns`; -1 for a pattern that is not listed.
            "pattern": [pattern_numbers.get(url_pattern(page.key), -1) for page in pages],
        },
        "texts": encoded,
        "titles": [*titles],
        "text_characters": MAX_CHARACTERS,
        # Full sizes of clusters that are listed only in part.
        "sizes": {page_numbers[key]: size for key, size in selection.sizes.items()},
        "left_out": {**selection.left_out, "texts": omitted},
    }


def _most(patterns: list[dict[str, Any]]) -> dict[str, str] | None:
    """Return the pattern with the most near-duplicates, and the one that most of them are copies
    of; None if there are no near-duplicates.
    """
    row = max(patterns, key=lambda row: int(row["near_duplicates"]), default=None)
    if row is None or row["like"] is None:
        return None
    return {"pattern": row["pattern"], "like": row["like"]}


def _percent(similarity: float | None) -> int:
    """Return whole per cent, rounded down so that only a similarity of 1 gives 100; -1 for None."""
    return -1 if similarity is None else int(100 * similarity + 1e-9)


def _texts(
    texts: Texts | None,
    page_numbers: dict[str, int],
    clusters: list[IndexCluster],
    max_bytes: int,
) -> tuple[list[str], list[int], int]:
    """Return the texts in Base64, the position of each page's text (-1 without one), and the number
    of pages whose text is left out because of the limit.

    Equal texts are listed once. Texts of large clusters come first.
    """
    text_numbers = [-1] * len(page_numbers)
    if texts is None:
        return [], text_numbers, 0
    clustered_keys = chain.from_iterable(
        (cluster.representative, *(line.key for line in cluster.near_duplicates))
        for cluster in clusters
    )
    encoded: list[str] = []
    positions: dict[bytes, int] = {}
    omitted = total_bytes = 0
    for key in dict.fromkeys(chain(clustered_keys, page_numbers)):
        compressed = texts.compressed(key) if key in page_numbers else None
        if compressed is None:
            continue
        position = positions.get(compressed)
        if position is None:
            if total_bytes + len(compressed) > max_bytes:
                omitted += 1
                continue
            total_bytes += len(compressed)
            position = positions[compressed] = len(encoded)
            encoded.append(base64.b64encode(compressed).decode("ascii"))
        text_numbers[page_numbers[key]] = position
    return encoded, text_numbers, omitted
