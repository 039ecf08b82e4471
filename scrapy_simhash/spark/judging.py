"""Decide which records are kept: the verdicts of `dedupe`, in rounds instead of in turn.

`dedupe` drops a record if it is a confirmed copy of an earlier one that is kept. So a record can be
decided as soon as one of its earlier copies is kept, or all of them are dropped: the first of a
group at once, and in a chain of copies one link after the other. Each step is written to the work
folder, as Parquet. A task that is lost is repeated from there, with the same result.

A record reports at most so many candidates of each bucket at first (`candidates.CandidateSearch`).
Those that have more ask again, for eight times as many, once dropped records are out of the way.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from scrapy_simhash.confirmation import Confirmation, Evidence
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.spark.candidates import MORE, CandidateSearch, ShardRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import Column

_SHARD_SCHEMA = (
    "shard int, record long, prefix long, least binary, subsets long, fingerprint binary, "
    "asks boolean, stored boolean"
)
_FOUND_SCHEMA = "record long, other long, distance smallint"
_LINK_SCHEMA = f"{_FOUND_SCHEMA}, similarity double, confirmed boolean"
_EVIDENCE = ("sketch", "site", "title", "heading")
_FIRST_MOST = 8
_MORE_EACH_ROUND = 8
_ALL = 1 << 62


@dataclass
class WorkFolder:
    """A folder for intermediate results that all workers and the driver can reach.

    :param url: any URL that the cluster's Hadoop knows.
    """

    url: str
    _numbers: Iterator[int] = field(default_factory=count)

    def written(self, frame: DataFrame, *seen: Column) -> tuple[DataFrame, dict[str, Any]]:
        """Write a frame. Return a frame that reads the written files, and the aggregates by name.

        :param seen: aggregates to compute while writing, such as a count.
        """
        observation = Observation()
        if seen:
            frame = frame.observe(observation, *seen)
        path = f"{self.url}/{next(self._numbers):04}"
        frame.write.parquet(path)
        read = frame.sparkSession.read.schema(frame.schema).parquet(path)
        return read, observation.get if seen else {}


def in_order(frame: DataFrame, order: Sequence[str], work: WorkFolder) -> DataFrame:
    """Return a frame with the place of each row in an order, from 0, in a column ``position``.

    :param order: columns that are different for any two rows.
    """
    # Sorting takes a sample first: without this, all that leads to the frame would be done twice.
    frame, _ = work.written(frame)
    placed = frame.orderBy(*order).withColumn("_place", F.monotonically_increasing_id())
    placed, _ = work.written(placed)
    # The number of a partition is above the lowest 33 bits.
    partition = F.shiftright("_place", 33)
    counts = placed.groupBy(partition.alias("_partition")).agg(F.count("*").alias("_rows"))
    before = Window.orderBy("_partition").rowsBetween(Window.unboundedPreceding, -1)
    start = F.coalesce(F.sum("_rows").over(before), F.lit(0))
    starts = counts.select("_partition", start.alias("_start"))
    numbered = placed.withColumn("_partition", partition).join(F.broadcast(starts), "_partition")
    within = F.col("_place") - F.shiftleft("_partition", 33)
    return numbered.withColumn("position", F.col("_start") + within).drop(
        "_place", "_partition", "_start"
    )


@dataclass(frozen=True)
class Judging:
    """A search for links between records, and the decisions that follow from them.

    :param records: a frame with a row for each record that has a fingerprint: ``position``,
        ``fingerprint``, ``certainty`` and the evidence; whether it ``asks`` for earlier ones, and
        whether it is ``stored``, that is can be found. It is read several times.
    """

    records: DataFrame
    search: CandidateSearch
    confirmation: Confirmation
    work: WorkFolder

    def all_links(self) -> DataFrame:
        """Return all pairs within the distance that the index would find: ``record``, ``other``,
        ``distance``, ``similarity`` and ``confirmed``. The other one is the earlier one.
        """
        return self._links(self.records, _ALL)[0]

    def first_come(self) -> DataFrame:
        """Return for each record with links the nearest kept one, as `nearest` does."""
        most = _FIRST_MOST
        links, more = self._links(self.records, most)
        # All others are kept.
        unclear = links.where("confirmed").select("record").union(more).distinct()
        state = unclear.withColumn("status", F.lit("open"))
        while True:
            state, is_open = self._decided(state, links, more)
            if more.isEmpty():
                break
            most *= _MORE_EACH_ROUND
            again, now_more = self._links(self._asking_again(more, state), most)
            links = links.join(more, "record", "left_anti").unionByName(again)
            more = now_more
        if is_open:
            raise SimhashError(f"{is_open} records could not be decided: please report this bug")
        others = state.select(F.col("record").alias("other"), "status")
        kept = links.join(others, "other", "left").where("status is null or status = 'kept'")
        return nearest(kept)

    def connected(self) -> DataFrame:
        """Return links to the first record that chains of confirmed links lead to, without its
        distance.
        """
        links = self.all_links().where("confirmed").select("record", "other")
        back = links.select(F.col("other").alias("record"), F.col("record").alias("other"))
        edges, _ = self.work.written(links.unionByName(back))
        labels = edges.groupBy("record").agg(F.min("other").alias("label"))
        labels = labels.select("record", F.least("record", "label").alias("label"))
        changed = 1
        while changed:
            theirs = labels.select(F.col("record").alias("other"), F.col("label").alias("near"))
            near = edges.join(theirs, "other").groupBy("record").agg(F.min("near").alias("near"))
            far = labels.select(F.col("record").alias("label"), F.col("label").alias("far"))
            least = F.least("label", "near", "far")
            labels, seen = self.work.written(
                labels.join(near, "record")
                .join(far, "label")
                .select("record", least.alias("label"), (least < F.col("label")).alias("moved")),
                F.sum(F.col("moved").cast("long")).alias("changed"),
            )
            changed = seen["changed"]
        return labels.where("label < record").select(
            "record",
            F.col("label").alias("other"),
            F.lit(None).cast("smallint").alias("distance"),
            F.lit(None).cast("double").alias("similarity"),
            F.expr("true").alias("confirmed"),
        )

    def _asking_again(self, more: DataFrame, state: DataFrame) -> DataFrame:
        """Return the records again: those with more candidates ask, dropped ones are not found."""
        asks = more.select(F.col("record").alias("position"), F.expr("true").alias("_asks"))
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

    def _links(self, records: DataFrame, most: int) -> tuple[DataFrame, DataFrame]:
        """Return (links, records that have more)."""
        search, confirmation = self.search, self.confirmation
        shards = records.select(
            "position", "fingerprint", "certainty", "asks", "stored"
        ).mapInPandas(partial(_shard_rows, search), _SHARD_SCHEMA)

        # Spark looks into the signature of this one.
        def found(frame: pd.DataFrame) -> pd.DataFrame:
            return _found(search, frame, most)

        pairs, _ = self.work.written(
            shards.groupBy("shard").applyInPandas(found, _FOUND_SCHEMA).distinct()
        )
        more = pairs.where(F.col("other") == MORE).select("record")
        pairs = self._with_evidence(pairs, _EVIDENCE)
        links, _ = self.work.written(
            pairs.mapInPandas(partial(_confirmed, confirmation), _LINK_SCHEMA)
        )
        return links, more

    def _with_evidence(self, pairs: DataFrame, parts: Sequence[str]) -> DataFrame:
        for side, prefix in (("record", "one"), ("other", "two")):
            named = [F.col(name).alias(f"{prefix}_{name}") for name in parts]
            evidence = self.records.select(F.col("position").alias(side), *named)
            pairs = pairs.join(evidence, side)
        return pairs

    def same_texts(self, pairs: DataFrame) -> DataFrame:
        """Return links between the records of those pairs that have the same text.

        Their names do not count.

        :param pairs: records with the same key, as ``record`` and ``other``.
        """
        confirmation = replace(self.confirmation, same_name=False)
        max_distance = self.search.max_distance

        def compared(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            for frame in frames:
                one, two = (
                    np.frombuffer(b"".join(frame[f"{side}_fingerprint"]), np.uint8)
                    for side in ("one", "two")
                )
                bits = np.bitwise_count(one ^ two).reshape(len(frame), -1)
                near = frame.assign(distance=bits.sum(axis=1, dtype=np.int16))
                yield from _confirmed(confirmation, [near[near["distance"] <= max_distance]])

        pairs = self._with_evidence(pairs, ("fingerprint", *_EVIDENCE))
        return pairs.mapInPandas(compared, _LINK_SCHEMA).where("confirmed")

    def _decided(
        self, state: DataFrame, links: DataFrame, more: DataFrame
    ) -> tuple[DataFrame, int]:
        """Decide what can be decided. Return (the state, the number of records left open)."""
        copies = links.where("confirmed").select("record", "other")
        truncated = more.withColumn("more", F.expr("true"))
        left = -1
        while True:
            others = state.select(F.col("record").alias("other"), F.col("status").alias("theirs"))
            theirs = F.coalesce("theirs", F.lit("kept"))
            votes = (
                copies.join(others, "other", "left")
                .groupBy("record")
                .agg(
                    F.max(theirs == "kept").alias("is_copy"), F.max(theirs == "open").alias("waits")
                )
            )
            status = (
                F.when(F.col("status") != "open", F.col("status"))
                .when(F.col("is_copy"), "dropped")
                .when(F.col("waits") | F.col("more"), "open")
                .otherwise("kept")
            )
            state, seen = self.work.written(
                state.join(votes, "record", "left")
                .join(truncated, "record", "left")
                .select("record", status.alias("status")),
                F.sum((F.col("status") == "open").cast("long")).alias("open"),
            )
            is_open = seen["open"] or 0
            if is_open in (0, left):
                return state, is_open
            left = is_open


def nearest(links: DataFrame) -> DataFrame:
    """Return for each record the link to the nearest confirmed one, else to the nearest."""
    values = ("distance", "other", "similarity", "confirmed")
    best = F.min(F.struct(~F.col("confirmed"), *values)).alias("best")
    found = links.groupBy("record").agg(best)
    return found.select("record", *[f"best.{name}" for name in values])


def _shard_rows(search: CandidateSearch, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        positions = frame["position"].to_numpy(np.int64)
        order = np.argsort(positions)
        asks = frame["asks"].to_numpy(bool)
        for rows in search.rows(
            positions, list(frame["fingerprint"]), list(frame["certainty"]), asks
        ):
            of = order[np.searchsorted(positions, rows.record, sorter=order)]
            columns = rows._asdict() | {"subsets": rows.subsets.view(np.int64)}
            stored = frame["stored"].to_numpy(bool)[of]
            yield pd.DataFrame({**columns, "asks": asks[of], "stored": stored})


def _found(search: CandidateSearch, frame: pd.DataFrame, most: int) -> pd.DataFrame:
    rows = ShardRows(
        frame["shard"].to_numpy(np.int32),
        frame["record"].to_numpy(np.int64),
        frame["prefix"].to_numpy(np.int64),
        list(frame["least"]),
        frame["subsets"].to_numpy(np.int64).view(np.uint64),
        list(frame["fingerprint"]),
    )
    found = search.search(rows, frame["asks"].to_numpy(bool), frame["stored"].to_numpy(bool), most)
    return pd.DataFrame(found._asdict())


def _confirmed(
    confirmation: Confirmation, frames: Iterable[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    for frame in frames:
        ones, twos = (
            map(Evidence, *(frame[f"{prefix}_{name}"] for name in _EVIDENCE))
            for prefix in ("one", "two")
        )
        compared = [
            confirmation.similarities(one, [two])[0] for one, two in zip(ones, twos, strict=True)
        ]
        found = frame[["record", "other", "distance"]].copy()
        found["similarity"] = [similarity for similarity, _ in compared]
        found["confirmed"] = [confirmed for _, confirmed in compared]
        yield found
