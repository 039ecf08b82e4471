"""How groups are judged: as text-dedup does for CORE, and by the adjusted Rand index."""

from __future__ import annotations

from collections import Counter
from math import comb
from typing import TYPE_CHECKING, NamedTuple

from groups_lib.corpora import groups, members

if TYPE_CHECKING:
    import numpy as np

    from groups_lib.corpora import Corpus


class Score(NamedTuple):
    """Measures of one method on one corpus.

    :param macro_precision: the mean of the precisions of copies and of others; text-dedup's table
        calls it macro F1.
    :param macro_f1: the mean of their F1.
    :param accuracy: the share of texts whose group is exactly right.
    :param rand: the adjusted Rand index of the groups.
    """

    precision: float
    recall: float
    macro_precision: float
    macro_f1: float
    accuracy: float
    rand: float


def score(corpus: Corpus, labels: np.ndarray) -> Score:
    """Judge groups; undecided pairs count for the Rand index alone.

    :param labels: the group of each text.
    """
    counts: Counter[str] = Counter()
    exact = 0
    found = members(labels)
    for copies, undecided, group in zip(corpus.copies, corpus.undecided, found, strict=True):
        said = group - undecided
        counts[_class(copies, said)] += 1
        exact += said == copies
    tp, fp, tn, fn = (counts[name] for name in ("TP", "FP", "TN", "FN"))
    precision, recall = _share(tp, fp), _share(tp, fn)
    others_precision, others_recall = _share(tn, fn), _share(tn, fp)
    pairs = [(one, other) for one, others in enumerate(corpus.copies) for other in others]
    truth = groups(len(corpus.texts), pairs)
    return Score(
        precision,
        recall,
        (precision + others_precision) / 2,
        (_f1(precision, recall) + _f1(others_precision, others_recall)) / 2,
        exact / max(len(corpus.texts), 1),
        adjusted_rand(truth, labels),
    )


def _class(copies: set[int], said: set[int]) -> str:
    """Return the class of a text as text-dedup's benchmark counts it."""
    if not said:
        return "FN" if copies else "TN"
    return "TP" if copies and copies <= said else "FP"


def adjusted_rand(truth: np.ndarray, labels: np.ndarray) -> float:
    """Return the adjusted Rand index of Hubert and Arabie (1985): 1 for equal groups, 0 as by
    chance.
    """

    def pairs(*keys: np.ndarray) -> int:
        sizes = Counter(zip(*(key.tolist() for key in keys), strict=True))
        return sum(comb(size, 2) for size in sizes.values())

    both, true, said = pairs(truth, labels), pairs(truth), pairs(labels)
    chance = true * said / max(comb(len(truth), 2), 1)
    most = (true + said) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else 1.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
