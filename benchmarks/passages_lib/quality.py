"""Recall and precision of planted passages, by what they are and how they are asked for."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from quality_lib.output import proportion, table
from scrapy_simhash.passages.cutting import Cutting
from scrapy_simhash.passages.index import open_passages
from scrapy_simhash.passages.matching import CheckOptions
from scrapy_simhash.passages.scheme import DEFAULT_MAX_DISTANCE, PassageScheme

from passages_lib import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from scrapy_simhash.passages.result import CheckedPassage, PassageReport, Source

    from passages_lib.texts import Checked, Document, Planted

LEVELS = ("0 %", "5 %", "10 %", "20 %")
REWRAPPED = "0 %, lines joined"
SHARES = {"0 %": 0.0, "5 %": 0.05, "10 %": 0.1, "20 %": 0.2, REWRAPPED: 0.0}
CUTTINGS = {
    "sentences": Cutting(),
    "runs of 30": Cutting("runs", 30),
    "runs of 13": Cutting("runs", 13),
    "runs of 30, overlapping": Cutting("runs", 30, overlapping=True),
    "runs of 13, overlapping": Cutting("runs", 13, overlapping=True),
}
# Lower than any that is recommended: higher ones follow from the hits of one run.
ASKED_SIMILARITY = 0.5
FOUND_SHARE = 0.5


class Way(NamedTuple):
    """How an index was made and asked."""

    cutting: str
    mode: str
    verified: bool

    def __str__(self) -> str:
        return f"{self.cutting}, {self.mode}, {'texts kept' if self.verified else 'without texts'}"


class Hit(NamedTuple):
    """A passage that was reported, by its best source. `planted`: it is of a plant."""

    language: str
    letters: int
    similarity: float
    distance: int
    right: bool
    planted: bool


class Outcome(NamedTuple):
    """What became of a plant: (similarity, characters) of its passages with a right source."""

    planted: Planted
    characters: int
    right: tuple[tuple[float, int], ...]

    def covered(self, least: float) -> float:
        """The share of its characters in passages with a right source at least so similar."""
        kept = sum(size for similarity, size in self.right if similarity >= least)
        return kept / self.characters if self.characters else 0.0


@dataclass
class Run:
    """All of one way and level."""

    way: Way
    level: str
    hits: list[Hit] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    missed: list[tuple[Planted, str]] = field(default_factory=list)
    seconds: float = 0.0


def make_index(
    path: Path, way: Way, indexed: Iterable[Document], max_distance: int = DEFAULT_MAX_DISTANCE
) -> None:
    """An index of the documents."""
    scheme = PassageScheme(cutting=CUTTINGS[way.cutting], max_distance=max_distance)
    with open_passages(path, scheme, keep_text=way.verified) as index:
        for document in indexed:
            index.add(document.name, document.text)


def run(
    path: Path, way: Way, level: str, checked: Sequence[Checked], by_name: dict[str, str]
) -> Run:
    """Check the texts and judge what is reported."""
    least = ASKED_SIMILARITY if way.mode == "exact" else CheckOptions().min_similarity
    question = CheckOptions(mode="fast" if way.mode == "fast" else "exact", min_similarity=least)
    done = Run(way, level)
    with open_passages(path, create=False) as index:
        for one in checked:
            started = time.perf_counter()
            report = index.check("checked", one.text, question)
            done.seconds += time.perf_counter() - started
            _judge(done, one, report, by_name)
    return done


def _judge(done: Run, one: Checked, report: PassageReport, by_name: dict[str, str]) -> None:
    parts: defaultdict[int, list[CheckedPassage]] = defaultdict(list)
    number = 0
    for passage in report.passages:
        while number < len(one.planted) and one.planted[number].end <= passage.start:
            number += 1
        planted = one.planted[number] if number < len(one.planted) else None
        inside = planted is not None and _mostly_inside(passage, planted)
        if inside:
            parts[number].append(passage)
        if passage.sources:
            best = passage.sources[0]
            right = _right(passage, best, planted if inside else None, by_name)
            size = texts.letters(passage.text)
            done.hits.append(Hit(one.language, size, best.similarity, best.distance, right, inside))
    default = CheckOptions().min_similarity
    for at, planted in enumerate(one.planted):
        passages = [passage for passage in parts[at] if not passage.short]
        right = tuple(
            (max(found), len(passage.text))
            for passage in passages
            if (
                found := [
                    source.similarity
                    for source in passage.sources
                    if _right(passage, source, planted, by_name)
                ]
            )
        )
        characters = sum(len(passage.text) for passage in passages)
        outcome = Outcome(planted, characters, right)
        done.outcomes.append(outcome)
        if SHARES[done.level] == 0 and outcome.covered(default) < FOUND_SHARE:
            around = one.text[max(planted.start - 20, 0) : planted.end + 20]
            done.missed.append((planted, around))


def _mostly_inside(passage: CheckedPassage, planted: Planted) -> bool:
    shared = min(passage.end, planted.end) - max(passage.start, planted.start)
    return 2 * shared >= passage.end - passage.start


def _right(
    passage: CheckedPassage, source: Source, planted: Planted | None, by_name: dict[str, str]
) -> bool:
    """It is where the plant was taken, or shares text by a measure that is not the index's: with
    the passage, or with the plant as it was before it was edited.
    """
    there = by_name[source.document][source.start : source.end]
    if planted is not None:
        plant = planted.plant
        if source.document == plant.document and (
            source.start < plant.end and plant.start < source.end
        ):
            return True
        if texts.shares_text(plant.text, there):
            return True
    return texts.shares_text(passage.text, there)


def precision(hits: Sequence[Hit], least: float) -> str:
    """Of hits at least so similar, the share that is right, and how many there are."""
    kept = [hit.right for hit in hits if hit.similarity >= least]
    return f"{proportion(sum(kept), len(kept))} of {len(kept)}"


def recall(outcomes: Sequence[Outcome], least: float) -> str:
    """Of plants, the share that is found, with its interval."""
    return proportion(
        sum(outcome.covered(least) >= FOUND_SHARE for outcome in outcomes), len(outcomes)
    )


def summary(runs: Sequence[Run]) -> str:
    """A row for each way and level."""
    least = CheckOptions().min_similarity
    rows = []
    for one in runs:
        covered = [outcome.covered(least) for outcome in one.outcomes]
        rows.append(
            [
                one.way.cutting,
                one.way.mode,
                "kept" if one.way.verified else "-",
                one.level,
                recall(one.outcomes, least),
                f"{sum(covered) / max(len(covered), 1):.3f}",
                precision(one.hits, least),
                precision([hit for hit in one.hits if not hit.planted], least),
            ]
        )
    header = ["cutting", "mode", "texts", "edited", "recall", "covered", "precision"]
    return table([*header, "precision outside plants"], rows, left=4)


def by_what(runs: Sequence[Run], what: Callable[[str, int], str], name: str) -> str:
    """Recall by level, and precision of all levels together, by language or length."""
    least = CheckOptions().min_similarity
    rows = []
    ways = list(dict.fromkeys(one.way for one in runs))
    for way in ways:
        mine = [one for one in runs if one.way == way]
        groups = {
            what(outcome.planted.plant.language, outcome.planted.plant.letters)
            for one in mine
            for outcome in one.outcomes
        }
        for group in sorted(groups, key=_natural):
            cells = []
            for one in mine:
                kept = [
                    outcome
                    for outcome in one.outcomes
                    if what(outcome.planted.plant.language, outcome.planted.plant.letters) == group
                ]
                found = sum(outcome.covered(least) >= FOUND_SHARE for outcome in kept)
                cells.append(f"{found / len(kept):.3f}" if kept else "-")
            hits = [
                hit for one in mine for hit in one.hits if what(hit.language, hit.letters) == group
            ]
            plants = sum(
                what(outcome.planted.plant.language, outcome.planted.plant.letters) == group
                for outcome in mine[0].outcomes
            )
            rows.append([str(way), group, str(plants), *cells, precision(hits, least)])
    levels = list(dict.fromkeys(one.level for one in runs))
    return table(["way", name, "plants", *levels, "precision"], rows, left=2)


def _natural(name: str) -> tuple[int, str]:
    digits = name.partition("-")[0].rstrip("+")
    return (int(digits) if digits.isdigit() else 0, name)


def by_similarity(runs: Sequence[Run]) -> str:
    """Recall by level and precision, if sources had to be at least so similar."""
    rows = []
    exact = [one for one in runs if one.way.mode == "exact"]
    for way in dict.fromkeys(one.way for one in exact):
        mine = [one for one in exact if one.way == way]
        hits = [hit for one in mine for hit in one.hits]
        for least in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9):
            cells = [recall(one.outcomes, least).partition(" ")[0] for one in mine]
            rows.append([str(way), f"{least:.2f}", *cells, precision(hits, least)])
    levels = list(dict.fromkeys(one.level for one in exact))
    return table(["way", "min_similarity", *levels, "precision"], rows, left=2)
