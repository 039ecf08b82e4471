"""Fingerprint and judge the rows of a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd  # not only for type checkers: Spark reads the annotations
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import BinaryType

from scrapy_simhash.dedupe.fields import with_names
from scrapy_simhash.dedupe.fingerprinting import Fingerprinter
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.evidence import encode_evidence
from scrapy_simhash.extras.spark.candidates import CandidateSearch
from scrapy_simhash.extras.spark.judging import Judging, WorkFolder, in_order
from scrapy_simhash.index import IndexSpec
from scrapy_simhash.names.identities import IDENTITY_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from scrapy_simhash.dedupe.options import DedupeOptions, Fields


# Columns of verdicts, and of the joins that lead to them. Spark ignores the case of names.
_RESERVED = (
    "position key kind representative distance similarity similar_to reason fingerprint simhash "
    "other other_key confirmed".split()
)


def duplicates(
    df: DataFrame, options: DedupeOptions, *, order: str | Sequence[str], work: str
) -> DataFrame:
    """Return the verdict of `dedupe` on each row.

    :param options: `fields` names the columns with the text or page, and the key.
    :param order: columns that sort the rows, and in which no two rows are equal. Of several copies,
        the first one is kept. No name may be that of a column of the result.
    :param work: URL of a folder for intermediate results, on storage that all workers share. The
        caller deletes it when the result is no longer needed.
    :return: the columns of the order; ``position`` in the order, from 0; ``key``, by default the
        position; ``kind``: ``new``, ``near-duplicate`` or ``skipped``; ``representative``, the key
        of the row that is copied; ``similar_to``, the key of a near row that is not; ``distance``
        and ``similarity`` to either; ``reason``: why it is skipped, a copy or none;
        ``fingerprint``.
    :raises SimhashError: `fields` names no text and no page, a column is missing, two rows have the
        same key, or a name of `order` is taken.
    """
    if not (options.fields.text or options.fields.html):
        raise SimhashError("name the columns with the text: fields=Fields(text=('text',))")
    columns = [order] if isinstance(order, str) else list(order)
    for name in columns:
        if name.lower() in _RESERVED:
            raise SimhashError(
                f"order={name!r}: the result has a column of that name, or an intermediate result "
                "has: rename the column"
            )
    folder = WorkFolder(work)
    fields = with_names(options.fields, df.columns)
    simhash = fingerprinted(content_of(df, fields), fields, options).alias("simhash")
    placed = _with_keys(folder.write(in_order(df.select(*columns, simhash), columns, folder)))
    records = placed.where("simhash.fingerprint is not null").select(
        "position",
        *(F.col(f"simhash.{part}") for part in ("fingerprint", "certainty", "evidence")),
        *(F.lit(True).alias(name) for name in ("asks", "stored")),  # noqa: FBT003 - a column
    )
    manifest = IndexSpec(
        *(None, options.scheme, options.max_distance),
        expected_pages=options.expected_records,
        confirmation=options.confirmation,
    ).to_manifest()
    search = CandidateSearch(manifest.plan, manifest.max_distance, records.count())
    return _verdicts(placed, Judging(records, search, manifest.confirmation, folder).links())


def _with_keys(placed: DataFrame) -> DataFrame:
    """Return rows with a column ``key``. :raises SimhashError: two rows have the same key."""
    placed = placed.withColumn("key", F.coalesce("simhash.key", F.col("position").cast("string")))
    repeated = placed.groupBy("key").count().where("count > 1").select("key").take(1)
    if repeated:
        raise SimhashError(
            f"several rows have the key {repeated[0].key!r}, but keys must be different: name "
            "another column with the key, or none (key=None)"
        )
    return placed


def _verdicts(placed: DataFrame, links: DataFrame) -> DataFrame:
    """Return the verdicts from the link of each row. Rows without a link are new or skipped."""
    names = placed.select(F.col("position").alias("other"), F.col("key").alias("other_key"))
    links = links.join(names, "other").withColumnsRenamed({"record": "position", "reason": "_why"})
    kind = (
        F.when(F.col("simhash.reason").isNotNull(), "skipped")
        .when(F.col("confirmed"), "near-duplicate")
        .otherwise("new")
    )
    return placed.join(links, "position", "left").select(
        *[name for name in placed.columns if name not in ("simhash", "key")],
        "key",
        kind.alias("kind"),
        F.when(F.col("confirmed"), F.col("other_key")).alias("representative"),
        "distance",
        "similarity",
        F.when(~F.col("confirmed"), F.col("other_key")).alias("similar_to"),
        F.coalesce("simhash.reason", "_why").alias("reason"),
        F.col("simhash.fingerprint").alias("fingerprint"),
    )


SCHEMA = "key string, fingerprint binary, certainty binary, evidence binary, reason string"
_COLUMNS = [part.split()[0] for part in SCHEMA.split(", ")]
# The key of records that name none.
_NO_KEY = "\0"


def fingerprinted(content: Column, fields: Fields, options: DedupeOptions) -> Column:
    """Return a column of the type `SCHEMA`, in which the key is null for records without a key.

    :param content: a column of records as JSON objects, in bytes.
    """
    fingerprinter = Fingerprinter(options, fields, encoding=options.encoding)
    max_bytes, width = options.max_bytes, options.scheme.bits // 8

    def fingerprint_batch(contents: pd.Series) -> pd.DataFrame:
        rows = [
            # A string is the reason why a record is skipped.
            _row(fingerprinter, content if len(content) <= max_bytes else "too_large", width)
            for content in contents
        ]
        return pd.DataFrame(rows, columns=_COLUMNS)

    column: Column = F.pandas_udf(fingerprint_batch, SCHEMA)(content)
    return column


def content_of(frame: DataFrame, fields: Fields) -> Column:
    """Return a column with the given fields of each row and those that tell records apart, as a
    JSON object in bytes.

    :raises SimhashError: there is no column of that name.
    """
    used = (*fields.text, fields.html, fields.key, *(fields.names or ()))
    telling_apart = (  # `distinct` may also have selectors
        name for name in frame.columns if name in fields.distinct or name.lower() in IDENTITY_FIELDS
    )
    names = [name for name in dict.fromkeys((*used, *telling_apart)) if name]
    for name in names:
        if name not in frame.columns:
            raise SimhashError(f"no column {name!r}; there are {', '.join(frame.columns)}")
    columns = [
        # to_json would encode bytes as base64.
        column_named(name).cast("string").alias(name)
        if isinstance(frame.schema[name].dataType, BinaryType)
        else column_named(name)
        for name in names
    ]
    return F.to_json(F.struct(*columns)).cast("binary")


def column_named(name: str) -> Column:
    """Return the column with a name that may contain dots, which Spark takes for a path."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def _row(fingerprinter: Fingerprinter, content: bytes | str, width: int) -> tuple[Any, ...]:
    [(key, fingerprint, evidence, skipped)] = fingerprinter.fingerprint([(_NO_KEY, content)])
    own_key = None if key == _NO_KEY else key
    if fingerprint is None:
        return (own_key, None, None, None, skipped)
    return (
        own_key,
        fingerprint.to_bytes(width, "big"),
        evidence.certainty,
        encode_evidence(evidence._replace(certainty=b"")),
        None,
    )
