"""Verdicts in Spark beside those of `dedupe`. They skip where there is no Spark: `make test-spark`."""

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
    from scrapy_simhash.extras.spark import duplicates

    options = options_of(name)
    expected = verdicts_of_dedupe(records, tmp_path, options)
    kinds = [verdict["kind"] for verdict in expected]
    assert kinds.count("near-duplicate") > 60
    assert kinds.count("skipped") > 5
    made = duplicates(frame(spark, records), options, order="n", work=work(tmp_path))
    found = made.orderBy("position")
    assert [*map(said_by_spark, found.collect())] == [*map(said, expected)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (Fields(), "name the columns with the text"),
        (Fields(text=("body",)), "no column 'body'; there are n, url, title, text"),
    ],
)
def test_columns_that_are_missing_are_named(spark, records, tmp_path, fields, message):
    from scrapy_simhash.extras.spark import duplicates

    with pytest.raises(SimhashError, match=message):
        options = replace(options_of(), fields=fields)
        duplicates(frame(spark, records[:3]), options, order="n", work=work(tmp_path))


def test_keys_that_come_again_are_refused(spark, records, tmp_path):
    from scrapy_simhash.extras.spark import duplicates

    twice = [record | {"url": "https://e.com/same"} for record in records[:2]]
    with pytest.raises(SimhashError, match=r"several rows have the key 'https://e\.com/same'"):
        duplicates(frame(spark, twice), options_of(), order="n", work=work(tmp_path))


@pytest.mark.parametrize("name", ["Distance", "key"])
def test_an_order_by_a_column_of_the_result_is_refused(spark, records, tmp_path, name):
    from scrapy_simhash.extras.spark import duplicates

    renamed = frame(spark, records[:3]).withColumnRenamed("n", name)
    with pytest.raises(SimhashError, match=f"order='{name}': the result has"):
        duplicates(renamed, options_of(), order=name, work=work(tmp_path))
