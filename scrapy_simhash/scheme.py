"""`Scheme`, which makes fingerprints from texts, and `PRESETS`: named schemes with a distance k.

``wide`` is the default, and ``classic`` follows the literature. The other presets follow published
programs and descriptions, so that users can reproduce existing fingerprints and migrate.
``docs/presets.md`` says what each preset does, and how it differs from its source.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.errors import EmptyText, SchemeError
from scrapy_simhash.extraction import EXTRACTORS, is_extractor
from scrapy_simhash.extraction.selectors import Selectors, compiled_selector
from scrapy_simhash.features import (
    IDF_WEIGHTINGS,
    WEIGHTINGS,
    Weighting,
    idf_table,
    weighted_features,
    weighted_occurrences,
)
from scrapy_simhash.fingerprint import Fingerprint, simhash, simhashes_of_hashes
from scrapy_simhash.hashes import (
    FEATURE_HASHES,
    JOINER,
    FeatureHashName,
    shingle_hashes_of_texts,
    token_hashes,
)
from scrapy_simhash.lazy import np
from scrapy_simhash.tokens.folding import normalize, plain
from scrapy_simhash.tokens.parts import PARTS, TITLE_PART, select_parts
from scrapy_simhash.tokens.tokenization import TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

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
class Scheme:
    """A recipe that turns a page into a fingerprint.

    Two schemes with equal `id` make equal fingerprints from equal tokens, on every machine, in
    every process and with every version of Python.

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

    @property
    def selectors(self) -> Selectors:
        """Return `select` and `remove`, for extraction."""
        return Selectors(self.select, self.remove)

    @classmethod
    def preset(cls, name: str) -> Scheme:
        """Return the scheme of a preset. :raises SchemeError: no preset has that name."""
        return preset(name).scheme

    def tokens(self, text: str, title: str = "") -> list[str]:
        """Return the tokens of a text, or of the parts that the scheme selects, in order."""
        return TOKENIZERS[self.tokenizer].tokens(select_parts(text, self.parts, title))

    def features(self, tokens: Sequence[str]) -> dict[str, float]:
        """Return feature → weight. :raises SchemeError: the IDF table cannot be read."""
        return weighted_features(
            tokens,
            shingle_length=self.shingle_length,
            pairs=self.pairs,
            weighting=self.weighting,
            joiner=TOKENIZERS[self.tokenizer].joiner,
            stop_words=frozenset(self.stop_words),
            idf=idf_table(self.idf) if self.idf else None,
            top=self.top,
        )

    def fingerprint(self, text: str, title: str = "") -> int:
        """Return the fingerprint of a plain text, ``0 <= fp < 2**bits``.

        :raises EmptyText: the text has no features, and `empty` is ``error``.
        :raises SchemeError: the IDF table cannot be read.
        :raises UnsupportedText: the hash does not support the text.
        """
        return self.fingerprint_tokens(self.tokens(text, title))

    def fingerprint_tokens(self, tokens: Sequence[str]) -> int:
        """Return the fingerprint of tokens. Raise as `fingerprint` does."""
        return self.certain_fingerprint(tokens).value

    def certain_fingerprint(
        self, tokens: Sequence[str], hashes: NDArray[np.uint64] | None = None
    ) -> Fingerprint:
        """Return the fingerprint of tokens with its certainty. Raise as `fingerprint` does.

        :param hashes: the `token_hashes` of the tokens, if the caller has them.
        """
        if self._adds_occurrences:
            return self._fingerprint_of(weighted_occurrences(tokens))
        if not self.uses_token_hashes or not tokens:
            return self._fingerprint_of(self.features(tokens).items())
        return self.fingerprints_of_hashes([token_hashes(tokens) if hashes is None else hashes])[0]

    def fingerprints_of_hashes(self, texts: Sequence[NDArray[np.uint64]]) -> list[Fingerprint]:
        """Return the `certain_fingerprint` of several texts, in less time than one by one.

        :param texts: the `token_hashes` of each text, at least one; the scheme `uses_token_hashes`.
        """
        features = shingle_hashes_of_texts(texts, self.shingle_length)
        if self.pairs:
            pairs = shingle_hashes_of_texts(texts, 2)
            features = [np.concatenate(both) for both in zip(features, pairs, strict=True)]
        return simhashes_of_hashes(list(map(_distinct, features)), self.bits, tie=self.tie)

    @property
    def uses_token_hashes(self) -> bool:
        """Return True if `simhashes_of_hashes` makes the same fingerprint in less time."""
        return (
            self.feature_hash == "xxh3-mix"
            and self.weighting == "uniform"
            and not self.stop_words
            and not self.top
            and TOKENIZERS[self.tokenizer].joiner == JOINER
        )

    @property
    def _adds_occurrences(self) -> bool:
        """Return True if the sums add each occurrence of a word, as linyiqun's Java does."""
        return (
            self.sums == "in-order"
            and self.weighting == "tf-squared"
            and self.shingle_length == 1
            and not (self.pairs or self.stop_words or self.top)
        )

    def certain_record(self, record: Mapping[str, str]) -> Fingerprint:
        """Return the fingerprint of a record (field → text) with its certainty. Weights are
        multiplied by `field_weights`.

        :raises SchemeError: the scheme has no `field_weights`. Other errors: see `fingerprint`.
        """
        if not self.field_weights:
            raise SchemeError("a scheme needs field_weights to fingerprint a record")
        total: dict[str, float] = {}
        for name, field_weight in self.field_weights:
            text = record.get(name)
            if not text:
                continue
            for feature, weight in self.features(self.tokens(text)).items():
                total[feature] = total.get(feature, 0.0) + field_weight * weight
        return self._fingerprint_of(total.items())

    def _fingerprint_of(self, features: Iterable[tuple[str, float]]) -> Fingerprint:
        try:
            return simhash(
                features, self.bits, feature_hash=self.feature_hash, tie=self.tie, sums=self.sums
            )
        except EmptyText:
            if self.empty == "error":
                raise
            value = (1 << self.bits) - 1 if self.tie == "one" else 0
            return Fingerprint(value, bytes(self.bits))

    def check_fingerprint(self, fingerprint: int) -> int:
        """Return the fingerprint itself. :raises SchemeError: it is not an int of this width."""
        if not isinstance(fingerprint, int) or not 0 <= fingerprint < 1 << self.bits:
            raise SchemeError(f"{fingerprint!r} is not a fingerprint of {self.bits} bits")
        return fingerprint


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


# The stop words of jieba's `extract_tags`.
_JIEBA_STOP_WORDS = tuple(
    "the of is and to in that we for an are by be as on with can if from which you it this then "
    "at have all not one has or that".split()
)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A scheme with a distance k.

    :param max_distance: k, inclusive.
    :param source: the publication or program that the scheme follows, or why it was chosen.
    :param confirmation: the conditions for a page within k bits to be a copy; by default none.
    :param has_tables: tables find the pairs within k bits, so the preset can drive a crawl. If
        False, only a linear scan finds them, as in the index ``memory:``.
    """

    scheme: Scheme
    max_distance: int
    source: str
    confirmation: Confirmation = UNCONFIRMED
    has_tables: bool = True


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "wide": Preset(
            scheme=Scheme(pairs=True, weighting="uniform", feature_hash="xxh3-mix"),
            max_distance=52,
            confirmation=Confirmation(),
            source="Measured on real pages: see docs/decisions/default.md.",
        ),
        "classic": Preset(
            scheme=Scheme(bits=64),
            max_distance=3,
            source="Manku, Jain and Das Sarma, Detecting Near-Duplicates for Web Crawling, 2007.",
        ),
        "lyq": Preset(
            scheme=Scheme(
                bits=32,
                tokenizer="tagged",
                weighting="tf-squared",
                feature_hash="bkdr",
                sums="in-order",
            ),
            # As in the source: more than half of the 32 bits are equal.
            max_distance=15,
            has_tables=False,
            source="linyiqun's lyq-algorithms-lib, folder Simhash (Java).",
        ),
        "levels": Preset(
            scheme=Scheme(bits=64, stop_words=_JIEBA_STOP_WORDS, weighting="levels", idf="jieba"),
            max_distance=3,
            source="Chinese articles about SimHash with word weights in five levels.",
        ),
        "string-hash-64": Preset(
            scheme=Scheme(bits=64, weighting="tf", feature_hash="string-hash-java", tie="one"),
            max_distance=3,
            source="A Java program with IKAnalyzer and the string hash of Python 2.",
        ),
        "ascii-mt19937": Preset(
            scheme=Scheme(
                bits=32,
                tokenizer="raw-characters",
                weighting="tf",
                feature_hash="mt19937",
                tie="one",
                empty="ties",
            ),
            max_distance=2,
            source="A C++ program with ASCII characters as features, hashed by std::mt19937.",
        ),
        "jieba-tfidf": Preset(
            scheme=Scheme(
                bits=64,
                tokenizer="jieba-keywords",
                stop_words=_JIEBA_STOP_WORDS,
                weighting="tf-idf",
                idf="jieba",
                top=50,
                feature_hash="string-hash",
                sums="in-order",
            ),
            max_distance=3,
            source="A Python program with the 50 keywords of jieba's extract_tags.",
        ),
        "leonsim": Preset(
            scheme=Scheme(
                bits=64,
                tokenizer="simhash-package",
                shingle_length=4,
                weighting="tf",
                feature_hash="md5",
            ),
            max_distance=3,
            source="The PyPI package simhash with its defaults: Simhash(text).value.",
        ),
    }
)
DEFAULT_PRESET = "wide"


def preset(name: object) -> Preset:
    """Return a preset by its name. :raises SchemeError: no preset has that name."""
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name]
    raise SchemeError(f"there is no preset {name!r}{suggestion(name, PRESETS)}")


def suggestion(given: object, names: Collection[str]) -> str:
    """Return the end of a message about an unknown name: the most similar one, else all names."""
    closest = get_close_matches(str(given), names, n=1)
    return f": did you mean {closest[0]!r}?" if closest else f"; there are {', '.join(names)}"


def preset_with(scheme: Scheme) -> Preset | None:
    """Return the preset with a scheme, but for extractor and selectors; None if there is none."""
    for known in PRESETS.values():
        extractor = known.scheme.extractor
        if known.scheme == replace(scheme, extractor=extractor, select=(), remove=()):
            return known
    return None


def _distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the distinct hashes, and sort `hashes` in place: faster than numpy's `unique`."""
    hashes.sort()
    is_first = np.empty(len(hashes), dtype=bool)
    is_first[:1] = True
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
    return hashes[is_first]
