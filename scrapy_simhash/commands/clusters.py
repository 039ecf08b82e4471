"""``clusters``: list representatives with their near-duplicates, or regroup fingerprints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import (
    WrongUsage,
    add_max_distance,
    add_number,
    given,
    index_location,
    require_distance_below,
)
from scrapy_simhash.commands._output import note, show, show_json
from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.reasons import explain, percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy_simhash.index.base import NearDuplicate
    from scrapy_simhash.maintenance.sources import Source

_DESCRIPTION = """\
Lists clusters, the largest first: each representative, and below it its near-duplicates with their
distance, similarity and action. Without other options, the clusters are those that crawls found.

  {program} clusters --top 5 --members 10
  {program} clusters --similar
  {program} clusters --max-distance 20
  {program} clusters --method connected --host www.example.com

A similar page is within k bits of another page but not a copy of it, so the crawl kept it.

--max-distance and --method regroup all pages by their fingerprints alone, without confirmation. The
method "leader" groups pages as a crawl would, in crawl order. "connected" makes connected
components: each page is near another page of its cluster.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_max_distance(parser, "regroup by this k")
    parser.add_argument(
        "--method",
        choices=("leader", "connected"),
        help="regroup pages as a crawl would, or as connected components (default: leader)",
    )
    parser.add_argument(
        "--similar", action="store_true", help="list similar pages instead of near-duplicates"
    )
    parser.add_argument(
        "--host",
        metavar="NAME",
        help="list only clusters with a page of this host; a name without a port matches any port",
    )
    meaning = "least number of pages in a cluster, including the representative"
    add_number(parser, "--min-pages", meaning, 1, default=2)
    add_number(parser, "--top", "number of clusters to show; 0 for all", 0, default=20)
    meaning = "number of pages to show below each representative; 0 for all"
    add_number(parser, "--members", meaning, 0, default=0)


class Member(NamedTuple):
    """A page of a cluster, with its distance and similarity to the representative.

    :param similarity: estimated resemblance, from 0 to 1; None if unknown.
    :param action: what the crawl did with the page; empty if unknown.
    :param reason: why it is a copy, or only similar, in words; empty if this is unknown.
    """

    key: str
    distance: int
    similarity: float | None = None
    action: str = ""
    reason: str = ""


# A representative and its near-duplicates; with --similar, a page and the pages similar to it.
Cluster = tuple[str, list[Member]]


def _run(options: argparse.Namespace) -> None:
    if options.similar and given(options, "max_distance", "method"):
        raise WrongUsage("--similar cannot be combined with --max-distance or --method")
    clusters = [
        (representative, members)
        for representative, members in _clusters(options)
        if len(members) + 1 >= options.min_pages
        and (options.host is None or _has_page_on(options.host, representative, members))
    ]
    shown = clusters[: options.top or None]
    shown_members = slice(options.members or None)
    if options.json:
        name = "similar" if options.similar else "near_duplicates"
        show_json(
            {
                "clusters": len(clusters),
                "pages": sum(len(members) + 1 for _, members in clusters),
                "shown": [
                    {
                        "representative": representative,
                        "pages": len(members) + 1,
                        name: [member._asdict() for member in members[shown_members]],
                    }
                    for representative, members in shown
                ],
            }
        )
        return
    for representative, members in shown:
        show(escaped(representative))
        for key, distance, similarity, action, reason in members[shown_members]:
            shown_similarity = "" if similarity is None else percent(similarity)
            shown_action = f"{action:<8}  " if action else ""
            show(f"  distance {distance:>3}  {shown_similarity:>5}  {shown_action}{escaped(key)}")
            if reason:
                show(f"    {escaped(reason)}")
        if more := len(members) - len(members[shown_members]):
            show(f"  and {more:,} more")
    if len(clusters) > len(shown):
        note(f"{len(clusters) - len(shown):,} more clusters: --top 0 shows all")
    elif not clusters:
        note("no similar pages found" if options.similar else "no clusters found")


def _has_page_on(host: str, representative: str, members: list[Member]) -> bool:
    """Return True if a page of the cluster is on the host. Without a port, any matches."""
    from scrapy_simhash.maintenance.duplication import host_of

    hosts = {host_of(key) for key in (representative, *(member.key for member in members))}
    return host.lower() in hosts | {re.sub(r":\d+$", "", with_port) for with_port in hosts}


def _clusters(options: argparse.Namespace) -> list[Cluster]:
    from scrapy_simhash.maintenance.duplication import duplication
    from scrapy_simhash.maintenance.sources import opened_source

    with opened_source(index_location(options)) as source:
        if given(options, "max_distance", "method"):
            manifest = source.manifest
            pages = [(key, fingerprint) for _, key, fingerprint in sorted(_pages(source))]
            k = manifest.max_distance if options.max_distance is None else options.max_distance
            return _regrouped(pages, manifest.scheme.bits, k, options)
        logged = duplication(source)
        groups = {cluster.representative: cluster.near_duplicates for cluster in logged.clusters}
        if options.similar:
            groups = {}
            for line in logged.similar:
                groups.setdefault(line.representative, []).append(line)
        elif logged.similar:
            note(f"{len(logged.similar):,} only similar to others: --similar lists them")
        manifest = source.manifest
        labels = {
            entry.key: entry.evidence.label.decode("utf-8", "replace")
            for entry in source.entries()
            if entry.key in groups
        }

    def member(line: NearDuplicate, representative: str) -> Member:
        reason = explain(
            line.against,
            distance=line.distance,
            similarity=line.similarity,
            max_distance=manifest.max_distance,
            confirmation=manifest.confirmation,
            names=(line.label, labels.get(representative, "")),
        )
        return Member(line.key, line.distance, line.similarity, line.action, reason)

    clusters = [(key, [member(line, key) for line in lines]) for key, lines in groups.items()]
    return sorted(clusters, key=lambda cluster: len(cluster[1]), reverse=True)


def _pages(source: Source) -> Iterator[tuple[int, str, int]]:
    """Yield (sequence number, key, fingerprint) of each page: of its entry or its last log line."""
    from scrapy_simhash.maintenance.duplication import is_representative_now

    last_lines = {line.key: line for line in source.near_duplicates() if line.confirmed}
    for entry in source.entries():
        if is_representative_now(entry, last_lines):
            last_lines.pop(entry.key, None)
            yield entry.number, entry.key, entry.fingerprint
    for line in last_lines.values():
        yield line.sequence, line.key, line.fingerprint


def _regrouped(
    pages: list[tuple[str, int]], bits: int, max_distance: int, options: argparse.Namespace
) -> list[Cluster]:
    """Group pages, given as (key, fingerprint), and return their clusters."""
    from scrapy_simhash.clustering import cluster

    require_distance_below(bits, max_distance)
    keys = [key for key, _ in pages]
    result = cluster(
        [fingerprint for _, fingerprint in pages],
        bits=bits,
        max_distance=max_distance,
        method=options.method or "leader",
    )
    if result.recall < 1:
        note(f"up to {1 - result.recall:.1%} of the pairs may be missed: there are very many pages")
    return [
        (
            keys[members[0]],
            [Member(keys[member], int(result.distance[member])) for member in members[1:]],
        )
        for members in result.clusters(options.min_pages)
    ]


COMMAND = Command(
    "clusters",
    "list representatives with their near-duplicates",
    _DESCRIPTION,
    _run,
    _add_arguments,
    index=True,
)
