"""Count all pairs of a sample by kind, distance and similarity.

*Similarity* is the resemblance that sketches estimate. Extraction may select different parts of a
page and of its copy. A crawl misses such a pair. To count it as missed, pages also are
near-duplicates if their whole contents resemble each other enough. If the confirmation compares
names, pages of one site with different names are *named apart*, and not near-duplicates.

Matrices have a row and a column for each page, and are computed in blocks of rows.
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
_MAX_PAIRS = 1000
STEPS = 100
"""Similarities are counted in per cent."""
# Below this resemblance, dropping one page of a pair loses content.
LOSS = 0.5
# The similarity in per cent that pages with different names need: no pair has it.
_NEVER = STEPS + 1
# To save time, sketches are compared up to a third of the bits. Farther pairs are not confirmed.
_REACH_DIVISOR = 3


class Confirmable(NamedTuple):
    """The numbers of pairs that a crawl may confirm, by similarity in per cent, then distance.

    Pairs whose names need a higher similarity are left out. Unknown similarities count as 100.

    :param near_duplicate: pairs that should be found, without those that are named apart.
    :param different: pairs that should not be found.
    :param loss: pairs with a resemblance below `LOSS` that are not near-duplicates.
    """

    near_duplicate: list[list[int]]
    different: list[list[int]]
    loss: list[list[int]]


class Counts(NamedTuple):
    """The numbers of pairs of each kind for one scheme, at each distance from 0 to its bits.

    :param named_apart: number of all pairs with enough resemblance, but different names.
    """

    near_duplicate: list[int]
    between: list[int]
    different: list[int]
    named_apart: int
    confirmable: Confirmable


class Pair(NamedTuple):
    """A pair of pages of the sample.

    :param similarity: estimated resemblance of the main texts; None if unknown.
    :param resemblance: exact resemblance of the main texts.
    :param content_resemblance: exact resemblance of the whole contents.
    :param confirmed: a crawl finds the pair if it is within k.
    :param a: name of the first page.
    :param b: name of the second page.
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
    """The set of all pairs of some pages. Methods name a scheme by its position in `bits`.

    :param bits: fingerprint width of each scheme.
    :param threshold: pages with this exact resemblance or more are near-duplicates.
    :param confirmations: one for each scheme; None for `UNCONFIRMED`.
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
        are_equal = all(page.content == page.extraction.text for page in pages)
        self._contents = None if are_equal else Resemblances([page.content for page in pages])
        self._sketches = [_sketches(pages, number) for number in range(len(bits))]
        self._names = [_name_numbers(pages, number) for number in range(len(bits))]

    def count(
        self, *, on_progress: Callable[[int, int], object] = lambda _done, _of: None
    ) -> list[Counts]:
        """Return the counts of each scheme; `on_progress` gets (pages done, pages in all)."""
        import numpy as np

        totals = [np.zeros((3, bits + 1), dtype=np.int64) for bits in self._bits]
        confirmable = [np.zeros((3, STEPS + 1, bits + 1), dtype=np.int64) for bits in self._bits]
        named_apart = [0] * len(self._bits)
        blocks = [self._distances(number) for number in range(len(self._bits))]
        for start, kinds, texts, _ in self._kinds():
            loss = (kinds >= 0) & (kinds != _NEAR) & (texts < LOSS)
            for number, bits in enumerate(self._bits):
                distances = next(blocks[number])
                is_known = distances >= 0
                named_kinds = kinds
                if self._confirmations[number].same_name:
                    rows, columns = np.nonzero((kinds == _NEAR) & is_known)
                    is_apart = self._least_by_names(number, rows + start, columns) == _NEVER
                    named_kinds = kinds.copy()
                    named_kinds[rows[is_apart], columns[is_apart]] = -1
                    named_apart[number] += int(np.count_nonzero(is_apart))
                for kind in (_NEAR, _BETWEEN, _DIFFERENT):
                    of_kind = distances[(named_kinds == kind) & is_known]
                    totals[number][kind] += np.bincount(of_kind, minlength=bits + 1)
                groups = (named_kinds == _NEAR, named_kinds == _DIFFERENT, loss)
                self._add_confirmable(confirmable[number], number, start, distances, groups)
            on_progress(min(start + len(kinds), len(self._pages)), len(self._pages))
        counts = []
        for total, named, table in zip(totals, named_apart, confirmable, strict=True):
            near, between, different = total.tolist()
            counts.append(Counts(near, between, different, named, Confirmable(*table.tolist())))
        return counts

    def _add_confirmable(
        self, table: Array, number: int, start: int, distances: Array, groups: Sequence[Array]
    ) -> None:
        """Add the pairs of a block to `table`, by group (field of `Confirmable`)."""
        import numpy as np

        is_counted = (distances >= 0) & np.logical_or.reduce(groups)
        confirmation, bits = self._confirmations[number], self._bits[number]
        if confirmation == UNCONFIRMED:
            steps = np.full(distances.shape, STEPS)
        else:
            is_counted &= distances <= bits // _REACH_DIVISOR
            steps = self._similarity_steps(number, start, is_counted)
            if confirmation.same_name:
                rows, columns = np.nonzero(is_counted)
                least = self._least_by_names(number, rows + start, columns)
                is_counted[rows, columns] = steps[rows, columns] >= least
        rows, columns = np.nonzero(is_counted)
        cells = steps[rows, columns] * (bits + 1) + distances[rows, columns]
        for group_number, group in enumerate(groups):
            of_group = cells[group[rows, columns]]
            counts = np.bincount(of_group, minlength=(STEPS + 1) * (bits + 1))
            table[group_number] += counts.reshape(STEPS + 1, bits + 1)

    def _similarity_steps(self, number: int, start: int, is_counted: Array) -> Array:
        """Return the similarities of a block in per cent, rounded down; 100 if not computed."""
        import numpy as np

        sketches = self._sketches[number]
        has_sketch = np.any(sketches, axis=1)
        steps = np.full(is_counted.shape, STEPS)
        has_pairs = is_counted.any(axis=1)
        for row in np.flatnonzero(has_pairs & has_sketch[start : start + len(is_counted)]):
            columns = np.flatnonzero(is_counted[row] & has_sketch)
            estimates = estimate_resemblance(sketches[start + row].tobytes(), sketches[columns])
            steps[row, columns] = np.floor(estimates * STEPS + 1e-9)
        return steps

    def _least_by_names(self, number: int, ones: Array, others: Array) -> Array:
        """Return, for each pair, the least similarity in per cent that its names require."""
        import numpy as np

        pairs, inverse = np.unique(
            self._names[number][np.stack((ones, others))], axis=1, return_inverse=True
        )
        least = []
        for pair in pairs.T.tolist():
            one, other = (self._pages[at].fingerprints[number].evidence for at in pair)
            agree = names_agree(one, other)
            in_doubt = round(MIN_RESEMBLANCE_IN_DOUBT * STEPS)
            least.append(in_doubt if agree is None else 0 if agree else _NEVER)
        return np.array(least, dtype=np.int64)[inverse.reshape(-1)]

    def to_review(self, number: int, max_distance: int, confirmation: Confirmation) -> list[Pair]:
        """Return at most 1,000 pairs of a scheme that are on the wrong side of k, or near k.

        Pairs that a crawl gets wrong come first, then pairs by their difference from k.
        """
        import numpy as np

        bits = self._bits[number]
        blocks = self._distances(number)
        listed: list[Pair] = []
        for start, kinds, texts, contents in self._kinds():
            distances = next(blocks)
            is_close = abs(distances - max_distance) <= max(2, bits // 32)
            is_wrong = np.where(distances <= max_distance, kinds == _DIFFERENT, kinds == _NEAR)
            is_listed = (is_close | is_wrong) & (kinds >= 0) & (distances >= 0)
            rows, columns = np.nonzero(is_listed)
            # A block of similar pages may have very many such pairs.
            first = np.argsort(
                abs(distances[rows, columns] - max_distance)
                + np.where(is_wrong[rows, columns], 0, bits + 1),
                kind="stable",
            )[:_MAX_PAIRS]
            for a, b in zip(rows[first], columns[first], strict=True):
                one, other = self._pages[a + start], self._pages[b]
                evidence = [page.fingerprints[number].evidence for page in (one, other)]
                [(similarity, confirmed)] = confirmation.similarities(evidence[0], evidence[1:])
                kind = kinds[a, b]
                if kind == _NEAR and confirmation.same_name and names_agree(*evidence) is False:
                    kind = _NAMED_APART
                resemblances = float(texts[a, b]), float(contents[a, b])
                measures = int(distances[a, b]), similarity, *resemblances
                listed.append(Pair(KINDS[kind], *measures, confirmed, one.name, other.name))
            listed.sort(key=lambda pair: _review_order(pair, max_distance))
            del listed[_MAX_PAIRS:]
        return listed

    def _kinds(self) -> Iterator[tuple[int, Array, Array, Array]]:
        """Yield blocks of rows: (first row, kinds, resemblance of main texts, of whole contents).

        Kinds are -1 on and below the diagonal, where the pairs above it are repeated.
        """
        import numpy as np

        contents = None if self._contents is None else self._contents.blocks()
        for start, texts in self._texts.blocks():
            wholes = texts if contents is None else next(contents)[1]
            kinds = np.full(texts.shape, _BETWEEN, dtype=np.int8)
            kinds[texts < DIFFERENT] = _DIFFERENT
            kinds[(texts >= self._threshold) | (wholes >= self._threshold)] = _NEAR
            is_repeated = np.arange(len(texts))[:, None] + start >= np.arange(texts.shape[1])
            kinds[is_repeated] = -1
            yield start, kinds, texts, wholes

    def _distances(self, number: int) -> Iterator[Array]:
        """Yield blocks of distances; -1 if a page has no fingerprint."""
        import numpy as np

        fingerprints = [page.fingerprints[number].fingerprint for page in self._pages]
        is_missing = np.array([fingerprint is None for fingerprint in fingerprints], dtype=bool)
        zero_if_missing = [fingerprint or 0 for fingerprint in fingerprints]
        for start, distances in distance_blocks(zero_if_missing, self._bits[number]):
            distances[is_missing[start : start + len(distances)]] = -1
            distances[:, is_missing] = -1
            yield distances


def _sketches(pages: Sequence[SampledPage], number: int) -> Array:
    """Return an array with the sketch of each page as a row; zeros if a page has no sketch."""
    import numpy as np

    sketches = (page.fingerprints[number].evidence.sketch for page in pages)
    packed = b"".join(sketch or bytes(SKETCH_BYTES) for sketch in sketches)
    return np.frombuffer(packed, dtype=np.uint8).reshape(-1, SKETCH_BYTES)


def _name_numbers(pages: Sequence[SampledPage], number: int) -> Array:
    """Return, for each page, the number of the first page with the same names and site."""
    import numpy as np

    first_pages: dict[tuple[object, ...], int] = {}
    numbers = []
    for at, page in enumerate(pages):
        evidence = page.fingerprints[number].evidence
        names = (evidence.site, evidence.title, evidence.heading)
        numbers.append(first_pages.setdefault(names, at))
    return np.array(numbers, dtype=np.int64)


def _review_order(pair: Pair, max_distance: int) -> tuple[bool, int, str, str]:
    """Return the sort key of a pair: wrong pairs first, then by their difference from k."""
    is_found = pair.distance <= max_distance and pair.confirmed
    is_wrong = pair.kind == ("different" if is_found else "near-duplicate")
    return (not is_wrong, abs(pair.distance - max_distance), pair.a, pair.b)
