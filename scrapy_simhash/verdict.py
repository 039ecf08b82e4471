"""`Verdict`: what a page or item is, compared with the pages or items before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from scrapy_simhash.fingerprint import to_hex

if TYPE_CHECKING:
    from scrapy_simhash.index.base import Observation

VerdictKind = Literal["new", "near-duplicate", "unchanged", "changed", "error-page", "skipped"]
Canonical = Literal["representative", "page"]
# Written only if they have a value. With the default tags, item classes need not declare them.
TAGGED_WHERE_KNOWN = ("similar_to", "similarity")
TAGGED_FIELDS = ("kind", "representative", "distance", "fingerprint", *TAGGED_WHERE_KNOWN)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one page or item.

    :param key: identity of the page or item in the index.
    :param bits: width of the fingerprint.
    :param fingerprint: None for a skipped page and an error page.
    :param representative: for a near-duplicate, the key of the page that it is a copy of.
    :param distance: Hamming distance in bits to the representative or to `similar_to`; if both are
        None, to the last fingerprint of `key`, stored or pending; None without one.
    :param similarity: estimated resemblance to the page that `distance` is measured to, from 0
        to 1; None if unknown.
    :param similar_to: for a new or changed page, the key of the nearest page within k bits that it
        is not a copy of; None if there is none. The page passes and is stored.
    :param reason: why the page is a near-duplicate, unchanged, changed or only similar, in words,
        with the setting that reverses this (`explain`); a word for why it was skipped; for an error
        page, the URL that cannot exist and has a similar answer; else None.
    :param canonical: ``representative`` if a near-duplicate names its representative as its
        canonical URL (rel=canonical), ``page`` if the representative names this page; else None.
    :param index_ms: wall-clock time of the call of the index that observed the page, in
        milliseconds. If a call observed several pages, each has the time of the whole call.
    :param observation: the argument for `Index.confirm` and `Index.discard`; None if there is
        nothing to confirm or discard.
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
        """Return the fingerprint in hexadecimal, padded to its width; None without one."""
        return None if self.fingerprint is None else to_hex(self.fingerprint, self.bits)

    def to_dict(self) -> dict[str, Any]:
        """Return the values for ``response.meta["simhash"]``, JSON and items."""
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
