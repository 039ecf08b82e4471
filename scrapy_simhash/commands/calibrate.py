"""``calibrate``: which k and which least resemblance fit one's own pages."""

from __future__ import annotations

import argparse
import csv
import json
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands import calibrate_json, calibrate_output
from scrapy_simhash.commands._options import (
    add_command,
    add_scheme_options,
    known_indexes,
    min_tokens,
    schemes_and_distances,
    whole,
)
from scrapy_simhash.commands._output import note, progress, show
from scrapy_simhash.commands._pages import add_reading_options, reading
from scrapy_simhash.commands.fitting import indexes_in_use, served_distance
from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.resemblance import DIFFERENT, NEAR_DUPLICATE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_simhash.calibration.calibrating import Calibration
    from scrapy_simhash.documents.reader import Skipped

_DESCRIPTION = """\
Measures on a sample of your own pages which k and which least resemblance fit them: how many bits
near-duplicate pages differ in, how many different ones, and what tells them apart best. Ends with
the lines for settings.py.

  {program} calibrate pages/
  {program} calibrate --preset wide --preset classic feed.jsonl.gz
  {program} calibrate --sample 5000 --pairs look-at.csv --json pages/
  {program} calibrate .scrapy/simhash/spiders/news

Files and folders hold HTML pages or plain texts; JSON lines hold one in each line (--text-field).
All pairs of the sample are compared by their resemblance: the share of their runs of 5 words (8
characters in Chinese, Japanese and Korean) that both have. From --threshold on they count as
near-duplicates, below 0.2 as different; what lies between is not judged. Pages of one site whose
names differ are no near-duplicates (SIMHASH_SAME_TITLE). A pair is found if it is within k and its
similarity, which sketches estimate, is high enough (SIMHASH_MIN_RESEMBLANCE). The k with the best
balance of recall and precision (F1) is chosen, and of several the one in the middle.

If the project has indexes that the proposed settings do not fit, the commands that rebuild them
come first. An index has no texts: of one, distances are shown, and no k is chosen.
"""
_SEED = 1
_SHOWN_SKIPS = 20


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``calibrate``."""
    parser = add_command(
        subparsers, "calibrate", _DESCRIPTION, "which settings fit your own pages, by measurement"
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE|INDEX", help="files or folders of pages; or indexes"
    )
    parser.add_argument(
        "--sample",
        metavar="N",
        type=whole(2, 50_000),
        default=2000,
        help="pages that are drawn; all of their pairs are compared (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", metavar="N", type=whole(0), default=_SEED, help="of the draw (default: 1)"
    )
    parser.add_argument(
        "--threshold",
        metavar="R",
        type=_threshold,
        default=NEAR_DUPLICATE,
        help="resemblance from which on pages are near-duplicates (default: %(default)s)",
    )
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        help="write the pairs that k gets wrong, and those close to it, as CSV to look at",
    )
    parser.add_argument("--json", action="store_true", help="show the result as JSON")
    add_scheme_options(parser, several=True, max_distance=False, confirmation=True)
    add_reading_options(parser)


def _threshold(text: str) -> float:
    number = float(text)
    if not DIFFERENT <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text}: from {DIFFERENT} to 1")
    return number


def run(options: argparse.Namespace) -> int:
    """Calibrate."""
    from scrapy_simhash.calibration.index_distances import is_index

    paths = _paths(options.files)
    indexes = [path for path in paths if is_index(path)]
    if indexes and len(indexes) < len(paths):
        options.wrong_usage("pages or indexes, not both")
    if options.pairs is not None:
        if indexes:
            options.wrong_usage("--pairs: an index has no texts to compare")
        _check_place(Path(options.pairs))
    return _run_indexes(indexes, options) if indexes else _run_pages(paths, options)


def _paths(files: Sequence[str]) -> list[Path]:
    for file in files:
        if not file:  # Path("") is the working directory
            raise SimhashError("a file without a name: an empty variable of the shell?")
        if not Path(file).exists():
            raise SimhashError(f"{file}: there is no such file")
        if below := known_indexes(Path(file)):
            names = "".join(f"\n  {one}" for one in below)
            raise SimhashError(f"{file} holds indexes: say which{names}")
    return [Path(file) for file in files]


def _check_place(place: Path) -> None:
    """Known to be wrong before a long measurement, rather than after it."""
    if place.is_dir():
        raise SimhashError(f"{place} is a folder: name a file in it")
    if not place.parent.is_dir():
        raise SimhashError(f"{place} cannot be written: there is no folder {place.parent}")


def _run_indexes(indexes: Sequence[Path], options: argparse.Namespace) -> int:
    from scrapy_simhash.calibration.index_distances import index_distances

    with progress("entries") as moved:
        found = [
            index_distances(path, options.sample, options.seed, on_progress=moved)
            for path in indexes
        ]
    if options.json:
        report = [calibrate_json.index_as_json(one) for one in found]
        show(json.dumps({"indexes": report}, indent=2))
    else:
        for one in found:
            calibrate_output.show_index(one)
    return 0


def _run_pages(paths: Sequence[Path], options: argparse.Namespace) -> int:
    from scrapy_simhash.calibration.calibrating import Preset, calibrate
    from scrapy_simhash.calibration.sampling import Sample

    indexes = indexes_in_use(options.settings)
    presets = [
        Preset(
            *(one.preset, one.scheme, one.max_distance, one.confirmation),
            served_distance=served_distance(indexes, one.scheme),
        )
        for one in schemes_and_distances(options)
    ]
    least = min_tokens(options)
    skips = _Skips()
    with progress("documents") as moved:
        documents = reading(options).documents(paths)
        sample = Sample.draw(
            documents, options.sample, options.seed, on_progress=moved, on_skipped=skips.tell
        )
    if not sample.read:
        raise SimhashError(f"no page could be read of {', '.join(options.files)}")
    with ExitStack() as bars:

        @cache
        def bar() -> Callable[..., Any]:
            bars.close()  # that of the step before
            return bars.enter_context(progress("pages compared", len(sample)))

        def compared(done: int, of: int) -> None:
            bar()(done, of)

        calibration = calibrate(
            sample,
            presets,
            min_tokens=least,
            seed=options.seed,
            threshold=options.threshold,
            list_pairs=options.pairs is not None,
            on_page=bars.enter_context(progress("pages", len(sample))),
            on_pairs=compared,
        )
    if options.pairs is not None:
        _write_pairs(Path(options.pairs), calibration)
    if options.json:
        show(json.dumps(calibrate_json.as_json(calibration, indexes), indent=2))
    else:
        calibrate_output.show_calibration(calibration, indexes)
    return 0


class _Skips:
    """Says what cannot be read, a few times."""

    def __init__(self) -> None:
        self._count = 0

    def tell(self, skipped: Skipped) -> None:
        self._count += 1
        if self._count <= _SHOWN_SKIPS:
            detail = f" ({skipped.detail})" if skipped.detail else ""
            note(f"left out {skipped.place}: {skipped.reason}{detail}")
        elif self._count == _SHOWN_SKIPS + 1:
            note("left out more, which are counted below")


def _write_pairs(place: Path, calibration: Calibration) -> None:
    names = (
        *("preset", "kind", "distance", "similarity", "resemblance", "content_resemblance"),
        *("confirmed", "a", "b"),
    )
    try:
        with place.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for one, pairs in zip(calibration.presets, calibration.pairs, strict=True):
                for pair in pairs:
                    row = {
                        **pair._asdict(),
                        "preset": one.preset.name,
                        "similarity": None if pair.similarity is None else f"{pair.similarity:.2f}",
                        "resemblance": f"{pair.resemblance:.4f}",
                        "content_resemblance": f"{pair.content_resemblance:.4f}",
                        "a": escaped(pair.a),
                        "b": escaped(pair.b),
                    }
                    writer.writerow([row[name] for name in names])
    except OSError as error:
        raise SimhashError(
            f"{place} cannot be written: {error.strerror}: choose another file"
        ) from error
