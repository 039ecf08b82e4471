"""Results as aligned tables and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quality_lib.scoring import wilson

if TYPE_CHECKING:
    from quality_lib.scoring import Figures

NONE = "-"
COLUMNS = ("recall", "precision", "F1", "wrong/M", "found", "wrong", "between")


def proportion(successes: int, trials: int, digits: int = 3) -> str:
    """Share with its interval: ``0.887 (0.868-0.904)``."""
    ends = wilson(successes, trials)
    if ends is None:
        return NONE
    return f"{successes / trials:.{digits}f} ({ends[0]:.{digits}f}-{ends[1]:.{digits}f})"


def number(value: float | None, ends: tuple[float, float] | None, digits: int = 3) -> str:
    """The same for what isn't a proportion."""
    if value is None:
        return NONE
    shown = f"{value:.{digits}f}"
    return shown if ends is None else f"{shown} ({ends[0]:.{digits}f}-{ends[1]:.{digits}f})"


def cells(figures: Figures) -> list[str]:
    """One for each of COLUMNS."""
    values = figures.as_json()
    return [
        proportion(figures.found, figures.must),
        proportion(figures.found, figures.found + figures.wrong),
        number(figures.f1, None),
        number(figures.wrong_per_million, values["wrong_per_million_95"], 1),
        f"{figures.found}/{figures.must}",
        f"{figures.wrong}/{figures.must_not}",
        f"{figures.between}/{figures.between_all}",
    ]
