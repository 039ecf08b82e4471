"""Figures of crawls, and the tables that show them: medians, and ratios within rounds."""

from __future__ import annotations

import statistics
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from common import table

from crawl_lib.contestants import CONTESTANTS, OFF
from crawl_lib.crawling import STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Figures = dict[str, Any]
    # A round: figures by contestant.
    Round = dict[str, Figures]


def figures(result: dict[str, Any], pages: int) -> Figures:
    """Return the costs per page of the whole crawl, and after its first tenth."""
    marks = result["marks"]
    if marks["end"]["pages"] != pages:
        troubles = result["troubles"] or ""
        return {"missing": f"{marks['end']['pages']} of {pages} pages crawled {troubles}".strip()}
    opened, request, end = marks["opened"], marks["request"], marks["end"]
    found = {
        "pages": pages,
        "pages_per_s": pages / (end["time_s"] - request["time_s"]),
        "run_s": end["time_s"] - opened["time_s"],
        "first_item_s": marks["item"]["time_s"] - opened["time_s"],
    }
    for prefix, since in (("", opened), ("warm_", marks["warm"])):
        count = pages - since["pages"]
        children_s = end["children_cpu_s"] - since["children_cpu_s"]
        found[prefix + "cpu_ms"] = 1000 * (end["cpu_s"] - since["cpu_s"] + children_s) / count
        found[prefix + "workers_cpu_ms"] = 1000 * children_s / count
        for step in STEPS:
            spent = end["steps_ms"][step] - since["steps_ms"][step]
            found[f"{prefix}{step}_ms"] = spent / count
        if prefix:
            found[prefix + "pages_per_s"] = count / (end["time_s"] - since["time_s"])
    found |= {f"lag_{name}_ms": late for name, late in result["lag_ms"].items()}
    kept = ("children", "peak_rss_bytes", "near_duplicates", "troubles")
    return found | {name: result[name] for name in kept}


class Column(NamedTuple):
    """A column of a table: the median of the rounds, with the least and the most if `spread`.

    :param value: from the figures of a crawl, and those without the plugin in the same round.
    """

    header: str
    value: Callable[[Figures, Figures], float]
    digits: int = 2
    spread: bool = False

    def cell(self, rounds: Iterable[Round], name: str) -> str:
        """Return the cell of a contestant; a dash if no round has what it is made of."""
        values = []
        for round_ in rounds:
            with suppress(KeyError):  # a crawl failed
                values.append(self.value(round_[name], round_.get(OFF, {})))
        if not values:
            return "–"
        median, least, most = (
            f"{one:.{self.digits}f}"
            for one in (statistics.median(values), min(values), max(values))
        )
        return f"{median} ({least}–{most})" if self.spread else median


def _of(header: str, figure: str, digits: int = 2, scale: float = 1.0) -> Column:
    return Column(header, lambda one, _: one[figure] / scale, digits)


def _beyond(prefix: str) -> Callable[[Figures, Figures], float]:
    """Return the CPU time per page without Scrapy, extraction and segmentation."""
    steps = ("extraction_ms", "tokenization_ms")
    return lambda one, off: (
        one[f"{prefix}cpu_ms"]
        - off[f"{prefix}cpu_ms"]
        - sum(one[f"{prefix}{step}"] for step in steps)
    )


CRAWLS = (
    _of("pages/s", "pages_per_s", 1),
    _of("warm", "warm_pages_per_s", 1),
    _of("first item s", "first_item_s"),
    _of("CPU ms/page", "cpu_ms"),
    _of("warm", "warm_cpu_ms"),
    _of("of it workers", "warm_workers_cpu_ms"),
    _of("RSS MB", "peak_rss_bytes", 0, 1e6),
    _of("with children", "peak_tree_bytes", 0, 1e6),
    _of("lag ms p50", "lag_p50_ms", 1),
    _of("p99", "lag_p99_ms", 1),
    _of("max", "lag_max_ms", 1),
    _of("near-dup.", "near_duplicates", 0),
    _of("others' cores", "other_cores"),
)
RATIOS = tuple(
    Column(f"{how} by {OFF}", lambda one, off, of=of: one[of] / off[of], spread=True)  # type: ignore[misc]
    for how, of in (("whole", "pages_per_s"), ("warm", "warm_pages_per_s"))
)
COSTS = (
    Column("without", lambda _, off: off["warm_cpu_ms"]),
    _of("with", "warm_cpu_ms"),
    *(_of(step, f"warm_{step}_ms") for step in STEPS),
    Column(
        "own process",
        lambda one, off: one["warm_cpu_ms"] - off["warm_cpu_ms"] - one["warm_workers_cpu_ms"],
        spread=True,
    ),
    Column("beyond", _beyond("warm_"), spread=True),
    Column("beyond, whole crawl", _beyond(""), spread=True),
)
DURATIONS = (
    _of("duration s", "run_s")._replace(spread=True),
    Column("adds %", lambda one, off: 100 * (one["run_s"] / off["run_s"] - 1), spread=True),
    _of("lag ms p99", "lag_p99_ms", 1),
    _of("max", "lag_max_ms", 1),
    _of("near-dup.", "near_duplicates", 0),
)


def print_tables(rounds: Sequence[Round], names: Sequence[str], *, network_bound: bool) -> None:
    """Print the tables of crawls: medians, ratios to crawls without the plugin, and costs."""
    if network_bound:
        _print(DURATIONS, rounds, names)
        return
    _print(CRAWLS, rounds, names)
    print("\nthroughput, whole crawl and warm\n")
    _print(RATIOS, rounds, names)
    if OFF in names:
        print(
            "\nms of CPU time per page; own process: what the plugin adds there; beyond: what is "
            "neither Scrapy's nor extraction nor tokens\n"
        )
        _print(COSTS, rounds, [name for name in names if CONTESTANTS[name].workers is not None])


def _print(columns: Sequence[Column], rounds: Sequence[Round], names: Sequence[str]) -> None:
    header = ("contestant", *(column.header for column in columns))
    print(table(header, [[name, *(one.cell(rounds, name) for one in columns)] for name in names]))


def notes(rounds: Sequence[Round], names: Sequence[str]) -> list[str]:
    """Return notes on doubtful figures."""
    found = []
    for name in names:
        for number, round_ in enumerate(rounds, 1):
            one, workers = round_[name], CONTESTANTS[name].workers or 0
            doubts = [one[what] for what in ("missing", "troubles") if one.get(what)]
            if workers != "by need" and one.get("children", workers) != workers:
                doubts.append(
                    f"{one['children']} processes beside the crawl's, where {workers} were to be"
                )
            found += [f"{name}, round {number}: {doubt}" for doubt in doubts]
    return found
