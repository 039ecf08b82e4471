"""``calibrate``: measure which k and which least resemblance fit a user's pages."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands import calibrate_output
from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import (
    WrongUsage,
    add_number,
    add_scheme_options,
    add_share,
    all_indexes,
    settings_of_presets,
)
from scrapy_simhash.commands._output import progress, show_json, writable, write_file
from scrapy_simhash.commands._pages import Skips, add_reading_options, existing_paths, make_reader
from scrapy_simhash.commands.needed_rebuilds import project_indexes, served_distance
from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.resemblance import DIFFERENT, NEAR_DUPLICATE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy_simhash.calibration.calibrating import Calibration

_DESCRIPTION = """\
Measures which k and which least resemblance best separate near-duplicates from different pages, on
a sample of your own pages. The last lines of the output are for settings.py.

  {program} calibrate pages/
  {program} calibrate --preset wide --preset classic feed.jsonl.gz
  {program} calibrate --sample 5000 --pairs look-at.csv --json pages/
  {program} calibrate .scrapy/simhash/spiders/news

Files and folders hold HTML pages or plain texts; each line of a JSON lines file holds one
(--text-field). Pairs of pages with a resemblance of --threshold or more are near-duplicates, and
pairs below 0.2 are different. The chosen k has the highest F1, the harmonic mean of recall and
precision. If an index of the project does not support this k, the output shows the command that
rebuilds the index. For an INDEX, only distances are shown, because its texts are not read.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE|INDEX", help="files or folders of pages, or indexes"
    )
    add_number(parser, "--sample", "number of pages in the random sample", 2, 50_000, default=2000)
    add_number(parser, "--seed", "seed of the random sample", 0, default=1)
    meaning = "least resemblance of near-duplicates"
    add_share(parser, "--threshold", meaning, DIFFERENT, default=NEAR_DUPLICATE)
    parser.add_argument(
        "--pairs",
        metavar="FILE",
        help="write the pairs that k gets wrong, and those close to k, to a CSV file",
    )
    add_scheme_options(parser, several=True, max_distance=False, confirmation=True)
    add_reading_options(parser)


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.calibration.index_distances import is_index

    paths = _paths(options.files)
    indexes = [path for path in paths if is_index(path)]
    if indexes and len(indexes) < len(paths):
        raise WrongUsage("give pages or indexes, not both")
    if options.pairs is not None:
        if indexes:
            raise WrongUsage("--pairs needs pages: texts of an index are not read")
        writable(options.pairs)
    if indexes:
        _run_indexes(indexes, options)
    else:
        _run_pages(paths, options)


def _paths(files: Sequence[str]) -> list[Path]:
    paths = existing_paths(files)
    for path in paths:
        if indexes := all_indexes(path):
            names = "".join(f"\n  {directory}" for directory in indexes)
            raise SimhashError(f"{path} holds indexes: name the directory of one{names}")
    return paths


def _run_indexes(indexes: Sequence[Path], options: argparse.Namespace) -> None:
    from scrapy_simhash.calibration.index_distances import index_distances

    with progress("entries") as on_progress:
        measured = [
            index_distances(path, options.sample, options.seed, on_progress=on_progress)
            for path in indexes
        ]
    if options.json:
        show_json(
            {"indexes": [calibrate_output.index_as_json(distances) for distances in measured]}
        )
    else:
        for distances in measured:
            calibrate_output.show_index(distances)


def _run_pages(paths: Sequence[Path], options: argparse.Namespace) -> None:
    from scrapy_simhash.calibration.calibrating import PresentSettings, calibrate
    from scrapy_simhash.calibration.sampling import Sample

    indexes = project_indexes(options.settings)
    present = settings_of_presets(options)
    presets = [
        PresentSettings(
            _preset_text(settings.preset_choice),
            settings.scheme,
            settings.max_distance,
            settings.confirmation,
            served_distance(indexes, settings.scheme),
        )
        for settings in present
    ]
    skips = Skips()
    with progress("documents") as on_progress:
        documents = make_reader(options).documents(paths)
        sample = Sample.draw(
            documents, options.sample, options.seed, on_progress=on_progress, on_skipped=skips.add
        )
    if not sample.read:
        raise SimhashError(f"no page could be read from {', '.join(options.files)}")
    # The bar runs twice: first pages are fingerprinted, then pairs are compared.
    with progress("pages", len(sample)) as on_progress:
        calibration = calibrate(
            sample,
            presets,
            min_tokens=present[0].min_tokens,
            seed=options.seed,
            threshold=options.threshold,
            list_pairs=options.pairs is not None,
            on_page_progress=on_progress,
            on_pairs_progress=on_progress,
        )
    if options.pairs is not None:
        _write_pairs(Path(options.pairs), calibration)
    if options.json:
        show_json(calibrate_output.as_json(calibration, indexes))
    else:
        calibrate_output.show_calibration(calibration, indexes)


def _preset_text(choice: object) -> str:
    """Return a value of SIMHASH_PRESET as a value of ``--preset``: a dict as JSON."""
    return json.dumps(dict(choice), default=list) if isinstance(choice, Mapping) else str(choice)


def _write_pairs(path: Path, calibration: Calibration) -> None:
    columns = "preset kind distance similarity resemblance content_resemblance confirmed a b"
    table = StringIO()
    writer = csv.DictWriter(table, columns.split(), extrasaction="ignore")
    writer.writeheader()
    for calibrated, pairs in zip(calibration.presets, calibration.pairs, strict=True):
        for pair in pairs:
            row = {
                **pair._asdict(),
                "preset": calibrated.preset.name,
                "similarity": None if pair.similarity is None else f"{pair.similarity:.2f}",
                "resemblance": f"{pair.resemblance:.4f}",
                "content_resemblance": f"{pair.content_resemblance:.4f}",
                "a": escaped(pair.a),
                "b": escaped(pair.b),
            }
            writer.writerow(row)
    write_file(path, table.getvalue())


COMMAND = Command(
    "calibrate", "measure which settings fit your own pages", _DESCRIPTION, _run, _add_arguments
)
