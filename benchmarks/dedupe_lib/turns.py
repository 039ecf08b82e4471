"""One run in which one worker and several take turns, every few seconds.

A machine whose speed changes from minute to minute makes two runs incomparable; here, both ways
have the same minutes, and an index of the same size.
"""

from __future__ import annotations

import os
import time
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from crawl_lib.processes import stolen_s

from scrapy_simhash import Scheme
from scrapy_simhash.dedupe import run
from scrapy_simhash.dedupe.options import DedupeOptions, DedupePaths
from scrapy_simhash.dedupe.workers import Workers
from scrapy_simhash.scheme import preset

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from scrapy_simhash.dedupe.fingerprinting import Fingerprinted, Fingerprinter, Job

_PARTS = 10


class Turn(NamedTuple):
    """So many records were read, fingerprinted and judged."""

    workers: int
    records: int
    elapsed_s: float


def in_turns(feed: Path, workers: int, *, jobs: int) -> dict[str, Any]:
    """De-duplicate a feed.

    :param workers: of every other turn, two or more.
    :param jobs: of a turn, each of some dozens of records.
    """
    if workers < 2:
        raise SystemExit("turns take two workers or more: --workers 1 2")
    turns: list[Turn] = []

    class TakingTurns:
        """In the place of `Workers`."""

        def __init__(self, fingerprinter: Fingerprinter, count: int) -> None:
            self._fingerprinter = fingerprinter
            self._workers = Workers(fingerprinter, count)

        def fingerprints(
            self, all_jobs: Iterable[Job]
        ) -> Generator[list[Fingerprinted], None, None]:
            left = iter(all_jobs)
            for turn in count():
                if (first := next(left, None)) is None:
                    return
                some = chain([first], islice(left, jobs - 1))
                alone = turn % 2 == 0
                jobs_done = (
                    map(self._fingerprinter.fingerprint, some)
                    if alone
                    else self._workers.fingerprints(some)
                )
                records, began_s = 0, time.perf_counter()
                for found in jobs_done:
                    records += len(found)
                    yield found  # the caller judges them
                elapsed_s = time.perf_counter() - began_s
                turns.append(Turn(1 if alone else workers, records, elapsed_s))

        def close(self) -> None:
            self._workers.close()

    chosen = preset("wide")
    options = DedupeOptions(
        scheme=Scheme.preset("wide"), max_distance=chosen.max_distance, workers=workers
    )
    places = DedupePaths(inputs=[feed], output=feed.with_name("out"), state=feed.with_name("state"))
    own = run.Workers
    run.Workers = TakingTurns  # type: ignore[assignment,misc]
    began_s, stolen_before_s = time.perf_counter(), stolen_s()
    try:
        run.dedupe(places, options)
    finally:
        run.Workers = own  # type: ignore[misc]
    elapsed_s = time.perf_counter() - began_s
    stolen_share = (stolen_s() - stolen_before_s) / elapsed_s / (os.cpu_count() or 1)
    return {**summary(turns, elapsed_s), "stolen_share": stolen_share}


def summary(turns: list[Turn], elapsed_s: float) -> dict[str, Any]:
    """µs for a record by one worker and by more, in parts of the run and in all of it.

    :param elapsed_s: of the run; what no turn took is writing, which one process does.
    """
    if len(turns) < 2:
        raise SystemExit("there was no second turn: more --records, or fewer --turn-jobs")
    pairs = [turns[at : at + 2] for at in range(0, len(turns) - 1, 2)]
    size = max(-(-len(pairs) // _PARTS), 1)
    parts = [_of_pairs(pairs[at : at + size]) for at in range(0, len(pairs), size)]
    records = sum(turn.records for turn in turns)
    rest_us = (elapsed_s - sum(turn.elapsed_s for turn in turns)) / max(records, 1) * 1e6
    whole = _of_pairs(pairs)
    alone_us, together_us = (whole[name] + rest_us for name in ("alone_us", "together_us"))
    return {
        "records": records,
        "parts": parts,
        "whole": whole,
        "rest_us": rest_us,
        "ratio_with_the_rest": alone_us / together_us,
    }


def _of_pairs(pairs: list[list[Turn]]) -> dict[str, float]:
    """µs for a record alone and together, and how many times as fast the latter is."""
    alone_us, together_us = (
        1e6 * sum(turn.elapsed_s for turn in way) / sum(turn.records for turn in way)
        for way in zip(*pairs, strict=True)
    )
    return {"alone_us": alone_us, "together_us": together_us, "ratio": alone_us / together_us}
