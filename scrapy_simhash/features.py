"""Make features from tokens: shingles with weights.

The default features are words and pairs of neighbouring words, each with the weight 1. With weights
by frequency, a few common words would decide a quarter of the bits of every text
(``docs/decisions/default.md``).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.hashes import JOINER
from scrapy_simhash.tokens.tokenization import TaggedWords

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

Weighting = Literal["uniform", "tf", "log-tf", "tf-squared", "levels", "tf-idf"]

_MAX_LEVEL = 5
IDF_WEIGHTINGS = ("levels", "tf-idf")


def shingles(tokens: Sequence[str], length: int, joiner: str = JOINER) -> list[str]:
    """Return all runs of `length` consecutive tokens, joined; fewer tokens are a single shingle."""
    if length == 1 or not tokens:
        return list(tokens)
    starts = range(max(len(tokens) - length, 0) + 1)
    return [joiner.join(tokens[start : start + length]) for start in starts]


# The weight of a feature, given how often it occurs in the text.
_BY_COUNT: Mapping[str, Callable[[int], float]] = {
    "uniform": lambda _: 1.0,
    "tf": float,
    # Rounded, because the last bit of a logarithm differs between platforms.
    "log-tf": lambda count: 1.0 + round(math.log(count) * 2**20) / 2**20,
    "tf-squared": lambda count: float(count * count),
}
WEIGHTINGS = (*_BY_COUNT, *IDF_WEIGHTINGS)


def weighted_features(
    tokens: Sequence[str],
    *,
    shingle_length: int,
    pairs: bool = False,
    weighting: Weighting,
    joiner: str = JOINER,
    stop_words: Collection[str] = (),
    idf: IdfTable | None = None,
    top: int = 0,
) -> dict[str, float]:
    """Return feature → weight, in the order of the text; empty for no tokens.

    :param pairs: add pairs of neighbouring tokens to the shingles.
    :param stop_words: tokens to leave out, case-folded.
    :param top: return only this many features: the heaviest first, equally heavy ones in the order
        of the text. 0 returns all features.
    :raises SchemeError: the weighting needs an IDF table, and `idf` is None.
    """
    if stop_words:
        tokens = [token for token in tokens if token.casefold() not in stop_words]
    counts = Counter(shingles(tokens, shingle_length, joiner))
    if pairs and len(tokens) > 1:
        counts.update(shingles(tokens, 2, joiner))
    if weighting in _BY_COUNT:
        weigh = cache(_BY_COUNT[weighting])
        features = {feature: weigh(count) for feature, count in counts.items()}
    elif idf is None:
        raise SchemeError("the weightings levels and tf-idf need an IDF table: set idf")
    else:
        total = counts.total()
        # In jieba's order of operations, so that the floats are equal to jieba's.
        features = {name: count * (idf.get(name) / total) for name, count in counts.items()}
    if weighting == "levels":
        largest = max(features.values(), default=0.0) or 1.0
        features = {
            # Rounded before ceil(): 3/5 of the largest may be a little more than that as a float.
            feature: max(1.0, float(math.ceil(round(_MAX_LEVEL * weight / largest, 9))))
            for feature, weight in features.items()
        }
    if top:
        heaviest = sorted(features, key=features.__getitem__, reverse=True)[:top]
        return {feature: features[feature] for feature in heaviest}
    return features


def weighted_occurrences(words: Sequence[str]) -> list[tuple[str, float]]:
    """Return (word, share of this word among all words) for each occurrence of a word, in order.

    :param words: for `TaggedWords`, occurrences and shares are counted as in linyiqun's Java.
    """
    tagged = words if isinstance(words, TaggedWords) else TaggedWords(words, words, len(words))
    counts = Counter(tagged)
    return [(word, counts[word] / tagged.pieces) for word in tagged.occurrences]


class IdfTable:
    """Inverse document frequencies (IDF) by word; unknown words get the median, as in jieba.

    :param path: a UTF-8 file with a word, a space and a number on each line.
    :raises SchemeError: the file cannot be read or is empty, or a number is negative or infinite.
    """

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()
            pairs = (line.rsplit(" ", 1) for line in content.decode("utf-8").splitlines() if line)
            self._values = {word: float(value) for word, value in pairs}
        except (OSError, ValueError) as error:
            raise SchemeError(
                f"IDF table {path} cannot be read ({error}): each line needs a word and a number"
            ) from error
        if not self._values:
            raise SchemeError(f"IDF table {path} is empty")
        if not all(0 <= value < math.inf for value in self._values.values()):
            raise SchemeError(f"IDF table {path}: the numbers must be finite and not negative")
        self._median = sorted(self._values.values())[len(self._values) // 2]
        self.digest = hashlib.blake2b(content, digest_size=8).hexdigest()

    def get(self, word: str) -> float:
        """Return the IDF of a word; the median for an unknown word."""
        return self._values.get(word, self._median)


@lru_cache(maxsize=8)
def idf_table(name: str) -> IdfTable:
    """Return jieba's table for ``jieba``, else the table in the file with this path."""
    if name == "jieba":
        import jieba

        return IdfTable(Path(jieba.__file__).parent / "analyse" / "idf.txt")
    return IdfTable(Path(name))
