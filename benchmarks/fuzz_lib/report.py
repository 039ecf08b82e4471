"""What a run found, counted and printed."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING

from fuzz_lib.checking import NOT_DECODED, Outcome
from fuzz_lib.running import Ended, Lost

if TYPE_CHECKING:
    from collections.abc import Iterator

_SLOWEST = 10
_SHOWN_ERRORS = 12
_BANDS_MS = (10, 30, 100, 300, 1000, 3000)


class Report:
    """Counts outcomes."""

    def __init__(self) -> None:
        self.escaped: list[Outcome] = []
        self.lost: list[Lost] = []
        self.cases = 0
        self._bytes = 0
        self._ms = 0.0
        self._decode_ms = 0.0
        self._index_ms = 0.0
        self._kinds: Counter[str] = Counter()
        self._details: Counter[str] = Counter()
        self._ways: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        self._bands: Counter[int] = Counter()
        self._slowest: list[tuple[float, int, Outcome]] = []
        self._steps: dict[str, list[float]] = {}
        self._peak_rss_bytes = 0

    @property
    def failed(self) -> bool:
        """Whether anything escaped, hung or ended a process."""
        return bool(self.escaped or self.lost)

    def add(self, found: Outcome | Lost | Ended) -> None:
        """Count one more."""
        if isinstance(found, Ended):
            self._peak_rss_bytes = max(self._peak_rss_bytes, found.peak_rss_bytes)
            return
        self.cases += 1
        if isinstance(found, Lost):
            self.lost.append(found)
            return
        self._bytes += found.page_bytes
        self._ms += found.ms
        self._decode_ms += found.decode_ms
        self._index_ms += found.index_ms
        self._kinds[found.kind or "escaped"] += 1
        if found.detail:
            self._details[f"{found.kind}: {found.detail}"] += 1
        if found.way:
            self._ways[found.way] += 1
        if found.error:
            # Without what it says of the page.
            kind = found.error[:90]
            self._errors[kind] += 1
            self._first.setdefault(kind, found.number)
        if found.escaped:
            self.escaped.append(found)
        self._bands[sum(found.ms >= band for band in _BANDS_MS)] += 1
        for step in set(found.steps[1:]):
            self._steps.setdefault(step.partition(":")[0], []).append(found.ms)
        entry = (found.ms, found.number, found)
        if len(self._slowest) < _SLOWEST:
            heapq.heappush(self._slowest, entry)
        else:
            heapq.heappushpop(self._slowest, entry)

    def lines(self) -> Iterator[str]:
        """The report."""
        pages = max(self.cases - len(self.lost), 1)
        yield f"pages: {self.cases:,}, {self._bytes / pages / 1000:.1f} KB on average"
        yield (
            f"CPU time for a page: {self._ms / pages:.1f} ms on average, of which decoding "
            f"{self._decode_ms / pages:.1f} and the index {self._index_ms / pages:.2f}"
        )
        yield f"most memory of a process: {self._peak_rss_bytes / 1e6:.0f} MB"
        yield _counts("verdicts", self._kinds)
        yield _counts(f"reasons of skips, and of pages {NOT_DECODED} by Scrapy", self._details)
        yield _counts("ways of extraction", self._ways)
        bounds = ["0", *map(str, _BANDS_MS)]
        bands = {f"from {bounds[n]} ms": self._bands[n] for n in sorted(self._bands)}
        yield "pages by CPU time: " + ", ".join(
            f"{name} {count:,}" for name, count in bands.items()
        )
        yield "errors of extraction: " + ("" if self._errors else "none")
        for error, count in self._errors.most_common(_SHOWN_ERRORS):
            yield f"{count:8d}  {error} (first: page {self._first[error]})"
        yield "mutations by the mean CPU time of their pages:"
        means = {name: sum(ms) / len(ms) for name, ms in self._steps.items()}
        for name in sorted(means, key=means.__getitem__, reverse=True):
            yield f"{means[name]:8.1f} ms  {len(self._steps[name]):7,} pages  {name}"
        yield "slowest pages, by CPU time:"
        for ms, number, found in sorted(self._slowest, reverse=True):
            yield (
                f"{ms:8.0f} ms  page {number}, {found.page_bytes / 1000:.0f} KB, decoding "
                f"{found.decode_ms:.0f} ms: {'; '.join(found.steps)}"
            )
        yield f"exceptions that escaped: {len(self.escaped)}"
        yield f"pages that hung or ended their process: {len(self.lost)}"


def _counts(title: str, counts: Counter[str]) -> str:
    return f"{title}: " + (", ".join(f"{n} {c:,}" for n, c in counts.most_common()) or "none")
