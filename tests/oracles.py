"""The published algorithms once more, in plain Python, as slow as they are simple."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import xxhash

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def xxh3(feature: str, bits: int) -> int:
    data = feature.encode("utf-8", "surrogatepass")
    wide = 0
    for seed in range(4):
        wide = wide << 128 | xxhash.xxh3_128_intdigest(data, seed)
    return wide >> (512 - bits)


def splitmix64(value: int, seed: int) -> int:
    """The output of SplitMix64 from that state, at the seed's place in its sequence."""
    mask = 2**64 - 1
    value = (value + seed * 0x9E3779B97F4A7C15) & mask
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & mask
    value = (value ^ value >> 27) * 0x94D049BB133111EB & mask
    return value ^ value >> 31


def shingle_hash(tokens: Sequence[str]) -> int:
    """Of one shingle, from the XXH3-64 of each token."""
    mixed = 0
    for token in tokens:
        hashed = xxhash.xxh3_64_intdigest(token.encode("utf-8", "surrogatepass"))
        mixed = splitmix64(mixed + hashed, len(tokens))
    return mixed


def xxh3_mix(feature: str, bits: int) -> int:
    mixed = shingle_hash(feature.split("\x1f"))
    wide = 0
    for word in range(8):
        wide = wide << 64 | splitmix64(mixed, 256 + word)
    return wide >> (512 - bits)


def md5(feature: str, bits: int) -> int:
    digest = hashlib.md5(feature.encode("utf-8", "surrogatepass")).hexdigest()
    return int(digest, 16) % 2**bits


def bkdr(feature: str, bits: int) -> int:
    """As in Java: ``hash = hash * 31 + str.charAt(i)``, cast to an int up to 32 bits."""
    units = feature.encode("utf-16-le", "surrogatepass")
    value = 0
    for i in range(0, len(units), 2):
        value = value * 31 + int.from_bytes(units[i : i + 2], "little")
    width = 32 if bits <= 32 else 64
    kept = value % 2**bits
    signed = kept - 2**width if kept >= 2 ** (width - 1) else kept
    return max(signed, 0)


def string_hash(feature: str, bits: int) -> int:
    if not feature:
        return 0
    value = ord(feature[0]) * 128
    for character in feature:
        value = (value * 1000003) ^ ord(character)
    return (value ^ len(feature)) % 2**bits


@lru_cache(maxsize=1)
def mt19937_outputs() -> list[int]:
    """The first outputs of ``std::mt19937(19260817)``: its seeding, and Python's own generator."""
    state = [19260817]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) % 2**32)
    generator = random.Random()
    generator.setstate((3, (*state, 624), None))
    return [generator.getrandbits(32) for _ in range(128)]


def mt19937(feature: str, bits: int) -> int:
    assert bits == 32
    return mt19937_outputs()[ord(feature)]


HASHES: Mapping[str, Callable[[str, int], int]] = {
    "xxh3": xxh3,
    "xxh3-mix": xxh3_mix,
    "md5": md5,
    "bkdr": bkdr,
    "string-hash": string_hash,
    "mt19937": mt19937,
}


def simhash(
    features: Mapping[str, float], bits: int, hashed: Callable[[str, int], int], tie: str = "zero"
) -> int:
    """Manku et al., section 2.1, to the letter: a vector of f sums, from the first bit on."""
    sums = [Fraction(0)] * bits
    for feature, weight in features.items():
        value = hashed(feature, bits)
        for bit in range(bits):
            sums[bit] += Fraction(weight) if value >> (bits - 1 - bit) & 1 else -Fraction(weight)
    fingerprint = 0
    for total in sums:
        fingerprint = fingerprint << 1 | int(total > 0 or (total == 0 and tie == "one"))
    return fingerprint


def log_tf(words: list[str]) -> dict[str, float]:
    # Rounded as the scheme says, so that no tie hangs on the last bit of a logarithm.
    return {w: 1 + round(math.log(n) * 2**20) / 2**20 for w, n in Counter(words).items()}


def words_and_pairs(words: list[str]) -> dict[str, int]:
    """Each once."""
    return dict.fromkeys([*words, *map("\x1f".join, pairwise(words))], 1)


def levels(words: list[str]) -> dict[str, int]:
    counts = Counter(words)
    most = max(counts.values())
    return {word: math.ceil(Fraction(5 * count, most)) for word, count in counts.items()}


def lyq(text: str, bits: int) -> int:
    """Each occurrence of a word adds its frequency; a comma (wn, wd) is no word."""
    words = []
    for tagged in text.split(" "):
        if tagged:
            word, tag = tagged.rsplit("/", 1)
            if tag not in ("wn", "wd"):
                words.append(word)
    return simhash({w: n * n for w, n in Counter(words).items()}, bits, bkdr)


def ascii_mt19937(text: str) -> int:
    return simhash(Counter(text), 32, mt19937, tie="one")


def simhash_package(text: str) -> int:
    """Simhash(text).value of the PyPI package simhash, by its source."""
    content = "".join(re.findall(r"[\w\u4e00-\u9fcc]+", text.lower()))
    grams = [content[i : i + 4] for i in range(max(len(content) - 3, 1))]
    return simhash(Counter(grams), 64, md5)
