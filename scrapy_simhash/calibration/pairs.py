"""Compute the exact resemblance and distance of all pairs of a sample, in blocks of rows.

Shingles get numbers by numbering pairs of tokens, then pairs of those numbers, and so on; equal
numbers mean equal shingles. An inverted index from shingle to texts counts what two texts share.
Shingles of very many texts, such as those of a common notice, would make its lists long, so these
are counted by a matrix product.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.resemblance import shingle_length, shingle_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

_BLOCK_ROWS = 256
# A shingle is common if it is in more than 1/32 of the texts, and in more than 64 texts.
_COMMON_ONE_IN = 32
_COMMON_TEXTS = 64
_COMMON_AT_ONCE = 2048


class Resemblances:
    """The resemblance matrix of some texts; see `scrapy_simhash.resemblance`.

    Each text has its own shingle length; texts with different shingle lengths share nothing.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy as np

        self._count = len(texts)
        shingle_numbers, owners = _numbered(texts)
        # Count each shingle of a text once.
        order = np.lexsort((owners, shingle_numbers))
        shingle_numbers, owners = shingle_numbers[order], owners[order]
        first = np.ones(len(owners), dtype=bool)
        first[1:] = (shingle_numbers[1:] != shingle_numbers[:-1]) | (owners[1:] != owners[:-1])
        shingle_numbers, owners = shingle_numbers[first], owners[first]
        self._sizes = np.bincount(owners, minlength=self._count)
        holders = np.bincount(shingle_numbers) if len(owners) else np.zeros(0, dtype=np.int64)
        common = max(_COMMON_TEXTS, self._count // _COMMON_ONE_IN)
        held = holders[shingle_numbers]
        self._common = _dense(shingle_numbers[held > common], owners[held > common], self._count)
        some = (held > 1) & (held <= common)
        self._holders = owners[some]
        kept = shingle_numbers[some]
        # The texts that have the i-th kept shingle are holders[starts[i]:starts[i + 1]].
        new = np.ones(len(kept), dtype=bool)
        new[1:] = kept[1:] != kept[:-1]
        numbers = np.cumsum(new) - 1
        self._starts = np.append(np.flatnonzero(new), len(kept))
        by_text = np.argsort(self._holders, kind="stable")
        self._shingles = numbers[by_text]
        self._ends = np.cumsum(np.bincount(self._holders, minlength=self._count))

    def blocks(self) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Yield (first row, block of rows) in order; the diagonal is 1, or 0 for an empty text."""
        import numpy as np

        for start in range(0, self._count, _BLOCK_ROWS):
            rows = range(start, min(start + _BLOCK_ROWS, self._count))
            shared = np.zeros((len(rows), self._count))
            for block in self._common:
                shared += block[rows.start : rows.stop] @ block.T
            for row in rows:
                shared[row - start] += self._shared_by(row)
            own = np.arange(rows.start, rows.stop)
            shared[own - start, own] = self._sizes[own]
            union = self._sizes[rows.start : rows.stop, None] + self._sizes - shared
            yield start, shared / np.maximum(union, 1)

    def _shared_by(self, text: int) -> np.ndarray[Any, Any]:
        """Return how many uncommon shingles each text shares with the given one."""
        import numpy as np

        begin = self._ends[text - 1] if text else 0
        own = self._shingles[begin : self._ends[text]]
        counts = self._starts[own + 1] - self._starts[own]
        ends = np.cumsum(counts)
        if not len(ends):
            return np.zeros(self._count)
        places = np.arange(ends[-1]) + np.repeat(self._starts[own] - ends + counts, counts)
        return np.bincount(self._holders[places], minlength=self._count)


def _numbered(texts: Sequence[str]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the numbers of all shingles, and the text of each."""
    import numpy as np

    words: dict[str, int] = {}
    groups: defaultdict[int, list[tuple[int, list[int]]]] = defaultdict(list)
    short: dict[tuple[str, ...], list[int]] = {}
    for place, text in enumerate(texts):
        tokens = shingle_tokens(text)
        length = shingle_length([tokens])
        if len(tokens) >= length:
            known = [words.setdefault(token, len(words)) for token in tokens]
            groups[length].append((place, known))
        elif tokens:
            short.setdefault(tuple(tokens), []).append(place)
    numbers, owners, used = [], [], 0
    for length, members in groups.items():
        found, of = _runs(members, length)
        numbers.append(found + used)
        owners.append(of)
        used += int(found.max()) + 1
    for number, places in enumerate(short.values(), used):
        numbers.append(np.full(len(places), number))
        owners.append(np.array(places))
    empty = np.empty(0, dtype=np.int64)
    return np.concatenate([empty, *numbers]), np.concatenate([empty, *owners])


def _runs(
    members: Sequence[tuple[int, list[int]]], length: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the numbers of all runs of `length` tokens, and the text of each."""
    import numpy as np

    tokens = np.concatenate([np.array(known, dtype=np.int64) for _, known in members])
    owners = np.repeat([place for place, _ in members], [len(known) for _, known in members])
    # Runs of 1, 2, 4 … tokens from each position are combined to runs of `length` tokens.
    power, size, done = tokens, 1, 0
    runs: np.ndarray[Any, Any] | None = None
    while done < length:
        if length & size:
            runs = power if runs is None else _paired(runs, power[done:])
            done += size
        if done < length:
            power = _paired(power, power[size:])
            size *= 2
    assert runs is not None
    last = len(owners) - length + 1
    inside = owners[:last] == owners[length - 1 :]
    return runs[:last][inside], owners[:last][inside]


def _paired(ones: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a number for each pair of elements at the same position; equal for equal pairs."""
    import numpy as np

    count = min(len(ones), len(others))
    wide = int(others.max()) + 1 if len(others) else 1
    numbers: np.ndarray[Any, Any] = np.unique(
        ones[:count] * wide + others[:count], return_inverse=True
    )[1]
    return numbers.reshape(-1)


def _dense(
    shingle_numbers: np.ndarray[Any, Any], owners: np.ndarray[Any, Any], count: int
) -> list[np.ndarray[Any, Any]]:
    """Return blocks of a matrix of texts by common shingles, with 1 if the text has the shingle."""
    import numpy as np

    known, columns = np.unique(shingle_numbers, return_inverse=True)
    blocks = []
    for start in range(0, len(known), _COMMON_AT_ONCE):
        # float32 counts exactly up to 2**24.
        block = np.zeros((count, min(_COMMON_AT_ONCE, len(known) - start)), dtype=np.float32)
        inside = (columns >= start) & (columns < start + _COMMON_AT_ONCE)
        block[owners[inside], columns[inside] - start] = 1
        blocks.append(block)
    return blocks


def distance_blocks(
    fingerprints: Sequence[int], bits: int
) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """Yield (first row, block of rows) of the matrix of Hamming distances, in the same blocks."""
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
