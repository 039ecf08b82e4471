"""Check that the k which `scrapy simhash calibrate` proposes is one of the best.

For each page set and preset: calibrate on the pages of the set, or on its texts if it has no pages.
Then measure recall and precision on all judged pairs, as ``quality.py`` does with pages: at the
proposed k and at the best k, which has the highest F1.

    python benchmarks/calibration.py CORPUS…  [--preset PRESET]… [--sample N] [--json FILE] …

The calibration does not see the judged pairs; with ``--sample``, it sees only a part of the pages.
The exit status is 1 if recall or precision differs by more than 0.02 between the two k.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from quality_lib import corpus, output, scoring
from quality_lib.corpus import MUST, WRONG
from quality_lib.peers import version_of
from quality_lib.served import serve

from scrapy_simhash.calibration.calibrating import DEFAULT_SAMPLE, PresentSettings, calibrate
from scrapy_simhash.calibration.sampling import Sample
from scrapy_simhash.detector import DEFAULT_MIN_TOKENS
from scrapy_simhash.documents.reader import Document, DocumentReader
from scrapy_simhash.scheme import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quality_lib.corpus import PageSet
    from quality_lib.served import Row

    from scrapy_simhash.calibration.calibrating import Calibrated
    from scrapy_simhash.documents.reader import Skipped

MARGIN = 0.02
SEED = 1
PACKAGES = ("scrapy-simhash", "scrapy", "readability-lxml", "lxml", "jieba", "rjieba", "numpy")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result for a page set and a preset: recall and precision on the judged pairs at the
    proposed k, at the best k and at the preset's k (`own_…`), and as calibrate sees it (`seen_…`).
    """

    set: str
    preset: str
    pages: int
    near_duplicate_pairs: int
    edited_copy_pairs: int
    must_be_found: int
    max_distance: int | None
    recall: float | None
    precision: float | None
    seen_recall: float | None
    seen_precision: float | None
    best_from: int
    best_to: int
    best_recall: float
    best_precision: float
    own_max_distance: int
    own_recall: float
    own_precision: float

    @property
    def is_close(self) -> bool:
        """Return True if recall and precision are within the margin of those at the best k."""
        if self.recall is None or self.precision is None:
            return False
        apart = abs(self.recall - self.best_recall), abs(self.precision - self.best_precision)
        return max(apart) <= MARGIN + 1e-9


def pages_of(folder: Path, page_set: PageSet) -> Iterator[Document | Skipped]:
    """Yield all pages of a set, also short ones; if the set has no pages, its texts."""
    reading = DocumentReader(keep_html=True)
    with (folder / "docs.jsonl").open(encoding="utf-8") as lines:
        files = [doc["file"] for doc in map(json.loads, lines) if doc.get("file")]
    for file in files:
        yield from reading.file(folder / file)
    if not files:
        yield from (Document(doc.id, doc.text) for doc in page_set.documents)


def curve(page_set: PageSet, rows: Sequence[Row], place: int, bits: int) -> Any:
    """Return (recall, precision, F1) as arrays by k, of the scheme at `place`, on judged pairs."""
    fingerprints = [row.schemes[place].fingerprint for row in rows]
    counts = scoring.distance_counts(page_set, fingerprints, bits)
    must = sum(pair.band == MUST for pair in page_set.listed)
    found, wrong = np.cumsum(counts[MUST]), np.cumsum(counts[WRONG])
    recall = found / max(must, 1)
    precision = np.where(found + wrong, found / np.maximum(found + wrong, 1), 1.0)
    total = recall + precision
    return (
        recall,
        precision,
        np.where(total > 0, 2 * recall * precision / np.maximum(total, 1e-9), 0),
    )


def outcome(page_set: PageSet, pages: int, found: Calibrated, measured: Any) -> Outcome:
    """Return what is found with the proposed k, the best k and the preset's own k."""
    recall, precision, f1 = measured
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)
    k = None if found.choice is None else found.choice.max_distance
    own = found.preset.max_distance
    return Outcome(
        set=page_set.name,
        preset=found.preset.name,
        pages=pages,
        near_duplicate_pairs=found.near_duplicate_pairs,
        edited_copy_pairs=found.edited_copy_pairs,
        must_be_found=sum(pair.band == MUST for pair in page_set.listed),
        max_distance=k,
        recall=None if k is None else float(recall[k]),
        precision=None if k is None else float(precision[k]),
        seen_recall=None if found.chosen is None else found.chosen.recall,
        seen_precision=None if found.chosen is None else found.chosen.precision,
        best_from=int(best[0]),
        best_to=int(best[-1]),
        best_recall=float(recall[best[0]]),
        best_precision=float(precision[best[0]]),
        own_max_distance=own,
        own_recall=float(recall[own]),
        own_precision=float(precision[own]),
    )


def measure(folder: Path, arguments: argparse.Namespace) -> list[Outcome]:
    """Calibrate on the pages of a set, measure on its judged pairs, and return the results."""
    page_set = corpus.load(folder)
    presets = [
        PresentSettings(name, PRESETS[name].scheme, PRESETS[name].max_distance)
        for name in arguments.preset
    ]
    started = time.monotonic()
    sample = Sample.draw(pages_of(folder, page_set), arguments.sample, arguments.seed)
    calibration = calibrate(sample, presets, min_tokens=DEFAULT_MIN_TOKENS, seed=arguments.seed)
    print(f"{page_set.name}: calibrated in {time.monotonic() - started:.0f} s", file=sys.stderr)
    rows = serve(
        page_set.documents,
        [preset.scheme for preset in presets],
        (),
        pages=True,
        min_tokens=DEFAULT_MIN_TOKENS,
        processes=arguments.processes,
    )
    return [
        outcome(
            page_set,
            len(sample),
            found,
            curve(page_set, rows, place, presets[place].scheme.bits),
        )
        for place, found in enumerate(calibration.presets)
    ]


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a table with a line for each result."""
    header = ["set", "preset", "pages", "pairs", "edited", "k", "recall", "precision"]
    header += ["best k", "recall", "precision", "own k", "recall", "precision", "within 0.02"]
    rows = []
    for one in outcomes:
        best = f"{one.best_from}-{one.best_to}"
        cells = [one.set, one.preset, one.pages, one.near_duplicate_pairs, one.edited_copy_pairs]
        cells += [one.max_distance, one.recall, one.precision]
        cells += [best, one.best_recall, one.best_precision]
        cells += [one.own_max_distance, one.own_recall, one.own_precision]
        cells += ["yes" if one.is_close else "NO"]
        rows.append([_cell(cell) for cell in cells])
    return output.table(header, rows, left=2)


def _cell(value: float | str | None) -> str:
    if value is None:
        return output.NONE
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("folders", nargs="+", type=Path, metavar="CORPUS")
    add("--preset", action="append", choices=list(PRESETS),
        help="may be repeated (default: wide and classic)")  # fmt: skip
    add("--sample", type=int, default=DEFAULT_SAMPLE, metavar="N", help="most pages to see")
    add("--seed", type=int, default=SEED)
    add("--processes", type=int, default=2)
    add("--json", type=Path, metavar="FILE", help="write all figures")
    arguments = parser.parse_args(argv)
    arguments.preset = arguments.preset or ["wide", "classic"]
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Calibrate, measure and print; return 1 if a proposed k is not close to the best, else 0."""
    arguments = arguments_of(argv)
    environment = {
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: found for name in PACKAGES if (found := version_of(name))},
        "seed": arguments.seed,
    }
    for name, value in environment.items():
        items = value.items() if isinstance(value, dict) else ()
        print(f"{name}:", ", ".join(f"{key} {of}" for key, of in items) or value)
    outcomes = [found for folder in arguments.folders for found in measure(folder, arguments)]
    print()
    print(table(outcomes))
    close = sum(one.is_close for one in outcomes)
    print(f"\n{close} of {len(outcomes)} within {MARGIN} of the best k's recall and precision")
    if arguments.json:
        rows = [{**asdict(one), "is_close": one.is_close} for one in outcomes]
        report = {"environment": environment, "outcomes": rows}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 0 if close == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
