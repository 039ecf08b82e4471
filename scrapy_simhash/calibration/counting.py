"""Count all pairs of a sample by kind, distance and similarity.

Extraction may select different parts of a page and of its copy. A crawl misses such a pair, so
pages also count as near-duplicates if their whole contents resemble each other enough. If the
confirmation compares names, pages of one site with different names are not copies, however much
their texts resemble each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scrapy_simhash.calibration.pairs import Resemblances, distance_blocks
from scrapy_simhash.confirmation import MIN_RESEMBLANCE_IN_DOUBT, UNCONFIRMED, names_agree
from scrapy_simhash.resemblance import DIFFERENT
from scrapy_simhash.sketch import SKETCH_BYTES, estimate_resemblance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from scrapy_simhash.calibration.sampling import SampledPage
    from scrapy_simhash.confirmation import Confirmation

    Array = np.ndarray[Any, Any]

Kind = Literal["near-duplicate", "between", "different", "named-apart"]
KINDS: tuple[Kind, ...] = ("near-duplicate", "between", "different", "named-apart")
_NEAR, _BETWEEN, _DIFFERENT, _NAMED_APART = range(4)
_MOST_PAIRS = 1000
STEPS = 100
"""Similarities are counted in per cent."""
# Dropping one page of a pair with less than half in common loses content.
LOSS = 0.5
# Names that differ require more than any similarity in per cent.
_NEVER = STEPS + 1
# Pairs that differ in more than a third of their bits are not compared: no tables find them.
_REACH_SHARE = 3


class Confirmable(NamedTuple):
    """The numbers of pairs whose names allow a copy, by similarity in per cent, then distance.

    :param near_duplicate: pairs that should be found.
    :param different: pairs that should not be found.
    :param loss: all pairs with a resemblance below `LOSS`.
    """

    near_duplicate: list[list[int]]
    different: list[list[int]]
    loss: list[list[int]]


class Counts(NamedTuple):
    """The numbers of pairs of one scheme, at each distance from 0 to its bits.

    :param named_apart: pairs with enough resemblance, but different names.
    """

    near_duplicate: list[int]
    between: list[int]
    different: list[int]
    named_apart: int
    confirmable: Confirmable


class Pair(NamedTuple):
    """A pair of pages of the sample.

    :param similarity: estimated resemblance; None if unknown.
    :param resemblance: exact resemblance of their main texts.
    :param confirmed: a crawl finds the pair if it is within k.
    """

    kind: Kind
    distance: int
    similarity: float | None
    resemblance: float
    content_resemblance: float
    confirmed: bool
    a: str
    b: str


class Pairs:
    """The set of all pairs of some pages.

    :param bits: fingerprint width of each scheme.
    :param threshold: the least resemblance of two pages that are near-duplicates.
    :param confirmations: one for each scheme.
    """

    def __init__(
        self,
        pages: Sequence[SampledPage],
        bits: Sequence[int],
        threshold: float,
        confirmations: Sequence[Confirmation] | None = None,
    ) -> None:
        self._pages = pages
        self._bits = bits
        self._confirmations = confirmations or [UNCONFIRMED] * len(bits)
        self._threshold = threshold
        self._texts = Resemblances([page.extraction.text for page in pages])
        same = all(page.content == page.extraction.text for page in pages)
        self._contents = None if same else Resemblances([page.content for page in pages])
        self._sketches = [_sketches(pages, place) for place in range(len(bits))]
        self._names = [_name_numbers(pages, place) for place in range(len(bits))]

    def count(
        self, *, on_progress: Callable[[int, int], object] = lambda _done, _of: None
    ) -> list[Counts]:
        """Return the counts of each scheme, over its pages that have a fingerprint."""
        import numpy as np

        totals = [np.zeros((3, bits + 1), dtype=np.int64) for bits in self._bits]
        confirmable = [np.zeros((3, STEPS + 1, bits + 1), dtype=np.int64) for bits in self._bits]
        named_apart = [0] * len(self._bits)
        distances = [self._distances(place) for place in range(len(self._bits))]
        for start, kinds, texts, _ in self._kinds():
            loss = (kinds >= 0) & (kinds != _NEAR) & (texts < LOSS)
            for place in range(len(self._bits)):
                apart = next(distances[place])
                known = apart >= 0
                kinds_here = kinds
                if self._confirmations[place].same_name:
                    rows, columns = np.nonzero((kinds == _NEAR) & known)
                    other = self._least_by_names(place, rows + start, columns) == _NEVER
                    kinds_here = kinds.copy()
                    kinds_here[rows[other], columns[other]] = -1
                    named_apart[place] += int(np.count_nonzero(other))
                for kind in (_NEAR, _BETWEEN, _DIFFERENT):
                    here = apart[(kinds_here == kind) & known]
                    totals[place][kind] += np.bincount(here, minlength=len(totals[place][kind]))
                groups = (kinds_here == _NEAR, kinds_here == _DIFFERENT, loss)
                self._add_confirmable(confirmable[place], place, start, apart, groups)
            on_progress(min(start + len(kinds), len(self._pages)), len(self._pages))
        counted = []
        for total, own_names, table in zip(totals, named_apart, confirmable, strict=True):
            near, between, different = total.tolist()
            counted.append(
                Counts(near, between, different, own_names, Confirmable(*table.tolist()))
            )
        return counted

    def _add_confirmable(
        self, table: Array, place: int, start: int, apart: Array, groups: Sequence[Array]
    ) -> None:
        """Add the pairs of a block to the table of their similarity and distance."""
        import numpy as np

        asked = (apart >= 0) & np.logical_or.reduce(groups)
        confirmation, bits = self._confirmations[place], self._bits[place]
        if confirmation == UNCONFIRMED:
            steps = np.full(apart.shape, STEPS)
        else:
            asked &= apart <= bits // _REACH_SHARE
            steps = self._similarity_steps(place, start, asked)
            if confirmation.same_name:
                rows, columns = np.nonzero(asked)
                least = self._least_by_names(place, rows + start, columns)
                asked[rows, columns] = steps[rows, columns] >= least
        rows, columns = np.nonzero(asked)
        cells = steps[rows, columns] * (bits + 1) + apart[rows, columns]
        for kind, group in enumerate(groups):
            here = cells[group[rows, columns]]
            counts = np.bincount(here, minlength=(STEPS + 1) * (bits + 1))
            table[kind] += counts.reshape(STEPS + 1, bits + 1)

    def _similarity_steps(self, place: int, start: int, asked: Array) -> Array:
        """Return estimated resemblances in per cent, rounded down.

        Without an estimate, confirmation rejects nothing: such a pair counts as 100.
        """
        import numpy as np

        sketches = self._sketches[place]
        has = np.any(sketches, axis=1)
        steps = np.full(asked.shape, STEPS)
        for row in np.flatnonzero(asked.any(axis=1) & has[start : start + len(asked)]):
            columns = np.flatnonzero(asked[row] & has)
            one = sketches[start + row].tobytes()
            estimates = estimate_resemblance(one, sketches[columns])
            steps[row, columns] = np.floor(estimates * STEPS + 1e-9)
        return steps

    def _least_by_names(self, place: int, ones: Array, others: Array) -> Array:
        """Return, for each pair, the least similarity that its names require."""
        import numpy as np

        pairs, inverse = np.unique(
            self._names[place][np.stack((ones, others))], axis=1, return_inverse=True
        )
        least = []
        for pair in pairs.T.tolist():
            one, other = (self._pages[at].fingerprints[place].evidence for at in pair)
            agree = names_agree(one, other)
            in_doubt = round(MIN_RESEMBLANCE_IN_DOUBT * STEPS)
            least.append(in_doubt if agree is None else 0 if agree else _NEVER)
        return np.array(least, dtype=np.int64)[inverse.reshape(-1)]

    def near(self, place: int, max_distance: int, confirmation: Confirmation) -> list[Pair]:
        """Return at most 1,000 pairs to review: those that k gets wrong, then those near k."""
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
            # A block of similar pages may have very many such pairs.
            first = np.argsort(
                abs(apart[rows, columns] - max_distance)
                + np.where((wrong | missed)[rows, columns], 0, self._bits[place] + 1),
                kind="stable",
            )[:_MOST_PAIRS]
            for a, b in zip(rows[first], columns[first], strict=True):
                one, other = self._pages[a + start], self._pages[b]
                evidence = [page.fingerprints[place].evidence for page in (one, other)]
                [(similarity, confirmed)] = confirmation.similarities(evidence[0], evidence[1:])
                kind = kinds[a, b]
                if kind == _NEAR and confirmation.same_name and names_agree(*evidence) is False:
                    kind = _NAMED_APART
                found.append(
                    Pair(
                        KINDS[kind],
                        int(apart[a, b]),
                        similarity,
                        float(texts[a, b]),
                        float(contents[a, b]),
                        confirmed,
                        one.name,
                        other.name,
                    )
                )
            found.sort(key=lambda pair: _order(pair, max_distance))
            del found[_MOST_PAIRS:]
        return found

    def _kinds(self) -> Iterator[tuple[int, Array, Array, Array]]:
        """Yield blocks of rows: (first row, kinds, resemblance of main texts, of whole contents).

        A kind is -1 if the pair is on or below the diagonal, and so was counted already.
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
        """Yield blocks of distances; -1 if a page has no fingerprint."""
        import numpy as np

        fingerprints = [page.fingerprints[place].fingerprint for page in self._pages]
        missing = np.array([fingerprint is None for fingerprint in fingerprints], dtype=bool)
        known = [fingerprint or 0 for fingerprint in fingerprints]
        for start, apart in distance_blocks(known, self._bits[place]):
            apart[missing[start : start + len(apart)]] = -1
            apart[:, missing] = -1
            yield apart


def _sketches(pages: Sequence[SampledPage], place: int) -> Array:
    """Return a row for each page; zeros if it has no sketch."""
    import numpy as np

    sketches = (page.fingerprints[place].evidence.sketch for page in pages)
    packed = b"".join(one or bytes(SKETCH_BYTES) for one in sketches)
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, SKETCH_BYTES)


def _name_numbers(pages: Sequence[SampledPage], place: int) -> Array:
    """Return, for each page, the number of the first page with the same names and site."""
    import numpy as np

    first: dict[tuple[object, ...], int] = {}
    numbers = []
    for at, page in enumerate(pages):
        evidence = page.fingerprints[place].evidence
        names = (evidence.site, evidence.title, evidence.heading)
        numbers.append(first.setdefault(names, at))
    return np.array(numbers, dtype=np.int64)


def _order(pair: Pair, max_distance: int) -> tuple[bool, int, str, str]:
    """Return the sort key of a pair: wrong ones first, then those nearest to k."""
    found = pair.distance <= max_distance and pair.confirmed
    wrong = pair.kind == "different" if found else pair.kind == "near-duplicate"
    return (not wrong, abs(pair.distance - max_distance), pair.a, pair.b)
