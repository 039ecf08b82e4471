"""``stats``: show the size of an index and the duplication in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import add_number, index_location
from scrapy_simhash.commands._output import bar, show, show_json
from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.reasons import percent

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.confirmation import Confirmation
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
_BAR_CHARACTERS = 40


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
        duplication, manifest = duplication_in(source), source.manifest
        result = _as_json(str(where), source, duplication, options.top)
    if options.tables:
        result["tables"] = _tables(manifest)
    if options.json:
        show_json(result)
        return
    _show(result, manifest)
    if options.tables:
        _show_tables(result["tables"], manifest.max_distance)


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


def _show_tables(tables: dict[str, Any], k: int) -> None:
    show(f"\nthe tables find all pairs to distance {tables['guaranteed_distance']}")
    show(f"expected recall of real near-duplicates within {k} bits: {tables['recall']:.3f}")
    for distance, share in tables["expected_recall"].items():
        show(f"  {share:.3f} of the pairs at distance {distance}, if all bits differ equally often")


def _as_json(where: str, source: Source, duplication: Duplication, top: int) -> dict[str, Any]:
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


def _show(result: dict[str, Any], manifest: Manifest) -> None:
    representatives, near_duplicates = result["representatives"], result["near_duplicates"]
    show(
        f"index            {escaped(result['index'])}, {result['file_bytes']:,} bytes in "
        f"{manifest.database}"
    )
    show(f"scheme           {manifest.scheme.id}, k = {manifest.max_distance}")
    show(f"a copy           {_conditions(manifest.confirmation)}")
    show(f"tables           {manifest.plan}")
    show(f"representatives  {representatives:,}")
    pages = representatives + near_duplicates
    share = f", {percent(near_duplicates / pages)} of the pages" if pages else ""
    show(f"near-duplicates  {near_duplicates:,}{share}")
    if result["similar"]:
        show(f"similar          {result['similar']:,}, within k, but not copies")
    if distances := result["distances"]:
        show("\nnear-duplicates by distance")
        highest = max(distances.values())
        for value, count in distances.items():
            show(f"  {value:>3}  {count:>9,}  {bar(count, highest, _BAR_CHARACTERS)}".rstrip())
    if result["largest_clusters"]:
        show(f"\nlargest of {result['clusters']:,} clusters")
        for cluster in result["largest_clusters"]:
            size = cluster["near_duplicates"] + 1
            show(f"  {size:>9,} pages  {escaped(cluster['representative'])}")
    if result["hosts"]:
        show("\nhosts with most near-duplicates")
    for host in result["hosts"]:
        count = host["near_duplicates"]
        of_host = count + host["representatives"]
        name = escaped(host["host"]) or "(keys that are no URLs)"
        show(f"  {count:>9,} of {of_host:>9,} pages, {percent(count / of_host):>5}  {name}")


def _conditions(confirmation: Confirmation) -> str:
    """Return the conditions for a copy, in words."""
    least = confirmation.min_resemblance
    conditions = ["is within k"]
    if least:
        conditions.append(f"resembles the other by {percent(least)} or more")
    if confirmation.same_name:
        conditions.append("on one site, has a title or heading that agrees")
    return ", ".join(conditions)


COMMAND = Command(
    "stats", "show what an index holds", _DESCRIPTION, _run, _add_arguments, index=True
)
