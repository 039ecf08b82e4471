"""CPU time of candidates on the same items, taken in turns, and what to say about it."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Candidates take turns after so many items, so that a slow moment of the machine hits all.
SLICE = 10


@dataclass(frozen=True)
class Candidate:
    """One way to do the work.

    :param run: what is timed, once for each item.
    :param prepare: makes its item of what all share; not timed.
    """

    name: str
    run: Callable[[Any], object]
    prepare: Callable[[Any], Any] = lambda item: item


class Missing(NamedTuple):
    """A candidate that cannot run here, and why."""

    name: str
    reason: str


class Spread(NamedTuple):
    """Median, least and most of some rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """That of at least one value."""
        return cls(statistics.median(values), min(values), max(values))


class Row(NamedTuple):
    """What a table says about a candidate.

    :param seconds: CPU seconds for each item.
    :param ratio: its time by that of the base, of the same round.
    """

    name: str
    seconds: Spread
    ratio: Spread


def measure(
    candidates: Sequence[Candidate], items: Sequence[Any], rounds: int
) -> dict[str, list[float]]:
    """CPU seconds of each candidate for all items, by round, after a round that does not count."""
    prepared = {c.name: [c.prepare(item) for item in items] for c in candidates}
    seconds = {candidate.name: [0.0] * (rounds + 1) for candidate in candidates}
    for round_ in range(rounds + 1):
        # What one leaves behind is not collected in the other's time.
        gc.collect()
        gc.freeze()
        for start in range(0, len(items), SLICE):
            for candidate in candidates:
                run = candidate.run
                turn = prepared[candidate.name][start : start + SLICE]
                begin = time.process_time()
                for item in turn:
                    run(item)
                seconds[candidate.name][round_] += time.process_time() - begin
    gc.unfreeze()
    return {name: values[1:] for name, values in seconds.items()}


def rows(seconds: dict[str, list[float]], items: int, base: str) -> list[Row]:
    """A row for each candidate, in their order.

    :param base: name of the candidate that ratios refer to.
    """
    return [
        Row(
            name,
            Spread.of([value / items for value in values]),
            Spread.of(
                [
                    value / max(of_base, 1e-9)
                    for value, of_base in zip(values, seconds[base], strict=True)
                ]
            ),
        )
        for name, values in seconds.items()
    ]


def table(rows_: Sequence[Row | Missing], unit: str, megabytes: float = 0.0) -> str:
    """Rows as lines of text.

    :param unit: what an item is.
    :param megabytes: size of an item; 0 leaves the column out.
    """
    widest = max(len(row.name) for row in rows_)
    lines = [
        f"{'':{widest}}  {'CPU ms/' + unit:>12}  {'least-most':>17}  {unit + 's/s':>9}"
        + (f"  {'MB/s':>7}" if megabytes else "")
        + f"  {'time/ours':>9}  {'least-most':>13}"
    ]
    for row in rows_:
        if isinstance(row, Missing):
            lines.append(f"{row.name:{widest}}  {row.reason}")
            continue
        median, least, most = (1000 * value for value in row.seconds)
        line = f"{row.name:{widest}}  {median:12.3f}  {f'{least:.3f}-{most:.3f}':>17}"
        rate = 1000 / max(median, 1e-9)
        line += f"  {rate:9.0f}" + (f"  {rate * megabytes:7.2f}" if megabytes else "")
        ratio = f"{row.ratio.least:.2f}-{row.ratio.most:.2f}"
        lines.append(line + f"  {row.ratio.median:9.2f}  {ratio:>13}")
    return "\n".join(lines)
