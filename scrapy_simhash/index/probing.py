"""Query-directed probing: choose the buckets in which a copy of a page probably is.

Lv, Josephson, Wang, Charikar and Li, "Multi-Probe LSH" (VLDB 2007). Near-duplicates differ in bits
whose sums are near zero. A query knows how far its own sums are from zero (`certainty`, see
`scrapy_simhash.fingerprint.Fingerprint`). So it looks up its own prefix in each table, and then, in
all tables together, the prefixes that a copy most probably has: its own with some of the least
certain bits flipped. Each look-up of a bucket is a *probe*. Stored pages need no certainty.

The model: the sums of two texts are normal, with a correlation of cos(πd/f) if d of f bits differ.
So a bit whose sum is z standard deviations from zero differs with the probability Φ(-z·cot(πd/f)).

Without certainty, each prefix is looked up, and each prefix with a single bit flipped.
docs/fingerprint-index.md has an example.
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

    Certainties = NDArray[np.uint8]

# The certainty of a bit whose sum is one standard deviation from zero.
CERTAINTY_SCALE = 64
_WORD_BITS = 64
_BYTE_BITS = np.uint16(8)
# The number of bits of a prefix that may be flipped: the least certain ones.
_UNCERTAIN_BITS = 6
# Scores are for pairs with this share of differing bits, where probes matter most.
_TYPICAL_SHARE = 40 / 256
# Distances of real near-duplicates in 256ths of the bits: the quantiles 0, 5, … 100 % of the 2,930
# confirmed pairs of the open page sets (`benchmarks/probing.py`).
_QUANTILES = (0, 0, 0, 0, 0, 0, 0, 4, 8, 11, 13, 17, 19, 21, 23, 26, 29, 33, 37, 44, 52)
_SAMPLES = 2000
_SEED = 1


class Probes(NamedTuple):
    """The buckets to look up: a table and a prefix for each."""

    tables: NDArray[np.int64]
    prefixes: NDArray[np.int64]


class Prober:
    """Chooses the buckets to look up; in tables that are not probed, only those of the query."""

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
        self._log_odds, self._log_equal = _log_probabilities()
        self._ones = np.ones(width, np.float32)
        self._numbers = np.arange(width, dtype=np.uint16)
        self._bit_values = 2.0 ** np.arange(width)[::-1]
        singles = np.concatenate([[0], 1 << np.arange(width)])
        self._bare_tables = np.repeat(np.arange(tables), width + 1)
        self._bare_flips = np.tile(singles, tables)

    def probes(self, fingerprint: int, certainty: bytes) -> Probes:
        """Return the buckets to look up for a fingerprint; its certainty is b"" if not known."""
        if not self._plan.prefix_bits:
            return Probes(
                self._own_tables, np.array(self._plan.prefixes(fingerprint), self._own_type)
            )
        return self.probes_of_many([(fingerprint, certainty)])[0]

    def probes_of_many(
        self, queries: Sequence[tuple[int, bytes]]
    ) -> tuple[Probes, NDArray[np.int64]]:
        """Return (the probes of all queries, the number of the query of each probe), in the order
        of the queries. The tables must be probed.

        :param queries: fingerprints with their certainties; either all or none are known.
        """
        count, (tables, width) = len(queries), self._shape
        own = np.array([self._plan.prefixes(fingerprint) for fingerprint, _ in queries])
        packed = b"".join([certainty for _, certainty in queries])
        if len(packed) != count * self._bits:
            prefixes = own.take(self._bare_tables, axis=1) ^ self._bare_flips
            return (
                Probes(np.tile(self._bare_tables, count), prefixes.ravel()),
                np.arange(count).repeat(len(self._bare_tables)),
            )
        certainties = np.frombuffer(packed, np.uint8).reshape(count, self._bits)
        in_tables = certainties[:, : tables * width].reshape(count, tables, width)
        uncertain, scores = self._scores(in_tables)
        # Products of these floats are exact, and numpy is slow at products of integers.
        flips = (self._bit_values.take(uncertain) @ self._whole_subsets).ravel()
        chosen = (scores >= self._lowest_scores(scores)).ravel().nonzero()[0]
        places = chosen >> self._uncertain
        prefixes = own.ravel().take(places) ^ flips.take(chosen).astype(np.int64)
        if count == 1:
            return Probes(places, prefixes), np.zeros_like(places)
        owners, of_table = np.divmod(places, tables)
        return Probes(of_table, prefixes), owners

    def found_by(self, fingerprint: int, certainty: bytes) -> Callable[[int], bool]:
        """Return a predicate that is True for the stored fingerprints that a query finds."""
        tables, prefixes = self.probes(fingerprint, certainty)
        probed = set(zip(tables.tolist(), prefixes.tolist(), strict=True))
        return lambda stored: not probed.isdisjoint(enumerate(self._plan.prefixes(stored)))

    def _scores(self, certainties: Certainties) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
        """Return (the least certain bits of each prefix, scores of their subsets). A score is the
        logarithm of the probability that a copy differs in exactly these bits of the prefix.
        """
        # To sort the bits by certainty, a number holds the certainty above the number of the bit.
        order: NDArray[np.uint16] = certainties.astype(np.uint16)
        order <<= _BYTE_BITS
        order |= self._numbers
        order.sort(axis=-1)
        order = order[..., : self._uncertain]
        scores: NDArray[np.float32] = self._log_odds.take(order >> _BYTE_BITS) @ self._subsets
        # A sum, as a product with ones: numpy's `sum` takes longer.
        scores += (self._log_equal.take(certainties) @ self._ones)[..., None]
        scores[..., 0] = np.inf  # the query's own prefix is always chosen
        return order & np.uint16(0xFF), scores

    def _lowest_scores(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the lowest score that each query looks up, in an array of three dimensions."""
        flat = scores.reshape(len(scores), -1)
        count = min(self._count, flat.shape[1])
        # For so few scores, `partition` and `argpartition` take longer.
        lowest: NDArray[np.float32] = np.sort(flat, axis=1)[:, -count, None, None]
        return lowest

    def subsets(self, certainties: Certainties) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
        """Return the probes of many queries: (the numbers of the least certain bits of each prefix,
        0 is the most significant; True for each subset of them that a probe flips). Subset i has
        the j-th of these bits if bit j of i is set.

        :param certainties: by query, table and bit of the prefix.
        """
        uncertain, scores = self._scores(certainties)
        return uncertain, scores >= self._lowest_scores(scores)

    def finds(self, certainties: Certainties, differs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return, for each of many queries, True if its probes find a certain stored page.

        :param certainties: by query, table and bit of the prefix.
        :param differs: True for the bits in which the stored page differs.
        """
        uncertain, scores = self._scores(certainties)
        flipped = np.take_along_axis(differs, uncertain, axis=-1)
        only_uncertain_differ = flipped.sum(axis=-1) == differs.sum(axis=-1)
        subset = (flipped << np.arange(self._uncertain)).sum(axis=-1, keepdims=True)
        is_probed = np.take_along_axis(scores, subset, axis=-1) >= self._lowest_scores(scores)
        found: NDArray[np.bool_] = (only_uncertain_differ & is_probed[..., 0]).any(axis=1)
        return found


@lru_cache(maxsize=256)
def expected_recall(plan: TablePlan, distance: int) -> float:
    """Return the share of near-duplicates at exactly this distance that the probes find: 1.0 up to
    the guaranteed distance, else by a simulation of the model.
    """
    if distance <= plan.guaranteed_distance:
        return 1.0
    return _simulated_recall(plan, np.full(_SAMPLES, distance))


@lru_cache(maxsize=256)
def typical_recall(plan: TablePlan, max_distance: int) -> float:
    """Return the share of real near-duplicates within a distance that the probes find, by a
    simulation of the model with `typical_distances`.
    """
    return _simulated_recall(plan, typical_distances(plan.bits, max_distance))


def typical_distances(bits: int, max_distance: int) -> NDArray[np.int64]:
    """Return a sample of the distances of real near-duplicates, up to `max_distance`."""
    at = np.linspace(0, 1, len(_QUANTILES))
    distances = np.interp(np.linspace(0, 1, _SAMPLES), at, _QUANTILES) * bits / 256
    whole = np.rint(distances).astype(int)
    return whole[whole <= max_distance]


def expected_recall_bare(plan: TablePlan, distance: int) -> float:
    """Return the share of the fingerprints at exactly this distance that a query without certainty
    finds, if each bit differs equally often and independently of the others.
    """
    width, tables = plan.prefix_bits, plan.blocks
    share = distance / plan.bits
    hit = (1 - share) ** width + width * share * (1 - share) ** (width - 1)
    return 1 - (1 - hit) ** tables


def _simulated_recall(plan: TablePlan, distances: NDArray[np.int64]) -> float:
    """Return the share of simulated copies at these distances that are found; 1.0 of no copies."""
    if not len(distances):
        return 1.0
    random = np.random.default_rng(_SEED)
    shape = len(distances), plan.blocks, plan.prefix_bits
    sums = np.abs(random.standard_normal(shape))
    share = np.clip(distances / plan.bits, 1e-9, 0.5)
    slope = 1 / np.tan(np.pi * share)
    # A bit differs where the sum of the copy has the opposite sign.
    differs = sums * slope[:, None, None] < random.standard_normal(shape)
    certainties = np.minimum(np.rint(sums * CERTAINTY_SCALE), 255).astype(np.uint8)
    return float(Prober(plan).finds(certainties, differs).mean())


@lru_cache(maxsize=1)
def _log_probabilities() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return, by certainty, the logarithms of (the odds that a bit differs, the probability that it
    is equal).
    """
    slope = 1 / math.tan(math.pi * _TYPICAL_SHARE)
    arguments = (np.arange(256) + 0.5) / CERTAINTY_SCALE * slope / math.sqrt(2)
    differs = np.array([math.erfc(argument) / 2 for argument in arguments]).clip(1e-9, 0.5)
    log_odds, log_equal = np.log(differs / (1 - differs)), np.log1p(-differs)
    return log_odds.astype(np.float32), log_equal.astype(np.float32)
