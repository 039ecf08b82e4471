"""``stats`` and ``clusters``: show the size of an index and the duplication in it."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command, add_top, index_location
from scrapy_simhash.commands._output import note, reason_of, show_json, show_result

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy_simhash.index.base import NearDuplicate


def _stats(options: argparse.Namespace) -> None:
    from scrapy_simhash.maintenance.duplication import duplication
    from scrapy_simhash.maintenance.sources import opened_store

    where = index_location(options)
    with opened_store(where) as store:
        found, entries, size = duplication(store), len(store), store.size_bytes()
        manifest = store.manifest
    result: dict[str, Any] = {
        "index": str(where),
        "database": manifest.database,
        "scheme": manifest.scheme.id,
        "max_distance": manifest.max_distance,
        "confirmation": asdict(manifest.confirmation),
        "plan": asdict(manifest.plan),
        "recall": manifest.plan.recall(manifest.max_distance),
        "file_bytes": size,
        "representatives": found.representatives,
        "entries": entries,
        "near_duplicates": found.near_duplicates,
        "similar": len(found.similar),
        "log_lines": found.lines,
        "distances": dict(sorted(found.distances.items())),
        "clusters": len(found.clusters),
        "largest_clusters": [
            {"representative": cluster.representative, "near_duplicates": len(cluster) - 1}
            for cluster in found.clusters[: options.top]
        ],
    }
    show_result(options, result)


def _stats_arguments(parser: argparse.ArgumentParser) -> None:
    add_top(parser, "clusters", 10)


STATS = Command(
    "stats",
    "show what an index holds",
    """\
Shows the number of pages in an index; the near-duplicates by distance and cluster; and the size,
the scheme and the tables of the index. `report` shows the URL patterns with most near-duplicates.

  %(prog)s --spider news
  %(prog)s --index .scrapy/simhash/spiders/news --json

Each page counts by its latest verdict.
""",
    _stats,
    _stats_arguments,
    index=True,
)


def _clusters(options: argparse.Namespace) -> None:
    from scrapy_simhash.maintenance.duplication import duplication
    from scrapy_simhash.maintenance.sources import opened_store

    with opened_store(index_location(options)) as store:
        logged, manifest = duplication(store), store.manifest
        groups: dict[str, list[NearDuplicate]] = {}
        for line in logged.similar if options.similar else ():
            groups.setdefault(line.representative, []).append(line)
        if not options.similar:
            groups = {one.representative: one.near_duplicates for one in logged.clusters}
        labels = {
            entry.key: entry.evidence.label.decode("utf-8", "replace")
            for entry in store.entries()
            if entry.key in groups
        }
    if logged.similar and not options.similar:
        note(f"{len(logged.similar):,} only similar to others: --similar lists them")
    clusters = [
        (representative, lines)
        for representative, lines in groups.items()
        if options.host is None or _has_page_on(options.host, representative, lines)
    ]
    clusters.sort(key=lambda cluster: len(cluster[1]), reverse=True)
    members = "similar" if options.similar else "near_duplicates"
    shown: list[dict[str, Any]] = [
        {
            "representative": key,
            "pages": len(lines) + 1,
            members: [
                {name: getattr(line, name) for name in ("key", "distance", "similarity", "action")}
                | {"reason": reason_of(line, manifest, (line.label, labels.get(key, "")))}
                for line in lines
            ],
        }
        for key, lines in clusters[: options.top]
    ]
    if options.json:
        pages = sum(len(lines) + 1 for _, lines in clusters)
        show_json({"clusters": len(clusters), "pages": pages, "shown": shown})
        return
    for cluster in shown:
        show_result(options, cluster)
    if len(clusters) > len(shown):
        note(f"{len(clusters) - len(shown):,} more clusters: --top 0 shows all")
    elif not clusters:
        note("no similar pages found" if options.similar else "no clusters found")


def _has_page_on(host: str, representative: str, lines: Sequence[NearDuplicate]) -> bool:
    """Return True if a page of the cluster is on the host. Without a port, any matches."""
    from scrapy_simhash.maintenance.duplication import host_of

    hosts = {host_of(key) for key in (representative, *(line.key for line in lines))}
    return any(re.fullmatch(re.escape(host.lower()) + r"(:\d*)?", one) for one in hosts)


def _clusters_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--similar", action="store_true", help="list similar pages instead of near-duplicates"
    )
    parser.add_argument(
        "--host",
        metavar="NAME",
        help="list only clusters with a page of this host; a name without a port matches any port",
    )
    add_top(parser, "clusters", 20)


CLUSTERS = Command(
    "clusters",
    "list representatives with their near-duplicates",
    """\
Lists clusters, the largest first: each representative, and below it its near-duplicates with their
distance, similarity and action.

  %(prog)s --top 5
  %(prog)s --similar
  %(prog)s --host www.example.com

A similar page is within k bits of another page but not a copy of it, so the crawl kept it.
""",
    _clusters,
    _clusters_arguments,
    index=True,
)
