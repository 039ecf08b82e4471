"""Group the entries and the near-duplicate log of an index into clusters.

The log keeps all lines of a page; only the last verdict on each page counts:

- A page that became a representative later is no longer a near-duplicate.
- If a representative became a near-duplicate, its cluster joins that of its new representative.
- If the entry of a representative was removed, expired or replaced, its oldest near-duplicate is
  *promoted*: it represents the others.
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

    :param near_duplicates: the last log line of each near-duplicate, oldest first. If a line names
        another representative, `similarity` is set to None, and `distance` to the distance to this
        one, which may exceed k.
    """

    representative: str
    near_duplicates: list[NearDuplicate] = field(default_factory=list)

    def __len__(self) -> int:
        return 1 + len(self.near_duplicates)


@dataclass
class Duplication:
    """The clusters and counts of an index. Each page is a representative or a near-duplicate.

    :param representatives: number of entries that are not near-duplicates, plus promoted pages.
    :param promoted: the last log line of each promoted page.
    :param seen_before_s: for pages that were seen before their last log line: the Unix time when
        they were first seen, by key.
    :param lines: number of all lines of the near-duplicate log, also of similar pages.
    :param near_duplicates: number of near-duplicates, without promoted pages.
    :param similar: the last log line of each page, if it says that the page is only similar to
        another one; oldest first.
    :param distances: number of near-duplicates by distance to the representative of their cluster.
    :param farthest: the largest distance in the last log lines of near-duplicates and promoted
        pages, as crawls measured it; 0 if there are none.
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
    """Return the clusters and counts of an index.

    :raises StorageError: the index cannot be read, or a row cannot be decoded (IndexCorrupt).
    """
    last_lines: dict[str, NearDuplicate] = {}
    similar: dict[str, NearDuplicate] = {}
    seen_before_s: dict[str, int] = {}
    lines = 0
    for line in source.near_duplicates():
        lines += 1
        similar.pop(line.key, None)
        if not line.confirmed:
            similar[line.key] = line
            continue
        earlier = last_lines.get(line.key)
        if earlier is not None:
            seen_before_s.setdefault(line.key, earlier.seen_at_s)
        last_lines[line.key] = line
    # The next loop removes the lines of pages that are representatives now.
    host_representatives: Counter[str] = Counter()
    entry_times_s: Counter[int] = Counter()
    for entry in source.entries():
        if is_representative_now(entry, last_lines):
            last_lines.pop(entry.key, None)
            host_representatives[host_of(entry.key)] += 1
            entry_times_s[entry.first_seen_s] += 1
        else:
            first_s = entry.first_seen_s
            seen_before_s[entry.key] = min(seen_before_s.get(entry.key, first_s), first_s)
    groups = _group_by_representative(last_lines)
    fingerprints = {
        entry.key: entry.fingerprint
        for entry in source.entries()
        if entry.key in groups and entry.key not in last_lines
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
        near_lines = [_measure_from(line, representative, fingerprint) for line in members]
        if near_lines:
            clusters.append(IndexCluster(representative, near_lines))
    near_duplicates = [line for cluster in clusters for line in cluster.near_duplicates]
    return Duplication(
        representatives=host_representatives.total(),
        promoted=promoted,
        seen_before_s=seen_before_s,
        lines=lines,
        near_duplicates=len(near_duplicates),
        similar=list(similar.values()),
        distances=Counter(line.distance for line in near_duplicates),
        farthest=max((line.distance for line in last_lines.values()), default=0),
        clusters=sorted(clusters, key=len, reverse=True),
        hosts=Counter(host_of(line.key) for line in near_duplicates),
        host_representatives=host_representatives,
        entry_times_s=entry_times_s,
    )


def is_representative_now(entry: Entry, last_lines: dict[str, NearDuplicate]) -> bool:
    """Return True if the page of an entry is a representative, given the last line of each copy.

    The later of `Entry.last_sequence` and the log line decides. If a page replaced its
    representative (`Index.supersede`), both have one sequence number, and the page is a
    representative.
    """
    line = last_lines.get(entry.key)
    return line is None or entry.last_sequence >= line.sequence


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


def _measure_from(line: NearDuplicate, representative: str, fingerprint: int) -> NearDuplicate:
    """Return a log line with its distance to a representative; see `IndexCluster`."""
    if line.representative == representative:
        return line
    distance = hamming_distance(line.fingerprint, fingerprint)
    return replace(line, distance=distance, similarity=None)


def _group_by_representative(
    last_lines: dict[str, NearDuplicate],
) -> dict[str, list[NearDuplicate]]:
    """Return lines, oldest first, by the page that represents their cluster now.

    A representative may have become a near-duplicate of another one, and so on. If a page would
    represent itself, because the entries of all others are gone, its line is in a group of its own.
    """
    groups: dict[str, list[NearDuplicate]] = {}
    for line in sorted(last_lines.values(), key=lambda line: line.sequence):
        end, passed = line.representative, {line.key}
        while end in last_lines and end not in passed:
            passed.add(end)
            end = last_lines[end].representative
        groups.setdefault(end, []).append(line)
    return groups
