"""What a report says of an index, against the index itself."""

from __future__ import annotations

import base64
import json
import random
import zlib
from collections import Counter

import pytest

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.clustering import cluster
from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.index.texts import KeptText
from scrapy_simhash.report.writing import report_data
from scrapy_simhash.sketch import sketch

SCHEME = Scheme(bits=64)
K = 6
STRICT = Confirmation(0.9, same_name=False)


@pytest.fixture
def made(tmp_path):
    """An index with clusters, texts and hosts."""
    rng = random.Random(4)
    directory = tmp_path / "index"
    with open_index(directory, SCHEME, max_distance=K) as index:
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


def fingerprints(data):
    packed = base64.b64decode(data["fingerprints"])
    width = data["index"]["bits"] // 8
    return [int.from_bytes(packed[at : at + width], "big") for at in range(0, len(packed), width)]


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
    assert data["distances"] == [sum(line.distance == d for line in log) for d in range(K + 1)]
    assert data["crawl"] is None
    nothing = {"clusters": 0, "shortened": 0, "near_duplicates": 0, "texts": 0}
    assert data["left_out"] == nothing
    assert sum(host["near_duplicates"] for host in data["hosts"]) == len(log)
    assert sum(host["representatives"] for host in data["hosts"]) <= entries
    [pattern, other] = data["patterns"]
    assert pattern["pattern"] == f"{pattern['example'].split('/')[2]}/news/*.html?v=*"
    assert pattern["near_duplicates"] + other["near_duplicates"] == len(log)
    assert pattern["representatives"] == 0
    assert json.loads(json.dumps(data)) == data


def test_pages_are_as_the_crawl_found_them(made):
    data = report_data(made)
    pages = data["pages"]
    with open_index(made) as index:
        log = {line.key: line for line in index.near_duplicates()}
        prints = {line.key: line.fingerprint for line in log.values()}
        for key in pages["key"]:
            entry = index.entry(key)
            if entry is not None:
                prints[key] = entry.fingerprint
    assert len({len(column) for column in pages.values()}) == 1
    assert fingerprints(data) == [prints[key] for key in pages["key"]]
    near = {
        key: (pages["key"][representative], distance)
        for key, representative, distance in zip(
            pages["key"], pages["representative"], pages["distance"], strict=True
        )
        if pages["key"][representative] != key
    }
    assert near == {key: (line.representative, line.distance) for key, line in log.items()}
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


@pytest.mark.thorough
@pytest.mark.parametrize("max_pages", [2, 5, 9, 20, 40, 50])
def test_the_largest_clusters_are_shortened_where_there_are_too_many(made, max_pages):
    whole = report_data(made)
    data = report_data(made, max_pages=max_pages)
    left_out = data["left_out"]
    shown, all_of_them = (sizes(one) for one in (data, whole))
    assert sum(shown.values()) + len(shown) <= max_pages
    assert left_out["near_duplicates"] == sum(all_of_them.values()) - sum(shown.values())
    assert left_out["clusters"] == len(all_of_them) - len(shown)
    assert left_out["shortened"] == sum(shown[key] < all_of_them[key] for key in shown)
    # None is left out for another that is longer than it has to be.
    if left_out["clusters"]:
        assert set(shown.values()) == {1}
    longest = max(shown.values())
    assert all(shown[key] == longest for key in shown if shown[key] < all_of_them[key])
    for name in ("index", "distances", "hosts", "patterns", "timeline"):
        if name != "index":
            assert data[name] == whole[name]
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
    assert sum(data["distances"]) == 2
    assert len(set(data["pages"]["component"])) == 1


def test_texts_of_pages_that_are_alone_until_k_is_smaller(tmp_path):
    with open_index(tmp_path / "i", SCHEME, max_distance=K) as index:
        # The third is near the second alone, which is a near-duplicate of the first.
        for key, fingerprint in (("one", 0), ("two", 0b111111), ("three", 0b1111 << 3)):
            index.confirm(index.observe(key, fingerprint))
            index.texts.keep(key, KeptText("", f"text of {key}"))
        index.confirm(index.observe("four", 0b1111111111 << 3))
        index.texts.keep("four", KeptText("", "text of four"))
    data = report_data(tmp_path / "i")
    keys = data["pages"]["key"]
    assert "four" in keys
    assert "four" not in sizes(data)
    assert [text_of(data, page)["text"] for page in range(len(keys))] == [
        f"text of {key}" for key in keys
    ]


def test_similar_pages_stand_apart(tmp_path):
    with open_index(tmp_path / "i", SCHEME, max_distance=K, confirmation=STRICT) as index:
        for number, (key, text) in enumerate(
            (("/p/1", "a b c d e f"), ("/p/2", "a b c d e g h"), ("/p/3", "u v w x y z"))
        ):
            tokens = sketch(token_hashes(text.split()))
            found = index.observe(f"https://a.example{key}", 1 << number, Evidence(tokens))
            index.confirm(found)
        copy = index.observe(
            "https://a.example/copy", 1, Evidence(sketch(token_hashes([*"abcdef"])))
        )
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
    assert (products["near_duplicates"], products["similar"], products["representatives"]) == (
        0,
        2,
        3,
    )
