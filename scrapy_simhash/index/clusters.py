"""Clusters as crawls found them: representatives with their near-duplicates, from entries and log.

The log says what was found at its time. What counts here is the last that is known of a page: one
that became a representative later is none's near-duplicate any more, and one whose representative
was itself taken by another belongs to that one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy_simhash.index.base import Entry, NearDuplicate
    from scrapy_simhash.index.rewriting import Source


@dataclass
class IndexCluster:
    """A representative and its near-duplicates.

    :param representative: its key; it may have no entry any more.
    :param near_duplicates: the last line of each page, oldest first. Their distance is to the
        representative that they name, which may have been superseded.
    """

    representative: str
    near_duplicates: list[NearDuplicate] = field(default_factory=list)

    def __len__(self) -> int:
        return 1 + len(self.near_duplicates)


@dataclass
class Duplication:
    """What an index says of duplication.

    :param entries: representatives.
    :param lines: of the near-duplicate log, with pages that were found again and again.
    :param near_duplicates: pages that are near-duplicates, by the last that is known.
    :param weak: of those, by weak verdicts.
    :param distances: near-duplicates by distance.
    :param clusters: with two pages or more, the largest first.
    :param hosts: near-duplicates by host; keys that are no URLs count as host ``""``.
    :param host_entries: representatives by host.
    """

    entries: int
    lines: int
    near_duplicates: int
    weak: int
    distances: Counter[int]
    clusters: list[IndexCluster]
    hosts: Counter[str]
    host_entries: Counter[str]


def duplication(source: Source) -> Duplication:
    """Count and group what an index holds.

    :raises IndexCorrupt: rows make no sense.
    """
    last: dict[str, NearDuplicate] = {}
    lines = 0
    for line in source.near_duplicates():
        last[line.key] = line
        lines += 1
    entries, host_entries = 0, Counter[str]()
    for entry in source.entries():
        entries += 1
        host_entries[host_of(entry.key)] += 1
        if _is_representative_now(entry, last):
            del last[entry.key]
    return Duplication(
        entries=entries,
        lines=lines,
        near_duplicates=len(last),
        weak=sum(line.weak for line in last.values()),
        distances=Counter(line.distance for line in last.values()),
        clusters=_clusters(last),
        hosts=Counter(host_of(key) for key in last),
        host_entries=host_entries,
    )


def host_of(key: str) -> str:
    """The host of a page's key, if that is a URL; else ``""``."""
    try:
        return urlsplit(key).hostname or ""
    except ValueError:
        return ""


def _is_representative_now(entry: Entry, last: dict[str, NearDuplicate]) -> bool:
    line = last.get(entry.key)
    return line is not None and entry.met > line.sequence


def _clusters(last: dict[str, NearDuplicate]) -> list[IndexCluster]:
    by_representative: dict[str, IndexCluster] = {}
    ends: dict[str, str] = {}
    for line in sorted(last.values(), key=lambda line: line.sequence):
        key = _end_of_chain(line.representative, last, ends)
        if key != line.key:
            cluster = by_representative.setdefault(key, IndexCluster(key))
            cluster.near_duplicates.append(line)
    return sorted(by_representative.values(), key=len, reverse=True)


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
