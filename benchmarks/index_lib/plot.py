"""How the cost of a page grows with the size of the index, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """CPU time of a query and an insert by size, a panel for each scheme."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    measured = [result for result in results if "cpu_us" in result]
    schemes = list(dict.fromkeys(result["scheme"] for result in measured))
    figure, panels = plt.subplots(
        1, len(schemes), figsize=(6.4 * len(schemes), 5.6), squeeze=False, layout="constrained"
    )
    for panel, scheme in zip(panels[0], schemes, strict=True):
        of_scheme = [result for result in measured if result["scheme"] == scheme]
        for name in dict.fromkeys(result["name"] for result in of_scheme):
            points = [(r["size"], r["cpu_us"]) for r in of_scheme if r["name"] == name]
            panel.plot(
                *zip(*points, strict=True),
                marker="o",
                linewidth=2.5 if name == "ours" else 1.2,
                label=name,
            )
        panel.set(
            xscale="log",
            yscale="log",
            title=scheme,
            xlabel="fingerprints",
            ylabel="CPU µs for a query and an insert",
        )
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    figure.savefig(path)
