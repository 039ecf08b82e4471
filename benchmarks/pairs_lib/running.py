"""One contender on one input, in a process of its own."""

from __future__ import annotations

import json
import resource
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pairs_lib import inputs, plain
from scrapy_simhash.clustering import cluster, near_pairs
from scrapy_simhash.index.plan import TablePlan

# numpy's plain way takes the tables of Manku, Jain and Das Sarma, section 3.1.
_PLAIN_PLAN = (5, 2)
OURS = (
    "ours: near_pairs",
    "ours: cluster, leader",
    "ours: cluster, connected",
)
CERTAIN = tuple(f"{name}, certainties" for name in OURS)
PLAIN = ("plain numpy, argsort", "plain numpy, np.sort", "plain numpy, np.sort, no positions")
_WAYS = dict(zip(PLAIN, (plain.by_argsort, plain.by_sort, plain.values_by_sort), strict=True))


@dataclass(frozen=True)
class Task:
    """What a child measures: so many fingerprints with planted pairs, or a skewed input."""

    contender: str
    bits: int
    max_distance: int
    seed: int
    count: int = 0
    skew: str | None = None
    certainties: bool = False

    def to_json(self) -> str:
        """For the command line."""
        return json.dumps(asdict(self))


def main(text: str) -> None:
    """Measure, and print the result as JSON."""
    task = Task(**json.loads(text))
    certainties = None
    if task.skew is None:
        plant = inputs.planted_by_sums if task.certainties else inputs.planted
        words, first, second, certainties = plant(
            task.count, task.bits, task.max_distance, task.seed
        )
        if task.contender not in CERTAIN:
            certainties = None
    else:
        words = inputs.skewed(task.skew, task.bits, task.seed)
        first = second = np.empty(0, dtype=np.intp)
    small = words[:1000]
    run(
        small, None if certainties is None else certainties[:1000], task
    )  # imports and first calls are not measured
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    found, note = run(words, certainties, task)
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result: dict[str, Any] = {
        "contender": task.contender,
        "skew": task.skew,
        "count": len(words),
        "cpu_s": cpu_s,
        "wall_s": wall_s,
        "peak_rss_bytes": peak_bytes,
        "note": note,
    }
    if isinstance(found, np.ndarray) and task.skew is None:
        result["planted"] = len(first)
        result["missed"] = missed(words, found, first, second, task)
    print(json.dumps(result))


def run(words: np.ndarray, certainties: np.ndarray | None, task: Task) -> tuple[Any, str]:
    """Pairs by rows, or None; and what else there is to say."""
    wanted: dict[str, Any] = {"bits": task.bits, "max_distance": task.max_distance}
    wanted["certainties"] = certainties
    if "near_pairs" in task.contender:
        pairs = near_pairs(words, **wanted)
        if task.skew is None:
            batches = [np.stack([first, second]) for first, second, _ in pairs]
            found = np.concatenate([np.empty((2, 0), dtype=np.intp), *batches], axis=1)
            return found, described(pairs, found.shape[1])
        # In batches: there may be more than fit in memory.
        return None, described(pairs, sum(len(batch.first) for batch in pairs))
    if task.contender not in PLAIN:
        clusters = cluster(words, method=task.contender.split(", ")[1], **wanted)
        return None, f"{len(clusters):,} clusters"
    plan = TablePlan(task.bits, *_PLAIN_PLAN)
    found = _WAYS[task.contender](words, plan, task.max_distance)
    again = ", some again" if task.contender == PLAIN[2] else ""
    return found, f"{found.shape[1]:,} pairs{again}; {plan}"


def described(pairs: Any, count: int) -> str:
    """How many pairs, and how they were found."""
    way = pairs.plan or "all with all"
    return f"{count:,} pairs; {way}; recall at k {pairs.recall:.3f}"


def missed(
    words: np.ndarray, found: np.ndarray, first: np.ndarray, second: np.ndarray, task: Task
) -> int:
    """How many of the planted pairs were not found."""
    planted = np.stack([first, second])
    if task.contender == PLAIN[2]:
        planted, found = np.sort(words[planted], axis=0), np.sort(found, axis=0)
    # Two numbers as one: a multiplication that wraps around keeps different pairs apart.
    odd = np.uint64(0x9E3779B97F4A7C15)
    keys = [
        pair[0].astype(np.uint64) * odd ^ pair[1].astype(np.uint64) for pair in (planted, found)
    ]
    return int(np.count_nonzero(~np.isin(*keys)))
