"""Confirmation: are two pages with near fingerprints copies of each other?

Fingerprints of long texts in one language come near each other by chance, and pages made from one
template do so by design. Two checks tell copies from them: the estimated resemblance of the texts
(`scrapy_simhash.sketch`), and for two pages of one site what the pages call themselves. Products,
timetables or job offers of one template have names of their own, while copies keep their name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_intdigest

from scrapy_simhash.resemblance import shingle_tokens
from scrapy_simhash.sketch import estimate_resemblance

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MIN_RESEMBLANCE = 0.6
# Where the names of two pages leave a doubt, they must resemble each other as near-duplicates do.
MIN_RESEMBLANCE_IN_DOUBT = 0.8
_NAME_TOKENS = 32
_NAME_TOKEN_BYTES = 2


class Evidence(NamedTuple):
    """What is known of a page besides its fingerprint.

    :param sketch: of its text, see `scrapy_simhash.sketch`; empty if there is none.
    :param site: number of the page's site, see `site_number`; 0 if it is not known.
    :param title: name of the page by its ``title``, see `name_bytes`; empty if it has none.
    :param heading: name of the page by its own ``h1``, in the same form.
    :param certainty: for each bit of the fingerprint, the most significant first, how far its sum
        is from zero, as one byte: 0 is a tie. Empty if not known. An index uses it to ask, and
        does not store it.
    """

    sketch: bytes = b""
    site: int = 0
    title: bytes = b""
    heading: bytes = b""
    certainty: bytes = b""


NO_EVIDENCE = Evidence()


@dataclass(frozen=True)
class Confirmation:
    """The rules by which a page is confirmed to be a copy.

    :param min_resemblance: the least estimated resemblance, from 0 to 1; 0 asks for none.
    :param same_name: pages of one site must also have names that agree, see `names_agree`.
    """

    min_resemblance: float = DEFAULT_MIN_RESEMBLANCE
    same_name: bool = True

    def similarities(
        self, one: Evidence, others: Sequence[Evidence]
    ) -> list[tuple[float | None, bool]]:
        """Compare a page with others.

        :return: for each its estimated resemblance, None where a sketch is missing, and whether
            it is confirmed. A missing sketch speaks neither for nor against a copy.
        """
        estimates = _estimates(one.sketch, [other.sketch for other in others])
        return [
            (estimate, self._confirms(one, other, estimate))
            for estimate, other in zip(estimates, others, strict=True)
        ]

    def _confirms(self, one: Evidence, other: Evidence, estimate: float | None) -> bool:
        least = self.min_resemblance
        if self.same_name:
            agree = names_agree(one, other)
            if agree is False:
                return False
            if agree is None:
                least = max(least, MIN_RESEMBLANCE_IN_DOUBT)
        return estimate is None or estimate >= least


UNCONFIRMED = Confirmation(min_resemblance=0.0, same_name=False)
"""Every page within k counts as a copy, as in Manku et al. (WWW 2007)."""


def names_agree(one: Evidence, other: Evidence) -> bool | None:
    """Return whether two pages have the same name; None if that is in doubt.

    Names agree if all words of one are words of the other. Where both pages have a heading of
    their own, different headings are different names, for a site may give all of its pages one
    title. Equal headings under different titles leave a doubt: the heading may be that of a
    section. Without two headings the titles decide. Pages of different sites need no equal names,
    and pages without names cannot be told apart by them.
    """
    if one.site != other.site:
        return True
    headings = _agree(one.heading, other.heading)
    titles = _agree(one.title, other.title)
    if headings is None:
        return titles is not False
    if headings and titles is False:
        return None
    return headings


def _agree(one: bytes, other: bytes) -> bool | None:
    if not one or not other:
        return None
    tokens, others = _name_tokens(one), _name_tokens(other)
    for name in (tokens, others):
        if len(name) == _NAME_TOKENS:  # the greater ones may have been cut off
            greatest = max(name)
            tokens = {token for token in tokens if token <= greatest}
            others = {token for token in others if token <= greatest}
    if not tokens or not others:
        return False
    return tokens <= others or others <= tokens


def name_bytes(text: str) -> bytes:
    """Return the set of a name's words as sorted 16-bit hashes, at most 32 of them."""
    hashes = {
        xxh3_64_intdigest(token.encode("utf-8", "surrogatepass")) & 0xFFFF
        for token in shingle_tokens(text)
    }
    return b"".join(
        number.to_bytes(_NAME_TOKEN_BYTES, "big") for number in sorted(hashes)[:_NAME_TOKENS]
    )


def site_number(site: str) -> int:
    """Return a 32-bit number for the name of a site, such as its registered domain; 0 for ``""``.

    Two sites share a number about once in four billion pairs.
    """
    return xxh3_64_intdigest(site.encode("utf-8", "surrogatepass")) >> 32 if site else 0


def _name_tokens(name: bytes) -> set[bytes]:
    return {name[at : at + _NAME_TOKEN_BYTES] for at in range(0, len(name), _NAME_TOKEN_BYTES)}


def _estimates(one: bytes, others: Sequence[bytes]) -> list[float | None]:
    import numpy as np

    known = [number for number, other in enumerate(others) if one and len(other) == len(one)]
    found: list[float | None] = [None] * len(others)
    if known:
        rows: NDArray[np.uint8] = np.frombuffer(
            b"".join([others[number] for number in known]), dtype=np.uint8
        ).reshape(len(known), -1)
        for number, estimate in zip(known, estimate_resemblance(one, rows), strict=True):
            found[number] = float(estimate)
    return found
