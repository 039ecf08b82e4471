"""Weighted features to an f-bit SimHash fingerprint, and the distance of two.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (STOC 2002), section 3;
Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007), section 2.1:
each feature is hashed to f bits; bit i of the fingerprint says whether the weights of the
features whose hash has bit i set outweigh those of the others.

Sums are exact: weights become integers small enough that float64 adds them without rounding,
so that neither the order of the features nor the machine's linear algebra changes a bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.errors import EmptyText, SchemeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TieRule = Literal["zero", "one"]
FeatureHash = Literal["xxh3"]

_MANTISSA_BITS = 52
# Unpacked bits are kept to a few megabytes at a time, however many features there are.
_CHUNK_FEATURES = 4096


def _xxh3_digests(features: Iterable[str], bits: int) -> bytes:
    """Concatenated `bits`-bit hashes: xxh3_128 with seeds 0, 1, … as far as bits need them."""
    import xxhash

    encoded = [feature.encode("utf-8", "surrogatepass") for feature in features]
    digest = xxhash.xxh3_128_digest
    width = bits // 8
    if bits <= 128:  # noqa: PLR2004 - the width of one xxh3_128 digest
        return b"".join([digest(feature)[:width] for feature in encoded])
    seeds = range(-(-bits // 128))
    return b"".join(
        [b"".join([digest(feature, seed) for seed in seeds])[:width] for feature in encoded]
    )


FEATURE_HASHES: Mapping[str, Callable[[Iterable[str], int], bytes]] = {"xxh3": _xxh3_digests}


def simhash(
    features: Mapping[str, float],
    bits: int,
    *,
    feature_hash: FeatureHash = "xxh3",
    tie: TieRule = "zero",
) -> int:
    """The SimHash of weighted features.

    :param features: feature → weight; weights are finite and ≥ 0, those of 0 count for nothing.
    :param bits: width of the fingerprint, a multiple of 8 from 8 to 512.
    :param tie: the bit for a sum of exactly zero.
    :return: ``0 <= fingerprint < 2**bits``; the first bit of the hash is the most significant.
    :raises EmptyText: no feature has a weight above zero.
    :raises SchemeError: a weight is negative, infinite or not a number.
    """
    import numpy as np

    kept = {feature: weight for feature, weight in features.items() if weight != 0}
    if not kept:
        raise EmptyText("no feature is left to fingerprint")
    try:
        weights = np.fromiter(kept.values(), dtype=np.float64, count=len(kept))
    except (OverflowError, TypeError, ValueError) as error:
        raise SchemeError(f"feature weights must be finite numbers: {error}") from error
    if not np.isfinite(weights).all() or weights.min() < 0:
        raise SchemeError("feature weights must be finite and not negative")
    # Scaling by a power of two is exact, so whole-number weights stay what they are.
    spare_bits = _MANTISSA_BITS - len(kept).bit_length()
    weights = np.rint(np.ldexp(weights, spare_bits - math.frexp(float(weights.max()))[1]))

    names = list(kept)
    hash_features = FEATURE_HASHES[feature_hash]
    ones = np.zeros(bits, dtype=np.float64)
    for start in range(0, len(names), _CHUNK_FEATURES):
        digests = hash_features(names[start : start + _CHUNK_FEATURES], bits)
        rows = np.frombuffer(digests, dtype=np.uint8).reshape(-1, bits // 8)
        ones += weights[start : start + _CHUNK_FEATURES] @ np.unpackbits(rows, axis=1)
    # The sum over +weight and -weight is 2 * ones - total.
    total = float(weights.sum())
    chosen = 2 * ones >= total if tie == "one" else 2 * ones > total
    return int.from_bytes(np.packbits(chosen).tobytes(), "big")


def hamming_distance(a: int, b: int) -> int:
    """Number of differing bits of two fingerprints of the same width."""
    return (a ^ b).bit_count()


def to_hex(fingerprint: int, bits: int) -> str:
    """Lower-case hexadecimal form, padded to the width."""
    return f"{fingerprint:0{bits // 4}x}"
