"""De-duplicate files with Spark: JSON lines and Parquet, at any URL that Hadoop knows."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from scrapy_simhash.dedupe.fields import find_fields
from scrapy_simhash.dedupe.inputs import format_of
from scrapy_simhash.dedupe.summary import DedupeSummary, plain_verdict
from scrapy_simhash.dedupe.writing import json_tagger
from scrapy_simhash.documents.json_records import parse_json
from scrapy_simhash.documents.lines import Unreadable
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.extras.spark.fingerprinting import column_named, content_of, fingerprinted
from scrapy_simhash.extras.spark.frames import verdicts_of, with_keys
from scrapy_simhash.extras.spark.judging import WorkFolder, in_order
from scrapy_simhash.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from scrapy_simhash.dedupe.options import DedupeOptions, Fields

_PROBED_RECORDS = 100
_ORDER = ("_input", "_file", "_block", "_line")
_NOT_BLANK = r"[^ \t\r\n\x0B\f]"
_TAG_TYPES = {"distance": "int", "similarity": "double"}


@dataclass(frozen=True, kw_only=True)
class SparkPaths:
    """The files and folders of a run, as URLs.

    :param inputs: files, folders or patterns with ``*``.
    :param work: folder for intermediate results; deleted at the end, also after an error.
    :param output: folder for the part files of kept records.
    :param verdicts: folder for the part files of verdicts.
    :param overwrite: replace an output and verdicts that Spark wrote.
    """

    inputs: Sequence[str]
    work: str
    output: str | None = None
    verdicts: str | None = None
    overwrite: bool = False


def dedupe_files(paths: SparkPaths, options: DedupeOptions, master: str | None) -> DedupeSummary:
    """De-duplicate files, and return the counts.

    :param master: URL of the cluster; None for that of ``spark-submit`` or of Spark's settings.
    :raises SimhashError: the run is not possible, or two records have the same key.
    """
    formats = {options.format or format_of(Path(path)) for path in paths.inputs}
    if not formats <= {"json-lines", "parquet"} or len(formats) > 1:
        raise SimhashError(
            "Spark reads JSON lines (.jl, .jsonl, .ndjson) or Parquet, all of one format: name it "
            "with --format, or use --engine local"
        )
    if options.scope is not None:
        raise SimhashError(
            "Spark compares all records with each other, but SIMHASH_SCOPE is "
            f"{options.scope_name!r}: set it to 'all', or use --engine local"
        )
    builder = SparkSession.builder.appName("scrapy simhash dedupe")
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = builder.getOrCreate()
    _check(spark, paths)
    # The files are read twice, and must be cut into the same blocks, even if workers are lost.
    spark.conf.set("spark.sql.files.minPartitionNum", str(spark.sparkContext.defaultParallelism))
    try:
        return _Run(spark, paths, options, formats.pop() == "parquet").run()
    finally:
        path, system = _path(spark, paths.work)
        system.delete(path, True)  # noqa: FBT003 - Java has no names for arguments


@dataclass
class _Run:
    spark: SparkSession
    paths: SparkPaths
    options: DedupeOptions
    is_parquet: bool

    def run(self) -> DedupeSummary:
        options, paths, work = self.options, self.paths, WorkFolder(self.paths.work)
        source = self._source()
        fields = self._fields(source)
        content = content_of(source, fields) if self.is_parquet else F.col("value").cast("binary")
        rows = source.select(
            *_ORDER, "_name", fingerprinted(content, fields, options).alias("simhash")
        )
        placed, _ = work.write(in_order(rows, _ORDER, work))
        first = placed.groupBy("_input", "_file").agg(F.min("position").alias("_first"))
        placed = placed.join(F.broadcast(first), ["_input", "_file"])
        number = F.col("position") - F.col("_first") + 1
        placed = with_keys(placed, F.concat_ws("#", "_name", number))
        verdicts = verdicts_of(placed.drop("_name", "_first"), options, work)
        is_dropped = (F.col("kind") == "near-duplicate") & F.lit(options.action == "drop")
        judged, _ = work.write(
            verdicts.withColumn("dropped", is_dropped).withColumn("verdict", self._verdict())
        )
        mode = "overwrite" if paths.overwrite else "errorifexists"
        if paths.output is not None:
            # The input may have columns with these names.
            renamed = [F.col(name).alias(f"_{name}") for name in ("position", "verdict", "reason")]
            kept = judged.where("not dropped").select(*_ORDER, *renamed)
            both = source.drop("_name").join(kept, list(_ORDER)).orderBy("_position")
            writer = self._tagged(both, source).write.mode(mode)
            if self.is_parquet:
                writer.parquet(paths.output)
            else:
                compression = "gzip" if paths.output.endswith(".gz") else "none"
                writer.text(paths.output, lineSep="\n", compression=compression)
        if paths.verdicts is not None:
            judged.orderBy("position").select("verdict").write.mode(mode).text(paths.verdicts)
        return _summary(judged)

    def _source(self) -> DataFrame:
        """Return all records, the columns of `_ORDER`, and ``_name``: the file in keys."""
        frames = []
        for number, path in enumerate(self.paths.inputs):
            if self.is_parquet:
                frame = self.spark.read.parquet(path)
            else:
                frame = self.spark.read.text(path, lineSep="\n")
            file = F.col("_metadata.file_path")
            name = F.lit(path) if _is_file(self.spark, path) else file
            frame = frame.withColumns(
                {
                    "_input": F.lit(number),
                    "_file": file,
                    "_name": name,
                    "_block": F.col("_metadata.file_block_start"),
                    "_line": F.monotonically_increasing_id(),
                }
            )
            frames.append(
                frame if self.is_parquet else frame.where(F.col("value").rlike(_NOT_BLANK))
            )
        source = frames[0]
        for frame in frames[1:]:
            source = source.unionByName(frame)
        return source

    def _fields(self, source: DataFrame) -> Fields:
        """Return the fields to use, see `find_fields`."""
        source = source.drop(*_ORDER, "_name")
        names, records = source.columns if self.is_parquet else [], []
        for row in source.take(_PROBED_RECORDS):
            if self.is_parquet:
                records.append(row.asDict())
            else:
                with suppress(Unreadable):
                    records.append(parse_json(row.value.encode(), self.options.encoding))
        return find_fields(self.options.fields, names, records, self.paths.inputs[0])

    def _verdict(self) -> Column:
        """Return a column with the JSON line of ``--verdicts`` for each record."""
        bits = self.options.scheme.bits

        def lines(frame: pd.DataFrame) -> pd.Series:
            plain = frame.astype(object).where(frame.notna(), None)
            return pd.Series([_line(row, bits) for row in plain.to_dict("records")], dtype=object)

        names = ("key", "kind", "representative", "distance", "similarity", "similar_to")
        columns = F.struct(*names, "reason", "fingerprint", "dropped")
        column: Column = F.pandas_udf(lines, "string")(columns)
        return column

    def _tagged(self, kept: DataFrame, source: DataFrame) -> DataFrame:
        """Return the kept records with the columns of the output: those of `source`, and tags."""
        columns = [column_named(name) for name in source.drop(*_ORDER, "_name").columns]
        tags = self.options.tags if self.options.action == "tag" else {}
        if not tags:
            return kept.select(*columns)
        if self.is_parquet:
            for column in tags.values():
                if column in source.columns:
                    raise SimhashError(
                        f"there is a column {column!r} already: name another in SIMHASH_ITEM_TAGS"
                    )
            values = [
                F.when(
                    F.col("_reason").isNull(),
                    F.get_json_object("_verdict", f"$.{name}").cast(_TAG_TYPES.get(name, "string")),
                ).alias(column)
                for name, column in tags.items()
            ]
            return kept.select(*columns, *values)
        encoding = self.options.encoding

        def tagged(lines: pd.Series, verdicts: pd.Series) -> pd.Series:
            tag = json_tagger(tags, encoding)
            return pd.Series(
                [tag(line, json.loads(v)) for line, v in zip(lines, verdicts, strict=True)],
                dtype=object,
            )

        value = F.pandas_udf(tagged, "binary")(F.col("value").cast("binary"), "_verdict")
        return kept.select(value.cast("string").alias("value"))


def _line(row: dict[str, Any], bits: int) -> str:
    dropped, fingerprint = row.pop("dropped"), row.pop("fingerprint")
    if row["distance"] is not None:
        row["distance"] = int(row["distance"])
    value = None if fingerprint is None else int.from_bytes(fingerprint, "big")
    verdict = Verdict(bits=bits, fingerprint=value, **row)
    return json.dumps(plain_verdict(verdict, dropped=bool(dropped)))


def _summary(judged: DataFrame) -> DedupeSummary:
    summary = DedupeSummary()
    similar = F.when(F.col("similar_to").isNotNull(), "yes").alias("similar_to")
    reason = F.when(F.col("kind") == "skipped", F.col("reason")).alias("reason")
    for row in judged.groupBy("kind", reason, "dropped", similar).count().collect():
        summary.count(row.asDict(), row["count"])
    return summary


def _check(spark: SparkSession, paths: SparkPaths) -> None:
    """Check that inputs exist, and that outputs may be written and overlap no other path.

    :raises SimhashError: an input is missing; the work folder exists; an output exists and may not
        be replaced, or is no complete output of Spark; or paths overlap.
    """
    if _exists(spark, paths.work):
        raise SimhashError(
            f"{paths.work} exists already: if an interrupted run left it, delete it; or name "
            "another folder with --work"
        )
    for url in filter(None, (paths.output, paths.verdicts)):
        if not _exists(spark, url):
            continue
        if not paths.overwrite:
            raise SimhashError(f"{url} exists already: --overwrite replaces it")
        if not _exists(spark, f"{url}/_SUCCESS"):
            raise SimhashError(f"{url} exists, but is no complete output of Spark: name another")
    for url in paths.inputs:
        path, system = _path(spark, url)
        if not system.globStatus(path):
            raise SimhashError(f"{url} does not exist")
    written = [_qualified(spark, url) for url in (paths.output, paths.verdicts, paths.work) if url]
    everything = [*written, *(_qualified(spark, url) for url in paths.inputs)]
    for at, url in enumerate(written):
        for other in everything[:at] + everything[at + 1 :]:
            for inner, outer in ((url, other), (other, url)):
                if f"{inner}/".startswith(f"{outer}/"):
                    raise SimhashError(f"{inner} is or lies in {outer}: write elsewhere")


def _path(spark: SparkSession, url: str) -> tuple[Any, Any]:
    """Return the Hadoop path of a URL and its file system."""
    path = spark._jvm.org.apache.hadoop.fs.Path(url)  # noqa: SLF001 - PySpark has no other way
    return path, path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001


def _qualified(spark: SparkSession, url: str) -> str:
    """Return a URL with its scheme and an absolute path."""
    path, system = _path(spark, url)
    return str(system.makeQualified(path).toString())


def _exists(spark: SparkSession, url: str) -> bool:
    path, system = _path(spark, url)
    return bool(system.exists(path))


def _is_file(spark: SparkSession, url: str) -> bool:
    path, system = _path(spark, url)
    return bool(system.exists(path)) and bool(system.getFileStatus(path).isFile())
