"""Explain past verdicts on a page from an index and its near-duplicate log; predict the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.evidence import NO_EVIDENCE
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.rules import Neighbour, classify
from scrapy_simhash.maintenance.sources import opened_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index.base import Match, NearDuplicate, ObservationKind
    from scrapy_simhash.index.observing import ObservingIndex
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.maintenance.sources import Location


@dataclass(frozen=True)
class Explanation:
    """The entry and the log lines of a page.

    :param max_distance: k of the index.
    :param entry: the entry of the page; None if the index has none.
    :param near_duplicates: log lines of this page, as a near-duplicate of another page or similar
        to it, oldest first.
    :param copies: log lines of pages that are near-duplicates of this one or similar to it, oldest
        first.
    """

    key: str
    scheme_id: str
    bits: int
    max_distance: int
    entry: Entry | None
    near_duplicates: Sequence[NearDuplicate]
    copies: Sequence[NearDuplicate]


def explain(where: Location, key: str) -> Explanation:
    """Return the entry and the log lines of a page, after reading the whole near-duplicate log.

    For errors, see `opened_index`.
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
    """The expected result of `Index.observe` in a crawl that has already seen all entries.

    For the other parameters, see `Observation`.

    :param matches: the pages found within k, without the page itself, but with pages out of scope:
        first the confirmed ones, then the others, both nearest first.
    """

    kind: ObservationKind
    representative: str | None
    distance: int | None
    matches: Sequence[Match]
    similarity: float | None = None
    similar_to: str | None = None


def predict(
    index: ObservingIndex | RedisIndex,
    key: str | None,
    fingerprint: int,
    evidence: Evidence = NO_EVIDENCE,
    *,
    in_scope: Callable[[str], bool] | None = None,
) -> Prediction:
    """Return how the index would classify a page. Nothing is written.

    :param key: key of the page. If it is None, the page counts as one without an entry.
    :param in_scope: see `Index.observe`.
    :raises SchemeError: the fingerprint does not fit the scheme of the index.
    :raises StorageError: the index cannot be read.
    """
    matches = [match for match in index.query(fingerprint, evidence) if match.key != key]
    stored = None if key is None else index.entry(key)
    own = (
        None
        if stored is None
        else index.rules.own(fingerprint, evidence, stored, crawl_start=index.crawl_start)
    )
    # `classify` needs the age of equally near pages. The order of `query` tells it.
    neighbours = [
        Neighbour(
            match.distance,
            Entry(age_rank, match.key, match.fingerprint, 0, 0, 0),
            match.similarity,
            match.confirmed,
        )
        for age_rank, match in enumerate(matches)
        if in_scope is None or in_scope(match.key)
    ]
    result = classify(own, lambda: (neighbours, ()), lambda _: True)
    nearest = result.nearest
    nearest_key = None if nearest is None else nearest.entry.key
    compared = nearest or own
    is_copy = result.kind == "near-duplicate"
    return Prediction(
        result.kind,
        nearest_key if is_copy else None,
        None if compared is None else compared.distance,
        matches,
        None if compared is None else compared.similarity,
        None if is_copy else nearest_key,
    )
