"""The parameters of a scheme: everything that decides a fingerprint, validated, with an ID."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.extraction import EXTRACTORS, is_extractor
from scrapy_simhash.extraction.selectors import compiled_selector
from scrapy_simhash.features import IDF_WEIGHTINGS, WEIGHTINGS, Weighting, idf_table
from scrapy_simhash.hashes import FEATURE_HASHES, FeatureHashName
from scrapy_simhash.tokens.folding import normalize, plain
from scrapy_simhash.tokens.parts import PARTS, TITLE_PART
from scrapy_simhash.tokens.tokenization import TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from scrapy_simhash.fingerprint import Sums, TieRule

MIN_BITS = 8
MAX_BITS = 512
_PAIR_LENGTH = 2
# Since version 2, numbers, URLs and e-mail addresses are one token each; since version 3, symbols
# and marks are in tokens, and letters that are written for each other are one.
_VERSION = 3
_ALLOWED: Mapping[str, Collection[str]] = {
    "tokenizer": TOKENIZERS,
    "weighting": WEIGHTINGS,
    "feature_hash": FEATURE_HASHES,
    "sums": ("exact", "in-order"),
    "tie": ("zero", "one"),
    "empty": ("error", "ties"),
}
_RANGES = {
    "bits": range(MIN_BITS, MAX_BITS + 1),
    "shingle_length": range(1, 17),
    "top": range(1_000_001),
    "version": range(1, _VERSION + 1),
}


@dataclass(frozen=True, kw_only=True)
class SchemeParameters:
    """The parameters of a `Scheme`.

    :param bits: width of the fingerprint, a multiple of 8 from 8 to 512 that the hash supports.
    :param extractor: how a page becomes text: a name in `scrapy_simhash.extraction.EXTRACTORS`,
        or the import path of a function from HTML to text.
    :param select: selectors of the content, see `scrapy_simhash.extraction.Selectors`.
    :param remove: selectors of elements that are not content.
    :param parts: the parts of the text to fingerprint, see `scrapy_simhash.tokens.parts`; () for
        the text.
    :param tokenizer: how text becomes tokens, see `scrapy_simhash.tokens.tokenization.TOKENIZERS`.
    :param stop_words: tokens to leave out, in upper or lower case.
    :param shingle_length: number of consecutive tokens in one feature, 1 to 16.
    :param pairs: add pairs of neighbouring tokens to the features; not with shingles of 2 tokens.
    :param weighting: weight of a feature by its count: uniform, tf, log-tf (1 + log tf),
        tf-squared, tf-idf, levels (1 to 5 by the share of the largest TF-IDF).
    :param idf: only for tf-idf and levels: ``jieba`` for jieba's table, or the path of a table.
    :param top: how many of the heaviest features to keep; 0 for all.
    :param field_weights: only for records (items): pairs of a field and its factor for weights.
    :param feature_hash: hash of a feature, see `scrapy_simhash.hashes`.
    :param sums: ``exact``, or ``in-order`` to add floats in the order of the features, as some
        programs do.
    :param tie: the bit for a weighted sum of exactly zero.
    :param empty: without features, ``error`` raises EmptyText, and ``ties`` sets all bits to `tie`.
    :param version: grows when the algorithm changes.
    :raises SchemeError: a value is not valid. IDF tables and extractors are loaded on first use.
    """

    bits: int = 256
    extractor: str = "readability"
    select: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    tokenizer: str = "jieba"
    stop_words: tuple[str, ...] = ()
    shingle_length: int = 1
    pairs: bool = False
    weighting: Weighting = "log-tf"
    idf: str = ""
    top: int = 0
    field_weights: tuple[tuple[str, float], ...] = ()
    feature_hash: FeatureHashName = "xxh3"
    sums: Sums = "exact"
    tie: TieRule = "zero"
    empty: Literal["error", "ties"] = "error"
    version: int = _VERSION

    def __post_init__(self) -> None:
        for name in ("select", "remove", "parts"):
            object.__setattr__(self, name, _texts(name, getattr(self, name)))
        words = _texts("stop_words", self.stop_words)
        forms = {*map(normalize, words), *map(plain, words)}  # some tokenizers keep diacritics
        object.__setattr__(self, "stop_words", tuple(sorted(forms)))
        object.__setattr__(self, "field_weights", _field_weights(self.field_weights))
        for name, allowed in _ALLOWED.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                raise SchemeError(f"{name}={value!r}: one of {', '.join(allowed)}")
        for name, numbers in _RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or value not in numbers:
                raise SchemeError(
                    f"{name}={value!r}: a whole number from {numbers[0]} to {numbers[-1]}"
                )
        widths = FEATURE_HASHES[self.feature_hash].widths
        has_idf = self.weighting in IDF_WEIGHTINGS
        rules = {
            f"bits={self.bits!r}: the hash {self.feature_hash} gives multiples of 8 from "
            f"{widths[0]} to {widths[-1]}": self.bits in widths,
            f"pairs={self.pairs!r}: True or False, and False for shingles of two tokens": (
                isinstance(self.pairs, bool)
                and not (self.pairs and self.shingle_length == _PAIR_LENGTH)
            ),
            f"extractor={self.extractor!r}: one of {', '.join(EXTRACTORS)}, or the import path of "
            "a function from HTML to text": (
                isinstance(self.extractor, str) and is_extractor(self.extractor)
            ),
            **{
                f"parts: {part!r} is none of {TITLE_PART}, {', '.join(PARTS)}": (
                    part == TITLE_PART or part in PARTS
                )
                for part in self.parts
            },
            f"idf={self.idf!r}: a table is needed with the weightings "
            f"{' and '.join(IDF_WEIGHTINGS)}, and with no other": (
                isinstance(self.idf, str) and has_idf == bool(self.idf)
            ),
        }
        for message, is_kept in rules.items():
            if not is_kept:
                raise SchemeError(message)
        for selector in (*self.select, *self.remove):
            compiled_selector(selector)

    @property
    def id(self) -> str:
        """Return a name, equal for equal schemes. :raises SchemeError: see `IdfTable`."""
        length = f"{self.shingle_length}+2" if self.pairs else str(self.shingle_length)
        name = (
            f"simhash{self.bits}:{self.extractor}:{self.tokenizer}:{length}-gram"
            f":{self.weighting}:{self.feature_hash}:tie-{self.tie}:v{self.version}"
        )
        others = {
            "idf": self.idf and idf_table(self.idf).digest,
            "top": self.top,
            "sums": self.sums != "exact" and self.sums,
            "empty": self.empty != "error" and self.empty,
            **{
                label.replace("_", "-"): value and _digest(value)
                for label in ("select", "remove", "parts", "stop_words", "field_weights")
                for value in [getattr(self, label)]
            },
        }
        return name + "".join(f":{label}-{value}" for label, value in others.items() if value)


def _digest(value: object) -> str:
    return hashlib.blake2b(ascii(value).encode(), digest_size=8).hexdigest()


def _texts(name: str, value: object) -> tuple[str, ...]:
    """Return a list or tuple of non-empty texts as a tuple, because JSON has no tuples."""
    if not isinstance(value, (tuple, list)) or not all(isinstance(v, str) and v for v in value):
        raise SchemeError(f"{name}={value!r}: a list of non-empty texts is needed")
    return tuple(value)


def _field_weights(value: Any) -> tuple[tuple[str, float], ...]:
    try:
        are_lists = all(isinstance(one, (tuple, list)) for one in (value, *value))
        pairs = tuple((name, float(weight)) for name, weight in value)
        names = {name for name, _ in pairs if isinstance(name, str) and name}
        is_in_range = all(0 <= weight < math.inf for _, weight in pairs)
        is_valid = are_lists and is_in_range and len(names) == len(pairs)
    except (TypeError, ValueError, OverflowError):
        is_valid = False
    if not is_valid:
        raise SchemeError(
            f"field_weights={value!r}: pairs of a field and its weight are needed; each field has "
            "one weight, which is finite and not negative"
        )
    return pairs
