"""Shares of a text that stand in another, beside what is known of the two."""

from __future__ import annotations

import csv
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from quality_lib.output import table
from quality_lib.truth import truth_tokens

from passages_lib import texts
from scrapy_simhash.passages.cutting import Cutting
from scrapy_simhash.passages.index import open_passages
from scrapy_simhash.passages.matching import CheckOptions
from scrapy_simhash.passages.scheme import PassageScheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.passages.result import PassageReport

RESEMBLANCE = (0.3, 0.9)
SHINGLE_TOKENS = 5
LEAST = (0.6, 0.75, 0.9, 1.0)
CUTTINGS = {"sentences": Cutting(), "runs of 30": Cutting("runs", 30)}
_OUTLIERS = 5


class Pair(NamedTuple):
    """Two documents: their set's resemblance, and containments of shingles that are ours."""

    set_name: str
    a: str
    b: str
    jaccard: float
    own_jaccard: float
    a_in_b: float
    b_in_a: float


class Shares(NamedTuple):
    """Of a text, what stands in the other one: counted whole from each least similarity on, and
    counted by their similarity.
    """

    at_least: tuple[float, ...]
    weighted: float


def show(folders: Iterable[Path], most: int, max_distance: int) -> None:
    """All tables."""
    pairs: list[Pair] = []
    by_name: dict[str, str] = {}
    for folder in folders:
        by_name.update({one.name: one.text for one in texts.load([folder])})
        pairs += _pairs(folder, by_name)[:most]
    print(
        f"{len(pairs)} pairs with a resemblance from {RESEMBLANCE[0]} to {RESEMBLANCE[1]}; the "
        f"symmetric estimate is s1 s2 / (s1 + s2 - s1 s2)"
    )
    for name, cutting in CUTTINGS.items():
        found = measured(pairs, by_name, PassageScheme(cutting=cutting, max_distance=max_distance))
        print(f"\n== {name}: rank correlation with the resemblance, and with containment\n")
        print(correlations(pairs, found))
        print(f"\n== {name}: farthest from the resemblance, at min_similarity 0.75\n")
        print(outliers(pairs, found))


def _pairs(folder: Path, by_name: dict[str, str]) -> list[Pair]:
    with (folder / "pairs.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = []
    for row in rows:
        jaccard = float(row["jaccard"])
        a, b = f"{folder.name}/{row['a']}", f"{folder.name}/{row['b']}"
        if RESEMBLANCE[0] <= jaccard <= RESEMBLANCE[1] and a in by_name and b in by_name:
            one, other = _shingles(by_name[a]), _shingles(by_name[b])
            shared = len(one & other)
            found.append(
                Pair(
                    folder.name,
                    a,
                    b,
                    jaccard,
                    shared / max(len(one | other), 1),
                    shared / max(len(one), 1),
                    shared / max(len(other), 1),
                )
            )
    return found


def _shingles(text: str) -> set[tuple[str, ...]]:
    tokens = truth_tokens(text)
    return {
        tuple(tokens[at : at + SHINGLE_TOKENS]) for at in range(len(tokens) - SHINGLE_TOKENS + 1)
    }


def measured(
    pairs: Sequence[Pair], by_name: dict[str, str], scheme: PassageScheme
) -> list[tuple[Shares, Shares]]:
    """For each pair, the share of b that stands in a, and of a that stands in b."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        asked[pair.a].add(pair.b)
        asked[pair.b].add(pair.a)
    found: dict[tuple[str, str], Shares] = {}
    question = CheckOptions(min_similarity=LEAST[0], common_documents=0)
    for name, others in asked.items():
        with (
            tempfile.TemporaryDirectory() as directory,
            open_passages(Path(directory) / "index", scheme, keep_text=True) as index,
        ):
            index.add(name, by_name[name])
            for other in sorted(others):
                found[name, other] = shares(index.check(other, by_name[other], question))
    return [(found[pair.a, pair.b], found[pair.b, pair.a]) for pair in pairs]


def shares(report: PassageReport) -> Shares:
    """Of the characters that are no white space. Passages that were not looked up are left out."""
    sizes = [
        (sum(map(len, passage.text.split())), passage.similarity)
        for passage in report.passages
        if not passage.short
    ]
    total = max(sum(size for size, _ in sizes), 1)
    return Shares(
        tuple(
            sum(size for size, similarity in sizes if similarity >= least) / total
            for least in LEAST
        ),
        sum(size * similarity for size, similarity in sizes) / total,
    )


def symmetric(one: float, other: float) -> float:
    """What both shares would be of the two texts together, if they were of sets."""
    return one * other / (one + other - one * other) if one and other else 0.0


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """The correlation of ranks; equal values share their mean rank."""
    first, second = _ranks(one), _ranks(other)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, group, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[group]
    return ranks


def correlations(pairs: Sequence[Pair], found: Sequence[tuple[Shares, Shares]]) -> str:
    """A row for each set and way of counting."""
    ways = [(f"whole from {least:.2f} on", number) for number, least in enumerate(LEAST)]
    ways.append(("by their similarity", -1))
    rows = []
    for group in ["all", *sorted({pair.set_name for pair in pairs})]:
        kept = [
            (pair, *both)
            for pair, both in zip(pairs, found, strict=True)
            if group in ("all", pair.set_name)
        ]
        for name, way in ways:
            b_share = [_share(b_in_a, way) for _, b_in_a, _ in kept]
            a_share = [_share(a_in_b, way) for _, _, a_in_b in kept]
            both = [symmetric(one, other) for one, other in zip(b_share, a_share, strict=True)]
            jaccard = [pair.jaccard for pair, *_ in kept]
            own = [pair.own_jaccard for pair, *_ in kept]
            contained = [pair.b_in_a for pair, *_ in kept] + [pair.a_in_b for pair, *_ in kept]
            error = np.mean(np.abs(np.array(both) - np.array(own)))
            rows.append(
                [
                    group,
                    name,
                    str(len(kept)),
                    f"{spearman(b_share, jaccard):.3f}",
                    f"{spearman(both, jaccard):.3f}",
                    f"{spearman(both, own):.3f}",
                    f"{spearman(b_share + a_share, contained):.3f}",
                    f"{error:.3f}",
                ]
            )
    header = ["set", "passages count", "pairs", "share of b", "symmetric", "symmetric, 5 tokens"]
    return table([*header, "shares, containment", "mean error"], rows, left=2)


def _share(of: Shares, way: int) -> float:
    return of.weighted if way < 0 else of.at_least[way]


def outliers(pairs: Sequence[Pair], found: Sequence[tuple[Shares, Shares]]) -> str:
    """The pairs whose ranks differ most."""
    at = LEAST.index(0.75)
    both = [symmetric(one.at_least[at], other.at_least[at]) for one, other in found]
    gaps = _ranks(both) - _ranks([pair.jaccard for pair in pairs])
    rows = []
    for number in np.argsort(-np.abs(gaps))[:_OUTLIERS]:
        pair, (one, other) = pairs[number], found[number]
        rows.append(
            [
                f"{pair.a} | {pair.b}",
                f"{pair.jaccard:.3f}",
                f"{both[number]:.3f}",
                f"{one.at_least[at]:.3f} {pair.b_in_a:.3f}",
                f"{other.at_least[at]:.3f} {pair.a_in_b:.3f}",
                f"{one.at_least[-1]:.3f} {other.at_least[-1]:.3f}",
            ]
        )
    header = ["pair", "resemblance", "symmetric", "b: share, contained", "a: share, contained"]
    return table([*header, "equal"], rows)
