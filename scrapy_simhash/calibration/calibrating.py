"""calibrate: documents → the k that fits them, by preset."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.calibration.choosing import (
    FEW_NEAR_DUPLICATES,
    Choice,
    Found,
    choose,
    figures,
    filled,
    table_recall,
)
from scrapy_simhash.calibration.counting import Counts, Pairs
from scrapy_simhash.calibration.edits import edited_copies
from scrapy_simhash.detector import Detector
from scrapy_simhash.extraction import Extraction
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.resemblance import NEAR_DUPLICATE, resemblance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.calibration.counting import Pair
    from scrapy_simhash.calibration.sampling import Sample, SampledPage
    from scrapy_simhash.scheme import Scheme

DEFAULT_SAMPLE = 2000
_COPIES = 200
# Edits that change too much are thrown away.
_TRIES = 600


class Preset(NamedTuple):
    """A scheme to calibrate, and the k that it has now."""

    name: str
    scheme: Scheme
    max_distance: int


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """What was found of one preset.

    :param made: distances of edited copies, where the sample has few copies of its own.
    :param rows: recall and precision at each k, edited copies with the others.
    :param choice: None if nothing can be said.
    """

    preset: Preset
    fingerprints: int
    weak: int
    skipped: Counter[str]
    counts: Counts
    made: list[int]
    rows: list[Found]
    choice: Choice | None

    @property
    def near_duplicate_pairs(self) -> int:
        """Those that the sample has itself."""
        return sum(self.counts.near_duplicate)

    @property
    def made_pairs(self) -> int:
        """Pages and edited copies of them."""
        return sum(self.made)

    @property
    def found(self) -> Found | None:
        """What the chosen k finds."""
        return None if self.choice is None else self.rows[self.choice.max_distance]

    @property
    def table_recall(self) -> float | None:
        """Share of the pairs within the chosen k that its tables are expected to find."""
        if self.choice is None or self.choice.plan is None:
            return None
        pairs = filled(self.counts.near_duplicate, self.made)
        return table_recall(self.choice.plan, pairs, self.choice.max_distance)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What was found of a sample, by preset."""

    read: int
    sampled: int
    unreadable: Counter[str]
    repeated: int
    seed: int
    threshold: float
    presets: list[Calibrated]
    pairs: list[list[Pair]] = field(default_factory=list)

    @property
    def best(self) -> Calibrated | None:
        """The preset with the highest F1 at the k to choose; of equals, the first."""
        known = [one for one in self.presets if one.found is not None]
        return max(known, key=lambda one: one.found.f1 if one.found else 0.0, default=None)


def calibrate(
    sample: Sample,
    presets: Sequence[Preset],
    *,
    min_tokens: int,
    seed: int,
    threshold: float = NEAR_DUPLICATE,
    list_pairs: bool = False,
    page_moved: Callable[[], object] = lambda: None,
    pairs_moved: Callable[[int, int], object] = lambda _done, _of: None,
) -> Calibration:
    """Choose a k for each preset.

    :param presets: with one extractor, and the same selectors.
    :param threshold: resemblance from which on two pages are near-duplicates.
    :param list_pairs: give the pairs near k, too.
    """
    pages = sample.pages([preset.scheme for preset in presets], min_tokens, moved=page_moved)
    bits = [preset.scheme.bits for preset in presets]
    used = [page for page in pages if any(p.fingerprint is not None for p in page.fingerprints)]
    pairs = Pairs(used, bits, threshold)
    counted = pairs.count(moved=pairs_moved)
    copies: list[tuple[int, str]] | None = None
    calibrated = []
    for place, (preset, counts) in enumerate(zip(presets, counted, strict=True)):
        made = [0] * (preset.scheme.bits + 1)
        if sum(counts.near_duplicate) < FEW_NEAR_DUPLICATES:
            if copies is None:
                copies = _copies(used, seed, threshold)
            made = _distances_of(copies, used, place, preset.scheme, min_tokens)
        found = [page.fingerprints[place] for page in pages]
        rows = figures(filled(counts.near_duplicate, made), counts.different)
        calibrated.append(
            Calibrated(
                preset=preset,
                fingerprints=sum(one.fingerprint is not None for one in found),
                weak=sum(one.weak and one.fingerprint is not None for one in found),
                skipped=Counter(one.skipped for one in found if one.skipped is not None),
                counts=counts,
                made=made,
                rows=rows,
                choice=choose(rows, preset.scheme.bits),
            )
        )
    listed = []
    if list_pairs:
        for place, one in enumerate(calibrated):
            k = one.choice.max_distance if one.choice else one.preset.max_distance
            listed.append(pairs.near(place, k))
    return Calibration(
        read=sample.read,
        sampled=len(sample),
        unreadable=sample.unreadable,
        repeated=sample.repeated,
        seed=seed,
        threshold=threshold,
        presets=calibrated,
        pairs=listed,
    )


def _copies(pages: Sequence[SampledPage], seed: int, threshold: float) -> list[tuple[int, str]]:
    """Edited copies that still resemble their pages enough."""
    texts = [page.extraction.text for page in pages]
    if not texts:
        return []
    made = (
        (place, text)
        for place, text in edited_copies(texts, _TRIES, seed)
        if text != texts[place] and resemblance(text, texts[place]) >= threshold
    )
    return list(islice(made, _COPIES))


def _distances_of(
    copies: Sequence[tuple[int, str]],
    pages: Sequence[SampledPage],
    place: int,
    scheme: Scheme,
    min_tokens: int,
) -> list[int]:
    """How many copies are at each distance from their pages."""
    detector = Detector(scheme, min_tokens=min_tokens)
    counts = [0] * (scheme.bits + 1)
    for number, text in copies:
        page = pages[number]
        original = page.fingerprints[place].fingerprint
        edited = Extraction(text, page.extraction.title)
        copy = detector.fingerprint_extraction(edited).fingerprint
        if original is not None and copy is not None:
            counts[hamming_distance(original, copy)] += 1
    return counts
