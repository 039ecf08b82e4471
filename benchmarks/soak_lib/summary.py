"""The lines of a crawl's report: read, summed up, and printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_MB = 1e6
_TENTH = 0.1


class Report(NamedTuple):
    """The samples of a crawl, and its result.

    :param environment: what the figures depend on.
    :param seconds: a line for each second.
    :param end: what is known at the end.
    :param score: what was found of what was planted; None without the plugin.
    :param index_alone: memory of a process that stored the same, once warm and at the end.
    """

    environment: dict[str, Any]
    seconds: list[dict[str, Any]]
    end: dict[str, Any]
    score: dict[str, Any] | None
    index_alone: dict[str, Any] | None = None


def read(path: Path) -> Report:
    """A report. :raises ValueError: the crawl, or the sampling, did not come to its end."""
    environment: dict[str, Any] = {}
    seconds, end, score, index_alone = [], None, None, None
    for line in path.read_text("ascii").splitlines():
        found = json.loads(line)
        if "second" in found:
            seconds.append(found)
        environment = found.get("environment", environment)
        end = found.get("end", end)
        score = found.get("score", score)
        index_alone = found.get("index_alone", index_alone)
    if end is None or not seconds:
        raise ValueError(f"{path}: the crawl did not come to its end")
    if end["end"] is None or end["failures"]:
        raise ValueError(f"{path}: the sampling failed: {end['failures']}")
    return Report(environment, seconds, end, score, index_alone)


def add(path: Path, name: str, value: Any) -> None:
    """Add a line."""
    with path.open("a", encoding="ascii") as file:
        file.write(json.dumps({name: value}) + "\n")


def pages_per_s(seconds: list[dict[str, Any]], start: float, stop: float) -> float:
    """The rate between two shares of all pages, by the seconds that lie nearest."""
    pages = seconds[-1]["pages"]
    points = [{"second": 0.0, "pages": 0}, *seconds]
    first = min(points, key=lambda line: abs(line["pages"] - start * pages))
    last = min(points, key=lambda line: abs(line["pages"] - stop * pages))
    elapsed_s = last["second"] - first["second"]
    return (last["pages"] - first["pages"]) / elapsed_s if elapsed_s else 0.0


def index_bytes(snapshot: dict[str, Any]) -> int:
    """What the index holds in a snapshot: its buffer, its database's caches, and what is mapped of
    its files; of which earlier reports say nothing.
    """
    mapped_bytes = snapshot.get("mapped_bytes", 0)
    return int(snapshot["buffer_bytes"] + snapshot["database_bytes"] + mapped_bytes)


def growth(report: Report) -> dict[str, float]:
    """Memory of the crawl's process from the warm-up to the end, in bytes and as shares."""
    warm, end = report.end["warm"], report.end["end"]
    own = [snapshot["rss_bytes"] - index_bytes(snapshot) for snapshot in (warm, end)]
    pages = end["pages"] - warm["pages"]
    return {
        "grown_bytes": end["rss_bytes"] - warm["rss_bytes"],
        "share": end["rss_bytes"] / warm["rss_bytes"] - 1,
        "index_grown_bytes": index_bytes(end) - index_bytes(warm),
        "grown_bytes_without_index": own[1] - own[0],
        "share_without_index": own[1] / own[0] - 1,
        "bytes_per_page_without_index": (own[1] - own[0]) / pages if pages else 0.0,
        "workers_share": (
            end["workers_rss_bytes"] / warm["workers_rss_bytes"] - 1
            if warm["workers_rss_bytes"]
            else 0.0
        ),
    }


def print_summary(report: Report, index_limit_bytes: int, beside: Report | None = None) -> None:
    """Print all figures of a crawl.

    :param index_limit_bytes: what the index may hold in memory.
    :param beside: of a crawl of the same pages without the plugin.
    """
    seconds, end = report.seconds, report.end
    last = seconds[-1]
    print(
        f"pages: {last['pages']:,} in {last['second']:,.0f} s; "
        f"{pages_per_s(seconds, 0, _TENTH):.1f} pages/s in the first tenth, "
        f"{pages_per_s(seconds, _TENTH, 1 - _TENTH):.1f} between, "
        f"{pages_per_s(seconds, 1 - _TENTH, 1):.1f} in the last; "
        f"CPU of the crawl's process {1000 * last['cpu_s'] / last['pages']:.2f} ms a page"
    )
    _print_memory(report, index_limit_bytes)
    _print_beyond(report, beside)
    for name, what in (("lag", ""), ("own_lag", ", without what it waited for a CPU")):
        if lag := end.get(name):
            print(
                f"lag of the event loop{what}: p50 {lag['p50_ms']} ms, p99 {lag['p99_ms']} ms, "
                f"at most {lag['max_ms']} ms"
            )
    print(f"pages that never came: {len(end['missing'])}")
    if report.score is not None:
        _print_score(report.score)
    counted = {
        name: value
        for name, value in sorted(end["stats"].items())
        if name.startswith("simhash/") and "/distance/" not in name
    }
    for name, value in sorted(end["stats"].items()):
        if any(word in name for word in ("exception", "error", "retry", "log_count", "finish")):
            counted.setdefault(name, value)
    for name, value in counted.items():
        print(f"    {name}: {value}")
    for line in end["end"].get("traced", ()):
        print(f"    {line}")


def _print_beyond(report: Report, beside: Report | None) -> None:
    """Growth that is neither the index's nor that of a crawl without the plugin."""
    grown = growth(report)["grown_bytes"]
    of_index = 0.0
    if alone := report.index_alone:
        of_index = alone["end_bytes"] - alone["warm_bytes"]
        print(
            f"memory, the index alone, in its own process: {alone['warm_bytes'] / _MB:.1f} MB with "
            f"as many pages as when warm, {alone['end_bytes'] / _MB:.1f} MB at the end: "
            f"{of_index / _MB:+.1f} MB; growth beyond that {(grown - of_index) / _MB:+.1f} MB"
        )
    if beside is not None:
        without = growth(beside)["grown_bytes"]
        beyond = grown - of_index - without
        share = beyond / report.end["warm"]["rss_bytes"]
        print(
            f"memory, beside the crawl without the plugin, which grew {without / _MB:+.1f} MB: "
            f"growth beyond both {beyond / _MB:+.1f} MB, {share:+.1%} of the memory when warm"
        )


def _print_memory(report: Report, index_limit_bytes: int) -> None:
    warm, end = report.end["warm"], report.end["end"]
    grown = growth(report)
    for name, snapshot in (("warm", warm), ("at the end", end)):
        print(
            f"memory, {name} ({snapshot['pages']:,} pages): "
            f"RSS {snapshot['rss_bytes'] / _MB:.1f} MB, of which the index holds "
            f"{snapshot['buffer_bytes'] / _MB:.1f} MB in its buffer, "
            f"{snapshot['database_bytes'] / _MB:.1f} MB in the database's caches and "
            f"{snapshot.get('mapped_bytes', 0) / _MB:.1f} MB in mapped files; "
            f"workers {snapshot['workers_rss_bytes'] / _MB:.1f} MB"
        )
    peak = max(line["rss_bytes"] for line in report.seconds)
    print(
        f"memory, growth: {grown['grown_bytes'] / _MB:+.1f} MB ({grown['share']:+.1%}), "
        f"{grown['grown_bytes_without_index'] / _MB:+.1f} MB "
        f"({grown['share_without_index']:+.1%}) without the index's share; workers "
        f"{grown['workers_share']:+.1%}; peak {peak / _MB:.1f} MB; "
        f"the index may hold {index_limit_bytes / _MB:.0f} MB"
    )


def _print_score(score: dict[str, Any]) -> None:
    print(
        f"near-duplicates: {score['right']:,} right and {score['wrong']:,} wrong of "
        f"{score['judged']:,} pages judged, {score['planted']:,} planted: "
        f"recall {score['recall']:.4f}, precision {score['precision']:.4f}"
    )
    shares = [
        f"{kind} {found}/{planted}" for kind, (found, planted) in score["kinds"].items() if planted
    ]
    print("    found by kind of copy: " + ", ".join(shares))
    for page, representative, distance in score["wrong_pairs"]:
        print(f"    wrong: page {page} of {representative} at distance {distance}")
