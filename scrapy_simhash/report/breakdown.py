"""Count near-duplicates by host, URL pattern and pair of patterns.

The first page of a cluster that a crawl sees is the representative, whether it is the original or
not. So counts by host and pattern depend on the order of the crawl. Counts of pairs depend only on
which pages are in a cluster.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations_with_replacement
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.documents.masking import masked
from scrapy_simhash.maintenance.duplication import host_of
from scrapy_simhash.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy_simhash.maintenance.duplication import Duplication
    from scrapy_simhash.maintenance.sources import Source

_MAX_ROWS = 100
# In each cluster, only the patterns with the most pages are paired.
_MAX_PAIRED_PATTERNS = 20


class Breakdown(NamedTuple):
    """The tables of a report, highest numbers first, at most 100 rows each, as values for JSON.

    :param hosts: numbers of near-duplicates and representatives of hosts with near-duplicates.
    :param patterns: the same for URL patterns, with the number of similar pages and an example.
    :param pairs: for pairs of patterns, the number of clusters with both, an example of each, and
        the number of pages of the pattern that is rarer in a cluster, summed over clusters. A
        pattern is also paired with itself; then all its pages in a cluster except one count.
    :param row_counts: numbers of hosts, patterns and pairs, including those not listed.
    """

    hosts: list[dict[str, Any]]
    patterns: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    row_counts: dict[str, int]

    def numbered(self, keys: Sequence[str]) -> dict[str, Any]:
        """Return lists of hosts and patterns, and the positions of each page key in both lists.

        The lists begin with the names in the tables. Other hosts follow; other patterns get -1.
        """
        host_names = [host_of(key) for key in keys]
        hosts = _numbered(chain((row["host"] for row in self.hosts), host_names))
        patterns = _numbered(
            chain(
                (row["pattern"] for row in self.patterns),
                chain.from_iterable(row["patterns"] for row in self.pairs),
            )
        )
        return {
            "hosts": list(hosts),
            "patterns": list(patterns),
            "of_host": [hosts[name] for name in host_names],
            "of_pattern": [patterns.get(url_pattern(key), -1) for key in keys],
        }


def break_down(source: Source, duplication: Duplication) -> Breakdown:
    """Return the tables of an index.

    :raises StorageError: the index cannot be read, or an entry cannot be decoded (IndexCorrupt).
    """
    hosts = [
        {
            "host": host,
            "near_duplicates": count,
            "representatives": duplication.host_representatives[host],
        }
        for host, count in duplication.hosts.most_common(_MAX_ROWS)
    ]
    near_duplicates: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    pair_clusters: Counter[tuple[str, str]] = Counter()
    examples: dict[str, str] = {}
    pair_examples: dict[tuple[str, str], list[str]] = {}
    for cluster in duplication.clusters:
        representative = cluster.representative
        keys_by_pattern = {url_pattern(representative): [representative]}
        for line in cluster.near_duplicates:
            pattern = url_pattern(line.key)
            keys_by_pattern.setdefault(pattern, []).append(line.key)
            near_duplicates[pattern] += 1
            examples.setdefault(pattern, line.key)
        for pair, count, example_keys in _pairs(keys_by_pattern):
            pairs[pair] += count
            pair_clusters[pair] += 1
            pair_examples.setdefault(pair, example_keys)
    similar: Counter[str] = Counter()
    for line in duplication.similar:
        pattern = url_pattern(line.key)
        similar[pattern] += 1
        examples.setdefault(pattern, line.key)
    near_or_similar = near_duplicates + similar
    listed = [pattern for pattern, _ in near_or_similar.most_common(_MAX_ROWS)]
    representatives = _representatives(source, duplication, set(listed))
    patterns = [
        {
            "pattern": pattern,
            "near_duplicates": near_duplicates[pattern],
            "similar": similar[pattern],
            "representatives": representatives[pattern],
            "example": masked(examples[pattern]),
        }
        for pattern in listed
    ]
    return Breakdown(
        hosts,
        patterns,
        [
            {
                "patterns": list(pair),
                "near_duplicates": count,
                "clusters": pair_clusters[pair],
                "examples": [masked(example) for example in pair_examples[pair]],
            }
            for pair, count in pairs.most_common(_MAX_ROWS)
        ],
        {"hosts": len(duplication.hosts), "patterns": len(near_or_similar), "pairs": len(pairs)},
    )


def _pairs(
    keys_by_pattern: Mapping[str, list[str]],
) -> Iterator[tuple[tuple[str, str], int, list[str]]]:
    """Yield (pair of patterns, number of pages, two examples) for one cluster; see `Breakdown`."""
    ranked = sorted(keys_by_pattern, key=lambda pattern: (-len(keys_by_pattern[pattern]), pattern))
    for pair in combinations_with_replacement(sorted(ranked[:_MAX_PAIRED_PATTERNS]), 2):
        keys, other_keys = (keys_by_pattern[pattern] for pattern in pair)
        if pair[0] != pair[1]:
            yield pair, min(len(keys), len(other_keys)), [keys[0], other_keys[0]]
        elif len(keys) > 1:
            yield pair, len(keys) - 1, keys[:2]


def _representatives(source: Source, duplication: Duplication, listed: set[str]) -> Counter[str]:
    """Count the representatives of each listed pattern."""
    # Logged pages may have entries, too, but are near-duplicates.
    logged = {line.key for cluster in duplication.clusters for line in cluster.near_duplicates}
    patterns = (url_pattern(entry.key) for entry in source.entries() if entry.key not in logged)
    return Counter(pattern for pattern in patterns if pattern in listed)


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Return the different names, numbered from 0 in the order in which they first occur."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}
