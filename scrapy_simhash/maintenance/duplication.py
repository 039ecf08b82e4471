"""Group the entries and the near-duplicate log of an index into clusters.

The log keeps all lines of a page; only the last verdict on each page counts:

- A page that became a representative later is no longer a near-duplicate.
- If a representative became a near-duplicate, its cluster joins that of its new representative.
- Near-duplicates of a page that has left the index are left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy_simhash.index.base import NearDuplicate
    from scrapy_simhash.index.index import AnyStore


@dataclass
class IndexCluster:
    """A representative and its near-duplicates.

    :param near_duplicates: the last log line of each near-duplicate, oldest first. A line may name
        a former representative; then its distance and similarity are those to this one.
    """

    representative: str
    near_duplicates: list[NearDuplicate] = field(default_factory=list)

    def __len__(self) -> int:
        return 1 + len(self.near_duplicates)


@dataclass
class Duplication:
    """The clusters and counts of an index. Each page is a representative or a near-duplicate.

    :param representatives: number of entries that are not near-duplicates.
    :param first_seen_s: Unix time when each near-duplicate was first seen, by key.
    :param lines: number of all lines of the near-duplicate log, also of similar pages.
    :param near_duplicates: number of near-duplicates.
    :param similar: the last log line of each page, if it says that the page is only similar to
        another one; oldest first.
    :param distances: number of near-duplicates by distance, as crawls measured it.
    :param clusters: clusters with at least two pages, the largest first.
    """

    representatives: int
    first_seen_s: dict[str, int]
    lines: int
    near_duplicates: int
    similar: list[NearDuplicate]
    distances: Counter[int]
    clusters: list[IndexCluster]


def duplication(source: AnyStore) -> Duplication:
    """Return the clusters and counts of an index.

    :raises StorageError: the index cannot be read, or a row cannot be decoded (IndexCorrupt).
    """
    last_lines: dict[str, NearDuplicate] = {}
    similar: dict[str, NearDuplicate] = {}
    first_seen_s: dict[str, int] = {}
    lines = 0
    for line in source.near_duplicates():
        lines += 1
        similar.pop(line.key, None)
        if not line.confirmed:
            similar[line.key] = line
            continue
        first_seen_s.setdefault(line.key, line.seen_at_s)
        last_lines[line.key] = line
    named = {line.representative for line in last_lines.values()}
    stored = set()
    for entry in source.entries():
        line_of_page = last_lines.get(entry.key)
        # The later of both decides. If a page replaced its representative (`Index.supersede`), both
        # have one sequence number, and the page is a representative.
        if line_of_page is None or entry.last_sequence >= line_of_page.sequence:
            last_lines.pop(entry.key, None)
            if entry.key in named:
                stored.add(entry.key)
    groups = _group_by_representative(last_lines)
    clusters = [IndexCluster(key, members) for key, members in groups.items() if key in stored]
    near_duplicates = [line for cluster in clusters for line in cluster.near_duplicates]
    copies = {line.key for line in near_duplicates}
    representatives = 0
    for entry in source.entries():
        if entry.key in copies:
            first_seen_s[entry.key] = min(first_seen_s[entry.key], entry.first_seen_s)
        else:
            representatives += 1
    return Duplication(
        representatives=representatives,
        first_seen_s=first_seen_s,
        lines=lines,
        near_duplicates=len(near_duplicates),
        similar=list(similar.values()),
        distances=Counter(line.distance for line in near_duplicates),
        clusters=sorted(clusters, key=len, reverse=True),
    )


def host_of(key: str) -> str:
    """Return the host of a key, with a port if the key names one; ``""`` if it is not a URL."""
    try:
        return urlsplit(key).netloc.rpartition("@")[2].lower()
    except ValueError:  # brackets without an IPv6 address
        return ""


def _group_by_representative(
    last_lines: dict[str, NearDuplicate],
) -> dict[str, list[NearDuplicate]]:
    """Return lines, oldest first, by the page that represents their cluster now.

    A representative may have become a near-duplicate of another one, and so on.
    """
    groups: dict[str, list[NearDuplicate]] = {}
    for line in sorted(last_lines.values(), key=lambda line: line.sequence):
        end, passed = line.representative, {line.key}
        while end in last_lines and end not in passed:
            passed.add(end)
            end = last_lines[end].representative
        groups.setdefault(end, []).append(line)
    return groups
