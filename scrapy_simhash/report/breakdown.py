"""Count near-duplicates by host, by URL pattern, and by pairs of patterns that share content.

The first page to be crawled becomes the representative, whether it is the original or a copy. So
near-duplicate counts depend on crawl order; pairs of patterns do not.
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
# In a cluster with more patterns, only the most frequent ones are paired.
_PATTERNS_PAIRED = 20


class Breakdown(NamedTuple):
    """The tables of a report as plain values, sorted by number of near-duplicates.

    :param hosts: near-duplicates and representatives of each host.
    :param patterns: the same for each URL pattern, with an example and the number of
        representatives that are similar to another page.
    :param pairs: for each pair of patterns, the number of clusters with both, the number of pages
        of the rarer pattern in these, and an example of each. For a pattern paired with itself,
        all its pages except one in each cluster.
    :param row_counts: number of hosts, patterns and pairs, including those not listed.
    """

    hosts: list[dict[str, Any]]
    patterns: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    row_counts: dict[str, int]

    def numbers_of(self, keys: Sequence[str]) -> dict[str, Any]:
        """Return the names of hosts and patterns, and the host and pattern number of each key.

        Listed names come first, in table order. Every host has a number; a pattern that is not
        listed has -1.
        """
        hosts, of_host = _numbered(keys, host_of, (row["host"] for row in self.hosts), all_of=True)
        names = chain(
            (row["pattern"] for row in self.patterns),
            chain.from_iterable(row["patterns"] for row in self.pairs),
        )
        patterns, of_pattern = _numbered(keys, url_pattern, names, all_of=False)
        return {
            "hosts": hosts,
            "patterns": patterns,
            "of_host": of_host,
            "of_pattern": of_pattern,
        }


def break_down(source: Source, doubled: Duplication) -> Breakdown:
    """Return the tables of an index.

    :raises IndexCorrupt: a row cannot be decoded.
    """
    hosts = [
        {
            "host": host,
            "near_duplicates": count,
            "representatives": doubled.host_representatives[host],
        }
        for host, count in doubled.hosts.most_common(_TOP)
    ]
    near: Counter[str] = Counter()
    pairs: Counter[tuple[str, ...]] = Counter()
    clusters: Counter[tuple[str, ...]] = Counter()
    examples: dict[str, str] = {}
    examples_of_pairs: dict[tuple[str, ...], list[str]] = {}
    for found in doubled.clusters:
        of_representative = url_pattern(found.representative)
        with_pattern: dict[str, list[str]] = {of_representative: [found.representative]}
        for line in found.near_duplicates:
            with_pattern.setdefault(url_pattern(line.key), []).append(line.key)
        for pattern, keys in with_pattern.items():
            copies = keys[1:] if pattern == of_representative else keys
            if copies:
                near[pattern] += len(copies)
                examples.setdefault(pattern, copies[0])
        for pair, count, both in _pairs(with_pattern):
            pairs[pair] += count
            clusters[pair] += 1
            examples_of_pairs.setdefault(pair, both)
    similar: Counter[str] = Counter()
    for line in doubled.similar:
        pattern = url_pattern(line.key)
        similar[pattern] += 1
        examples.setdefault(pattern, line.key)
    top = [pattern for pattern, _ in (near + similar).most_common(_TOP)]
    representatives = _representatives(source, doubled, set(top))
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
                "clusters": clusters[pair],
                "examples": examples_of_pairs[pair],
            }
            for pair, count in pairs.most_common(_TOP)
        ],
        {"hosts": len(doubled.hosts), "patterns": len(near | similar), "pairs": len(pairs)},
    )


def _pairs(
    with_pattern: Mapping[str, Sequence[str]],
) -> Iterator[tuple[tuple[str, str], int, list[str]]]:
    """Yield (pair of patterns, number of pages, an example of each) for one cluster."""
    frequent = sorted(with_pattern, key=lambda pattern: (-len(with_pattern[pattern]), pattern))
    for pair in combinations_with_replacement(sorted(frequent[:_PATTERNS_PAIRED]), 2):
        keys, others = (with_pattern[pattern] for pattern in pair)
        if pair[0] != pair[1]:
            yield pair, min(len(keys), len(others)), [keys[0], others[0]]
        elif len(keys) > 1:
            yield pair, len(keys) - 1, list(keys[:2])


def _representatives(source: Source, doubled: Duplication, shown: set[str]) -> Counter[str]:
    """Count the representatives of each listed pattern."""
    promoted = {line.key for line in doubled.promoted}
    logged = promoted.union(
        line.key for found in doubled.clusters for line in found.near_duplicates
    )
    entries = (entry.key for entry in source.entries() if entry.key not in logged)
    patterns = map(url_pattern, chain(entries, promoted))
    return Counter(pattern for pattern in patterns if pattern in shown)


def _numbered(
    keys: Iterable[str], name_of: Callable[[str], str], first: Iterable[str], *, all_of: bool
) -> tuple[list[str], list[int]]:
    known = {name: number for number, name in enumerate(dict.fromkeys(first))}
    numbers = []
    for key in keys:
        name = name_of(key)
        if all_of:
            known.setdefault(name, len(known))
        numbers.append(known.get(name, -1))
    return list(known), numbers
