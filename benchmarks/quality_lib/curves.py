"""Recall against precision over all k, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quality_lib.corpus import MUST, WRONG

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

_SHAPES = "osD^vP*X"


def check() -> None:
    """Before the work is done. :raises SystemExit: there is no matplotlib."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        raise SystemExit("--curves: not installed: pip install matplotlib") from None


def points(counts: dict[str, np.ndarray], must: int) -> list[dict[str, float]]:
    """Recall and precision within each k, from the number of pairs at each distance."""
    found, wrong = np.cumsum(counts[MUST]), np.cumsum(counts[WRONG])
    return [
        {"k": k, "recall": float(hit / must), "precision": float(hit / (hit + miss))}
        for k, (hit, miss) in enumerate(zip(found, wrong, strict=True))
        if must and hit + miss
    ]


def draw(
    lines: dict[str, list[dict[str, float]]],
    marks: Sequence[tuple[str, str, float, float]],
    path: Path,
    title: str,
) -> None:
    """One line for each scheme, one mark for each scheme at a k and for each peer.

    :param marks: whose it is, label, recall, precision.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "quality"  # the same figures, the same file
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 6))
    colours: dict[str, Any] = {}
    for label, curve in lines.items():
        (line,) = axes.plot(
            [point["recall"] for point in curve],
            [point["precision"] for point in curve],
            label=label,
            linewidth=1.4,
        )
        colours[label] = line.get_color()
    for shape, (name, label, recall, precision) in zip(_SHAPES * len(marks), marks, strict=False):
        colour = colours.get(name, "black")
        axes.plot(recall, precision, shape, color=colour, label=label, markersize=8)
    axes.set_xlabel("recall (pairs with resemblance of at least 0.8 that are reported)")
    axes.set_ylabel("precision (those, of all reported that are not between 0.2 and 0.8)")
    axes.set_title(title)
    axes.set_xlim(0, 1.01)
    axes.set_ylim(0, 1.01)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="lower left", fontsize="small")
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    figure.savefig(path, dpi=130, bbox_inches="tight", metadata=metadata)
    plt.close(figure)
