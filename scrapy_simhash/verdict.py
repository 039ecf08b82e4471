"""Verdict: what a page or item is, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.fingerprint import to_hex

if TYPE_CHECKING:
    from scrapy_simhash.index.base import Observation

VerdictKind = Literal["new", "near-duplicate", "unchanged", "changed", "skipped"]
Canonical = Literal["representative", "page"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found about one page or item.

    :param kind: ``new``, ``near-duplicate``, ``unchanged``, ``changed`` or ``skipped``.
    :param key: identity of the page.
    :param bits: width of the fingerprint.
    :param fingerprint: None if skipped.
    :param representative: key of the page it is a near-duplicate of.
    :param distance: in bits, to the representative or to `similar_to`; of a page that has neither,
        to the page's own stored fingerprint.
    :param similarity: estimated resemblance to the same page, from 0 to 1; None if it is not known.
    :param similar_to: of a new or changed page: key of the nearest page within k bits that was not
        confirmed to be a copy of it. The page passes, and is stored as content of its own.
    :param reason: why it was skipped.
    :param canonical: of a near-duplicate: the page names its ``representative`` as its canonical
        URL (rel=canonical), or the representative names the ``page``; None if neither does.
    :param index_ms: wall-clock time spent in the index.
    :param observation: for `Index.confirm` and `Index.discard`; None if skipped.
    """

    kind: VerdictKind
    key: str
    bits: int
    fingerprint: int | None = None
    representative: str | None = None
    distance: int | None = None
    similarity: float | None = None
    similar_to: str | None = None
    reason: str | None = None
    canonical: Canonical | None = None
    index_ms: float = 0.0
    observation: Observation | None = None

    @property
    def fingerprint_hex(self) -> str | None:
        """The fingerprint in hexadecimal, padded to its width."""
        return None if self.fingerprint is None else to_hex(self.fingerprint, self.bits)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for ``response.meta["simhash"]``, JSON and items."""
        return {
            "kind": self.kind,
            "representative": self.representative,
            "distance": self.distance,
            "fingerprint": self.fingerprint_hex,
            "similarity": None if self.similarity is None else round(self.similarity, 2),
            "similar_to": self.similar_to,
            "reason": self.reason,
            "canonical": self.canonical,
        }
