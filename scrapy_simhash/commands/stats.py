"""``stats``: show the size of an index and the duplication in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command, add_number, index_location
from scrapy_simhash.commands._output import show_result

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.index.manifest import Manifest
    from scrapy_simhash.maintenance.duplication import Duplication
    from scrapy_simhash.maintenance.sources import Source

_DESCRIPTION = """\
Shows the number of pages in an index; the near-duplicates by distance, cluster and host; and the
size, the scheme and the tables of the index.

  {program} stats --spider news
  {program} stats --index .scrapy/simhash/spiders/news --tables --json

Each page counts by its latest verdict. Hosts are sorted by near-duplicates, each of which wastes a
request of a crawl.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_number(parser, "--top", "number of clusters and hosts to show", 0, default=10)
    parser.add_argument(
        "--tables", action="store_true", help="also show which pairs the tables find"
    )


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.maintenance.duplication import duplication as duplication_in
    from scrapy_simhash.maintenance.sources import opened_source

    where = index_location(options)
    with opened_source(where) as source:
        result = _result(str(where), source, duplication_in(source), options.top)
        if options.tables:
            result["tables"] = _tables(source.manifest)
    show_result(options, result)


def _tables(manifest: Manifest) -> dict[str, Any]:
    """Return which pairs the tables of an index find."""
    plan, k = manifest.plan, manifest.max_distance
    steps = range(plan.guaranteed_distance + 1, plan.bits, max(plan.bits // 64, 1))
    return {
        "tables": len(plan.tables),
        "guaranteed_distance": plan.guaranteed_distance,
        "recall": plan.recall(k),
        "expected_recall": {
            d: plan.expected_recall(d) for d in steps if d <= 2 * k and not plan.probes
        },
    }


def _result(where: str, source: Source, duplication: Duplication, top: int) -> dict[str, Any]:
    manifest, distances = source.manifest, duplication.distances
    nearest, farthest = min(distances, default=0), max(distances, default=-1)
    return {
        "index": where,
        "database": manifest.database,
        "scheme": manifest.scheme.id,
        "max_distance": manifest.max_distance,
        "confirmation": asdict(manifest.confirmation),
        "plan": asdict(manifest.plan),
        "file_bytes": source.size_bytes(),
        "representatives": duplication.representatives,
        "entries": sum(1 for _ in source.entries()),
        "near_duplicates": duplication.near_duplicates,
        "similar": len(duplication.similar),
        "log_lines": duplication.lines,
        "distances": {distance: distances[distance] for distance in range(nearest, farthest + 1)},
        "clusters": len(duplication.clusters),
        "largest_clusters": [
            {"representative": cluster.representative, "near_duplicates": len(cluster) - 1}
            for cluster in duplication.clusters[:top]
        ],
        "hosts": [
            {
                "host": host,
                "near_duplicates": count,
                "representatives": duplication.host_representatives[host],
            }
            for host, count in duplication.hosts.most_common(top)
        ],
    }


COMMAND = Command(
    "stats", "show what an index holds", _DESCRIPTION, _run, _add_arguments, index=True
)
