"""What the crawl found, held against what the generator planted."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from soak_lib.generate import KINDS, ORIGINAL, truth

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WRONG_SHOWN = 20


class Score(NamedTuple):
    """The numbers of right and wrong verdicts.

    :param judged: pages that got a verdict.
    :param planted: pages whose family was seen before them: all that were judged but the first of
        each family, whichever came first.
    :param right: near-duplicate verdicts whose page and representative are of one family.
    :param kinds: kind of copy → (found, planted).
    :param distances: distance → number of right verdicts.
    :param wrong_pairs: some of the wrong verdicts: page, representative, distance.
    """

    judged: int
    planted: int
    right: int
    wrong: int
    kinds: dict[str, tuple[int, int]]
    distances: dict[int, int]
    wrong_pairs: list[tuple[int, int, int]]

    @property
    def recall(self) -> float:
        """Return the share of planted pages that were found."""
        return self.right / self.planted if self.planted else 1.0

    @property
    def precision(self) -> float:
        """Return the share of found pages that are right."""
        found = self.right + self.wrong
        return self.right / found if found else 1.0


def scored(judged: Iterable[int], found: Mapping[int, tuple[int, int]], seed: int) -> Score:
    """Compare the verdicts with the truth.

    :param judged: numbers of the pages that got a verdict.
    :param found: number of a near-duplicate → number of its representative, distance.
    """
    families: defaultdict[int, list[int]] = defaultdict(list)
    kinds: dict[int, str] = {}
    for number in judged:
        known = truth(number, seed)
        families[known.original].append(number)
        kinds[number] = known.kind
    right: set[int] = set()
    distances: Counter[int] = Counter()
    wrong_pairs = []
    for number, (representative, distance) in found.items():
        if truth(number, seed).original == truth(representative, seed).original:
            right.add(number)
            distances[distance] += 1
        else:
            wrong_pairs.append((number, representative, distance))
    planted_kinds: Counter[str] = Counter()
    found_kinds: Counter[str] = Counter()
    for members in families.values():
        first = first_of(members, found)
        for number in members:
            if number != first:
                # An original that came after a copy of it is found by that copy's edit.
                kind = kinds[first] if kinds[number] == ORIGINAL else kinds[number]
                planted_kinds[kind] += 1
                found_kinds[kind] += number in right
    return Score(
        judged=len(kinds),
        planted=len(kinds) - len(families),
        right=len(right),
        wrong=len(wrong_pairs),
        kinds={kind: (found_kinds[kind], planted_kinds[kind]) for kind in KINDS},
        distances=dict(sorted(distances.items())),
        wrong_pairs=wrong_pairs[:_WRONG_SHOWN],
    )


def first_of(members: list[int], found: Mapping[int, tuple[int, int]]) -> int:
    """The page of a family that was judged first, most likely: the lowest number that was not
    called a near-duplicate.
    """
    return min((number for number in members if number not in found), default=min(members))
