"""Decide which records are kept: the verdicts of `dedupe`, in rounds instead of one by one.

`dedupe` drops a record if it is a confirmed copy of an earlier one that is kept. So a record can be
decided as soon as one of the earlier records that it copies is kept, or all of them are dropped.
The first record of a group is decided at once, a chain of copies link by link. Each step writes
Parquet to the work folder. If a task is lost, Spark repeats it from there, with the same result.

A *shard* is a part of the buckets of a table, and one task searches it
(`candidates.py`). At first, a search of a shard returns up to eight near records
for each record, and `MORE` in place of further ones. A record with `MORE` is *incomplete*: it asks
again for eight times as many, without the dropped records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.evidence import decode_evidence
from scrapy_simhash.extras.spark.candidates import FOUND_SCHEMA, MORE, SHARD_SCHEMA, CandidateSearch
from scrapy_simhash.reasons import explain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.evidence import Evidence

_LINK_SCHEMA = f"{FOUND_SCHEMA}, similarity double, confirmed boolean, reason string"
_FIRST_MAX_CANDIDATES = 8
_GROWTH = 8


@dataclass
class WorkFolder:
    """A folder for intermediate results that all workers and the driver can reach.

    :param url: any URL that the cluster's Hadoop knows.
    """

    url: str
    _numbers: Iterator[int] = field(default_factory=count)

    def write(self, frame: DataFrame) -> DataFrame:
        """Write a frame. Return a frame that reads the written files."""
        path = f"{self.url}/{next(self._numbers):04}"
        frame.write.parquet(path)
        return frame.sparkSession.read.schema(frame.schema).parquet(path)


def in_order(frame: DataFrame, order: Sequence[str], work: WorkFolder) -> DataFrame:
    """Return a frame with a column ``position``: the number of each row in an order, from 0.

    :param order: columns that sort the rows. No two rows are equal in all of them.
    """
    # Sorting takes a sample first, so a frame that is not written would be computed twice.
    frame = work.write(frame)
    placed = frame.orderBy(*order).withColumn("_row_id", F.monotonically_increasing_id())
    placed = work.write(placed)
    # The lowest 33 bits are the number of the row in a partition, the others that of the partition.
    partition = F.shiftright("_row_id", 33)
    counts = placed.groupBy(partition.alias("_partition")).agg(F.count("*").alias("_rows"))
    before = Window.orderBy("_partition").rowsBetween(Window.unboundedPreceding, -1)
    start = F.coalesce(F.sum("_rows").over(before), F.lit(0))
    starts = counts.select("_partition", start.alias("_start"))
    numbered = placed.withColumn("_partition", partition).join(F.broadcast(starts), "_partition")
    within = F.col("_row_id") - F.shiftleft("_partition", 33)
    return numbered.withColumn("position", F.col("_start") + within).drop(
        "_row_id", "_partition", "_start"
    )


@dataclass(frozen=True)
class Judging:
    """A search for links, which are pairs of near records, and the decisions that follow.

    :param records: a frame with a row for each record that has a fingerprint: ``position``,
        ``fingerprint``, ``certainty`` and the evidence; ``asks``, true if the record looks for
        earlier ones; ``stored``, true if others can find it. The frame is read several times.
    """

    records: DataFrame
    search: CandidateSearch
    confirmation: Confirmation
    work: WorkFolder

    def links(self) -> DataFrame:
        """Return the link of each record to the nearest kept record, if it has any."""
        max_candidates = _FIRST_MAX_CANDIDATES
        links, incomplete = self._links(self.records, max_candidates)
        # Records that are no copies are kept, and have no state.
        undecided = links.where("confirmed").select("record").union(incomplete).distinct()
        state = undecided.withColumn("status", F.lit("open"))
        while True:
            state, open_count = self._decided(state, links, incomplete)
            if incomplete.isEmpty():
                break
            max_candidates *= _GROWTH
            asking = self._asking_again(incomplete, state)
            new_links, still_incomplete = self._links(asking, max_candidates)
            links = links.join(incomplete, "record", "left_anti").unionByName(new_links)
            incomplete = still_incomplete
        if open_count:
            raise SimhashError(f"{open_count} records could not be decided: please report this bug")
        others = state.select(F.col("record").alias("other"), "status")
        kept = links.join(others, "other", "left").where("status is null or status = 'kept'")
        return _nearest(kept)

    def _asking_again(self, incomplete: DataFrame, state: DataFrame) -> DataFrame:
        """Return records for a new search: incomplete ones ask, dropped ones are not found."""
        asks = incomplete.select(F.col("record").alias("position"), F.expr("true").alias("_asks"))
        dropped = state.where("status = 'dropped'").select(
            F.col("record").alias("position"), F.expr("true").alias("_dropped")
        )
        return (
            self.records.join(asks, "position", "left")
            .join(dropped, "position", "left")
            .withColumn("asks", F.col("_asks").isNotNull())
            .withColumn("stored", F.col("_dropped").isNull())
            .where("asks or stored")
        )

    def _links(self, records: DataFrame, max_candidates: int) -> tuple[DataFrame, DataFrame]:
        """Return (links of records that ask, incomplete records)."""
        search = self.search

        def shard_rows(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            for frame in frames:
                yield from map(pd.DataFrame, search.shard_rows(_columns(frame)))

        shards = records.select(
            "position", "fingerprint", "certainty", "asks", "stored"
        ).mapInPandas(shard_rows, SHARD_SCHEMA)

        # Not a `partial`, because Spark reads the signature.
        def search_shard(frame: pd.DataFrame) -> pd.DataFrame:
            return pd.DataFrame(search.search(_columns(frame), max_candidates))

        pairs = self.work.write(
            shards.groupBy("shard").applyInPandas(search_shard, FOUND_SCHEMA).distinct()
        )
        incomplete = pairs.where(F.col("other") == MORE).select("record")
        for side, prefix in (("record", "one"), ("other", "two")):  # leaves out those with `MORE`
            evidence = self.records.select(
                F.col("position").alias(side), F.col("evidence").alias(f"{prefix}_evidence")
            )
            pairs = pairs.join(evidence, side)
        links = self.work.write(
            pairs.mapInPandas(
                partial(_confirmed, self.confirmation, search.max_distance), _LINK_SCHEMA
            )
        )
        return links, incomplete

    def _decided(
        self, state: DataFrame, links: DataFrame, incomplete: DataFrame
    ) -> tuple[DataFrame, int]:
        """Decide open records as far as possible. Return (new state, number of open records)."""
        copies = links.where("confirmed").select("record", "other")
        incomplete = incomplete.withColumn("incomplete", F.expr("true"))
        open_before = -1
        while True:
            others = state.select(
                F.col("record").alias("other"), F.col("status").alias("other_status")
            )
            other_status = F.coalesce("other_status", F.lit("kept"))  # no state: see `links`
            is_copy, waits = F.max(other_status == "kept"), F.max(other_status == "open")
            votes = (
                copies.join(others, "other", "left")
                .groupBy("record")
                .agg(is_copy.alias("is_copy"), waits.alias("waits"))
            )
            status = (
                F.when(F.col("status") != "open", F.col("status"))
                .when(F.col("is_copy"), "dropped")
                .when(F.col("waits") | F.col("incomplete"), "open")
                .otherwise("kept")
            )
            state = self.work.write(
                state.join(votes, "record", "left")
                .join(incomplete, "record", "left")
                .select("record", status.alias("status"))
            )
            open_count = state.where("status = 'open'").count()
            if open_count in (0, open_before):
                return state, open_count
            open_before = open_count


def _nearest(links: DataFrame) -> DataFrame:
    """Return the nearest confirmed link of each record, else its nearest. On ties, the earliest."""
    values = ("distance", "other", "similarity", "confirmed", "reason")
    best = F.min(F.struct(~F.col("confirmed"), *values)).alias("best")
    return links.groupBy("record").agg(best).select("record", *[f"best.{name}" for name in values])


def _columns(frame: pd.DataFrame) -> dict[str, np.ndarray[Any, Any]]:
    return {name: frame[name].to_numpy() for name in frame.columns}


def _confirmed(
    confirmation: Confirmation, max_distance: int, frames: Iterable[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    for frame in frames:
        ones, twos = (map(decode_evidence, frame[f"{side}_evidence"]) for side in ("one", "two"))
        pairs = [*zip(ones, twos, strict=True)]
        compared = [confirmation.compare(*pair) for pair in pairs]
        links = frame[["record", "other", "distance"]].copy()
        links["similarity"] = [found.similarity for found in compared]
        links["confirmed"] = [found.is_copy for found in compared]
        links["reason"] = [
            explain(
                found.against,
                distance=distance,
                similarity=found.similarity,
                max_distance=max_distance,
                confirmation=confirmation,
                names=(_name(one), _name(two)),
            )
            for (one, two), found, distance in zip(
                pairs, compared, links["distance"].tolist(), strict=True
            )
        ]
        yield links


def _name(evidence: Evidence) -> str:
    return evidence.label.decode("utf-8", "replace")
