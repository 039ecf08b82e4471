"""Fingerprints with planted pairs, and skewed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.index.probing import CERTAINTY_SCALE, typical_distances

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 14
PLANTED_SHARE = 0.1
# What skewed inputs have beside their skewed part.
_BESIDE = 100_000


class Planted(NamedTuple):
    """Words of fingerprints, of shape (n,) or (n, bits / 64), and the pairs that are in them.

    :param certainties: of their bits, None if they are not known.
    """

    words: np.ndarray
    first: np.ndarray
    second: np.ndarray
    certainties: np.ndarray | None = None


def planted(count: int, bits: int, max_distance: int, seed: int) -> Planted:
    """Random fingerprints, a tenth of them 1 to `max_distance` bits from one of the others."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**64, (count, bits // 64), dtype=np.uint64)
    places = rng.permutation(count)
    copies = int(count * PLANTED_SHARE)
    source, target = places[copies : 2 * copies], places[:copies]
    for start in range(0, copies, _CHUNK):
        part = slice(start, start + _CHUNK)
        distance = rng.integers(1, max_distance + 1, len(target[part]))
        words[target[part]] = words[source[part]] ^ flips(rng, distance, bits)
    if bits == 64:
        words = words[:, 0]
    return Planted(words, np.minimum(source, target), np.maximum(source, target))


def planted_by_sums(count: int, bits: int, max_distance: int, seed: int) -> Planted:
    """The same with certainties; planted pairs are as far apart as real near-duplicates, and differ
    in bits that are uncertain, by the model of `scrapy_simhash.index.probing`.
    """
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**64, (count, bits // 64), dtype=np.uint64)
    certainties = np.empty((count, bits), np.uint8)
    for start in range(0, count, _CHUNK):
        part = certainties[start : start + _CHUNK]
        part[:] = _certainty(rng.standard_normal(part.shape, np.float32))
    places = rng.permutation(count)
    copies = int(count * PLANTED_SHARE)
    source, target = places[copies : 2 * copies], places[:copies]
    typical = typical_distances(bits, max_distance)
    for start in range(0, copies, _CHUNK):
        sources, targets = source[start : start + _CHUNK], target[start : start + _CHUNK]
        signs = np.unpackbits(words[sources].astype(">u8").view(np.uint8), axis=1) * 2.0 - 1
        sums = signs * (certainties[sources] + rng.random(signs.shape)) / CERTAINTY_SCALE
        correlation = np.cos(np.pi * rng.choice(typical, len(sums)) / bits)[:, None]
        others = correlation * sums + np.sqrt(1 - correlation**2) * rng.standard_normal(sums.shape)
        words[targets] = np.packbits(others > 0, axis=1).view(">u8")
        certainties[targets] = _certainty(others)
    apart = np.bitwise_count(words[source] ^ words[target]).sum(axis=1)
    near = (apart > 0) & (apart <= max_distance)
    source, target = source[near], target[near]
    return Planted(words, np.minimum(source, target), np.maximum(source, target), certainties)


def _certainty(sums: np.ndarray) -> np.ndarray:
    return np.minimum(np.abs(sums) * CERTAINTY_SCALE, 255).astype(np.uint8)


def flips(rng: np.random.Generator, distance: np.ndarray, bits: int) -> np.ndarray:
    """Words with exactly so many random bits set in each row."""
    ranks = rng.random((len(distance), bits)).argsort(axis=1)
    chosen = ranks < distance[:, None]
    return np.packbits(chosen, axis=1).view(np.uint64)


def _equal(rng: np.random.Generator, bits: int) -> np.ndarray:
    """100,000 equal ones."""
    return np.repeat(_random(rng, 1, bits), 100_000, axis=0)


def _block(rng: np.random.Generator, bits: int) -> np.ndarray:
    """50,000 different ones with the same 16 leading bits."""
    words = _random(rng, 50_000, bits)
    words[:, 0] = words[:, 0] >> np.uint64(16) | np.uint64(0xABCD << 48)
    return words


def _half(rng: np.random.Generator, bits: int) -> np.ndarray:
    """50,000 different ones with the same leading half."""
    words = _random(rng, 50_000, bits)
    if bits == 64:
        words &= np.uint64((1 << 32) - 1)
    else:
        words[:, : bits // 128] = 7
    return words


def _ball(rng: np.random.Generator, bits: int) -> np.ndarray:
    """50,000 that are a few bits from one: all of them lie close together."""
    words = np.repeat(_random(rng, 1, bits), 50_000, axis=0)
    return words ^ flips(rng, np.full(len(words), 3 if bits == 64 else 10), bits)


def _consecutive(_rng: np.random.Generator, bits: int) -> np.ndarray:
    """The first 100,000 numbers: only 17 bits differ."""
    words = np.zeros((100_000, bits // 64), dtype=np.uint64)
    words[:, -1] = np.arange(100_000)
    return words


SKEWED: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "100,000 equal": _equal,
    "50,000 share 16 bits": _block,
    "50,000 share half of the bits": _half,
    "50,000 a few bits from one": _ball,
    "the numbers below 100,000": _consecutive,
}


def skewed(name: str, bits: int, seed: int) -> np.ndarray:
    """A skewed input among 100,000 random fingerprints, in random order."""
    rng = np.random.default_rng(seed)
    words = np.concatenate([SKEWED[name](rng, bits), _random(rng, _BESIDE, bits)])
    rng.shuffle(words)
    return words[:, 0] if bits == 64 else words


def _random(rng: np.random.Generator, count: int, bits: int) -> np.ndarray:
    return rng.integers(0, 2**64, (count, bits // 64), dtype=np.uint64)
