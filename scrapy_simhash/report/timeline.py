"""Lay out the chart of pages over time: columns, grid lines and labels."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.report.visible import count, round_step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# In SVG units, with margins for labels.
WIDTH, HEIGHT = 1120, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 10, 26
_MAX_COLUMN_WIDTH = 48
_MAX_LABELS = 8
_MAX_LEVELS = 4
_MINUTE_S, _DAY_S = 60, 86_400


class Column(NamedTuple):
    """A column for a span of time: representatives from `top` to `middle`, then near-duplicates."""

    start_s: float
    representatives: int
    near_duplicates: int
    x: float
    width: float
    top: float
    middle: float
    bottom: float


class Tick(NamedTuple):
    """A grid line (`place` is its y) or a label of the time axis (its x), in SVG units."""

    place: float
    label: str


class Timeline(NamedTuple):
    """The layout of the chart: columns, labels of the time axis, grid lines, span of a column."""

    columns: list[Column]
    times: list[Tick]
    levels: list[Tick]
    step_s: float


def timeline(data: Mapping[str, Any]) -> Timeline:
    """Return the layout of the chart for the ``timeline`` of a report's data."""
    step_s = data["step_s"]
    counts = list(zip(data["representatives"], data["near_duplicates"], strict=True))
    levels = _levels(max((sum(pair) for pair in counts), default=0))
    highest_level = levels[-1] if levels else 1
    bottom = HEIGHT - _BOTTOM
    scale = (bottom - _TOP) / highest_level
    step_width = (WIDTH - _LEFT - _RIGHT) / max(len(counts), 1)
    width = min(step_width * 0.8, _MAX_COLUMN_WIDTH)
    columns = [
        Column(
            start_s=data["from_s"] + number * step_s,
            representatives=representatives,
            near_duplicates=near_duplicates,
            x=round(_LEFT + (number + 0.5) * step_width - width / 2, 2),
            width=round(width, 2),
            top=round(bottom - (representatives + near_duplicates) * scale, 2),
            middle=round(bottom - near_duplicates * scale, 2),
            bottom=bottom,
        )
        for number, (representatives, near_duplicates) in enumerate(counts)
    ]
    return Timeline(
        columns,
        _times(columns, step_s),
        [Tick(round(bottom - level * scale, 2), count(level)) for level in levels],
        step_s,
    )


def _levels(highest: int) -> list[int]:
    """Return evenly spaced round numbers, from 0 to at least `highest`; none if that is 0."""
    step = round_step(highest, _MAX_LEVELS)
    return list(range(0, highest + step, step)) if highest else []


def _times(columns: Sequence[Column], step_s: float) -> list[Tick]:
    """Return the labels of the time axis, at most eight."""
    if not columns:
        return []
    columns_per_label = -(-len(columns) // _MAX_LABELS)
    span_s = step_s * len(columns)
    time_format = "%H:%M:%S" if step_s < _MINUTE_S else "%H:%M"
    template = time_format if span_s <= _DAY_S else "%d %b %H:%M" if step_s < _DAY_S else "%Y-%m-%d"
    return [
        Tick(
            round(column.x + column.width / 2, 2),
            datetime.fromtimestamp(column.start_s, timezone.utc).strftime(template),
        )
        for column in columns[::columns_per_label]
    ]
