"""Verdicts in Spark beside those of `dedupe`. They skip where there is no Spark: `make test-spark`."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from scrapy_simhash.dedupe.options import Fields
from scrapy_simhash.errors import SimhashError
from tests.extras.spark.feed import feed, options_of, said, said_by_spark, verdicts_of_dedupe

# Warnings of Spark about itself, on Pythons and packages newer than it.
pytestmark = pytest.mark.filterwarnings("default")


def frame(spark, records, partitions=3):
    shuffled = list(records)
    random.Random(5).shuffle(shuffled)
    columns = "n long, url string, title string, text string"
    rows = [tuple(record.values()) for record in shuffled]
    return spark.createDataFrame(rows, columns).repartition(partitions)


def work(tmp_path):
    return str(tmp_path / "work")


@pytest.fixture(scope="module")
def records():
    return feed(240, equal=60, cluster=40)


@pytest.mark.parametrize("name", ["wide", pytest.param("classic", marks=pytest.mark.thorough)])
def test_verdicts_are_those_of_dedupe(spark, records, tmp_path, name):
    from scrapy_simhash.extras.spark import duplicates, fingerprints

    options = options_of(name)
    expected = verdicts_of_dedupe(records, tmp_path, options)
    kinds = [verdict["kind"] for verdict in expected]
    assert kinds.count("near-duplicate") > 60
    assert kinds.count("skipped") > 5
    made = fingerprints(frame(spark, records), options)
    found = duplicates(made, options, order="n", work=work(tmp_path)).orderBy("position")
    assert [*map(said_by_spark, found.collect())] == [*map(said, expected)]


@pytest.mark.thorough
def test_verdicts_are_the_same_however_the_rows_lie(spark, records, tmp_path):
    from scrapy_simhash.extras.spark import duplicates, fingerprints

    options = options_of()
    found = []
    for partitions in (1, 7):
        made = fingerprints(frame(spark, records, partitions), options)
        folder = str(tmp_path / str(partitions))
        rows = duplicates(made, options, order="n", work=folder).orderBy("n").collect()
        found.append([row.asDict() for row in rows])
    assert found[0] == found[1]


@pytest.mark.thorough
def test_pairs_are_found_and_chains_of_them_are_groups(spark, records, tmp_path):
    from scrapy_simhash.extras.spark import duplicates, fingerprints, near_pairs

    options = options_of()
    made = fingerprints(frame(spark, records), options).cache()
    pairs = near_pairs(made, options, order="n", work=work(tmp_path)).collect()
    confirmed = {(row.key, row.other_key) for row in pairs if row.confirmed}
    copies = {
        (verdict["key"], verdict["representative"])
        for verdict in verdicts_of_dedupe(records, tmp_path, options)
        if verdict["kind"] == "near-duplicate"
    }
    assert copies < confirmed
    age = {record["url"]: record["n"] for record in records}
    assert all(age[key] > age[other] for key, other in confirmed)

    first = {record["url"]: record["url"] for record in records}

    def root(key):
        return key if first[key] == key else root(first[key])

    for key, other in confirmed:
        one, two = sorted((root(key), root(other)), key=age.__getitem__)
        first[two] = one
    groups = duplicates(
        made, options, order="n", work=str(tmp_path / "groups"), method="connected"
    ).collect()
    assert {row.key: row.representative or row.key for row in groups} == {
        key: root(key) for key in first
    }


@pytest.mark.thorough
def test_what_is_new_is_what_dedupe_says_beside_the_known(spark, records, tmp_path):
    from scrapy_simhash.extras.spark import against, duplicates, fingerprints

    options = options_of()
    october, monday = records[:200], records[150:]  # 50 URLs came again
    known = fingerprints(frame(spark, october), options)
    kept = duplicates(known, options, order="n", work=str(tmp_path / "known")).where("kind='new'")
    known = known.join(kept.select("n"), "n", "left_semi")
    new = fingerprints(frame(spark, monday), options)
    found = against(new, known, options, order="n", work=work(tmp_path)).orderBy("n").collect()
    expected = verdicts_of_dedupe(monday, tmp_path, options, against=october)
    assert {"near-duplicate", "unchanged"} <= {row.kind for row in found}
    for row, verdict in zip(found, expected, strict=True):
        is_known = row.kind in ("near-duplicate", "unchanged")
        assert is_known == verdict["known"]
        if is_known:
            assert said_by_spark(row) == said(verdict)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (Fields(), "name the columns with the text"),
        (Fields(text=("body",)), "no column 'body'; there are n, url, title, text"),
    ],
)
def test_columns_that_are_missing_are_named(spark, records, fields, message):
    from scrapy_simhash.extras.spark import fingerprints

    with pytest.raises(SimhashError, match=message):
        fingerprints(frame(spark, records[:3]), replace(options_of(), fields=fields))


def test_keys_that_come_again_are_refused(spark, records, tmp_path):
    from scrapy_simhash.extras.spark import duplicates, fingerprints

    twice = [record | {"url": "https://e.com/same"} for record in records[:2]]
    made = fingerprints(frame(spark, twice), options_of())
    with pytest.raises(SimhashError, match=r"several rows have the key 'https://e\.com/same'"):
        duplicates(made, options_of(), order="n", work=work(tmp_path))
    with pytest.raises(SimhashError, match=r"call .fingerprints. first"):
        duplicates(frame(spark, twice), options_of(), order="n", work=work(tmp_path))


@pytest.mark.parametrize("name", ["Distance", "key"])
def test_an_order_by_a_column_of_the_result_is_refused(spark, records, tmp_path, name):
    from scrapy_simhash.extras.spark import against, duplicates, fingerprints, near_pairs

    made = fingerprints(frame(spark, records[:3]), options_of()).withColumnRenamed("n", name)
    with pytest.raises(SimhashError, match=f"order='{name}': the result has"):
        duplicates(made, options_of(), order=name, work=work(tmp_path))
    with pytest.raises(SimhashError, match=f"order='{name}': the result has"):
        against(made, made, options_of(), order=name, work=work(tmp_path))
    assert near_pairs(made, options_of(), order=name, work=work(tmp_path)).count() == 0
