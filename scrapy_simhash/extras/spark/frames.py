"""Fingerprint, pair and judge the rows of DataFrames: the functions of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from scrapy_simhash.dedupe.fields import with_names
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.extras.spark.candidates import CandidateSearch
from scrapy_simhash.extras.spark.fingerprinting import content_of, fingerprinted
from scrapy_simhash.extras.spark.judging import Judging, WorkFolder, in_order, nearest
from scrapy_simhash.index import IndexSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from scrapy_simhash.dedupe.options import DedupeOptions

Method = Literal["first-come", "connected"]
_PARTS = ("fingerprint", "certainty", "evidence")
# Columns of verdicts, and of the joins that lead to them. Spark ignores the case of names.
_RESERVED = (
    "position key kind representative distance similarity similar_to reason fingerprint simhash "
    "other other_key confirmed has_same_key".split()
)


def fingerprints(df: DataFrame, options: DedupeOptions) -> DataFrame:
    """Return `df` with a column ``simhash``: the key, fingerprint and evidence of each row.

    :param options: `fields` names the columns with the text or page, and the key (None: no keys).
    :raises SimhashError: `fields` names no text and no page, or a column is missing.
    """
    if not (options.fields.text or options.fields.html):
        raise SimhashError("name the columns with the text: fields=Fields(text=('text',))")
    fields = with_names(options.fields, df.columns)
    return df.withColumn("simhash", fingerprinted(content_of(df, fields), fields, options))


def near_pairs(
    df: DataFrame, options: DedupeOptions, *, order: str | Sequence[str], work: str
) -> DataFrame:
    """Return all pairs of rows within `max_distance` that the tables of `dedupe` find.

    :param df: as `fingerprints` returns it.
    :param order: columns that sort the rows, and in which no two rows are equal.
    :param work: URL of a folder for intermediate results, on storage that all workers share. The
        caller deletes it when the result is no longer needed.
    :return: ``key`` of a row; ``other_key`` of the earlier row; ``distance`` in bits; the estimated
        ``similarity``, or null; ``confirmed``, true if the rows are copies.
    :raises SimhashError: two rows have the same key, or there is no column ``simhash``.
    """
    folder = WorkFolder(work)
    placed = _placed(df, order, folder)
    links = _judging_of(_searched(placed, asks=True, stored=True), options, folder).all_links()
    for column, name in (("record", "key"), ("other", "other_key")):
        links = links.join(
            placed.select(F.col("position").alias(column), F.col("key").alias(name)), column
        )
    return links.select("key", "other_key", "distance", "similarity", "confirmed")


def duplicates(
    df: DataFrame,
    options: DedupeOptions,
    *,
    order: str | Sequence[str],
    work: str,
    method: Method = "first-come",
) -> DataFrame:
    """Return the verdict on each row of `df`.

    For the other parameters and errors see `near_pairs`. A column of the order must not have the
    name of a column of the result; otherwise SimhashError is raised.

    :param method: ``first-come`` for the verdicts of `dedupe`: a row is a copy of the nearest
        earlier row that is kept. ``connected``: rows that chains of copies connect are a group,
        and all but the first row are copies of the first, without distance and similarity.
    :return: the columns of the order; ``position`` in the order, from 0; ``key``, by default the
        position; ``kind``: ``new``, ``near-duplicate`` or ``skipped``; ``representative``, the key
        of the row that is copied; ``similar_to``, the key of a near row that is not; ``distance``
        and ``similarity`` to either; ``reason``: why it is skipped, a copy or none;
        ``fingerprint``.
    """
    _check_order(order)
    folder = WorkFolder(work)
    return verdicts_of(_placed(df, order, folder), options, folder, method)


def verdicts_of(
    placed: DataFrame, options: DedupeOptions, folder: WorkFolder, method: Method = "first-come"
) -> DataFrame:
    """Return the verdicts of `duplicates` for rows with ``position``, ``key`` and ``simhash``."""
    judging = _judging_of(_searched(placed, asks=True, stored=True), options, folder)
    links = judging.connected() if method == "connected" else judging.first_come()
    return _verdicts(placed, links.withColumn("has_same_key", F.expr("false")), placed)


def against(
    df: DataFrame,
    known: DataFrame,
    options: DedupeOptions,
    *,
    order: str | Sequence[str],
    work: str,
) -> DataFrame:
    """Return the verdict on each row of `df` compared with `known`, as `duplicates` does.

    A copy of a known row is ``unchanged`` if both have the same key, else ``near-duplicate``. Rows
    of `df` are not compared with each other. For the other parameters and errors see `near_pairs`.

    :param known: as `fingerprints` returns it, with the columns of `order`. If known rows are
        equally near, the earliest one is the representative.
    """
    _check_order(order)
    folder = WorkFolder(work)
    placed, rest = _placed(df, order, folder), _placed(known, order, folder)
    # Known rows come before all rows that ask.
    rest = rest.withColumn("position", F.col("position") - rest.count())
    asking = _searched(placed, asks=True, stored=False)
    stored = _searched(rest, asks=False, stored=True)
    judging = _judging_of(asking.unionByName(stored), options, folder)
    links = judging.all_links()
    same_key = placed.select("key", F.col("position").alias("record")).join(
        rest.select("key", F.col("position").alias("other")), "key"
    )
    unchanged = judging.same_texts(same_key.select("record", "other"))
    links = nearest(links.join(same_key, ["record", "other"], "left_anti"))
    links = links.join(unchanged, "record", "left_anti").withColumn("has_same_key", F.expr("false"))
    links = links.unionByName(unchanged.withColumn("has_same_key", F.expr("true")))
    # As in `dedupe --against`, only skipped rows have a reason.
    return _verdicts(placed, links.withColumn("reason", F.lit(None).cast("string")), rest)


def _columns_of(order: str | Sequence[str]) -> list[str]:
    return [order] if isinstance(order, str) else list(order)


def _check_order(order: str | Sequence[str]) -> None:
    """Raise SimhashError if a column of the order has a name of `_RESERVED`, in any case."""
    for name in _columns_of(order):
        if name.lower() in _RESERVED:
            raise SimhashError(
                f"order={name!r}: the result has a column of that name, or an intermediate result "
                "has: rename the column"
            )


def _placed(df: DataFrame, order: str | Sequence[str], folder: WorkFolder) -> DataFrame:
    """Return ``position``, ``key``, ``simhash`` and the columns of the order for each row."""
    columns = _columns_of(order)
    if "simhash" not in df.columns:
        raise SimhashError("there is no column 'simhash': call `fingerprints` first")
    placed, _ = folder.write(in_order(df.select(*columns, "simhash"), columns, folder))
    return with_keys(placed, F.col("position").cast("string"))


def with_keys(placed: DataFrame, default: Column) -> DataFrame:
    """Return rows with a column ``key``.

    :param default: key of rows whose ``simhash`` has no key.
    :raises SimhashError: two rows have the same key.
    """
    placed = placed.withColumn("key", F.coalesce("simhash.key", default))
    repeated = placed.groupBy("key").count().where("count > 1").select("key").take(1)
    if repeated:
        raise SimhashError(
            f"several rows have the key {repeated[0].key!r}, but keys must be different: name "
            "another field with the key, or none (--key-field '#')"
        )
    return placed


def _searched(placed: DataFrame, *, asks: bool, stored: bool) -> DataFrame:
    """Return the rows with a fingerprint, in the form that `Judging` needs."""
    parts = [F.col(f"simhash.{part}") for part in _PARTS]
    return placed.where("simhash.fingerprint is not null").select(
        "position", *parts, F.lit(asks).alias("asks"), F.lit(stored).alias("stored")
    )


def _judging_of(records: DataFrame, options: DedupeOptions, folder: WorkFolder) -> Judging:
    manifest = IndexSpec(
        *(None, options.scheme, options.max_distance),
        expected_pages=options.expected_records,
        confirmation=options.confirmation,
    ).to_manifest()
    search = CandidateSearch(manifest.plan, manifest.max_distance, records.count())
    return Judging(records, search, manifest.confirmation, folder)


def _verdicts(placed: DataFrame, links: DataFrame, others: DataFrame) -> DataFrame:
    """Return the verdicts from the link of each row. Rows without a link are new or skipped."""
    names = others.select(F.col("position").alias("other"), F.col("key").alias("other_key"))
    links = links.join(names, "other").withColumnsRenamed({"record": "position", "reason": "_why"})
    is_copy = F.col("confirmed") & ~F.col("has_same_key")
    kind = (
        F.when(F.col("simhash.reason").isNotNull(), "skipped")
        .when(F.col("confirmed") & F.col("has_same_key"), "unchanged")
        .when(is_copy, "near-duplicate")
        .otherwise("new")
    )
    return placed.join(links, "position", "left").select(
        *[name for name in placed.columns if name not in ("simhash", "key")],
        "key",
        kind.alias("kind"),
        F.when(is_copy, F.col("other_key")).alias("representative"),
        "distance",
        "similarity",
        F.when(~F.col("confirmed"), F.col("other_key")).alias("similar_to"),
        F.coalesce("simhash.reason", "_why").alias("reason"),
        F.col("simhash.fingerprint").alias("fingerprint"),
    )
