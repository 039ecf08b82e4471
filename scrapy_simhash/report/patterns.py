"""Count near-duplicates and similar pages by URL pattern.

The first page of a cluster that a crawl sees is the representative, whether it is the original or
not. So counts by pattern depend on the order of the crawl.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.masking import masked
from scrapy_simhash.url_patterns import url_pattern

if TYPE_CHECKING:
    from scrapy_simhash.maintenance.duplication import Duplication
    from scrapy_simhash.maintenance.sources import Source

_MAX_ROWS = 100


def patterns_of(source: Source, duplication: Duplication) -> tuple[list[dict[str, Any]], int]:
    """Return (a row for each URL pattern, those with most pages first; number of patterns).

    A row has the numbers of near-duplicates, similar pages and representatives, an example, and the
    pattern of most pages that its near-duplicates are copies of (``like``). At most 100 rows.

    :raises StorageError: the index cannot be read, or an entry cannot be decoded (IndexCorrupt).
    """
    near_duplicates: Counter[str] = Counter()
    likes: dict[str, Counter[str]] = {}
    examples: dict[str, str] = {}
    logged = set()
    for cluster in duplication.clusters:
        original = url_pattern(cluster.representative)
        for line in cluster.near_duplicates:
            logged.add(line.key)
            pattern = url_pattern(line.key)
            near_duplicates[pattern] += 1
            likes.setdefault(pattern, Counter())[original] += 1
            examples.setdefault(pattern, line.key)
    similar: Counter[str] = Counter()
    for line in duplication.similar:
        pattern = url_pattern(line.key)
        similar[pattern] += 1
        examples.setdefault(pattern, line.key)
    # Logged pages may have entries, too, but are near-duplicates.
    representatives = Counter(
        url_pattern(entry.key) for entry in source.entries() if entry.key not in logged
    )
    counts = near_duplicates + similar
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
    return rows, len(counts)
