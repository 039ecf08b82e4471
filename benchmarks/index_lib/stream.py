"""Fingerprints by number: unrelated ones, and near ones of earlier ones at chosen distances.

Those of texts in one language are not random: words that all of them have decide many bits. So
unrelated ones may be nearer to each other than half of the bits.
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.evidence import Evidence
from scrapy_simhash.sketch import SKETCH_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CERTAINTY_SCALE = 64
_BLOCK = 9_000
# A bit's chance to be set is a number of so many bits.
_CHANCE_BITS = 8
# After so many new fingerprints comes a near one.
NEW_PER_PLANTED = 9


class Page(NamedTuple):
    """One page of the stream.

    :param number: of a new page, from 0; of the page that a planted one is near to.
    :param distance: of a planted page to that one; None if it is new.
    :param evidence: certainties as of sums of many features, and a sketch that a planted page has
        nearly in common with the page that it is near to; None where neither is wanted.
    """

    number: int
    fingerprint: int
    distance: int | None
    evidence: Evidence | None = None


def page_key(number: int | str) -> str:
    """Return a key of the usual length."""
    return f"https://example.com/articles/{number}/a-title-of-some-length"


def mixed(numbers: np.ndarray, seed: int) -> np.ndarray:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of each number."""
    with np.errstate(over="ignore"):
        x = (numbers + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return x ^ x >> np.uint64(31)


def fingerprints(
    numbers: np.ndarray, bits: int, seed: int, unrelated_bits: float | None = None
) -> list[int]:
    """The new fingerprints with these numbers; `bits` is a multiple of 64.

    :param unrelated_bits: by which they differ on average; half of them if absent.
    """
    words = np.stack([mixed(numbers, seed * 1000 + word) for word in range(bits // 64)], axis=1)
    if unrelated_bits is not None:
        words = _biased(words, numbers, bits, seed, unrelated_bits)
    packed = words.astype(">u8").tobytes()
    width = bits // 8
    return [int.from_bytes(packed[at : at + width], "big") for at in range(0, len(packed), width)]


def _biased(
    words: np.ndarray, numbers: np.ndarray, bits: int, seed: int, unrelated_bits: float
) -> np.ndarray:
    """Words with each bit set by its chance: from random words by the digits of the chances, the
    least first, as a 1 keeps what is set and sets half of the rest, and a 0 clears half.
    """
    biased = np.zeros_like(words)
    for digit, ones in enumerate(_chance_digits(bits, seed, unrelated_bits)):
        first = seed * 1000 + 100 * (digit + 1)
        random = np.stack([mixed(numbers, first + word) for word in range(bits // 64)], axis=1)
        biased = (biased | random) & ones | (biased & random) & ~ones
    return biased


@lru_cache(maxsize=8)
def _chance_digits(bits: int, seed: int, unrelated_bits: float) -> np.ndarray:
    """For each binary digit of the chances, the least first, which bits have a 1 there."""
    of_normal = np.random.default_rng(seed).standard_normal(bits)
    distribution = np.vectorize(NormalDist().cdf)
    least, most = 0.0, 8.0
    for _ in range(40):
        spread = (least + most) / 2
        chances = distribution(of_normal * spread)
        if (2 * chances * (1 - chances)).sum() > unrelated_bits:
            least = spread
        else:
            most = spread
    whole = 1 << _CHANCE_BITS
    counts = np.clip(np.rint(chances * whole), 1, whole - 1).astype(np.uint16)
    return np.stack(
        [
            np.packbits(counts >> digit & 1 == 1).view(">u8").astype(np.uint64)
            for digit in range(_CHANCE_BITS)
        ]
    )


def stream(
    bits: int,
    distances: list[int],
    seed: int,
    start: int,
    stop: int,
    *,
    unrelated_bits: float | None = None,
    evidence: bool = False,
) -> Iterator[Page]:
    """The new pages from `start` to `stop`, and a planted one after every nine.

    :param evidence: whether pages have some; planted ones then differ in uncertain bits.
    """
    rng = np.random.default_rng([seed, start])
    planted = 0
    for first in range(start, stop, _BLOCK):
        numbers = np.arange(first, min(first + _BLOCK, stop), dtype=np.uint64)
        bases = rng.integers(0, first + NEW_PER_PLANTED, len(numbers)).astype(np.uint64)
        near = fingerprints(bases, bits, seed, unrelated_bits)
        new = fingerprints(numbers, bits, seed, unrelated_bits)
        shown: Sequence[Evidence | None] = [None] * len(new)
        if evidence:
            certain = np.abs(rng.standard_normal((len(new), bits)))
            shown = _evidence(certain, sketches(numbers, seed))
            planted_certain = np.abs(rng.standard_normal((len(new), bits)))
            planted_shown = _evidence(planted_certain, sketches(bases, seed))
        for at, fingerprint in enumerate(new):
            number = first + at
            yield Page(number, fingerprint, None, shown[at])
            if number % NEW_PER_PLANTED == NEW_PER_PLANTED - 1 and bases[at] <= number:
                distance = distances[planted % len(distances)]
                planted += 1
                flipped = near[at]
                if evidence:
                    chosen = _uncertain(planted_certain[at], distance, rng)
                else:
                    chosen = rng.choice(bits, distance, replace=False)
                for bit in chosen.tolist():
                    flipped ^= 1 << bit
                yield Page(
                    int(bases[at]), flipped, distance, planted_shown[at] if evidence else None
                )


def sketches(numbers: np.ndarray, seed: int) -> np.ndarray:
    """The sketches of the pages with these numbers: a row of bytes for each."""
    words = [mixed(numbers, seed * 1000 + 500 + word) for word in range(SKETCH_BYTES // 8)]
    return np.stack(words, axis=1).view(np.uint8) | np.uint8(1)


def _evidence(sums: np.ndarray, of_sketches: np.ndarray) -> list[Evidence]:
    certain = np.minimum(np.rint(sums * CERTAINTY_SCALE), 255).astype(np.uint8)
    return [
        Evidence(sketch=sketch.tobytes(), certainty=certainty.tobytes())
        for sketch, certainty in zip(of_sketches, certain, strict=True)
    ]


def _uncertain(sums: np.ndarray, distance: int, rng: np.random.Generator) -> np.ndarray:
    """So many bits, counted from the least significant, each chosen by its chance to differ where
    that many of normal sums do (see `scrapy_simhash.index.tables.buckets`).
    """
    slope = 1 / np.tan(np.pi * max(distance, 1) / len(sums))
    chances = np.array([erfc(one * slope / 2**0.5) / 2 for one in sums]).clip(1e-12, 0.5)
    keys = np.log(chances / (1 - chances)) + rng.gumbel(size=len(sums))
    return len(sums) - 1 - np.argpartition(keys, -distance)[-distance:]
