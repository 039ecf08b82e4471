"""One finder over all sets: what it reported, counted, and printed by group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from common import table

from quality_lib import output, scoring
from quality_lib.corpus import BETWEEN, MUST
from quality_lib.peers import PEERS
from quality_lib.scoring import Figures
from scrapy_simhash.confirmation import UNCONFIRMED
from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import choose_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from quality_lib.corpus import Kind, PageSet
    from quality_lib.served import Row, Served
    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.index import TablePlan
    from scrapy_simhash.scheme import Scheme

MIN_PAIRS_OF_A_LANGUAGE = 20
WITHIN_K, TABLES = "within k", "tables"
ALL, CONFIRMED = "all", "confirmed"


class Finder(NamedTuple):
    """A scheme at a distance, or a peer, and whether its pairs are all or the confirmed ones."""

    name: str
    k: int | None
    by: str
    pairs: str = ALL

    def cells(self) -> list[str]:
        """For the left columns of a table."""
        return [self.name, "" if self.k is None else str(self.k), self.by, self.pairs]


HEADER = ("finder", "k", "found by", "pairs")


@dataclass
class Result:
    """Reported and existing pairs of each set by kind, sets in their order."""

    finder: Finder
    sets: list[str]
    reported: list[Counter[Kind]]
    existing: list[Counter[Kind]]
    missing: str = ""

    def figures(self, wanted: Callable[[Kind], bool] = lambda _kind: True) -> Figures:
        """Over all sets."""
        return Figures.of(_sum(self.reported), _sum(self.existing), wanted)

    def by_set(self) -> dict[str, Figures]:
        """Of each set."""
        rows = zip(self.sets, self.reported, self.existing, strict=True)
        return {name: Figures.of(reported, existing) for name, reported, existing in rows}

    def groups(self, what: str) -> dict[str, Figures]:
        """By set, by lang, or by origin."""
        if what == "set":
            return self.by_set()
        place = attrgetter(what)
        values = sorted({place(kind) for kind in _sum(self.existing)})
        found = {v: self.figures(partial(_has, place, v)) for v in values}
        if what == "lang":
            return {v: f for v, f in found.items() if f.must >= MIN_PAIRS_OF_A_LANGUAGE}
        return found

    def by_grade(self) -> dict[str, tuple[int, int]]:
        """Grade → reported, existing; C is cut where pairs begin to have to be found."""
        counts: dict[str, tuple[int, int]] = {}
        reported, existing = _sum(self.reported), _sum(self.existing)
        halves = {MUST: "C >= 0.8", BETWEEN: "C < 0.8"}
        for kind in sorted(existing, key=lambda kind: (kind.grade, kind.band == BETWEEN)):
            name = halves.get(kind.band, "C") if kind.grade == "C" else kind.grade
            some, every = counts.get(name, (0, 0))
            counts[name] = (some + reported[kind], every + existing[kind])
        return counts

    def as_json(self) -> dict[str, Any]:
        """All its figures."""
        row: dict[str, Any] = self.finder._asdict()
        if self.missing:
            return {**row, "missing": self.missing}
        groups = {
            f"by_{what}": {name: f.as_json() for name, f in self.groups(what).items()}
            for what in ("set", "lang", "origin")
        }
        grades = {
            name: {"reported": some, "pairs": every, "share_95": scoring.wilson(some, every)}
            for name, (some, every) in self.by_grade().items()
        }
        return {**row, "micro": self.figures().as_json(), "by_grade": grades, **groups}


def plan_for(bits: int, max_distance: int) -> TablePlan | None:
    """The tables an index would have; None if there is no plan for that distance."""
    try:
        return choose_plan(bits, max_distance)
    except PlanError:
        return None


def _has(place: attrgetter[str], value: str, kind: Kind) -> bool:
    return place(kind) == value


def _sum(counters: Sequence[Counter[Kind]]) -> Counter[Kind]:
    total: Counter[Kind] = Counter()
    for counter in counters:
        total.update(counter)
    return total


class Close(NamedTuple):
    """Pairs of pages by their numbers.

    :param apart: the distance of each pair.
    :param together: by k, which pairs a table of the index for that k brings together.
    """

    pairs: np.ndarray
    apart: np.ndarray
    together: dict[int, np.ndarray]


def close(
    pages: Sequence[Served], pairs: np.ndarray, apart: np.ndarray, plans: Mapping[int, TablePlan]
) -> Close:
    """Return pairs with what the tables of each k say of them."""
    fingerprints = [page.fingerprint for page in pages]
    certainties = [page.evidence.certainty for page in pages]
    together = {
        k: scoring.probed(fingerprints, certainties, pairs, plan)
        if plan.probes
        else scoring.sharing_a_prefix(fingerprints, pairs, plan)
        for k, plan in plans.items()
    }
    return Close(pairs, apart, together)


def is_reported(
    finder: Finder, found: Close, pages: Sequence[Served], confirmation: Confirmation
) -> np.ndarray:
    """Return which of the pairs a scheme reports. Nothing else decides it."""
    k = finder.k or 0
    reported: np.ndarray = found.apart <= k
    if finder.by == TABLES:
        reported = reported & found.together[k]
    if finder.pairs == CONFIRMED:
        chosen = np.flatnonzero(reported)
        for at in chosen:
            one, other = (pages[number].evidence for number in found.pairs[at])
            reported[at] = confirmation.compare(one, other).is_copy
    return reported


def scheme_results(
    name: str,
    scheme: Scheme,
    distances: Sequence[int],
    page_sets: Sequence[PageSet],
    served: Sequence[Sequence[Served]],
    *,
    confirmation: Confirmation = UNCONFIRMED,
) -> list[Result]:
    """A scheme at each distance, within it and through the tables, all pairs and confirmed ones."""
    finders = [
        Finder(name, k, by, pairs)
        for k in distances
        for by in (WITHIN_K, TABLES)
        for pairs in ((ALL,) if confirmation == UNCONFIRMED else (ALL, CONFIRMED))
    ]
    plans = {k: plan for k in distances if (plan := plan_for(scheme.bits, k))}
    names = [page_set.name for page_set in page_sets]
    results = {
        f: Result(f, names, [], [], "no plan" if f.by == TABLES and f.k not in plans else "")
        for f in finders
    }
    for page_set, pages in zip(page_sets, served, strict=True):
        fingerprints = [page.fingerprint for page in pages]
        existing = page_set.kinds()
        pairs, apart = scoring.close_pairs(fingerprints, scheme.bits, max(distances))
        found = close(pages, pairs, apart, plans)
        for finder, result in results.items():
            if result.missing:
                continue
            chosen = pairs[is_reported(finder, found, pages, confirmation)]
            result.reported.append(scoring.reported_kinds(page_set, chosen))
            result.existing.append(existing)
    return list(results.values())


def peer_results(
    names: Sequence[str], page_sets: Sequence[PageSet], rows: Sequence[Sequence[Row]]
) -> Iterator[Result]:
    """The peers, on the texts that the first scheme's detector did not skip.

    :param names: of the peers that are installed, as they were served.
    """
    by = {"simhash": WITHIN_K, "datasketch": "LSH"}
    for peer_name, peer in PEERS.items():
        k = 3 if peer_name == "simhash" else None
        finder = Finder(peer_name, k, by.get(peer_name, "equal"))
        result = Result(finder, [page_set.name for page_set in page_sets], [], [])
        if peer_name not in names:
            result.missing = f"not installed: pip install {peer.package}"
            yield result
            continue
        place = names.index(peer_name)
        for page_set, pages in zip(page_sets, rows, strict=True):
            pairs = peer.pairs([row.peers[place] for row in pages])
            result.reported.append(scoring.reported_kinds(page_set, pairs))
            result.existing.append(page_set.kinds())
        yield result


# Tables


def summary_table(results: Sequence[Result]) -> str:
    """Over all judged pairs."""
    rows = [
        [*r.finder.cells(), *(_missing(r) if r.missing else output.cells(r.figures()))]
        for r in results
    ]
    return table([*HEADER, *output.COLUMNS], rows, left=4)


def group_table(results: Sequence[Result], what: str) -> str:
    """By one thing, finders one below the other."""
    found = {r.finder: r.groups(what) for r in results if not r.missing}
    names = dict.fromkeys(name for groups in found.values() for name in groups)
    rows = [
        [name, *finder.cells(), *output.cells(groups[name])]
        for name in names
        for finder, groups in found.items()
        if name in groups
    ]
    return table([what, *HEADER, *output.COLUMNS], rows, left=5)


def grade_table(results: Sequence[Result]) -> str:
    """Share of the pairs of each grade that is reported."""
    found = {r.finder: r.by_grade() for r in results if not r.missing}
    names = list(dict.fromkeys(name for grades in found.values() for name in grades))
    rows = []
    for finder, grades in found.items():
        shares = (grades.get(name, (0, 0)) for name in names)
        texts = (
            f"{some}/{every}" if name == "F" else output.proportion(some, every)
            for name, (some, every) in zip(names, shares, strict=True)
        )
        rows.append([*finder.cells(), *texts])
    return table([*HEADER, *names], rows, left=4)


def _missing(result: Result) -> list[str]:
    return [result.missing, *[""] * (len(output.COLUMNS) - 1)]
