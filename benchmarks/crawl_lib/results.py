"""Figures of crawls, and the tables that show them: medians, and ratios within rounds."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

from common import table

from crawl_lib.contestants import CONTESTANTS, OFF
from crawl_lib.crawling import STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Figures = dict[str, Any]
    # A round: figures by contestant.
    Round = dict[str, Figures]

_MEGABYTE = 1e6
_NOT_RUN = {"missing": "not run"}
_WAYS = {"whole": "pages_per_s", "warm": "warm_pages_per_s"}


class Spread(NamedTuple):
    """Median, least and most of some rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return that of at least one value."""
        return cls(statistics.median(values), min(values), max(values))


def figures(result: dict[str, Any], pages: int) -> Figures:
    """Return the costs per page of the whole crawl, and after its first tenth."""
    marks = result["marks"]
    if marks["end"]["items"] != pages:
        troubles = result["troubles"] or ""
        return {"missing": f"{marks['end']['items']} of {pages} pages crawled {troubles}".strip()}
    opened, request, end = marks["opened"], marks["request"], marks["end"]
    found = {
        "pages": pages,
        "pages_per_s": pages / (end["time_s"] - request["time_s"]),
        "run_s": end["time_s"] - opened["time_s"],
        "first_item_s": marks["item"]["time_s"] - opened["time_s"],
    }
    for prefix, since in (("", opened), ("warm_", marks["warm"])):
        count = pages - since["items"]
        children_s = end["children_cpu_s"] - since["children_cpu_s"]
        found[prefix + "cpu_ms"] = 1000 * (end["cpu_s"] - since["cpu_s"] + children_s) / count
        found[prefix + "workers_cpu_ms"] = 1000 * children_s / count
        for step in STEPS:
            spent = end["steps_ms"][step] - since["steps_ms"][step]
            found[f"{prefix}{step}_ms"] = spent / count
        if prefix:
            found[prefix + "pages_per_s"] = count / (end["time_s"] - since["time_s"])
    kept = ("lag_ms", "children", "peak_rss_bytes", "near_duplicates", "troubles")
    return found | {name: result[name] for name in kept}


def beyond_ms(one: Figures, off: Figures, prefix: str = "") -> float:
    """Return the CPU time per page without Scrapy, extraction and segmentation."""
    added: float = one[prefix + "cpu_ms"] - off[prefix + "cpu_ms"]
    return added - one[prefix + "extraction_ms"] - one[prefix + "tokenization_ms"]


def own_process_ms(one: Figures, off: Figures, prefix: str = "") -> float:
    """Return the CPU time that the plugin adds to a page in the crawl's own process."""
    added: float = one[prefix + "cpu_ms"] - off[prefix + "cpu_ms"]
    workers: float = one[prefix + "workers_cpu_ms"]
    return added - workers


def spread(
    rounds: Iterable[Round], names: Iterable[str], of: Callable[[Round], float]
) -> Spread | None:
    """Return the spread over the rounds in which these contestants succeeded; None without any."""
    names = set(names)
    values = [
        of(round_)
        for round_ in rounds
        if all("missing" not in round_.get(name, _NOT_RUN) for name in names)
    ]
    return Spread.of(values) if values else None


def of_contestant(rounds: Sequence[Round], name: str, *keys: str) -> Spread | None:
    """Return the spread of one figure."""

    def value(round_: Round) -> float:
        found: Any = round_[name]
        for key in keys:
            found = found[key]
        return float(found)

    return spread(rounds, [name], value)


def ratio(rounds: Sequence[Round], name: str, figure: str) -> Spread | None:
    """Return the ratio of a figure to that without the plugin in the same round."""
    return spread(rounds, [name, OFF], lambda round_: round_[name][figure] / round_[OFF][figure])


def _added(
    rounds: Sequence[Round],
    name: str,
    added_ms: Callable[[Figures, Figures, str], float],
    prefix: str,
) -> Spread | None:
    if CONTESTANTS[name].workers is None:
        return None
    return spread(rounds, [name, OFF], lambda round_: added_ms(round_[name], round_[OFF], prefix))


def print_crawls(rounds: Sequence[Round], names: Sequence[str]) -> None:
    """Print a row of medians for each contestant."""
    header = (
        "contestant", "pages/s", "warm", "first item s", "CPU ms/page", "warm", "of it workers",
        "RSS MB",
        "with children", "lag ms p50", "p99", "max", "near-dup.", "others' cores",
    )  # fmt: skip
    rows = []
    for name in names:
        row = [name]
        for digits, scale, keys in (
            (1, 1, ("pages_per_s",)),
            (1, 1, ("warm_pages_per_s",)),
            (2, 1, ("first_item_s",)),
            (2, 1, ("cpu_ms",)),
            (2, 1, ("warm_cpu_ms",)),
            (2, 1, ("warm_workers_cpu_ms",)),
            (0, _MEGABYTE, ("peak_rss_bytes",)),
            (0, _MEGABYTE, ("peak_tree_bytes",)),
            (1, 1, ("lag_ms", "p50")),
            (1, 1, ("lag_ms", "p99")),
            (1, 1, ("lag_ms", "max")),
            (0, 1, ("near_duplicates",)),
            (2, 1, ("other_cores",)),
        ):
            found = of_contestant(rounds, name, *keys)
            row.append("–" if found is None else f"{found.median / scale:.{digits}f}")
        rows.append(row)
    print(table(header, rows))


def print_ratios(rounds: Sequence[Round], names: Sequence[str]) -> None:
    """Print the throughput relative to others, with minimum and maximum of the rounds."""
    print("\nthroughput, whole crawl and warm\n")
    header = ("contestant", *(f"{how} by {OFF}" for how in _WAYS))
    rows = [
        (name, *(_shown(ratio(rounds, name, figure), 2) for figure in _WAYS.values()))
        for name in names
    ]
    print(table(header, rows))


def print_costs(rounds: Sequence[Round], names: Sequence[str]) -> None:
    """Print where the plugin's CPU time goes, once warm; ``beyond`` also of the whole crawl."""
    print(
        "\nms of CPU time per page; own process: what the plugin adds there; beyond: what is "
        "neither Scrapy's nor extraction nor tokens\n"
    )
    header = (
        *("contestant", "without", "with", *STEPS),
        *("own process", "beyond", "beyond, whole crawl"),
    )
    rows = [
        (
            name,
            _shown(of_contestant(rounds, OFF, "warm_cpu_ms"), 2, bare=True),
            _shown(of_contestant(rounds, name, "warm_cpu_ms"), 2, bare=True),
            *(
                _shown(of_contestant(rounds, name, f"warm_{step}_ms"), 2, bare=True)
                for step in STEPS
            ),
            _shown(_added(rounds, name, own_process_ms, "warm_"), 2),
            _shown(_added(rounds, name, beyond_ms, "warm_"), 2),
            _shown(_added(rounds, name, beyond_ms, ""), 2),
        )
        for name in names
        if CONTESTANTS[name].workers is not None
    ]
    print(table(header, rows))


def print_durations(rounds: Sequence[Round], names: Sequence[str]) -> None:
    """Print the durations of network-bound crawls, and what the plugin adds."""
    header = ("contestant", "duration s", "adds %", "lag ms p99", "max", "near-dup.")
    rows = [
        (
            name,
            _shown(of_contestant(rounds, name, "run_s"), 2),
            _shown(added_percent(rounds, name), 2) if name != OFF else "–",
            _shown(of_contestant(rounds, name, "lag_ms", "p99"), 1, bare=True),
            _shown(of_contestant(rounds, name, "lag_ms", "max"), 1, bare=True),
            _shown(of_contestant(rounds, name, "near_duplicates"), 0, bare=True),
        )
        for name in names
    ]
    print(table(header, rows))


def added_percent(rounds: Sequence[Round], name: str) -> Spread | None:
    """Return the share by which a contestant takes longer than a crawl without the plugin."""
    return spread(
        rounds, [name, OFF], lambda round_: 100 * (round_[name]["run_s"] / round_[OFF]["run_s"] - 1)
    )


def notes(rounds: Sequence[Round], names: Sequence[str]) -> list[str]:
    """Return notes on doubtful figures."""
    found = []
    for name in names:
        for number, round_ in enumerate(rounds, 1):
            one = round_[name]
            if "missing" in one:
                found.append(f"{name}, round {number}: {one['missing']}")
                continue
            workers = CONTESTANTS[name].workers or 0
            if workers != "by need" and one["children"] != workers:
                found.append(
                    f"{name}, round {number}: {one['children']} processes beside the crawl's, "
                    f"where {workers} were to be"
                )
            if one["troubles"]:
                found.append(f"{name}, round {number}: {one['troubles']}")
    return found


def _shown(found: Spread | None, digits: int, *, bare: bool = False) -> str:
    if found is None:
        return "–"
    median, least, most = (f"{value:.{digits}f}" for value in found)
    return median if bare else f"{median} ({least}–{most})"
