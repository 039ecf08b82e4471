"""``calibrate``: measure which k and which least resemblance fit a user's pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command, add_number
from scrapy_simhash.commands._output import counted, progress, show, show_json
from scrapy_simhash.commands._pages import add_field_options, existing_paths, make_reader
from scrapy_simhash.commands._settings import COPY_OPTIONS, FINGERPRINT_OPTIONS, scheme_settings
from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.calibration import Calibration

_DESCRIPTION = """\
Measures which k and which least resemblance best separate near-duplicates from different pages, on
a sample of your own pages. The last lines of the output are for settings.py.

  {program} calibrate pages/
  {program} calibrate --preset classic feed.jsonl.gz
  {program} calibrate --sample 5000 --json pages/

Files and folders hold HTML pages or plain texts; each line of a JSON lines file holds one
(--text-field). Pairs of pages with a resemblance of 0.8 or more are near-duplicates, and pairs
below 0.5 are wrong. The chosen values have the highest F1 of recall and precision.
"""
_SHOWN_PER_CENT = (40, 50, 60, 70, 80, 90)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or folders of pages")
    add_number(parser, "--sample", "number of pages in the random sample", 2, 20_000, default=2000)
    add_field_options(parser)


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.calibration import calibrate, draw, fingerprinted
    from scrapy_simhash.detector import Detector

    paths = existing_paths(options.files)
    present = scheme_settings(options.settings)
    detector = Detector(present.scheme, min_tokens=present.min_tokens)
    sample = draw(make_reader(options).documents(paths), options.sample)
    if not sample.read:
        raise SimhashError(f"no page could be read from {', '.join(options.files)}")
    documents = progress(sample.documents, "pages")
    pages = list(fingerprinted(documents, detector, sample.left_out))
    found = calibrate(pages, detector, present.max_distance, present.confirmation)
    settings = _proposed(found, present.preset_choice)
    if options.json:
        arrays = {"recall": found.recall.round(4).tolist(), "wrong": found.wrong.tolist()}
        counts = {"read": sample.read, "pages": len(pages), "left_out": dict(sample.left_out)}
        show_json(counts | vars(found) | arrays | {"settings": settings})
        return
    show(f"read    {counted(sample.read, 'page')}; {len(pages):,} of the sample have a fingerprint")
    for reason, count in sample.left_out.most_common():
        show(f"        {count:,} left out: {escaped(reason)}")
    _show_pairs(found)
    if settings is None:
        show("\nNothing can be chosen: 100 wrong pairs and a near-duplicate pair are needed.")
        show("Give more pages.")
        return
    _show_table(found, present.max_distance)
    show("\nFor settings.py:\n")
    for name, value in settings.items():
        show(f"{name} = {value!r}")


def _proposed(found: Calibration, preset: object) -> dict[str, Any] | None:
    """Return the chosen settings by name; None if nothing was chosen."""
    if found.max_distance is None:
        return None
    settings = {"SIMHASH_PRESET": preset, "SIMHASH_MAX_DISTANCE": found.max_distance}
    if found.min_resemblance:
        settings["SIMHASH_MIN_RESEMBLANCE"] = found.min_resemblance
    return settings


def _show_pairs(found: Calibration) -> None:
    pairs = found.near_duplicate_pairs
    show(f"pairs   {pairs:,} near-duplicate (resemblance of 0.8 or more)")
    if found.edited_copies:
        show(
            f"        {found.edited_copies:,} edited copies of pages are added, which together "
            f"count as {found.near_duplicates - pairs} pairs: give more pages if you can"
        )
    if found.kept_apart:
        show(f"        {found.kept_apart:,} as near, but never confirmed: their names differ")
    show(f"        {found.wrong_pairs:,} wrong (resemblance below 0.5)")


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


COMMAND = Command(
    "calibrate",
    "measure which settings fit your own pages",
    _DESCRIPTION,
    _run,
    _add_arguments,
    settings=(*FINGERPRINT_OPTIONS, *COPY_OPTIONS, "max-bytes"),
)
