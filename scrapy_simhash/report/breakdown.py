"""Count near-duplicates by host, URL pattern and pair of patterns.

The first page to be crawled becomes the representative, whether it is the original or a copy. So
counts by host and pattern depend on the order of the crawl; counts of pairs do not.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations_with_replacement
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.maintenance.duplication import host_of
from scrapy_simhash.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from scrapy_simhash.maintenance.duplication import Duplication
    from scrapy_simhash.maintenance.sources import Source

_TOP = 100
# Patterns of a cluster that are paired: its most frequent ones.
_PATTERNS_PAIRED = 20


class Breakdown(NamedTuple):
    """The tables of a report as plain values, most frequent first.

    :param hosts: near-duplicates and representatives of each host.
    :param patterns: the same for each URL pattern, with an example and the number of
        representatives that are similar to another page.
    :param pairs: for each pair of patterns, the clusters with both, an example of each, and the
        pages of the rarer one there (of a pattern with itself: all but one in each cluster).
    :param row_counts: number of hosts, patterns and pairs, including those not listed.
    """

    hosts: list[dict[str, Any]]
    patterns: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    row_counts: dict[str, int]

    def numbered(self, keys: Sequence[str]) -> dict[str, Any]:
        """Return the names of hosts and patterns, and the positions of those of each key.

        Names of the tables come first, in their order. Other hosts follow; other patterns get -1.
        """
        hosts, of_host = _numbered(keys, host_of, (row["host"] for row in self.hosts), add_new=True)
        names = chain(
            (row["pattern"] for row in self.patterns),
            chain.from_iterable(row["patterns"] for row in self.pairs),
        )
        patterns, of_pattern = _numbered(keys, url_pattern, names, add_new=False)
        return {
            "hosts": hosts,
            "patterns": patterns,
            "of_host": of_host,
            "of_pattern": of_pattern,
        }


def break_down(source: Source, duplication: Duplication) -> Breakdown:
    """Return the tables of an index.

    :raises IndexCorrupt: a row cannot be decoded.
    """
    hosts = [
        {
            "host": host,
            "near_duplicates": count,
            "representatives": duplication.host_representatives[host],
        }
        for host, count in duplication.hosts.most_common(_TOP)
    ]
    near: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    pair_clusters: Counter[tuple[str, str]] = Counter()
    examples: dict[str, str] = {}
    pair_examples: dict[tuple[str, str], list[str]] = {}
    for cluster in duplication.clusters:
        representative = cluster.representative
        with_pattern = {url_pattern(representative): [representative]}
        for line in cluster.near_duplicates:
            pattern = url_pattern(line.key)
            with_pattern.setdefault(pattern, []).append(line.key)
            near[pattern] += 1
            examples.setdefault(pattern, line.key)
        for pair, count, both in _pairs(with_pattern):
            pairs[pair] += count
            pair_clusters[pair] += 1
            pair_examples.setdefault(pair, both)
    similar: Counter[str] = Counter()
    for line in duplication.similar:
        pattern = url_pattern(line.key)
        similar[pattern] += 1
        examples.setdefault(pattern, line.key)
    counted = near + similar
    top = [pattern for pattern, _ in counted.most_common(_TOP)]
    representatives = _representatives(source, duplication, set(top))
    patterns = [
        {
            "pattern": pattern,
            "near_duplicates": near[pattern],
            "similar": similar[pattern],
            "representatives": representatives[pattern],
            "example": examples[pattern],
        }
        for pattern in top
    ]
    return Breakdown(
        hosts,
        patterns,
        [
            {
                "patterns": list(pair),
                "near_duplicates": count,
                "clusters": pair_clusters[pair],
                "examples": pair_examples[pair],
            }
            for pair, count in pairs.most_common(_TOP)
        ],
        {"hosts": len(duplication.hosts), "patterns": len(counted), "pairs": len(pairs)},
    )


def _pairs(
    with_pattern: Mapping[str, list[str]],
) -> Iterator[tuple[tuple[str, str], int, list[str]]]:
    """Yield (pair of patterns, number of pages, an example of each) for one cluster."""
    frequent = sorted(with_pattern, key=lambda pattern: (-len(with_pattern[pattern]), pattern))
    for pair in combinations_with_replacement(sorted(frequent[:_PATTERNS_PAIRED]), 2):
        keys, others = (with_pattern[pattern] for pattern in pair)
        if pair[0] != pair[1]:
            yield pair, min(len(keys), len(others)), [keys[0], others[0]]
        elif len(keys) > 1:
            yield pair, len(keys) - 1, keys[:2]


def _representatives(source: Source, duplication: Duplication, shown: set[str]) -> Counter[str]:
    """Count the representatives of each listed pattern."""
    promoted = {line.key for line in duplication.promoted}
    logged = promoted.union(
        line.key for cluster in duplication.clusters for line in cluster.near_duplicates
    )
    # The other entries are representatives.
    entries = (entry.key for entry in source.entries() if entry.key not in logged)
    patterns = map(url_pattern, chain(entries, promoted))
    return Counter(pattern for pattern in patterns if pattern in shown)


def _numbered(
    keys: Iterable[str], name_of: Callable[[str], str], listed: Iterable[str], *, add_new: bool
) -> tuple[list[str], list[int]]:
    """Return all names, and the position of the name of each key; -1 if it is not listed."""
    known = {name: number for number, name in enumerate(dict.fromkeys(listed))}
    numbers = []
    for key in keys:
        name = name_of(key)
        if add_new:
            known.setdefault(name, len(known))
        numbers.append(known.get(name, -1))
    return list(known), numbers
