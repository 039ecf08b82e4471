"""What a report says of an index, against the index itself."""

import base64
import json
import random
import zlib
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.report.data import report_data
from scrapy_simhash.sketch import sketch

SCHEME = Scheme(bits=64)
K = 6
STRICT = Confirmation(0.9, same_name=False)


@pytest.fixture
def made(tmp_path):
    rng = random.Random(4)
    directory = tmp_path / "index"
    with open_index(directory, SCHEME, max_distance=K) as index:
        index.rules = replace(index.rules, clock=count(1000).__next__)
        for number in range(60):
            fingerprint = rng.getrandbits(64)
            key = f"https://{'ab'[number % 2]}.example/news/{number}.html"
            evidence = Evidence(label=f"News {number}".encode())
            index.confirm(index.observe(key, fingerprint, evidence))
            index.texts.keep(key, KeptText("title", f"text {number}"))
            for copy in range(rng.choice([0, 0, 0, 1, 5])):
                near = fingerprint
                for bit in rng.sample(range(64), rng.randrange(K + 1)):
                    near ^= 1 << bit
                index.observe(f"{key}?v={copy}", near, evidence)
                if copy:
                    index.texts.keep(f"{key}?v={copy}", KeptText("", f"text {number}, again"))
    return directory


def text_of(data, page):
    number = data["pages"]["text"][page]
    if number < 0:
        return None
    return json.loads(zlib.decompress(base64.b64decode(data["texts"][number])))


def sizes(data):
    """Near-duplicates by representative, as the page's table shows them."""
    keys, of = data["pages"]["key"], data["pages"]["representative"]
    return Counter(keys[one] for page, one in enumerate(of) if page != one)


def test_the_head_and_the_counts_are_those_of_the_index(made):
    data = report_data(made)
    with open_index(made) as index:
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
        "clusters": len({line.representative for line in log}),
        "similar": 0,
        "log_lines": len(log),
    }
    assert data["index"]["file_bytes"] > 1000
    assert data["crawl"] is None
    assert data["left_out"] == {"near_duplicates": 0, "texts": 0}
    [pattern, other] = data["patterns"]
    assert pattern["pattern"] == f"{pattern['example'].split('/')[2]}/news/*.html?v=*"
    assert pattern["near_duplicates"] + other["near_duplicates"] == len(log)
    assert (pattern["representatives"], data["pattern_count"]) == (0, 2)
    assert pattern["like"] == pattern["pattern"].removesuffix("?v=*")
    assert json.loads(json.dumps(data)) == data


def test_pages_are_as_the_crawl_found_them(made):
    data = report_data(made)
    pages = data["pages"]
    with open_index(made) as index:
        log = {line.key: line for line in index.near_duplicates()}
        first_seen_s = {
            key: log[key].seen_at_s if key in log else index.entry(key).first_seen_s
            for key in pages["key"]
        }
    assert dict(zip(pages["key"], pages["seen_at_s"], strict=True)) == first_seen_s
    assert len(set(first_seen_s.values())) > 50
    assert len({len(column) for column in pages.values()}) == 1
    near = {
        key: (pages["key"][representative], distance)
        for key, representative, distance in zip(
            pages["key"], pages["representative"], pages["distance"], strict=True
        )
        if pages["key"][representative] != key
    }
    assert near == {key: (line.representative, line.distance) for key, line in log.items()}
    representatives = {line.representative for line in log.values()}
    assert set(pages["key"]) == set(log) | representatives


def test_titles_are_those_of_the_pages_also_without_texts(made):
    data = report_data(made, max_text_bytes=0)
    assert set(data["pages"]["text"]) == {-1}
    for key, title in zip(data["pages"]["key"], data["pages"]["title"], strict=True):
        assert data["titles"][title] == f"News {key.split('/')[-1].split('.')[0]}"
    assert len(data["titles"]) == len(set(data["titles"]))


def test_texts_are_those_of_the_pages(made):
    data = report_data(made)
    keys = data["pages"]["key"]
    for place, key in enumerate(keys):
        text = text_of(data, place)
        if key.endswith("v=0"):
            assert text is None
        else:
            assert text["text"].startswith(f"text {key.split('/')[-1].split('.')[0]}")
    assert len(data["texts"]) == len(set(data["texts"]))
    bounded = report_data(made, max_text_bytes=200)
    assert 0 < len(bounded["texts"]) < len(data["texts"])
    assert bounded["left_out"]["texts"] > 0
    assert report_data(made, max_text_bytes=0)["texts"] == []


@pytest.mark.parametrize("max_pages", [2, 5, 9, 20, 40, 50])
def test_the_largest_clusters_are_listed_where_there_are_too_many(made, max_pages):
    whole = report_data(made)
    data = report_data(made, max_pages=max_pages)
    shown, all_of_them = (sizes(one) for one in (data, whole))
    assert sum(shown.values()) + len(shown) in (max_pages - 1, max_pages)
    assert data["left_out"]["near_duplicates"] == sum(all_of_them.values()) - sum(shown.values())
    assert sum(shown[key] < all_of_them[key] for key in shown) <= 1
    assert min(all_of_them[key] for key in shown) >= max(
        all_of_them[key] for key in all_of_them.keys() - shown.keys()
    )
    assert data["patterns"] == whole["patterns"]
    assert data["index"] | {"file_bytes": 0} == whole["index"] | {"file_bytes": 0}


def test_a_page_that_took_the_place_of_its_representative_has_its_cluster(tmp_path):
    original = 0x123456789ABCDEF0
    with open_index(tmp_path / "i", SCHEME, max_distance=K) as index:
        index.confirm(index.observe("print", original))
        index.observe("copy", original ^ 0b111111 << 20)
        story = index.observe("story", original ^ 0b11111)
        index.supersede(story)
        index.confirm(story)
    data = report_data(tmp_path / "i")
    assert sizes(data) == {"story": 2}
    assert (data["index"]["representatives"], data["index"]["near_duplicates"]) == (1, 2)
    pages = dict(zip(data["pages"]["key"], data["pages"]["distance"], strict=True))
    assert pages == {"story": 0, "print": 5, "copy": 6}  # as the crawl measured it


def test_similar_pages_stand_apart(tmp_path):
    with open_index(tmp_path / "i", SCHEME, max_distance=K, confirmation=STRICT) as index:
        for number, (key, text) in enumerate(
            (("/p/1", "a b c d e f"), ("/p/2", "a b c d e g h"), ("/p/3", "u v w x y z"))
        ):
            tokens = sketch(token_hashes(text.split()))
            found = index.observe(f"https://a.example{key}", 1 << number, Evidence(tokens))
            index.confirm(found)
        tokens = sketch(token_hashes([*"abcdef"]))
        copy = index.observe("https://a.example/copy", 1, Evidence(tokens))
        assert copy.kind == "near-duplicate"
    data = report_data(tmp_path / "i")
    assert (data["index"]["near_duplicates"], data["index"]["similar"]) == (1, 2)
    assert sizes(data) == {"https://a.example/p/1": 1}
    most, least = data["similar"]
    assert (most["key"], most["like"]) == ("https://a.example/p/2", "https://a.example/p/1")
    assert 0 < most["similarity"] < 90
    assert (least["key"], least["similarity"], least["distance"]) == ("https://a.example/p/3", 0, 2)
    pages = data["pages"]
    assert pages["similarity"][pages["key"].index("https://a.example/copy")] == 100
    assert pages["similarity"][pages["key"].index("https://a.example/p/1")] == -1
    rows = {row["pattern"]: row for row in data["patterns"]}
    products = rows["a.example/p/*"]
    counts = [products[name] for name in ("near_duplicates", "similar", "representatives")]
    assert counts == [0, 2, 3]
