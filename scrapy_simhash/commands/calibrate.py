"""``calibrate``: measure which k and which least resemblance fit a user's pages."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command, number
from scrapy_simhash.commands._output import progress, show, show_json, show_result
from scrapy_simhash.commands._pages import add_field_arguments, existing_paths, make_reader
from scrapy_simhash.commands._settings import COPY_OPTIONS, FINGERPRINT_OPTIONS
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.calibration import Calibration


_SHOWN_PER_CENT = (40, 50, 60, 70, 80, 90)


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.calibration import calibrate, draw, fingerprinted
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.scheme import DEFAULT_PRESET

    paths = existing_paths(options.files)
    read, present = options.settings, options.settings.preset
    detector = Detector(present.scheme, min_tokens=read("SIMHASH_MIN_TOKENS"))
    left_out: Counter[str] = Counter()
    sample, readable = draw(make_reader(options).documents(paths), options.sample, left_out)
    if not readable:
        why = f" ({'; '.join(left_out)})" if left_out else ""
        raise SimhashError(
            f"no page could be read from {', '.join(options.files)}{why}: give HTML, or JSON lines "
            "with the text in --text-field"
        )
    pages = list(fingerprinted(progress(sample, "pages"), detector, left_out))
    found = calibrate(pages, detector, present.max_distance, present.confirmation)
    settings = {
        "SIMHASH_PRESET": read.given.get("SIMHASH_PRESET", DEFAULT_PRESET),
        "SIMHASH_MAX_DISTANCE": found.max_distance,
    }
    if found.min_resemblance:
        settings["SIMHASH_MIN_RESEMBLANCE"] = found.min_resemblance
    result: dict[str, Any] = {
        "read": readable,
        "pages": len(pages),
        "left_out": dict(left_out),
        **vars(found),
    }
    arrays = {"recall": result.pop("recall"), "wrong": result.pop("wrong")}
    if options.json:
        arrays = {name: array.round(4).tolist() for name, array in arrays.items()}
        chosen = None if found.max_distance is None else settings
        show_json(result | arrays | {"settings": chosen})
        return
    show_result(options, result)
    if found.max_distance is None:
        show("\nNothing can be chosen: 100 wrong pairs and a near-duplicate pair are needed.")
        show("Give more pages.")
        return
    _show_table(found, present.max_distance)
    show("\nFor settings.py:\n")
    for name, value in settings.items():
        show(f"{name} = {value!r}")


def _show_table(found: Calibration, present_k: int) -> None:
    """Show recall, and the number of wrong pairs, by k and least resemblance."""
    chosen = found.max_distance, round(found.min_resemblance * 100)
    columns = sorted({chosen[1], *_SHOWN_PER_CENT}) if chosen[1] else [0]
    reach = found.recall.shape[1] - 1
    ks = {*range(0, reach + 1, reach // 5), present_k, chosen[0]}
    show("\nRecall, and number of wrong pairs found, by k and least resemblance (* is chosen):\n")
    show(f"{'k':>5}" + "".join(f"{column / 100:>14g} " for column in columns))
    for k in sorted(k for k in ks if k is not None and k <= reach):
        cells = (
            f"{found.recall[column, k]:>8.3f}{found.wrong[column, k]:>6,}"
            f"{'*' if (k, column) == chosen else ' '}"
            for column in columns
        )
        show(f"{k:>5}{''.join(cells)}".rstrip())


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or folders of pages")
    parser.add_argument(
        "--sample",
        metavar="N",
        type=number(2, 20_000),
        default=2000,
        help="number of pages in the random sample (default: %(default)s)",
    )
    add_field_arguments(parser)


COMMAND = Command(
    "calibrate",
    "measure which settings fit your own pages",
    """\
Measures which k and which least resemblance best separate near-duplicates from different pages, on
a sample of your own pages. The last lines of the output are for settings.py.

  %(prog)s pages/
  %(prog)s --preset classic feed.jsonl.gz
  %(prog)s --sample 5000 --json pages/

Files and folders hold HTML pages or plain texts; each line of a JSON lines file holds one
(--text-field). Pairs of pages with a resemblance of 0.8 or more are near-duplicates, and pairs
below 0.5 are wrong. The chosen values have the highest F1 of recall and precision.
""",
    _run,
    _arguments,
    settings=(*FINGERPRINT_OPTIONS, *COPY_OPTIONS, "max-bytes"),
)
