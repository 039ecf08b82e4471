"""What a report says of an index, against the index itself."""

from __future__ import annotations

import base64
import json
import random
import zlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.clustering import cluster
from scrapy_simhash.index import index_url
from scrapy_simhash.index.base import NearDuplicate
from scrapy_simhash.index.rewriting import rewriting
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.index.upkeep import expire, rebuild
from scrapy_simhash.report.data import url_pattern
from scrapy_simhash.report.writing import report_data

SCHEME = Scheme(bits=64)
K = 6


@pytest.fixture
def made(tmp_path):
    """An index with clusters, weak verdicts, texts and hosts."""
    rng = random.Random(4)
    directory = tmp_path / "index"
    with open_index(index_url(directory), SCHEME, max_distance=K) as index:
        for number in range(60):
            fingerprint = rng.getrandbits(64)
            key = f"https://{'ab'[number % 2]}.example/news/{number}.html"
            index.confirm(index.observe(key, fingerprint))
            index.texts.keep(key, KeptText("title", f"text {number}"))
            for copy in range(rng.choice([0, 0, 0, 1, 5])):
                near = fingerprint
                for bit in rng.sample(range(64), rng.randrange(K + 1)):
                    near ^= 1 << bit
                index.observe(f"{key}?sid={copy}", near, weak=copy == 2)
                if copy:
                    index.texts.keep(f"{key}?sid={copy}", KeptText("", f"text {number}, again"))
    return directory


def fingerprints(data):
    packed = base64.b64decode(data["fingerprints"])
    width = data["index"]["bits"] // 8
    return [int.from_bytes(packed[at : at + width], "big") for at in range(0, len(packed), width)]


def text_of(data, page):
    number = data["pages"]["text"][page]
    if number < 0:
        return None
    return json.loads(zlib.decompress(base64.b64decode(data["texts"][number])))


def test_the_head_and_the_counts_are_those_of_the_index(made):
    data = report_data(made, cluster_limit=3)
    with open_index(index_url(made)) as index:
        log, entries = list(index.near_duplicates()), len(index)
    assert data["index"] == {
        "directory": str(made),
        "scheme": SCHEME.id,
        "bits": 64,
        "max_distance": K,
        "tables": str(index.plan),
        "file_bytes": data["index"]["file_bytes"],
        "representatives": entries,
        "near_duplicates": len(log),
        "weak": sum(line.weak for line in log),
        "log_lines": len(log),
    }
    assert data["index"]["file_bytes"] > 1000
    assert data["distances"] == [sum(line.distance == d for line in log) for d in range(K + 1)]
    assert (data["crawl"], data["cluster_limit"]) == (None, 3)
    assert data["left_out"] == {"clusters": 0, "near_duplicates": 0, "texts": 0}
    assert sum(host["near_duplicates"] for host in data["hosts"]) == len(log)
    assert sum(host["representatives"] for host in data["hosts"]) <= entries
    [pattern, other] = data["patterns"]
    assert pattern["pattern"] == f"{pattern['example'].split('/')[2]}/news/*.html?sid=*"
    assert pattern["near_duplicates"] + other["near_duplicates"] == len(log)
    assert pattern["representatives"] == 0
    assert json.loads(json.dumps(data)) == data


def test_pages_are_as_the_crawl_found_them(made):
    data = report_data(made)
    pages = data["pages"]
    with open_index(index_url(made)) as index:
        log = {line.key: line for line in index.near_duplicates()}
        prints = {line.key: line.fingerprint for line in log.values()}
        for key in pages["key"]:
            entry = index.entry(key)
            if entry is not None:
                prints[key] = entry.fingerprint
    assert len({len(column) for column in pages.values()}) == 1
    assert fingerprints(data) == [prints[key] for key in pages["key"]]
    near = {
        key: (pages["key"][representative], distance, bool(weak))
        for key, representative, distance, weak in zip(
            pages["key"], pages["representative"], pages["distance"], pages["weak"], strict=True
        )
        if pages["key"][representative] != key
    }
    assert near == {
        key: (line.representative, line.distance, line.weak) for key, line in log.items()
    }
    representatives = {line.representative for line in log.values()}
    assert set(pages["key"]) >= set(log) | representatives


@pytest.mark.parametrize("k", [0, 1, 3, K])
def test_regrouping_within_components_is_regrouping_all(made, k):
    data = report_data(made)
    prints, components = fingerprints(data), data["pages"]["component"]
    whole = cluster(prints, bits=64, max_distance=k).representative.tolist()
    for component in set(components):
        places = [place for place, one in enumerate(components) if one == component]
        alone = cluster([prints[place] for place in places], bits=64, max_distance=k)
        found = [places[one] for one in alone.representative.tolist()]
        assert found == [whole[place] for place in places]


def test_texts_are_those_of_the_pages(made):
    data = report_data(made)
    keys = data["pages"]["key"]
    for place, key in enumerate(keys):
        text = text_of(data, place)
        if key.endswith("sid=0"):
            assert text is None
        else:
            assert text["text"].startswith(f"text {key.split('/')[-1].split('.')[0]}")
    assert len(data["texts"]) == len(set(data["texts"]))
    bounded = report_data(made, max_text_bytes=200)
    assert 0 < len(bounded["texts"]) < len(data["texts"])
    assert bounded["left_out"]["texts"] > 0
    assert report_data(made, max_text_bytes=0)["texts"] == []


def test_the_largest_clusters_are_shown_where_there_are_too_many(made):
    whole = report_data(made)
    data = report_data(made, max_pages=20)
    shown, all_of_them = (Counter(one["pages"]["representative"]) for one in (data, whole))
    assert len(data["pages"]["key"]) <= 20
    assert data["left_out"]["clusters"] > 0
    near = len(data["pages"]["key"]) - sum(1 for count in shown.values() if count)
    assert data["left_out"]["near_duplicates"] + near == whole["index"]["near_duplicates"]
    assert max(shown.values()) == max(all_of_them.values())


def test_what_was_found_with_a_larger_distance_is_shown(made):
    rebuild(made, max_distance=1)
    data = report_data(made)
    assert data["index"]["max_distance"] == K
    assert sum(data["distances"]) == data["index"]["near_duplicates"]
    assert max(data["pages"]["distance"]) == K


def test_an_empty_index(tmp_path):
    with open_index(index_url(tmp_path / "index"), SCHEME, max_distance=K):
        pass
    data = report_data(tmp_path / "index")
    assert (data["pages"]["key"], data["fingerprints"], data["hosts"]) == ([], "", [])
    assert data["timeline"]["representatives"] == []


def test_representatives_that_expired_have_no_page_to_show(made):
    expire(made, 1 << 32)
    data = report_data(made)
    assert data["index"]["representatives"] == 0
    assert data["index"]["near_duplicates"] > 0
    pages = data["pages"]
    assert len(pages["key"]) == data["index"]["near_duplicates"]
    assert all(0 <= one < len(pages["key"]) for one in pages["representative"])


@settings(max_examples=12, deadline=None)
@given(
    first=st.lists(st.integers(1_700_000_000, 1_800_000_000), max_size=30),
    later=st.lists(st.integers(1_700_000_000, 1_800_000_000), max_size=30),
)
def test_time_is_cut_in_few_steps_that_hold_everything(tmp_path_factory, first, later):
    directory = tmp_path_factory.mktemp("times") / "index"
    with open_index(index_url(directory), SCHEME, max_distance=K) as index:
        for number in range(len(first)):
            index.confirm(index.observe(str(number), random.Random(number).getrandbits(64)))
    with rewriting(directory) as (source, store):
        for entry, seen_s in zip(source.entries(), first, strict=False):
            seen = entry._replace(ordinal=-1, first_seen_s=seen_s, last_seen_s=seen_s)
            store.write(seen, None, (), store.next_sequence)
        for number, seen_s in enumerate(later, 1000):
            store.log(NearDuplicate(f"c{number}", "0", 1, 1, number, seen_s), number + 1)
    time = report_data(directory)["timeline"]
    assert sum(time["representatives"]) == len(first)
    assert sum(time["near_duplicates"]) == len(later)
    assert len(time["representatives"]) == len(time["near_duplicates"]) <= 122
    if first or later:
        end_s = time["from_s"] + time["step_s"] * len(time["representatives"])
        assert time["from_s"] <= min(first + later) <= max(first + later) < end_s


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("https://a.example/news/2024/ferry.html?sid=7&b=", "a.example/news/*/*.html?b=*&sid=*"),
        ("https://user:secret@a.example:8080/", "a.example:8080/"),
        ("http://a.example", "a.example"),
        ("https://a.example/calendar/2026/12", "a.example/calendar/*/*"),
        ("https://a.example/about", "a.example/*"),
        ("https://a.example/v1.2/x.tar.gz", "a.example/*/*.gz"),
        ("https://a.example/a.b.verylongending", "a.example/*"),
        ("no url", "no url"),
        ("http://[::1", "http://[::1"),
    ],
)
def test_url_patterns(url, pattern):
    assert url_pattern(url) == pattern


@given(st.text())
def test_any_key_has_a_pattern(key):
    assert isinstance(url_pattern(key), str)
    assert isinstance(url_pattern(f"https://a.example/{key}"), str)
