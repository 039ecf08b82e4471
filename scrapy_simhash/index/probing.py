"""Query-directed probing: where in few tables with long prefixes a copy of a page would be.

Lv, Josephson, Wang, Charikar and Li, "Multi-Probe LSH" (VLDB 2007). A bit differs between
near-duplicates where its sum was near zero. The page that asks knows its sums (`certainty`, see
`scrapy_simhash.fingerprint.Fingerprint`), so it asks each table for its own prefix, and then all
tables together for the prefixes that are most likely those of a copy: the ones with some of the
least certain bits flipped. What is stored needs its fingerprint alone.

The model: the sums of two texts are normal with a correlation of cos(πd/f), where d of f bits
differ. So a bit with a sum of z standard deviations flips with a chance of Φ(-z·cot(πd/f)).

Example, one table with a prefix of 4 bits, 0b1011, of certainties 9, 200, 3 and 90, and four
probes: 0b1011; 0b1001 (the bit of certainty 3 flipped); 0b0011 (that of 9); 0b0001 (both).

A fingerprint without certainty is asked for with each single bit of each prefix flipped.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.plan import TablePlan

CERTAINTY_SCALE = 64
_WORD_BITS = 64
_BYTE = np.uint16(8)
# Only this many of the least certain bits of a prefix are flipped at once.
_UNCERTAIN_BITS = 6
# Chances are those of pairs at this share of differing bits, where probes matter most.
_TYPICAL_SHARE = 40 / 256
# How far real near-duplicates are from each other, in 256ths of the bits: quantiles of the 2,930
# confirmed pairs of the open page sets, at twentieths. See docs/fingerprint-index.md.
_QUANTILES = (0, 0, 0, 0, 0, 0, 0, 4, 8, 11, 13, 17, 19, 21, 23, 26, 29, 33, 37, 44, 52)
_SAMPLES = 2000
_SEED = 1


class Probes(NamedTuple):
    """Buckets to ask: a table and a prefix for each."""

    tables: NDArray[np.int64]
    prefixes: NDArray[np.int64]


class Prober:
    """Chooses the buckets to ask. Tables that are not probed are asked for the own prefix alone."""

    def __init__(self, plan: TablePlan) -> None:
        self._plan = plan
        self._count = plan.probes
        if not plan.prefix_bits:
            self._own_tables = np.arange(len(plan.tables))
            # Prefixes of blocks may be longer than machine words.
            self._own_type = np.int64 if max(plan.prefix_widths_bits) < _WORD_BITS else object
            return
        width, tables = plan.prefix_bits, plan.blocks
        self._bits = plan.bits
        self._shape = tables, width
        self._uncertain = min(_UNCERTAIN_BITS, width)
        subsets = np.arange(1 << self._uncertain)[:, None] >> np.arange(self._uncertain) & 1
        self._subsets = subsets.T.astype(np.float32)
        self._whole_subsets = subsets.T.astype(np.float64)
        self._odds, self._agree = _chances()
        self._ones = np.ones(width, np.float32)
        # A certainty and the number of its bit in one number: sorted, that says which are least.
        self._numbers = np.arange(width, dtype=np.uint16)
        self._bit_values = 2.0 ** np.arange(width)[::-1]
        singles = np.concatenate([[0], 1 << np.arange(width)])
        self._bare_tables = np.repeat(np.arange(tables), width + 1)
        self._bare_flips = np.tile(singles, tables)

    def probes(self, fingerprint: int, certainty: bytes) -> Probes:
        """Return the buckets to ask for a fingerprint; without certainty, see the module."""
        if not self._plan.prefix_bits:
            return Probes(
                self._own_tables, np.array(self._plan.prefixes(fingerprint), self._own_type)
            )
        return self.probes_of_many([(fingerprint, certainty)])[0]

    def probes_of_many(
        self, asking: Sequence[tuple[int, bytes]]
    ) -> tuple[Probes, NDArray[np.int64]]:
        """Return (the buckets to ask for some fingerprints, the number of the fingerprint that
        each bucket is for), in the order of the fingerprints.

        :param asking: fingerprints with their certainties, of which all or none are known.
        """
        count, (tables, width) = len(asking), self._shape
        prefixes = np.array([self._plan.prefixes(fingerprint) for fingerprint, _ in asking])
        packed = b"".join([certainty for _, certainty in asking])
        if len(packed) != count * self._bits:
            bare = len(self._bare_tables)
            asked = prefixes.take(self._bare_tables, axis=1) ^ self._bare_flips
            return (
                Probes(np.tile(self._bare_tables, count), asked.ravel()),
                np.arange(count).repeat(bare),
            )
        known = np.frombuffer(packed, np.uint8).reshape(count, self._bits)
        least, scores = self._scores(known[:, : tables * width].reshape(count, tables, width))
        # Products of floats are exact here, and numpy is slow at those of whole numbers.
        flips = (self._bit_values.take(least) @ self._whole_subsets).ravel()
        least_score = self._least(scores)
        chosen = (scores >= least_score[:, None, None]).ravel().nonzero()[0]
        prefix = chosen >> self._uncertain
        asked = prefixes.ravel().take(prefix) ^ flips.take(chosen).astype(np.int64)
        if count == 1:
            return Probes(prefix, asked), np.zeros_like(prefix)
        owners, of_table = np.divmod(prefix, tables)
        return Probes(of_table, asked), owners

    def found_by(self, fingerprint: int, certainty: bytes) -> Callable[[int], bool]:
        """Return a predicate: would the tables find another fingerprint for this one?"""
        tables, prefixes = self.probes(fingerprint, certainty)
        asked = set(zip(tables.tolist(), prefixes.tolist(), strict=True))
        return lambda other: not asked.isdisjoint(enumerate(self._plan.prefixes(other)))

    def _scores(self, known: NDArray[np.uint8]) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
        """Return (the least certain bits of each table, how likely each subset of them differs)."""
        order: NDArray[np.uint16] = known.astype(np.uint16)
        order <<= _BYTE
        order |= self._numbers
        order.sort(axis=-1)
        order = order[..., : self._uncertain]
        scores: NDArray[np.float32] = self._odds.take(order >> _BYTE) @ self._subsets
        # A product with ones: numpy's sum takes longer.
        scores += (self._agree.take(known) @ self._ones)[..., None]
        scores[..., 0] = np.inf  # each table is asked for the page's own prefix
        return order & np.uint16(0xFF), scores

    def _least(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return for each page the lowest score that is asked; several may have it."""
        flat = scores.reshape(len(scores), -1)
        count = min(self._count, flat.shape[1])
        # Not `partition`, nor `argpartition`, which take longer for so few.
        last: NDArray[np.float32] = np.sort(flat, axis=1)[:, -count]
        return last

    def subsets(self, known: NDArray[np.uint8]) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
        """Return the probes of many pages, as `probes` chooses them for each.

        :param known: the certainties by page, table and bit of the prefix.
        :return: (numbers of the least certain bits of each prefix, the most significant is 0;
            which of their subsets are flipped: number i has the bits that i has).
        """
        least, scores = self._scores(known)
        return least, scores >= self._least(scores)[:, None, None]

    def finds(self, known: NDArray[np.uint8], differs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for many pages whether the probes find another one.

        :param known: the certainties by page, table and bit of the prefix.
        :param differs: which of these bits the other one has otherwise.
        """
        least, scores = self._scores(known)
        uncertain = np.take_along_axis(differs, least, axis=-1)
        possible = uncertain.sum(axis=-1) == differs.sum(axis=-1)
        subset = (uncertain << np.arange(self._uncertain)).sum(axis=-1)
        score = np.take_along_axis(scores, subset[..., None], axis=-1)[..., 0]
        found: NDArray[np.bool_] = (possible & (score >= self._least(scores)[:, None])).any(axis=1)
        return found


@lru_cache(maxsize=256)
def expected_recall(plan: TablePlan, distance: int) -> float:
    """Return the share of near-duplicates at a distance that the probes find, by simulation of the
    model; 1.0 up to the guaranteed distance.
    """
    if distance <= plan.guaranteed_distance:
        return 1.0
    return _simulated(plan, np.full(_SAMPLES, distance))


@lru_cache(maxsize=256)
def typical_recall(plan: TablePlan, max_distance: int) -> float:
    """Return the share of real near-duplicates within a distance that the probes find, by their
    distances on the open page sets and simulation of the model.
    """
    return _simulated(plan, typical_distances(plan.bits, max_distance))


def typical_distances(bits: int, max_distance: int) -> NDArray[np.int64]:
    """Return distances of real near-duplicates, those within a distance."""
    at = np.linspace(0, 1, len(_QUANTILES))
    distances = np.interp(np.linspace(0, 1, _SAMPLES), at, _QUANTILES) * bits / 256
    whole = np.rint(distances).astype(int)
    return whole[whole <= max_distance]


def expected_recall_bare(plan: TablePlan, distance: int) -> float:
    """Return the share of fingerprints at a distance that are found for one without certainty, if
    the differing bits fall anywhere alike.
    """
    width, tables = plan.prefix_bits, plan.blocks
    share = distance / plan.bits
    hit = (1 - share) ** width + width * share * (1 - share) ** (width - 1)
    return 1 - (1 - hit) ** tables


def _simulated(plan: TablePlan, distances: NDArray[np.int64]) -> float:
    if not len(distances):
        return 1.0
    random = np.random.default_rng(_SEED)
    shape = len(distances), plan.blocks, plan.prefix_bits
    sums = np.abs(random.standard_normal(shape))
    share = np.clip(distances / plan.bits, 1e-9, 0.5)
    slope = 1 / np.tan(np.pi * share)
    # A bit differs where the other text's sum has the other sign.
    differs = sums * slope[:, None, None] < random.standard_normal(shape)
    known = np.minimum(np.rint(sums * CERTAINTY_SCALE), 255).astype(np.uint8)
    return float(Prober(plan).finds(known, differs).mean())


@lru_cache(maxsize=1)
def _chances() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """By certainty: the logarithms of the odds that a bit flips, and of the chance that not."""
    slope = 1 / math.tan(math.pi * _TYPICAL_SHARE)
    chances = np.array(
        [
            math.erfc((certainty + 0.5) / CERTAINTY_SCALE * slope / math.sqrt(2)) / 2
            for certainty in range(256)
        ]
    ).clip(1e-9, 0.5)
    return (
        np.log(chances / (1 - chances)).astype(np.float32),
        np.log1p(-chances).astype(np.float32),
    )
