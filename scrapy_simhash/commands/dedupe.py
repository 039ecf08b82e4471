"""``dedupe``: leave near-duplicates out of files of records or pages."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import (
    WrongUsage,
    add_number,
    add_scheme_options,
    chosen_settings,
    given,
)
from scrapy_simhash.commands._output import note, progress, show, show_json
from scrapy_simhash.commands._pages import encoding
from scrapy_simhash.dedupe.fields import HTML_FIELDS, TEXT_FIELDS
from scrapy_simhash.dedupe.options import (
    STANDARD_OUTPUT,
    DedupeOptions,
    DedupePaths,
    Fields,
    Format,
)
from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from scrapy_simhash.dedupe.summary import DedupeSummary

_DESCRIPTION = """\
Leaves near-duplicates out of files, or tags them: feeds that Scrapy wrote (JSON lines, JSON, CSV),
Parquet, WARC, and folders of HTML. The first of several copies is kept, and the verdicts are those
of a crawl. Records that cannot be read or judged are kept.

  {program} dedupe pages.jsonl.gz -o distinct.jsonl.gz
  {program} dedupe --action tag news-*.jl -o tagged.jl
  {program} dedupe --html-field source --key-field id pages.parquet -o distinct.parquet
  {program} dedupe crawl.warc.gz -o distinct.warc.gz --verdicts verdicts.jsonl
  {program} dedupe mirror/ -o mirror-distinct
  zcat pages.jl.gz | {program} dedupe - -o - | wc -l
  {program} dedupe --index seen --incremental monday.jl -o monday-new.jl
  {program} dedupe --against october.jl monday.jl -o monday-new.jl

After an interruption, the same command goes on. The output appears when it is complete.
"""
_STATE = ".dedupe"
_MAX_NAME_BYTES = 255


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a file, a folder of HTML, or - for standard input (JSON lines, unless --format "
        "names another format)",
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="file for the records that are kept, in the format of the input (a folder for "
        "folders), compressed if the name ends in .gz; - for standard output",
    )
    output.add_argument(
        "--verdicts", metavar="FILE", help="file for the verdicts, a line of JSON for each record"
    )
    output.add_argument(
        "--action",
        choices=("drop", "tag"),
        help="drop duplicates, or keep all records and add their verdicts in the fields that "
        "SIMHASH_ITEM_TAGS names (default: SIMHASH_ACTION, drop)",
    )
    output.add_argument("--overwrite", action="store_true", help="replace an existing output")
    reading = parser.add_argument_group("reading files")
    reading.add_argument(
        "--format",
        choices=get_args(Format),
        help="format of all files (default: by their names)",
    )
    content = reading.add_mutually_exclusive_group()
    content.add_argument(
        "--text-field",
        metavar="NAME",
        action="append",
        help="field with the text; may be repeated to join several. A title, name or headline "
        "among them is the record's name, too (default: SIMHASH_ITEM_FIELDS, else the first of "
        f"{', '.join(TEXT_FIELDS)})",
    )
    content.add_argument(
        "--html-field",
        metavar="NAME",
        help="field with an HTML page, whose main text is compared (default: the first of "
        f"{', '.join(HTML_FIELDS)}, or a text field that begins as a page)",
    )
    reading.add_argument(
        "--key-field",
        metavar="NAME",
        help="field with the key of a record (default: url, else FILE#NUMBER); # for FILE#NUMBER",
    )
    reading.add_argument(
        "--encoding",
        type=encoding,
        default="utf-8",
        help="encoding of JSON and CSV (default: %(default)s)",
    )
    meaning = "longer records are not judged, and kept (default: SIMHASH_MAX_BYTES)"
    add_number(reading, "--max-bytes", meaning, 1)
    judging = parser.add_argument_group("judging")
    judging.add_argument(
        "--index",
        metavar="DIR",
        help="an index to use and to fill; created if it is missing (default: a temporary one)",
    )
    judging.add_argument(
        "--incremental",
        action=argparse.BooleanOptionalAction,
        help="records that the index had before this run count as seen (default: "
        "SIMHASH_INCREMENTAL)",
    )
    judging.add_argument(
        "--against",
        metavar="KNOWN",
        action="append",
        default=[],
        help="records with a copy in KNOWN are duplicates, too. KNOWN is an index, or a file or "
        "folder of records; the option may be repeated for files and folders. Nothing is written "
        "to KNOWN",
    )
    judging.add_argument(
        "--keep-index",
        action="store_true",
        help=f"leave the index of this run in OUT{_STATE}/index",
    )
    add_scheme_options(parser, confirmation=True)
    running = parser.add_argument_group("running")
    meaning = (
        "processes that read and fingerprint records; 1 to do all in this one (default: one for "
        "each processor, or 1 for small files)"
    )
    add_number(running, "--workers", meaning, 1, 256)
    running.add_argument(
        "--engine",
        choices=("local", "spark"),
        default="local",
        help="spark: run on a cluster. FILE, OUT and the other files are then URLs that Hadoop "
        "knows, and outputs are folders (default: %(default)s)",
    )
    running.add_argument(
        "--master",
        metavar="URL",
        help="Spark's master, such as spark://host:7077 (default: that of spark-submit)",
    )
    running.add_argument(
        "--work",
        metavar="URL",
        help="a folder for intermediate results that all Spark workers can reach; deleted at the "
        f"end (default: OUT{_STATE})",
    )
    running.add_argument(
        "--restart", action="store_true", help="discard an interrupted run, and begin again"
    )


def _run(options: argparse.Namespace) -> int:
    """De-duplicate files. Return 1 if a file is damaged, else 0."""
    from scrapy_simhash.commands._settings import dedupe_settings, settings_reader
    from scrapy_simhash.dedupe.run import dedupe

    _check(options)
    chosen = chosen_settings(options)
    settings = dedupe_settings(options.settings)
    settings |= given(options, "action", "incremental", "max_bytes")
    text_fields = tuple(options.text_field or ())
    if not text_fields and options.html_field is None:
        text_fields = settings_reader(options.settings).names("SIMHASH_ITEM_FIELDS")
    dedupe_options = DedupeOptions(
        **settings,
        scheme=chosen.scheme,
        max_distance=chosen.max_distance,
        confirmation=chosen.confirmation,
        format=options.format,
        fields=Fields(
            text=text_fields,
            html=options.html_field,
            key="" if options.key_field == "#" else options.key_field,
        ),
        min_tokens=chosen.min_tokens,
        encoding=options.encoding,
        workers=options.workers or 0,
    )
    if options.engine == "spark":
        _run_on_spark(options, dedupe_options)
        return 0
    with ExitStack() as stack:
        paths = _paths(options, stack)
        on_progress = stack.enter_context(progress("records"))
        try:
            summary = dedupe(paths, dedupe_options, on_progress=on_progress, note=note)
        except KeyboardInterrupt:
            # The state is temporary if there is no output file, or if standard input is read.
            is_kept = (paths.output_file or paths.verdicts) and paths.standard_input is None
            if is_kept and paths.state.exists():
                note("the verdicts are kept: run the same command again to go on")
            raise
    _report(summary, options)
    return 1 if summary.damaged else 0


def _run_on_spark(options: argparse.Namespace, dedupe_options: DedupeOptions) -> None:
    try:
        from scrapy_simhash.spark.files import SparkPaths, dedupe_files
    except ModuleNotFoundError as error:
        raise SimhashError(
            f"{error.name} is missing: pip install 'scrapy-simhash[spark]'"
        ) from error

    paths = SparkPaths(
        inputs=options.files,
        work=options.work or f"{options.output or options.verdicts}{_STATE}",
        output=options.output,
        verdicts=options.verdicts,
        overwrite=options.overwrite,
    )
    _report(dedupe_files(paths, dedupe_options, options.master), options)


def _report(summary: DedupeSummary, options: argparse.Namespace) -> None:
    if options.json:
        names = ("output", "verdicts", "index")
        show_json(summary.to_dict() | {name: getattr(options, name) for name in names})
    elif options.output != "-":
        _show(summary, options)
    for name, why in summary.damaged.items():
        note(f"error: {name} is damaged ({why}): the rest could not be read")


def _check(options: argparse.Namespace) -> None:
    """Raise WrongUsage or SimhashError for options that are wrong whatever the files contain."""
    if options.output is None and options.verdicts is None:
        raise WrongUsage("-o OUT or --verdicts FILE is needed")
    if options.json and options.output == "-":
        raise WrongUsage("--json and -o - would both write to standard output")
    _check_engine(options)
    if options.files.count("-") > 1:
        raise WrongUsage("standard input can be read once")
    if "-" in options.files and sys.stdin is None:
        raise SimhashError("standard input is closed: name a file")
    if "-" in options.files and options.keep_index:
        raise WrongUsage("--keep-index does not work with standard input: use --index DIR")
    if "-" in options.against:
        raise WrongUsage("--against needs the name of a file or an index")
    if options.keep_index and options.index is not None:
        raise WrongUsage("--keep-index cannot be combined with --index, which is kept anyway")
    if options.keep_index and options.output == "-" and options.verdicts is None:
        raise WrongUsage(
            "--keep-index needs -o OUT or --verdicts FILE: the index is kept beside it"
        )
    if "\n".encode(options.encoding) != b"\n":
        raise WrongUsage(
            f"--encoding {options.encoding}: files need an encoding with ASCII line ends"
        )
    if options.verdicts == "-":
        raise WrongUsage("--verdicts needs the name of a file; -o - is for standard output")
    if "" in (*options.files, *options.against, options.output, options.verdicts, options.index):
        raise SimhashError("a file name is empty: is a shell variable unset?")


def _check_engine(options: argparse.Namespace) -> None:
    if options.engine == "local":
        if options.master is not None or options.work is not None:
            raise WrongUsage("--master and --work need --engine spark")
        return
    for name in ("index", "incremental", "against", "keep_index", "workers", "restart"):
        if getattr(options, name):
            option = name.replace("_", "-")
            raise WrongUsage(f"--{option} does not work with --engine spark")
    if "-" in (*options.files, options.output):
        raise WrongUsage("--engine spark reads and writes files, not standard input and output")


def _paths(options: argparse.Namespace, stack: ExitStack) -> DedupePaths:
    output = None if options.output is None else Path(options.output)
    verdicts = None if options.verdicts is None else Path(options.verdicts)
    result = verdicts if output in (None, STANDARD_OUTPUT) else output
    standard_input = None
    if result is None or "-" in options.files:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="simhash-dedupe-"))
        # Such a run cannot be resumed, so its state is temporary.
        result = Path(folder, "output")
        if "-" in options.files:
            standard_input = Path(folder, "standard-input.jsonl")
            with standard_input.open("wb") as file:  # a copy, because inputs are read twice
                shutil.copyfileobj(sys.stdin.buffer, file)
    return DedupePaths(
        inputs=[
            standard_input if standard_input and file == "-" else Path(file)
            for file in options.files
        ],
        standard_input=standard_input,
        output=output,
        verdicts=verdicts,
        index=None if options.index is None else Path(options.index),
        state=_state_folder(result),
        keep_index=options.keep_index,
        overwrite=options.overwrite,
        restart=options.restart,
        against=[Path(name) for name in options.against],
    )


def _state_folder(result: Path) -> Path:
    """Return the path of the state of a run, beside its result. A long name becomes a hash."""
    name = result.name + _STATE
    if len(os.fsencode(name)) > _MAX_NAME_BYTES:
        name = f".simhash-{sha256(os.fsencode(name)).hexdigest()[:16]}{_STATE}"
    return result.with_name(name)


def _show(summary: DedupeSummary, options: argparse.Namespace) -> None:
    where = "" if options.output is None else f" in {printable(options.output)}"
    show(f"records    {summary.records:,}")
    show(f"kept       {summary.kept:,}{where}")
    show(f"dropped    {summary.dropped:,}")
    if options.against:
        names = ", ".join(map(printable, options.against))
        show(f"known      {summary.known:,} records have a copy in {names}")
    if summary.tagged:
        show(f"tagged     {summary.tagged:,}")
    if summary.similar:
        show(f"similar    {summary.similar:,} kept: like another record, but not a copy of it")
    for kind, count in sorted(summary.kinds.items()):
        show(f"  {kind:<15} {count:,}")
        for reason, skipped in summary.skipped.most_common() if kind == "skipped" else ():
            show(f"    {reason:<13} {skipped:,}")
    if options.verdicts is not None:
        show(f"verdicts   in {printable(options.verdicts)}")
    if options.index is not None:
        entries = "" if summary.index_entries is None else f"{summary.index_entries:,} entries "
        show(f"index      {entries}in {printable(options.index)}")


COMMAND = Command(
    "dedupe", "leave near-duplicates out of files, or tag them", _DESCRIPTION, _run, _add_arguments
)
