"""Compute the resemblance and the distance of all pairs of a sample, as matrices.

The matrices are yielded in blocks of rows. Shingles are compared by 64-bit hashes. An inverted
index from shingles to texts counts the shingles that two texts share. *Common* shingles, which very
many texts have, would make its lists long. They are counted by a matrix product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.resemblance import shingle_length, shingle_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

_BLOCK_ROWS = 256
# A shingle is common if it is in more than 1/32 of the texts, and in more than 64 texts.
_COMMON_ONE_IN = 32
_COMMON_TEXTS = 64
# Columns of a block of the matrix of common shingles.
_COMMON_AT_ONCE = 2048
_SEED = 1
_MULTIPLIER = 0x9E3779B97F4A7C15


class Resemblances:
    """The resemblance matrix of some texts.

    Unlike in `scrapy_simhash.resemblance`, each text has its own shingle length. Shingles of
    different lengths are never equal.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy as np

        self._count = len(texts)
        hashes = _shingle_hashes(texts)
        self._sizes = np.array([len(text_hashes) for text_hashes in hashes], dtype=np.int64)
        texts_of_shingles = np.repeat(np.arange(self._count), self._sizes)
        _, shingles, text_counts = np.unique(
            np.concatenate([np.empty(0, dtype=np.uint64), *hashes]),
            return_inverse=True,
            return_counts=True,
        )
        text_counts = text_counts[shingles]
        limit = max(_COMMON_TEXTS, self._count // _COMMON_ONE_IN)
        is_common = text_counts > limit
        self._common = _dense(shingles[is_common], texts_of_shingles[is_common], self._count)
        is_indexed = (text_counts > 1) & ~is_common
        owners = texts_of_shingles[is_indexed]
        _, self._shingles = np.unique(shingles[is_indexed], return_inverse=True)
        # The shingles of the i-th text are _shingles[_ends[i - 1]:_ends[i]], and the texts that
        # have the i-th shingle are _holders[_starts[i]:_starts[i + 1]].
        self._ends = np.cumsum(np.bincount(owners, minlength=self._count))
        self._holders = owners[np.argsort(self._shingles, kind="stable")]
        self._starts = np.append(0, np.cumsum(np.bincount(self._shingles)))

    def blocks(self) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Yield (first row, block of rows) in order; the diagonal is 1, or 0 without tokens."""
        import numpy as np

        for start in range(0, self._count, _BLOCK_ROWS):
            rows = range(start, min(start + _BLOCK_ROWS, self._count))
            shared = np.zeros((len(rows), self._count))
            for block in self._common:
                shared += block[rows.start : rows.stop] @ block.T
            for row in rows:
                shared[row - start] += self._shared_by(row)
            texts = np.arange(rows.start, rows.stop)
            shared[texts - start, texts] = self._sizes[texts]
            union = self._sizes[rows.start : rows.stop, None] + self._sizes - shared
            yield start, shared / np.maximum(union, 1)

    def _shared_by(self, text: int) -> np.ndarray[Any, Any]:
        """Return, for each other text, how many uncommon shingles it shares with the given one."""
        import numpy as np

        begin = self._ends[text - 1] if text else 0
        shingles = self._shingles[begin : self._ends[text]]
        counts = self._starts[shingles + 1] - self._starts[shingles]
        ends = np.cumsum(counts)
        if not len(ends):
            return np.zeros(self._count)
        places = np.arange(ends[-1]) + np.repeat(self._starts[shingles] - ends + counts, counts)
        return np.bincount(self._holders[places], minlength=self._count)


def _shingle_hashes(texts: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    """Return the distinct hashes of the shingles of each text; a text without tokens has none."""
    import numpy as np

    vocabulary: dict[str, int] = {}
    lengths, numbered_texts = [], []
    for text in texts:
        tokens = shingle_tokens(text)
        lengths.append(min(shingle_length([tokens]), len(tokens)))
        numbers = [vocabulary.setdefault(token, len(vocabulary)) for token in tokens]
        numbered_texts.append(np.array(numbers, dtype=int))
    values = np.random.default_rng(_SEED).integers(1 << 64, size=len(vocabulary), dtype=np.uint64)
    all_hashes = []
    for length, numbered in zip(lengths, numbered_texts, strict=True):
        hashes = np.full(len(numbered) - length + 1 if length else 0, length, dtype=np.uint64)
        for start in range(length):
            hashes = hashes * _MULTIPLIER + values[numbered[start : start + len(hashes)]]
        all_hashes.append(np.unique(hashes))
    return all_hashes


def _dense(
    shingles: np.ndarray[Any, Any], owners: np.ndarray[Any, Any], count: int
) -> list[np.ndarray[Any, Any]]:
    """Return a matrix in blocks of columns: 1 if a text (row) has a shingle (column), else 0."""
    import numpy as np

    distinct, columns = np.unique(shingles, return_inverse=True)
    blocks = []
    for start in range(0, len(distinct), _COMMON_AT_ONCE):
        # float32 counts exactly up to 2**24.
        block = np.zeros((count, min(_COMMON_AT_ONCE, len(distinct) - start)), dtype=np.float32)
        is_inside = (columns >= start) & (columns < start + _COMMON_AT_ONCE)
        block[owners[is_inside], columns[is_inside] - start] = 1
        blocks.append(block)
    return blocks


def distance_blocks(
    fingerprints: Sequence[int], bits: int
) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """Yield (first row, block of rows) of the Hamming distances, in order."""
    import numpy as np

    words = -(-bits // 64)
    packed = b"".join(fingerprint.to_bytes(words * 8, "big") for fingerprint in fingerprints)
    rows = np.frombuffer(packed, dtype=np.uint64).reshape(-1, words)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        apart = np.zeros((len(block), len(rows)), dtype=np.int16)
        for word in range(words):
            apart += np.bitwise_count(block[:, word, None] ^ rows[:, word])
        yield start, apart
