"""Count all pairs of a sample by kind, distance and similarity.

*Similarity* is the resemblance that sketches estimate. Two pages are near-duplicates if their main
texts or their whole contents resemble each other enough. Whole contents count because extraction
may select different parts of a page and of its copy, and a crawl misses such a pair. If the
confirmation compares names, pages of one site with different names are *named apart*, and not
near-duplicates.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from scrapy_simhash.calibration.pairs import Resemblances
from scrapy_simhash.clustering.words import distances, words_of
from scrapy_simhash.confirmation import MIN_RESEMBLANCE_IN_DOUBT, UNCONFIRMED, names_agree
from scrapy_simhash.resemblance import DIFFERENT
from scrapy_simhash.sketch import SKETCH_BYTES, estimate_resemblances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_simhash.calibration.sampling import SampledPage
    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.detector import PageFingerprint

    Array = np.ndarray[Any, Any]

Kind = Literal["near-duplicate", "between", "different", "named-apart"]
# Below this resemblance, dropping one of two pages loses content. Unless `_NEAR`, such pairs are
# `_BETWEEN_LOSS` or `_DIFFERENT`.
LOSS = 0.5
_NEAR, _BETWEEN, _BETWEEN_LOSS, _DIFFERENT, _NAMED_APART = range(5)
_KINDS: tuple[Kind, ...] = ("near-duplicate", "between", "between", "different", "named-apart")
_MAX_LISTED = 1000
STEPS = 100
"""Similarities are counted in per cent."""
# The similarity in per cent of a pair that a crawl never confirms.
_NEVER = STEPS + 1
# To save time, sketches are compared only up to a distance of a third of the bits. Farther pairs
# count as never confirmed.
_REACH_DIVISOR = 3


class Counts(NamedTuple):
    """The numbers of pairs of each kind for one scheme, at each distance from 0 to its bits.

    :param named_apart: number of pairs with enough resemblance, but different names.
    :param confirmable: three tables, `table[similarity in per cent][distance]`, of the pairs that a
        crawl may confirm: near-duplicate pairs, different pairs, and pairs with a resemblance below
        `LOSS`. Pairs are left out if their names require a higher similarity. An unknown similarity
        counts as 100.
    """

    near_duplicate: list[int]
    between: list[int]
    different: list[int]
    named_apart: int
    confirmable: list[list[list[int]]]


class Pair(NamedTuple):
    """A pair of pages of the sample.

    :param similarity: estimated resemblance of the main texts; None if unknown.
    :param resemblance: exact resemblance of the main texts.
    :param content_resemblance: exact resemblance of the whole contents.
    :param confirmed: a crawl confirms the pair if its distance is within k.
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
    """The set of all pairs of some pages. Methods name a scheme by its position in `schemes`.

    :param schemes: (bits, confirmation) of each scheme.
    :param threshold: pages with this exact resemblance or more are near-duplicates.
    """

    def __init__(
        self,
        pages: Sequence[SampledPage],
        schemes: Sequence[tuple[int, Confirmation]],
        threshold: float,
    ) -> None:
        self._pages = pages
        self._threshold = threshold
        self._texts = Resemblances([page.extraction.text for page in pages])
        are_equal = all(page.content == page.extraction.text for page in pages)
        self._contents = None if are_equal else Resemblances([page.content for page in pages])
        self._schemes = [
            _Fingerprints([page.fingerprints[number] for page in pages], *scheme)
            for number, scheme in enumerate(schemes)
        ]

    def count(
        self, *, on_progress: Callable[[int, int], object] = lambda _done, _of: None
    ) -> list[Counts]:
        """Return the counts of each scheme; `on_progress` gets (pages done, pages in all)."""
        shapes = [(len(_KINDS), _NEVER + 1, scheme.bits + 1) for scheme in self._schemes]
        tables = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        for page, kinds, *_ in self._rows():
            for scheme, table in zip(self._schemes, tables, strict=True):
                later, distance = scheme.later_than(page)
                judged = scheme.judge(page, later, distance, kinds[later])
                cells = np.ravel_multi_index((*judged, distance), table.shape)
                np.add.at(table.reshape(-1), cells, 1)
            on_progress(page + 1, len(self._pages))
        counts = []
        for table in tables:
            totals = table.sum(axis=1)
            confirmable = table[:, :_NEVER]
            loss = confirmable[_BETWEEN_LOSS] + confirmable[_DIFFERENT]
            counts.append(
                Counts(
                    totals[_NEAR].tolist(),
                    (totals[_BETWEEN] + totals[_BETWEEN_LOSS]).tolist(),
                    totals[_DIFFERENT].tolist(),
                    int(totals[_NAMED_APART].sum()),
                    [t.tolist() for t in (confirmable[_NEAR], confirmable[_DIFFERENT], loss)],
                )
            )
        return counts

    def to_review(self, number: int, max_distance: int, confirmation: Confirmation) -> list[Pair]:
        """Return at most 1,000 pairs of a scheme with distances on the wrong side of k, or near k.

        Pairs that a crawl judges wrongly come first, then the pairs with distances nearest to k.
        """
        near_k = self._near_k(self._schemes[number], max_distance)
        listed = []
        for *_, one, other, distance, kind, text, content in nsmallest(_MAX_LISTED, near_k):
            a, b = self._pages[one], self._pages[other]
            evidence = a.fingerprints[number].evidence, b.fingerprints[number].evidence
            similarity, confirmed = confirmation.compare(*evidence)
            shown = _KINDS[kind]
            if kind == _NEAR and confirmation.same_name and names_agree(*evidence) is False:
                shown = "named-apart"
            listed.append(
                Pair(shown, distance, similarity, text, content, confirmed, a.name, b.name)
            )
        return sorted(listed, key=lambda pair: _review_order(pair, max_distance))

    def _near_k(self, scheme: _Fingerprints, max_distance: int) -> Iterator[tuple[Any, ...]]:
        """Yield (is right, margin, page, later page, distance, kind, resemblance of main texts, of
        contents) of pairs on the wrong side of k, or near k. The margin is the difference from k.
        """
        for page, kinds, *resemblances in self._rows():
            later, distance = scheme.later_than(page)
            is_found = distance <= max_distance
            is_right = kinds[later] != np.where(is_found, _DIFFERENT, _NEAR)
            margins = abs(distance.astype(int) - max_distance)
            columns = [is_right, margins, np.full_like(later, page), later, distance]
            columns += [row[later] for row in (kinds, *resemblances)]
            listed = ~is_right | (margins <= max(2, scheme.bits // 32))
            yield from zip(*(column[listed].tolist() for column in columns), strict=True)

    def _rows(self) -> Iterator[tuple[int, Array, Array, Array]]:
        """Yield each page with three arrays that have a value for every page: the kinds of pairs,
        the resemblances of main texts, and those of contents.
        """
        contents = None if self._contents is None else self._contents.rows()
        for page, texts in enumerate(self._texts.rows()):
            wholes = texts if contents is None else next(contents)
            is_near = (texts >= self._threshold) | (wholes >= self._threshold)
            kinds = np.select(
                (is_near, texts < DIFFERENT, texts < LOSS),
                (_NEAR, _DIFFERENT, _BETWEEN_LOSS),
                _BETWEEN,
            )
            yield page, kinds, texts, wholes


class _Fingerprints:
    """The fingerprints of the pages by one scheme, with their evidence."""

    def __init__(
        self, pages: Sequence[PageFingerprint], bits: int, confirmation: Confirmation
    ) -> None:
        self.bits = bits
        self._confirmation = confirmation
        self._evidence = [page.evidence for page in pages]
        self._words = words_of([page.fingerprint or 0 for page in pages], bits)
        self._has_fingerprint = np.array([page.fingerprint is not None for page in pages], bool)
        sketches = b"".join(one.sketch or bytes(SKETCH_BYTES) for one in self._evidence)
        self._sketches = np.frombuffer(sketches, dtype=np.uint8).reshape(-1, SKETCH_BYTES)
        # For each page, the number of the first page with the same names and site.
        first: dict[tuple[object, ...], int] = {}
        names = ((one.site, one.title, one.heading) for one in self._evidence)
        self._names = np.array([first.setdefault(name, page) for page, name in enumerate(names)])

    def later_than(self, page: int) -> tuple[Array, Array]:
        """Return the later pages that have fingerprints, and their distances to a page."""
        later = np.flatnonzero(self._has_fingerprint[page + 1 :]) + page + 1
        if not self._has_fingerprint[page]:
            later = later[:0]
        return later, distances(self._words, self._words, np.full_like(later, page), later)

    def judge(self, page: int, later: Array, distance: Array, kinds: Array) -> tuple[Array, Array]:
        """Return the kinds of pairs, and their similarities in per cent.

        In `kinds`, near-duplicate pairs with different names become `_NAMED_APART`. The similarity
        is `_NEVER` if a crawl never confirms the pair.
        """
        if self._confirmation == UNCONFIRMED:
            return kinds, np.full(len(later), STEPS)
        per_cent = np.full(len(later), _NEVER)
        reached = np.flatnonzero(distance <= self.bits // _REACH_DIVISOR)
        per_cent[reached] = self._similarities(page, later[reached])
        if self._confirmation.same_name:
            named = np.flatnonzero((kinds == _NEAR) | (per_cent != _NEVER))
            least = self._least_by_names(page, later[named])
            per_cent[named[per_cent[named] < least]] = _NEVER
            is_named_apart = (kinds[named] == _NEAR) & (least == _NEVER)
            kinds[named[is_named_apart]] = _NAMED_APART
        return kinds, per_cent

    def _similarities(self, page: int, others: Array) -> Array:
        """Return the similarities to other pages in per cent, rounded down; 100 if unknown."""
        per_cent = np.full(len(others), STEPS)
        sketch, sketches = self._evidence[page].sketch, self._sketches[others]
        has_sketch = sketches.any(axis=1)
        if sketch and has_sketch.any():
            estimates = estimate_resemblances(sketch, sketches[has_sketch])
            per_cent[has_sketch] = np.floor(estimates * STEPS + 1e-9)
        return per_cent

    def _least_by_names(self, page: int, others: Array) -> Array:
        """Return, for each other page, the least similarity in per cent that the names require."""
        least_of = {True: 0, None: round(MIN_RESEMBLANCE_IN_DOUBT * STEPS), False: _NEVER}
        # Names are compared once for all pages that have the same.
        firsts, inverse = np.unique(self._names[others], return_inverse=True)
        own, evidence = self._evidence[page], self._evidence
        least = [least_of[names_agree(own, evidence[first])] for first in firsts.tolist()]
        return np.array(least, dtype=int)[inverse]


def _review_order(pair: Pair, max_distance: int) -> tuple[bool, int, str, str]:
    """Return the sort key of a pair: wrongly judged pairs first, then by the difference from k."""
    is_found = pair.distance <= max_distance and pair.confirmed
    is_wrong = pair.kind == ("different" if is_found else "near-duplicate")
    return (not is_wrong, abs(pair.distance - max_distance), pair.a, pair.b)
