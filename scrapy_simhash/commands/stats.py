"""``stats``: show the size of an index and the duplication in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import add_index_command, index_location, whole_number
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

Each page counts by its latest verdict. Hosts are sorted by near-duplicates, each of which wastes a
request of a crawl.
"""
_BAR_CHARACTERS = 40


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``stats``."""
    parser = add_index_command(subparsers, "stats", _DESCRIPTION, "show what an index holds")
    parser.add_argument(
        "--top",
        metavar="N",
        type=whole_number(0),
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
    from scrapy_simhash.maintenance.duplication import duplication as duplication_in
    from scrapy_simhash.maintenance.sources import opened_source
    from scrapy_simhash.maintenance.statistics import statistics as statistics_of

    where = index_location(options)
    with opened_source(where) as source:
        duplication = duplication_in(source)
    with progress("rows") as on_progress:
        statistics = statistics_of(where, on_progress=on_progress)
    if options.json:
        show_json(_as_json(str(where), statistics, duplication, options.top))
    else:
        _show(str(where), statistics, duplication, options)
    return 0


def _as_json(
    where: str, statistics: IndexStatistics, duplication: Duplication, top: int
) -> dict[str, Any]:
    manifest = statistics.manifest
    return {
        "index": where,
        "database": manifest.database,
        "scheme": manifest.scheme.id,
        "max_distance": manifest.max_distance,
        "confirmation": asdict(manifest.confirmation),
        "plan": asdict(manifest.plan),
        "check_bits": manifest.check_bits,
        "file_bytes": statistics.file_bytes,
        "page_key_bytes": statistics.page_key_bytes,
        "representatives": duplication.representatives,
        "entries": statistics.entries,
        "buffered": statistics.buffered,
        "near_duplicates": duplication.near_duplicates,
        "similar": len(duplication.similar),
        "log_lines": duplication.lines,
        "distances": _by_distance(duplication),
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
        "rows": {kind: asdict(rows) for kind, rows in statistics.rows.items()},
        "tables": [{**asdict(table), "skew": table.skew} for table in statistics.tables],
    }


def _show(
    where: str, statistics: IndexStatistics, duplication: Duplication, options: argparse.Namespace
) -> None:
    manifest, size_bytes = statistics.manifest, statistics.file_bytes
    show(f"index            {escaped(where)}, {size_bytes:,} bytes in {manifest.database}")
    show(f"scheme           {manifest.scheme.id}, k = {manifest.max_distance}")
    show(f"a copy           {_conditions(manifest.confirmation)}")
    show(f"tables           {manifest.plan}, checks of {manifest.check_bits} bits")
    show(f"representatives  {duplication.representatives:,}")
    pages = duplication.representatives + duplication.near_duplicates
    share = f", {percent(duplication.near_duplicates / pages)} of the pages" if pages else ""
    show(f"near-duplicates  {duplication.near_duplicates:,}{share}")
    if duplication.similar:
        show(f"similar          {len(duplication.similar):,}, within k, but not copies")
    if duplication.distances:
        _chart("near-duplicates by distance", _by_distance(duplication))
    if duplication.clusters and options.top:
        show(f"\nlargest of {len(duplication.clusters):,} clusters")
        for cluster in duplication.clusters[: options.top]:
            show(f"  {len(cluster):>9,} pages  {escaped(cluster.representative)}")
    if duplication.hosts and options.top:
        show("\nhosts with most near-duplicates")
        for host, count in duplication.hosts.most_common(options.top):
            of_host = count + duplication.host_representatives[host]
            name = escaped(host) or "(keys that are no URLs)"
            show(f"  {count:>9,} of {of_host:>9,} pages, {percent(count / of_host):>5}  {name}")
    if options.tables:
        _show_tables(statistics)


def _conditions(confirmation: Confirmation) -> str:
    """Return the conditions for a copy, in words."""
    least = confirmation.min_resemblance
    conditions = ["is within k"]
    if least:
        conditions.append(f"resembles the other by {percent(least)} or more")
    if confirmation.same_name:
        conditions.append("on one site, has a title or heading that agrees")
    return ", ".join(conditions)


def _by_distance(duplication: Duplication) -> dict[int, int]:
    """Return the near-duplicates at each distance, from the smallest to the largest with any."""
    counts = duplication.distances
    return {d: counts[d] for d in range(min(counts, default=0), max(counts, default=-1) + 1)}


def _chart(title: str, counts: Mapping[int, int]) -> None:
    show(f"\n{title}")
    highest = max(counts.values())
    for value, count in counts.items():
        show(f"  {value:>3}  {count:>9,}  {bar(count, highest, _BAR_CHARACTERS)}".rstrip())


def _show_tables(statistics: IndexStatistics) -> None:
    buffered, key_bytes = statistics.buffered, statistics.page_key_bytes
    show(f"\n{buffered:,} entries are not in buckets yet; {key_bytes:,} bytes of page keys")
    show(f"{'rows':<16}{'rows':>12}{'key bytes':>14}{'value bytes':>14}")
    for kind, rows in statistics.rows.items():
        show(f"{kind:<16}{rows.rows:>12,}{rows.key_bytes:>14,}{rows.value_bytes:>14,}")
    show(f"{'table':<16}{'prefix bits':>12}{'records':>14}{'used':>10}{'largest':>9}{'skew':>8}")
    for table in statistics.tables:
        show(
            f"{table.name:<16}{table.prefix_bits:>12}{table.records:>14,}{table.used:>10,}"
            f"{table.largest:>9,}{table.skew:>8.1f}"
        )
