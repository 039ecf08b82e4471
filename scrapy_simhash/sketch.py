"""Make resemblance sketches of 128 bytes from tokens, and compare them.

The resemblance of two texts is the Jaccard coefficient of their sets of shingles (Broder, "On the
resemblance and containment of documents", 1997). One permutation hashing (Li, Owen and Zhang, NIPS
2012) estimates it: each shingle is hashed once, the leading bits of the hash choose one of 128
bins, and each bin keeps its smallest hash. The sketch has one byte per bin, made from that hash
(b-bit minwise hashing, Li and König, WWW 2010); 0 stands for a bin without a shingle.

With 128 bins the standard deviation of an estimate near 0.6 is about 0.04.

A second sketch is of where the links of a page lead. A listing is what it leads to: two pages whose
many links share hardly a target are different pages, whatever their texts. Each piece of a target
(`scrapy_simhash.extraction.targets`) has a weight; as many elements stand for it. The sketch has
the total weight in two bytes, and one permutation hashing of the elements in 64 bytes. From both
follows which share of the lighter page's targets the other one has. The share, not the resemblance,
is compared, because a print version may have only some of the links.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_simhash.hashes import mix, shingle_hashes_of_texts, token_hashes
from scrapy_simhash.lazy import np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


_BIN_BITS = 7
SKETCH_BYTES = 1 << _BIN_BITS
SHINGLE_TOKENS = 3
# A used bin has a value from 1 to 255. One in 255 bins of unrelated texts is equal by chance.
_VALUES = 255
# Pages that share less of their targets lead elsewhere.
MIN_SHARED = 0.35
# Fewer pieces are no list.
MIN_PIECES = 3
_LINK_BIN_BITS = 6
_MAX_TOTAL = 0xFFFF


def sketch(token_hashes: NDArray[np.uint64]) -> bytes:
    """Return the sketch of a text, `SKETCH_BYTES` long, or ``b""`` for a text without tokens.

    :param token_hashes: hashes of all tokens in order, from `scrapy_simhash.hashes.token_hashes`.
    """
    return sketches([token_hashes])[0] if len(token_hashes) else b""


def sketches(texts: Sequence[NDArray[np.uint64]]) -> list[bytes]:
    """Return the `sketch` of several texts with tokens, in less time than one by one."""
    shingles = shingle_hashes_of_texts(texts, SHINGLE_TOKENS)
    return _bins(np.concatenate(shingles), _BIN_BITS, list(map(len, shingles)))


def _bins(hashes: NDArray[np.uint64], bin_bits: int, sizes: Sequence[int]) -> list[bytes]:
    """Return, for each text, one byte for each of ``2**bin_bits`` bins, made from its smallest
    hash; 0 if there is none.

    :param hashes: uniformly distributed. The first `sizes[0]` are those of the first text, …
    """
    first_bins = np.repeat(np.arange(len(sizes)) << bin_bits, sizes)
    bins = first_bins + (hashes >> np.uint64(64 - bin_bits)).view(np.int64)
    # In descending order, the last write to a bin is its minimum.
    order = np.argsort(hashes)[::-1]
    values = np.zeros(len(sizes) << bin_bits, dtype=np.uint8)
    values[bins[order]] = hashes[order] % np.uint64(_VALUES) + np.uint64(1)
    return [row.tobytes() for row in values.reshape(len(sizes), -1)]


def estimate_resemblance(one: bytes, other: bytes) -> float:
    """Estimate the resemblance of two texts from their sketches of equal length, from 0 to 1."""
    # Numbers of a thousand bits are several times as fast here as arrays.
    first, second = int.from_bytes(one, "big"), int.from_bytes(other, "big")
    used_bins = _bytes_used(first | second, len(one))
    if not used_bins:
        return 0.0
    share = (used_bins - _bytes_used(first ^ second, len(one))) / used_bins
    return min(max((share * _VALUES - 1) / (_VALUES - 1), 0.0), 1.0)


def _bytes_used(number: int, size: int) -> int:
    """Return how many of the lowest `size` bytes of a number are not 0."""
    lower_bits, top_bits = _masks(size)
    # Adding 127 to the lower seven bits of a byte sets its top bit unless they are 0.
    return (((number & lower_bits) + lower_bits | number) & top_bits).bit_count()


@lru_cache(maxsize=4)
def _masks(size: int) -> tuple[int, int]:
    """Return the lower seven bits and the top bit of each of `size` bytes."""
    return int.from_bytes(b"\x7f" * size, "big"), int.from_bytes(b"\x80" * size, "big")


def links_sketch(weights: Mapping[str, int]) -> bytes:
    """Return the sketch of link targets, 66 bytes; ``b""`` for fewer than 3 pieces.

    :param weights: piece of a target → weight, at least 1.
    """
    if len(weights) < MIN_PIECES:
        return b""
    counts = np.fromiter(weights.values(), dtype=np.int64, count=len(weights))
    # The elements of a piece are its hash and the numbers after it, each mixed.
    first = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) - np.repeat(first, counts)
    elements = mix(np.repeat(token_hashes(list(weights)), counts) + places.view(np.uint64), 1)
    total = min(len(elements), _MAX_TOTAL)
    return total.to_bytes(2, "big") + _bins(elements, _LINK_BIN_BITS, [len(elements)])[0]


def shared_targets(one: bytes, other: bytes) -> float:
    """Return the estimated share of the lighter page's targets that the other has, from 0 to 1."""
    weight, other_weight = int.from_bytes(one[:2], "big"), int.from_bytes(other[:2], "big")
    resemblance = estimate_resemblance(one[2:], other[2:])
    in_both = resemblance / (1 + resemblance) * (weight + other_weight)
    return min(in_both / min(weight, other_weight), 1.0)
