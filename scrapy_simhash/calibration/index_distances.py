"""Measure the distances of pages in an index. It has no texts, so resemblances are unknown."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.clustering.words import distances, words_of
from scrapy_simhash.index.manifest import FILE_NAME, databases
from scrapy_simhash.maintenance.sources import opened_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_LATE_SHARE = 0.25
_START_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class IndexDistances:
    """The distances within an index.

    :param logged: number of logged near-duplicates at each distance from their representatives.
    :param similar: number of logged pages that confirmation rejected.
    :param representatives: number of representatives in the index.
    :param sampled: number of representatives in the random sample.
    :param apart: number of pairs of sampled representatives at each distance.
    """

    directory: str
    scheme_id: str
    bits: int
    max_distance: int
    logged: list[int]
    similar: int
    representatives: int
    sampled: int
    apart: list[int]

    @property
    def late_share(self) -> float | None:
        """Return the share of `logged` in the last quarter of 0 to k; None if nothing is logged."""
        late_from = self.max_distance + 1 - round((self.max_distance + 1) * _LATE_SHARE)
        total = sum(self.logged)
        return sum(self.logged[late_from:]) / total if total else None

    @property
    def nearest(self) -> int | None:
        """Return the least distance of two sampled representatives; None if there are no two."""
        return next((distance for distance, count in enumerate(self.apart) if count), None)


def is_index(path: Path) -> bool:
    """Return True if a directory has a manifest that names our format or is next to a database.

    A ``manifest.json`` alone is no proof: downloaded sites have files of this name, too.
    """
    try:
        with (path / FILE_NAME).open("rb") as file:
            start = file.read(_START_BYTES)
    except OSError:
        return False
    return b"scrapy-simhash index" in start or bool(databases(path))


def index_distances(
    directory: Path,
    sample: int,
    seed: int,
    *,
    on_progress: Callable[[], object] = lambda: None,
) -> IndexDistances:
    """Return the distances in the log of an index and in a sample of its representatives.

    :param sample: upper limit for the representatives to draw.
    :raises StorageError: the index is missing, open elsewhere, damaged, or cannot be read.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    drawn: list[int] = []
    count = 0
    with opened_source(directory) as source:
        manifest = source.manifest
        bits = manifest.scheme.bits
        for entry in source.entries():
            place = count if count < sample else chance.randrange(count + 1)
            count += 1
            if place < sample:
                drawn[place : place + 1] = [entry.fingerprint]
            on_progress()
        logged: Counter[int | None] = Counter()
        for line in source.near_duplicates():
            logged[line.distance if line.confirmed else None] += 1
            on_progress()
    apart = np.zeros(bits + 1, dtype=np.int64)
    words = words_of(drawn, bits)
    for row in range(len(drawn)):
        later = np.arange(row + 1, len(drawn))
        between = distances(words, words, np.full_like(later, row), later)
        apart += np.bincount(between, minlength=bits + 1)
    return IndexDistances(
        directory=str(directory),
        scheme_id=manifest.scheme.id,
        bits=bits,
        max_distance=manifest.max_distance,
        logged=[logged[distance] for distance in range(bits + 1)],
        similar=logged[None],
        representatives=count,
        sampled=len(drawn),
        apart=apart.tolist(),
    )
