"""Compute the resemblance of all pairs of texts, as the rows of a matrix.

Shingles are compared by 64-bit hashes. An inverted index from shingles to texts counts the shingles
that two texts share. *Common* shingles, which very many texts have, would make its lists long. They
are counted by a matrix product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simhash.hashes import shingle_hashes, token_hashes
from scrapy_simhash.resemblance import shingle_length, shingle_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Array = np.ndarray[Any, Any]

# Rows of a block of the matrix product.
_BLOCK_ROWS = 256
# A shingle is common if it is in more than 1/32 of the texts, and in more than 64 texts.
_COMMON_ONE_IN = 32
_COMMON_TEXTS = 64


class Resemblances:
    """The resemblance matrix of some texts.

    Unlike in `scrapy_simhash.resemblance`, each text has its own shingle length. Shingles of
    different lengths are never equal.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        hashes = [_distinct_shingles(text) for text in texts]
        self._sizes = np.array([len(text_hashes) for text_hashes in hashes], dtype=np.int64)
        owners = np.repeat(np.arange(len(texts)), self._sizes)
        _, shingles, text_counts = np.unique(
            np.concatenate([np.empty(0, dtype=np.uint64), *hashes]),
            return_inverse=True,
            return_counts=True,
        )
        text_counts = text_counts[shingles]
        is_common = text_counts > max(_COMMON_TEXTS, len(texts) // _COMMON_ONE_IN)
        common, columns = np.unique(shingles[is_common], return_inverse=True)
        # 1 if a text (row) has a common shingle (column). float32 counts exactly up to 2**24.
        self._common = np.zeros((len(texts), len(common)), dtype=np.float32)
        self._common[owners[is_common], columns] = 1
        is_indexed = (text_counts > 1) & ~is_common
        owners = owners[is_indexed]
        _, self._shingles = np.unique(shingles[is_indexed], return_inverse=True)
        # The shingles of the i-th text are _shingles[_ends[i - 1]:_ends[i]], and the texts that
        # have the i-th shingle are _holders[_starts[i]:_starts[i + 1]].
        self._ends = np.cumsum(np.bincount(owners, minlength=len(texts)))
        self._holders = owners[np.argsort(self._shingles, kind="stable")]
        self._starts = np.append(0, np.cumsum(np.bincount(self._shingles)))

    def rows(self) -> Iterator[Array]:
        """Yield the row of each text; the diagonal is 1, or 0 for a text without tokens."""
        for start in range(0, len(self._sizes), _BLOCK_ROWS):
            block = self._common[start : start + _BLOCK_ROWS] @ self._common.T
            for text, common in enumerate(block, start):
                shared = common + self._shared_by(text)
                shared[text] = self._sizes[text]
                yield shared / np.maximum(self._sizes[text] + self._sizes - shared, 1)

    def _shared_by(self, text: int) -> Array:
        """Return, for each other text, how many uncommon shingles it shares with the given one."""
        begin = self._ends[text - 1] if text else 0
        shingles = self._shingles[begin : self._ends[text]]
        counts = self._starts[shingles + 1] - self._starts[shingles]
        ends = np.cumsum(counts)
        places = np.arange(counts.sum()) + np.repeat(self._starts[shingles] - ends + counts, counts)
        return np.bincount(self._holders[places], minlength=len(self._sizes))


def _distinct_shingles(text: str) -> Array:
    """Return the distinct hashes of a text's shingles; none for a text without tokens."""
    tokens = shingle_tokens(text)
    return np.unique(shingle_hashes(token_hashes(tokens), shingle_length([tokens])))
