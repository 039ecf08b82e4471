"""``stats``: show the size of an index and the duplication in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import add_index_command, index_location, whole
from scrapy_simhash.commands._output import bar, percent, progress, show, show_json
from scrapy_simhash.documents.escaping import escaped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.maintenance.duplication import Duplication
    from scrapy_simhash.maintenance.statistics import IndexStatistics

_DESCRIPTION = """\
Shows the number of pages in an index; the near-duplicates by distance, cluster and host; and the
size, the scheme and the tables of the index.

  {program} stats --spider news
  {program} stats --index .scrapy/simhash/spiders/news --tables --json

Each page counts by its latest verdict. Hosts are sorted by near-duplicates, which are requests that
a crawl wastes.
"""
_BAR_CHARACTERS = 40


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``stats``."""
    parser = add_index_command(subparsers, "stats", _DESCRIPTION, "show what an index holds")
    parser.add_argument(
        "--top",
        metavar="N",
        type=whole(0),
        default=10,
        help="number of clusters and hosts to show (default: %(default)s)",
    )
    parser.add_argument(
        "--tables",
        action="store_true",
        help="also show rows and tables, and how evenly the tables are filled",
    )


def run(options: argparse.Namespace) -> int:
    """Show the statistics, and return the exit code."""
    from scrapy_simhash.maintenance.duplication import duplication
    from scrapy_simhash.maintenance.sources import opened_source
    from scrapy_simhash.maintenance.statistics import statistics

    where = index_location(options)
    with opened_source(where) as source:
        doubled = duplication(source)
    with progress("rows") as on_progress:
        found = statistics(where, on_progress=on_progress)
    if options.json:
        show_json(_as_json(str(where), found, doubled, options.top))
    else:
        _show(str(where), found, doubled, options)
    return 0


def _as_json(where: str, found: IndexStatistics, doubled: Duplication, top: int) -> dict[str, Any]:
    made = found.manifest
    return {
        "index": where,
        "database": made.database,
        "scheme": made.scheme.id,
        "max_distance": made.max_distance,
        "confirmation": asdict(made.confirmation),
        "plan": asdict(made.plan),
        "check_bits": made.check_bits,
        "file_bytes": found.file_bytes,
        "page_key_bytes": found.page_key_bytes,
        "representatives": doubled.representatives,
        "entries": found.entries,
        "buffered": found.buffered,
        "near_duplicates": doubled.near_duplicates,
        "similar": len(doubled.similar),
        "log_lines": doubled.lines,
        "distances": {str(distance): doubled.distances[distance] for distance in _range(doubled)},
        "clusters": len(doubled.clusters),
        "largest_clusters": [
            {"representative": cluster.representative, "near_duplicates": len(cluster) - 1}
            for cluster in doubled.clusters[:top]
        ],
        "hosts": [
            {
                "host": host,
                "near_duplicates": count,
                "representatives": doubled.host_representatives[host],
            }
            for host, count in doubled.hosts.most_common(top)
        ],
        "rows": {kind: asdict(rows) for kind, rows in found.rows.items()},
        "tables": [{**asdict(table), "skew": table.skew} for table in found.tables],
    }


def _show(
    where: str, found: IndexStatistics, doubled: Duplication, options: argparse.Namespace
) -> None:
    made = found.manifest
    show(f"index            {escaped(where)}, {found.file_bytes:,} bytes in {made.database}")
    show(f"scheme           {made.scheme.id}, k = {made.max_distance}")
    show(f"a copy           {_rule(made.confirmation)}")
    show(f"tables           {made.plan}, checks of {made.check_bits} bits")
    show(f"representatives  {doubled.representatives:,}")
    pages = doubled.representatives + doubled.near_duplicates
    share = f", {percent(doubled.near_duplicates / pages)} of the pages" if pages else ""
    show(f"near-duplicates  {doubled.near_duplicates:,}{share}")
    if doubled.similar:
        show(f"similar          {len(doubled.similar):,}, within k, but not copies")
    if doubled.distances:
        _chart("near-duplicates by distance", {d: doubled.distances[d] for d in _range(doubled)})
    if doubled.clusters and options.top:
        show(f"\nlargest of {len(doubled.clusters):,} clusters")
        for cluster in doubled.clusters[: options.top]:
            show(f"  {len(cluster):>9,} pages  {escaped(cluster.representative)}")
    if doubled.hosts and options.top:
        show("\nhosts with most near-duplicates")
        for host, count in doubled.hosts.most_common(options.top):
            of_host = count + doubled.host_representatives[host]
            name = escaped(host) or "(keys that are no URLs)"
            show(f"  {count:>9,} of {of_host:>9,} pages, {percent(count / of_host):>5}  {name}")
    if options.tables:
        _show_tables(found)


def _rule(confirmation: Confirmation) -> str:
    least = confirmation.min_resemblance
    rules = ["is within k"]
    if least:
        rules.append(f"resembles the other by {percent(least)} or more")
    if confirmation.same_name:
        rules.append("has a title or heading that agrees, on one site")
    return ", ".join(rules)


def _range(doubled: Duplication) -> range:
    return (
        range(min(doubled.distances), max(doubled.distances) + 1) if doubled.distances else range(0)
    )


def _chart(title: str, counts: Mapping[int, int]) -> None:
    show(f"\n{title}")
    most = max(counts.values())
    for value, count in counts.items():
        show(f"  {value:>3}  {count:>9,}  {bar(count, most, _BAR_CHARACTERS)}".rstrip())


def _show_tables(found: IndexStatistics) -> None:
    show(
        f"\n{found.buffered:,} entries are not in buckets yet; {found.page_key_bytes:,} bytes of "
        "page keys"
    )
    show(f"{'rows':<16}{'rows':>12}{'key bytes':>14}{'value bytes':>14}")
    for kind, rows in found.rows.items():
        show(f"{kind:<16}{rows.rows:>12,}{rows.key_bytes:>14,}{rows.value_bytes:>14,}")
    show(f"{'table':<16}{'prefix bits':>12}{'records':>14}{'used':>10}{'largest':>9}{'skew':>8}")
    for table in found.tables:
        show(
            f"{table.name:<16}{table.prefix_bits:>12}{table.records:>14,}{table.used:>10,}"
            f"{table.largest:>9,}{table.skew:>8.1f}"
        )
