"""``dedupe --engine spark``: de-duplicate files on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import DedupeEngine
from scrapy_simhash.commands._options import WrongUsage
from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.dedupe.options import DedupeOptions
    from scrapy_simhash.dedupe.summary import DedupeSummary

_NAME = "spark"


def _add_options(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--master",
        metavar="URL",
        help="Spark's master, such as spark://host:7077 (default: that of spark-submit)",
    )
    parser.add_argument(
        "--work",
        metavar="URL",
        help="a folder for intermediate results that all Spark workers can reach; deleted at the "
        "end (default: OUT.dedupe)",
    )


def _check(options: argparse.Namespace) -> None:
    if options.engine != _NAME:
        if options.master is not None or options.work is not None:
            raise WrongUsage("--master and --work need --engine spark")
        return
    for name in ("index", "incremental", "against", "workers", "restart"):
        if getattr(options, name):
            option = name.replace("_", "-")
            raise WrongUsage(f"--{option} does not work with --engine spark")
    if "-" in (*options.files, options.output):
        raise WrongUsage("--engine spark reads and writes files, not standard input and output")


def _run(options: argparse.Namespace, dedupe_options: DedupeOptions) -> DedupeSummary:
    try:
        from scrapy_simhash.extras.spark.files import SparkPaths, dedupe_files
    except ModuleNotFoundError as error:
        raise SimhashError(
            f"{error.name} is missing: pip install 'scrapy-simhash[spark]'"
        ) from error

    paths = SparkPaths(
        inputs=options.files,
        work=options.work or f"{options.output or options.verdicts}.dedupe",
        output=options.output,
        verdicts=options.verdicts,
        overwrite=options.overwrite,
    )
    return dedupe_files(paths, dedupe_options, options.master)


ENGINE = DedupeEngine(
    _NAME,
    "run on a Spark cluster. FILE, OUT and the other files are then URLs that Hadoop knows, and "
    "outputs are folders",
    _add_options,
    _check,
    _run,
)
