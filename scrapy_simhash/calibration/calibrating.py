"""Choose the k and the least resemblance that fit a sample of documents best, for each preset."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice
from math import ceil
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simhash.calibration.choosing import (
    FEW_NEAR_DUPLICATES,
    Choice,
    LeastResemblance,
    Score,
    choose,
    choose_resemblance,
    fill_weight,
    scores_by_k,
    table_recall,
)
from scrapy_simhash.calibration.counting import STEPS, Counts, Pairs
from scrapy_simhash.calibration.edits import edited_copies
from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.detector import Detector
from scrapy_simhash.fingerprint import hamming_distance
from scrapy_simhash.resemblance import NEAR_DUPLICATE, resemblance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.calibration.counting import Pair
    from scrapy_simhash.calibration.sampling import Sample, SampledPage
    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.scheme import Scheme

DEFAULT_SAMPLE = 2000
_COPIES = 200
# More copies are made than needed, because copies that were edited too much are discarded.
_TRIES = 600


class PresentSettings(NamedTuple):
    """A preset to calibrate, with its present settings.

    :param max_distance: the present k.
    :param served_distance: largest k that all indexes with this scheme support; None without one.
    """

    name: str
    scheme: Scheme
    max_distance: int
    confirmation: Confirmation = UNCONFIRMED
    served_distance: int | None = None


class EditedCopies(NamedTuple):
    """The counts of edited copies, which supplement a sample with few near-duplicates.

    :param confirmable: ``confirmable[p][d]`` is the number of copies that have a similarity of p
        per cent and a distance of d bits to their pages.
    """

    confirmable: list[list[int]]

    @property
    def distances(self) -> list[int]:
        """Return the number of copies at each distance to their pages."""
        return [sum(column) for column in zip(*self.confirmable, strict=True)]


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """The calibration of one preset.

    :param fingerprints: number of pages with a fingerprint.
    :param skipped: number of pages without a fingerprint, by reason.
    :param now: the score of the present k and least resemblance.
    :param rows: the score of each k with the least resemblance in `least`, or the present one.
    :param choice: the chosen k; None if the sample has too few pairs.
    :param least: the chosen least resemblance; None if no k was chosen, or the present one is 0.
    :param table_recall: the expected share of pairs within the chosen k that its tables find; None
        if no k was chosen, or no tables support it.
    """

    preset: PresentSettings
    fingerprints: int
    skipped: Counter[str]
    counts: Counts
    edited: EditedCopies
    now: Score
    rows: list[Score]
    choice: Choice | None
    least: LeastResemblance | None
    table_recall: float | None

    @property
    def confirmation(self) -> Confirmation:
        """Return the present confirmation, with the chosen least resemblance if there is one."""
        if self.least is None:
            return self.preset.confirmation
        return replace(self.preset.confirmation, min_resemblance=self.least.per_cent / STEPS)

    @property
    def near_duplicate_pairs(self) -> int:
        """Return the number of near-duplicate pairs in the sample, without edited copies."""
        return sum(self.counts.near_duplicate)

    @property
    def edited_copy_pairs(self) -> int:
        """Return the number of pairs of a page and its edited copy."""
        return sum(self.edited.distances)

    @property
    def chosen(self) -> Score | None:
        """Return the score of the chosen k and least resemblance; None if no k was chosen."""
        return None if self.choice is None else self.rows[self.choice.max_distance]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The calibration of a sample. `Sample` and `calibrate` define the other fields.

    :param sampled: number of documents in the sample.
    :param pairs: for each preset, the pairs to review; empty unless asked for.
    """

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
        """Return the first preset with the highest F1 at its chosen k; None if no k was chosen."""
        chosen = [(each.chosen.f1, each) for each in self.presets if each.chosen is not None]
        return max(chosen, key=itemgetter(0))[1] if chosen else None


def calibrate(
    sample: Sample,
    presets: Sequence[PresentSettings],
    *,
    min_tokens: int,
    seed: int,
    threshold: float = NEAR_DUPLICATE,
    list_pairs: bool = False,
    on_page_progress: Callable[[], object] = lambda: None,
    on_pairs_progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> Calibration:
    """Return the calibration of each preset: a k and a least resemblance.

    :param presets: at least one; all must have the same extractor and selectors.
    :param min_tokens: pages with fewer tokens are skipped, as in a crawl.
    :param seed: for the edits of copies.
    :param threshold: pages with this exact resemblance or more are near-duplicates.
    :param list_pairs: also return the pairs to review, see `Pairs.to_review`.
    :param on_page_progress: called for each page that is fingerprinted.
    :param on_pairs_progress: called with (pages done, pages in all).
    """
    pages = sample.pages(
        [preset.scheme for preset in presets], min_tokens, on_progress=on_page_progress
    )
    schemes = [(preset.scheme.bits, preset.confirmation) for preset in presets]
    used = [page for page in pages if any(p.fingerprint is not None for p in page.fingerprints)]
    pairs = Pairs(used, schemes, threshold)
    counted = pairs.count(on_progress=on_pairs_progress)
    has_few = [sum(counts.near_duplicate) < FEW_NEAR_DUPLICATES for counts in counted]
    copies = _make_copies(used, seed, threshold) if any(has_few) else []
    calibrated = []
    for number, (preset, counts) in enumerate(zip(presets, counted, strict=True)):
        edited = _count_copies(copies if has_few[number] else (), used, number, preset, min_tokens)
        fingerprints = [page.fingerprints[number] for page in pages]
        calibrated.append(_calibrate_preset(preset, fingerprints, counts, edited))
    listed = []
    for number, each in enumerate(calibrated if list_pairs else ()):
        k = each.choice.max_distance if each.choice else each.preset.max_distance
        listed.append(pairs.to_review(number, k, each.confirmation))
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


def _make_copies(
    pages: Sequence[SampledPage], seed: int, threshold: float
) -> list[tuple[int, str]]:
    """Return at most 200 edited copies that are near-duplicates, as (page number, text)."""
    texts = [page.extraction.text for page in pages]
    copies = (
        (number, text)
        for number, text in edited_copies(texts, _TRIES, seed)
        if text != texts[number] and resemblance(text, texts[number]) >= threshold
    )
    return list(islice(copies, _COPIES))


def _calibrate_preset(
    preset: PresentSettings,
    pages: Sequence[PageFingerprint],
    counts: Counts,
    edited: EditedCopies,
) -> Calibrated:
    """Return the calibration of a preset from the counts of its pairs."""
    near, different, loss = np.array(counts.confirmable)
    weight = fill_weight(sum(counts.near_duplicate), sum(edited.distances))
    near = near + weight * np.array(edited.confirmable)
    total = sum(counts.near_duplicate) + weight * sum(edited.distances)
    present = None if preset.confirmation == UNCONFIRMED else preset.max_distance

    def scores_and_choice(least_per_cent: int) -> tuple[list[Score], Choice | None]:
        confirmed = different[least_per_cent:].sum(axis=0)
        scores = scores_by_k(
            near[least_per_cent:].sum(axis=0).tolist(),
            confirmed.tolist(),
            total=total,
            similar=(counts.different - confirmed).tolist(),
        )
        bits, served = preset.scheme.bits, preset.served_distance
        return scores, choose(scores, bits, present=present, served=served)

    present_per_cent = ceil(preset.confirmation.min_resemblance * STEPS - 1e-9)
    scores, choice = scores_and_choice(present_per_cent)
    now = scores[preset.max_distance]
    least = None
    if choice is not None and present_per_cent:
        pairs, wrong = (
            table[:, : choice.max_distance + 1].sum(axis=1).tolist() for table in (near, loss)
        )
        least = choose_resemblance(pairs, wrong, present_per_cent)
        if least.per_cent != present_per_cent:  # k depends on the least resemblance
            scores, choice = scores_and_choice(least.per_cent)
    recall = None
    if choice is not None and choice.plan is not None:
        all_near = np.array(counts.near_duplicate) + weight * np.array(edited.distances)
        recall = table_recall(choice.plan, all_near.tolist(), choice.max_distance)
    return Calibrated(
        preset=preset,
        fingerprints=sum(page.fingerprint is not None for page in pages),
        skipped=Counter(page.skipped for page in pages if page.skipped is not None),
        counts=counts,
        edited=edited,
        now=now,
        rows=scores,
        choice=choice,
        least=least,
        table_recall=recall,
    )


def _count_copies(
    copies: Sequence[tuple[int, str]],
    pages: Sequence[SampledPage],
    preset_number: int,
    preset: PresentSettings,
    min_tokens: int,
) -> EditedCopies:
    """Return the counts of the copies that have a fingerprint, as their pages have."""
    scheme = preset.scheme
    detector = Detector(scheme, min_tokens=min_tokens)
    confirmable = [[0] * (scheme.bits + 1) for _ in range(STEPS + 1)]
    for page_number, text in copies:
        page = pages[page_number]
        original = page.fingerprints[preset_number]
        edited = detector.fingerprint_extraction(replace(page.extraction, text=text))
        if original.fingerprint is None or edited.fingerprint is None:
            continue
        distance = hamming_distance(original.fingerprint, edited.fingerprint)
        similarity, _ = preset.confirmation.compare(original.evidence, edited.evidence)
        step = STEPS if similarity is None else int(similarity * STEPS + 1e-9)
        confirmable[step][distance] += 1
    return EditedCopies(confirmable)
