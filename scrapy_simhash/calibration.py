"""Choose the k and the least resemblance that fit a sample of pages best.

Pairs of pages are judged by the exact resemblance of their texts. *Near-duplicate* pairs have 0.8
or more. *Wrong* pairs have less than 0.5: dropping either page would lose most of its content. A
crawl should find the former and not the latter. For each k and least resemblance, recall is the
share of near-duplicate pairs that are found, precision the share of near-duplicate pairs among all
found ones, and F1 the harmonic mean of both. The highest F1 wins.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.errors import PlanError
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.hashes import shingle_hashes, token_hashes
from scrapy_simhash.index.plan import choose_plan
from scrapy_simhash.resemblance import NEAR_DUPLICATE, resemblance, shingle_length, shingle_tokens

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.documents.reader import Document
    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.extraction import Extraction

    Array = np.ndarray[Any, Any]

WRONG_BELOW = 0.5
FEW_NEAR_DUPLICATES = 20
"""With fewer near-duplicate pairs, edited copies of pages count as the missing ones."""
LEAST_WRONG = 100
"""With fewer wrong pairs, nothing is chosen."""
_COPIES, _TRIES = 200, 600  # copies that were edited too much are discarded
_MAX_EDITED_SHARE = 0.18
_STEPS = 100  # similarities are counted in per cent
_NEVER = _STEPS + 1  # the similarity of a pair that a crawl never confirms
_MAX_TABLES = 100


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The pairs of a sample, and the settings that fit them best.

    `recall` and `wrong` have the shape (101, bits // 3 + 1): a row for each least resemblance in
    per cent, and a column for each k.

    :param near_duplicates: what the pairs and the edited copies count as together.
    :param kept_apart: number of pairs that resemble each other enough, but that a crawl never
        confirms, because their names differ. They are neither near-duplicate nor wrong pairs.
    :param wrong_pairs: number of wrong pairs at any distance.
    :param recall: share of the near-duplicate pairs that are found, edited copies included.
    :param wrong: number of wrong pairs that are found.
    :param max_distance: the chosen k; None if the sample has too few pairs.
    :param min_resemblance: the chosen least resemblance, from 0 to 1.
    """

    near_duplicate_pairs: int
    edited_copies: int
    near_duplicates: int
    kept_apart: int
    wrong_pairs: int
    recall: Array
    wrong: Array
    max_distance: int | None
    min_resemblance: float


def calibrate(
    pages: Sequence[SampledPage],
    detector: Detector,
    max_distance: int,
    confirmation: Confirmation,
) -> Calibration:
    """Return the calibration of a sample.

    :param detector: the detector that made the fingerprints of the pages.
    :param max_distance: the present k; kept if no other is better and copies are confirmed.
    :param confirmation: the present confirmation; its least resemblance is kept likewise.
    """
    reach = detector.scheme.bits // 3
    # The number of pairs by similarity in per cent (or _NEVER) and distance.
    near, wrong = np.zeros((2, _NEVER + 1, reach + 1))
    near_pairs = kept_apart = wrong_pairs = 0
    alike_rows = resemblances([page.extraction.text for page in pages])
    distance_rows = _distances(pages, detector.scheme.bits)
    for number, (alike, distances) in enumerate(zip(alike_rows, distance_rows, strict=True)):
        alike[: number + 1] = np.nan  # each pair counts once
        is_near, is_wrong = alike >= NEAR_DUPLICATE, alike < WRONG_BELOW
        wrong_pairs += int(np.count_nonzero(is_wrong))
        for other in np.flatnonzero(is_near | (is_wrong & (distances <= reach))).tolist():
            step = _similarity(confirmation, pages[number].evidence, pages[other].evidence)
            if is_near[other] and step == _NEVER:
                kept_apart += 1
                continue
            near_pairs += int(is_near[other])
            if distances[other] <= reach:
                (near if is_near[other] else wrong)[step, distances[other]] += 1
    copies: list[tuple[int, int]] = []
    if near_pairs < FEW_NEAR_DUPLICATES:
        copies = list(islice(_copies(pages, detector, confirmation), _COPIES))
        for step, distance in copies:
            if distance <= reach:
                near[step, distance] += (FEW_NEAR_DUPLICATES - near_pairs) / len(copies)
    total = FEW_NEAR_DUPLICATES if copies else near_pairs
    found, found_wrong = _found(near), _found(wrong)
    k, per_cent = None, ceil(confirmation.min_resemblance * _STEPS - 1e-9)
    if total and wrong_pairs >= LEAST_WRONG:
        f1 = 2 * found / (found + found_wrong + total)
        # Each wrong pair within k costs a comparison, also if it is then not confirmed.
        is_dear = wrong.sum(axis=0).cumsum() - found_wrong > found
        present = None if confirmation == UNCONFIRMED else max_distance
        k, per_cent = _choose(f1, is_dear, present, per_cent)
        while k and not _has_tables(detector.scheme.bits, k):
            k -= 1
    return Calibration(
        near_duplicate_pairs=near_pairs,
        edited_copies=len(copies),
        near_duplicates=total,
        kept_apart=kept_apart,
        wrong_pairs=wrong_pairs,
        recall=np.minimum(found / max(total, 1), 1),
        wrong=found_wrong.astype(int),
        max_distance=k,
        min_resemblance=per_cent / _STEPS,
    )


def _distances(pages: Sequence[SampledPage], bits: int) -> Iterator[Array]:
    """Yield, for each page, its distances to all pages."""
    packed = b"".join(page.fingerprint.to_bytes(bits // 8, "big") for page in pages)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(pages), bits // 8)
    for row in rows:
        yield np.bitwise_count(rows ^ row).sum(axis=1, dtype=int)


def _similarity(confirmation: Confirmation, one: Evidence, other: Evidence) -> int:
    """Return the similarity of two pages in per cent; 100 if unknown, `_NEVER` if they are not
    confirmed, whatever the least resemblance.
    """
    similarity, against = replace(confirmation, min_resemblance=0.0).compare(one, other)
    if against:
        return _NEVER
    return _STEPS if similarity is None else int(similarity * _STEPS + 1e-9)


def _copies(
    pages: Sequence[SampledPage], detector: Detector, confirmation: Confirmation
) -> Iterator[tuple[int, int]]:
    """Yield (similarity in per cent, distance) of edited copies that are near-duplicates.

    A passage of random length is deleted, or one of another page is inserted.
    """
    chance = random.Random(1)  # noqa: S311 - no secret
    for turn in range(_TRIES if pages else 0):
        page, other = pages[turn % len(pages)], chance.choice(pages).extraction.text
        text = page.extraction.text
        length = max(1, round(chance.uniform(0, _MAX_EDITED_SHARE) * len(text)))
        start, begin = chance.randrange(len(text)), chance.randrange(len(other))
        passage, kept = (other[begin : begin + length], start) if turn % 2 else ("", start + length)
        edited = f"{text[:start]} {passage} {text[kept:]}"
        copy = detector.fingerprint_extraction(replace(page.extraction, text=edited))
        if copy.fingerprint is not None and resemblance(text, edited) >= NEAR_DUPLICATE:
            evidence = page.evidence._replace(sketch=copy.evidence.sketch)
            distance = hamming_distance(page.fingerprint, copy.fingerprint)
            yield _similarity(confirmation, page.evidence, evidence), distance


def _found(pairs: Array) -> Array:
    """Return the number of pairs that are found with each least resemblance and k."""
    return pairs[_STEPS::-1].cumsum(axis=0)[::-1].cumsum(axis=1)


def _choose(f1: Array, is_dear: Array, present: int | None, per_cent: int) -> tuple[int, int]:
    """Return the k and the least resemblance in per cent with the highest F1.

    Keep the present k if it can be among the best; then take the least resemblance nearest to the
    present one. The longest run of best k's counts, without the k's that cost too much. If the
    present k is not in it, take its middle: the farthest from missed copies and from wrong pairs.
    """
    f1 = f1 if per_cent else f1[:1]  # this preset compares no resemblance
    is_best = f1 >= f1.max() - 1e-9
    rows = np.flatnonzero(is_best.any(axis=1))
    if present is not None and present < f1.shape[1]:
        keeping = np.flatnonzero((is_best & ~is_dear[: len(f1)])[:, present])
        rows = keeping if len(keeping) else rows
    least = rows[np.abs(rows - per_cent).argmin()]
    best = np.flatnonzero(is_best[least])
    run = max(np.split(best, np.flatnonzero(np.diff(best) > 1) + 1), key=len)
    cheap = run[~is_dear[least, run]]
    run = cheap if len(cheap) else run[:1]
    k = present if present is not None and present in run else run[(len(run) - 1) // 2]
    return int(k), int(least)


def _has_tables(bits: int, max_distance: int) -> bool:
    """Return True if an index can have tables for this k, and not too many."""
    try:
        return len(choose_plan(bits, max_distance).tables) <= _MAX_TABLES
    except PlanError:
        return False


def resemblances(texts: Sequence[str]) -> Iterator[Array]:
    """Yield, for each text, its resemblance to each text (to itself: 1, or 0 without tokens).

    Shingles are compared by 64-bit hashes. Unlike in `scrapy_simhash.resemblance`, each text has
    its own shingle length; shingles of different lengths are never equal.
    """
    tokens_of_texts = (shingle_tokens(text) for text in texts)
    hashes = [
        np.unique(shingle_hashes(token_hashes(tokens), shingle_length([tokens])))
        for tokens in tokens_of_texts
    ]
    sizes = np.array([len(one) for one in hashes], dtype=np.int64)
    owners = np.repeat(np.arange(len(texts)), sizes)
    _, shingles = np.unique(
        np.concatenate([np.empty(0, dtype=np.uint64), *hashes]), return_inverse=True
    )
    # The texts that have the i-th shingle are holders[starts[i]:starts[i + 1]].
    holders = owners[np.argsort(shingles, kind="stable")]
    starts = np.append(0, np.cumsum(np.bincount(shingles)))
    for size, own in zip(sizes, np.split(shingles, np.cumsum(sizes)), strict=False):
        counts = starts[own + 1] - starts[own]
        # The ranges of `holders` of all own shingles, one after the other.
        offsets = np.repeat(starts[own] - np.cumsum(counts) + counts, counts)
        shared = np.bincount(holders[np.arange(len(offsets)) + offsets], minlength=len(texts))
        yield shared / np.maximum(size + sizes - shared, 1)


class SampledPage(NamedTuple):
    """A page of the sample that has a fingerprint, and its evidence."""

    extraction: Extraction
    fingerprint: int
    evidence: Evidence


def draw(
    documents: Iterable[Document | Unreadable], size: int, left_out: Counter[str]
) -> tuple[list[Document], int]:
    """Return a uniform random sample of at most `size` documents, drawn in one pass (Vitter's
    algorithm R), and the number of readable documents. Count the others in `left_out`, by reason.

    Two calls with the same documents return the same sample.
    """
    drawn: list[Document] = []
    read = 0
    chance = random.Random(1)  # noqa: S311 - no secret
    for document in documents:
        if isinstance(document, Unreadable):
            left_out[document.reason] += 1
            continue
        place = read if read < size else chance.randrange(read + 1)
        read += 1
        if place < size:
            drawn[place : place + 1] = [document]
    return drawn, read


def fingerprinted(
    documents: Iterable[Document], detector: Detector, left_out: Counter[str]
) -> Iterator[SampledPage]:
    """Yield the pages that a crawl would not skip; count the others in `left_out`, by reason."""
    for document in documents:
        extraction, page = document.fingerprinted(detector)
        if page.fingerprint is None:
            left_out[str(page.skipped)] += 1
        else:
            yield SampledPage(extraction, page.fingerprint, page.evidence)
