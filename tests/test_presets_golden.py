"""Fingerprints that the published programs print, for our texts and for those of the authors."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from scrapy_simhash.fingerprint import hamming_distance, to_hex, weighted_sums
from scrapy_simhash.index import TablePlan, choose_plan
from scrapy_simhash.scheme import PRESETS, Scheme


@pytest.fixture(scope="module")
def golden(shared):
    path = shared / "golden" / "seed_systems.json"
    if not path.is_file():
        pytest.skip("no outputs of the published programs: shared/golden/seed_systems.json")
    return json.loads(path.read_text(encoding="utf-8"))


def binary(fingerprint, bits):
    return f"{fingerprint:0{bits}b}"


OURS = json.loads((Path(__file__).parent / "golden" / "articles.json").read_text("utf-8"))


@pytest.mark.parametrize("case", OURS["lyq"])
def test_lyq_equals_the_java(case):
    scheme = dataclasses.replace(Scheme.preset("lyq"), bits=case["bits"])
    assert binary(scheme.fingerprint(case["text"]), case["bits"]) == case["fingerprint"]


@pytest.mark.parametrize("case", OURS["string-hash-64"])
def test_string_hash_64_equals_the_java(case):
    fingerprint = Scheme.preset("string-hash-64").fingerprint_tokens(case["words"])
    assert binary(fingerprint, 64) == case["fingerprint"]
    assert choose_plan(64, 3).prefixes(fingerprint) == case["blocks"]


@pytest.mark.parametrize("name", ["ascii-mt19937", "leonsim"])
def test_others_equal_their_programs(name):
    scheme = Scheme.preset(name)
    for case in OURS[name]:
        assert to_hex(scheme.fingerprint(case["text"]), scheme.bits) == case["fingerprint"], case


@pytest.mark.parametrize("case", OURS["jieba-tfidf"])
def test_jieba_tfidf_equals_the_python(case):
    assert binary(Scheme.preset("jieba-tfidf").fingerprint(case["text"]), 64) == case["fingerprint"]


def test_lyq_equals_the_published_values(golden):
    cases = golden["lyq_tf_bkdr"]["cases"]
    assert len(cases) == 21
    assert {case["bits"] for case in cases} == {8, 16, 32}
    for case in cases:
        scheme = dataclasses.replace(Scheme.preset("lyq"), bits=case["bits"])
        assert binary(scheme.fingerprint(case["text"]), case["bits"]) == case["fingerprint"], case


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("testNews1", "trainNews2", 0.75),
        ("trainNews2", "trainNews1", 0.875),
        ("testNews1", "trainNews1", 0.6875),
    ],
)
def test_lyq_on_the_news_of_its_author(shared, one, other, share):
    found = PRESETS["lyq"]
    a, b = (
        found.scheme.fingerprint(
            "".join((shared / "data" / "lyq" / f"{name}-split.txt").read_text("gbk").splitlines())
        )
        for name in (one, other)
    )
    assert 1 - hamming_distance(a, b) / 32 == share
    assert hamming_distance(a, b) <= found.max_distance, "similar, as the author says"


def test_levels_equal_the_published_example(golden):
    toy = golden["levels_1_to_5"]
    rows = np.array([[int(bit) for bit in bits] for bits, _ in toy["features"]], dtype=np.uint8)
    weights = np.array([weight for _, weight in toy["features"]], dtype=np.float64)
    sums = weighted_sums(rows, weights)
    assert sums.tolist() == toy["sums"] == [9, -9, 1, -1, 1, 9]
    assert "".join(str(int(total > 0)) for total in sums) == toy["fingerprint"]
    example = toy["hamming"]
    assert hamming_distance(int(example["a"], 2), int(example["b"], 2)) == example["distance"] == 3


def test_string_hash_64_equals_the_published_values(golden):
    scheme, plan = Scheme.preset("string-hash-64"), choose_plan(64, 3)
    assert plan == TablePlan(64, 4)
    cases = golden["string_hash_64"]["cases"]
    assert len(cases) == 7
    for case in cases:
        written = case["fingerprint_lsb_first"]
        assert binary(scheme.fingerprint_tokens(case["tokens"]), 64) == written
        # The author's four blocks are the tables of the fingerprint as it is written.
        assert plan.prefixes(int(written, 2)) == case["blocks_for_distance_3"]


def test_ascii_mt19937_and_jieba_tfidf_equal_the_published_values(golden):
    cases = golden["ascii_mt19937_32"]["cases"]
    assert {"", "a"} < {case["text"] for case in cases}
    for case in cases:
        found = Scheme.preset("ascii-mt19937").fingerprint(case["text"])
        assert to_hex(found, 32) == case["fingerprint_hex"], case
    cases = golden["jieba_tfidf_64"]["cases"]
    assert len(cases) == 6
    for case in cases:
        found = Scheme.preset("jieba-tfidf").fingerprint(case["text"])
        assert binary(found, 64) == case["fingerprint"], case
    example = golden["jieba_tfidf_64"]["hamming_example"]
    assert hamming_distance(int(example["a"], 2), int(example["b"], 2)) == example["distance"] == 2
