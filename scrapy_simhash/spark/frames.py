"""The functions of `scrapy_simhash.spark`, from frames to frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import new_manifest
from scrapy_simhash.spark.candidates import CandidateSearch
from scrapy_simhash.spark.fingerprinting import content_of, fingerprinted
from scrapy_simhash.spark.judging import Judging, WorkFolder, in_order, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from scrapy_simhash.dedupe.options import DedupeOptions

Method = Literal["first-come", "connected"]
_PARTS = ("fingerprint", "certainty", "sketch", "site", "title", "heading")


def fingerprints(df: DataFrame, options: DedupeOptions) -> DataFrame:
    """Return a frame with a column ``simhash`` more: the fingerprint and the evidence of each row.

    :param options: `fields` names the columns with the text or the page, and with the key.
    :raises SimhashError: no column is named, or one is missing.
    """
    if not (options.fields.text or options.fields.html):
        raise SimhashError("name the columns with the text: fields=Fields(text=('text',))")
    content = content_of(df, options.fields)
    return df.withColumn("simhash", fingerprinted(content, options.fields, options))


def near_pairs(
    df: DataFrame, options: DedupeOptions, *, order: str | Sequence[str], work: str
) -> DataFrame:
    """Return all pairs that `dedupe` compares in that order and finds within the distance.

    :param df: as `fingerprints` returns it.
    :param order: columns that say which row comes first; no two rows are equal in them.
    :param work: URL of a folder for intermediate results, on storage that all workers share. The
        caller deletes it when the result is no longer needed.
    :return: ``key`` and ``other_key``, which comes before it, ``distance`` in bits, the estimated
        ``similarity``, and whether it is ``confirmed`` that they are copies.
    """
    folder = WorkFolder(work)
    placed = _placed(df, order, folder)
    links = _judging_of(_judged(placed, asks=True, stored=True), options, folder).all_links()
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
    """Return a row for each row of `df`: what it is, and which one it is a copy of.

    For the other parameters see `near_pairs`.

    :param method: ``first-come`` for the verdicts of `dedupe`: a row is a copy of the nearest
        earlier one that is kept. ``connected``: rows that chains of copies connect are one group,
        and all but its first are copies of that.
    :return: the columns of the order, ``position`` in it, ``key``, ``kind``, which is ``new``,
        ``near-duplicate`` or ``skipped``, the key of the ``representative``, ``distance``,
        ``similarity``, the key of the nearest row that a kept one is ``similar_to``, the
        ``reason`` why it was skipped, and the ``fingerprint``. Rows without a key have their
        position as one.
    :raises SimhashError: two rows have the same key.
    """
    folder = WorkFolder(work)
    return verdicts_of(_placed(df, order, folder), options, folder, method)


def verdicts_of(
    placed: DataFrame, options: DedupeOptions, folder: WorkFolder, method: Method = "first-come"
) -> DataFrame:
    """Return the same for rows with their ``position``, ``key`` and ``simhash``."""
    judging = _judging_of(_judged(placed, asks=True, stored=True), options, folder)
    links = judging.connected() if method == "connected" else judging.first_come()
    return _verdicts(placed, links.withColumn("own", F.expr("false")), placed)


def against(
    df: DataFrame,
    known: DataFrame,
    options: DedupeOptions,
    *,
    order: str | Sequence[str],
    work: str,
) -> DataFrame:
    """Return what rows are beside known ones, in the form of `duplicates`: ``near-duplicate`` if
    one of them is a copy, ``unchanged`` if it has the same key.

    For the other parameters see `near_pairs`. The rows are not compared with each other.

    :param known: as `fingerprints` returns it; in the same `order`, the earlier one of two equally
        near ones is the representative.
    """
    folder = WorkFolder(work)
    placed, rest = _placed(df, order, folder), _placed(known, order, folder)
    # Before all that ask.
    rest = rest.withColumn("position", F.col("position") - rest.count())
    asking = _judged(placed, asks=True, stored=False)
    stored = _judged(rest, asks=False, stored=True)
    judging = _judging_of(asking.unionByName(stored), options, folder)
    links = judging.all_links()
    same_key = placed.select("key", F.col("position").alias("record")).join(
        rest.select("key", F.col("position").alias("other")), "key"
    )
    own = judging.same_texts(same_key.select("record", "other"))
    links = nearest(links.join(same_key, ["record", "other"], "left_anti"))
    links = links.join(own, "record", "left_anti").withColumn("own", F.expr("false"))
    links = links.unionByName(own.withColumn("own", F.expr("true")))
    return _verdicts(placed, links, rest)


def _placed(df: DataFrame, order: str | Sequence[str], folder: WorkFolder) -> DataFrame:
    """Return what counts of each row: its place in the order, its key and its fingerprint."""
    columns = [order] if isinstance(order, str) else list(order)
    if "simhash" not in df.columns:
        raise SimhashError("there is no column 'simhash': call `fingerprints` first")
    placed, _ = folder.written(in_order(df.select(*columns, "simhash"), columns, folder))
    return with_keys(placed, F.col("position").cast("string"))


def with_keys(placed: DataFrame, default: Column) -> DataFrame:
    """Return rows with a column ``key``.

    :param default: of rows without a key of their own.
    :raises SimhashError: two rows have the same key.
    """
    placed = placed.withColumn("key", F.coalesce("simhash.key", default))
    repeated = placed.groupBy("key").count().where("count > 1").select("key").take(1)
    if repeated:
        raise SimhashError(
            f"several rows have the key {repeated[0].key!r}, and what the later ones are depends "
            "on each that was there before: name another key, or none (--key-field '#')"
        )
    return placed


def _judged(placed: DataFrame, *, asks: bool, stored: bool) -> DataFrame:
    parts = [F.col(f"simhash.{part}") for part in _PARTS]
    return placed.where("simhash.fingerprint is not null").select(
        "position", *parts, F.lit(asks).alias("asks"), F.lit(stored).alias("stored")
    )


def _judging_of(judged: DataFrame, options: DedupeOptions, folder: WorkFolder) -> Judging:
    made = new_manifest(
        options.scheme,
        options.max_distance,
        options.expected_records,
        confirmation=options.confirmation,
    )
    search = CandidateSearch(made.plan, made.max_distance, judged.count())
    return Judging(judged, search, made.confirmation, folder)


def _verdicts(placed: DataFrame, links: DataFrame, others: DataFrame) -> DataFrame:
    """Return the verdicts that follow from the nearest link of each row."""
    names = others.select(F.col("position").alias("other"), F.col("key").alias("other_key"))
    found = links.join(names, "other").withColumnRenamed("record", "position")
    is_copy = F.col("confirmed") & ~F.col("own")
    kind = (
        F.when(F.col("simhash.reason").isNotNull(), "skipped")
        .when(F.col("confirmed") & F.col("own"), "unchanged")
        .when(is_copy, "near-duplicate")
        .otherwise("new")
    )
    return placed.join(found, "position", "left").select(
        *[name for name in placed.columns if name not in ("simhash", "key")],
        "key",
        kind.alias("kind"),
        F.when(is_copy, F.col("other_key")).alias("representative"),
        "distance",
        "similarity",
        F.when(~F.col("confirmed"), F.col("other_key")).alias("similar_to"),
        F.col("simhash.reason").alias("reason"),
        F.col("simhash.fingerprint").alias("fingerprint"),
    )
