"""Where the pages are: hosts, URL patterns, and which patterns have each other's content.

The page that answers first becomes the representative, be it the original or a copy. So the share
of near-duplicates may blame either; pairs of patterns say who shares content with whom, whichever
came first.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations_with_replacement
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.index.clusters import host_of
from scrapy_simhash.url_patterns import url_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from scrapy_simhash.index.clusters import Duplication
    from scrapy_simhash.index.rewriting import Source

_TOP = 100
# Of a cluster's pages with so many patterns and more, the most frequent are paired.
_PATTERNS_PAIRED = 20


class Places(NamedTuple):
    """Tables, with the most near-duplicates first, as plain values.

    :param hosts: of each the near-duplicates and representatives.
    :param patterns: the same, with an example, and how many of the representatives are similar to
        another page.
    :param pairs: of each two patterns the clusters that have both, in these the pages of the rarer
        one, and an example of each; of one with itself, its pages but one in each cluster.
    :param place_counts: how many there are of each, with those that no table has room for.
    """

    hosts: list[dict[str, Any]]
    patterns: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    place_counts: dict[str, int]

    def numbers_of(self, keys: Sequence[str]) -> dict[str, Any]:
        """The names of hosts and patterns, and a number among them for each key.

        Those of the tables come first, in their order. All hosts have numbers; patterns that no
        table has are -1.
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


def places(source: Source, doubled: Duplication) -> Places:
    """Return the tables of an index.

    :raises IndexCorrupt: rows make no sense.
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
    alike: Counter[str] = Counter()
    for line in doubled.similar:
        pattern = url_pattern(line.key)
        alike[pattern] += 1
        examples.setdefault(pattern, line.key)
    top = [pattern for pattern, _ in (near + alike).most_common(_TOP)]
    representatives = _representatives(source, doubled, set(top))
    patterns = [
        {
            "pattern": pattern,
            "near_duplicates": near[pattern],
            "similar": alike[pattern],
            "representatives": representatives[pattern],
            "example": examples[pattern],
        }
        for pattern in top
    ]
    return Places(
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
        {"hosts": len(doubled.hosts), "patterns": len(near | alike), "pairs": len(pairs)},
    )


def _pairs(
    with_pattern: Mapping[str, Sequence[str]],
) -> Iterator[tuple[tuple[str, str], int, list[str]]]:
    """Of a cluster: two patterns in their order, what counts of them, and a page of each."""
    frequent = sorted(with_pattern, key=lambda pattern: (-len(with_pattern[pattern]), pattern))
    for pair in combinations_with_replacement(sorted(frequent[:_PATTERNS_PAIRED]), 2):
        keys, others = (with_pattern[pattern] for pattern in pair)
        if pair[0] != pair[1]:
            yield pair, min(len(keys), len(others)), [keys[0], others[0]]
        elif len(keys) > 1:
            yield pair, len(keys) - 1, list(keys[:2])


def _representatives(source: Source, doubled: Duplication, shown: set[str]) -> Counter[str]:
    """Of the patterns that are shown."""
    standing = {line.key for line in doubled.stood_in}
    logged = standing.union(
        line.key for found in doubled.clusters for line in found.near_duplicates
    )
    entries = (entry.key for entry in source.entries() if entry.key not in logged)
    found = map(url_pattern, chain(entries, standing))
    return Counter(pattern for pattern in found if pattern in shown)


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
