"""Predict the verdict on a page from an index, and return what the index has stored about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.rules import Neighbour, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.index.base import Match, NearDuplicate, ObservationKind
    from scrapy_simhash.index.index import Index


def stored_about(index: Index, key: str) -> tuple[Entry | None, list[NearDuplicate]]:
    """Return the entry of a page, and the log lines that name it, oldest first. Lines with the key
    of the page say what it was a near-duplicate of, or similar to.

    :raises StorageError: the index cannot be read.
    """
    lines = [line for line in index.near_duplicates() if key in (line.key, line.representative)]
    return index.entry(key), lines


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
    reason: str = ""


def predict(
    index: Index,
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
            Entry(
                age_rank,
                match.key,
                match.fingerprint,
                0,
                0,
                0,
                -1,
                Evidence(label=match.label.encode()),
            ),
            match.similarity,
            match.against,
        )
        for age_rank, match in enumerate(matches)
        if in_scope is None or in_scope(match.key)
    ]
    result = classify(own, neighbours, (), lambda _: True)
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
        "" if compared is None else index.rules.reason(evidence, compared),
    )
