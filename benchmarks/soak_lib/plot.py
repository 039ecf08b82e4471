"""A crawl over time, drawn."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from soak_lib.summary import index_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from soak_lib.summary import Report

_RATE_OVER_S = 15
_LAG_POINTS = 200
_LABELS = ("crawl", "crawl without the plugin")
_COLORS = ("C0", "C7")


def plot(reports: list[Report], path: Path) -> None:
    """Memory, pages per second and lag of the event loop by pages; the second report, if there is
    one, is of a crawl without the plugin.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    # The same figures give the same file.
    mpl.rcParams["svg.hashsalt"] = "soak"
    import matplotlib.pyplot as plt

    figure, (memory, rate, lag) = plt.subplots(
        3, 1, figsize=(8, 9), sharex=True, layout="constrained"
    )
    for report, label, color in zip(reports, _LABELS, _COLORS, strict=False):
        seconds = report.seconds
        pages = [line["pages"] for line in seconds]
        memory.plot(pages, [line["rss_bytes"] / 1e6 for line in seconds], color, label=label)
        if any(line["workers"] for line in seconds):
            workers = [line["workers_rss_bytes"] / 1e6 for line in seconds]
            memory.plot(pages, workers, "C1", label=f"workers ({seconds[-1]['workers']})")
        if any(index_bytes(report.end[name]) for name in ("warm", "end")):
            measured = [report.end[name] for name in ("warm", "end")]
            own = [(line["rss_bytes"] - index_bytes(line)) / 1e6 for line in measured]
            at = [line["pages"] for line in measured]
            memory.plot(at, own, f"{color}o:", label=f"{label}, less what the index holds")
        rates = [
            (now["pages"] - before["pages"]) / (now["second"] - before["second"])
            for before, now in zip(seconds, seconds[_RATE_OVER_S:], strict=False)
        ]
        rate.plot(pages[_RATE_OVER_S:], rates, color, label=label)
        measure = "own_lag_max_ms" if "own_lag_max_ms" in seconds[0] else "lag_max_ms"
        waiting = "" if measure == "lag_max_ms" else " without what it waited for a CPU"
        groups = grouped(seconds)
        at = [group[-1]["pages"] for group in groups]
        largest = [max(line[measure] for line in group) for group in groups]
        p99 = [median(line["lag_p99_ms"] for line in group) for group in groups]
        lag.plot(at, largest, f"{color}:", linewidth=1.0, label=f"{label}, largest{waiting}")
        lag.plot(at, p99, color, linewidth=1.2, label=f"{label}, p99 of a second (median)")
    memory.set(ylabel="RSS, MB", title="A crawl of generated pages")
    rate.set(ylabel=f"pages/s over {_RATE_OVER_S} s")
    lag.set(ylabel="lag of the event loop, ms", yscale="log", xlabel="pages")
    for panel in (memory, rate):
        panel.set_ylim(bottom=0)
    for panel in (memory, rate, lag):
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def grouped(seconds: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Seconds that are drawn as one point, without those in which the loop did not come back at
    all: their lag stands in the next.
    """
    measured = [line for line in seconds if line["lag_max_ms"]]
    size = max(len(measured) // _LAG_POINTS, 1)
    return [measured[at : at + size] for at in range(0, len(measured), size)]
