"""Make an f-bit SimHash fingerprint from weighted features, and compare two fingerprints.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (STOC 2002), section 3;
Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007), section 2:
each feature is hashed to f bits. Bit i of the fingerprint is set if the features whose hash has
bit i set weigh more than the others.

Sums are exact: weights become integers that are small enough for float64 to add without rounding.
So neither the order of the features nor the machine's linear algebra changes a bit. Only the sums
``in-order`` round, for presets whose authors' programs do.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scrapy_simhash.errors import EmptyText, SchemeError
from scrapy_simhash.hashes import FEATURE_HASHES, FeatureHashName, widen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

TieRule = Literal["zero", "one"]
Sums = Literal["exact", "in-order"]

_MANTISSA_BITS = 52
# Limits unpacked bits to a few megabytes, however many features there are.
_CHUNK_FEATURES = 4096
# A byte counts up to 255 bits. Eight rows are joined to one, because numpy adds long rows faster.
_ROWS = 8
_COUNTED_HASHES = 255 * _ROWS
_CERTAINTY_SCALE = 64
_MAX_CERTAINTY = 255


class Fingerprint(NamedTuple):
    """A fingerprint, and how certain each of its bits is.

    :param value: ``0 <= value < 2**bits``.
    :param certainty: for each bit, the most significant first, 64·|sum| / √Σw² as one byte, where
        w are the weights: 0 is a tie, 255 is 4 or more. Near-duplicates differ in the bits of
        low certainty.
    """

    value: int
    certainty: bytes


def weighted_sums(bits: NDArray[np.uint8], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each bit, the weight of the features that have it set less that of the others.

    :param bits: 0 or 1; a row for each feature, a column for each bit.
    :param weights: whole numbers with a sum below 2**52, so that the result is exact.
    """
    import numpy as np

    total: float = weights.sum()
    # Not a matrix product: the threads of numpy's linear algebra keep a core busy between pages.
    sums: NDArray[np.float64] = 2 * np.einsum("i,ij->j", weights, bits) - total
    return sums


def simhash(
    features: Iterable[tuple[str, float]],
    bits: int,
    *,
    feature_hash: FeatureHashName = "xxh3",
    tie: TieRule = "zero",
    sums: Sums = "exact",
) -> Fingerprint:
    """Return the SimHash of weighted features.

    The first bit of the hashes becomes the most significant bit of the fingerprint.

    :param features: (feature, weight); weights are finite and ≥ 0. Those of weight 0 are ignored.
    :param bits: width of the fingerprint, a multiple of 8 from 8 to 512.
    :param tie: the bit for a sum of exactly zero.
    :param sums: ``exact``, or ``in-order`` for the rounded sums of a program that adds floats in
        the order of the features. If such a sum should be zero, its rounding error decides the bit.
    :raises EmptyText: no feature has a weight above zero.
    :raises SchemeError: a weight is negative, infinite or not a number.
    """
    import numpy as np

    names, weights = _checked(features)
    totals = np.zeros(bits, dtype=np.float64)
    if sums == "exact":
        # Scaling by a power of two is exact, so whole-number weights stay what they are.
        spare_bits = _MANTISSA_BITS - len(names).bit_length()
        weights = np.rint(np.ldexp(weights, spare_bits - math.frexp(float(weights.max()))[1]))
    for rows, chunk in _hashed(names, weights, bits, feature_hash):
        if sums == "exact":
            totals += weighted_sums(rows, chunk)
        else:
            signed = np.where(rows, chunk[:, None], -chunk[:, None])
            # accumulate() adds row by row; sum() may add in pairs.
            totals = np.add.accumulate(np.vstack([totals, signed]), axis=0)[-1]
    return _signs(totals, float(np.sqrt(np.square(weights).sum())), tie)


def _checked(
    features: Iterable[tuple[str, float]],
) -> tuple[Sequence[str], NDArray[np.float64]]:
    """Return the features with a weight above zero, and their weights; see `simhash`."""
    import numpy as np

    names, values = tuple(zip(*features, strict=True)) or ((), ())
    try:
        weights = np.fromiter(values, dtype=np.float64, count=len(names))
    except (OverflowError, TypeError, ValueError) as error:
        raise SchemeError(f"feature weights must be finite numbers: {error}") from error
    heaviest = float(weights.max(initial=0.0))
    lightest = float(weights.min(initial=heaviest))
    if not (lightest >= 0 and heaviest < math.inf):  # this way around for NaN
        raise SchemeError("feature weights must be finite and not negative")
    if heaviest == 0:
        raise EmptyText("no feature is left to fingerprint")
    if lightest == 0:
        names = tuple(name for name, weight in zip(names, weights, strict=True) if weight)
        weights = weights[weights > 0]
    return names, weights


def _hashed(
    names: Sequence[str], weights: NDArray[np.float64], bits: int, feature_hash: FeatureHashName
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.float64]]]:
    """Yield chunks of the features: the bits of the hashes, one row per feature, and weights."""
    import numpy as np

    digests = FEATURE_HASHES[feature_hash].digests
    for start in range(0, len(names), _CHUNK_FEATURES):
        chunk = slice(start, start + _CHUNK_FEATURES)
        rows = np.frombuffer(digests(names[chunk], bits), dtype=np.uint8).reshape(-1, bits // 8)
        yield np.unpackbits(rows, axis=1), weights[chunk]


def simhash_of_hashes(
    hashes: NDArray[np.uint64], bits: int, *, tie: TieRule = "zero"
) -> Fingerprint:
    """Return the SimHash of features of weight 1, from their 64-bit hashes.

    Equal to `simhash` with the feature hash ``xxh3-mix`` and the weights 1.

    :param hashes: distinct, from `scrapy_simhash.hashes.shingle_hashes`.
    :raises EmptyText: there are none.
    """
    import numpy as np

    if not len(hashes):
        raise EmptyText("no feature is left to fingerprint")
    counts = np.zeros(bits, dtype=np.uint64)
    for start in range(0, len(hashes), _COUNTED_HASHES):
        wide = widen(hashes[start : start + _COUNTED_HASHES], bits)
        rows = np.unpackbits(wide).reshape(-1, bits)  # without an axis, it takes less time
        rest = len(rows) % _ROWS
        counts += np.add.reduce(rows[:rest], axis=0, dtype=np.uint8)
        joined = rows[rest:].reshape(-1, _ROWS * bits)
        counts += np.add.reduce(joined, axis=0, dtype=np.uint8).reshape(_ROWS, bits).sum(axis=0)
    return _signs(2.0 * counts - len(hashes), math.sqrt(len(hashes)), tie)


def _signs(sums: NDArray[np.floating[Any]], norm: float, tie: TieRule) -> Fingerprint:
    import numpy as np

    chosen = sums >= 0 if tie == "one" else sums > 0
    certainty = np.minimum(np.rint(np.abs(sums) * (_CERTAINTY_SCALE / norm)), _MAX_CERTAINTY)
    value = int.from_bytes(np.packbits(chosen).tobytes(), "big")
    return Fingerprint(value, certainty.astype(np.uint8).tobytes())


def hamming_distance(a: int, b: int) -> int:
    """Return the number of bits in which two fingerprints of the same width differ."""
    return (a ^ b).bit_count()


def equal_bits_share(a: int, b: int, bits: int) -> float:
    """Return the share of equal bits of two fingerprints, from 0 to 1."""
    return 1 - hamming_distance(a, b) / bits


def to_hex(fingerprint: int, bits: int) -> str:
    """Return the fingerprint in lower-case hexadecimal digits, padded to the width."""
    return f"{fingerprint:0{bits // 4}x}"


def from_hex(text: str, bits: int) -> int:
    """Return the fingerprint from `to_hex`. :raises SchemeError: the text is none of that width."""
    if not isinstance(text, str) or not re.fullmatch(f"[0-9a-fA-F]{{{bits // 4}}}", text):
        raise SchemeError(f"{text!r} is not a fingerprint of {bits} bits in hexadecimal digits")
    return int(text, 16)
