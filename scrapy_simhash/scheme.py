"""`Scheme`, which makes fingerprints from texts, and `PRESETS`: named schemes with a distance k.

``wide`` is the default, and ``classic`` follows the literature. The other presets follow published
programs and descriptions, so that users can reproduce existing fingerprints and migrate.
``docs/presets.md`` says what each preset does, and how it differs from its source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation
from scrapy_simhash.errors import EmptyText, SchemeError
from scrapy_simhash.extraction.selectors import Selectors
from scrapy_simhash.features import idf_table, weighted_features, weighted_occurrences
from scrapy_simhash.fingerprint import Fingerprint, simhash, simhashes_of_hashes
from scrapy_simhash.hashes import JOINER, shingle_hashes_of_texts, token_hashes
from scrapy_simhash.lazy import np
from scrapy_simhash.parameters import SchemeParameters
from scrapy_simhash.tokens.parts import select_parts
from scrapy_simhash.tokens.tokenization import TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray


class Scheme(SchemeParameters):
    """A recipe that turns a page into a fingerprint; see `SchemeParameters` for the parameters.

    Two schemes with equal `id` make equal fingerprints from equal tokens, on every machine, in
    every process and with every version of Python.
    """

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
