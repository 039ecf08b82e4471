"""The published algorithms in plain Python: slow and simple, to compare with."""

from __future__ import annotations

import hashlib
import random
from fractions import Fraction
from functools import lru_cache
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
    """Return output number `seed` of SplitMix64 from this state."""
    mask = 2**64 - 1
    value = (value + seed * 0x9E3779B97F4A7C15) & mask
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & mask
    value = (value ^ value >> 27) * 0x94D049BB133111EB & mask
    return value ^ value >> 31


def shingle_hash(tokens: Sequence[str]) -> int:
    """Return the hash of one shingle, made from the XXH3-64 of each token."""
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


def java_chars(text: str) -> list[int]:
    units = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(units[i : i + 2], "little") for i in range(0, len(units), 2)]


def bkdr(feature: str, bits: int) -> int:
    """Return BKDR as in Java: ``hash = hash * 31 + c``, ``Math.abs``, ``%= Math.pow(2, bits)``, an int."""
    value = 0
    for char in java_chars(feature):
        value = value * 31 + char
    value %= 2**64
    signed = value - 2**64 if value >= 2**63 else value
    as_double = float(abs(signed))
    rest = int(as_double % 2.0**bits) % 2**32
    return 0 if rest >= 2**31 else rest


def string_hash(feature: str, bits: int) -> int:
    return multiplied(list(map(ord, feature)), bits)


def string_hash_java(feature: str, bits: int) -> int:
    """Return the string hash with its bits in reverse order."""
    value = multiplied(java_chars(feature), bits)
    return sum(1 << (bits - 1 - bit) for bit in range(bits) if value >> bit & 1)


def multiplied(characters: list[int], bits: int) -> int:
    if not characters:
        return 0
    value = characters[0] * 128
    for character in characters:
        value = (value * 1000003) ^ character
    return (value ^ len(characters)) % 2**bits


@lru_cache(maxsize=1)
def mt19937_outputs() -> list[int]:
    """Return the first 128 outputs of ``std::mt19937(19260817)``, by Python's own generator."""
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
    "string-hash-java": string_hash_java,
    "mt19937": mt19937,
}


def sums_of(
    features: Mapping[str, float], bits: int, hashed: Callable[[str, int], int] = xxh3
) -> list[Fraction]:
    """Follow Manku et al., section 2.1: a vector of f sums, the first bit first."""
    sums = [Fraction(0)] * bits
    for feature, weight in features.items():
        value = hashed(feature, bits)
        for bit in range(bits):
            sums[bit] += Fraction(weight) if value >> (bits - 1 - bit) & 1 else -Fraction(weight)
    return sums


def simhash(
    features: Mapping[str, float],
    bits: int,
    hashed: Callable[[str, int], int] = xxh3,
    tie: str = "zero",
) -> int:
    fingerprint = 0
    for total in sums_of(features, bits, hashed):
        fingerprint = fingerprint << 1 | int(total > 0 or (total == 0 and tie == "one"))
    return fingerprint
