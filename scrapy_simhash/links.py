"""Make sketches of where the links of a page lead, and compare them.

A listing is what it leads to: two pages whose many links share hardly a target are different pages,
whatever their texts. Each piece of a target (`scrapy_simhash.extraction.targets`) has a weight; as
many elements stand for it. A sketch has the total weight in two bytes, and one permutation hashing
of the elements in 64 bytes, as `scrapy_simhash.sketch` has of shingles. From both follows which
share of the lighter page's targets the other one has. The share, not the resemblance, is compared,
because a print version may have only some of the links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.hashes import mix, token_hashes
from scrapy_simhash.sketch import bins_of, estimate_resemblance

if TYPE_CHECKING:
    from collections.abc import Mapping

# Pages that share less of their targets lead elsewhere.
MIN_SHARED = 0.35
# Fewer pieces are no list.
MIN_PIECES = 3
_BIN_BITS = 6
_MAX_TOTAL = 0xFFFF


def links_sketch(weights: Mapping[str, int]) -> bytes:
    """Return the sketch of link targets, 66 bytes; ``b""`` for fewer than 3 pieces.

    :param weights: piece of a target → weight, at least 1.
    """
    if len(weights) < MIN_PIECES:
        return b""
    import numpy as np

    counts = np.fromiter(weights.values(), dtype=np.int64, count=len(weights))
    # The elements of a piece are its hash and the numbers after it, each mixed.
    first = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) - np.repeat(first, counts)
    elements = mix(np.repeat(token_hashes(list(weights)), counts) + places.view(np.uint64), 1)
    total = min(len(elements), _MAX_TOTAL)
    return total.to_bytes(2, "big") + bins_of(elements, _BIN_BITS)


def shared_targets(one: bytes, other: bytes) -> float:
    """Return the estimated share of the lighter page's targets that the other has, from 0 to 1."""
    weight, other_weight = int.from_bytes(one[:2], "big"), int.from_bytes(other[:2], "big")
    resemblance = estimate_resemblance(one[2:], other[2:])
    in_both = resemblance / (1 + resemblance) * (weight + other_weight)
    return min(in_both / min(weight, other_weight), 1.0)
