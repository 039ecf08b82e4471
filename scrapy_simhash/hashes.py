"""Hash features: with XXH3, or with the hash of a program that a preset reproduces.

Each hash function takes features and a width, and returns the hashes as bytes, one after the other,
the most significant bit first. No hash depends on the process, its hash seed or the machine.
"""

from __future__ import annotations

import hashlib
import math
import struct
from functools import lru_cache, partial
from itertools import repeat
from typing import TYPE_CHECKING, Literal, NamedTuple

from xxhash import xxh3_64_digest, xxh3_128_digest

from scrapy_simhash.errors import UnsupportedText
from scrapy_simhash.lazy import np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

FeatureHashName = Literal[
    "xxh3", "xxh3-mix", "md5", "bkdr", "string-hash", "string-hash-java", "mt19937"
]

# Joins the tokens of a feature, which `_xxh3_mix` splits again. No token of `word_tokens` or
# `jieba_tokens` contains it.
JOINER = "\x1f"
_XXH3_BITS = 128
_WORD_BITS = 64
# The first seed of `widen`. Smaller seeds are for shingles: their numbers of tokens.
_WIDEN_SEED = 256


class FeatureHash(NamedTuple):
    """A hash function of features.

    :param digests: (features, bits) → the hashes, bits / 8 bytes each.
    :param widths: the supported widths, in bits.
    """

    digests: Callable[[Sequence[str], int], bytes]
    widths: range


def _xxh3(features: Sequence[str], bits: int) -> bytes:
    """Return the XXH3-128 of each feature with the seeds 0, 1, …, joined and cut to the width."""
    encoded = _encoded(features)
    digests = [
        np.frombuffer(b"".join(map(xxh3_128_digest, encoded, repeat(seed))), np.uint8)
        for seed in range(-(-bits // _XXH3_BITS))
    ]
    rows = np.hstack([one.reshape(-1, _XXH3_BITS // 8) for one in digests])
    return rows[:, : bits // 8].tobytes()


def _encoded(features: Sequence[str]) -> list[bytes]:
    try:
        return list(map(str.encode, features))
    except UnicodeEncodeError:  # lone surrogates, from a broken page
        return [feature.encode("utf-8", "surrogatepass") for feature in features]


def _xxh3_mix(features: Sequence[str], bits: int) -> bytes:
    """Return the `shingle_hashes` of features, each of which is one shingle, after `widen`."""
    mixed = np.empty(len(features), dtype=np.uint64)
    lengths = np.array([feature.count(JOINER) + 1 for feature in features])
    for length in set(lengths.tolist()):
        places = np.flatnonzero(lengths == length)
        tokens = [token for place in places.tolist() for token in features[place].split(JOINER)]
        mixed[places] = _mix_columns(list(token_hashes(tokens).reshape(-1, length).T))
    return widen(mixed, bits).tobytes()


def widen(hashes: NDArray[np.uint64], bits: int) -> NDArray[np.uint8]:
    """Return hashes of `bits` bits, made from hashes of 64 bits.

    :return: shape (len(hashes), bits / 8), the most significant byte first.
    """
    words = -(-bits // _WORD_BITS)
    wide = mix(hashes, *range(_WIDEN_SEED, _WIDEN_SEED + words)).reshape(words, -1)
    rows: NDArray[np.uint8] = wide.T.astype(">u8", order="C").view(np.uint8)
    return rows[:, : bits // 8]


def token_hashes(tokens: Sequence[str]) -> NDArray[np.uint64]:
    """Return the XXH3-64 of each token, in order; shape (len(tokens),)."""
    digests = b"".join(map(xxh3_64_digest, _encoded(tokens)))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def shingle_hashes(hashes: NDArray[np.uint64], length: int) -> NDArray[np.uint64]:
    """Return one hash for each run of `length` consecutive tokens; fewer tokens are a single run.

    :param hashes: from `token_hashes`.
    :return: shape (max(len(hashes) - length + 1, 1),), or (0,) for no tokens.
    """
    if not len(hashes):
        return hashes
    length = min(length, len(hashes))
    count = len(hashes) - length + 1
    return _mix_columns([hashes[start : start + count] for start in range(length)])


def shingle_hashes_of_texts(
    texts: Sequence[NDArray[np.uint64]], length: int
) -> list[NDArray[np.uint64]]:
    """Return the `shingle_hashes` of several texts, in less time than one by one.

    :param texts: the `token_hashes` of each text, at least one.
    """
    if min(map(len, texts)) < length:
        return [shingle_hashes(hashes, length) for hashes in texts]
    # Runs across the end of a text are left out.
    runs = shingle_hashes(np.concatenate(texts), length)
    ends = np.cumsum([len(hashes) for hashes in texts]).tolist()
    return [
        runs[end - len(hashes) : end - length + 1] for hashes, end in zip(texts, ends, strict=True)
    ]


def _mix_columns(columns: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return a hash for each shingle, from the hashes of its first tokens, second tokens, …"""
    mixed = mix(columns[0], len(columns))
    for column in columns[1:]:
        mixed = mix(mixed + column, len(columns))
    return mixed


def mix(hashes: NDArray[np.uint64], *seeds: int) -> NDArray[np.uint64]:
    """Return new hashes, independent for each seed.

    A new hash is output number `seed`, counted from 1, of SplitMix64 (Steele, Lea and Flood, "Fast
    Splittable Pseudorandom Number Generators", OOPSLA 2014) with the old hash as its initial state.

    :param hashes: shape (n,).
    :return: shape (n,) for one seed, else (len(seeds), n).
    """
    steps, first_shift, first_factor, second_shift, second_factor, last_shift = _mixing_constants(
        seeds
    )
    mixed: NDArray[np.uint64] = hashes + steps
    shifted = mixed >> first_shift
    mixed ^= shifted
    mixed *= first_factor
    np.right_shift(mixed, second_shift, out=shifted)
    mixed ^= shifted
    mixed *= second_factor
    np.right_shift(mixed, last_shift, out=shifted)
    mixed ^= shifted
    return mixed


@lru_cache
def _mixing_constants(seeds: tuple[int, ...]) -> tuple[NDArray[np.uint64], ...]:
    """Return the steps and constants of `mix` as arrays.

    They are cached, because numpy would otherwise spend most of its time on converting numbers.
    """
    steps = [seed * 0x9E3779B97F4A7C15 & 0xFFFF_FFFF_FFFF_FFFF for seed in seeds]
    # A row for each seed: numpy's loops run along the last axis, which should be the long one.
    column = np.array(steps, np.uint64).reshape(-1, 1)
    numbers = [30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31]
    return (
        column if len(seeds) > 1 else column.reshape(()),
        *(np.array(number, np.uint64) for number in numbers),
    )


def _md5(features: Sequence[str], bits: int) -> bytes:
    """Return the low bits of the MD5 of features, as the PyPI package simhash does."""
    digests = [hashlib.md5(data, usedforsecurity=False).digest() for data in _encoded(features)]
    return b"".join([digest[-(bits // 8) :] for digest in digests])


def _one_by_one(
    hash_feature: Callable[[str, int], int], features: Sequence[str], bits: int
) -> bytes:
    """Return the hashes of features by a function from (feature, bits) to a number."""
    return b"".join(
        [hash_feature(feature, bits).to_bytes(bits // 8, "big") for feature in features]
    )


def _bkdr(feature: str, bits: int) -> int:
    """Return BKDR with seed 31 over UTF-16 units, as linyiqun's Java computes it.

    The Java divides the absolute value of a long as a double, which rounds away low bits beyond
    2**53, and cuts the remainder to an int. It reads bits by halving, so a negative int gives 0.
    """
    value = 0
    for unit in _utf16_units(feature):
        value = value * 31 + unit & 0xFFFF_FFFF_FFFF_FFFF
    value = min(value, (1 << 64) - value)
    value = int(math.fmod(value, 1 << bits)) & 0xFFFF_FFFF
    return value if value < 1 << 31 else 0


def _string_hash(feature: str, bits: int) -> int:
    """Return the low bits of Python 2's hash of strings."""
    return _multiplied(list(map(ord, feature)), bits)


def _string_hash_java(feature: str, bits: int) -> int:
    """Return the `_string_hash` of the chars of a Java string, its bits in reverse order."""
    return int(f"{_multiplied(_utf16_units(feature), bits):0{bits}b}"[::-1], 2)


def _utf16_units(text: str) -> Sequence[int]:
    """Return the UTF-16 code units of a text: the chars of a Java string."""
    data = text.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(data) // 2}H", data)


def _multiplied(characters: Sequence[int], bits: int) -> int:
    mask = (1 << bits) - 1
    value = characters[0] << 7 if characters else 0
    for character in characters:
        value = (value * 1000003 ^ character) & mask
    return (value ^ len(characters)) & mask


def _mt19937(feature: str, _bits: int) -> int:
    """Return output number c, from 0, of MT19937 with seed 19260817, for the ASCII character c."""
    if len(feature) != 1 or not feature.isascii():
        raise UnsupportedText(
            f"the feature hash mt19937 takes single ASCII characters, not {feature!r}: choose "
            "another preset for this text"
        )
    return _mt19937_outputs()[ord(feature)]


@lru_cache(maxsize=1)
def _mt19937_outputs() -> list[int]:
    data = np.random.RandomState(19260817).bytes(4 * 128)
    outputs: list[int] = np.frombuffer(data, dtype="<u4").tolist()
    return outputs


FEATURE_HASHES: Mapping[str, FeatureHash] = {
    "xxh3": FeatureHash(_xxh3, range(8, 513, 8)),
    "xxh3-mix": FeatureHash(_xxh3_mix, range(8, 513, 8)),
    "md5": FeatureHash(_md5, range(8, 129, 8)),
    "bkdr": FeatureHash(partial(_one_by_one, _bkdr), range(8, 65, 8)),
    "string-hash": FeatureHash(partial(_one_by_one, _string_hash), range(8, 129, 8)),
    "string-hash-java": FeatureHash(partial(_one_by_one, _string_hash_java), range(8, 129, 8)),
    "mt19937": FeatureHash(partial(_one_by_one, _mt19937), range(32, 33, 8)),
}
