"""Make an f-bit SimHash fingerprint from weighted features, and compare two fingerprints.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (STOC 2002), section 3;
Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007), section 2:
each feature is hashed to f bits. A bit of the fingerprint is 1 if the features whose hash has a 1
at this place weigh more than the features whose hash has a 0.

Sums are exact: the weights are first rounded to integers that float64 adds without rounding. So
neither the order of the features nor the machine's linear algebra changes a bit. Only ``in-order``
sums round at each addition, as the programs of some presets do.
"""

from __future__ import annotations

import math
import re
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from scrapy_simhash.errors import EmptyText, SchemeError
from scrapy_simhash.hashes import FEATURE_HASHES, FeatureHashName, widen
from scrapy_simhash.lazy import np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

TieRule = Literal["zero", "one"]
Sums = Literal["exact", "in-order"]

_MANTISSA_BITS = 52
# Limits the memory for unpacked bits to a few megabytes, however many features a text has.
_CHUNK_FEATURES = 4096
# Bits are counted in bytes, in runs of so many hashes. Further runs would not fit in the caches.
_MAX_BYTE = 255
_RUNS_AT_ONCE = 4
_CERTAINTY_SCALE = 64
_MAX_CERTAINTY = 255


class Fingerprint(NamedTuple):
    """A fingerprint, and how certain each of its bits is.

    :param value: ``0 <= value < 2**bits``.
    :param certainty: one byte for each bit, the most significant bit first: the rounded
        64·|sum| / √Σw², at most 255, where w are the weights. A tie has 0. Near-duplicates differ
        mostly in bits of low certainty.
    """

    value: int
    certainty: bytes


def weighted_sums(bits: NDArray[np.uint8], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each bit, the weight of the features with a 1 minus the weight of the others.

    :param bits: 0 or 1; a row for each feature, a column for each bit.
    :param weights: of the features. Whole numbers with a sum below 2**52 give an exact result.
    """
    # Not a matrix product: the threads of numpy's linear algebra keep cores busy between pages.
    sums: NDArray[np.float64] = 2 * np.einsum("i,ij->j", weights, bits) - weights.sum()
    return sums


def simhash(
    features: Iterable[tuple[str, float]],
    bits: int,
    *,
    feature_hash: FeatureHashName = "xxh3",
    tie: TieRule = "zero",
    sums: Sums = "exact",
) -> Fingerprint:
    """Return the SimHash of weighted features. The first bit of hashes is the most significant.

    :param features: (feature, weight). Weights are finite and ≥ 0; features with 0 are ignored.
    :param bits: width of the fingerprint, one of the `FeatureHash.widths` of the hash.
    :param tie: the bit for a sum of exactly zero.
    :param sums: ``exact``, or ``in-order`` to add floats in the order of the features. A rounding
        error may then decide a bit whose exact sum is zero.
    :raises EmptyText: no feature has a weight above zero.
    :raises SchemeError: a weight is negative, infinite or not a number.
    :raises UnsupportedText: the hash does not support a feature.
    """
    names, values = tuple(zip(*features, strict=True)) or ((), ())
    try:
        weights = np.fromiter(values, dtype=np.float64, count=len(names))
    except (OverflowError, TypeError, ValueError) as error:
        raise SchemeError(f"feature weights must be finite numbers: {error}") from error
    if not ((weights >= 0) & (weights < math.inf)).all():
        raise SchemeError("feature weights must be finite and not negative")
    names, weights = tuple(compress(names, weights)), weights[weights > 0]
    if not names:
        raise EmptyText("no feature is left to fingerprint")
    totals = np.zeros(bits, dtype=np.float64)
    if sums == "exact":
        # Scaling by a power of two is exact, so only fractions are rounded.
        spare_bits = _MANTISSA_BITS - len(names).bit_length()
        weights = np.rint(np.ldexp(weights, spare_bits - math.frexp(float(weights.max()))[1]))
    digests = FEATURE_HASHES[feature_hash].digests
    for start in range(0, len(names), _CHUNK_FEATURES):
        chunk = weights[start : start + _CHUNK_FEATURES]
        hashes = digests(names[start : start + _CHUNK_FEATURES], bits)
        rows = np.unpackbits(np.frombuffer(hashes, dtype=np.uint8)).reshape(-1, bits)
        if sums == "exact":
            totals += weighted_sums(rows, chunk)
        else:
            signed = np.where(rows, chunk[:, None], -chunk[:, None])
            # accumulate() adds row by row; sum() may add in pairs.
            totals = np.add.accumulate(np.vstack([totals, signed]), axis=0)[-1]
    return _from_sums(totals[None], np.sqrt(np.square(weights).sum()), tie)[0]


def simhashes_of_hashes(
    texts: Sequence[NDArray[np.uint64]], bits: int, *, tie: TieRule = "zero"
) -> list[Fingerprint]:
    """Return what `simhash` returns with the hash ``xxh3-mix`` and weights 1, for each text, in
    less time.

    :param texts: the distinct hashes of each text, from `scrapy_simhash.hashes.shingle_hashes`: at
        least one text, and one hash of each.
    """
    hashes = np.concatenate(texts)
    sizes = np.array(list(map(len, texts)))
    ends = np.cumsum(sizes)
    runs = [
        at
        for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)
        for at in range(end - size, end, _MAX_BYTE)
    ]
    bounds = [*runs, len(hashes)]
    ones = []
    for first in range(0, len(runs), _RUNS_AT_ONCE):
        *starts, end = bounds[first : first + _RUNS_AT_ONCE + 1]
        # Eight bits, each in a byte, are added as one number of 64 bits.
        rows = np.unpackbits(widen(hashes[starts[0] : end], bits)).view(np.uint64)
        ones.append(np.add.reduceat(rows.reshape(-1, bits // 8), np.array(starts) - starts[0]))
    first_runs = np.searchsorted(runs, ends - sizes)
    set_bits = np.add.reduceat(np.concatenate(ones).view(np.uint8), first_runs, dtype=np.float64)
    return _from_sums(2 * set_bits - sizes[:, None], np.sqrt(sizes)[:, None], tie)


def _from_sums(
    sums: NDArray[np.floating[Any]], norms: NDArray[np.float64] | float, tie: TieRule
) -> list[Fingerprint]:
    """Return the fingerprints of weighted sums, a row for each text.

    :param norms: √Σw² of each text, where w are the weights.
    """
    is_set = sums >= 0 if tie == "one" else sums > 0
    certainty = np.minimum(np.rint(np.abs(sums) * (_CERTAINTY_SCALE / norms)), _MAX_CERTAINTY)
    return [
        Fingerprint(int.from_bytes(value.tobytes(), "big"), certain.tobytes())
        for value, certain in zip(
            np.packbits(is_set, axis=1), certainty.astype(np.uint8), strict=True
        )
    ]


def hamming_distance(a: int, b: int) -> int:
    """Return the number of bits in which two fingerprints of the same width differ."""
    return (a ^ b).bit_count()


def to_hex(fingerprint: int, bits: int) -> str:
    """Return the fingerprint in lower-case hexadecimal digits, padded to the width."""
    return f"{fingerprint:0{bits // 4}x}"


def from_hex(text: str, bits: int) -> int:
    """Return the fingerprint of a text. :raises SchemeError: it is not bits / 4 hex digits."""
    if not isinstance(text, str) or not re.fullmatch(f"[0-9a-fA-F]{{{bits // 4}}}", text):
        raise SchemeError(f"{text!r} is not a fingerprint of {bits} bits in hexadecimal digits")
    return int(text, 16)
