"""A crawl over time, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soak_lib.summary import index_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from soak_lib.summary import Report

_RATE_OVER_S = 15
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
        for name, style, width in (("max", ":", 0.8), ("p99", "-", 1.2)):
            lags = [max(line[f"lag_{name}_ms"], 0.1) for line in seconds]
            named = f"{label}, {name} of each second"
            lag.plot(pages, lags, color + style, linewidth=width, label=named)
    memory.set(ylabel="RSS, MB", title="A crawl of generated pages")
    rate.set(ylabel=f"pages/s over {_RATE_OVER_S} s")
    lag.set(ylabel="lag of the event loop, ms", yscale="log", xlabel="pages")
    for panel in (memory, rate):
        panel.set_ylim(bottom=0)
    for panel in (memory, rate, lag):
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
