"""Explaining a verdict afterwards: what an index holds and has logged about a page; and
foreseeing one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.confirmation import NO_EVIDENCE
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.rules import Neighbour, decide
from scrapy_simhash.maintenance.sources import opened_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.confirmation import Evidence
    from scrapy_simhash.index.base import Match, NearDuplicate, ObservationKind
    from scrapy_simhash.index.observing import ObservingIndex
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.maintenance.sources import Location


@dataclass(frozen=True)
class Explanation:
    """What is known about the page of a key.

    :param scheme_id: of the fingerprints.
    :param max_distance: k, of whoever made the index.
    :param entry: the page as a representative; None if it is none.
    :param near_duplicates: each time that it was a near-duplicate of another, or similar to it,
        oldest first.
    :param copies: each time that another was a near-duplicate of it, or similar to it.
    """

    key: str
    scheme_id: str
    bits: int
    max_distance: int
    entry: Entry | None
    near_duplicates: Sequence[NearDuplicate]
    copies: Sequence[NearDuplicate]


def explain(where: Location, key: str) -> Explanation:
    """Ask an index about a page; reads the near-duplicate log from its beginning.

    :raises StorageError: the index cannot be used; a crawl that runs has a directory to itself.
    """
    with opened_index(where) as index:
        lines = [line for line in index.near_duplicates() if key in (line.key, line.representative)]
        return Explanation(
            key,
            index.scheme.id,
            index.scheme.bits,
            index.max_distance,
            index.entry(key),
            [line for line in lines if line.key == key],
            [line for line in lines if line.representative == key],
        )


@dataclass(frozen=True)
class Prediction:
    """What `ObservingIndex.observe` would say of a page, if all that the index holds was met by
    the crawl that asks; nothing is written.

    :param distance: see `Observation`, as for `similarity` and `similar_to`.
    :param matches: all other pages within k, the confirmed ones first, each nearest first.
    """

    kind: ObservationKind
    representative: str | None
    distance: int | None
    matches: Sequence[Match]
    similarity: float | None = None
    similar_to: str | None = None


def foresee(
    index: ObservingIndex | RedisIndex,
    key: str | None,
    fingerprint: int,
    evidence: Evidence = NO_EVIDENCE,
    *,
    in_scope: Callable[[str], bool] | None = None,
) -> Prediction:
    """What the page of a key, or of none that is known, would be.

    :param in_scope: see `Index.observe`.
    :raises SchemeError: the fingerprint is not of the index's scheme.
    :raises StorageError: the index fails.
    """
    matches = [match for match in index.query(fingerprint, evidence) if match.key != key]
    stored = None if key is None else index.entry(key)
    own = None if stored is None else index.rules.own(fingerprint, evidence, stored)
    within_scope = [
        Neighbour(
            match.distance,
            Entry(number, match.key, match.fingerprint, 0, 0, 0),
            match.similarity,
            match.confirmed,
        )
        for number, match in enumerate(matches)
        if in_scope is None or in_scope(match.key)
    ]
    decision = decide(own, lambda: (within_scope, ()), lambda _: True)
    nearest = decision.nearest
    found = None if nearest is None else nearest.entry.key
    compared = nearest or own
    near = decision.kind == "near-duplicate"
    return Prediction(
        decision.kind,
        found if near else None,
        None if compared is None else compared.distance,
        matches,
        None if compared is None else compared.similarity,
        None if near else found,
    )
