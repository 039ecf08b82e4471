"""Other ways to find near-duplicate texts, each as its users would take it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from quality_lib.scoring import close_pairs
from scrapy_simhash.features import shingles
from scrapy_simhash.tokens.tokenization import jieba_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIMHASH_DISTANCE = 3
MINHASH_THRESHOLD = 0.8
MINHASH_PERMUTATIONS = 128
MINHASH_SHINGLE = 5
# Nutch's defaults.
PROFILE_MIN_TOKEN = 2
PROFILE_QUANT_RATE = 0.01
_LETTERS_OR_DIGITS = re.compile(r"[^\W_]+")


def version_of(package: str) -> str | None:
    """Of an installed package; None if it isn't."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


class Peer(NamedTuple):
    """A text's digest, and the pairs it reports among many (None for a text without one)."""

    package: str | None
    description: str
    digest: Callable[[str], Any]
    pairs: Callable[[Sequence[Any]], np.ndarray]

    def version(self) -> str | None:
        """Of its package; None if that isn't installed."""
        return "own code" if self.package is None else version_of(self.package)


def simhash_digest(text: str) -> int:
    """The package's own 64 bits of overlapping runs of 4 letters.

    Where a run occurs more than 255 times, version 2.1.2 with numpy 2 multiplies octets by that
    and fails; as floats the same weights pass.
    """
    from simhash import Simhash

    try:
        return int(Simhash(text).value)
    except OverflowError:
        letters = "".join(re.findall(r"[\w\u4e00-\u9fcc]+", text.lower()))
        runs = Counter(letters[start : start + 4] for start in range(len(letters) - 3))
        return int(Simhash([(run, float(count)) for run, count in runs.items()]).value)


def simhash_pairs(digests: Sequence[int | None]) -> np.ndarray:
    """Within 3 bits."""
    return close_pairs(digests, 64, SIMHASH_DISTANCE)[0]


def minhash_digest(text: str) -> Any:
    """128 permutations of the text's shingles of 5 tokens."""
    from datasketch import MinHash

    grams = set(shingles(jieba_tokens(text), MINHASH_SHINGLE))
    digest = MinHash(num_perm=MINHASH_PERMUTATIONS, seed=1)
    digest.update_batch([gram.encode() for gram in grams])
    return digest


def minhash_pairs(digests: Sequence[Any]) -> np.ndarray:
    """What MinHashLSH.query returns, its answers taken as they are."""
    from datasketch import MinHashLSH

    lsh = MinHashLSH(threshold=MINHASH_THRESHOLD, num_perm=MINHASH_PERMUTATIONS)
    found = []
    for number, digest in enumerate(digests):
        if digest is None:
            continue
        found += [(int(other), number) for other in lsh.query(digest)]
        lsh.insert(number, digest)
    return _array(found)


def profile_digest(text: str) -> str:
    """Nutch's TextProfileSignature: MD5 of the words and their quantised counts."""
    words = _LETTERS_OR_DIGITS.findall(text.lower())
    counts = Counter(word for word in words if len(word) > PROFILE_MIN_TOKEN)
    highest = max(counts.values(), default=0)
    quant = int(highest * PROFILE_QUANT_RATE + 0.5)
    if quant < 2:
        quant = 2 if highest > 1 else 1
    kept = [(-(count // quant) * quant, word) for word, count in counts.items() if count >= quant]
    profile = "\n".join(f"{word} {-count}" for count, word in sorted(kept))
    return hashlib.md5(profile.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def equal_pairs(digests: Sequence[str | None]) -> np.ndarray:
    """Equal digests."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, digest in enumerate(digests):
        if digest is not None:
            holders[digest].append(number)
    return _array([pair for same in holders.values() for pair in combinations(same, 2)])


def _array(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


PEERS: dict[str, Peer] = {
    "simhash": Peer(
        "simhash", "64 bits, its own 4-letter runs, k = 3", simhash_digest, simhash_pairs
    ),
    "datasketch": Peer(
        "datasketch",
        "MinHashLSH(0.8), 128 permutations, 5-token shingles",
        minhash_digest,
        minhash_pairs,
    ),
    "TextProfile": Peer(
        None, "rule of Nutch's TextProfileSignature, equal digests", profile_digest, equal_pairs
    ),
}
