"""Definitions in plain Python: slow and simple, to compare with."""

from fractions import Fraction

import xxhash


def xxh3(feature, bits):
    data = feature.encode("utf-8", "surrogatepass")
    wide = 0
    for seed in range(4):
        wide = wide << 128 | xxhash.xxh3_128_intdigest(data, seed)
    return wide >> (512 - bits)


def splitmix64(value, seed):
    """Return output number `seed` of SplitMix64 from this state."""
    mask = 2**64 - 1
    value = (value + seed * 0x9E3779B97F4A7C15) & mask
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & mask
    value = (value ^ value >> 27) * 0x94D049BB133111EB & mask
    return value ^ value >> 31


def shingle_hash(tokens):
    """Return the hash of one shingle, made from the XXH3-64 of each token."""
    mixed = 0
    for token in tokens:
        hashed = xxhash.xxh3_64_intdigest(token.encode("utf-8", "surrogatepass"))
        mixed = splitmix64(mixed + hashed, len(tokens))
    return mixed


def xxh3_mix(feature, bits):
    mixed = shingle_hash(feature.split("\x1f"))
    wide = 0
    for word in range(8):
        wide = wide << 64 | splitmix64(mixed, 256 + word)
    return wide >> (512 - bits)


HASHES = {"xxh3": xxh3, "xxh3-mix": xxh3_mix}


def sums_of(features, bits):
    """Follow Manku et al., section 2.1: a vector of f sums, the first bit first."""
    sums = [Fraction(0)] * bits
    for feature, weight in features.items():
        value = xxh3(feature, bits)
        for bit in range(bits):
            sums[bit] += Fraction(weight) if value >> (bits - 1 - bit) & 1 else -Fraction(weight)
    return sums


def simhash(features, bits, tie="zero"):
    fingerprint = 0
    for total in sums_of(features, bits):
        fingerprint = fingerprint << 1 | int(total > 0 or (total == 0 and tie == "one"))
    return fingerprint
