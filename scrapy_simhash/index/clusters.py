"""Clusters as crawls found them: representatives with their near-duplicates, from entries and log.

The log says what was found at its time. What counts here is the last that is known of a page: one
that became a representative later is none's near-duplicate any more; one whose representative was
itself taken by another belongs to that one; and of pages whose representative has left the index
(its page was removed, expired, or gone at the next crawl) the oldest stands for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_simhash.fingerprint import hamming_distance

if TYPE_CHECKING:
    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.rewriting import Source


@dataclass
class IndexCluster:
    """A representative and its near-duplicates.

    :param near_duplicates: the last line of each page, oldest first. Where that names another
        representative, its distance is to this one all the same, and may be above k; its
        similarity is not known then.
    """

    representative: str
    near_duplicates: list[NearDuplicate] = field(default_factory=list)

    def __len__(self) -> int:
        return 1 + len(self.near_duplicates)


@dataclass
class Duplication:
    """What an index says of duplication. Each page counts once.

    :param representatives: entries that are none's near-duplicate, and pages that stand for a
        representative that has left the index.
    :param stood_in: those of the latter kind.
    :param met_before_s: pages that were met before their last line of the log, and when first, in
        seconds since 1970.
    :param lines: of the near-duplicate log, with pages that were found again and again.
    :param near_duplicates: pages that are near-duplicates, by the last that is known.
    :param similar: the last line of each page that was within k of another and no copy of it,
        unless it was found to be a copy later; oldest first.
    :param distances: near-duplicates by distance to the representative of their cluster.
    :param farthest: the largest distance at which a crawl called a page a near-duplicate.
    :param clusters: with two pages or more, the largest first.
    :param hosts: near-duplicates by host (`host_of`); keys that are no URLs count as host ``""``.
    :param host_representatives: representatives by host.
    """

    representatives: int
    stood_in: list[NearDuplicate]
    met_before_s: dict[str, int]
    lines: int
    near_duplicates: int
    similar: list[NearDuplicate]
    distances: Counter[int]
    farthest: int
    clusters: list[IndexCluster]
    hosts: Counter[str]
    host_representatives: Counter[str]

    def first_seen_s(self, line: NearDuplicate) -> int:
        """When the page of a line was first met, in seconds since 1970."""
        return self.met_before_s.get(line.key, line.seen_at_s)


def duplication(source: Source) -> Duplication:
    """Count and group what an index holds.

    :raises IndexCorrupt: rows make no sense.
    """
    last: dict[str, NearDuplicate] = {}
    similar: dict[str, NearDuplicate] = {}
    met_before_s: dict[str, int] = {}
    lines = 0
    for line in source.near_duplicates():
        lines += 1
        similar.pop(line.key, None)
        if not line.confirmed:
            similar[line.key] = line
            continue
        before = last.get(line.key)
        if before is not None:
            met_before_s.setdefault(line.key, before.seen_at_s)
        last[line.key] = line
    hosts: Counter[str] = Counter()
    for entry in source.entries():
        if is_representative_now(entry, last):
            last.pop(entry.key, None)
            hosts[host_of(entry.key)] += 1
        else:
            first_s = entry.first_seen_s
            met_before_s[entry.key] = min(met_before_s.get(entry.key, first_s), first_s)
    groups = _by_representative(last)
    prints = {
        entry.key: entry.fingerprint
        for entry in source.entries()
        if entry.key in groups and entry.key not in last
    }
    clusters = []
    stood_in = []
    for key, members in groups.items():
        fingerprint = prints.get(key)
        representative = key
        if fingerprint is None:
            oldest = members.pop(0)
            representative, fingerprint = oldest.key, oldest.fingerprint
            stood_in.append(oldest)
            hosts[host_of(oldest.key)] += 1
        near = [_apart_from(line, representative, fingerprint) for line in members]
        if near:
            clusters.append(IndexCluster(representative, near))
    found = [line for cluster in clusters for line in cluster.near_duplicates]
    return Duplication(
        representatives=hosts.total(),
        stood_in=stood_in,
        met_before_s=met_before_s,
        lines=lines,
        near_duplicates=len(found),
        similar=list(similar.values()),
        distances=Counter(line.distance for line in found),
        farthest=max((line.distance for line in last.values()), default=0),
        clusters=sorted(clusters, key=len, reverse=True),
        hosts=Counter(host_of(line.key) for line in found),
        host_representatives=hosts,
    )


def is_representative_now(entry: Entry, last: dict[str, NearDuplicate]) -> bool:
    """Whether an entry's page is one, as the last line of each near-duplicate says.

    A page that took the place of its representative has the sequence number of its line.
    """
    line = last.get(entry.key)
    return line is None or entry.met >= line.sequence


def host_of(key: str) -> str:
    """The host of a page's key, with a port if it names one; ``""`` if it is no URL."""
    try:
        parts = urlsplit(key)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if ":" in host:
        host = f"[{host}]"
    try:
        port = parts.port
    except ValueError:  # of no computer: the rest is told apart all the same
        port = None
    return host if port is None or not host else f"{host}:{port}"


def _apart_from(line: NearDuplicate, representative: str, fingerprint: int) -> NearDuplicate:
    if line.representative == representative:
        return line
    distance = hamming_distance(line.fingerprint, fingerprint)
    return replace(line, distance=distance, similarity=None)


def _by_representative(last: dict[str, NearDuplicate]) -> dict[str, list[NearDuplicate]]:
    groups: dict[str, list[NearDuplicate]] = {}
    ends: dict[str, str] = {}
    for line in sorted(last.values(), key=lambda line: line.sequence):
        groups.setdefault(_end_of_chain(line.representative, last, ends), []).append(line)
    return groups


def _end_of_chain(key: str, last: dict[str, NearDuplicate], ends: dict[str, str]) -> str:
    """The representative of a representative, and so on; of a ring, the first of it by name.

    :param ends: those that are known, to which this one and all on its way are added.
    """
    met: dict[str, None] = {}
    while key in last and key not in ends and key not in met:
        met[key] = None
        key = last[key].representative
    end = ends.get(key) or (min(_ring(key, last)) if key in met else key)
    ends.update(dict.fromkeys(met, end))
    return end


def _ring(key: str, last: dict[str, NearDuplicate]) -> set[str]:
    ring = {key}
    while (key := last[key].representative) not in ring:
        ring.add(key)
    return ring
