"""Define which passages a text has, their fingerprints, and what distances of these mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import EmptyText, PlanError, SchemeError
from scrapy_simhash.extras.passages.cutting import Cutting
from scrapy_simhash.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_MAX_DISTANCE = 50
# With fewer letters and digits, one edit may change a fifth of all bits.
DEFAULT_MIN_CHARACTERS = 8
# A passage with fewer letters and digits is looked up within a larger distance.
_SHORT_CHARACTERS = 25
_SHORT_FACTOR = 1.4
# Characters and pairs of them, each counted once. An edited word would change too many of the few
# words of a sentence; an edited character changes at most three features. 256 bits need the fewest
# tables.
_SCHEME = Scheme(bits=256, tokenizer="characters-and-pairs", weighting="uniform")


@dataclass(frozen=True, kw_only=True)
class PassageScheme:
    """The parameters that determine the passages of a text and their fingerprints.

    :param scheme: scheme of the fingerprints.
    :param max_distance: k, inclusive, in bits.
    :param min_characters: passages with fewer letters and digits have no fingerprint.
    :raises PlanError: `max_distance` is not an int from 0 to the bits of a fingerprint - 1.
    :raises SchemeError: `min_characters` is not an int of 1 or more.
    """

    scheme: Scheme = _SCHEME
    max_distance: int = DEFAULT_MAX_DISTANCE
    cutting: Cutting = field(default_factory=Cutting)
    min_characters: int = DEFAULT_MIN_CHARACTERS

    def __post_init__(self) -> None:
        bits = self.scheme.bits
        if type(self.max_distance) is not int or not 0 <= self.max_distance < bits:
            raise PlanError(f"max_distance={self.max_distance!r}: 0 to {bits - 1} is needed")
        if type(self.min_characters) is not int or self.min_characters < 1:
            raise SchemeError(f"min_characters={self.min_characters!r}: 1 or more is needed")

    def fingerprint(self, passage: str) -> int | None:
        """Return the fingerprint of a passage; None if it is too short or has no features."""
        if sum(map(str.isalnum, passage)) < self.min_characters:
            return None
        try:
            return self.scheme.fingerprint(passage)
        except EmptyText:
            return None

    def reach(self, passage: str) -> int:
        """Return the distance within which a passage is looked up if texts are stored.

        For a short passage, it is above `max_distance`: two edited characters change more bits.
        """
        letters = sum(map(str.isalnum, passage))
        factor = _SHORT_FACTOR if letters < _SHORT_CHARACTERS else 1.0
        return min(round(self.max_distance * factor), self.scheme.bits - 1)

    def estimated_similarity(self, distance: int) -> float:
        """Return the similarity of two passages as estimated from their distance.

        It is the cosine of the angle between their feature vectors, but at least 0. The expected
        share of different bits is the angle divided by 180° (Charikar 2002, section 3).
        """
        return max(math.cos(math.pi * distance / self.scheme.bits), 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "scheme": self.scheme.to_dict(),
            "max_distance": self.max_distance,
            "unit": self.cutting.unit,
            "characters": self.cutting.characters,
            "overlapping": self.cutting.overlapping,
            "min_characters": self.min_characters,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PassageScheme:
        """Return the scheme from the values of `to_dict`.

        :raises KeyError, TypeError, SimhashError: a value is missing or invalid.
        """
        return cls(
            scheme=Scheme.from_dict(values["scheme"]),
            max_distance=values["max_distance"],
            cutting=Cutting(values["unit"], values["characters"], values["overlapping"]),
            min_characters=values["min_characters"],
        )
