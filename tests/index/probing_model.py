"""A simulation of what probed tables find.

The sums of two texts are normal, with a correlation of cos(πd/f) if d of f bits differ.
"""

from functools import lru_cache

import numpy as np

from scrapy_simhash.index.base import Query
from scrapy_simhash.index.tables.buckets import CERTAINTY_SCALE, Prober

# Distances of real near-duplicates in 256ths of the bits: the quantiles 0, 5, …, 100 % of 2,930
# confirmed pairs of real pages.
_QUANTILES = (0, 0, 0, 0, 0, 0, 0, 4, 8, 11, 13, 17, 19, 21, 23, 26, 29, 33, 37, 44, 52)
_SAMPLES = 2000


def found_by(plan, fingerprint, certainty):
    """A function that returns True for fingerprints in one of the buckets to look up."""
    if plan.probes:
        tables, prefixes, _ = Prober(plan).probes([Query(fingerprint, certainty)])
        asked = {*zip(tables.tolist(), prefixes.tolist(), strict=True)}
    else:
        asked = {*enumerate(plan.prefixes(fingerprint))}
    return lambda stored: not asked.isdisjoint(enumerate(plan.prefixes(stored)))


@lru_cache
def typical_recall(plan, max_distance):
    """The share of near-duplicates with real distances, up to the highest, that the probes find."""
    at = np.linspace(0, 1, len(_QUANTILES))
    distances = np.interp(np.linspace(0, 1, _SAMPLES), at, _QUANTILES) * plan.bits / 256
    whole = np.rint(distances).astype(int)
    distances = whole[whole <= max_distance]
    random = np.random.default_rng(1)
    shape = len(distances), len(plan.tables), plan.prefix_bits
    sums = np.abs(random.standard_normal(shape))
    slope = 1 / np.tan(np.pi * np.clip(distances / plan.bits, 1e-9, 0.5))
    # A bit differs where the sum of the copy has the opposite sign.
    differs = sums * slope[:, None, None] < random.standard_normal(shape)
    certainties = np.minimum(np.rint(sums * CERTAINTY_SCALE), 255).astype(np.uint8)
    return float(finds(plan, certainties, differs).mean())


def finds(plan, certainties, differs):
    """True for each query whose probes find the page that it is paired with.

    :param certainties: by query, table and bit of the prefix.
    :param differs: True for the bits in which the two differ.
    """
    uncertain, is_probed = Prober(plan).subsets(certainties)
    flipped = np.take_along_axis(differs, uncertain, axis=-1)
    only_uncertain_differ = flipped.sum(axis=-1) == differs.sum(axis=-1)
    subset = (flipped << np.arange(flipped.shape[-1])).sum(axis=-1, keepdims=True)
    found = only_uncertain_differ & np.take_along_axis(is_probed, subset, axis=-1)[..., 0]
    return found.any(axis=1)
