"""A crawl over time, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from soak_lib.summary import Report

_RATE_OVER_S = 15
_LABELS = ("crawl", "crawl without the plugin")


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
    for report, label, style in zip(reports, _LABELS, ("-", "--"), strict=False):
        seconds = report.seconds
        pages = [line["pages"] for line in seconds]
        memory.plot(pages, [line["rss_bytes"] / 1e6 for line in seconds], style, label=label)
        if any(line["workers"] for line in seconds):
            workers = [line["workers_rss_bytes"] / 1e6 for line in seconds]
            memory.plot(pages, workers, style, label=f"its {seconds[-1]['workers']} worker(s)")
        rates = [
            (now["pages"] - before["pages"]) / (now["second"] - before["second"])
            for before, now in zip(seconds, seconds[_RATE_OVER_S:], strict=False)
        ]
        rate.plot(pages[_RATE_OVER_S:], rates, style, label=label)
        for name, width in (("max", 0.6), ("p99", 1.2)):
            lags = [max(line[f"lag_{name}_ms"], 0.1) for line in seconds]
            lag.plot(pages, lags, style, linewidth=width, label=f"{label}, {name} of each second")
    memory.set(ylabel="RSS, MB", title="A crawl of generated pages")
    rate.set(ylabel=f"pages/s over {_RATE_OVER_S} s")
    lag.set(ylabel="lag of the event loop, ms", yscale="log", xlabel="pages")
    for panel in (memory, rate):
        panel.set_ylim(bottom=0)
    for panel in (memory, rate, lag):
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
