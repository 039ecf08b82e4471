"""``clusters``: list representatives with their near-duplicates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import add_number, index_location
from scrapy_simhash.commands._output import note, show, show_json
from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.reasons import explain, percent

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.index.base import NearDuplicate

_DESCRIPTION = """\
Lists clusters, the largest first: each representative, and below it its near-duplicates with their
distance, similarity and action.

  {program} clusters --top 5 --members 10
  {program} clusters --similar
  {program} clusters --host www.example.com

A similar page is within k bits of another page but not a copy of it, so the crawl kept it.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
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
    :param reason: why it is a copy, or only similar, in words.
    """

    key: str
    distance: int
    similarity: float | None
    action: str
    reason: str


# A representative and its near-duplicates; with --similar, a page and the pages similar to it.
Cluster = tuple[str, list[Member]]


def _run(options: argparse.Namespace) -> None:
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


COMMAND = Command(
    "clusters",
    "list representatives with their near-duplicates",
    _DESCRIPTION,
    _run,
    _add_arguments,
    index=True,
)
