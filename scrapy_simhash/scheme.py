"""Scheme: all that determines a fingerprint, with a stable name; presets as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import EmptyText, SchemeError
from scrapy_simhash.extraction import EXTRACTORS
from scrapy_simhash.features import WEIGHTINGS, Weighting, weighted_features
from scrapy_simhash.fingerprint import FEATURE_HASHES, FeatureHash, TieRule, simhash
from scrapy_simhash.tokenization import TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MIN_BITS = 8
MAX_BITS = 512
MAX_SHINGLE_LENGTH = 16


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """How a page becomes a fingerprint.

    Two schemes with equal `id` give equal fingerprints from equal tokens, on every machine, in
    every process and Python version.

    :param bits: width of the fingerprint, a multiple of 8 from 8 to 512.
    :param extractor: how a page becomes text, see `scrapy_simhash.extraction`.
    :param tokenizer: how text becomes tokens, see `scrapy_simhash.tokenization`.
    :param shingle_length: consecutive tokens in one feature, 1 to 16.
    :param weighting: weight of a feature by its count: uniform, tf, log-tf (1 + log tf).
    :param feature_hash: hash of a feature.
    :param tie: the bit where the weighted sum is exactly zero.
    :param version: counts changes of the algorithm under the same names.
    :raises SchemeError: a value is outside its range.
    """

    bits: int = 256
    extractor: str = "readability"
    tokenizer: str = "jieba"
    shingle_length: int = 1
    weighting: Weighting = "log-tf"
    feature_hash: FeatureHash = "xxh3"
    tie: TieRule = "zero"
    version: int = 1

    def __post_init__(self) -> None:
        if not _is_whole(self.bits, MIN_BITS, MAX_BITS) or self.bits % 8:
            raise SchemeError(f"bits={self.bits!r}: a multiple of 8 from {MIN_BITS} to {MAX_BITS}")
        if not _is_whole(self.shingle_length, 1, MAX_SHINGLE_LENGTH):
            raise SchemeError(
                f"shingle_length={self.shingle_length!r}: from 1 to {MAX_SHINGLE_LENGTH}"
            )
        if not _is_whole(self.version, 1, 1):
            raise SchemeError(f"version={self.version!r}: this release knows version 1")
        for name, known in (
            ("extractor", EXTRACTORS),
            ("tokenizer", TOKENIZERS),
            ("weighting", WEIGHTINGS),
            ("feature_hash", FEATURE_HASHES),
            ("tie", ("zero", "one")),
        ):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise SchemeError(f"{name}={value!r}: one of {', '.join(known)}")

    @property
    def id(self) -> str:
        """Stable printable name, equal for equal schemes."""
        return (
            f"simhash{self.bits}:{self.extractor}:{self.tokenizer}:{self.shingle_length}-gram"
            f":{self.weighting}:{self.feature_hash}:tie-{self.tie}:v{self.version}"
        )

    @classmethod
    def preset(cls, name: str) -> Scheme:
        """The scheme of a named preset. :raises SchemeError: there is none of that name."""
        return preset(name).scheme

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scheme:
        """The scheme that `to_dict` wrote. :raises SchemeError: unknown or impossible values."""
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown:
            raise SchemeError(f"unknown scheme parameters: {', '.join(sorted(unknown))}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain values, for JSON."""
        return asdict(self)

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, in order."""
        return TOKENIZERS[self.tokenizer](text)

    def fingerprint(self, text: str) -> int:
        """Fingerprint of a plain text, ``0 <= fp < 2**bits``. :raises EmptyText: no token."""
        return self.fingerprint_tokens(self.tokens(text))

    def fingerprint_tokens(self, tokens: Sequence[str]) -> int:
        """The same from ready tokens. :raises EmptyText: there are none."""
        if not tokens:
            raise EmptyText("no token is left to fingerprint")
        return self.fingerprint_features(
            weighted_features(tokens, shingle_length=self.shingle_length, weighting=self.weighting)
        )

    def fingerprint_features(self, features: Mapping[str, float]) -> int:
        """The same from ready features and their weights (finite, ≥ 0)."""
        return simhash(features, self.bits, feature_hash=self.feature_hash, tie=self.tie)

    def check_fingerprint(self, fingerprint: int) -> int:
        """The fingerprint itself. :raises SchemeError: not an int of this width."""
        if not isinstance(fingerprint, int) or not 0 <= fingerprint < 1 << self.bits:
            raise SchemeError(f"{fingerprint!r} is not a fingerprint of {self.bits} bits")
        return fingerprint


def _is_whole(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


@dataclass(frozen=True)
class Preset:
    """A scheme with the distance that goes with it, and where it comes from."""

    scheme: Scheme
    max_distance: int
    source: str


PRESETS: Mapping[str, Preset] = {
    "wide": Preset(
        Scheme(bits=256),
        max_distance=28,
        source="256 bits, measured on real pages; the default",
    ),
    "classic": Preset(
        Scheme(bits=64),
        max_distance=3,
        source="64 bits and k = 3 as in Manku, Jain and Das Sarma (WWW 2007), section 2.1",
    ),
}
DEFAULT_PRESET = "wide"


def preset(name: str) -> Preset:
    """The preset of that name. :raises SchemeError: there is none."""
    try:
        return PRESETS[name]
    except (KeyError, TypeError):
        raise SchemeError(f"no preset {name!r}; there are {', '.join(PRESETS)}") from None
