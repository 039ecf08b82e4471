"""``dedupe``: leave near-duplicates out of files of records or pages."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from scrapy_simhash.commands._command import Command, number
from scrapy_simhash.commands._output import note, progress, show_result
from scrapy_simhash.commands._pages import encoding
from scrapy_simhash.commands._settings import COPY_OPTIONS, FINGERPRINT_OPTIONS
from scrapy_simhash.dedupe.fields import HTML_FIELDS, TEXT_FIELDS
from scrapy_simhash.dedupe.options import (
    ADVICE,
    DEFAULT_TAGS,
    STANDARD_OUTPUT,
    DedupeOptions,
    DedupePaths,
    Fields,
)
from scrapy_simhash.documents.files import file_path, standard_input
from scrapy_simhash.documents.formats import Format

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.dedupe.judging import DedupeSummary


_STATE = ".dedupe"
_MAX_NAME_BYTES = 255
# Reasons that are said only if most records are skipped for them, as all others without advice:
# many feeds have some such records.
_USUAL = {
    "few_tokens": "they are short; --min-tokens sets the limit, and --text-field or --html-field "
    "names another field",
    "no_text": "no text was found in them; --text-field or --html-field names another field",
    "not_html": "they are no HTML pages; of WARC, texts of the type conversion are judged, too",
}


def _run(options: argparse.Namespace) -> int:
    """De-duplicate files. Return 1 if a file is damaged, else 0."""
    from scrapy_simhash.dedupe.run import dedupe

    _check(options)
    read, chosen = options.settings, options.settings.preset
    text_fields = tuple(options.text_field or ())
    if not text_fields and options.html_field is None:
        text_fields = tuple(read("SIMHASH_ITEM_FIELDS"))
    dedupe_options = DedupeOptions(
        action=read("SIMHASH_ACTION"),
        tags=dict(read("SIMHASH_ITEM_TAGS", unset=DEFAULT_TAGS)),
        incremental=read("SIMHASH_INCREMENTAL"),
        scope=read("SIMHASH_SCOPE"),
        max_bytes=read("SIMHASH_MAX_BYTES"),
        expected_records=read("SIMHASH_EXPECTED_PAGES"),
        timeout_ms=read("SIMHASH_TIMEOUT_MS"),
        scheme=chosen.scheme,
        max_distance=chosen.max_distance,
        confirmation=chosen.confirmation,
        format=options.format,
        fields=Fields(
            text=text_fields,
            html=options.html_field,
            key="" if options.key_field == "#" else options.key_field,
            names={None: None, "#": ()}.get(options.name_field, (options.name_field,)),
            distinct=tuple(read("SIMHASH_DISTINCT_BY")),
        ),
        min_tokens=read("SIMHASH_MIN_TOKENS"),
        encoding=options.encoding,
        delimiter="\t" if options.delimiter == "tab" else options.delimiter,
        workers=options.workers or 0,
    )
    with ExitStack() as stack:
        paths = _paths(options, stack)
        try:
            summary = dedupe(
                paths, dedupe_options, progress=partial(progress, unit="records"), note=note
            )
        except KeyboardInterrupt:
            # The state is temporary if there is no output file, or if standard input is read.
            is_kept = (paths.output_file or paths.verdicts) and paths.standard_input is None
            if is_kept and paths.state.exists():
                note("the verdicts are kept: run the same command again to go on")
            raise
    return _report(summary, options)


def _report(summary: DedupeSummary, options: argparse.Namespace) -> int:
    """Show the counts and what to do about them. Return the exit code."""
    if options.output != "-":
        names = ("output", "verdicts", "index")
        show_result(options, vars(summary) | {name: getattr(options, name) for name in names})
    for reason, count in summary.skipped.items():
        if reason in ADVICE or count > summary.records / 2:
            advice = (ADVICE | _USUAL).get(reason, "--verdicts FILE shows which")
            note(f"{count:,} of {summary.records:,} records were not judged ({reason}): {advice}")
    for name, why in summary.damaged.items():
        note(f"error: {name} cannot be read to its end ({why})")
    if not summary.records:
        note(
            f"error: there is no record in {', '.join(options.files)}. Is it the "
            "right file, and --format, if given, the right format? Of WARC, the records of the "
            "types response, resource and conversion are judged, and of folders HTML pages"
        )
    return 1 if summary.damaged or not summary.records else 0


def _check(options: argparse.Namespace) -> None:
    """Exit for options that are wrong whatever the files contain."""
    if options.output is None and options.verdicts is None:
        options.error("-o OUT or --verdicts FILE is needed")
    if options.json and options.output == "-":
        options.error("--json and -o - would both write to standard output")
    if options.verdicts == "-":
        options.error("--verdicts needs the name of a file; -o - is for standard output")
    if [*options.files, *2 * options.against].count("-") > 1:
        options.error("standard input can be read once, and not as --against")
    if options.delimiter not in (None, "tab") and len(options.delimiter) != 1:
        options.error(f"--delimiter {options.delimiter!r}: one character is needed, or tab")


def _paths(options: argparse.Namespace, stack: ExitStack) -> DedupePaths:
    output, verdicts, index = (
        None if name is None else file_path(name)
        for name in (options.output, options.verdicts, options.index)
    )
    result = verdicts if output in (None, STANDARD_OUTPUT) else output
    copied_input = None
    if result is None or "-" in options.files:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="simhash-dedupe-"))
        # Such a run cannot be resumed, so its state is temporary.
        result = Path(folder, "output")
        if "-" in options.files:
            copied_input = Path(folder, "standard-input.jsonl")
            with copied_input.open("wb") as file:  # a copy, because inputs are read twice
                shutil.copyfileobj(standard_input(), file)
    return DedupePaths(
        inputs=[
            copied_input if copied_input and file == "-" else file_path(file)
            for file in options.files
        ],
        standard_input=copied_input,
        output=output,
        verdicts=verdicts,
        index=index,
        state=_state_folder(result),
        overwrite=options.overwrite,
        restart=options.restart,
        against=[*map(file_path, options.against)],
    )


def _state_folder(result: Path) -> Path:
    """Return the path of the state of a run, beside its result. A long name becomes a hash."""
    name = result.name + _STATE
    if len(os.fsencode(name)) > _MAX_NAME_BYTES:
        name = f".simhash-{sha256(os.fsencode(name)).hexdigest()[:16]}{_STATE}"
    return result.with_name(name)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a file, a folder of HTML, or - for standard input (JSON lines, unless --format "
        "names another format)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="file for the records that are kept, in the format of the input (a folder for "
        "folders), compressed if the name ends in .gz; - for standard output",
    )
    parser.add_argument(
        "--verdicts",
        metavar="FILE",
        help="file for the verdicts, a line of JSON for each record",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    parser.add_argument(
        "--format",
        choices=get_args(Format),
        help="format of all files (default: by their names)",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--text-field",
        metavar="NAME",
        action="append",
        help="field with the text; may be repeated to join several (default: "
        f"SIMHASH_ITEM_FIELDS, else the first of {', '.join(TEXT_FIELDS)}). A field in an "
        "object has a dot in its name: content.rendered",
    )
    group.add_argument(
        "--html-field",
        metavar="NAME",
        help="field with an HTML page, whose main text is compared (default: the first of "
        f"{', '.join(HTML_FIELDS)}, or a text field that begins as a page)",
    )
    parser.add_argument(
        "--key-field",
        metavar="NAME",
        help="field with the key of a record (default: url, id, or FILE#NUMBER); # for FILE#NUMBER",
    )
    parser.add_argument(
        "--name-field",
        metavar="NAME",
        help="field with the name of a record, which must agree in copies (default: title, "
        "name or headline); # for none",
    )
    parser.add_argument(
        "--encoding",
        type=encoding,
        default="utf-8",
        help="encoding of JSON and CSV (default: %(default)s; UTF-16 is recognized)",
    )
    parser.add_argument(
        "--delimiter",
        metavar="C",
        help="character between the fields of CSV; tab for a tab (default: the one of comma, "
        "tab, semicolon and | that cuts the first lines into equal rows)",
    )
    parser.add_argument(
        "--index",
        metavar="DIR",
        help="an index to use and to fill; created if it is missing (default: a temporary "
        "one). With --incremental, records that it had before this run count as seen",
    )
    parser.add_argument(
        "--against",
        metavar="KNOWN",
        action="append",
        default=[],
        help="records with a copy in KNOWN are duplicates, too. KNOWN is an index, or a file "
        "or folder of records; the option may be repeated for files and folders. Nothing is "
        "written to KNOWN",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=number(1, 256),
        help="processes that read and fingerprint records; 1 to do all in this one (default: "
        "one for each processor, or 1 for small files)",
    )
    parser.add_argument(
        "--restart", action="store_true", help="discard an interrupted run, and begin again"
    )


COMMAND = Command(
    "dedupe",
    "leave near-duplicates out of files, or tag them",
    """\
Leaves near-duplicates out of files, or tags them: feeds that Scrapy wrote (JSON lines, JSON, CSV),
Parquet, WARC, and folders of HTML. The first of several copies is kept, and the verdicts are those
of a crawl. Records that cannot be read or judged are kept.

  %(prog)s pages.jsonl.gz -o distinct.jsonl.gz
  %(prog)s --action tag news-*.jl -o tagged.jl
  %(prog)s --html-field source --key-field id pages.parquet -o distinct.parquet
  %(prog)s crawl.warc.gz -o distinct.warc.gz --verdicts verdicts.jsonl
  %(prog)s mirror/ -o mirror-distinct
  zcat pages.jl.gz | %(prog)s - -o - | wc -l
  %(prog)s --index seen --incremental monday.jl -o monday-new.jl
  %(prog)s --against october.jl monday.jl -o monday-new.jl

After an interruption, the same command goes on. The output appears when it is complete.
""",
    _run,
    _arguments,
    settings=(
        *("action", "incremental", *FINGERPRINT_OPTIONS, *COPY_OPTIONS),
        *("distinct-by", "max-bytes"),
    ),
)
