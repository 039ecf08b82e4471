"""Hashes of features: the default, and those that the presets' authors chose.

Each takes features and a width and gives their hashes as bytes, one after the other, most
significant bit first. None depends on the process, its hash seed or the machine.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Literal, NamedTuple

from scrapy_simhash.errors import UnsupportedText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

FeatureHashName = Literal[
    "xxh3", "xxh3-mix", "md5", "bkdr", "string-hash", "string-hash-java", "mt19937"
]

# Joins the tokens of a feature. It cannot occur inside a token of our tokenizers, so that ("a b",)
# and ("a", "b") differ.
JOINER = "\x1f"
_XXH3_BITS = 128
_WORD_BITS = 64
# Beyond the lengths of shingles, which are seeds of `mix`, too.
_WIDEN_SEED = 256
_INT_BITS = 32
_LONG_BITS = 64


class FeatureHash(NamedTuple):
    """A hash function of features.

    :param digests: (features, bits) → their hashes, bits / 8 bytes each.
    :param widths: the numbers of bits that it can give.
    """

    digests: Callable[[Sequence[str], int], bytes]
    widths: range


def _xxh3(features: Sequence[str], bits: int) -> bytes:
    """xxh3_128 with seeds 0, 1, … as far as the bits need them."""
    import numpy as np
    import xxhash

    digest = xxhash.xxh3_128_digest
    encoded = _encoded(features)
    seeds = -(-bits // _XXH3_BITS)
    parts = [b""] * (seeds * len(encoded))
    for seed in range(seeds):
        parts[seed::seeds] = map(digest, encoded, repeat(seed))
    digests = b"".join(parts)
    if bits % _XXH3_BITS == 0 or not digests:
        return digests
    rows = np.frombuffer(digests, dtype=np.uint8).reshape(len(encoded), -1)
    return rows[:, : bits // 8].tobytes()


def _encoded(features: Sequence[str]) -> list[bytes]:
    try:
        return list(map(str.encode, features))
    except UnicodeEncodeError:  # lone surrogates, from a broken page
        return [feature.encode("utf-8", "surrogatepass") for feature in features]


def _xxh3_mix(features: Sequence[str], bits: int) -> bytes:
    """Hash each token of a feature once, and mix: equal to `widen` of their shingles."""
    import numpy as np

    mixed = np.empty(len(features), dtype=np.uint64)
    lengths = np.array([feature.count(JOINER) + 1 for feature in features])
    for length in set(lengths.tolist()):
        chosen = np.flatnonzero(lengths == length)
        tokens = [token for number in chosen.tolist() for token in features[number].split(JOINER)]
        mixed[chosen] = _mix_columns(list(token_hashes(tokens).reshape(-1, length).T))
    return widen(mixed, bits).tobytes()


def widen(hashes: NDArray[np.uint64], bits: int) -> NDArray[np.uint8]:
    """Make hashes of so many bits from hashes of 64.

    :return: shape (len(hashes), bits / 8), the most significant byte first.
    """
    import numpy as np

    words = -(-bits // _WORD_BITS)
    wide = mix(hashes, *range(_WIDEN_SEED, _WIDEN_SEED + words)).reshape(words, -1)
    return wide.T.astype(">u8", order="C").view(np.uint8)[:, : bits // 8]


def token_hashes(tokens: Sequence[str]) -> NDArray[np.uint64]:
    """Return the XXH3-64 of each token, in order; shape (len(tokens),)."""
    import numpy as np
    import xxhash

    digests = b"".join(map(xxhash.xxh3_64_digest, _encoded(tokens)))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def shingle_hashes(hashes: NDArray[np.uint64], length: int) -> NDArray[np.uint64]:
    """Mix the hashes of each run of `length` consecutive tokens to one.

    :param hashes: from `token_hashes`.
    :return: shape (len(hashes) - length + 1,); a shorter text is one shingle of all it has.
    """
    if not len(hashes):
        return hashes
    length = min(length, len(hashes))
    count = len(hashes) - length + 1
    return _mix_columns([hashes[start : start + count] for start in range(length)])


def _mix_columns(columns: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Mix the hashes of first tokens, of second ones, and so on, to one for each shingle."""
    mixed = mix(columns[0], len(columns))
    for column in columns[1:]:
        mixed = mix(mixed + column, len(columns))
    return mixed


def mix(hashes: NDArray[np.uint64], *seeds: int) -> NDArray[np.uint64]:
    """Return other hashes of the same things, independent for each seed.

    The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
    Generators", OOPSLA 2014) at the seed's place in its sequence.

    :param hashes: shape (n,).
    :return: shape (n,) for one seed, else (len(seeds), n).
    """
    import numpy as np

    steps, first_shift, first_factor, second_shift, second_factor, last_shift = _mixing(seeds)
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
def _mixing(seeds: tuple[int, ...]) -> tuple[NDArray[np.uint64], ...]:
    """Return the steps and constants of the finalizer as arrays.

    A page has few hashes: numpy would spend more time on converting Python's numbers.
    """
    import numpy as np

    steps = [seed * 0x9E3779B97F4A7C15 & 0xFFFF_FFFF_FFFF_FFFF for seed in seeds]
    # A row for each seed: numpy's loops run along the last axis, which should be the long one.
    column = np.array(steps, np.uint64).reshape(-1, 1)
    numbers = [30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31]
    return (
        column if len(seeds) > 1 else column.reshape(()),
        *(np.array(number, np.uint64) for number in numbers),
    )


def _md5(features: Sequence[str], bits: int) -> bytes:
    """Return the last bits of MD5, as the PyPI package simhash does."""
    width = bits // 8
    return b"".join(
        [
            hashlib.md5(feature, usedforsecurity=False).digest()[-width:]
            for feature in _encoded(features)
        ]
    )


def _bkdr(features: Sequence[str], bits: int) -> bytes:
    """BKDR with seed 31 over UTF-16 units, as linyiqun's Java has it.

    The absolute value of a long is divided as a double, so that beyond 2**53 its low bits are
    rounded away. The remainder is cut to an int; a negative one has no bit set, for the bits are
    read off by halving.
    """
    hashes = []
    for feature in features:
        value = 0
        for unit in _utf16_units(feature):
            value = value * 31 + unit & 0xFFFF_FFFF_FFFF_FFFF
        value = min(value, (1 << _LONG_BITS) - value)
        value = int(math.fmod(value, 1 << bits)) & ((1 << _INT_BITS) - 1)
        hashes.append((value if value < 1 << _INT_BITS - 1 else 0).to_bytes(bits // 8, "big"))
    return b"".join(hashes)


def _utf16_units(text: str) -> Sequence[int]:
    """Return the chars of a Java string."""
    data = text.encode("utf-16-be", "surrogatepass")
    return [data[i] << 8 | data[i + 1] for i in range(0, len(data), 2)]


def _string_hash(features: Sequence[str], bits: int) -> bytes:
    """Return the low bits of Python 2's multiplicative hash of strings (1000003)."""
    return b"".join(
        [
            _multiplied(list(map(ord, feature)), bits).to_bytes(bits // 8, "big")
            for feature in features
        ]
    )


def _string_hash_java(features: Sequence[str], bits: int) -> bytes:
    """Return the same hash over the chars of a Java string, the least significant bit first."""
    return b"".join(
        [
            int(f"{_multiplied(_utf16_units(feature), bits):0{bits}b}"[::-1], 2).to_bytes(
                bits // 8, "big"
            )
            for feature in features
        ]
    )


def _multiplied(characters: Sequence[int], bits: int) -> int:
    mask = (1 << bits) - 1
    value = characters[0] << 7 if characters else 0
    for character in characters:
        value = (value * 1000003 ^ character) & mask
    return (value ^ len(characters)) & mask


@lru_cache(maxsize=1)
def _mt19937_outputs() -> tuple[bytes, ...]:
    import numpy as np

    outputs = np.frombuffer(np.random.RandomState(19260817).bytes(4 * 128), dtype="<u4")
    return tuple(int(output).to_bytes(4, "big") for output in outputs)


def _mt19937(features: Sequence[str], _bits: int) -> bytes:
    """Return the c-th output of MT19937, seeded with 19260817, for the ASCII character c."""
    outputs = _mt19937_outputs()
    for feature in features:
        if len(feature) != 1 or not feature.isascii():
            raise UnsupportedText(
                f"the feature hash mt19937 takes single ASCII characters, not {feature!r}: choose "
                "another preset for this text"
            )
    return b"".join([outputs[ord(feature)] for feature in features])


FEATURE_HASHES: Mapping[str, FeatureHash] = {
    "xxh3": FeatureHash(_xxh3, range(8, 513, 8)),
    "xxh3-mix": FeatureHash(_xxh3_mix, range(8, 513, 8)),
    "md5": FeatureHash(_md5, range(8, 129, 8)),
    "bkdr": FeatureHash(_bkdr, range(8, 65, 8)),
    "string-hash": FeatureHash(_string_hash, range(8, 129, 8)),
    "string-hash-java": FeatureHash(_string_hash_java, range(8, 129, 8)),
    "mt19937": FeatureHash(_mt19937, range(32, 33, 8)),
}
