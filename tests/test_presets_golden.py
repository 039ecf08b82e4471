"""Fingerprints that the published programs print for texts of ours."""

import dataclasses
import json
from pathlib import Path

import pytest

from scrapy_simhash.fingerprint import to_hex
from scrapy_simhash.index import choose_plan
from scrapy_simhash.scheme import Scheme


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
