"""All pairs of a sample, counted by what they are and by their distance.

Extraction may take another part of a copy than of its original, and then their main texts differ:
such pairs are what a crawl misses. So pages are near-duplicates too if their content lines are (all
lines of the page but navigation), however their main texts were got.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scrapy_simhash.calibration.pairs import Resemblances, distance_blocks
from scrapy_simhash.resemblance import DIFFERENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from scrapy_simhash.calibration.sampling import SampledPage

    Array = np.ndarray[Any, Any]

Kind = Literal["near-duplicate", "between", "different"]
KINDS: tuple[Kind, ...] = ("near-duplicate", "between", "different")
_NEAR, _BETWEEN, _DIFFERENT = range(3)
_MOST_PAIRS = 1000


class Counts(NamedTuple):
    """Numbers of pairs at each distance from 0 to the bits, of one scheme.

    :param weak: of the near-duplicate ones, those of a weak page.
    """

    near_duplicate: list[int]
    between: list[int]
    different: list[int]
    weak: list[int]


class Pair(NamedTuple):
    """Two pages of the sample. `resemblance` is that of their main texts."""

    kind: Kind
    distance: int
    resemblance: float
    content_resemblance: float
    a: str
    b: str


class Pairs:
    """The pairs of some pages.

    :param threshold: resemblance from which on two pages are near-duplicates.
    """

    def __init__(self, pages: Sequence[SampledPage], bits: Sequence[int], threshold: float) -> None:
        self._pages = pages
        self._bits = bits
        self._threshold = threshold
        self._texts = Resemblances([page.extraction.text for page in pages])
        same = all(page.content == page.extraction.text for page in pages)
        self._contents = None if same else Resemblances([page.content for page in pages])

    def count(
        self, *, moved: Callable[[int, int], object] = lambda _done, _of: None
    ) -> list[Counts]:
        """Of each scheme: its pages that have a fingerprint."""
        import numpy as np

        totals = [np.zeros((4, bits + 1), dtype=np.int64) for bits in self._bits]
        distances = [self._distances(place) for place in range(len(self._bits))]
        weak = [
            np.array([page.fingerprints[place].weak for page in self._pages], dtype=bool)
            for place in range(len(self._bits))
        ]
        for start, kinds, _, _ in self._kinds():
            for place, bits in enumerate(self._bits):
                apart = next(distances[place])
                for kind in (_NEAR, _BETWEEN, _DIFFERENT):
                    here = apart[(kinds == kind) & (apart >= 0)]
                    totals[place][kind] += np.bincount(here, minlength=bits + 1)
                rows = weak[place][start : start + len(kinds), None]
                here = apart[(kinds == _NEAR) & (apart >= 0) & (rows | weak[place])]
                totals[place][3] += np.bincount(here, minlength=bits + 1)
            moved(min(start + len(kinds), len(self._pages)), len(self._pages))
        return [Counts(*total.tolist()) for total in totals]

    def near(self, place: int, max_distance: int) -> list[Pair]:
        """The pairs to look at: those that k gets wrong, then those close to it; 1,000 at most."""
        import numpy as np

        margin = max(2, self._bits[place] // 32)
        distances = self._distances(place)
        found: list[Pair] = []
        for start, kinds, texts, contents in self._kinds():
            apart = next(distances)
            close = abs(apart - max_distance) <= margin
            wrong = (kinds == _DIFFERENT) & (apart <= max_distance)
            missed = (kinds == _NEAR) & (apart > max_distance)
            rows, columns = np.nonzero((close | wrong | missed) & (kinds >= 0) & (apart >= 0))
            # Of pages that are all alike there are very many.
            first = np.argsort(
                abs(apart[rows, columns] - max_distance)
                + np.where((wrong | missed)[rows, columns], 0, self._bits[place] + 1),
                kind="stable",
            )[:_MOST_PAIRS]
            found += [
                Pair(
                    KINDS[kinds[a, b]],
                    int(apart[a, b]),
                    float(texts[a, b]),
                    float(contents[a, b]),
                    self._pages[a + start].name,
                    self._pages[b].name,
                )
                for a, b in zip(rows[first], columns[first], strict=True)
            ]
            found.sort(key=lambda pair: _order(pair, max_distance))
            del found[_MOST_PAIRS:]
        return found

    def _kinds(self) -> Iterator[tuple[int, Array, Array, Array]]:
        """(first row, kinds of pairs in some rows, or -1 where a pair came before, resemblance of
        main texts, of content lines).
        """
        import numpy as np

        contents = None if self._contents is None else self._contents.blocks()
        for start, texts in self._texts.blocks():
            lines = texts if contents is None else next(contents)[1]
            kinds = np.full(texts.shape, _BETWEEN, dtype=np.int8)
            kinds[texts < DIFFERENT] = _DIFFERENT
            kinds[(texts >= self._threshold) | (lines >= self._threshold)] = _NEAR
            before = np.arange(len(texts))[:, None] + start >= np.arange(texts.shape[1])
            kinds[before] = -1
            yield start, kinds, texts, lines

    def _distances(self, place: int) -> Iterator[Array]:
        """Rows of distances, -1 where a page has no fingerprint."""
        import numpy as np

        fingerprints = [page.fingerprints[place].fingerprint for page in self._pages]
        missing = np.array([fingerprint is None for fingerprint in fingerprints], dtype=bool)
        known = [fingerprint or 0 for fingerprint in fingerprints]
        for start, apart in distance_blocks(known, self._bits[place]):
            apart[missing[start : start + len(apart)]] = -1
            apart[:, missing] = -1
            yield apart


def _order(pair: Pair, max_distance: int) -> tuple[bool, int, str, str]:
    within = pair.distance <= max_distance
    wrong = pair.kind == "different" if within else pair.kind == "near-duplicate"
    return (not wrong, abs(pair.distance - max_distance), pair.a, pair.b)
