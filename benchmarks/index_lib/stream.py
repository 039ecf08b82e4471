"""Fingerprints by number: unrelated ones, and near ones of earlier ones at chosen distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 9_000
# After so many new fingerprints comes a near one.
NEW_PER_PLANTED = 9


class Page(NamedTuple):
    """One page of the stream.

    :param number: of a new page, from 0; of the page that a planted one is near to.
    :param distance: of a planted page to that one; None if it is new.
    """

    number: int
    fingerprint: int
    distance: int | None


def _mixed(numbers: np.ndarray, seed: int) -> np.ndarray:
    """SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of each number."""
    with np.errstate(over="ignore"):
        x = (numbers + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return x ^ x >> np.uint64(31)


def fingerprints(numbers: np.ndarray, bits: int, seed: int) -> list[int]:
    """The new fingerprints with these numbers; `bits` is a multiple of 64."""
    words = np.stack(
        [_mixed(numbers, seed * 1000 + word) for word in range(bits // 64)], axis=1
    ).astype(">u8")
    packed = words.tobytes()
    width = bits // 8
    return [int.from_bytes(packed[at : at + width], "big") for at in range(0, len(packed), width)]


def stream(bits: int, distances: list[int], seed: int, start: int, stop: int) -> Iterator[Page]:
    """The new pages from `start` to `stop`, and a planted one after every nine."""
    rng = np.random.default_rng([seed, start])
    planted = 0
    for first in range(start, stop, _BLOCK):
        numbers = np.arange(first, min(first + _BLOCK, stop), dtype=np.uint64)
        bases = rng.integers(0, first + NEW_PER_PLANTED, len(numbers)).astype(np.uint64)
        near = fingerprints(bases, bits, seed)
        for at, fingerprint in enumerate(fingerprints(numbers, bits, seed)):
            number = first + at
            yield Page(number, fingerprint, None)
            if number % NEW_PER_PLANTED == NEW_PER_PLANTED - 1 and bases[at] <= number:
                distance = distances[planted % len(distances)]
                planted += 1
                flipped = near[at]
                for bit in rng.choice(bits, distance, replace=False).tolist():
                    flipped ^= 1 << bit
                yield Page(int(bases[at]), flipped, distance)
