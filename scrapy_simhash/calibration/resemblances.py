"""Compute the exact resemblance of all pairs of texts, one row of the matrix at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simhash.hashes import shingle_hashes, token_hashes
from scrapy_simhash.resemblance import shingle_length, shingle_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Array = np.ndarray[Any, Any]


def resemblances(texts: Sequence[str]) -> Iterator[Array]:
    """Yield, for each text, its resemblance to each text (to itself: 1, or 0 without tokens).

    Shingles are compared by 64-bit hashes. Unlike in `scrapy_simhash.resemblance`, each text has
    its own shingle length; shingles of different lengths are never equal.
    """
    hashes = [_distinct_shingles(text) for text in texts]
    sizes = np.array([len(one) for one in hashes], dtype=np.int64)
    owners = np.repeat(np.arange(len(texts)), sizes)
    _, shingles = np.unique(
        np.concatenate([np.empty(0, dtype=np.uint64), *hashes]), return_inverse=True
    )
    # The texts that have the i-th shingle are holders[starts[i]:starts[i + 1]].
    holders = owners[np.argsort(shingles, kind="stable")]
    starts = np.append(0, np.cumsum(np.bincount(shingles)))
    for size, own in zip(sizes, np.split(shingles, np.cumsum(sizes)), strict=False):
        counts = starts[own + 1] - starts[own]
        # The ranges of `holders` of all own shingles, one after the other.
        offsets = np.repeat(starts[own] - np.cumsum(counts) + counts, counts)
        shared = np.bincount(holders[np.arange(len(offsets)) + offsets], minlength=len(texts))
        yield shared / np.maximum(size + sizes - shared, 1)


def _distinct_shingles(text: str) -> Array:
    tokens = shingle_tokens(text)
    return np.unique(shingle_hashes(token_hashes(tokens), shingle_length([tokens])))
