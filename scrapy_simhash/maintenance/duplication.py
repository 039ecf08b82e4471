"""Group the entries and the near-duplicate log of an index into clusters.

The log keeps all lines of a page; only the latest state of each page counts:

- A page that became a representative later is no longer a near-duplicate.
- If a representative became a near-duplicate, its near-duplicates move to its representative.
- If a representative has left the index (removed, expired or replaced), its oldest near-duplicate
  is *promoted*: it represents the others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_simhash.fingerprint import hamming_distance

if TYPE_CHECKING:
    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.maintenance.sources import Source


@dataclass
class IndexCluster:
    """A representative and its near-duplicates.

    :param near_duplicates: the last log line of each page, oldest first. If a line names another
        representative, its `distance` is replaced by that to this one, which may exceed k, and its
        `similarity` by None.
    """

    representative: str
    near_duplicates: list[NearDuplicate] = field(default_factory=list)

    def __len__(self) -> int:
        return 1 + len(self.near_duplicates)


@dataclass
class Duplication:
    """The clusters of an index and their counts. Each page counts once.

    :param representatives: number of entries that are not near-duplicates, plus promoted pages.
    :param promoted: the last log line of each promoted page.
    :param seen_before_s: Unix time of first sight by key, of pages seen before their last log line.
    :param lines: number of lines of the near-duplicate log, including repeated ones of a page.
    :param near_duplicates: number of pages whose latest state is near-duplicate.
    :param similar: the last log line of each page that confirmation rejected, unless the page was
        found to be a copy later; oldest first.
    :param distances: number of near-duplicates by distance to the representative of their cluster.
    :param farthest: the largest distance that a crawl measured, in the last log lines of
        near-duplicates and promoted pages.
    :param clusters: clusters with at least two pages, the largest first.
    :param hosts: number of near-duplicates by host (`host_of`).
    :param host_representatives: number of representatives by host.
    :param entry_times_s: number of entries that are representatives, by Unix time of first sight.
    """

    representatives: int
    promoted: list[NearDuplicate]
    seen_before_s: dict[str, int]
    lines: int
    near_duplicates: int
    similar: list[NearDuplicate]
    distances: Counter[int]
    farthest: int
    clusters: list[IndexCluster]
    hosts: Counter[str]
    host_representatives: Counter[str]
    entry_times_s: Counter[int]

    def first_seen_s(self, line: NearDuplicate) -> int:
        """Return the Unix time when the page of a log line was first seen."""
        return self.seen_before_s.get(line.key, line.seen_at_s)


def duplication(source: Source) -> Duplication:
    """Return the duplication in an index.

    :raises IndexCorrupt: a row cannot be decoded.
    """
    last: dict[str, NearDuplicate] = {}
    similar: dict[str, NearDuplicate] = {}
    seen_before_s: dict[str, int] = {}
    lines = 0
    for line in source.near_duplicates():
        lines += 1
        similar.pop(line.key, None)
        if not line.confirmed:
            similar[line.key] = line
            continue
        earlier = last.get(line.key)
        if earlier is not None:
            seen_before_s.setdefault(line.key, earlier.seen_at_s)
        last[line.key] = line
    # The next loop removes the pages that are representatives now from `last`.
    host_representatives: Counter[str] = Counter()
    entry_times_s: Counter[int] = Counter()
    for entry in source.entries():
        if is_representative_now(entry, last):
            last.pop(entry.key, None)
            host_representatives[host_of(entry.key)] += 1
            entry_times_s[entry.first_seen_s] += 1
        else:
            first_s = entry.first_seen_s
            seen_before_s[entry.key] = min(seen_before_s.get(entry.key, first_s), first_s)
    groups = _group_by_representative(last)
    fingerprints = {
        entry.key: entry.fingerprint
        for entry in source.entries()
        if entry.key in groups and entry.key not in last
    }
    clusters = []
    promoted = []
    for key, members in groups.items():
        representative, fingerprint = key, fingerprints.get(key)
        if fingerprint is None:
            oldest = members.pop(0)
            representative, fingerprint = oldest.key, oldest.fingerprint
            promoted.append(oldest)
            host_representatives[host_of(oldest.key)] += 1
        near = [_measured_from(line, representative, fingerprint) for line in members]
        if near:
            clusters.append(IndexCluster(representative, near))
    near_duplicates = [line for cluster in clusters for line in cluster.near_duplicates]
    return Duplication(
        representatives=host_representatives.total(),
        promoted=promoted,
        seen_before_s=seen_before_s,
        lines=lines,
        near_duplicates=len(near_duplicates),
        similar=list(similar.values()),
        distances=Counter(line.distance for line in near_duplicates),
        farthest=max((line.distance for line in last.values()), default=0),
        clusters=sorted(clusters, key=len, reverse=True),
        hosts=Counter(host_of(line.key) for line in near_duplicates),
        host_representatives=host_representatives,
        entry_times_s=entry_times_s,
    )


def is_representative_now(entry: Entry, last: dict[str, NearDuplicate]) -> bool:
    """Return True if the page of an entry is a representative, given the last log line of each key.

    The later of sight and log line decides. A page that replaced its representative
    (`Index.supersede`) has both at one sequence number, and is a representative.
    """
    line = last.get(entry.key)
    return line is None or entry.met >= line.sequence


def host_of(key: str) -> str:
    """Return the host of a key, with a port if the key names one; ``""`` if it is not a URL."""
    try:
        parts = urlsplit(key)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if ":" in host:
        host = f"[{host}]"
    try:
        port = parts.port
    except ValueError:  # an invalid port is ignored
        port = None
    return host if port is None or not host else f"{host}:{port}"


def _measured_from(line: NearDuplicate, representative: str, fingerprint: int) -> NearDuplicate:
    if line.representative == representative:
        return line
    distance = hamming_distance(line.fingerprint, fingerprint)
    return replace(line, distance=distance, similarity=None)


def _group_by_representative(last: dict[str, NearDuplicate]) -> dict[str, list[NearDuplicate]]:
    groups: dict[str, list[NearDuplicate]] = {}
    ends: dict[str, str] = {}
    for line in sorted(last.values(), key=lambda line: line.sequence):
        groups.setdefault(_end_of_chain(line.representative, last, ends), []).append(line)
    return groups


def _end_of_chain(key: str, last: dict[str, NearDuplicate], ends: dict[str, str]) -> str:
    """Follow representatives to the last one, and return its key; in a cycle, the least key.

    :param ends: the cache of results; all keys on the way are added.
    """
    visited: set[str] = set()
    while key in last and key not in ends and key not in visited:
        visited.add(key)
        key = last[key].representative
    if key in ends:
        end = ends[key]
    elif key in visited:
        end = min(_cycle(key, last))
    else:
        end = key
    ends.update(dict.fromkeys(visited, end))
    return end


def _cycle(key: str, last: dict[str, NearDuplicate]) -> set[str]:
    cycle = {key}
    while (key := last[key].representative) not in cycle:
        cycle.add(key)
    return cycle
